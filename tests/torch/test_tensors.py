# SPDX-License-Identifier: Apache-2.0
"""How parameters and gradients are read: through PyTorch's C++ functions, and through Python where a PyTorch lacks those functions."""
import pytest
import torch

import syclamp.torch
from syclamp import _core


@pytest.fixture(params=[True, False], ids=["direct", "python"], autouse=True)
def reading(request):
    _core.torch_reads_directly(request.param)
    yield
    _core.torch_reads_directly(True)


def steps_of_both(make_parameters, all_gradients):
    """The parameters after plain SGD with a rate of 1/4, ours and PyTorch's: exact for small integers."""
    results = []
    for optimizer_class in (syclamp.torch.SGD, torch.optim.SGD):
        parameters = make_parameters()
        optimizer = optimizer_class(parameters, lr=0.25)
        for gradients in all_gradients:
            for p, make_gradient in zip(parameters, gradients):
                p.grad = make_gradient()
            optimizer.step()
        results.append([p.detach().clone() for p in parameters])
    return results


def integers(*shape, start=1):
    count = int(torch.tensor(shape).prod()) if shape else 1
    return torch.arange(start, start + count, dtype=torch.float32).reshape(shape)


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second))


def test_gradients_come_and_go():
    shapes = ((2, 3), (), (0, 4), (5,))
    none, some = [lambda: None] * 4, [lambda s=s: integers(*s) for s in shapes]
    mixed = [some[0], none[1], some[2], none[3]]
    ours, theirs = steps_of_both(lambda: [torch.nn.Parameter(integers(*s)) for s in shapes], [some, none, mixed, some])
    assert same(ours, theirs)


@pytest.mark.parametrize("name, make", [
    ("negated", lambda: torch._neg_view(integers(4, 4))),
    ("imaginary part of a conjugate", lambda: torch.complex(integers(4, 4), integers(4, 4, start=3)).conj().imag),
    ("transposed", lambda: integers(4, 4).t()),
    ("expanded", lambda: integers(4, 1).expand(4, 4)),
    ("every second element", lambda: integers(4, 8)[:, ::2]),
    ("behind the begin of its memory", lambda: integers(6, 4)[2:]),
], ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "")
def test_every_view_is_a_gradient(name, make):
    usual = lambda: integers(4, 4)
    ours, theirs = steps_of_both(lambda: [torch.nn.Parameter(torch.zeros(4, 4))], [[usual], [make], [usual]])
    assert same(ours, theirs), name


def test_a_negated_parameter_is_refused():
    p = torch.nn.Parameter(torch._neg_view(torch.ones(4)))
    p.grad = torch.ones(4)
    with pytest.raises(ValueError, match=r"negated view.*resolve_neg\(\)"):
        syclamp.torch.SGD([p]).step()


def test_a_swapped_parameter_is_followed():
    p, other = torch.nn.Parameter(torch.zeros(8)), torch.nn.Parameter(torch.full((8,), 100.0))
    p.grad = torch.ones(8)
    optimizer = syclamp.torch.SGD([p], lr=1.0)
    optimizer.step()
    p.grad = None
    torch.utils.swap_tensors(p, other)
    del other
    p.grad = torch.ones(8)
    optimizer.step()
    assert torch.equal(p.detach(), torch.full((8,), 99.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_moved_parameter_is_followed(dtype):
    p = torch.nn.Parameter(torch.zeros(8, dtype=dtype))
    p.grad = torch.ones(8, dtype=dtype)
    optimizer = syclamp.torch.SGD([p], lr=1.0)
    optimizer.step()
    p.data = torch.full((8,), 5.0, dtype=dtype)
    optimizer.step()
    assert torch.equal(p.detach(), torch.full((8,), 4.0, dtype=dtype))


def test_writes_of_pytorch_reach_the_master():
    p = torch.nn.Parameter(torch.zeros(8, dtype=torch.float16))
    p.grad = torch.ones(8, dtype=torch.float16)
    optimizer = syclamp.torch.SGD([p], lr=1.0)
    optimizer.step()
    with torch.no_grad():
        p.add_(10.0)
    optimizer.step()
    assert torch.equal(p.detach(), torch.full((8,), 8.0, dtype=torch.float16))


@pytest.mark.parametrize("steps_before", [0, 1])
def test_a_gradient_without_memory_is_refused(steps_before):
    p = torch.nn.Parameter(torch.zeros(8))
    p.grad = torch.ones(8)
    optimizer = syclamp.torch.SGD([p], lr=1.0)
    for _ in range(steps_before):
        optimizer.step()
    p.grad.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match="the gradient of parameter 0 of group 0 has no memory"):
        optimizer.step()
    assert torch.equal(p.detach(), torch.full((8,), -float(steps_before)))


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="parameter 0 of group 0 is not a tensor of PyTorch"):
        _core.TorchOptimizer(torch.Tensor, "sgd", [(3, 0, "parameter 0 of group 0", None)], [], [{"lr": 1.0}])
