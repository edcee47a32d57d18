# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel around the library of a build folder, installs it into a new environment, and uses it there.

    wheel_test.py CMAKE SOURCE_FOLDER BUILD_FOLDER SYCL_LIB_FOLDER

`pip install .` builds the library as well, which takes minutes; everything else is the same.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

SCRIPT = """
import array, sys, syclamp
assert not {'numpy', 'torch'} & set(sys.modules)
weights, gradients = array.array('f', [1.0]), array.array('f', [0.0])
optimizer, scaler = syclamp.AdamW(weights, gradients), syclamp.LossScaler()
gradients[0] = scaler.begin_step()
scaler.step(optimizer, max_norm=1.0)
scaler.update()
assert weights[0] != 1.0 and optimizer.progress().applied == 1
print(syclamp.__version__)
"""


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def build_wheel(cmake, source, build, folder):
    """The wheel, and the Python tag that it should have."""
    prefix = folder / "prefix"
    run(cmake, "--install", build, "--prefix", prefix, stdout=subprocess.DEVNULL)
    run(sys.executable, "-m", "pip", "wheel", source, "--no-build-isolation", "--no-deps", "--no-index", "--quiet",
        "--wheel-dir", folder, "--config-settings", f"cmake.define.SYCLAMP_PYTHON_PREFIX={prefix}",
        "--config-settings", f"build-dir={build}/python-wheel")  # kept: the next run compiles only what has changed
    (wheel,) = folder.glob("*.whl")
    return wheel


DEPENDENCIES = ("intel-sycl-rt", "intel-opencl-rt", "intel-cmplr-lib-ur", "intel-cmplr-lib-rt")
OPTIONS = {"plot": "matplotlib", "tensorboard": "tensorboard", "torch": r"torch>=2\.10"}


def check_metadata(metadata):
    """Exactly the dependencies and options of pyproject.toml, each with its range of versions."""
    expected = [*(rf"{name}<2027\.0a0,>=2026\.2" for name in DEPENDENCIES),
                *(rf"{package}; extra == ['\"]{option}['\"]" for option, package in OPTIONS.items())]
    stated = re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)
    for pattern in expected:
        assert any(re.fullmatch(pattern, line) for line in stated), f"no dependency is {pattern}: {stated}"
    assert len(stated) == len(expected), stated
    assert sorted(re.findall(r"^Provides-Extra: (.*)$", metadata, re.M)) == sorted(OPTIONS), metadata
    assert re.search(r"^Requires-Python: >=3\.11$", metadata, re.M), metadata


def check_contents(wheel, source):
    is_stable = sys.version_info >= (3, 12)
    assert ("-cp312-abi3-" if is_stable else f"-cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-") in wheel.name, wheel
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    (module,) = (name for name in names if re.match(r"syclamp/_core\..*so$", name))
    assert module.endswith(".abi3.so") == is_stable, module
    package = pathlib.Path(source) / "bindings/python/syclamp"
    files = [path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {"py.typed", "torch/_grad_scaler.py"} <= set(files), files
    for name in ("_core.pyi", "_build.py", *files):
        assert f"syclamp/{name}" in names, name
    assert [name for name in names if re.match(r"syclamp/libsyclamp\.so\.\d+\.\d+$", name)], names
    assert any(name.startswith("syclamp/syclamp/kernels/cpu/") for name in names), "ready kernels"
    assert not [name for name in names if "/include/" in name or "/bin/" in name or name.endswith("CMakeLists.txt")]
    check_metadata(metadata)


def make_environment(folder, wheel, sycl_lib):
    """A new environment with the wheel, and with the SYCL runtime where Intel's wheels put it."""
    venv.create(folder, with_pip=False)
    run(sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--no-deps", "--no-index", "--quiet", wheel)
    for file in pathlib.Path(sycl_lib).iterdir():
        if file.is_file():
            try:
                os.link(file.resolve(), folder / "lib" / file.name)  # the driver is found by its real path
            except OSError:  # another file system
                shutil.copy(file, folder / "lib" / file.name)
    return folder / "bin/python"


def check_module(python):
    """The module finds its libraries, and takes nothing from them but what syclamp, SYCL and Python export."""
    module = next(pathlib.Path(python).parent.parent.glob("lib/python3*/site-packages/syclamp/_core.*.so"))
    header = subprocess.run(["readelf", "-d", module], check=True, capture_output=True, text=True).stdout
    assert "[$ORIGIN:$ORIGIN/../../..]" in header, header
    symbols = subprocess.run(["nm", "-D", "--undefined-only", module], check=True, capture_output=True, text=True).stdout
    assert "3fmt" not in symbols, symbols  # in a wheel, libsyclamp hides its {fmt}


def main(cmake, source, build, sycl_lib):
    with tempfile.TemporaryDirectory(dir=build) as name:  # beside the SYCL runtime, so that hard links work
        folder = pathlib.Path(name)
        wheel = build_wheel(cmake, source, build, folder)
        check_contents(wheel, source)
        python = make_environment(folder / "environment", wheel, sycl_lib)
        check_module(python)
        cache = {"SYCLAMP_CACHE_DIR": str(folder / "cache")}
        result = run(python, "-I", "-c", SCRIPT, env=cache, capture_output=True, text=True)
        print(f"{wheel.name}: version {result.stdout.strip()} works in an empty environment")


if __name__ == "__main__":
    main(*sys.argv[1:])
