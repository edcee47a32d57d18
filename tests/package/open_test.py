# SPDX-License-Identifier: Apache-2.0
"""setup/open.sh with a stand-in for xdg-open, which no test machine has a desktop for.   open_test.py PROJECT"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv[1]).resolve() / "setup" / "open.sh"
DESKTOP = {"DISPLAY": ":0"}


class Open(unittest.TestCase):
    def opened(self, variables, terminal=True, status=0, installed=True):
        """What xdg-open is asked to open. The script must succeed and print nothing, whatever xdg-open does."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if installed:
                program = folder / "xdg-open"
                program.write_text(f'#!/bin/sh\necho "$1" > "{folder}/said"\nexit {status}\n')
                program.chmod(0o755)
            leader, follower = os.openpty()
            # Everything that the script starts inherits this end of a pipe: the other end tells when all of it has ended.
            ended, alive = os.pipe()
            done = subprocess.run(["/bin/sh", SCRIPT, "report/index.html"], env={"PATH": name, **variables}, timeout=60,
                                  stdin=subprocess.DEVNULL, stdout=follower if terminal else subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, pass_fds=(alive,))
            os.close(alive)
            os.read(ended, 1)
            for descriptor in (ended, leader, follower):
                os.close(descriptor)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            said = folder / "said"
            return said.read_text().strip() if said.exists() else ""

    def test_opens_on_a_desktop(self):
        self.assertEqual(self.opened(DESKTOP), "report/index.html")
        self.assertEqual(self.opened({"WAYLAND_DISPLAY": "wayland-0"}), "report/index.html")

    def test_a_failure_does_not_matter(self):
        self.assertEqual(self.opened(DESKTOP, status=3), "report/index.html")
        self.assertEqual(self.opened(DESKTOP, installed=False), "")

    def test_opens_nothing_without_desktop_or_terminal(self):
        self.assertEqual(self.opened({}), "")
        self.assertEqual(self.opened(DESKTOP, terminal=False), "")


unittest.main(argv=sys.argv[:1])
