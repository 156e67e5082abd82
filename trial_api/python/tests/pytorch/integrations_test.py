"""Callbacks for other libraries' trainers, with stand-ins that call them as those libraries do."""

import json
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from det import core
from trials import FakePreempt, RecordingTrain


def stand_in(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


stand_in("transformers", TrainerCallback=type("TrainerCallback", (), {}))
stand_in("lightning")
stand_in("lightning.pytorch")
stand_in("lightning.pytorch.loggers", Logger=type("Logger", (), {}))

stand_in("lightning.pytorch.plugins")
stand_in(
    "lightning.pytorch.plugins.environments",
    ClusterEnvironment=type("ClusterEnvironment", (), {}),
)

from det.launch._layout import Layout
from det.lightning import DetEnvironment, DetLogger
from det.transformers import DetCallback


class IntegrationTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.preempt = False
        self.context = core.init(checkpoint_storage="storage")
        self.addCleanup(self.context.close)
        self.context.train = RecordingTrain()
        self.context.preempt = FakePreempt(lambda: self.preempt)
        self.args = types.SimpleNamespace(output_dir="out", resume_from_checkpoint=None)
        self.state = types.SimpleNamespace(
            global_step=5, max_steps=10, epoch=0.5, is_world_process_zero=True
        )
        self.control = types.SimpleNamespace(should_save=False, should_training_stop=False)

    def callback(self, **options):
        return DetCallback(self.context, self.args, **options)

    def log(self, callback, logs):
        callback.on_log(self.args, self.state, self.control, logs=logs)

    def save(self, callback):
        folder = pathlib.Path("out", f"checkpoint-{self.state.global_step}")
        folder.mkdir(parents=True)
        folder.joinpath("weights").write_text("w")
        callback.on_save(self.args, self.state, self.control)

    def test_transformers_callback_reports_selected_metrics(self):
        callback = self.callback(filter_metrics=["loss", "f1"])
        self.log(callback, {"loss": 1.5, "learning_rate": 0.1, "epoch": 0.5})
        self.log(callback, {"eval_f1": 0.5, "eval_loss": 2, "eval_runtime": 3})
        self.log(callback, {"train_runtime": 3, "train_loss": 1})
        lengths = {"batches": 5, "epochs": 0.5}
        self.assertEqual(
            self.context.train.reports,
            [
                ("training", 5, {"loss": 1.5, **lengths}),
                ("validation", 5, {"eval_f1": 0.5, "eval_loss": 2, **lengths}),
            ],
        )

    def test_transformers_callback_reports_each_evaluation_of_a_step(self):
        callback = self.callback()
        self.log(callback, {"eval_a_loss": 1.0, "eval_a_runtime": 3.0})
        self.log(callback, {"eval_b_loss": 2.0, "eval_b_runtime": 4.0})
        with mock.patch("sys.stderr") as stderr:
            self.log(callback, {"eval_b_loss": 2.0, "eval_b_runtime": 5.0})  # Evaluated again.
        stderr.write.assert_not_called()
        self.assertEqual(
            self.context.train.reports,
            [
                (
                    "validation",
                    5,
                    {"eval_a_loss": 1.0, "eval_a_runtime": 3.0, "batches": 5, "epochs": 0.5},
                ),
                ("validation", 5, {"eval_b_loss": 2.0, "eval_b_runtime": 4.0}),
            ],
        )

    def test_transformers_callback_warns_once_when_a_metric_has_another_value(self):
        callback = self.callback()
        self.log(callback, {"eval_loss": 1.0})
        with mock.patch("sys.stderr") as stderr:
            for _ in range(2):
                self.log(callback, {"eval_loss": 2.0})
        written = "".join(call.args[0] for call in stderr.write.call_args_list)
        self.assertEqual(
            "WARNING: validation metric 'eval_loss' is 2.0 now, and was reported as 1.0 at 5 steps, "
            "which remains; use another metric_key_prefix\n",
            written,
        )
        self.assertEqual(1, len(self.context.train.reports))

    def test_transformers_callback_stops_and_resumes_when_preempted(self):
        callback = self.callback(user_data={"mine": 1})
        callback.on_step_end(self.args, self.state, self.control)
        self.assertFalse(self.control.should_save)
        self.preempt = True
        callback.on_step_end(self.args, self.state, self.control)
        self.assertTrue(self.control.should_save and self.control.should_training_stop)
        self.assertFalse(self.context.preempt.acknowledged)
        self.save(callback)
        self.assertTrue(self.context.preempt.acknowledged)

        [uuid] = os.listdir("storage")
        metadata = self.context.checkpoint.get_metadata(uuid)
        self.assertEqual((metadata["mine"], metadata["steps_completed"]), (1, 5))
        self.context.checkpoint.newest_whole = lambda: uuid
        self.callback()
        resumed = pathlib.Path(self.args.resume_from_checkpoint)
        self.assertEqual(resumed.name, "checkpoint-5")
        self.assertEqual(resumed.joinpath("weights").read_text(), "w")

    def test_transformers_callback_keeps_only_weights_on_a_warm_start(self):
        folder = pathlib.Path("out", "checkpoint-5")
        folder.mkdir(parents=True)
        for name in ("weights", "optimizer.pt", "scheduler.pt", "rng_state_0.pth"):
            folder.joinpath(name).write_text("w")
        saved = {
            "global_step": 5,
            "epoch": 0.5,
            "log_history": [{"loss": 1}],
            "best_metric": 2,
            "max_steps": 10,
            "train_batch_size": 3,
        }
        folder.joinpath("trainer_state.json").write_text(json.dumps(saved))
        uuid = self.context.checkpoint.upload("out", {"steps_completed": 5})
        self.context.checkpoint.newest_whole = lambda: uuid
        for is_warm in (False, True):
            trial = types.SimpleNamespace(warm_start=is_warm)
            self.context.info = types.SimpleNamespace(trial=trial)
            self.callback()
            restored = pathlib.Path(self.args.resume_from_checkpoint)
            state = json.loads(restored.joinpath("trainer_state.json").read_text())
            if not is_warm:
                self.assertEqual(state, saved)
                self.assertEqual(len(list(restored.iterdir())), 5)
        self.assertEqual(
            (state["global_step"], state["epoch"], state["log_history"], state["best_metric"]),
            (0, 0.0, [], None),
        )
        self.assertEqual(
            sorted(path.name for path in restored.iterdir()), ["trainer_state.json", "weights"]
        )

    def test_lightning_logger_reports_metrics_by_group(self):
        logger = DetLogger(self.context)
        self.assertEqual((logger.name, logger.version), ("det", "0"))
        logger.log_metrics({"train_loss": 1.0, "epoch": 0}, step=9)
        logger.log_metrics({"val_loss": 2.0, "epoch": 0}, step=9)
        expected = [
            ("training", 10, {"train_loss": 1.0, "epoch": 0}),
            ("validation", 10, {"val_loss": 2.0}),
        ]
        self.assertEqual(self.context.train.reports, expected)

    def test_lightning_environment_reads_variables_of_the_launcher(self):
        variables = Layout(["10.0.0.1", "10.0.0.2"], [2, 3], node=1).environment(local_rank=2)
        with mock.patch.dict(os.environ, {**variables, "MASTER_PORT": "29400"}, clear=True):
            self.assertTrue(DetEnvironment.detect())
            found = DetEnvironment()
            found.set_world_size(1)
            found.set_global_rank(0)
            self.assertEqual((found.world_size(), found.global_rank()), (5, 4))
            self.assertEqual((found.local_rank(), found.node_rank()), (2, 1))
            self.assertEqual((found.main_address, found.main_port), ("10.0.0.1", 29400))
            self.assertTrue(found.creates_processes_externally)

    def test_lightning_environment_names_the_launcher_when_it_is_missing(self):
        with mock.patch.dict(os.environ, {}, clear=True):
            self.assertFalse(DetEnvironment.detect())
            with self.assertRaisesRegex(RuntimeError, "RANK is not set: .*det.launch"):
                DetEnvironment()
