# SPDX-License-Identifier: Apache-2.0
"""Intel's offline GPU compiler (ocloc, IGC), as tools/intel/fetch unpacks it, and what it makes of SPIR-V."""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import gpu_cache
import sid_packages
from in_flight import loops

PACKAGES = ("intel-ocloc", "libigc2", "libigc2-tools", "libigdfcl2")  # ocloc opens the libraries by name
# Members of .ze_info by the names that this module gives them.
FIGURES = {"simd_size": "simd", "grf_count": "registers", "spill_size": "spill", "private_size": "private"}
SILENT_END = "ocloc reported no error, but ended with status"


def find():
    """The compiler, or None if it was not fetched."""
    versions = sid_packages.versions("intel")
    return compiler(versions) if versions else None


def kernel_figures(ze_info):
    """Figures of each kernel, from the section that the compiler writes for the driver."""
    kernels, current = {}, None
    for line in ze_info.splitlines():
        if start := re.match(r"  - name: +(\S+)", line):
            current = kernels.setdefault(start[1], {"simd": 0, "registers": 0, "spill": 0, "private": 0})
        elif (member := re.match(r"      (\w+): +(\d+)", line)) and current is not None and member[1] in FIGURES:
            current[FIGURES[member[1]]] = int(member[2])
    return kernels


def local_memory(ze_info):
    """{symbol: bytes of a work-group}"""
    parts = re.split(r"^  - name: +(\S+)", ze_info, flags=re.M)
    return {name: int(size[1]) for name, text in zip(parts[1::2], parts[2::2]) if (size := re.search(r"slm_size: +(\d+)", text))}


def short_name(symbol):
    """The name of an operation, without what surrounds it in the symbol."""
    return re.sub(r"^__sycl_kernel_syclamp_|(_\d+)+$", "", symbol)


class compiler:
    def __init__(self, versions):
        program = next((sid_packages.place("intel") / "usr/bin").glob("ocloc*"))
        self.command = sid_packages.command("intel", program)
        self.reading = b"".join(pathlib.Path(file).read_bytes() for file in (loops.__file__, __file__))  # its results are in the cache
        self.version = f"ocloc {versions['intel-ocloc']}, IGC {versions['libigc2']}"

    def run(self, *arguments):
        # Some commands of ocloc, such as `query`, write files to the current folder.
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([str(part) for part in (*self.command, *arguments)], capture_output=True, text=True, errors="replace", cwd=folder)

    def find_versions(self):
        listed = re.search(r"<device_type> can be: (.*?), ip version", self.run("compile", "--help").stdout)
        names = listed[1].split(", ") if listed else []
        return {name: re.findall(r"^\d+\.\d+\.\d+$", self.run("ids", name).stdout, flags=re.M) for name in names}

    def versions_by_name(self):
        """{name of a device, a release such as xe-hpg, or a family: versions of GPUs}. Empty if the help text has another form."""
        # A name without a version, or no name at all, may come from a command that could not run.
        return gpu_cache.remembered("intel/names", (self.version, self.reading), self.find_versions,
                                    is_kept=lambda names: names and all(names.values()))

    def compile_module(self, module, device):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "kernels.spv").write_bytes(module)
            done = self.run("compile", "-spirv_input", "-file", folder / "kernels.spv", "-device", device, "-out_dir", folder,
                            "-output_no_suffix", "-output", "binary")
            binary = next((file for file in folder.glob("binary*") if file.suffix != ".spv"), None)
            if done.returncode or binary is None:
                lines = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
                return {"error": " | ".join(dict.fromkeys(lines)) or f"{SILENT_END} {done.returncode}"}
            self.run("disasm", "-file", binary, "-dump", folder / "parts", "-device", device)
            kernels = kernel_figures((folder / "parts/.ze_info").read_text())
            named, found_loops = {}, {}
            local = local_memory((folder / "parts/.ze_info").read_text())
            for symbol, figures in kernels.items():
                code = folder / f"parts/.text.{symbol}.asm"
                if code.exists() and symbol.startswith("__sycl_kernel_syclamp_"):
                    figures["fp64"] = len(re.findall(r":df\b", code.read_text()))
                    named[short_name(symbol)] = figures
                    found_loops[short_name(symbol)] = {"local memory": local.get(symbol, 0), "loops": loops.intel_loops(code.read_text())}
            return {"kernels": named, "loops": found_loops} if named else {"error": "the compiler's output has no kernels"}

    def compile(self, module, device):
        """{"kernels": {name: figures}} or {"error": text}. The cache keeps both, but not the end of a compiler that was killed."""
        return gpu_cache.remembered("intel/results", (self.version, self.reading, device, module),
                                    lambda: self.compile_module(module, device),
                                    is_kept=lambda result: not result.get("error", "").startswith(SILENT_END))
