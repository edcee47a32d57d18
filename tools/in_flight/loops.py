# SPDX-License-Identifier: Apache-2.0
"""Loops in what the vendors' compilers wrote, and how many bytes a work-item has loaded before it uses the first of them.

A loop is a list of a label, instructions and a jump back to the label, with no other loop inside. Its summary is
{"loads": sizes of all loads from global memory, sorted; "before_use": bytes of the loads that stand before the first use; "fp16": true
if FP16 is converted in the loop}.
"""
import re


def innermost(code):
    """Bodies of the innermost loops. `code` is a list of ("label", name), ("jump", name, text) and ("step", text)."""
    places = {item[1]: number for number, item in enumerate(code) if item[0] == "label"}
    ranges = [(places[item[1]], number) for number, item in enumerate(code)
              if item[0] == "jump" and places.get(item[1], number) < number]
    for first, last in sorted(set(ranges)):
        if not any(first <= inner[0] and inner[1] <= last and inner != (first, last) for inner in ranges):
            yield [item[-1] for item in code[first:last + 1] if item[0] != "label"]


def summary(steps, load, uses, fp16):
    """`load(step)` is (bytes, registers) or None; `uses(step, registers)` is true if the step needs one of them."""
    sizes, before, waiting, is_used = [], 0, set(), False
    for step in steps:
        found = load(step)
        is_used = is_used or uses(step, waiting)
        if found:
            sizes.append(found[0])
            if not is_used:
                before += found[0]
                waiting |= set(found[1])
    return {"loads": sorted(sizes), "before_use": before, "fp16": any(fp16.search(step) for step in steps)}


def without_repetition(loops):
    """Loops with loads, each kind once."""
    kinds = {}
    for loop in loops:
        if loop["loads"]:
            kinds.setdefault(str(sorted(loop.items())), loop)
    return list(kinds.values())


# --- NVIDIA: SASS, as nvdisasm -c prints it

SASS_SIZE = {"64": 8, "128": 16, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def sass_load(step):
    found = re.match(r"(?:@!?U?P\w+ +)?LDG\.E((?:\.\w+)*) R(\d+),", step)
    if not found:
        return None
    size = next((SASS_SIZE[part] for part in found[1].split(".") if part in SASS_SIZE), 4)
    return size, range(int(found[2]), int(found[2]) + max(1, size // 4))


def sass_uses(step, registers):
    """The first operand is the result, except of stores and jumps. Operands may be pairs or more: `.64` of an address."""
    plain = re.sub(r"^@!?U?P\w+ +", "", step)
    name, _, operands = plain.partition(" ")
    if not re.match(r"ST|RED|BAR|BRA", name):
        operands = operands.partition(",")[2]
    return any(int(number) in registers for number in re.findall(r"\bR(\d+)\b", operands))


def sass_loops(text):
    """{symbol: [summary of a loop]}"""
    found = {}
    for part in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.M)[1:]:
        code = []
        for line in part.splitlines():
            if label := re.match(r"(\.L_x_\d+):", line):
                code.append(("label", label[1]))
            elif step := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
                jump = re.search(r"\bBRA\b.*`\((\.L_x_\d+)\)", step[1])
                code.append(("jump", jump[1], step[1]) if jump else ("step", step[1]))
        loops = (summary(body, sass_load, sass_uses, re.compile(r"\bHADD2\.F32\b")) for body in innermost(code))
        found[part[:part.index(",")]] = without_repetition(loops)
    return found


# --- AMD: assembly of LLVM

AMD_SIZE = {"dwordx4": 16, "b128": 16, "dwordx3": 12, "b96": 12, "dwordx2": 8, "b64": 8, "dword": 4, "b32": 4}


def amd_load(step):
    found = re.match(r"global_load_(\w+)", step)
    return (AMD_SIZE.get(found[1], 2), (True,)) if found else None


def amd_waits(step, loaded):
    """A wave uses nothing that it has not waited for."""
    return bool(loaded) and re.match(r"s_waitcnt.*vmcnt", step) is not None


def amd_loops(assembly):
    """{symbol: [summary of a loop]}"""
    found = {}
    for name, body in re.findall(r"^(__sycl_kernel_syclamp_\w+):[^\n]*\n(.*?)^\s*\.section", assembly, flags=re.M | re.S):
        code = []
        for line in body.splitlines():
            line = line.partition(";")[0].strip()
            if label := re.match(r"(\.LBB\w+):", line):
                code.append(("label", label[1]))
            elif jump := re.match(r"s_(?:c?branch\w*)\s+(\.LBB\w+)", line):
                code.append(("jump", jump[1], line))
            elif line:
                code.append(("step", line))
        loops = (summary(steps, amd_load, amd_waits, re.compile(r"f32_f16|fma_mix")) for steps in innermost(code))
        found[name] = without_repetition(loops)
    return found


# --- Intel: assembly, as ocloc disasm prints it

def intel_load(step):
    """A load by each work-item: not those with a `t` after the number of elements, which are one for all of them.

    Where a message has no room for all work-items, a second one is for the others (M16) and does not count.
    """
    message = re.search(r"load\.ugm\.d(\d+)(?:u32)?(?:x(\d+))?\.a64", step)
    if not message or step.startswith("(W") or "|M0)" not in step:
        return None
    first = re.search(r"\) +r(\d+)", step)
    length = re.search(r"rd:(\d+)", step)
    return int(message[1]) // 8 * int(message[2] or 1), range(int(first[1]), int(first[1]) + int(length[1]))


def intel_uses(step, registers):
    """The first operand after the number of work-items, and after a condition, is the result."""
    operands = re.sub(r"^.*?\|M\d+\)\s*(?:\(\w+\)f\d\.\d)?\s*\S+", "", step.partition("//")[0].partition("{")[0])
    return any(int(number) in registers for number in re.findall(r"\br(\d+)", operands))


def intel_loops(assembly):
    """[summary of a loop] of one kernel."""
    code = []
    for line in assembly.splitlines():
        line = line.strip()
        if label := re.match(r"(L\d+):", line):
            code.append(("label", label[1]))
        elif re.search(r"\b(?:jmpi|while|goto(?:\.b)?|brc|brd)\b", line):
            code += [("jump", label, line) for label in re.findall(r"\bL\d+", line)]  # some jumps have two
        elif line:
            code.append(("step", line))
    return without_repetition(summary(steps, intel_load, intel_uses, re.compile(r"\((?:8|16|32)\|M\d+\).*<[^>]*>:hf\b")) for steps in innermost(code))
