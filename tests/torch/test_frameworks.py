# SPDX-License-Identifier: Apache-2.0
"""The real accelerate, Lightning and transformers with the optimizers and the scaler of syclamp.torch."""
import math

import lightning
import pytest
import torch
from accelerate import Accelerator
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.scheduler import AcceleratedScheduler
from accelerate.state import AcceleratorState
from lightning.pytorch.plugins import MixedPrecision
from torch_cases import distance, loss_of, make_batches, make_model
from transformers import Trainer, TrainingArguments

import syclamp.torch


def test_accelerate_prepare_keeps_fp32_state():
    """`prepare` calls load_state_dict, which PyTorch's optimizers answer by rounding the state to FP16."""
    model = make_model(dtype=torch.float16)
    optimizer = syclamp.torch.AdamW(model.parameters(), lr=0.01)
    batch = tuple(part.half() for part in make_batches(1)[0])
    loss_of(model, batch).backward()
    optimizer.step()
    masters = [optimizer.state[p]["master"].clone() for p in model.parameters()]
    assert any(not torch.equal(master, p.detach().float()) for master, p in zip(masters, model.parameters()))
    accelerator = Accelerator(cpu=True)
    model, wrapped = accelerator.prepare(model, optimizer)
    assert isinstance(wrapped, AcceleratedOptimizer)
    for master, p in zip(masters, model.parameters()):
        state = wrapped.optimizer.state[p]
        assert torch.equal(state["master"], master)
        assert all(value.dtype is torch.float32 for value in state.values())
    before = [p.detach().clone() for p in model.parameters()]
    wrapped.zero_grad()
    accelerator.backward(loss_of(model, batch))
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    wrapped.step()
    assert wrapped.optimizer.applied_steps() == 2
    assert distance(before, model.parameters()) > 0


@pytest.mark.parametrize("unscales", [True, False])  # as accelerate does to clip
@pytest.mark.parametrize("ours", [True, False])
def test_accelerate_schedules_and_skipped_steps(ours, unscales):
    """https://github.com/huggingface/accelerate/issues/4242: a fused optimizer hides a skipped step, and the schedule advances. Our scaler does not call `step` for it."""
    Accelerator(cpu=True)  # AcceleratedScheduler asks its state
    model = make_model()
    if ours:
        optimizer, scaler = syclamp.torch.AdamW(model.parameters(), lr=1.0), syclamp.torch.GradScaler()
    else:
        optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=1.0, fused=True), torch.amp.GradScaler("cpu")
    wrapped = AcceleratedOptimizer(optimizer, scaler=scaler)
    schedule = AcceleratedScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5), wrapped)
    for step, batch in enumerate(make_batches(4)):
        wrapped.zero_grad()
        scaler.scale(loss_of(model, batch)).backward()
        if step in (1, 2):
            model[0].bias.grad[0] = math.inf
        if unscales:
            scaler.unscale_(optimizer)
        wrapped.step()
        if ours:
            assert optimizer.last_step_was_applied() == (step not in (1, 2))
        assert wrapped.step_was_skipped == (ours and step in (1, 2))
        schedule.step()
    assert schedule.get_last_lr() == [0.25 if ours else 0.0625]
    assert scaler.get_scale() == 2.0**14


@pytest.fixture
def accelerator():
    """An Accelerator that trains in FP16 on the CPU, as docs/pytorch.md says. By itself it would train in FP32, without a message."""
    AcceleratorState._reset_state()  # all Accelerators of a process share the precision of the first one
    alone = Accelerator(cpu=True, mixed_precision="fp16")
    assert alone.scaler is None and not alone.native_amp
    scaler = syclamp.torch.GradScaler(init_scale=2.0**10)
    accelerator = Accelerator(cpu=True, mixed_precision="fp16")
    accelerator.scaler = scaler  # a syclamp.torch.GradScaler
    accelerator.native_amp = True
    yield accelerator
    AcceleratorState._reset_state()


def test_accelerate_trains_in_fp16_on_the_cpu(accelerator):
    scaler, model = accelerator.scaler, make_model()
    optimizer = syclamp.torch.AdamW(model.parameters(), lr=0.01, max_norm=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    model, wrapped, schedule = accelerator.prepare(model, optimizer, schedule)
    assert wrapped.scaler is scaler
    types = set()
    model[0].register_forward_hook(lambda module, inputs, output: types.add(output.dtype))
    batch, losses, rates = make_batches(1)[0], [], []
    for step in range(6):
        wrapped.zero_grad()
        loss = loss_of(model, batch)
        losses.append(loss.item())
        accelerator.backward(loss)
        if step == 2:
            model[0].bias.grad[0] = math.inf
        before = [p.detach().clone() for p in model.parameters()]
        wrapped.step()
        assert (distance(before, model.parameters()) == 0) == wrapped.step_was_skipped == (step == 2)
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    assert scaler.get_scale() == 2.0**9  # waits for the last record
    assert [record.outcome for record in scaler.ledger()] == ["applied"] * 2 + ["skipped_inf"] + ["applied"] * 3
    assert types == {torch.float16}
    assert rates == [0.01 * 0.5**applied for applied in (1, 2, 2, 3, 4, 5)]  # held at the skipped step
    assert losses[-1] < losses[0]


def test_accelerate_optimizers_have_schedules_that_count_applied_steps(accelerator):
    """`prepare` wraps the optimizer, and a scheduler that is made after it belongs to the wrapper."""
    model = make_model()
    optimizer = syclamp.torch.AdamW(model.parameters(), lr=0.01)
    model, wrapped = accelerator.prepare(model, optimizer)
    assert isinstance(wrapped, AcceleratedOptimizer)
    schedule = syclamp.torch.AppliedStepSchedule(torch.optim.lr_scheduler.StepLR(wrapped, 1, gamma=0.5))
    assert schedule.optimizer is optimizer
    rates = []
    for step, batch in enumerate(make_batches(4)):
        wrapped.zero_grad()
        accelerator.backward(loss_of(model, batch))
        if step in (1, 2):
            model[0].bias.grad[0] = math.inf
        wrapped.step()
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [0.01 * 0.5**applied for applied in (1, 1, 1, 2)]


@pytest.mark.parametrize("native_amp", [True, False])
def test_accelerate_unscales_before_it_clips_only_with_native_amp(accelerator, native_amp):
    accelerator.native_amp = native_amp
    model = make_model()
    model, wrapped = accelerator.prepare(model, syclamp.torch.SGD(model.parameters(), lr=1.0))
    accelerator.backward(loss_of(model, make_batches(1)[0]))
    scaled = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
    assert norm == (scaled / 2.0**10 if native_amp else scaled)
    wrapped.step()


class Regression(lightning.LightningModule):
    def __init__(self, max_norm=None, broken=(), amp_scaling=True):
        super().__init__()
        self.model, self.max_norm, self.broken, self.amp_scaling, self.losses = make_model(), max_norm, broken, amp_scaling, []

    def training_step(self, batch, index):
        loss = loss_of(self.model, batch)
        self.losses.append(loss.item())
        return loss * (math.inf if index in self.broken else 1.0)

    def configure_optimizers(self):
        return syclamp.torch.AdamW(self.parameters(), lr=0.01, max_norm=self.max_norm, amp_scaling=self.amp_scaling)


def fit(module, scaler, folder, steps=6, resume_from=None, **settings):
    trainer = lightning.Trainer(accelerator="cpu", max_steps=steps, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, default_root_dir=folder,
                                plugins=[MixedPrecision("16-mixed", "cpu", scaler=scaler)], **settings)
    trainer.fit(module, torch.utils.data.DataLoader(make_batches(1) * 8, batch_size=None), ckpt_path=resume_from, weights_only=False)
    return trainer


@pytest.mark.filterwarnings("ignore")
def test_lightning_mixed_precision(tmp_path):
    scaler = syclamp.torch.GradScaler(init_scale=2.0**10)
    module = Regression(max_norm=1.0, broken=(2,))
    trainer = fit(module, scaler, tmp_path)
    assert scaler.get_scale() == 2.0**9  # waits for the last record
    # The loss of batch 2 is Inf. Its errors have both signs, and their sums over the batch are Inf - Inf.
    assert [record.outcome for record in scaler.ledger()] == ["applied", "applied", "skipped_nan", "applied", "applied", "applied"]
    assert trainer.optimizers[0].applied_steps() == 5
    assert module.losses[-1] < module.losses[0]
    with pytest.raises(RuntimeError, match="clipping"):  # Lightning refuses to clip for optimizers that unscale: max_norm does it
        fit(Regression(), syclamp.torch.GradScaler(), tmp_path, gradient_clip_val=1.0)


@pytest.mark.filterwarnings("ignore")
def test_lightning_clips_by_max_norm_or_without_the_protocol(tmp_path):
    """Lightning refuses to clip only for optimizers that unscale, so `amp_scaling=False` allows it."""
    limit, weights = 1e-3, []
    for module, settings in ((Regression(max_norm=limit), {}), (Regression(amp_scaling=False), {"gradient_clip_val": limit}), (Regression(), {})):
        scaler = syclamp.torch.GradScaler(init_scale=2.0**10)
        fit(module, scaler, tmp_path, steps=3, **settings)
        weights.append(list(module.parameters()))
        if module.max_norm is not None:
            assert scaler.get_scale() == 2.0**10 and len(scaler.ledger()) == 3
            assert all(abs(record.norm * record.clip / limit - 1.0) < 1e-5 for record in scaler.ledger())
    clipped, by_lightning, unclipped = weights
    # AdamW divides by the gradient's size. Clipping by a constant norm still changes the moments of later steps: the third run shows how much.
    assert distance(clipped, by_lightning) <= 0.01 * distance(clipped, unclipped)


class ManualRegression(Regression):
    """Steps by itself, as Lightning's page on manual optimization says, but does not clip the gradients."""

    def __init__(self, max_norm):
        super().__init__(max_norm)
        self.automatic_optimization = False

    def training_step(self, batch, index):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(super().training_step(batch, index))
        optimizer.step()


@pytest.mark.filterwarnings("ignore")
def test_lightning_manual_optimization_clips_unscaled_gradients(tmp_path):
    """https://github.com/Lightning-AI/pytorch-lightning/issues/18089: clip_gradients in such a loop clips gradients that are still scaled."""
    limit, weights = 1e-3, []
    for module in (ManualRegression(limit), Regression(limit)):
        scaler = syclamp.torch.GradScaler(init_scale=2.0**10)
        fit(module, scaler, tmp_path, steps=3)
        weights.append(list(module.parameters()))
        assert scaler.get_scale() == 2.0**10 and len(scaler.ledger()) == 3
        assert all(abs(record.norm * record.clip / limit - 1.0) < 1e-5 for record in scaler.ledger())
    assert distance(*weights) == 0


@pytest.mark.filterwarnings("ignore")
def test_lightning_resumes_bit_identically(tmp_path):
    whole, whole_scaler = Regression(max_norm=1.0, broken=(1,)), syclamp.torch.GradScaler(init_scale=2.0**10, growth_interval=2)
    fit(whole, whole_scaler, tmp_path, steps=7)
    first, first_scaler = Regression(max_norm=1.0, broken=(1,)), syclamp.torch.GradScaler(init_scale=2.0**10, growth_interval=2)
    fit(first, first_scaler, tmp_path, steps=3).save_checkpoint(tmp_path / "run.ckpt")
    assert first_scaler._get_growth_tracker() == 1  # so that a forgotten tracker is noticed
    resumed, scaler = Regression(max_norm=1.0, broken=(1,)), syclamp.torch.GradScaler()
    trainer = fit(resumed, scaler, tmp_path, steps=7, resume_from=tmp_path / "run.ckpt")
    assert len(resumed.losses) == 4 and trainer.optimizers[0].applied_steps() == 6
    assert distance(whole.parameters(), resumed.parameters()) == 0
    assert scaler.get_scale() == whole_scaler.get_scale() and scaler._get_growth_tracker() == whole_scaler._get_growth_tracker()


class RegressionModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = make_model()

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.mse_loss(self.model(x), labels)}


@pytest.mark.filterwarnings("ignore")
def test_transformers_trainer_with_a_custom_optimizer(tmp_path):
    rows = [{"x": x, "labels": y} for inputs, targets in make_batches(4) for x, y in zip(inputs, targets)]
    model = RegressionModel()
    optimizer = syclamp.torch.AdamW(model.parameters(), lr=0.01, max_norm=1.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=8)
    arguments = TrainingArguments(output_dir=str(tmp_path), max_steps=8, per_device_train_batch_size=16, use_cpu=True, report_to=[], bf16=True,
                                  save_steps=4, logging_steps=4, disable_tqdm=True, seed=1)
    trainer = Trainer(model=model, args=arguments, train_dataset=rows, optimizers=(optimizer, schedule))
    trainer.train()
    assert optimizer.applied_steps() == 8
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < losses[0]
    weights = [p.detach().clone() for p in model.parameters()]
    other = RegressionModel()
    resumed = syclamp.torch.AdamW(other.parameters(), lr=0.01, max_norm=1.0)
    trainer = Trainer(model=other, args=arguments, train_dataset=rows, optimizers=(resumed, torch.optim.lr_scheduler.LinearLR(resumed, total_iters=8)))
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert resumed.applied_steps() == 8
    assert distance(weights, other.parameters()) == 0
