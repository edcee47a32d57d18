# SPDX-License-Identifier: Apache-2.0
"""The package as part of a process: its environment, other libraries, threads and forks."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy
import pytest

import syclamp

PACKAGE = pathlib.Path(syclamp.__file__).parent


def run(script, **environment):
    """Runs a script in a process without environment variables."""
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{script}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def output(script, **environment):
    process = run(script, **environment)
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_an_empty_environment_is_enough():
    assert output("import array, syclamp; print(syclamp.inspect(array.array('f', [1, 2])).amax)") == "2.0"


SLOW_MODULES = {"asyncio", "concurrent", "ctypes", "email", "http", "logging", "multiprocessing", "socket", "ssl", "subprocess", "unittest", "xml"}


def test_the_import_brings_nothing_that_is_slow():
    """Neither other packages, such as NumPy and PyTorch, nor large modules of Python, nor optional modules of syclamp."""
    script = "before = set(sys.modules); import syclamp; print(*sorted(set(sys.modules) - before))"
    brought = set(output(script).split())
    packages = {name.partition(".")[0] for name in brought}
    assert packages - sys.stdlib_module_names == {"syclamp"}
    assert packages & SLOW_MODULES == set()
    assert brought & {"syclamp.torch", "syclamp.tensorboard", "syclamp._plot"} == set()


def test_processes_end_quietly_with_objects_alive():
    script = """
import array, syclamp
optimizer = syclamp.AdamW(array.array("f", [1]), array.array("f", [1]))
scaler = syclamp.LossScaler()
scaler.on_step(print)
keep = optimizer, scaler, syclamp.tensors(array.array("f", [1]))
"""
    process = run(script)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")


def test_another_sycl_runtime_in_the_process_is_an_error(tmp_path):
    library = tmp_path / "libsycl.so.8"
    source = tmp_path / "other.c"
    source.write_text("int other_sycl;\n")
    subprocess.run(["cc", "-shared", "-Wl,-soname,libsycl.so.8", "-o", library, source], check=True)
    process = run(f"import ctypes; ctypes.CDLL({str(library)!r})\nimport syclamp")
    assert process.returncode == 1
    needed = (PACKAGE / "_build.py").read_text().split('"')[-2]
    assert f"ImportError: syclamp needs {needed}, but the process has already loaded libsycl.so.8 ({library})" in process.stderr


def test_the_same_sycl_runtime_may_be_loaded_before():
    from syclamp._build import SYCL_LIBRARY

    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    library = next(line.split()[-1] for line in lines if "/libsycl.so." in line)
    assert SYCL_LIBRARY in library
    assert output(f"import ctypes; ctypes.CDLL({library!r})\nimport syclamp; print('ok')") == "ok"


def test_threads_that_share_two_engines_do_not_block_each_other():
    """Each thread has its scaler on one engine and its optimizer on the other one, so that both lock both engines."""
    script = """
import array, signal, threading, syclamp
engines = syclamp.Engine("cpu"), syclamp.Engine("cpu")
all_weights = [array.array("f", [0]) for _ in engines]
optimizers = [syclamp.SGD(weights, array.array("f", [1]), lr=1.0, engine=engine) for weights, engine in zip(all_weights, engines)]
scalers = [syclamp.LossScaler(syclamp.Policy(init_scale=1.0, mode="fixed"), engine=engine) for engine in reversed(engines)]
for scaler, optimizer in zip(scalers, optimizers):
    scaler.begin_step()
    scaler.step(optimizer)
    scaler.update()

def train(scaler, optimizer):
    for _ in range(2000):
        scaler.begin_step()
        scaler.step(optimizer)
        scaler.update()

threads = [threading.Thread(target=train, args=pair) for pair in zip(scalers, optimizers)]
signal.alarm(30)  # ends a process whose threads wait for each other
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*(weights[0] for weights in all_weights))
"""
    assert output(script) == "-2001.0 -2001.0"


def test_use_after_a_fork_is_an_error():
    script = """
import array, os, syclamp
values = array.array("f", [1])
syclamp.inspect(values)
child = os.fork()
if child == 0:
    try:
        syclamp.inspect(values)
        status = 1
    except syclamp.MisuseError as problem:
        status = 0 if "fork" in str(problem) else 2
    os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(syclamp.inspect(values).amax)
"""
    assert output(script) == "1.0"


def test_multiprocessing_workers_that_fork_get_an_error_and_those_that_spawn_work(tmp_path):
    script = tmp_path / "work.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
import array, multiprocessing, syclamp

def work(number):
    try:
        return syclamp.inspect(array.array("f", [number])).amax
    except syclamp.MisuseError:
        return "misuse"

if __name__ == "__main__":
    work(0)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(work, [3.0])[0])
""")
    process = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, timeout=300)
    assert process.stdout.split() == ["misuse", "3.0"], process.stderr


def test_other_threads_run_while_a_call_waits(engine):
    """Threads change only where the GIL is released. So the thread runs before the loop ends only if a wait releases it."""
    prepared = syclamp.tensors(numpy.ones(1 << 16, numpy.float32), engine=engine)
    is_ready, has_run = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: is_ready.wait() and has_run.set())
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        is_ready.set()
        for _ in range(10_000):
            syclamp.scale(prepared, 1.0)
            had_run = has_run.is_set()
            if had_run:
                break
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert had_run


def test_threads_may_share_an_engine(engine):
    arrays = [numpy.ones(1 << 16, numpy.float32) for _ in range(4)]

    def work(values):
        for _ in range(20):
            syclamp.scale(values, 2.0, engine=engine)

    threads = [threading.Thread(target=work, args=(values,)) for values in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for values in arrays:
        assert (values == 2.0**20).all()


@pytest.mark.parametrize("device", ["99", "toaster"])
def test_unknown_devices(device):
    with pytest.raises(ValueError, match=f'device: there is no device "{device}"; use gpu, cpu'):
        syclamp.Engine(device)


def test_devices_and_engines():
    devices = syclamp.devices()
    cpu = next(index for index, device in enumerate(devices) if device.kind == "cpu")
    assert syclamp.Engine(cpu).device_name == devices[cpu].name
    assert syclamp.Engine("cpu", profile="nvidia_gpu").profile == "nvidia_gpu"
    with pytest.raises(ValueError, match="profile"):
        syclamp.Engine(profile="none")
    with pytest.raises(TypeError, match="queue: a dpctl.SyclQueue"):
        syclamp.Engine(queue=3)
    report = syclamp.system_report()
    assert report["version"] == syclamp.__version__ and report["devices"][cpu]["usable"]


def test_no_device_is_an_error_that_says_what_to_do():
    script = """
import syclamp
try:
    syclamp.Engine()
except syclamp.NoDeviceError as problem:
    print(problem)
"""
    assert "ONEAPI_DEVICE_SELECTOR" in output(script, ONEAPI_DEVICE_SELECTOR="cuda:*", PATH=os.defpath)
