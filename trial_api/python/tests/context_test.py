import io
import json
import math
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import det
from det._errors import CheckpointError, MasterError
from det.core import EarlyExitReason, PreemptMode, ProfilerContext, _json, _report, _storage
from det.core._profiler import Machine, mean
from event_files import points
from fake_master import SERVICE, as_task, fake_master, refusal

BEST = "/api/v1/experiments/3/searcher/best_searcher_validation_metric"


class NumPyNumber:
    """A number like numpy.int64."""

    def item(self):
        return 3


class CheckpointStorageTest(unittest.TestCase):
    def open(self, storage):
        """Returns the section with which init() opens a bucket."""
        opened = []

        def bucket(config, owner, scratch):
            opened.append(config)
            raise CheckpointError("no bucket here")

        with mock.patch("det.core._context.BucketStorage", bucket):
            with self.assertRaisesRegex(CheckpointError, "no bucket here"):
                det.core.init(checkpoint_storage=storage)
        return opened[0]

    def test_opens_the_bucket_of_a_url(self):
        for url, expected in (
            ("s3://models", {"type": "s3", "bucket": "models", "prefix": None}),
            ("S3://models/", {"type": "s3", "bucket": "models", "prefix": None}),
            ("s3://models/a/b/", {"type": "s3", "bucket": "models", "prefix": "a/b"}),
            ("gs://models/a", {"type": "gcs", "bucket": "models", "prefix": "a"}),
            ("azure://models/a", {"type": "azure", "container": "models", "prefix": "a"}),
        ):
            with self.subTest(url=url):
                self.assertEqual(expected, self.open(url))

    def test_opens_the_folder_of_a_path_or_file_url(self):
        with tempfile.TemporaryDirectory() as folder:
            for storage in (folder, f"file://{folder}", pathlib.Path(folder), f"{folder}/a:b?c#d"):
                with det.core.init(checkpoint_storage=storage) as context:
                    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                        (path / "state").write_text("x")
                found = list(pathlib.Path(folder).rglob(f"{uuid}/state"))
                self.assertEqual(1, len(found), storage)

    def test_refuses_other_urls_and_creates_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            for storage in (
                "hdfs://models/a",
                "s3://",
                "s3:///a",
                "s3:/models/a",
                pathlib.Path("s3://models/a"),
                "s3://models?region=x",
                "file://models",
                "https://models.s3.amazonaws.com/a",
            ):
                with self.subTest(storage=storage):
                    with self.assertRaisesRegex(ValueError, "expected a path, s3://BUCKET/PREFIX"):
                        det.core.init(checkpoint_storage=storage)
            self.assertEqual([], os.listdir(folder))
            os.chdir(before)


class ClusterTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        report = as_task(self.master, self.folder)
        self.info = report.__enter__()
        self.addCleanup(report.__exit__, None, None, None)

    def reported(self):
        return [
            report
            for body in self.master.bodies(SERVICE + "ReportMetrics")
            for report in body["reports"]
        ]

    def test_cluster_info_describes_the_task(self):
        self.assertEqual(0.1, self.info.trial.hparams["lr"])
        self.assertEqual({"path": "d"}, self.info.user_data)
        self.assertEqual(
            (7, 3, 1),
            (self.info.trial.trial_id, self.info.trial.experiment_id, self.info.trial.trial_run_id),
        )
        self.assertIsNone(self.info.latest_checkpoint)
        self.master.answers["/api/v1/allocations/3.7.1/resources/agent-0/rendezvous"] = {
            "rendezvousInfo": {"addresses": ["10.0.0.1"], "rank": 0, "slots": [1]}
        }
        self.assertEqual(["10.0.0.1"], self.info.container_addrs)
        self.assertEqual([1], self.info.container_slot_counts)
        os.environ.pop("DET_RENDEZVOUS")

    def test_file_of_the_agent_has_precedence_over_variables(self):
        os.makedirs(f"{self.folder}/info")
        with open(f"{self.folder}/info/trial.json", "w", encoding="utf-8") as file:
            json.dump(
                {
                    "trial_id": 7,
                    "experiment_id": 3,
                    "trial_run_id": 1,
                    "trial_seed": 5,
                    "hparams": {"lr": 0.2},
                    "config": {},
                    "validate_at": [4],
                },
                file,
            )
        with as_task(self.master, self.folder) as info:
            self.assertEqual(0.2, info.trial.hparams["lr"])
            self.assertEqual([4], info.trial.validate_at)

    def test_sends_reports_to_the_master(self):
        with det.core.init() as context:
            self.assertIs(self.info, context.info)
            context.train.report_training_metrics(
                1, {"loss": math.nan, "big": math.inf, "n": 1}, batch_metrics=[{"loss": 2.0}]
            )
            context.train.report_validation_metrics(1, {"loss": -math.inf})
            context.train.report_metrics("mine", 2, {"words": ["a"]})
            context.train.report_progress(0.5)
            context.train.set_status("training")
            self.assertEqual([10], [op.length for op in context.searcher.operations()])
            context.alert("t", "d", level="warning")
        self.assertEqual({"Bearer secret"}, self.master.tokens)
        first, second, third = self.reported()
        self.assertEqual({"loss": "NaN", "big": "Infinity", "n": 1}, first["metrics"])
        self.assertEqual([{"loss": 2.0}], first["batchMetrics"])
        self.assertEqual(
            ("validation", {"loss": "-Infinity"}), (second["group"], second["metrics"])
        )
        self.assertEqual(("mine", 2), (third["group"], third["stepsCompleted"]))
        [alert] = self.master.bodies("/api/v1/webhooks/custom")
        self.assertEqual(
            {
                "data": {"title": "t", "description": "d", "level": "LOG_LEVEL_WARNING"},
                "experimentId": 3,
                "trialId": 7,
            },
            alert,
        )
        self.assertEqual(
            [{"state": "training"}], self.master.bodies("/api/v1/trials/7/runner/metadata")
        )

    def test_accepts_numbers_of_other_libraries(self):
        class Scalar:
            def item(self):
                return math.nan

        class Array:
            def item(self):
                raise ValueError("more than one element")

            def tolist(self):
                return [1.0, 2.0]

        with det.core.init() as context:
            context.train.report_training_metrics(1, {"s": Scalar(), "a": Array()})
            with self.assertRaisesRegex(TypeError, "object"):
                context.train.report_training_metrics(2, {"s": object()})
        self.assertEqual([{"s": "NaN", "a": [1.0, 2.0]}], [r["metrics"] for r in self.reported()])

    def test_sends_vectors_and_nested_metrics_of_validations_as_they_are(self):
        class Array:
            def item(self):
                raise ValueError("more than one element")

            def tolist(self):
                return [[1.0, float("inf")]]

        metrics = {
            "loss": 1.0,
            "per_class": {"cat": 0.5, "dog": {"small": [1, 2]}},
            "matrix": Array(),
            "mixed": [1, "x", None, {"a": Array()}],
            "by_number": {3: 0.5},
        }
        with det.core.init() as context:
            context.train.report_validation_metrics(1, metrics)
            context.train.report_metrics("test", 1, metrics)
        expected = {
            **metrics,
            "matrix": [[1.0, "Infinity"]],
            "mixed": [1, "x", None, {"a": [[1.0, "Infinity"]]}],
            "by_number": {"3": 0.5},
        }
        self.assertEqual([expected] * 2, [report["metrics"] for report in self.reported()])
        folder = pathlib.Path(self.folder, "checkpoints")
        tags = {tag for path in folder.rglob("*tfevents*") for tag, _, _ in points(path)}
        self.assertEqual({"Determined/val_loss"}, tags)

    def test_sends_second_report_of_the_same_steps_without_a_warning(self):
        with det.core.init() as context, redirect_stderr(io.StringIO()) as printed:
            context.train.report_training_metrics(1, {"a": 1})
            context.train.report_validation_metrics(1, {"loss": 1})
            context.train.report_training_metrics(1, {"b": 1})
            context.train.report_validation_metrics(1, {"acc": 1})
        self.assertEqual("", printed.getvalue())
        self.assertEqual(
            [("training", {"a": 1}), ("validation", {"loss": 1}), ("training", {"b": 1})]
            + [("validation", {"acc": 1})],
            [(report["group"], report["metrics"]) for report in self.reported()],
        )

    def test_raises_when_the_master_refuses_a_second_report(self):
        text = "overwriting existing metric keys is not supported, conflicting key: loss"
        self.master.answers[SERVICE + "ReportMetrics"] = refusal(400, 3, text)
        with self.assertRaisesRegex(MasterError, "conflicting key: loss"):
            with det.core.init() as context:
                context.train.report_training_metrics(1, {"loss": 2})
                context.train.flush()

    def test_warns_once_about_a_validation_without_the_metric_of_the_search(self):
        for metrics, problem in (
            ({"los": 1, "acc": 2}, "no metric 'loss'.*; it has: 'los', 'acc'; report 'loss'"),
            ({}, "no metric 'loss'.*; it has: none;"),
            ({"loss": [1]}, r"'loss', .* is \[1\]; expected a number"),
            ({"loss": "low"}, "'loss', .* is 'low'; expected a number"),
            ({"loss": float("nan")}, None),
        ):
            with self.subTest(metrics=metrics):
                with det.core.init() as context:
                    with redirect_stderr(io.StringIO()) as printed:
                        context.train.report_training_metrics(1, {"a": 1})
                        self.assertEqual("", printed.getvalue())
                        context.train.report_validation_metrics(1, metrics)
                        context.train.report_validation_metrics(2, metrics)
                if problem is None:
                    self.assertEqual("", printed.getvalue())
                else:
                    self.assertRegex(printed.getvalue(), problem)
                self.assertLessEqual(printed.getvalue().count("\n"), 1)

    def test_each_report_leaves_a_line_in_the_log(self):
        def lines():
            with redirect_stdout(io.StringIO()) as printed:
                with det.core.init() as context:
                    context.train.set_status("warming up")
                    context.train.report_training_metrics(1, {"a": 0.5})
                    context.train.report_validation_metrics(1, {"loss": 2})
                    context.train.report_metrics("test", 1, {"b": "x"})
                    context.train.report_progress(0.5)
            return printed.getvalue().splitlines()

        expected = [
            "report_training_metrics(steps_completed=1, metrics={'a': 0.5})",
            "report_validation_metrics(steps_completed=1, metrics={'loss': 2})",
            "report_metrics(group=test, steps_completed=1, metrics={'b': 'x'})",
        ]
        self.assertEqual([f"INFO: determined.core: {line}" for line in expected], lines())
        with mock.patch.dict("os.environ", DET_LOG_LEVEL="warning"):
            self.assertEqual([], lines())
        with mock.patch.dict("os.environ", DET_LOG_LEVEL="DEBUG"):
            self.assertEqual("DEBUG: determined.core: set_status(warming up)", lines()[0])
        with self.assertLogs("determined.core", "INFO") as logged:  # The script's own logging.
            self.assertEqual([], lines())
        self.assertEqual(expected, [record.getMessage() for record in logged.records])

    def test_refuses_invalid_reports(self):
        with det.core.init() as context:
            for group in ("", "a.b"):
                with self.assertRaisesRegex(ValueError, "not a valid name of a group"):
                    context.train.report_metrics(group, 1, {})
            with self.assertRaisesRegex(ValueError, "steps_completed is -1"):
                context.train.report_training_metrics(-1, {})
            with self.assertRaisesRegex(ValueError, "progress is 2"):
                context.train.report_progress(2)
            with self.assertRaisesRegex(TypeError, "progress is '50%'; expected a number"):
                context.train.report_progress("50%")
            with self.assertRaisesRegex(TypeError, "steps_completed is '1'; expected a number"):
                context.train.report_training_metrics("1", {})
            with self.assertRaisesRegex(
                TypeError, "metrics of validation are 0.5; expected a dict"
            ):
                context.train.report_validation_metrics(1, 0.5)
            with self.assertRaisesRegex(TypeError, r"metrics\.sub\.b: a value of type object"):
                context.train.report_training_metrics(1, {"a": 1, "sub": {"b": object()}})
            with self.assertRaisesRegex(TypeError, "is 'INVALID_HP'; expected .*EarlyExitReason"):
                context.train.report_early_exit("INVALID_HP")
            with self.assertRaisesRegex(ValueError, "alert: 'bad'; expected one of trace, debug"):
                context.alert("t", level="bad")
            self.assertEqual([], self.reported())

    def test_reports_checkpoints_after_earlier_metrics(self):
        with det.core.init() as context:
            context.train.report_training_metrics(1, {"loss": 1})
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                (path / "state").write_text("x")
            state = {"checkpoint": {"state": "STATE_COMPLETED"}}
            self.master.answers["/api/v1/checkpoints/" + uuid] = state
            with self.assertRaisesRegex(CheckpointError, f"{uuid}: a version of a model uses it"):
                context.checkpoint.delete(uuid)
            with context.checkpoint.restore_path(uuid):
                pass
            state["checkpoint"]["state"] = "STATE_DELETED"
            context.checkpoint.delete(uuid)
        paths = [path.rpartition("/")[2] for _, path, _ in self.master.calls]
        self.assertLess(paths.index("ReportMetrics"), paths.index("ReportCheckpoint"))
        [checkpoint] = self.master.bodies(SERVICE + "ReportCheckpoint")
        self.assertEqual(
            (uuid, 1, {"steps_completed": 1}),
            (checkpoint["uuid"], checkpoint["stepsCompleted"], checkpoint["metadata"]),
        )
        self.assertEqual({"state", "metadata.json", "manifest.json"}, set(checkpoint["resources"]))
        self.assertEqual(
            [{"checkpoints": [{"uuid": uuid, "resources": {"resources": {}}}]}] * 2,
            self.master.bodies("/api/v1/checkpoints"),
        )

    def test_returns_the_best_validation(self):
        self.master.answers[BEST] = refusal(404, 5, "no validation yet")
        with det.core.init() as context:
            self.assertIsNone(context.train.get_experiment_best_validation())
            self.master.answers[BEST] = {"metric": 0.25}
            context.train.report_validation_metrics(1, {"loss": 0.25})
            self.assertEqual(0.25, context.train.get_experiment_best_validation())
        paths = [path for _, path, _ in self.master.calls]
        # The context sends earlier reports before it asks.
        self.assertLess(
            paths.index(SERVICE + "ReportMetrics"), len(paths) - 1 - paths[::-1].index(BEST)
        )

    def test_refuses_a_report_that_the_master_cannot_store(self):
        with det.core.init() as context:
            for steps, problem in (
                (1.5, "steps_completed is 1.5, but must be a whole number"),
                (2**31, "steps_completed is 2147483648, but must be from 0 to 2147483647"),
            ):
                with self.assertRaisesRegex(ValueError, problem):
                    context.train.report_training_metrics(steps, {"loss": 1})
            with self.assertRaisesRegex(ValueError, "metric 'n' is an integer of 1329 bits"):
                context.train.report_training_metrics(1, {"n": 10**400})
            with self.assertRaisesRegex(ValueError, "metrics 1 and '1' have the same name"):
                context.train.report_training_metrics(1, {1: 0.5, "1": 0.25})
            context.train.report_training_metrics(2.0, {"loss": 1, "n": 10**300})
        [reports] = self.master.bodies(SERVICE + "ReportMetrics")
        self.assertEqual(
            [(2, {"loss": 1, "n": 10**300})],
            [(each["stepsCompleted"], each["metrics"]) for each in reports["reports"]],
        )

    def test_sets_metadata_with_nan_and_numbers_of_numpy(self):
        self.master.answers["/api/v1/runs/7/metadata"] = {"metadata": {}}
        with det.core.init() as context:
            context.train.set_metadata({"a": math.nan, "b": [-math.inf], "c": NumPyNumber()})
        self.assertEqual(
            [{"runId": 7, "metadata": {"a": "NaN", "b": ["-Infinity"], "c": 3}}],
            self.master.bodies("/api/v1/runs/7/metadata"),
        )

    def test_sets_metadata_of_the_run(self):
        self.master.answers["/api/v1/runs/7/metadata"] = {"metadata": {"a": 1}}
        with det.core.init() as context:
            context.train.set_metadata({"a": 1})
            self.assertEqual({"a": 1}, context.train.get_metadata())

    def test_invalid_hp_is_reported_and_exits_with_0(self):
        with self.assertRaises(SystemExit) as ended:
            with det.core.init():
                raise det.InvalidHP("no such rate")
        self.assertEqual(0, ended.exception.code)
        self.assertEqual(
            [{"allocationId": "3.7.1", "reason": "INVALID_HP", "message": "no such rate"}],
            self.master.bodies(SERVICE + "ReportEarlyExit"),
        )
        with self.assertRaises(SystemExit), det.core.init():
            raise det.InvalidHP
        self.assertEqual(
            "invalid hyperparameters",
            self.master.bodies(SERVICE + "ReportEarlyExit")[-1]["message"],
        )

    def test_other_errors_are_raised(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with det.core.init() as context:
                context.train.report_early_exit(EarlyExitReason.USER_REQUESTED_STOP)
                raise KeyError("mine")
        self.assertEqual([], self.master.bodies(SERVICE + "ReportEarlyExit"))

    def test_preemption_is_acknowledged_once(self):
        with det.core.init() as context:
            self.assertFalse(context.preempt.should_preempt())
            self.master.preempt.set()
            context.preempt._watch._thread.join(30)
            self.assertTrue(context.preempt.should_preempt(auto_ack=False))
            self.assertEqual([], self.master.bodies(SERVICE + "AckPreemption"))
            self.assertTrue(context.preempt.should_preempt())
            self.assertTrue(context.preempt.should_preempt())
        self.assertEqual([{"allocationId": "3.7.1"}], self.master.bodies(SERVICE + "AckPreemption"))

    def test_polls_again_when_a_poll_is_refused(self):
        answer, refusals = self.master.answer, [(400, {"error": {"code": 3, "error": "not now"}})]

        def refuse_first(method, path, body):
            if path.endswith("/signals/preemption") and refusals:
                return refusals.pop()
            return answer(method, path, body)

        self.master.answer = refuse_first
        self.master.preempt.set()
        with det.core.init() as context:
            context.preempt._watch._thread.join(30)
            self.assertEqual([], refusals)
            self.assertTrue(context.preempt.should_preempt())

    def test_close_does_not_wait_for_a_hanging_poll(self):
        with det.core.init() as context:
            context.preempt._watch._master.close = lambda: None
            thread = context.preempt._watch._thread
        self.assertTrue(thread.is_alive())
        self.master.preempt.set()
        thread.join(30)

    def test_context_is_closed_at_exit(self):
        script = (
            "import det; context = det.core.init(); "
            "context.train.report_training_metrics(1, {'loss': 1})"
        )
        subprocess.run([sys.executable, "-B", "-c", script], check=True, timeout=60)
        self.assertEqual([(1, "training", 1)], self.master.reports())
        self.master.answers[SERVICE + "ReportMetrics"] = refusal(400, 3, "steps are negative")
        ended = subprocess.run(
            [sys.executable, "-B", "-c", script],
            timeout=60,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.assertEqual(1, ended.returncode)
        self.assertIn("steps are negative", ended.stderr)

    def test_second_close_does_nothing(self):
        with det.core.init() as context:
            context.close()
        context.close()

    def test_refuses_a_second_context(self):
        with det.core.init():
            with self.assertRaisesRegex(RuntimeError, "another context of this attempt"):
                det.core.init()

    def test_refuses_a_task_of_two_slots_without_a_launcher(self):
        with as_task(self.master, self.folder, DET_SLOT_IDS="[0, 1]"):
            with self.assertRaisesRegex(ValueError, "det.launch.torch_distributed"):
                det.core.init()

    def test_stores_event_files_with_the_checkpoints(self):
        with det.core.init() as context:
            (context.train.get_tensorboard_path() / "events").write_text("e")
        self.assertTrue(
            os.path.exists(f"{self.folder}/checkpoints/c/tensorboard/experiment/3/trial/7/events")
        )

    def test_copies_reported_metrics_to_an_event_file(self):
        with det.core.init() as context:
            context.train.report_training_metrics(1, {"loss": 2.0, "name": "text", "on": True})
            context.train.report_validation_metrics(1, {"loss": 1.5, "validation_error": 0.5})
            context.train.report_metrics("other", 1, {"loss": 9.0})
        folder = pathlib.Path(self.folder, "checkpoints/c/tensorboard/experiment/3/trial/7")
        [file] = folder.iterdir()
        self.assertEqual(
            [
                ("Determined/loss", 1, 2.0),
                ("Determined/val_loss", 1, 1.5),
                ("Determined/validation_error", 1, 0.5),
            ],
            points(file),
        )

    def test_stores_reported_metrics_while_the_script_runs(self):
        stored = threading.Event()
        copy = _storage.FolderStorage.copy_beside

        def copy_and_tell(*arguments):
            copy(*arguments)
            stored.set()

        folder = pathlib.Path(self.folder, "checkpoints/c/tensorboard/experiment/3/trial/7")
        with mock.patch.object(_storage.FolderStorage, "copy_beside", copy_and_tell):
            with det.core.init() as context:
                context.train.report_training_metrics(1, {"loss": 2.0})
                self.assertTrue(stored.wait(30))
                [file] = folder.iterdir()
                self.assertEqual([("Determined/loss", 1, 2.0)], points(file))
                first, inode = file.stat().st_size, file.stat().st_ino
                stored.clear()
                context.train.report_training_metrics(2, {"loss": 1.0})
                self.assertTrue(stored.wait(30))
                self.assertEqual([file], list(folder.iterdir()))
                self.assertGreater(file.stat().st_size, first)
                self.assertEqual(inode, file.stat().st_ino)  # A reader may have it open.
        self.assertEqual([1, 2], [step for _, step, _ in points(file)])

    def test_stores_reported_metrics_of_a_failed_script(self):
        with self.assertRaisesRegex(KeyError, "mine"), det.core.init() as context:
            context.train.report_training_metrics(1, {"loss": 2.0})
            raise KeyError("mine")
        folder = pathlib.Path(self.folder, "checkpoints/c/tensorboard/experiment/3/trial/7")
        [file] = folder.iterdir()
        self.assertEqual([("Determined/loss", 1, 2.0)], points(file))

    def test_other_users_may_store_event_files_of_other_experiments(self):
        with det.core.init() as context:
            context.train.report_training_metrics(1, {"loss": 2.0})
        for folder in ("c", "c/tensorboard", "c/tensorboard/experiment"):
            mode = pathlib.Path(self.folder, "checkpoints", folder).stat().st_mode
            self.assertEqual(0o777, mode & 0o777, folder)

    def test_copies_no_metrics_when_event_files_are_uploaded_manually(self):
        with det.core.init(tensorboard_mode=det.core.TensorboardMode.MANUAL) as context:
            context.train.report_training_metrics(1, {"loss": 2.0})
            context.train.upload_tensorboard_files()
        self.assertFalse(os.path.exists(f"{self.folder}/checkpoints/c/tensorboard"))

    def test_warns_when_event_files_cannot_be_stored(self):
        os.makedirs(f"{self.folder}/checkpoints")
        with open(f"{self.folder}/checkpoints/c", "w", encoding="utf-8"):
            pass  # A file is in the place of the folder.
        with det.core.init() as context, redirect_stderr(io.StringIO()) as printed:
            (context.train.get_tensorboard_path() / "events").write_text("e")
            with self.assertRaises(OSError):
                context.train.upload_tensorboard_files()
            context.close()
        self.assertIn("WARNING: cannot store event files: ", printed.getvalue())

    def test_refuses_an_unknown_storage(self):
        with self.assertRaisesRegex(ValueError, "unknown checkpoint_storage type 'ftp'"):
            det.core.init(checkpoint_storage={"type": "ftp", "bucket": "b"})


class WrittenTest(unittest.TestCase):
    def test_report_times_have_microseconds(self):
        for nanoseconds, expected in (
            (1_700_000_000_000_001_999, "2023-11-14T22:13:20.000001+00:00"),
            (1_700_000_000_999_999_000, "2023-11-14T22:13:20.999999+00:00"),
            (1_700_000_001_000_000_000, "2023-11-14T22:13:21.000000+00:00"),
            (1_699_999_999_500_000_000, "2023-11-14T22:13:19.500000+00:00"),
        ):
            self.assertEqual(expected, _report.format_time(nanoseconds))

    def test_packed_report_becomes_the_same_json(self):
        plain = {"a": 0.1, "b": 10**30, "c": "\u20ac\ud800", "d": math.nan, "e": -math.inf}
        for metrics in (plain, {**plain, "f": True, "g": None, "h": {"i": [1, 2.5]}}):
            for batches in (None, [{"a": 1.0}]):
                report = json.loads(_report.unpack(_report.pack("training", 7, metrics, batches)))
                expected = {
                    "group": "training",
                    "stepsCompleted": 7,
                    "metrics": json.loads(_json.encode(metrics)),
                    "reportTime": report["reportTime"],
                }
                self.assertEqual(
                    {**expected, **({"batchMetrics": batches} if batches else {})}, report
                )

    def test_refuses_values_that_are_not_json(self):
        for metrics in ({"a": object()}, {("a", 1): 1.0}, {"a": {1, 2}}):
            with self.assertRaises(TypeError):
                _report.pack("training", 7, metrics)

    def test_encodes_the_same_without_the_c_encoder(self):
        report = {"a": 0.1, "b": [1, None, True], "c": {"d": "\u20ac\n"}, "e": math.nan}
        fast = _json.encode(report)
        with mock.patch.object(_json, "_fast", None):
            self.assertEqual(fast, _json.encode(report))
        self.assertEqual({**report, "e": "NaN"}, json.loads(fast))


class ProfilerTest(unittest.TestCase):
    def test_samples_the_machine(self):
        sample = Machine().sample()
        self.assertLessEqual({"cpu", "disk", "network", "memory"}, set(sample))
        self.assertGreater(sample["memory"]["memory_free"], 0)

    def test_reports_the_mean_of_the_samples(self):
        self.assertEqual(
            {"cpu": {"a": 2.0}, "gpu": {"b": 5.0}},
            mean([{"cpu": {"a": 1.0}}, {"cpu": {"a": 3.0}, "gpu": {"b": 5.0}}]),
        )

    def test_numbers_reports_from_one_when_it_is_switched_off_and_on(self):
        reported = queue.SimpleQueue()
        train = mock.Mock(report_metrics=lambda group, number, _: reported.put((group, number)))
        profiler = ProfilerContext(train, enabled=True)
        with mock.patch("det.core._profiler.mean", lambda _: {"cpu": {"a": 1.0}}):
            numbers = []
            for _ in range(2):
                profiler.on(sampling_interval=0.1, samples_per_report=1)
                numbers.append(reported.get(timeout=60))
                profiler.off()
        while not reported.empty():
            numbers.append(reported.get())
        self.assertEqual(sorted(set(numbers)), numbers, "no report has the number of another")

    def test_refuses_invalid_intervals(self):
        profiler = ProfilerContext(None, enabled=True)
        with self.assertRaisesRegex(ValueError, "at least 0.1 s"):
            profiler.on(sampling_interval=0)


class OffClusterTest(unittest.TestCase):
    def test_script_runs_off_the_cluster(self):
        with tempfile.TemporaryDirectory() as folder:
            with det.core.init(checkpoint_storage=folder) as context:
                context.train.report_training_metrics(1, {"loss": math.nan})
                self.assertTrue(
                    context.train.report_validation_metrics(1, {"loss": 1}, ask_best=True)
                )
                self.assertIsNone(context.train.get_experiment_best_validation())
                self.assertFalse(context.preempt.should_preempt())
                with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
                    pass
                context.alert("t")
                context.profiler.on()
            self.assertEqual([uuid], os.listdir(folder))

    def test_refuses_invalid_arguments(self):
        for name, value, words in (
            ("preempt_mode", "ChiefOnly", "expected a member of det.core.PreemptMode"),
            ("tensorboard_mode", "auto", "expected a member of det.core.TensorboardMode"),
            ("checkpoint_storage", 5, "expected a directory or a mapping"),
        ):
            with self.assertRaisesRegex(TypeError, f"{name} is {value!r}; {words}"):
                det.core.init(**{name: value})
        with det.core.init() as context:
            with self.assertRaisesRegex(TypeError, "reason is 'INVALID_HP'; expected a member"):
                context.train.report_early_exit("INVALID_HP")
            with self.assertRaisesRegex(TypeError, "^a: a value of type object"):
                context.train.report_training_metrics(1, {"a": object()})

    def test_accepts_a_path_as_storage(self):
        with tempfile.TemporaryDirectory() as folder:
            with det.core.init(checkpoint_storage=pathlib.Path(folder)) as context:
                with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
                    pass
            self.assertEqual([uuid], os.listdir(folder))

    def test_refuses_other_ranks_in_mode_chief_only(self):
        ranks = det.core.DistributedContext.single()
        ranks.rank = 1
        context = det.core.PreemptContext(ranks, PreemptMode.ChiefOnly)
        with self.assertRaisesRegex(RuntimeError, "ChiefOnly"):
            context.should_preempt()
