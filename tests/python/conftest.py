# SPDX-License-Identifier: Apache-2.0
"""What all tests of the Python package have in common."""

import numpy
import pytest

import syclamp


@pytest.fixture(scope="session")
def engine():
    """One engine on the CPU, whose kernels are compiled once."""
    made = syclamp.Engine("cpu")
    syclamp.set_default_engine(made)
    return made


@pytest.fixture
def random(request):
    """Random numbers that are the same in every run, and different in every test."""
    return numpy.random.default_rng(sum(request.node.name.encode()))
