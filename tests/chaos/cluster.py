"""The real daemons of a chaos run, each of which can be killed, stopped and restarted."""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from proxy import CuttingProxy

# The common functions of tests with real daemons.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import eventually, find_python, free_port, processes_below  # noqa: E402

SLOTS = 2
TIMEOUT = 60.0  # seconds, for operations that should take a few


def environment_of(pid: int) -> dict[str, str]:
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


class Cluster:
    """A master with an embedded PostgreSQL, and agents that connect to it through proxies."""

    def __init__(self, root: pathlib.Path, agents: int) -> None:
        self.root = root
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="det-chaos-", dir="/tmp"))
        self.folder.chmod(0o755)  # PostgreSQL may run as a different user.
        self.data = self.folder / "data"
        self.port = free_port()
        self.prepare()
        self.names = [f"agent-{i}" for i in range(agents)]
        # One between each agent and each master.
        self.proxies = {
            name: [CuttingProxy(("127.0.0.1", port)) for port in self.ports()]
            for name in self.names
        }
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.start_master()
        self.token = (self.token_dir() / "admin.token").read_text().strip()
        for name in self.names:
            self.start_agent(name)
        eventually(lambda: len(self.agents()) == agents, "the registration of all agents")

    def prepare(self) -> None:
        """Runs before the first daemon starts."""

    def ports(self) -> list[int]:
        """The ports of the masters."""
        return [self.port]

    def token_dir(self) -> pathlib.Path:
        return self.data

    def urls(self) -> str:
        return ",".join(f"http://127.0.0.1:{port}" for port in self.ports())

    def leader_url(self) -> str:
        """The URL of the master that accepts connections; only the leader does."""
        port = eventually(lambda: next(filter(self.responds, self.ports()), None), "a leader")
        return f"http://127.0.0.1:{port}"

    # ---- daemons

    def _start(self, name: str, words: list[str]) -> None:
        # The Python that trials should use is kept; other variables may refer to another cluster.
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("DET_", "TEST_")) or k == "DET_PYTHON_EXECUTABLE"}  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                cwd=self.folder, start_new_session=True,
            )  # fmt: skip

    def start_master(self) -> None:
        program = str(self.root / "master/resolute-master")
        self._start(
            "master",
            [program, "--config", "/dev/null", "--data-dir", str(self.data),
             "--port", str(self.port)],
        )  # fmt: skip
        eventually(self.responds, "a response of the master")

    def start_agent(self, name: str) -> None:
        self._start(
            name,
            [str(self.root / "agent/resolute-agent"), "--config-file", "/dev/null",
             "--id", name, "--slots", str(SLOTS),
             "--master", ",".join(f"http://127.0.0.1:{p.port}" for p in self.proxies[name]),
             "--work-dir", str(self.data / "agents" / name),
             "--token-file", str(self.token_dir() / "agent.token")],
        )  # fmt: skip

    def signal(self, name: str, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._daemons[name].pid, number)

    def kill(self, name: str) -> None:
        self.signal(name, signal.SIGKILL)
        self._daemons[name].wait()

    def is_running(self, name: str) -> bool:
        return self._daemons[name].poll() is None

    def stop_database(self) -> None:
        """Stops the database processes, so that it neither responds nor rejects connections."""
        self._database_processes = [
            pid for pid, _ in processes_below(str(self.data / "postgres"))
        ]
        for pid in self._database_processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def continue_database(self) -> None:
        for pid in self._database_processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def database_pid(self) -> int | None:
        """The PID of the postmaster; None while it is down."""
        try:
            return int((self.data / "postgres/postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None

    def processes(self) -> list[int]:
        """The processes of this cluster, without this process."""
        return [pid for pid, _ in processes_below(str(self.folder))]

    def ranks(self) -> list[int]:
        """The processes that train."""
        variables = {"DET_RANK", "RANK"}  # set by the launchers of both languages
        return [pid for pid in self.processes() if variables & environment_of(pid).keys()]

    def keepers(self) -> list[tuple[int, str]]:
        """(process, allocation) of the keeper of each task."""
        found = []
        for pid, command in processes_below(str(self.folder)):
            words = command.split()
            if words[0].endswith("resolute-keeper"):
                found.append((pid, pathlib.Path(words[1]).parent.name))
        return found

    def close(self, keep: bool = False) -> None:
        for proxies in self.proxies.values():
            for proxy in proxies:
                proxy.close()
        for name, daemon in self._daemons.items():
            self.signal(name, signal.SIGCONT)
            self.signal(name, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the API

    def get(self, path: str, timeout: float = TIMEOUT) -> list[dict]:
        """The messages of the response. If no master responds, retries with each master in turn."""
        end = time.monotonic() + timeout
        for port in itertools.cycle(self.ports()):
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/v1/{path}",
                headers={"Authorization": "Bearer " + self.token},
            )
            try:
                with urllib.request.urlopen(request, timeout=timeout / 4) as answer:
                    return [json.loads(line) for line in answer if line.strip()]
            except urllib.error.HTTPError as error:
                if error.code not in (502, 503, 504) or time.monotonic() > end:
                    raise AssertionError(f"GET {path}: {error.code} {error.read()!r}") from None
            except OSError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)
        raise AssertionError("the cluster has no master")

    def responds(self, port: int | None = None) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port or self.port}/health", timeout=1
            ):
                return True
        except OSError:
            return False

    def agents(self) -> list[dict]:
        return self.get("agents")[0].get("agents", [])

    def user_environment(self) -> dict[str, str]:
        """The variables with which `det` acts as the administrator."""
        return {"DET_DATA_DIR": str(self.data), "HOME": str(self.folder),
                "DET_MASTER": self.urls(), "DET_USER_TOKEN": self.token}  # fmt: skip

    def det_command(self) -> list[str]:
        return [str(self.root / "cli/det")]

    def det(self, *words: str) -> str:
        """Runs `det` as the administrator; returns what it prints."""
        done = subprocess.run(
            [*self.det_command(), *words], env={**os.environ, **self.user_environment()},
            check=True, capture_output=True, timeout=TIMEOUT, encoding="utf-8",
        )  # fmt: skip
        return done.stdout

    def create(self, config: dict, context: pathlib.Path) -> int:
        path = self.folder / f"{config['name']}.json"
        path.write_text(json.dumps(config))
        created = self.det("experiment", "create", str(path), str(context), "--json")
        return int(json.loads(created)["experiment"]["id"])
