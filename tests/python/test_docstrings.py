# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings: those of the extension module, which doctest does not find, and public names without one."""

import dataclasses
import doctest
import inspect
import re

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


def functions_and_docstrings():
    """Functions and methods of the package, by their full name. The docstring of a class describes the arguments of its constructor."""
    for name in syclamp.__all__:
        thing = getattr(syclamp, name)
        if inspect.isfunction(thing):
            yield name, thing, inspect.getdoc(thing)
        elif inspect.isclass(thing) and thing.__module__.startswith("syclamp.") and not dataclasses.is_dataclass(thing):
            for member, function in vars(thing).items():
                if inspect.isfunction(function) and (member == "__init__" or not member.startswith("_")):
                    yield f"{name}.{member}", function, inspect.getdoc(thing if member == "__init__" else function)


def test_every_argument_is_described():
    missing = []
    for name, function, text in functions_and_docstrings():
        is_derived = inspect.isclass(owner := getattr(syclamp, name.split(".")[0])) and owner.__bases__[0] is syclamp.Optimizer
        for argument in inspect.signature(function).parameters:
            if argument not in ("self", "settings") and not is_derived and not re.search(rf"\b{argument}\b", text or ""):
                missing.append(f"{name}: {argument}")
    assert not missing
