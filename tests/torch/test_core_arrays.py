# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch in the functions of the core, which read them through DLPack."""
import math

import pytest
import torch

import syclamp

DTYPES = {
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64",
    torch.float8_e4m3fn: "float8_e4m3", torch.float8_e5m2: "float8_e5m2",
}


@pytest.fixture(autouse=True, scope="module")
def engine():
    syclamp.set_default_engine(syclamp.Engine("cpu"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_are_used_without_a_copy(dtype):
    tensor = torch.tensor([[0.5, -1.75, 0.0], [1.0, 0.25, 1.5]]).to(dtype)  # exact in every format
    imported = syclamp.Array(tensor)
    assert (imported.dtype, imported.shape, imported.address) == (DTYPES[dtype], (2, 3), tensor.data_ptr())
    assert imported.is_host and not imported.is_read_only
    found = syclamp.inspect({"weights": tensor}, level="tensors")
    assert (found.amax, found.result.zero_count, found.norm("l1")) == (1.75, 1, 5.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float8_e5m2])
def test_inf_and_nan_are_found(dtype):
    found = syclamp.inspect([torch.ones(3).to(dtype), torch.tensor([1.0, math.inf, math.nan]).to(dtype)])
    assert (found.result.inf_count, found.result.nan_count, found.result.first_nonfinite_tensor) == (1, 1, 1)


def test_results_are_written_in_place():
    tensor = torch.tensor([1.0, -2.0, 3.0])
    view = tensor[1:]
    assert syclamp.scale(view, 4.0) is view
    assert tensor.tolist() == [1.0, -8.0, 12.0]
    assert syclamp.clip([tensor[:0], view], 1e9).norm == pytest.approx(math.hypot(8.0, 12.0))
    syclamp.clear(view)
    assert tensor.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bit_gradients_are_unscaled_and_added_up(dtype):
    gradients, sums = torch.tensor([8.0, -4.0]).to(dtype), torch.tensor([1.0, 1.0])
    syclamp.accumulate(gradients, sums, 4.0)
    assert sums.tolist() == [3.0, 0.0]
    out = torch.empty(2)
    syclamp.unscale(gradients, 8.0, out=out)
    assert out.tolist() == [1.0, -0.5]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2])
def test_casts_are_those_of_torch(dtype):
    values = torch.randn(1000, generator=torch.Generator().manual_seed(1))
    ours = torch.zeros(1000).to(dtype)
    syclamp.cast(values, ours)
    assert torch.equal(ours.float(), values.to(dtype).float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_parameters_are_read_and_written(dtype):
    """`__dlpack__` refuses tensors that require gradients; PyTorch's table of C functions takes them."""
    parameter = torch.nn.Parameter(torch.tensor([1.0, -3.0], dtype=dtype))
    with pytest.raises(BufferError):
        parameter.__dlpack__()
    assert syclamp.inspect([parameter]).amax == 3.0
    gradient = torch.tensor([1.0, 2.0], dtype=dtype)
    optimizer = syclamp.SGD({"weights": parameter}, [gradient], lr=0.5)
    optimizer.step()
    assert parameter.tolist() == [0.5, -4.0] and parameter.requires_grad and parameter.is_leaf


def test_a_loss_scaler_trains_a_model_of_torch():
    model = torch.nn.Linear(3, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(1.0)
    model.weight.grad = torch.zeros(1, 3)
    optimizer = syclamp.SGD({"weight": model.weight}, [model.weight.grad], lr=0.25)
    scaler = syclamp.LossScaler(syclamp.Policy("pytorch", init_scale=8.0))
    inputs = torch.tensor([[1.0, 2.0, 4.0]])
    for factor in (1.0, math.inf, 1.0):  # times 8, Inf, and times 4
        model.weight.grad.zero_()  # in place: the optimizer keeps this tensor
        (model(inputs).sum() * scaler.begin_step() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
    assert model.weight.tolist() == [[0.5, 0.0, -1.0]]
    assert scaler.get_scale() == 4.0  # waits for the last record
    assert [record.was_applied for record in scaler.ledger] == [True, False, True]


@pytest.mark.parametrize("make, message", [
    (lambda: torch.ones(4, 4).t(), "the array is not contiguous"),
    (lambda: torch.arange(3), "the dtype int64 is not supported"),
    (lambda: torch.ones(3).to(torch.float8_e8m0fnu), "the dtype with DLPack code 14"),
], ids=["transposed", "integers", "e8m0"])
def test_other_tensors_are_refused(make, message):
    with pytest.raises(ValueError, match=rf"arrays\[1\]: {message}"):
        syclamp.inspect([torch.ones(3), make()])
