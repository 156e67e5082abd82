"""Runs outside of the cluster: `det.init()`, their spool, `det sync`, and core_v2."""

import contextlib
import errno
import io
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import zlib
from unittest import mock

import det
from det import sync
from det.detached import _spool
from det.experimental import core_v2
from event_files import points
from fake_master import SERVICE, as_task, fake_master, refusal

TRIAL = "/api/v1/trials/7"


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.spool = self.folder / "spool"
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.master = stack.enter_context(fake_master())
        self.attempts = 0
        for run in ("r", "e"):
            self.master.answers[f"/api/v1/experiments/by-external-id/{run}"] = {
                "experiment": {"id": 3}
            }
        trial = {"trial": {"id": 7, "experimentId": 3, "taskId": "3.r", "state": "STATE_RUNNING"}}
        self.master.answers["/api/v1/trials"] = trial
        self.master.answers["/api/v1/trials/by-external-id/r/r"] = trial
        self.master.answers[TRIAL + "/start"] = self.start_attempt
        self.master.answers["/api/v1/runs/start"] = {"storageId": 5}
        self.master.answers["/api/v1/master"] = {"clusterId": "c"}
        self.env = {
            "DET_MASTER": self.master.url,
            "DET_USER_TOKEN": "mine",
            "DET_SPOOL_DIR": str(self.spool),
            "XDG_DATA_HOME": str(self.folder / "data"),
        }
        stack.enter_context(mock.patch.dict("os.environ", self.env))
        for name in ("RANK", "WORLD_SIZE", "DET_ALLOCATION_ID", "DET_MODE"):
            os.environ.pop(name, None)

    def start_attempt(self, _method, _body):
        self.attempts += 1
        return 200, {"trialRunId": self.attempts, "stepsCompleted": 0}

    def run_script(self, text, code=0, **env):
        process = subprocess.run(
            [sys.executable, "-B", "-c", textwrap.dedent(text)],
            encoding="utf-8",
            timeout=60,
            cwd=self.folder,
            capture_output=True,
            env={**os.environ, **env},
        )
        self.assertEqual(code, process.returncode, process.stderr)
        return process

    def metrics(self):
        """Returns (attempt, group, step, metrics) of each report."""
        return [
            (
                body["metrics"]["trialRunId"],
                body["group"],
                body["metrics"]["stepsCompleted"],
                body["metrics"]["metrics"]["avgMetrics"],
            )
            for body in self.master.bodies(TRIAL + "/metrics")
        ]

    def states(self):
        return [body["state"] for body in self.master.bodies(TRIAL) if "state" in body]

    def spools(self):
        return _spool.find(self.spool) if self.spool.exists() else []


class OnlineTest(Case):
    def test_refuses_a_report_that_the_master_cannot_store(self):
        run = det.init("demo", run_id="r", capture_output=False)
        for step in (1.5, -1, 2**31):
            with self.assertRaisesRegex(ValueError, f"step is {step}; expected a whole number"):
                run.log({"loss": 1}, step=step)
        with self.assertRaisesRegex(ValueError, "metric 'n' is an integer of 1329 bits"):
            run.log({"n": 10**400})
        run.log({"loss": 1}, step=2.0)
        run.finish()
        self.assertEqual([(1, "training", 2, {"loss": 1})], self.metrics())

    def test_records_a_run(self):
        run = det.init("demo", {"lr": 0.1}, workspace="team", run_id="r", capture_output=False)
        self.assertEqual((3, 7, {"lr": 0.1}), (run.experiment_id, run.trial_id, run.config))
        run.log({"loss": 1.0})
        run.log({"loss": float("nan")})
        run.log({"accuracy": 0.5}, step=2, group="validation")
        run.progress(0.5)
        (self.folder / "model.pt").write_text("weights")
        uuid = run.log_artifact(self.folder / "model.pt", metadata={"kind": "model"})
        run.finish()
        self.assertEqual(
            [
                (1, "training", 1, {"loss": 1.0}),
                (1, "training", 2, {"loss": "NaN"}),
                (1, "validation", 2, {"accuracy": 0.5}),
            ],
            self.metrics(),
        )
        [created] = self.master.bodies("/api/v1/experiments/by-external-id/r")
        config = json.loads(created["config"])
        self.assertTrue(created["unmanaged"])
        self.assertEqual(("demo", "team"), (config["project"], config["workspace"]))
        [trial] = self.master.bodies("/api/v1/trials")
        self.assertEqual({"lr": 0.1}, trial["createTrialRequest"]["hparams"])
        [saved] = self.master.bodies("/api/v1/checkpoints")
        self.assertEqual((uuid, 5, "3.r"), (saved["uuid"], saved["storageId"], saved["taskId"]))
        self.assertEqual(
            {"kind": "model", "name": "model.pt", "steps_completed": 2}, saved["metadata"]
        )
        stored = self.folder / "data/resolute/checkpoints" / uuid
        self.assertEqual("weights", (stored / "model.pt").read_text())
        self.assertEqual("7", saved["resources"]["model.pt"])
        self.assertEqual(["STATE_COMPLETED"], self.states())
        self.assertEqual(TRIAL, self.master.calls[-1][1], "the end is the last call")
        self.assertEqual({"Bearer mine"}, self.master.tokens)
        self.assertEqual([], list(self.spool.iterdir()))

    def test_survives_a_master_that_is_away(self):
        self.master.unavailable = True
        with (
            mock.patch("det.detached._run._AWAY_PAUSE", 0.01),
            mock.patch("det.experimental._session.RETRY_TIMEOUT", 0.05),
        ):
            run = det.init(run_id="r", capture_output=False)
            self.assertIsNone(run.trial_id)
            run.log({"loss": 1.0})
            self.master.unavailable = False
            run.finish()
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_keeps_what_a_master_that_is_away_does_not_get(self):
        run = det.init(run_id="r", capture_output=False)
        self.master.unavailable = True
        run.log({"loss": 1.0})
        with mock.patch("sys.__stderr__", io.StringIO()) as printed:
            run.finish(timeout=0.2)
        self.assertIn(f"det sync {run.folder}", printed.getvalue())
        self.master.unavailable = False
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(0, sync.main([str(run.folder)]))
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        self.assertEqual(1, self.attempts, "the attempt was started before")
        self.assertEqual(["STATE_COMPLETED"], self.states())
        self.assertEqual([], self.spools())

    def test_raises_when_the_master_refuses_the_run(self):
        self.master.answers["/api/v1/experiments/by-external-id/r"] = refusal(
            404, 5, "project 'x' not found"
        )
        with self.assertRaisesRegex(det.MasterError, "project 'x' not found"):
            det.init("x", run_id="r")
        self.assertEqual([], self.spools())

    def test_requires_credentials_only_online(self):
        os.environ.update(DET_USER_TOKEN="", DET_DEBUG_CONFIG_PATH=str(self.folder))
        with self.assertRaisesRegex(det.MasterError, "not logged in"):
            det.init(run_id="r")
        det.init(run_id="r", mode="offline").finish()

    def test_stores_an_artifact_when_its_storage_works_again(self):
        storage = self.folder / "checkpoints"
        storage.write_text("A file is in the place of the directory.")
        (self.folder / "model").write_text("m")
        with (
            mock.patch("sys.__stderr__", io.StringIO()) as printed,
            mock.patch("det.detached._run._AWAY_PAUSE", 0.01),
        ):
            run = det.init(run_id="r", checkpoint_storage=str(storage), capture_output=False)
            uuid = run.log_artifact(self.folder / "model")
            run.log({"loss": 1.0})
            while "the artifact is stored as soon as" not in printed.getvalue():
                time.sleep(0.01)
            storage.unlink()
            run.finish()
        self.assertEqual("m", (storage / uuid / "model").read_text())
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_drops_a_record_that_the_master_refuses(self):
        self.master.answers[TRIAL + "/metrics"] = lambda _, body: (
            (400, {"error": {"code": 3, "error": "bad"}}) if body["group"] == "x" else (200, {})
        )
        with mock.patch("sys.__stderr__", io.StringIO()) as printed:
            with det.init(run_id="r", capture_output=False) as run:
                run.log({"loss": 1.0}, group="x")
                run.log({"loss": 1.0}, group="y")
        self.assertIn("a record (metrics) of run r is dropped", printed.getvalue())
        self.assertEqual(["x", "y"], [group for _, group, *_ in self.metrics()])
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_sends_the_other_lines_when_the_master_refuses_one(self):
        self.master.answers["/api/v1/task/logs"] = lambda _, body: (
            refusal(400, 3, "bad")(_, body)
            if any(line["log"] == "bad" for line in body["logs"])
            else (200, {})
        )
        with (
            mock.patch("sys.__stderr__", io.StringIO()) as printed,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            run = det.init(run_id="r", mode="offline")
            print("one\nbad\ntwo")
            run.finish()
            sync.main([str(run.folder)])
        self.assertEqual(1, printed.getvalue().count("is dropped"), printed.getvalue())
        accepted = [
            body["logs"][0]["log"]
            for body in self.master.bodies("/api/v1/task/logs")
            if len(body["logs"]) == 1
        ]
        self.assertEqual(["one", "bad", "two"], accepted)

    def test_keeps_reports_when_the_trial_is_gone(self):
        self.master.answers[TRIAL + "/metrics"] = refusal(404, 5, "trial 7 not found")
        with mock.patch("sys.__stderr__", io.StringIO()) as printed:
            run = det.init(run_id="r", capture_output=False)
            run.log({"loss": 1.0})
            run.log({"loss": 2.0})
            run.finish()
        self.assertIn("trial 7 not found; this run is recorded in", printed.getvalue())
        self.assertEqual([run.folder], self.spools())

    def test_reports_printed_lines(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run = det.init(run_id="r")
            print("first\nno UTF-8: \udc80\nsecond", end="")
            run.finish()
            print(" line")
        lines = [
            (line["log"], line["stdtype"], line["taskId"], line["sequence"])
            for body in self.master.bodies("/api/v1/task/logs")
            for line in body["logs"]
        ]
        printed = ["first", "no UTF-8: \\udc80", "second"]
        expected = [(text, "stdout", "3.r", str(n)) for n, text in enumerate(printed, 1)]
        self.assertEqual(expected, lines)
        self.assertEqual("first\nno UTF-8: \udc80\nsecond line\n", out.getvalue())

    def test_sends_heartbeats(self):
        with mock.patch("det.detached._run.HEARTBEAT", 0.02):
            run = det.init(run_id="r", capture_output=False)
            self.master.wait_for(lambda: {"trialId": 7} in self.master.bodies(TRIAL), "a heartbeat")
            run.finish()
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_printed_lines_of_a_signal_handler_do_not_block_a_report(self):
        run = det.init(run_id="r", capture_output=False)
        add = run.spool.records.add

        def interrupted(record):
            if b"loss" in record:
                run.log({"signal": 1}, group="signals")
            return add(record)

        with mock.patch.object(run.spool.records, "add", interrupted):
            run.log({"loss": 1.0})
        run.finish()
        self.assertEqual(["signals", "training"], sorted(group for _, group, *_ in self.metrics()))

    def test_metadata_of_an_artifact_may_name_it_but_not_contradict_the_arguments(self):
        (self.folder / "model").write_text("weights")
        run = det.init(run_id="r", capture_output=False)
        self.addCleanup(run.finish)
        run.log({"a": 1}, step=5)
        stored = []
        with mock.patch.object(run, "_store", lambda path, metadata: stored.append(metadata)):
            run.log_artifact(self.folder / "model")
            named = {"name": "best", "steps_completed": 3}
            run.log_artifact(self.folder / "model", metadata=named)
            run.log_artifact(self.folder / "model", "best", named, 3)
            for arguments in ({"name": "last"}, {"step": 4}):
                with self.assertRaisesRegex(ValueError, "pass one of them"):
                    run.log_artifact(self.folder / "model", metadata=named, **arguments)
        self.assertEqual([{"name": "model", "steps_completed": 5}, named, named], stored)

    def test_rejects_invalid_calls(self):
        run = det.init(run_id="r", capture_output=False)
        self.addCleanup(run.finish)
        run.log({"a": 1}, step=5)
        for call, error, words in (
            (lambda: run.log({"a": 1}, step=4), ValueError, "previous step"),
            (lambda: run.log({"a": 1}, group="a.b"), ValueError, "without '.'"),
            (lambda: run.log([1]), TypeError, "expected a mapping"),
            (lambda: run.log({"a": object()}), TypeError, "a: a value of type object"),
            (lambda: run.progress(2), ValueError, "from 0 to 1"),
            (lambda: run.log_artifact("absent"), det.CheckpointError, "absent does not exist"),
            (lambda: run.finish("DONE"), ValueError, "expected COMPLETED"),
            (lambda: det.init(mode="maybe"), ValueError, "online or offline"),
            (lambda: det.init(run_id="../x"), ValueError, "run_id is"),
            (lambda: det.init(rank=1), ValueError, "without run_id"),
            (mock.patch.dict("os.environ", RANK="2")(det.init), ValueError, "rank is 2 without"),
            (lambda: det.init(run_id="r"), RuntimeError, "open in another process"),
            (lambda: det.init(checkpoint_storage="ftp://x"), ValueError, "s3://"),
        ):
            with self.subTest(words=words), self.assertRaisesRegex(error, words):
                call()
        run.finish()
        with self.assertRaisesRegex(RuntimeError, "finished"):
            run.log({"a": 1})

    def test_process_that_fails_leaves_an_error(self):
        for ending, state in (
            ("", "STATE_COMPLETED"),
            ("sys.exit(0)", "STATE_COMPLETED"),
            ("sys.exit(3)", "STATE_ERROR"),
            ("raise ValueError('x')", "STATE_ERROR"),
        ):
            with self.subTest(ending=ending):
                code = 3 if "3" in ending else 1 if "raise" in ending else 0
                self.run_script(
                    f"import sys, det\nrun = det.init(run_id='r')\nrun.log({{'a': 1}})\n{ending}",
                    code,
                )
                self.assertEqual(state, self.states()[-1])


class FullDiskTest(Case):
    """The disk takes no new segment of the outbox."""

    def fill_disk(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        return mock.patch("det.core._segment.Segment", side_effect=full)

    def test_reports_are_sent_from_memory(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        with (
            contextlib.redirect_stderr(io.StringIO()) as printed,
            contextlib.redirect_stdout(io.StringIO()),
            mock.patch("sys.__stderr__", io.StringIO()) as warned,
        ):
            run = det.init(run_id="r")
            with self.fill_disk(), mock.patch.object(_spool.Spool, "set_end", side_effect=full):
                run.log({"loss": 1.0})  # Prints a warning, which is a line of the run, too.
                run.finish()
        self.assertIn("reports are held in memory", printed.getvalue())
        self.assertIn("cannot write how run r ended", warned.getvalue())
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_starts_when_there_is_space_again(self):
        full = OSError(errno.ENOSPC, "No space left on device")
        set_ids, failures = _spool.Spool.set_ids, [full]

        def fail_once(spool, ids):
            if failures:
                raise failures.pop()
            set_ids(spool, ids)

        with (
            mock.patch.object(_spool.Spool, "set_ids", fail_once),
            mock.patch("sys.__stderr__", io.StringIO()) as warned,
            mock.patch("det.detached._run._AWAY_PAUSE", 0.01),
        ):
            with det.init(run_id="r", capture_output=False) as run:
                run.log({"loss": 1.0})
        self.assertIn("reports are sent as soon as that is solved", warned.getvalue())
        self.assertEqual([(2, "training", 1, {"loss": 1.0})], self.metrics())
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_lines_that_the_disk_does_not_take_are_printed_without_an_error(self):
        with (
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.redirect_stdout(io.StringIO()) as out,
            mock.patch("sys.__stderr__", io.StringIO()) as warned,
        ):
            run = det.init(run_id="r", mode="offline")
            with self.fill_disk():
                print("first")
                print("second")
                with self.assertRaisesRegex(RuntimeError, "is full; free some space"):
                    run.log({"loss": 1.0})
            run.log({"loss": 2.0})
            run.finish()
            sync.main([str(run.folder)])
        self.assertIn("first\nsecond\n", out.getvalue())
        self.assertEqual(1, warned.getvalue().count("printed lines are not recorded"))
        self.assertEqual([(1, "training", 1, {"loss": 2.0})], self.metrics())

    def test_does_not_store_an_artifact_again_that_was_reported(self):
        (self.folder / "model").write_text("m")
        run = det.init(run_id="r", mode="offline", capture_output=False)
        uuid = run.log_artifact(self.folder / "model")
        run.finish()
        # The disk did not take that the record was sent, and then the process was killed.
        shutil.rmtree(run.folder / "artifacts")
        stored = self.folder / "data/resolute/checkpoints" / uuid
        stored.mkdir(parents=True)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(0, sync.main([str(run.folder)]))
        self.assertTrue(stored.exists())
        self.assertEqual([], self.master.bodies("/api/v1/checkpoints"))
        self.assertEqual(["STATE_COMPLETED"], self.states())


class ProcessesTest(Case):
    def test_other_ranks_report_in_groups_of_their_own(self):
        chief = det.init(run_id="r", capture_output=False)
        other = det.init(run_id="r", rank=1, capture_output=False)
        chief.log({"loss": 1.0})
        other.log({"loss": 2.0})
        other.finish()
        chief.finish()
        self.assertEqual(
            [(0, "rank-1", 1, {"loss": 2.0}), (1, "training", 1, {"loss": 1.0})],
            sorted(self.metrics(), key=lambda report: report[0]),
        )
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_other_rank_waits_until_rank_0_has_started(self):
        started = threading.Event()
        trial = self.master.answers["/api/v1/trials"]
        waiting = {"trial": {**trial["trial"], "state": "STATE_PAUSED"}}
        self.master.answers["/api/v1/trials/by-external-id/r/r"] = lambda *_: (
            200,
            trial if started.is_set() else waiting,
        )
        with (
            mock.patch("det.detached._run._FIRST_ANSWER", 0.1),
            mock.patch("det.detached._sender._START_PAUSE", 0.01),
        ):
            run = det.init(run_id="r", rank=1, capture_output=False)
            run.log({"loss": 2.0})
            self.assertEqual([], self.metrics())
            started.set()
            run.finish()
        self.assertEqual([(0, "rank-1", 1, {"loss": 2.0})], self.metrics())

    def test_forked_process_needs_its_own_rank(self):
        run = det.init(run_id="r", capture_output=False)
        child = os.fork()
        if child == 0:
            try:
                run.log({"a": 1})
            except RuntimeError as error:
                os._exit(0 if "belongs to another process" in str(error) else 1)
            os._exit(2)
        self.assertEqual(0, os.waitpid(child, 0)[1])
        run.finish()

    def test_processes_that_start_together_do_not_share_a_rank(self):
        program = "import det; print(); input(); run = det.init(run_id='r'); input(); run.finish()"
        processes = [
            subprocess.Popen(
                [sys.executable, "-B", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            for _ in range(4)
        ]
        for process in processes:
            process.stdout.readline()
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        # The others than the first end.
        limit = time.monotonic() + 60
        while sum(process.poll() is not None for process in processes) < 3:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.02)
        ended = [process.communicate("\n")[1] for process in processes]
        self.assertEqual([0, 1, 1, 1], sorted(process.returncode for process in processes), ended)
        self.assertEqual(3, sum("is open in another process" in text for text in ended), ended)

    def test_finishes_after_a_process_that_died_while_it_removed_its_spool(self):
        left = self.spool / "r/0/.done-1/outbox"
        left.mkdir(parents=True)
        (left / "lock").touch()
        (self.spool / "r/0/.new-2").mkdir()
        det.init(run_id="r", capture_output=False).finish()
        self.assertEqual([], list(self.spool.iterdir()))

    def test_waits_for_a_sync_of_the_earlier_process(self):
        with det.init(run_id="r", mode="offline", capture_output=False) as run:
            run.log({"loss": 1.0})
        sending = _spool.Spool(run.folder)
        sending.mark_as_sent_by_sync()
        with mock.patch("det.detached._run._AWAY_PAUSE", 0.01):
            later = det.init(run_id="r", capture_output=False)
            later.log({"loss": 2.0}, step=2)
            self.assertIsNone(later.trial_id)
            sending.close()
            later.finish()
        self.assertEqual([(1, 1), (2, 2)], [(report[0], report[2]) for report in self.metrics()])

    def test_starts_although_the_experiment_of_an_earlier_process_was_deleted(self):
        earlier = det.init(run_id="r", mode="offline", capture_output=False)
        earlier.log({"loss": 1.0})
        earlier.spool.set_ids({"trial_id": 6, "trial_run_id": 1, "cluster_id": "c"})
        earlier.finish()
        self.master.answers["/api/v1/trials/6/metrics"] = refusal(404, 5, "trial 6 not found")
        with mock.patch("sys.__stderr__", io.StringIO()) as warned:
            with det.init(run_id="r", capture_output=False) as run:
                run.log({"loss": 2.0})
        self.assertIn(f"trial 6 not found; {earlier.folder} is kept", warned.getvalue())
        self.assertEqual([(1, "training", 1, {"loss": 2.0})], self.metrics())
        self.assertEqual([earlier.folder], self.spools())

    def test_later_process_sends_what_a_killed_one_has_left(self):
        self.run_script(
            """
            import os, det
            run = det.init(run_id="r", capture_output=False)
            run.log({"loss": 1.0})
            run.flush()
            run._stopping.set()  # From now on nothing is sent.
            run.log({"loss": 2.0})
            os.kill(os.getpid(), 9)
            """,
            -signal.SIGKILL,
        )
        with det.init(run_id="r", capture_output=False) as run:
            run.log({"loss": 3.0}, step=3)
        self.assertEqual(
            {
                (1, "training", 1, 1.0),
                (1, "training", 2, 2.0),
                (2, "training", 3, 3.0),
            },
            {(*report[:3], report[3]["loss"]) for report in self.metrics()},
        )
        self.assertEqual([], self.spools())
        self.assertEqual(["STATE_COMPLETED"], self.states())


class TaskTest(Case):
    def test_invalid_hyperparameters_end_the_trial(self):
        with as_task(self.master, str(self.folder)), self.assertRaises(SystemExit) as end:
            with det.init(config={"depth": 2}) as run:
                self.assertEqual({"depth": 2, "lr": 0.1}, run.config)
                with self.assertRaisesRegex(ValueError, "expected COMPLETED"):
                    run.finish("DONE")
                with contextlib.redirect_stderr(io.StringIO()):
                    raise det.InvalidHP("too deep")
        self.assertEqual(0, end.exception.code)
        [report] = self.master.bodies(SERVICE + "ReportEarlyExit")
        self.assertEqual(("INVALID_HP", "too deep"), (report["reason"], report["message"]))


class OfflineTest(Case):
    def record(self, **options):
        with det.init(
            "demo", {"lr": 1}, run_id="r", mode="offline", capture_output=False, **options
        ) as run:
            run.log({"loss": 1.0})
            (self.folder / "state").mkdir(exist_ok=True)
            (self.folder / "state/w").write_text("w")
            run.log_artifact(self.folder / "state")
        return run

    def sync(self, folder=None, code=0):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(code, sync.main([str(folder or self.spool)]))
        return out.getvalue()

    def test_sync_sends_a_run(self):
        self.record()
        self.assertEqual([], self.master.calls)
        self.assertIn("sent 2 records; experiment 3, trial 7", self.sync())
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        [saved] = self.master.bodies("/api/v1/checkpoints")
        stored = self.folder / "data/resolute/checkpoints" / saved["uuid"]
        self.assertEqual("w", (stored / "w").read_text())
        self.assertEqual(["STATE_COMPLETED"], self.states())
        self.assertEqual([], self.spools())
        self.assertEqual("", self.sync(), "nothing is left")

    def test_sync_continues_after_a_failure(self):
        run = self.record()
        self.master.answers["/api/v1/checkpoints"] = refusal(403, 7, "no")
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            self.sync(code=1)
        self.assertIn(str(run.folder), printed.getvalue())
        self.master.answers["/api/v1/checkpoints"] = {}
        self.sync()
        self.assertEqual(1, len(self.metrics()), "what was sent is not sent again")
        self.assertEqual(2, len(self.master.bodies("/api/v1/checkpoints")))
        self.assertEqual(1, self.attempts)

    def test_sync_of_a_killed_process_leaves_an_error(self):
        self.run_script(
            """
            import os, det
            run = det.init(run_id="r", mode="offline")
            print("last words")
            run.log({"loss": 1.0})
            os.kill(os.getpid(), 9)
            """,
            -signal.SIGKILL,
        )
        self.sync()
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        self.assertEqual(["STATE_ERROR"], self.states())
        [lines] = self.master.bodies("/api/v1/task/logs")
        self.assertEqual("last words", lines["logs"][0]["log"])

    def test_sync_sends_attempts_and_ranks_in_order(self):
        self.record()
        self.record()
        with det.init(run_id="r", rank=1, mode="offline", capture_output=False) as other:
            other.log({"loss": 9.0})
        self.sync()
        self.assertEqual(
            [(1, "training", 1), (2, "training", 1), (0, "rank-1", 1)],
            [report[:3] for report in self.metrics()],
        )
        self.assertEqual(["STATE_COMPLETED"], self.states())

    def test_sync_leaves_a_running_process_alone(self):
        run = det.init(run_id="r", mode="offline", capture_output=False)
        run.log({"loss": 1.0})
        self.assertIn("is running", self.sync())
        self.assertEqual([], self.metrics())
        run.finish()
        self.sync()
        self.assertEqual(1, len(self.metrics()))

    def test_sync_does_not_end_a_run_that_was_started_again(self):
        self.run_script(
            """
            import os, det
            run = det.init(run_id="r", mode="offline", capture_output=False)
            run.log({"loss": 1.0})
            os.kill(os.getpid(), 9)
            """,
            -signal.SIGKILL,
        )
        later = self.spool / "r/0/2"

        def start_again(_method, _body):
            later.mkdir(exist_ok=True)
            return 200, {}

        self.master.answers[TRIAL + "/metrics"] = start_again
        self.sync()
        self.assertEqual([], self.states())

    def test_sync_does_not_send_to_another_cluster_what_was_started(self):
        run = det.init(run_id="r", capture_output=False)
        self.master.unavailable = True
        run.log({"loss": 1.0})
        with mock.patch("sys.__stderr__", io.StringIO()):
            run.finish(timeout=0.1)
        self.master.unavailable = False
        self.master.answers["/api/v1/master"] = {"clusterId": "another"}
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            self.sync(code=1)
        self.assertIn(f"send it with DET_MASTER={self.master.url}", printed.getvalue())
        self.assertEqual([], self.metrics())
        self.master.answers["/api/v1/master"] = {"clusterId": "c"}
        self.sync()
        self.assertEqual(1, len(self.metrics()))

    def test_sync_ignores_a_run_that_was_sent_meanwhile(self):
        run = self.record()
        with mock.patch.object(_spool, "find", return_value=[run.folder.with_name("2")]):
            self.assertEqual("", self.sync())

    def test_sync_rejects_a_missing_directory(self):
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            self.assertEqual(1, sync.main([str(self.folder / "absent")]))
        self.assertIn("is not a directory", printed.getvalue())

    def test_spool_has_the_documented_format(self):
        run = self.record(name="n")
        described = json.loads((run.folder / "run.json").read_text())
        self.assertEqual((1, "r", 0), tuple(described[k] for k in ("format", "run_id", "rank")))
        self.assertEqual("n", json.loads(described["config"])["name"])
        self.assertEqual(
            "STATE_COMPLETED", json.loads((run.folder / "end.json").read_text())["state"]
        )
        content = (run.folder / "outbox/segment.1").read_bytes()
        records, offset = [], 0
        while struct.unpack_from("<I", content, offset)[0]:
            size, crc = struct.unpack_from("<II", content, offset)
            data = content[offset + 8 : offset + 8 + size]
            self.assertEqual(crc, zlib.crc32(data, 1))
            records.append(json.loads(data))
            offset += 8 + size
        self.assertEqual(["metrics", "artifact"], [record["kind"] for record in records])
        self.assertEqual({"loss": 1.0}, records[0]["metrics"])
        self.assertTrue((run.folder / "artifacts" / records[1]["uuid"] / "w").is_file())


class CoreV2Test(Case):
    def test_reports_to_an_experiment_outside_of_the_cluster(self):
        self.master.answers["/api/v1/trials/by-external-id/e/t"] = self.master.answers[
            "/api/v1/trials"
        ]
        core_v2.init(
            config=core_v2.Config(
                name="n",
                hparams={"lr": 1},
                external_experiment_id="e",
                external_trial_id="t",
                checkpoint_storage=str(self.folder / "checkpoints"),
            )
        )
        self.addCleanup(core_v2.close)
        self.assertEqual((7, {"lr": 1}), (core_v2.info.trial.trial_id, core_v2.info.trial.hparams))
        core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 1.0})
        core_v2.train.report_progress(0.5)
        with core_v2.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            (path / "state").write_text("s")
        self.assertFalse(core_v2.preempt.should_preempt())
        self.assertEqual(
            f"{self.master.url}/det/experiments/3", core_v2.url_reverse_webui_exp_view()
        )
        core_v2.close()
        self.assertEqual([(1, "training", 1, {"loss": 1.0})], self.metrics())
        [saved] = self.master.bodies("/api/v1/checkpoints")
        self.assertEqual((uuid, 5), (saved["uuid"], saved["storageId"]))
        self.assertEqual("s", (self.folder / "checkpoints" / uuid / "state").read_text())
        [trial] = self.master.bodies("/api/v1/trials")
        self.assertEqual("t", trial["externalTrialId"])
        self.assertEqual(["STATE_COMPLETED"], self.states())
        [events] = (self.folder / "checkpoints").rglob("experiment/*/trial/*/*tfevents*")
        self.assertEqual([("Determined/loss", 1, 1.0)], points(events))

    def test_exception_in_the_block_leaves_an_error(self):
        self.master.answers["/api/v1/trials/by-external-id/e/t"] = {}
        with self.assertRaises(KeyError):
            with core_v2.init_context(
                config=core_v2.Config(external_experiment_id="e", external_trial_id="t")
            ):
                raise KeyError("x")
        self.assertEqual(["STATE_ERROR"], self.states())

    def test_raises_when_the_master_is_away(self):
        self.master.unavailable = True
        with mock.patch("det.detached._context._START_TIMEOUT", 0.2):
            with self.assertRaisesRegex(det.MasterError, "does not answer"):
                core_v2.init(config=core_v2.Config(name="n"))
        self.assertEqual([], self.spools())

    def test_requires_a_configuration(self):
        with self.assertRaisesRegex(ValueError, "needs `config`"):
            core_v2.init()
        with self.assertRaisesRegex(ValueError, "needs external_experiment_id"):
            core_v2.init(config=core_v2.Config(external_trial_id="t"))


if __name__ == "__main__":
    unittest.main()
