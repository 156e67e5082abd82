#!/usr/bin/env -S python3 -B
"""Checks that `det` knows every command that the dashboard shows."""
import glob
import os
import re
import shlex
import subprocess
import tempfile
import unittest

import harness

SOURCES = os.path.join(harness.ROOT, "webui/src/**/*.ts*")
# A command that is a whole text or element, ready to copy; or one inside a sentence, which
# ends it.
COMPLETE = re.compile(r"""(?:command[=:]|text=)\s*\{?\s*(["'`])(det .*?)\1""", re.S)
MENTIONED = re.compile(r"""[ >"'`(]det ([a-z](?:(?!\. [A-Z])[^"'`<])*)""")


def read_commands():
    """Yields the file, the command, and whether it is complete."""
    for path in sorted(glob.glob(SOURCES, recursive=True)):
        if ".test." in path or "/generated/" in path:
            continue
        with open(path, encoding="utf-8") as file:
            source = file.read()
        name = os.path.relpath(path, harness.ROOT)
        complete = [match.group(2) for match in COMPLETE.finditer(source)]
        for command in complete:
            yield name, command, True
        for match in MENTIONED.finditer(source):
            command = "det " + match.group(1).rstrip(". \n")
            if not any(each.startswith(command) for each in complete):
                yield name, command, False


def to_words(command):
    # An expression in a text stands for an ID, a name, or nothing.
    command = re.sub(r"\$\{of\}", "", command)
    command = re.sub(r"\$\{isUser \? \"(.*?)\" : .*?\}", r"\1", command)
    command = re.sub(r"\$\{.*?\}|\bEXPERIMENT\b", "1", command)
    return shlex.split(command)


class ShownCommandsTest(unittest.TestCase):
    def test_det_accepts_the_commands_that_the_dashboard_shows(self):
        commands = sorted(set(read_commands()))
        self.assertGreater(len(commands), 25, "the pattern does not find the commands")
        folder = tempfile.mkdtemp()
        env = {"PATH": os.environ["PATH"], "HOME": folder, "DET_MASTER": "http://127.0.0.1:1"}
        wrong = []
        for name, command, is_complete in commands:
            done = subprocess.run([harness.DET, *to_words(command)[1:]], env=env, cwd=folder,
                                  check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, encoding="utf-8", timeout=60)
            # Exit code 2 is invalid usage. A sentence may leave the arguments out.
            is_usage = done.returncode == 2 and (is_complete or ": missing " not in done.stderr)
            if is_usage:
                wrong.append(f"{name}: {command}: {done.stderr.strip()}")
        self.assertEqual([], wrong)


if __name__ == "__main__":
    harness.main()
