# SPDX-License-Identifier: Apache-2.0
"""Docstrings of syclamp.torch. tests/python/test_docstrings.py is the same for the core; doctest runs the examples themselves."""
import inspect
import re

import syclamp.torch

BASE = syclamp.torch.FusedOptimizer  # is not constructed by users
SAME_AS_ADAM = "arguments are those of `Adam`"


def classes():
    return [getattr(syclamp.torch, name) for name in syclamp.torch.__all__]


def public_members(owner):
    """What a class defines itself: functions and properties."""
    return {name: member for name, member in vars(owner).items() if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))}


def test_every_name_has_an_example():
    for owner in classes():
        texts = [owner.__doc__] if owner is not BASE else [member.__doc__ for member in public_members(owner).values()]
        assert any(">>>" in (text or "") for text in texts), owner


def test_every_member_has_a_docstring():
    """Its own: an inherited one describes PyTorch's."""
    members = [(f"{owner.__name__}.{name}", member) for owner in classes() for name, member in public_members(owner).items()]
    assert len(members) > 15
    assert [name for name, member in members if not member.__doc__] == []


def undescribed(function, text):
    arguments = inspect.signature(function).parameters.values()
    named = [each.name for each in arguments if each.name != "self" and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return [name for name in named if not re.search(rf"\b{name}\b", text)]


def test_every_argument_is_described():
    missing = []
    for owner in classes():
        if owner is not BASE:
            text = owner.__doc__ + (syclamp.torch.Adam.__doc__ if SAME_AS_ADAM in owner.__doc__ else "")
            # Only what stands before a colon in the list of arguments: an example may use a name without a word about it.
            listed = " ".join(re.findall(r"^        (\w+): ", text, flags=re.M))
            missing += [f"{owner.__name__}: {name}" for name in undescribed(owner.__init__, listed)]
        for name, member in public_members(owner).items():
            if inspect.isfunction(member):
                missing += [f"{owner.__name__}.{name}: {argument}" for argument in undescribed(member, member.__doc__ or "")]
    assert missing == []
