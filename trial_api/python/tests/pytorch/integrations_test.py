"""Callbacks for other libraries' trainers, with stand-ins that call them as those libraries do."""

import io
import json
import os
import pathlib
import sys
import tempfile
import types
import unittest
from contextlib import redirect_stderr
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

    def test_transformers_callback_reports_new_names_when_a_step_is_logged_again(self):
        callback = self.callback()
        with redirect_stderr(io.StringIO()) as printed:
            self.log(callback, {"eval_news_loss": 1.5, "eval_news_runtime": 2})
            self.log(callback, {"eval_books_loss": 2.5})
            self.log(callback, {"eval_books_loss": 2.5})
            self.assertEqual("", printed.getvalue())
            # The times differ whenever a model is evaluated again.
            self.log(callback, {"eval_news_loss": 1.5, "eval_news_runtime": 3})
            self.assertEqual("", printed.getvalue())
            for loss in (3, 4):
                self.log(callback, {"eval_news_loss": loss})
        self.assertEqual(1, printed.getvalue().count("WARNING"))
        self.assertIn("'eval_news_loss' is 3 at 5 steps", printed.getvalue())
        lengths = {"batches": 5, "epochs": 0.5}
        self.assertEqual(
            [
                ("validation", 5, {"eval_news_loss": 1.5, "eval_news_runtime": 2, **lengths}),
                ("validation", 5, {"eval_books_loss": 2.5}),
            ],
            self.context.train.reports,
        )

    def test_lightning_logger_reports_each_name_of_a_step_once(self):
        logger = DetLogger(self.context)
        logger.log_metrics({"train_loss_step": 0.5, "epoch": 0}, step=9)
        logger.log_metrics({"train_loss_epoch": 0.25, "epoch": 0}, step=9)
        logger.log_metrics({"train_loss_epoch": 0.25, "epoch": 0}, step=9)
        self.assertEqual(
            [
                ("training", 10, {"train_loss_step": 0.5, "epoch": 0}),
                ("training", 10, {"train_loss_epoch": 0.25}),
            ],
            self.context.train.reports,
        )

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
