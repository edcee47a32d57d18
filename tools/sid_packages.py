# SPDX-License-Identifier: Apache-2.0
"""Unpacks packages of Debian's suite sid into the user's cache folder. Nothing is installed.

The packages come from the archive that apt uses on this machine, and apt checks their signatures. Sid keeps only the newest
version of a package.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import gpu_cache

KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
VERSIONS = "versions.json"


class unavailable(Exception):
    """Why the packages cannot be had on this machine."""


def run(*command):
    """The standard output of a command."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True)
    if done.returncode:
        raise unavailable(f"{command[0]} failed:\n{(done.stderr or done.stdout).rstrip()}")
    return done.stdout


def archive():
    """The address of the Debian archive in apt's configuration."""
    lines = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages").splitlines()
    found = [line.split()[0] for line in lines if line.endswith(" main")]
    for address in found:
        if address.rstrip("/").endswith("/debian"):
            return address
    raise unavailable("apt on this machine uses no Debian archive")


def private_apt(folder):
    """The command line of an apt that knows only suite sid, and an empty system."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    signed = f" [signed-by={KEYRING}]" if KEYRING.exists() else ""
    (folder / "sources.list").write_text(f"deb{signed} {archive()} sid main\n")
    options = {"Dir::Etc::SourceList": folder / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
               "Dir::State": folder, "Dir::State::Lists": folder / "lists", "Dir::State::status": folder / "status",
               "Dir::Cache": folder / "cache", "Debug::NoLocking": "1", "Acquire::Languages": "none",
               "APT::Sandbox::User": "root", "APT::Architecture": "amd64", "APT::Architectures": "amd64",
               "Acquire::Check-Valid-Until": "false",  # mirrors may be weeks behind
               "pkgCacheGen::Essential": "none", "APT::Install-Recommends": "false"}
    return ["apt-get", "-qq", "-y", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]


def place(vendor):
    """The folder of a vendor's compiler."""
    return gpu_cache.folder(vendor) / "compiler"


def unpack(vendor, packages):
    """Unpacks the packages, and all that they need, to place(vendor). What was there before is removed."""
    if os.uname().machine != "x86_64" or not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise unavailable("the packages need a machine of type x86_64 with apt and dpkg")
    with tempfile.TemporaryDirectory(dir=gpu_cache.folder(vendor)) as scratch:
        scratch = pathlib.Path(scratch)
        apt = private_apt(scratch)
        run(*apt, "update")
        run(*apt, "--download-only", "install", *packages)
        versions = {}
        for package in sorted((scratch / "cache/archives").glob("*.deb")):
            run("dpkg", "-x", package, scratch / "root")
            name, version = run("dpkg-deb", "--show", package).split()
            versions[name.split(":")[0]] = version
        (scratch / "root" / VERSIONS).write_text(json.dumps(versions, indent=1, sort_keys=True))
        shutil.rmtree(place(vendor), ignore_errors=True)
        (scratch / "root").rename(place(vendor))


def versions(vendor):
    """{package: upstream version} of what was unpacked, or None."""
    try:
        full = json.loads((place(vendor) / VERSIONS).read_text())
    except (OSError, ValueError):
        return None
    return {name: version.split(":")[-1].rsplit("-", 1)[0] for name, version in full.items()}


def command(vendor, program):
    """A program of the packages, with its own loader and C library: they may be newer than those of this machine."""
    root = place(vendor)
    libraries = os.pathsep.join(str(root / folder) for folder in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"))
    return [str(root / "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", libraries, str(root / program)]
