#!/usr/bin/env -S python3 -B
"""Tests the completion scripts of `det completion` in bash, zsh and fish."""
import os
import pty
import select
import shutil
import subprocess
import time

import harness

# A wrapper for det that passes completion requests on and prints the arguments of completed commands.
WRAPPER = """#!/bin/sh
case "$1" in
  completion|__complete) exec {det} "$@" ;;
  *) echo "<$*>" ;;
esac
"""
PROMPT = "ready> "


class Terminal:
    """A shell on a pseudo-terminal with simulated key presses."""

    def __init__(self, argv, env, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, env)
        self.seen = ""

    def read_until(self, text):
        end = time.monotonic() + harness.TIMEOUT
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"{text!r} did not come; the terminal shows {self.seen!r}")
            self.seen += os.read(self.fd, 4096).decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class CompletionTest(harness.ClusterTestCase):
    agents = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.experiment = cls.home.create(harness.TRUE_JOB, None, "--paused")
        det = cls.home.write("bin/det", WRAPPER.format(det=harness.DET))
        os.chmod(det, 0o755)
        cls.empty = os.path.join(cls.home.folder, "empty")  # Empty, because files are completed, too.
        os.makedirs(cls.empty)
        cls.env = {**cls.home.env, "TERM": "dumb", "LANG": "C.UTF-8",
                   "PATH": os.path.dirname(det) + ":" + cls.home.env["PATH"]}

    def shell(self, name):
        if shutil.which(name, path=self.env["PATH"]) is None:
            self.skipTest(f"there is no {name} here")

    def cases(self):
        """(typed text, completed text)"""
        return [("det experiment desc", "experiment describe"),
                ("det experiment list --off", "experiment list --offset"),
                ("det e describe ", f"e describe {self.experiment}")]

    def check_typed(self, argv, setup):
        terminal = Terminal(argv, self.env, self.empty)
        self.addCleanup(terminal.close)
        for line in setup:
            terminal.type(line + "\n")
        terminal.read_until("setup\r\n")  # Ends with \r\n, so it does not match the echo of the command.
        for typed, becomes in self.cases():
            def completed():
                terminal.read_until(PROMPT)
                terminal.type(typed + "\t\n")
                terminal.read_until("<")
                return terminal.read_until(">").strip() == becomes
            # Completion has a short timeout; on a busy machine the keys are pressed again.
            harness.eventually(completed, f"{typed!r} becomes {becomes!r} in {argv[0]}")

    def test_completes_in_bash(self):
        self.shell("bash")
        self.check_typed(["bash", "--norc", "--noprofile", "-i"],
                         ["bind 'set bell-style none'; bind 'set enable-bracketed-paste off'",
                          f"PS1='{PROMPT}'", 'eval "$(det completion bash)"; echo set""up'])

    def test_completes_in_zsh(self):
        self.shell("zsh")
        self.check_typed(["zsh", "-f", "-i"],
                         [f"unsetopt beep prompt_sp prompt_cr; PS1='{PROMPT}'",
                          f"autoload -U compinit; compinit -u -d {self.empty}/../zcompdump",
                          'eval "$(det completion zsh)"; echo set""up'])

    def test_completes_in_fish(self):
        self.shell("fish")
        for typed, becomes in self.cases():
            def completed():
                script = f"det completion fish | source; complete -C '{typed}'"
                output = subprocess.run(["fish", "--no-config", "-c", script], env=self.env,
                                      cwd=self.empty, stdout=subprocess.PIPE, encoding="utf-8",
                                      check=True).stdout
                words = [line.split("\t")[0] for line in output.splitlines()]
                return words == [becomes.split()[-1]]
            harness.eventually(completed, f"{typed!r} becomes {becomes!r} in fish")


if __name__ == "__main__":
    harness.main()
