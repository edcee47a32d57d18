# SPDX-License-Identifier: Apache-2.0
"""LLVM's compiler for AMD GPUs, as tools/amd/fetch unpacks it, and what it makes of SPIR-V."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import gpu_cache
import sid_packages
from amd import rewrite
from in_flight import loops

PACKAGES = ("llvm-21", "llvm-spirv-21")
# Members of a kernel's metadata by the names that this module gives them.
FIGURES = {"vgpr_count": "vgprs", "agpr_count": "agprs", "sgpr_count": "sgprs", "vgpr_spill_count": "vgpr spills",
           "sgpr_spill_count": "sgpr spills", "private_segment_fixed_size": "scratch",
           "group_segment_fixed_size": "local memory", "wavefront_size": "wave"}
CALL = re.compile(r"^\s+s_swappc_b64\b", flags=re.M)
ACCESS = re.compile(r"^\s+((?:global|flat|scratch|buffer)_(?:load|store|atomic)\w*)", flags=re.M)
DECORATION = re.compile(r"^__sycl_kernel_syclamp_|(_\d+)+$")  # what surrounds the name of an operation


def find():
    """The compiler, or None if it was not fetched."""
    versions = sid_packages.versions("amd")
    return compiler(versions) if versions else None


def without_sizes(access):
    """Older and newer devices spell the same access differently: dwordx4 and b128."""
    old = {"dwordx4": "b128", "dwordx3": "b96", "dwordx2": "b64", "dword": "b32", "ushort": "u16", "ubyte": "u8", "sbyte": "i8",
           "sshort": "i16", "short": "b16", "byte": "b8"}
    return re.sub(r"_(dwordx[234]|dword|[us]?short|[us]?byte)(?=_|$)", lambda size: "_" + old[size[1]], access)


def kernel_figures(assembly):
    """{kernel: figures} of what llc wrote: numbers of the metadata, and how often each access is in the code."""
    code = dict(re.findall(r"^(__sycl_kernel_syclamp_\w+):[^\n]*\n(.*?)^\s*\.section", assembly, flags=re.M | re.S))
    kernels = {}
    for entry in re.split(r"^  - ", assembly.partition("amdhsa.kernels:")[2], flags=re.M)[1:]:
        name = re.search(r"^    \.name: +(\S+)", entry, flags=re.M)
        if not name or name[1] not in code:
            continue
        figures = {short: 0 for short in FIGURES.values()}
        for member, number in re.findall(r"^ *\.(\w+): +(\d+)$", entry, flags=re.M):
            if member in FIGURES:
                figures[FIGURES[member]] = int(number)
        figures["accesses"] = dict(sorted(collections.Counter(map(without_sizes, ACCESS.findall(code[name[1]]))).items()))
        if calls := len(CALL.findall(code[name[1]])):  # accesses of called functions are not in the figures
            figures["calls"] = calls
        kernels[DECORATION.sub("", name[1])] = figures
    return kernels


class compiler:
    def __init__(self, versions):
        self.programs = {"llvm-spirv": "usr/bin/llvm-spirv-21", "llvm-dis": "usr/lib/llvm-21/bin/llvm-dis",
                         "opt": "usr/lib/llvm-21/bin/opt", "llc": "usr/lib/llvm-21/bin/llc"}
        self.version = f"LLVM {versions['llvm-21']}, llvm-spirv {versions['llvm-spirv-21']}"
        self.rewriting = b"".join(pathlib.Path(file).read_bytes() for file in (rewrite.__file__, loops.__file__, __file__))

    def run(self, name, *arguments):
        command = (*sid_packages.command("amd", self.programs[name]), *arguments)
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise ValueError(f"{name}: {done.stderr.strip().splitlines()[0] if done.stderr.strip() else done.returncode}")

    def compile_module(self, module, device):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "kernels"
            spv, bitcode, text, best, assembly = (file.with_suffix(end) for end in (".spv", ".bc", ".ll", ".opt.bc", ".s"))
            spv.write_bytes(module)
            try:
                self.run("llvm-spirv", "-r", spv, "-o", bitcode)
                self.run("llvm-dis", bitcode, "-o", text)
                text.write_text(rewrite.for_amd(text.read_text()))
                self.run("opt", "-O3", f"-mcpu={device}", text, "-o", best)
                self.run("llc", "-O3", f"-mcpu={device}", best, "-o", assembly)
            except ValueError as problem:
                return {"error": str(problem)}
            text = assembly.read_text()
            kernels = kernel_figures(text)
            found = {DECORATION.sub("", symbol): {"loops": kernel_loops} for symbol, kernel_loops in loops.amd_loops(text).items()}
            return {"kernels": kernels, "loops": found} if kernels else {"error": "the compiler's output has no kernels"}

    def compile(self, module, device):
        """{"kernels": {name: figures}} or {"error": text}. The cache keeps no errors, because no kernel should have one."""
        return gpu_cache.remembered("amd/results", (self.version, self.rewriting, device, module),
                                    lambda: self.compile_module(module, device), is_kept=lambda result: "error" not in result)
