import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from unittest import mock

import det
from det._errors import CheckpointError
from det.core import EarlyExitReason, PreemptMode, ProfilerContext, _json, _report
from det.core._profiler import Machine, mean
from fake_master import SERVICE, as_task, fake_master, refusal

BEST = "/api/v1/experiments/3/searcher/best_searcher_validation_metric"


class ClusterTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        told = as_task(self.master, self.folder)
        self.info = told.__enter__()
        self.addCleanup(told.__exit__, None, None, None)

    def reported(self):
        return [
            report
            for body in self.master.bodies(SERVICE + "ReportMetrics")
            for report in body["reports"]
        ]

    def test_the_task_is_known(self):
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

    def test_the_file_of_the_agent_goes_before_the_variables(self):
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

    def test_what_is_reported_arrives(self):
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

    def test_numbers_of_other_libraries_are_numbers(self):
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

    def test_who_reports_the_same_steps_twice_is_warned(self):
        with det.core.init() as context, redirect_stderr(io.StringIO()) as said:
            context.train.report_training_metrics(1, {"a": 1})
            context.train.report_validation_metrics(1, {"a": 1})
            self.assertEqual("", said.getvalue())
            context.train.report_training_metrics(1, {"b": 1})
        self.assertIn("training metrics are reported at 1 steps once more", said.getvalue())

    def test_wrong_reports_are_refused_here(self):
        with det.core.init() as context:
            for group in ("", "a.b"):
                with self.assertRaisesRegex(ValueError, "no group"):
                    context.train.report_metrics(group, 1, {})
            with self.assertRaisesRegex(ValueError, "steps_completed is -1"):
                context.train.report_training_metrics(-1, {})
            with self.assertRaisesRegex(ValueError, "progress is 2"):
                context.train.report_progress(2)
            with self.assertRaisesRegex(TypeError, "progress is '50%': give a number"):
                context.train.report_progress("50%")
            with self.assertRaisesRegex(TypeError, "steps_completed is '1': give a number"):
                context.train.report_training_metrics("1", {})
            with self.assertRaisesRegex(TypeError, "metrics of validation are 0.5: give a dict"):
                context.train.report_validation_metrics(1, 0.5)
            with self.assertRaisesRegex(TypeError, r"metrics\.sub\.b: a value of type object"):
                context.train.report_training_metrics(1, {"a": 1, "sub": {"b": object()}})
            with self.assertRaisesRegex(
                TypeError, "is 'INVALID_HP': give one of .*EarlyExitReason"
            ):
                context.train.report_early_exit("INVALID_HP")
            with self.assertRaisesRegex(ValueError, "alert is 'bad': give one of trace, debug"):
                context.alert("t", level="bad")
            self.assertEqual([], self.reported())

    def test_a_checkpoint_is_registered_after_the_metrics_before_it(self):
        with det.core.init() as context:
            context.train.report_training_metrics(1, {"loss": 1})
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                (path / "state").write_text("x")
            state = {"checkpoint": {"state": "STATE_COMPLETED"}}
            self.master.answers["/api/v1/checkpoints/" + uuid] = state
            with self.assertRaisesRegex(CheckpointError, f"{uuid} stays: a version of a model"):
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

    def test_the_best_validation(self):
        self.master.answers[BEST] = refusal(404, 5, "no validation yet")
        with det.core.init() as context:
            self.assertIsNone(context.train.get_experiment_best_validation())
            self.master.answers[BEST] = {"metric": 0.25}
            context.train.report_validation_metrics(1, {"loss": 0.25})
            self.assertEqual(0.25, context.train.get_experiment_best_validation())
        paths = [path for _, path, _ in self.master.calls]
        # What was reported before it counts.
        self.assertLess(
            paths.index(SERVICE + "ReportMetrics"), len(paths) - 1 - paths[::-1].index(BEST)
        )

    def test_metadata_of_the_run(self):
        self.master.answers["/api/v1/runs/7/metadata"] = {"metadata": {"a": 1}}
        with det.core.init() as context:
            context.train.set_metadata({"a": 1})
            self.assertEqual({"a": 1}, context.train.get_metadata())

    def test_invalid_hyperparameters_are_told_and_the_exit_is_clean(self):
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

    def test_another_error_goes_on_its_way(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with det.core.init() as context:
                context.train.report_early_exit(EarlyExitReason.USER_REQUESTED_STOP)
                raise KeyError("mine")
        self.assertEqual([], self.master.bodies(SERVICE + "ReportEarlyExit"))

    def test_preemption_is_noticed_and_acknowledged_once(self):
        with det.core.init() as context:
            self.assertFalse(context.preempt.should_preempt())
            self.master.preempt.set()
            context.preempt._watch._thread.join(30)
            self.assertTrue(context.preempt.should_preempt(auto_ack=False))
            self.assertEqual([], self.master.bodies(SERVICE + "AckPreemption"))
            self.assertTrue(context.preempt.should_preempt())
            self.assertTrue(context.preempt.should_preempt())
        self.assertEqual([{"allocationId": "3.7.1"}], self.master.bodies(SERVICE + "AckPreemption"))

    def test_a_poll_that_was_refused_is_followed_by_another(self):
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

    def test_the_end_does_not_wait_for_a_poll_that_cannot_be_broken_off(self):
        with det.core.init() as context:
            context.preempt._watch._master.close = lambda: None
            thread = context.preempt._watch._thread
        self.assertTrue(thread.is_alive())
        self.master.preempt.set()
        thread.join(30)

    def test_a_context_that_nobody_closes_is_closed_at_the_exit(self):
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

    def test_closing_twice_is_as_once(self):
        with det.core.init() as context:
            context.close()
        context.close()

    def test_one_context_at_a_time(self):
        with det.core.init():
            with self.assertRaisesRegex(RuntimeError, "another context of this run"):
                det.core.init()

    def test_a_task_of_two_slots_needs_a_launcher(self):
        with as_task(self.master, self.folder, DET_SLOT_IDS="[0, 1]"):
            with self.assertRaisesRegex(ValueError, "det.launch.torch_distributed"):
                det.core.init()

    def test_event_files_go_beside_the_checkpoints(self):
        with det.core.init() as context:
            (context.train.get_tensorboard_path() / "events").write_text("e")
        self.assertTrue(
            os.path.exists(f"{self.folder}/checkpoints/c/tensorboard/experiment/3/trial/7/events")
        )

    def test_event_files_that_cannot_be_stored_fail_no_trial(self):
        os.makedirs(f"{self.folder}/checkpoints")
        with open(f"{self.folder}/checkpoints/c", "w", encoding="utf-8"):
            pass  # In the place of the folder.
        with det.core.init() as context, redirect_stderr(io.StringIO()) as said:
            (context.train.get_tensorboard_path() / "events").write_text("e")
            with self.assertRaises(OSError):
                context.train.upload_tensorboard_files()
            context.close()
        self.assertIn("WARNING: event files were not stored: ", said.getvalue())

    def test_a_storage_that_is_not_known(self):
        with self.assertRaisesRegex(ValueError, "'ftp' is not known"):
            det.core.init(checkpoint_storage={"type": "ftp", "bucket": "b"})


class WrittenTest(unittest.TestCase):
    def test_times_are_the_clock_s_to_the_microsecond(self):
        for nanoseconds, wanted in (
            (1_700_000_000_000_001_999, "2023-11-14T22:13:20.000001+00:00"),
            (1_700_000_000_999_999_000, "2023-11-14T22:13:20.999999+00:00"),
            (1_700_000_001_000_000_000, "2023-11-14T22:13:21.000000+00:00"),
            (1_699_999_999_500_000_000, "2023-11-14T22:13:19.500000+00:00"),
        ):
            self.assertEqual(wanted, _report.time_text(nanoseconds))

    def test_a_report_that_waits_becomes_what_json_says_of_it(self):
        plain = {"a": 0.1, "b": 10**30, "c": "\u20ac\ud800", "d": math.nan, "e": -math.inf}
        for metrics in (plain, {**plain, "f": True, "g": None, "h": {"i": [1, 2.5]}}):
            for batches in (None, [{"a": 1.0}]):
                told = json.loads(_report.unpack(_report.pack("training", 7, metrics, batches)))
                wanted = {
                    "group": "training",
                    "stepsCompleted": 7,
                    "metrics": json.loads(_json.encode(metrics)),
                    "reportTime": told["reportTime"],
                }
                self.assertEqual({**wanted, **({"batchMetrics": batches} if batches else {})}, told)

    def test_what_is_no_metric_is_refused_at_once(self):
        for metrics in ({"a": object()}, {("a", 1): 1.0}, {"a": {1, 2}}):
            with self.assertRaises(TypeError):
                _report.pack("training", 7, metrics)

    def test_the_way_without_json_s_c_part_is_the_same(self):
        report = {"a": 0.1, "b": [1, None, True], "c": {"d": "\u20ac\n"}, "e": math.nan}
        fast = _json.encode(report)
        with mock.patch.object(_json, "_fast", None):
            self.assertEqual(fast, _json.encode(report))
        self.assertEqual({**report, "e": "NaN"}, json.loads(fast))


class ProfilerTest(unittest.TestCase):
    def test_the_machine_tells_of_itself(self):
        sample = Machine().sample()
        self.assertLessEqual({"cpu", "disk", "network", "memory"}, set(sample))
        self.assertGreater(sample["memory"]["memory_free"], 0)

    def test_a_report_is_the_mean_of_its_samples(self):
        self.assertEqual(
            {"cpu": {"a": 2.0}, "gpu": {"b": 5.0}},
            mean([{"cpu": {"a": 1.0}}, {"cpu": {"a": 3.0}, "gpu": {"b": 5.0}}]),
        )

    def test_wrong_intervals(self):
        profiler = ProfilerContext(None, enabled=True)
        with self.assertRaisesRegex(ValueError, "0.1 s or more"):
            profiler.on(sampling_interval=0)


class OffClusterTest(unittest.TestCase):
    def test_the_same_script_runs(self):
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

    def test_wrong_arguments_are_refused(self):
        for name, value, words in (
            ("preempt_mode", "ChiefOnly", "give one of det.core.PreemptMode"),
            ("tensorboard_mode", "auto", "give one of det.core.TensorboardMode"),
            ("checkpoint_storage", 5, "give a folder"),
        ):
            with self.assertRaisesRegex(TypeError, f"{name} is {value!r}: {words}"):
                det.core.init(**{name: value})
        with det.core.init() as context:
            with self.assertRaisesRegex(TypeError, "reason is 'INVALID_HP': give one of"):
                context.train.report_early_exit("INVALID_HP")
            with self.assertRaisesRegex(TypeError, "^a: a value of type object"):
                context.train.report_training_metrics(1, {"a": object()})

    def test_a_storage_may_be_a_path(self):
        with tempfile.TemporaryDirectory() as folder:
            with det.core.init(checkpoint_storage=pathlib.Path(folder)) as context:
                with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
                    pass
            self.assertEqual([uuid], os.listdir(folder))

    def test_only_the_chief_asks_in_its_mode(self):
        ranks = det.core.DistributedContext.single()
        ranks.rank = 1
        context = det.core.PreemptContext(ranks, PreemptMode.ChiefOnly)
        with self.assertRaisesRegex(RuntimeError, "ChiefOnly"):
            context.should_preempt()
