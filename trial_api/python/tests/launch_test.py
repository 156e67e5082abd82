import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import zipfile
from unittest import mock

import wheel_backend
from det.exec import harness as exec_harness
from det.launch import _engine, _layout, _run, _supervisor, horovod, mpi, tensorflow
from fake_master import SERVICE, as_task, fake_master, task_environment

NAMES = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "DET_CHIEF_IP",
    "DET_RANK",
    "DET_SIZE",
    "DET_CROSS_SIZE",
)


class OptionsTest(unittest.TestCase):
    def test_command_keeps_its_arguments(self):
        for words in (["python3", "t.py", "--", "--data", "d"], ["run", "--lr", "1", "--", "x"]):
            for options in ([], ["--nproc_per_node", "2"], ["--rdzv_backend", "c10d", "--"]):
                with contextlib.redirect_stderr(io.StringIO()):
                    _, command = _run.parse("torch_distributed", [*options, *words])
                self.assertEqual(words, command, options)


class LaunchTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def script(self, text):
        path = os.path.join(self.folder, "train.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def launch(self, *arguments, module="det.launch.torch_distributed", env=None):
        return subprocess.run(
            [sys.executable, "-B", "-m", module, *arguments],
            encoding="utf-8",
            timeout=60,
            capture_output=True,
            # Scripts run with this Python also if it has no torch.
            env={**os.environ, "DET_PYTHON_EXECUTABLE": sys.executable, **(env or {})},
        )

    def test_sets_the_environment_of_each_rank(self):
        script = self.script(f"""
            import json, os
            print(json.dumps({{name: os.environ.get(name) for name in {NAMES}}}))
            """)
        for module in (
            "det.launch.torch_distributed",
            "determined.launch.torch_distributed",
            "det.launch.deepspeed",
            "det.launch.command",
        ):
            result = self.launch("--slots", "2", script, module=module)
            self.assertEqual(0, result.returncode, result.stderr)
            for rank, line in enumerate(sorted(result.stdout.splitlines())):
                mark, _, text = line.partition("] ")
                self.assertEqual(f"[rank={rank}", mark)
                self.assertEqual(
                    [str(rank), "2", str(rank), "2", "127.0.0.1", "127.0.0.1", str(rank), "2", "1"],
                    list(json.loads(text).values()),
                )

    def test_ranks_of_a_script_connect(self):
        script = self.script("""
            import det
            with det.core.init() as context:
                print(sum(context.distributed.allgather(context.distributed.rank)))
            """)
        result = self.launch("--nproc_per_node=3", "--", sys.executable, "-B", script)
        self.assertEqual(
            ["[rank=0] 3", "[rank=1] 3", "[rank=2] 3"],
            sorted(result.stdout.splitlines()),
            result.stderr,
        )

    def test_failed_rank_ends_the_others_and_is_printed_first(self):
        script = self.script("""
            import os, signal
            if os.environ["RANK"] == "1":
                raise SystemExit("mine")
            signal.pause()
            """)
        result = self.launch("--slots", "3", script)
        self.assertEqual(1, result.returncode)
        self.assertEqual(
            ["[rank=1] mine", "ERROR: rank 1 failed: exit code 1: mine"], result.stderr.splitlines()
        )

    def test_reports_the_cause_when_a_rank_lost_another(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        script = self.script(f"""
            import os, sys
            if os.environ["RANK"] == "0":
                with open({fifo!r}, "w") as other:
                    other.write(str(os.getpid()))
                sys.exit("ConnectionError: rank 1 was lost (closed); see its lines")
            with open({fifo!r}) as other:
                pid = other.read()
            print("mine", file=sys.stderr, flush=True)
            while os.path.exists(f"/proc/{{pid}}"):
                pass  # The launcher has not seen its end.
            sys.exit(3)
            """)
        result = self.launch("--slots", "2", script)
        self.assertEqual(3, result.returncode)
        self.assertEqual("ERROR: rank 1 failed: exit code 3: mine", result.stderr.splitlines()[-1])

    def test_reports_the_first_failure_when_the_cause_is_elsewhere(self):
        script = self.script("""
            import os, signal, sys
            if os.environ["RANK"] == "0":
                sys.exit("RuntimeError: Connection closed by peer [10.0.0.7]:4711")
            signal.pause()
            """)
        result = self.launch("--slots", "2", script)
        self.assertEqual(1, result.returncode)
        self.assertIn(
            "ERROR: rank 0 failed: exit code 1: RuntimeError: Connection closed", result.stderr
        )

    def test_kills_ranks_that_ignore_sigterm(self):
        script = self.script("""
            import os, signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.environ["RANK"] == "0":
                os.kill(os.getpid(), signal.SIGKILL)
            while True:
                signal.pause()
            """)
        result = self.launch("--slots", "2", script)
        self.assertEqual(128 + signal.SIGKILL, result.returncode)
        self.assertIn("ERROR: rank 0 failed: killed by SIGKILL", result.stderr)

    def test_forwards_sigterm(self):
        script = self.script("""
            import signal, sys
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("saved"))
            print("ready", flush=True)
            while True:
                signal.pause()
            """)
        with subprocess.Popen(
            [sys.executable, "-B", "-m", "det.launch.torch_distributed", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as launcher:
            self.assertEqual("[rank=0] ready\n", launcher.stdout.readline())
            launcher.terminate()
            self.assertIn("[rank=0] saved", launcher.communicate(timeout=60)[1])
        self.assertEqual(128 + signal.SIGTERM, launcher.returncode)

    def test_kills_no_rank_after_a_forwarded_signal(self):
        slow, quick = (
            "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: ("
            f"time.sleep({pause}), sys.exit({word!r}))); print('ready', flush=True)\n"
            "while True: signal.pause()"
            for pause, word in ((1, "saved"), (0, "quick"))
        )
        program = (
            "import os, sys; from det.launch import _supervisor as s; "
            "ranks = [s.Rank(i, [sys.executable, '-c', code], dict(os.environ)) "
            "for i, code in enumerate(sys.argv[1:])]; sys.exit(s.run(ranks, 0.1).code)"
        )
        with subprocess.Popen(
            [sys.executable, "-B", "-c", program, slow, quick],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as launcher:
            for _ in range(2):
                launcher.stdout.readline()
            launcher.terminate()
            self.assertEqual(
                "[rank=1] quick\n[rank=0] saved\n", launcher.communicate(timeout=60)[1]
            )
        self.assertEqual(128 + signal.SIGTERM, launcher.returncode)

    def test_busy_output_does_not_hide_other_ranks(self):
        reader, writer = os.pipe()
        with open(reader, "rb") as source, open(writer, "wb"):
            pipe = _supervisor._Pipe(source, io.BytesIO(), 0)
            with mock.patch("os.read", return_value=b"x\n") as read:
                self.assertTrue(pipe.copy())
                self.assertEqual(1, read.call_count)
                pipe.finish()

    def test_lines_of_progress_bars_are_forwarded_at_once_with_their_rank(self):
        read, write = os.pipe()
        target = io.BytesIO()
        with open(read, "rb") as source:
            pipe = _supervisor._Pipe(source, target, 3)
            for block in (b"\r 0%", b"\r50%", b"\r99%\r\n", b"a\r"):
                os.write(write, block)
                pipe.copy()
            self.assertEqual(b"[rank=3]  0%\r[rank=3] 50%\r[rank=3] 99%\r\n", target.getvalue())
            os.close(write)
            pipe.finish()
        self.assertTrue(target.getvalue().endswith(b"[rank=3] a\n"))

    def test_line_of_an_idle_progress_bar_is_forwarded(self):
        read, write = os.pipe()
        target = io.BytesIO()
        with open(read, "rb") as source, open(write, "wb", buffering=0) as rank:
            pipe = _supervisor._Pipe(source, target, 3)

            def forward(block, flush=False):
                target.seek(0)
                target.truncate()
                rank.write(block)
                pipe.copy()
                if flush:
                    pipe.flush_return()
                return target.getvalue()

            self.assertEqual(b"", forward(b"50%", flush=True))
            self.assertEqual(b"[rank=3] 50%\r", forward(b"\r", flush=True))
            self.assertEqual(b"[rank=3] 60%\r[rank=3] 70%\r", forward(b"60%\r70%\r", flush=True))
            self.assertEqual(b"[rank=3] 70%\n", forward(b"\n"), "nothing overwrites it")
            self.assertEqual(b"[rank=3] \n[rank=3] end\n", forward(b"\nend\n"))
            self.assertEqual(b"[rank=3] 80%\r", forward(b"80%\r", flush=True))
            self.assertEqual(b"", forward(b"\r"))
            self.assertEqual(b"[rank=3] 80%\n[rank=3] next\n", forward(b"\r\nnext\n"))
            self.assertEqual(b"", forward(b"90%\r"))
            with mock.patch("time.monotonic", return_value=pipe._read_at + 0.05):
                self.assertAlmostEqual(0.05, pipe.flush_when_idle())
            with mock.patch("time.monotonic", return_value=pipe._read_at + 0.11):
                self.assertIsNone(pipe.flush_when_idle())
            self.assertEqual(b"[rank=3] 90%\r", target.getvalue())

    def test_lines_are_forwarded_whole(self):
        script = self.script("""
            import os
            os.write(1, b"a" * 100_000)
            os.write(1, b"\\nlast, without an end")
            """)
        lines = self.launch(script).stdout.splitlines()
        self.assertEqual(["[rank=0] " + "a" * 100_000, "[rank=0] last, without an end"], lines)

    def test_invalid_usage_prints_the_usage(self):
        for arguments, words in (
            ([], "no command to run"),
            (["--nnodes", "2", "x.py"], "--nnodes"),
            (["--slots", "none", "x.py"], "a number"),
        ):
            result = self.launch(*arguments)
            self.assertEqual(2, result.returncode)
            self.assertIn(words, result.stderr)
            self.assertIn("usage: python3 -m det.launch.torch_distributed", result.stderr)

    def test_ignores_options_of_the_library_launcher(self):
        script = self.script("print('here')")
        options = ("--max_restarts", "1", "--slots", "2", "--rdzv_backend=c10d", "--")
        for module in ("det.launch.torch_distributed", "det.launch.deepspeed"):
            result = self.launch(*options, script, module=module)
            self.assertEqual(0, result.returncode, result.stderr)
            self.assertEqual(2, result.stdout.count("here"))
            self.assertIn(
                "WARNING: ignoring --max_restarts 1 --rdzv_backend=c10d: the launcher",
                result.stderr,
            )
        result = self.launch(*options, script, module="det.launch.command")
        self.assertEqual(2, result.returncode)

    def test_error_names_the_command_that_cannot_be_started(self):
        result = self.launch("no-such-program", module="det.launch.command")
        self.assertEqual(1, result.returncode)
        self.assertIn("ERROR: det.launch.command: [Errno 2] No such file", result.stderr)

    def test_reports_failures_to_the_master(self):
        script = self.script("raise SystemExit('no data')")
        with fake_master() as master:
            result = self.launch(script, env=task_environment(master, self.folder))
            self.assertEqual(1, result.returncode, result.stderr)
            [result] = master.bodies(SERVICE + "ReportEarlyExit")
        self.assertEqual(
            {
                "allocationId": "3.7.1",
                "reason": "FAILED",
                "message": "rank 0 failed: exit code 1: no data",
            },
            result,
        )

    def test_sends_unsent_reports_of_a_killed_rank(self):
        """A rank reports while the master is away; the master returns after the rank was killed."""
        script = self.script(
            "import os, signal\n"
            "from det.core._report_queue import METRICS, get_trial_folder\n"
            "from det.core._outbox import Outbox\n"
            "from det._info import get_cluster_info\n"
            "info = get_cluster_info()\n"
            "run = str(info.trial.trial_run_id)\n"
            "outbox = Outbox(os.path.join(get_trial_folder(info), run))\n"
            'outbox.add(METRICS + b\'{"group": "training", "stepsCompleted": 7, "metrics": {}}\')\n'
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        with fake_master() as master:
            result = self.launch(script, env=task_environment(master, self.folder))
            self.assertEqual(128 + signal.SIGKILL, result.returncode, result.stderr)
            self.assertEqual([7], [steps for _, _, steps in master.reports()])

    def test_layout_follows_the_rendezvous(self):
        config = json.dumps({"resources": {"slots_per_trial": 3}})
        with (
            fake_master() as master,
            as_task(
                master,
                self.folder,
                DET_SLOT_IDS="[4]",
                DET_EXPERIMENT_CONFIG=config,
                C10D_PORT="29444",
            ),
        ):
            master.answers["/api/v1/allocations/3.7.1/resources/agent-0/rendezvous"] = {
                "rendezvousInfo": {
                    "addresses": ["10.0.0.1", "10.0.0.2"],
                    "rank": 1,
                    "slots": [2, 1],
                }
            }
            layout = _layout.find_layout()
            ranks = _run.make_ranks(layout, ["x"], lambda *_: {})
            os.environ.pop("DET_RENDEZVOUS")
        self.assertEqual([2], [rank.rank for rank in ranks])
        env = ranks[0].env
        self.assertEqual(
            ["2", "3", "0", "1", "10.0.0.1", "10.0.0.1", "2", "3", "2"],
            [env[name] for name in NAMES],
        )
        self.assertEqual(("29444", "1"), (env["MASTER_PORT"], env["GROUP_RANK"]))

    def test_one_process_per_node_when_configured(self):
        config = json.dumps(
            {"resources": {"slots_per_trial": 3}, "optimizations": {"strategy": "in_process"}}
        )
        with (
            fake_master() as master,
            as_task(master, self.folder, DET_SLOT_IDS="[4, 5]", DET_EXPERIMENT_CONFIG=config),
        ):
            master.answers["/api/v1/allocations/3.7.1/resources/agent-0/rendezvous"] = {
                "rendezvousInfo": {
                    "addresses": ["10.0.0.1", "10.0.0.2"],
                    "rank": 1,
                    "slots": [1, 2],
                }
            }
            with mock.patch.dict(os.environ):
                os.environ.pop("OMP_NUM_THREADS", None)
                [rank] = _run.make_ranks(_layout.find_layout(), ["x"], lambda *_: {})
                asked = _run.make_ranks(_layout.Layout(["a"], [2], 0), ["x"], lambda *_: {})
        self.assertEqual(1, rank.rank)
        self.assertEqual(
            ["1", "2", "0", "1", "10.0.0.1", "10.0.0.1", "1", "2", "2"],
            [rank.env[name] for name in NAMES],
        )
        self.assertEqual([1, 2], json.loads(rank.env["DET_SLOTS_OF_RANKS"]))
        self.assertEqual([1, 2], json.loads(rank.env["DET_RENDEZVOUS"])["slots"])
        self.assertEqual("2", rank.env["OMP_NUM_THREADS"])
        self.assertEqual(2, len(asked))
        self.assertNotIn("DET_SLOTS_OF_RANKS", asked[0].env)

    def test_tensorflow_has_one_process_per_node(self):
        config = json.dumps({"resources": {"slots_per_trial": 3}})
        with (
            fake_master() as master,
            as_task(
                master,
                self.folder,
                DET_SLOT_IDS="[4, 5]",
                DET_EXPERIMENT_CONFIG=config,
                C10D_PORT="29444",
            ),
        ):
            master.answers["/api/v1/allocations/3.7.1/resources/agent-0/rendezvous"] = {
                "rendezvousInfo": {"addresses": ["10.0.0.1", "fd00::2"], "rank": 1, "slots": [1, 2]}
            }
            layout = _layout.find_layout(one_process=True)
            [rank] = _run.make_ranks(layout, ["x"], tensorflow.extra)
            os.environ.pop("DET_RENDEZVOUS")
        self.assertEqual(
            {
                "cluster": {"worker": ["10.0.0.1:29444", "[fd00::2]:29444"]},
                "task": {"type": "worker", "index": 1},
            },
            json.loads(rank.env["TF_CONFIG"]),
        )
        self.assertEqual(["1", "2", "0", "1"], [rank.env[name] for name in NAMES[:4]])
        script = self.script("import os; print(os.environ.get('TF_CONFIG'), os.environ['RANK'])")
        result = self.launch("--slots", "4", script, module="det.launch.tensorflow")
        self.assertEqual("[rank=0] None 0\n", result.stdout, result.stderr)

    def test_explicit_number_of_processes_has_precedence(self):
        config = json.dumps(
            {"resources": {"slots_per_trial": 2}, "optimizations": {"strategy": "in_process"}}
        )
        with (
            fake_master() as master,
            as_task(master, self.folder, DET_SLOT_IDS="[0, 1]", DET_EXPERIMENT_CONFIG=config),
        ):
            self.assertEqual(1, _layout.find_layout().size)
            self.assertEqual(2, _layout.find_layout(2).size)

    def test_elastic_trial_uses_its_assigned_slots(self):
        config = json.dumps({"resources": {"slots_per_trial": {"min": 1, "max": 4}}})
        with (
            fake_master() as master,
            as_task(master, self.folder, DET_SLOT_IDS="[0, 1]", DET_EXPERIMENT_CONFIG=config),
        ):
            path = "/api/v1/allocations/3.7.1/resources/agent-0/rendezvous"
            for slots, size in (([2], 2), ([2, 1], 3)):
                addresses = ["10.0.0.1", "10.0.0.2"][: len(slots)]
                master.answers[path] = {
                    "rendezvousInfo": {"addresses": addresses, "rank": 0, "slots": slots}
                }
                layout = _layout.find_layout()
                self.assertEqual((slots, size, 0), (layout.slots, layout.size, layout.node))
                os.environ.pop("DET_RENDEZVOUS", None)

    def test_engine_starts_the_ranks(self):
        one = _layout.Layout(["a"], [2], 0)
        several = _layout.Layout(["a", "b"], [2, 1], 0)
        with mock.patch("shutil.which", return_value="/bin/mpirun"):
            self.assertEqual("-np 2", " ".join(_engine.command_line(mpi.ENGINE, one, [])[-2:]))
            self.assertEqual(
                "-x A -np 3 --host a:2,b:1",
                " ".join(_engine.command_line(mpi.ENGINE, several, ["-x", "A"])[-6:]),
            )
            self.assertEqual(
                "-np 3 -H a:2,b:1", " ".join(_engine.command_line(horovod.ENGINE, several, [])[-4:])
            )
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(ValueError, "horovodrun is not on the PATH"):
                _engine.command_line(horovod.ENGINE, one, [])
        result = {name: str(i) for i, name in enumerate(mpi.ENGINE.variables.values())}
        env = _engine.rank_environment(mpi.ENGINE, result)
        self.assertEqual(["0", "1", "2", "3"], [env[name] for name in NAMES[:4]])
        with self.assertRaisesRegex(ValueError, "mpirun has not started"):
            _engine.rank_environment(mpi.ENGINE, {})

    def test_passes_options_before_the_dashes_to_the_engine(self):
        for words, options, rest in (
            ("x.py --a", "", "x.py --a"),
            ("--slots 2 x.py", "", "--slots 2 x.py"),
            ("--a 1 --slots=2 -- x.py", "--a 1", "--slots=2 -- x.py"),
            ("--slots 2 -- x.py -- --b", "", "--slots 2 -- x.py -- --b"),
            ("--autohorovod x.py", "--autohorovod", "x.py"),
        ):
            self.assertEqual(
                (options.split(), rest.split()), _engine.split(horovod.ENGINE, words.split())
            )

    def test_harness_names_what_is_missing(self):
        with (
            mock.patch("sys.path", [self.folder, *sys.path]),
            mock.patch("os.getcwd", return_value=self.folder),
        ):
            with open(os.path.join(self.folder, "one_model.py"), "w", encoding="utf-8") as file:
                file.write("class Net: pass\nthing = 1\n")
            self.assertEqual("Net", exec_harness.load_class("one_model:Net").__name__)
            for named, words in (("one_model", "module:Class"), ("one_model:thing", "no class")):
                with self.assertRaisesRegex(ValueError, words):
                    exec_harness.load_class(named)
            with open(os.path.join(self.folder, "needs.py"), "w", encoding="utf-8") as file:
                file.write("import no_such_library\n")
            for named, words in (
                ("no_model:Net", f"'no_model': there is no no_model.py in {self.folder}"),
                ("needs:Net", f"'no_such_library': it is not installed for {sys.executable}"),
            ):
                with self.assertRaisesRegex(ModuleNotFoundError, re.escape(words)):
                    exec_harness.load_class(named)


class PackageTest(unittest.TestCase):
    def test_wheel_imports_under_both_names(self):
        import det.core._train
        import determined
        import determined.core._train
        from determined.experimental import client

        self.assertIs(det.core._train, determined.core._train)
        self.assertIs(det.InvalidHP, determined.InvalidHP)
        self.assertEqual("det.core._train", det.core._train.__spec__.name)
        self.assertEqual("det.experimental.client", client.__name__)
        with self.assertRaises(ModuleNotFoundError):
            import determined.nothing

    def test_wheel_has_all_files(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = os.path.join(folder, wheel_backend.build_wheel(folder))
            with zipfile.ZipFile(wheel) as archive:
                record = [name for name in archive.namelist() if name.endswith("RECORD")]
                listed = {
                    line.split(",")[0] for line in archive.read(record[0]).decode().splitlines()
                }
                self.assertEqual(set(archive.namelist()), listed)
            result = subprocess.run(
                [sys.executable, "-c", "import determined.core; print(determined.__version__)"],
                env={**os.environ, "PYTHONPATH": wheel},
                encoding="utf-8",
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
            self.assertIn(result.strip(), os.path.basename(wheel))
        self.assertEqual([], [t for t in threading.enumerate() if t.name.startswith("det-")])
