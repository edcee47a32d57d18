# SPDX-License-Identifier: Apache-2.0
"""The SPIR-V of the kernels, by profile, for the vendors' compilers."""
import base64
import concurrent.futures
import os
import pathlib
import shutil
import subprocess

import gpu_cache
from ptx import figures

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAGIC = (0x07230203).to_bytes(4, "little")


class missing(Exception):
    """What has to be built first, or why it failed."""


def modules(data):
    """The SPIR-V modules in the bytes of a file of tools/ready_kernels.cpp."""
    found, at = [], data.find(MAGIC)
    while at >= 0:
        end = at + 20  # five words of header, then instructions that begin with their length
        while end + 4 <= len(data) and (length := int.from_bytes(data[end + 2:end + 4], "little")) > 0:
            end += 4 * length
        found.append(data[at:end])
        at = data.find(MAGIC, end)
    return found


def ready_kernels(build, profile):
    """{family: SPIR-V} of the families for all devices. Only what is out of date is compiled."""
    program, folder = build / "src/syclamp_ready_kernels", build / "gpu"
    if not program.exists():
        raise missing(f"{program} is missing; build it: cmake --build {build} --target syclamp_ready_kernels")
    # Files of the build save time. The program checks whether they are up to date.
    if (built := build / "lib/syclamp/kernels" / profile).exists():
        shutil.copytree(built, folder / profile, dirs_exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (stamp := folder / f"{profile}.stamp").unlink(missing_ok=True)
    done = subprocess.run([program, profile, folder, stamp], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode or not stamp.exists():
        raise missing(f"{program.name} made no SPIR-V:\n{done.stdout.rstrip()}")
    return {file.stem: file.read_bytes() for file in sorted((folder / profile).glob("*.spirv"))}


def matrix_kernels(build, sycl, profile):
    """{family: SPIR-V} of the families for matrix units. A CPU has none, so the run-time compiler makes nothing there."""
    tool = figures.load_ptx_tool()
    (folder := build / "ptx").mkdir(parents=True, exist_ok=True)
    library, made = (sycl / "lib/libsycl-jit.so").stat(), {}
    depends = (tool.OPTIONS, library.st_size, library.st_mtime_ns, (ROOT / "tools/ptx/compile_ptx.cpp").read_text())
    for family in figures.families("MATRIX_UNIT_OPERATION"):
        text = tool.run(build / "bin/kernel_source", profile, family)

        def spirv():
            source = folder / f"{profile}-{family.replace('/', '-')}.cpp"
            source.write_text(text)
            tool.run(tool.compiler(folder), source, source.with_suffix(".spv"), f"-I{ROOT}", f"-I{ROOT / 'include'}", *tool.OPTIONS,
                     LD_LIBRARY_PATH=str(sycl / "lib"))
            return base64.b64encode(source.with_suffix(".spv").read_bytes()).decode()

        kept = gpu_cache.remembered("spirv", (*depends, *figures.with_headers(text)), spirv)
        made[family.replace("/", "-")] = base64.b64decode(kept)
    return made


def compile_all(program, families, devices):
    """{device: {family: result}}: what `program` makes of SPIR-V by family for each device."""
    jobs = [(device, family, module) for family, data in families.items() for module in modules(data) for device in devices]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: program.compile(job[2], job[0]), jobs))
    found = {device: {} for device in devices}
    for (device, family, _), result in zip(jobs, results):
        before = found[device].get(family, {})
        if "error" in before or "error" in result:
            found[device][family] = before if "error" in before else result
        else:  # a family may have several modules
            found[device][family] = {part: {**before.get(part, {}), **result[part]} for part in ("kernels", "loops")}
    return found
