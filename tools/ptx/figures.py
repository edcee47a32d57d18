# SPDX-License-Identifier: Apache-2.0
"""Registers, stack, spills and memory accesses of all kernels of the profile nvidia_gpu, by DPC++ and NVIDIA's ptxas."""
import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import gpu_cache
from in_flight import loops

PROFILE = "nvidia_gpu"
PTXAS_WHEEL, NVDISASM_WHEEL = "nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-nvdisasm==13.2.51"
FORMAT = 2  # increase it when the figures change their meaning: the cache has older ones


def load_ptx_tool():
    """tools/ptx/ptx as a module. It is a command, so its name has no ending."""
    loader = importlib.machinery.SourceFileLoader("ptx", str(ROOT / "tools/ptx/ptx"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("ptx", loader))
    loader.exec_module(module)
    return module


def find_ptxas():
    """The path of ptxas, or None: in PATH, else where tools/ptx/fetch unpacks it. Puts its folder into PATH."""
    found = shutil.which("ptxas") or shutil.which("ptxas", path=gpu_cache.folder("nvidia"))
    if found:
        os.environ["PATH"] = os.pathsep.join((os.path.dirname(found), os.environ["PATH"]))
    return found


def find_nvdisasm():
    """The path of the disassembler, or None."""
    return shutil.which("nvdisasm") or shutil.which("nvdisasm", path=gpu_cache.folder("nvidia"))


def loops_of(tool, ptx, arch):
    """{symbol: loops} of the machine code, or {} without a disassembler."""
    program, binary = find_nvdisasm(), ptx.with_suffix(f".{arch}.cubin")
    if program is None:
        return {}
    tool.run("ptxas", f"-arch={arch}", ptx, "-o", binary)
    return loops.sass_loops(tool.run(program, "-c", binary))


def tool_version(program):
    """The name and the version of one of NVIDIA's tools, or None without it."""
    if program is None:
        return None
    text = subprocess.run([program, "--version"], text=True, capture_output=True).stdout
    return f"{pathlib.Path(program).name} " + (re.search(r"\bV([\d.]+)", text) or ["", "of unknown version"])[1]


def ptxas_version():
    return tool_version("ptxas")


def families(kind="[A-Z_]+"):
    """The families of src/launch/operations.def whose operations are of this kind; all if none is given."""
    text = (ROOT / "src/launch/operations.def").read_text()
    return list(dict.fromkeys(re.findall(rf'^{kind}\("([\w/]+)"', text, flags=re.M)))


def with_headers(source):
    """A source and, after it, every header of the project that it includes, directly or not."""
    texts, waiting, seen = [source], [source], set()
    while waiting:
        for name in re.findall(r'^#include "([^"]+)"', waiting.pop(), flags=re.M):
            for file in (ROOT / name, ROOT / "include" / name):
                if file not in seen and file.is_file():
                    seen.add(file)
                    texts.append(file.read_text())
                    waiting.append(texts[-1])
    return texts


def accesses(counts):
    """How often each access to global memory, by its width, and each access to memory of an unknown kind is in a kernel."""
    kept = {}
    for name, count in counts.items():
        if re.match(r"(ld|st)\.", name) and not re.search(r"\.(shared|local|const)\b", name):
            kept[name] = kept.get(name, 0) + count
    return dict(sorted(kept.items()))


def family_figures(tool, arguments, family):
    folder = arguments.build / "ptx"
    ptx, archs = tool.make_ptx(family, arguments, folder), tool.supported(family, arguments.arch)
    by_arch = {arch: tool.resources(ptx, arch) for arch in archs}
    counts, code = tool.operations(ptx), {arch: loops_of(tool, ptx, arch) for arch in archs}
    kernels = {}
    for symbol in by_arch[archs[0]]:
        if "gemm_joint_" in symbol and not any(name.startswith("wmma.mma.") for name in counts[symbol]):
            tool.stop(f"{family} has no matrix instruction; name the architecture that it needs in TARGETS of tools/ptx/ptx")
        kernels[tool.DECORATION.sub("", symbol)] = {
            **kernel_figures({arch: by_arch[arch][symbol] for arch in archs}, counts[symbol]),
            "loops": {arch: code[arch].get(symbol, []) for arch in archs}}
    return kernels


def kernel_figures(numbers, counts):
    """The figures of a kernel without its loops. `numbers` are those of ptxas by architecture, `counts` those of the PTX."""
    return {"registers": {arch: number["registers"] for arch, number in numbers.items()},
            "stack": {arch: number["stack frame"] for arch, number in numbers.items() if number["stack frame"]},
            "spilled": {arch: spilled for arch, number in numbers.items()
                        if (spilled := number["spill stores"] + number["spill loads"])},
            "local memory": next(iter(numbers.values()))["smem"],
            "accesses": accesses(counts)}


def collect(build, sycl, archs, skipped=()):
    """{family: {kernel: figures}}. The cache keeps the figures of a family until something that they depend on changes."""
    tool = load_ptx_tool()
    arguments = argparse.Namespace(build=build, sycl=sycl, profile=PROFILE, arch=archs, output=None, kernels=ROOT)
    (build / "ptx").mkdir(exist_ok=True)
    tool.compiler(build / "ptx")
    library = (sycl / "lib/libsycl-jit.so").stat()
    tools = [(ROOT / "tools/ptx" / name).read_text() for name in ("ptx", "compile_ptx.cpp")]
    depends = (FORMAT, ptxas_version(), tool_version(find_nvdisasm()), pathlib.Path(loops.__file__).read_text(), *archs, *tools, library.st_size, library.st_mtime_ns)

    def figures(family):
        source = tool.run(build / "bin/kernel_source", PROFILE, family)
        return gpu_cache.remembered("nvidia/results", (*depends, *with_headers(source)),
                                    lambda: family_figures(tool, arguments, family))

    names = [family for family in families() if family not in skipped]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(figures, names)))
