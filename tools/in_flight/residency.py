# SPDX-License-Identifier: Apache-2.0
"""How many work-items of a kernel are on a compute unit at a time. Devices are those of devices.json."""


def up_to(number, step):
    return (number + step - 1) // step * step


def nvidia(device, group, registers, local):
    """Registers are given to warps of 32, in steps of 8 per work-item. A quarter of a compute unit has a quarter of them."""
    warps = 4 * (16384 // (up_to(max(registers, 16), 8) * 32))
    groups = [warps // (group // 32), device["max_items"] // group, device["max_groups"]]
    if local:
        groups.append(device["local_memory"] // (local + device["local_reserved"]))
    return min(groups) * group


def amd(device, group, registers, local):
    waves = min(device["max_waves"], device["registers"] // up_to(max(registers, 1), device["register_step"]))
    groups = [waves * device["simds"] // (group // device["wave"])]
    if local:
        groups.append(device["local_memory"] // local)
    return min(groups) * group


def intel(device, group, simd, registers, local):
    """A thread has 128 registers, or 256 if there are half as many threads. Local memory is given in certain sizes."""
    threads = device["threads"] * 128 // max(registers, 128)
    groups = [threads // (group // simd)]
    if local:
        groups.append(device["local_memory"] // next(size for size in device["local_sizes"] if size >= local))
    return min(groups) * group


def needed(device):
    """Bytes per compute unit that must be under way for the memory to be busy (Little's law)."""
    return device["bandwidth"] * device["latency"] / device["units"]
