# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on every source of the build, and on the kernels.   tidy.py [--all] CLANG_TIDY BUILD_FOLDER

A source found clean is remembered by a hash of all that the result depends on: the source, the files of the repository that
it includes, the configuration, the compiler's options and the release of clang-tidy. It is read again when one of them has
changed, or with --all. The hashes are empty files in $SYCLAMP_LINT_CACHE, which can be removed at any time.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
MONTH = 30 * 24 * 3600.0
# Options of g++ that clang does not know, and Catch2's use of __COUNTER__.
EXTRA = ("--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-c2y-extensions")


def cache_folder():
    if "SYCLAMP_LINT_CACHE" in os.environ:
        return pathlib.Path(os.environ["SYCLAMP_LINT_CACHE"])
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "syclamp-lint")


def without_precompiled(arguments):
    """The compiler's arguments without precompiled headers, so that a missing #include is found."""
    words = iter(arguments)
    kept = []
    for word in words:
        if word == "-include":
            name = next(words)
            kept += [] if "cmake_pch" in name else [word, name]
        elif word == "-Xclang":  # -Xclang -include-pch -Xclang FILE -Xclang -include -Xclang FILE
            name = next(words)
            if name in ("-include-pch", "-include"):
                next(words), next(words)
            else:
                kept += [word, name]
        elif word not in ("-Winvalid-pch", "-fpch-instantiate-templates", "-fpch-preprocess"):
            kept.append(word)
    return kept


def kernel_source(root, build, library_arguments):
    """One source that includes all kernels. They are C++ that a host compiler can parse."""
    folder = build / "lint/kernels"
    folder.mkdir(parents=True, exist_ok=True)
    kernels = root / "sycl_kernels"
    headers = sorted(path.relative_to(kernels) for path in kernels.rglob("*.hpp"))
    source = folder / "kernels.cpp"
    source.write_text("".join(f'#include "{header}"\n' for header in headers))
    (folder / ".clang-tidy").write_text((kernels / ".clang-tidy").read_text())
    return {"directory": str(build), "file": str(source), "arguments": [*library_arguments[:-1], f"-I{kernels}", str(source)]}


def sources(root, build):
    """The build's compile commands, one for each source of the repository, and one for the kernels."""
    found = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(command["file"])
        # Not C and Fortran, and not sources of packages that set-up has installed.
        if path.suffix == ".cpp" and path.is_relative_to(root) and not any(map(path.is_relative_to, (build, root / ".syclamp"))):
            arguments = without_precompiled(shlex.split(command["command"]))
            found.setdefault(path, {"directory": command["directory"], "file": str(path), "arguments": arguments})
    commands = [found[path] for path in sorted(found)]
    library = next((c for c in commands if pathlib.Path(c["file"]).is_relative_to(root / "src/engine")), None)
    return commands + ([kernel_source(root, build, library["arguments"])] if library else [])


class Fingerprints:
    """Hashes of what the results depend on. Conditions around an #include are not evaluated: a file too many does no harm."""

    def __init__(self, root, version):
        self.root, self.version, self.texts = root, version, {}
        # Of the packages whose headers are read, and of clang-tidy itself.
        self.locks = [lock.read_bytes() for lock in sorted((root / "setup").glob("*.lock")) if lock.stem in ("sycl", "python", "tidy")]

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = path.read_text() if path.is_file() else None
        return self.texts[path]

    def included(self, source, folders):
        """The source and all files of the repository that it includes."""
        seen, waiting = {source}, [source]
        while waiting:
            path = waiting.pop()
            for name in INCLUDE.findall(self.text(path)):
                for folder in (path.parent, *folders):
                    candidate = pathlib.Path(os.path.normpath(folder / name))
                    if candidate.is_relative_to(self.root) and self.text(candidate) is not None:
                        if candidate not in seen:
                            seen.add(candidate)
                            waiting.append(candidate)
                        break
        return sorted(seen)

    def of(self, command):
        source = pathlib.Path(command["file"])
        folders = [pathlib.Path(word[2:]) for word in command["arguments"] if word.startswith("-I")]
        configurations = [self.text(folder / ".clang-tidy") or "" for folder in source.parents if folder.is_relative_to(self.root)]
        files = [(str(path.relative_to(self.root)), self.text(path)) for path in self.included(source, folders)]
        options = " ".join(command["arguments"]).replace(str(self.root), ".")
        return hashlib.sha256(repr((self.version, self.locks, configurations, files, options)).encode()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also read files that are remembered as clean")
    parser.add_argument("tool", help="clang-tidy")
    parser.add_argument("build", type=pathlib.Path, help="build folder that has a compile_commands.json")
    arguments = parser.parse_args()
    root, build, cache = pathlib.Path().resolve(), arguments.build.resolve(), cache_folder()

    commands = sources(root, build)
    if not commands:
        print(f"tidy: {build}/compile_commands.json names no source of {root}", file=sys.stderr)
        return 1
    (build / "lint").mkdir(exist_ok=True)
    (build / "lint/compile_commands.json").write_text(json.dumps(commands, indent=1))
    version = subprocess.run([arguments.tool, "--version"], check=True, capture_output=True, text=True).stdout
    fingerprints = Fingerprints(root, version)
    cache.mkdir(parents=True, exist_ok=True)
    for entry in cache.iterdir():
        if entry.stat().st_mtime < time.time() - MONTH:
            entry.unlink()
    entries = [(command["file"], cache / fingerprints.of(command)) for command in commands]
    changed = [(file, entry) for file, entry in entries if arguments.all or not entry.exists()]
    for _, entry in entries:
        if entry.exists():
            entry.touch()  # still in use
    print(f"clang-tidy: {len(changed)} of {len(entries)} files to read", flush=True)

    def tidy(file, entry):
        call = [arguments.tool, "--quiet", "-p", str(build / "lint"), *EXTRA, file]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode == 0:
            entry.touch()
        else:
            entry.unlink(missing_ok=True)
        return file, done

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, job in enumerate(concurrent.futures.as_completed([pool.submit(tidy, *one) for one in changed]), 1):
            file, done = job.result()
            print(f"[{number}/{len(changed)}] {os.path.relpath(file)}", flush=True)
            if done.returncode:
                bad += 1
                print(done.stdout, done.stderr, flush=True)
    print(f"clang-tidy: warnings in {bad} files" if bad else "clang-tidy: no warnings")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
