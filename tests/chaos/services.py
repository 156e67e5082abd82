"""A notebook and a shell in use during a chaos run.

A kernel and a shell session count as long as they are asked to. A client that loses its connection,
because the process at its other end was killed, connects again: the kernel must continue where it was,
and the shell must accept a new session.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import threading

from cluster import TIMEOUT, Cluster, eventually, find_python

class _User(threading.Thread):
    """Uses a service until `stop`. A failed attempt is repeated; its reason is kept."""

    def __init__(self, cluster: Cluster, task: str) -> None:
        super().__init__(daemon=True)
        self.cluster, self.task = cluster, task
        self.values: list[int] = []  # what the program in the task has answered
        self.connections = 0
        self.problem = ""
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.use()
            except (OSError, AssertionError, subprocess.SubprocessError, ValueError) as error:
                self.problem = str(error)
            self._stopping.wait(0.2)

    def use(self) -> None:
        """Connects, and uses the connection until it breaks or is_over()."""
        raise NotImplementedError

    def is_over(self) -> bool:
        return self._stopping.is_set()

    def stop(self) -> None:
        self._stopping.set()
        self.join(TIMEOUT)

    def follow(self, words: list[str]) -> None:
        """Runs a client that prints a number per answer as long as its input is open."""
        env = {**os.environ, **self.cluster.user_environment()}
        with subprocess.Popen(
            words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, encoding="utf-8",
        ) as client:  # fmt: skip
            assert client.stdin is not None and client.stdout is not None
            answered = False
            with contextlib.suppress(BrokenPipeError):
                while not self.is_over():
                    client.stdin.write("next\n")
                    client.stdin.flush()
                    line = client.stdout.readline()
                    if not line:
                        break
                    if not answered:
                        self.connections += 1
                        answered = True
                    self.values.append(int(line))
                    self._stopping.wait(0.05)
            client.kill()
            assert client.stderr is not None
            self.problem = client.stderr.read().strip()[-200:]


class NotebookUser(_User):
    """Counts in a kernel, over its websocket."""

    def __init__(self, cluster: Cluster, task: str, python: str) -> None:
        super().__init__(cluster, task)
        self._python = python
        self._kernel = self._call("start", "x = 0").strip()

    def _address(self) -> str:
        notebook = self.cluster.get(f"notebooks/{self.task}")[0]["notebook"]
        return self.cluster.leader_url() + str(notebook["serviceAddress"])

    def _words(self, action: str, *words: str) -> list[str]:
        client = self.cluster.root / "tests/e2e/task_client.py"
        return [self._python, str(client), action, self._address(), *words]

    def _call(self, action: str, *words: str) -> str:
        return subprocess.run(
            self._words(action, *words), check=True, capture_output=True, encoding="utf-8",
            timeout=TIMEOUT,
        ).stdout  # fmt: skip

    def use(self) -> None:
        self.follow(self._words("repeat", self._kernel, "x += 1; print(x)"))

    def check(self) -> list[str]:
        last = int(self._call("continue", self._kernel, "print(x)"))
        if self.values != sorted(set(self.values)):
            return [f"notebook {self.task}: its kernel does not continue: {self.values[-5:]}"]
        if not self.values or last < self.values[-1]:
            return [f"notebook {self.task}: its kernel has {last} after {self.values[-1:]}"]
        return []


class ShellUser(_User):
    """Counts in a session of ssh."""

    def use(self) -> None:
        script = "i=0; while read word; do i=$((i+1)); echo $i; done"
        self.follow([*self.cluster.det_command(), "shell", "open", self.task, script])

    def check(self) -> list[str]:
        answer = self.cluster.det("shell", "open", self.task, "echo alive")
        if "alive" not in answer:
            return [f"shell {self.task} does not accept a session: {answer!r}"]
        expected = 1
        for value in self.values:
            if value not in (1, expected):
                return [f"shell {self.task}: answer {value} instead of {expected}"]
            expected = value + 1
        return [] if self.values else [f"shell {self.task} was never used: {self.problem}"]


class Services:
    """A notebook and a shell with a user each, until `finish`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        python = find_python("notebook", str(cluster.root))
        launch = ["start", "--detach", "--config", "resources.slots=0"]
        variables = f"environment.environment_variables=[DET_PYTHON_EXECUTABLE={python}]"
        notebook = cluster.det("notebook", *launch, "--config", variables).strip()
        shell = cluster.det("shell", *launch).strip()
        self._users: list[tuple[str, NotebookUser | ShellUser]] = []
        for task in (notebook, shell):
            eventually(lambda t=task: self._is_ready(t), "a service")
        self._users.append(("notebook", NotebookUser(cluster, notebook, python)))
        self._users.append(("shell", ShellUser(cluster, shell)))
        for _, user in self._users:
            user.start()
            eventually(lambda u=user: u.values, "the first answer of a service")

    def _is_ready(self, task: str) -> bool:
        described = self._cluster.get(f"tasks/{task}")[0]["task"]
        assert not described.get("endTime"), f"service {task} has ended"
        return bool(described["allocations"]) and described["allocations"][0]["isReady"]

    def finish(self, keepers_killed: set[str]) -> list[str]:
        """Ends the services; returns what was lost."""
        problems = []
        for kind, user in self._users:
            user.stop()
            print(f"  {user.connections:4} connections to the {kind}, {len(user.values)} answers")
            if f"{user.task}.1" not in keepers_killed:
                problems += user.check()
            self._cluster.det(kind, "kill", user.task)
            eventually(
                lambda k=kind, t=user.task: "STATE_TERMINATED"
                in json.dumps(self._cluster.get(f"{k}s/{t}")),
                "the end of a service",
            )
        words = [
            pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            for pid in self._cluster.processes()
        ]
        left = [each for each in words if "jupyter" in each or "sshd" in each]
        return problems + [f"process of an ended service: {each}" for each in left]
