# SPDX-License-Identifier: Apache-2.0
"""The folder where tools keep vendors' compilers and their results: $SYCLAMP_GPU_CACHE, or syclamp-gpu in the user's cache."""
import hashlib
import json
import os
import pathlib


def folder(name):
    """A folder of the cache, made if it is missing."""
    user = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    path = pathlib.Path(os.environ.get("SYCLAMP_GPU_CACHE") or user / "syclamp-gpu").absolute() / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def key(*parts):
    """A name for what depends on these texts and bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:40]


def remembered(name, parts, compute, is_kept=lambda result: True):
    """What `compute` returns, as JSON keeps it. It runs only if the cache has no result for these parts.

    A result that may be another the next time, such as that of a compiler that was killed, must not be kept.
    """
    file = folder(name) / f"{key(*parts)}.json"
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        pass
    result = compute()
    if not is_kept(result):
        return result
    unfinished = file.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(result))
    unfinished.replace(file)  # other processes see all of it or nothing
    return result
