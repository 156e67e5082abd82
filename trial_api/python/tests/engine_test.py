"""Launchers whose engine starts the ranks, on two nodes that are addresses of this machine.

The engine is a fake: it starts the command of its arguments through the remote shell that its
environment names.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

from det._ports import free_ports
from det.launch import _shell
from fake_master import SERVICE, fake_master, task_environment

ADDRESSES = ["127.0.0.1", "127.0.0.2"]
# mpirun and horovodrun do the same: they start the ranks of the first node as processes, and those of
# other nodes through the shell.
ENGINE = """
    import os, shlex, subprocess, sys
    words = sys.argv[1:]
    hosts = words.index(HOSTS)
    nodes = [node.split(":") for node in words[hosts + 1].split(",")]
    assert words[hosts - 2:hosts] == ["-np", str(sum(int(count) for _, count in nodes))], words
    ranks, rank = [], 0
    for number, (address, count) in enumerate(nodes):
        for local in range(int(count)):
            variables = dict(zip(VARIABLES, map(str, (rank, 3, local, count))))
            rank += 1
            if number == 0:
                ranks.append(subprocess.Popen(words[hosts + 2:], env={**os.environ, **variables}))
                continue
            sent = {**variables, **SENT(os.environ)}
            words_there = ["env", *(f"{name}={value}" for name, value in sent.items())]
            line = shlex.join(words_there + words[hosts + 2:])
            ranks.append(subprocess.Popen([*SHELL(os.environ), address, line]))
    code = 0
    while ranks and not code:
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        ranks = [one for one in ranks if one.pid != pid]
    for one in ranks:
        one.terminate()
        one.wait()
    print("engine ends", flush=True)
    if code:
        print("-" * 30, file=sys.stderr, flush=True)
    sys.exit(code)
    """
KINDS = {
    "mpi": (
        "mpirun",
        '"--host"',
        ["OMPI_COMM_WORLD_" + name for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")],
        'lambda env: [env["OMPI_MCA_plm_rsh_agent"]]',
        "lambda env: {}",
    ),
    # horovodrun sends the variables of its own node.
    "horovod": (
        "horovodrun",
        '"-H"',
        ["HOROVOD_" + name for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")],
        'lambda env: ["ssh", "-o", "StrictHostKeyChecking=no", "-p", "22"]',
        'lambda env: {"DET_AGENT_ID": env["DET_AGENT_ID"]}',
    ),
}


class EngineTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        for node in range(2):
            self.master.answers[f"/api/v1/allocations/3.7.1/resources/node-{node}/rendezvous"] = {
                "rendezvousInfo": {"addresses": ADDRESSES, "rank": node, "slots": [2, 1]}
            }
        self.ports = free_ports(3)

    def write(self, name, text, mode=0o600):
        path = pathlib.Path(self.folder, name)
        path.write_text(textwrap.dedent(text))
        path.chmod(mode)
        return str(path)

    def start(self, kind, node, script):
        """Starts the launcher of a node in the way an agent does."""
        program, hosts, variables, shell, sent = KINDS[kind]
        stub = (
            f"#!{sys.executable} -B\nHOSTS, VARIABLES = {hosts}, {variables}\n"
            f"SHELL, SENT = {shell}, {sent}\n"
        )
        self.write(program, stub + textwrap.dedent(ENGINE), 0o700)
        env = {
            **os.environ,
            **task_environment(
                self.master,
                self.folder,
                DET_AGENT_ID=f"node-{node}",
                DET_RESOURCES_ID=f"node-{node}",
                DET_SLOT_IDS=json.dumps(list(range(2 - node))),
                C10D_PORT=str(self.ports[0]),
                INTER_TRAIN_PROCESS_COMM_PORT_1=str(self.ports[1]),
                DTRAIN_SSH_PORT=str(self.ports[2]),
                DET_EXPERIMENT_CONFIG=json.dumps({"resources": {"slots_per_trial": 3}}),
            ),
        }
        env["PATH"] = f"{self.folder}:{env['PATH']}"
        launcher = subprocess.Popen(
            [sys.executable, "-B", "-m", f"det.launch.{kind}", "--", script],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.addCleanup(self.end, launcher)
        return launcher

    @staticmethod
    def kill(path):
        for pid in pathlib.Path(path).read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    @staticmethod
    def end(launcher):
        if launcher.poll() is None:
            launcher.kill()
            launcher.communicate()

    def run_on_both(self, kind, script):
        """Returns (exit code, output, errors) of both launchers."""
        launchers = [self.start(kind, node, script) for node in range(2)]
        printed = [launcher.communicate(timeout=60) for launcher in launchers]
        return [(launcher.returncode, *words) for launcher, words in zip(launchers, printed)]

    def test_ranks_on_two_nodes_connect(self):
        script = self.write(
            "train.py",
            """
            import os
            import det
            names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                     "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "DET_AGENT_ID")
            ranks = det.core.DistributedContext.from_torch_distributed()
            variables = ranks.gather([os.environ[name] for name in names])
            for place in variables or ():
                print(" ".join(place), flush=True)
            """,
        )
        for kind in KINDS:
            (code, out, errors), other = self.run_on_both(kind, script)
            self.assertEqual((0, 0), (code, other[0]), errors + other[2])
            port = self.ports[0]
            self.assertEqual(
                [
                    f"[rank=0] 0 3 0 2 0 2 127.0.0.1 {port} node-0",
                    f"[rank=0] 1 3 1 2 0 2 127.0.0.1 {port} node-0",
                    f"[rank=0] 2 3 0 1 1 2 127.0.0.1 {port} node-1",
                ],
                [line for line in out.splitlines() if line != "engine ends"],
            )

    def test_failed_rank_ends_all_and_is_reported(self):
        for dead in range(3):
            script = self.write(
                "train.py",
                f"""
                import os, signal, sys
                if os.environ["RANK"] == "{dead}":
                    sys.exit("no wine")
                signal.pause()
                """,
            )
            (code, _, errors), other = self.run_on_both("mpi", script)
            self.assertEqual((1, 0), (code, other[0]), errors + other[2])
            lines = errors.splitlines()
            self.assertEqual(f"[rank={dead}] no wine", lines[0])
            self.assertEqual(f"ERROR: rank {dead} failed: exit code 1: no wine", lines[-1])
            [variables] = self.master.bodies(SERVICE + "ReportEarlyExit")[-1:]
            self.assertEqual(f"rank {dead} failed: exit code 1: no wine", variables["message"])

    def test_lost_node_ends_the_others(self):
        pids = os.path.join(self.folder, "pids")
        script = self.write(
            "train.py",
            f"""
            import os, signal
            with open({pids!r}, "a") as file:
                file.write(str(os.getpid()) + "\\n")
            print("ready", os.environ["RANK"], flush=True)
            signal.pause()
            """,
        )
        # On a cluster, the agent of a node kills the ranks when their launcher has exited.
        self.addCleanup(self.kill, pids)
        for goes, words in (
            (0, "the first node's launcher was lost"),
            (1, "node 127.0.0.2 was lost"),
        ):
            launchers = [self.start("mpi", node, script) for node in range(2)]
            for _ in range(3):
                self.assertIn("ready", launchers[0].stdout.readline())
            launchers[goes].send_signal(signal.SIGKILL)
            _, errors = launchers[1 - goes].communicate(timeout=60)
            self.assertEqual(1, launchers[1 - goes].returncode)
            self.assertIn(f"ERROR: {words}", errors)
            self.end(launchers[goes])

    def test_autohorovod_needs_no_horovod_when_there_is_one_slot(self):
        variables = subprocess.run(
            [
                sys.executable,
                "-B",
                "-m",
                "det.launch.horovod",
                "--autohorovod",
                "--",
                "printenv",
                "RANK",
            ],
            encoding="utf-8",
            timeout=60,
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertEqual("[rank=0] 0\n", variables.stdout)


class ShellTest(unittest.TestCase):
    def test_parses_arguments_of_ssh(self):
        for words, host, command in (
            (["h", "true"], "h", "true"),
            (["-x", "me@h", "a", "b"], "h", "a b"),
            (["-o", "A=b", "-p", "22", "-T", "h", "cd x; y"], "h", "cd x; y"),
            (["-p22", "h", "y"], "h", "y"),
        ):
            self.assertEqual((host, command), _shell._parse(words))
        with self.assertRaises(SystemExit):
            _shell._parse(["h"])


if __name__ == "__main__":
    unittest.main()
