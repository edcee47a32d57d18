# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings: those of the extension module, which doctest does not find, and public names without one."""

import doctest
import inspect

import pytest

import syclamp
from syclamp import _core

pytestmark = pytest.mark.usefixtures("engine")

# Exceptions, and the results of functions whose docstrings have the example.
WITHOUT_EXAMPLE = {"Clipped", "Device", "Inspection", "Preset", "Progress", "Replay", "SimulatedStep", "Tensors", "load_checkpoint"}


def docstrings(thing):
    """The docstring of a class or function and those of its members."""
    members = [value for name, value in vars(thing).items() if not name.startswith("_")] if inspect.isclass(thing) else []
    return [text for text in (inspect.getdoc(each) for each in (thing, *members)) if text]


def test_examples_of_the_extension_module():
    runner, tested = doctest.DocTestRunner(), set()
    for name, thing in vars(_core).items():
        for text in docstrings(thing) if callable(thing) else ():
            example = doctest.DocTestParser().get_doctest(text, {}, f"_core.{name}", None, None)
            if example.examples:
                runner.run(example)
                tested.add(name)
    assert runner.failures == 0  # pytest shows what the runner has printed
    assert tested >= {"Array", "InspectionResult", "Policy", "ReplayOptions", "StepRecord"}


def test_public_names_have_examples():
    without = set()
    for name in syclamp.__all__:
        thing = getattr(syclamp, name)
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
            if not any(">>>" in text for text in docstrings(thing)):
                without.add(name)
    assert without == WITHOUT_EXAMPLE
