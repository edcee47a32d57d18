# SPDX-License-Identifier: Apache-2.0
"""The ledger: as text, as a picture, and in TensorBoard."""

import gc
import math
import pickle
import weakref

import numpy
import pytest
from test_scaler import make, make_groups, run_trace, step_groups

import syclamp
import syclamp.tensorboard

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def trained():
    _, gradients, optimizer = make()
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=1024.0, growth_interval=3))
    run_trace(scaler, optimizer, gradients, "..i....n")
    return scaler


def test_records(trained):
    ledger = trained.ledger
    assert ledger.steps == list(range(1, 9)) and ledger.skipped_steps == [3, 8]
    assert ledger.scales == [1024, 1024, 1024, 512, 512, 512, 1024, 1024]
    assert ledger[2].flags == ("inf",) and ledger[2].inf_count == 5 and ledger[0].first_nonfinite is None
    assert isinstance(ledger[2:4], syclamp.Ledger) and len(ledger[2:4]) == 2
    assert repr(ledger) == "Ledger(8 steps, 2 skipped)"
    assert "outcome='skipped_inf'" in repr(ledger[2])


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_texts_can_be_read_again(trained, tmp_path, format):
    ledger = trained.ledger
    file = tmp_path / "ledger"
    file.write_text(ledger.to_text(format))
    again = syclamp.Ledger.read(file)
    assert again.to_text(format) == ledger.to_text(format)
    assert again.scales == ledger.scales
    with pytest.raises(ValueError, match="line 1"):
        syclamp.Ledger.from_text("nonsense")


def test_records_can_be_pickled(trained):
    again = pickle.loads(pickle.dumps(trained.ledger))
    assert isinstance(again, syclamp.Ledger) and again.to_text() == trained.ledger.to_text()
    assert again[2].first_nonfinite_name == "weights[0]" and again[2].amax == math.inf
    maker, arguments, (record, name) = trained.ledger[2].__reduce_ex__(4)[:3]
    broken = maker(*arguments)
    with pytest.raises(ValueError, match="it comes from another version"):
        broken.__setstate__((record[:-1], name))


def test_replay_with_another_policy(trained):
    result = syclamp.replay(trained.ledger, syclamp.Policy(init_scale=512.0, growth_interval=100))
    assert (result.steps, result.recorded_skips, len(result.results)) == (8, 2, 8)
    assert result.skips < result.recorded_skips  # 512 is below the scales that overflowed


def test_plot(trained, tmp_path):
    file = tmp_path / "ledger.png"
    figure = trained.ledger.plot(file)
    assert file.read_bytes().startswith(b"\x89PNG")
    above, below = figure.axes
    numpy.testing.assert_array_equal(above.lines[0].get_ydata(), trained.ledger.scales)
    norms = [norm for norm in trained.ledger.norms if math.isfinite(norm)]
    numpy.testing.assert_array_equal(below.lines[0].get_ydata(), norms)
    assert [line.get_xdata()[0] for line in above.lines[1:]] == [3, 8]


@pytest.fixture
def two_scales():
    """A scaler with two scales, and a function that makes steps with an overflow in one group."""
    _, gradients, optimizer = make_groups()
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=1024.0, growth_interval=3), scales=2)

    def run(trace):
        for letter in trace:
            step_groups(scaler, optimizer, gradients, (1, math.inf if letter == "i" else 1))
        scaler.engine.wait()

    return scaler, run


def test_records_of_several_scales(two_scales):
    scaler, run = two_scales
    run(".i.")
    ledger = scaler.ledger
    assert [(record.step, record.scale_index) for record in ledger] == [(step, index) for step in (1, 2, 3) for index in (0, 1)]
    assert ledger.skipped_steps == [2]
    assert repr(ledger) == "Ledger(3 steps, 1 skipped)"
    assert syclamp.Ledger.from_text(ledger.to_text()).skipped_steps == [2]


def test_plot_of_several_scales(two_scales):
    scaler, run = two_scales
    run(".i..")
    above, below = scaler.ledger.plot().axes
    lines = above.lines[:2]
    assert [line.get_label() for line in above.lines] == ["scale 0", "scale 1", "skipped"]
    assert [line.get_label() for line in below.lines] == ["norm 0", "norm 1", "skipped"]
    assert [list(line.get_xdata()) for line in lines] == [[1, 2, 3, 4]] * 2
    assert [list(line.get_ydata()) for line in lines] == [[1024, 1024, 1024, 2048], [1024, 1024, 512, 512]]
    assert [list(line.get_xdata()) for line in below.lines[:2]] == [[1, 3, 4]] * 2
    assert lines[0].get_color() != lines[1].get_color()


def test_plot_of_nothing():
    above, _ = syclamp.Ledger([]).plot().axes
    assert [len(line.get_xdata()) for line in above.lines] == [0]


def test_tensorboard_with_several_scales(two_scales, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    scaler, run = two_scales
    with syclamp.tensorboard.LedgerWriter(scaler, tmp_path):
        run(".i.")
    log = EventAccumulator(str(tmp_path)).Reload()
    assert set(log.Tags()["scalars"]) == {f"{tag}/{index}" for tag in syclamp.tensorboard.SCALARS for index in range(2)}
    scales = [[(event.step, event.value) for event in log.Scalars(f"syclamp/scale/{index}")] for index in range(2)]
    assert scales == [[(1, 1024), (2, 1024), (3, 1024)], [(1, 1024), (2, 1024), (3, 512)]]


def test_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, gradients, optimizer = make()
    scaler = syclamp.LossScaler(syclamp.Policy(init_scale=1024.0))
    run_trace(scaler, optimizer, gradients, ".")
    with syclamp.tensorboard.LedgerWriter(scaler, tmp_path):
        run_trace(scaler, optimizer, gradients, ".i.")
    run_trace(scaler, optimizer, gradients, ".")  # after the writer
    log = EventAccumulator(str(tmp_path)).Reload()
    assert set(log.Tags()["scalars"]) == set(syclamp.tensorboard.SCALARS)
    scales = log.Scalars("syclamp/scale")
    assert [(event.step, event.value) for event in scales] == [(2, 1024), (3, 1024), (4, 512)]
    assert [event.value for event in log.Scalars("syclamp/skipped")] == [0, 1, 0]


def test_handlers(trained):
    _, gradients, optimizer = make()
    seen = []
    remove = trained.on_step(lambda record: seen.append(record.step))
    run_trace(trained, optimizer, gradients, "..")
    trained.report()
    assert seen == [9, 10]
    remove()
    run_trace(trained, optimizer, gradients, ".")
    trained.report()
    assert seen == [9, 10]


def test_a_handler_that_fails_does_not_harm_the_scaler():
    _, gradients, optimizer = make()
    scaler = syclamp.LossScaler()

    def fail(record):
        raise KeyError("handler")

    scaler.on_step(fail)
    with pytest.raises(KeyError, match="handler"):
        run_trace(scaler, optimizer, gradients, ".")
        scaler.report()
    assert scaler.get_scale() == 65536


def test_a_scaler_with_a_handler_that_holds_it_is_freed():
    scaler = syclamp.LossScaler()
    watch = weakref.ref(scaler)
    scaler.on_step(lambda record, own=scaler: None)
    del scaler
    gc.collect()
    assert watch() is None
