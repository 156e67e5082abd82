"""The names that existing scripts import of the parts that need torch; see tests/existing_names_test.py."""

import contextlib
import io
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import determined
import keras_test  # noqa: F401  Its stand-in for Keras.
import name_checks
import torch
from det import pytorch as dp
from det.pytorch import deepspeed
from determined.experimental import test_one_batch as run_one_batch
from determined.tensorboard.metric_writers.pytorch import TorchWriter
from trials import NetTrial, run


class NamesTest(unittest.TestCase):
    def test_names_exist_or_are_refused_with_a_hint(self):
        modules = name_checks.get_modules(with_torch=True)
        self.assertIn("determined.pytorch.deepspeed", modules)
        self.assertEqual([], name_checks.find_differences(modules))

    def test_contexts_and_trials_have_the_base_classes_that_existing_scripts_name(self):
        self.assertTrue(issubclass(dp.PyTorchTrialContext, determined.TrialContext))
        self.assertTrue(issubclass(deepspeed.DeepSpeedTrialContext, determined.TrialContext))
        self.assertTrue(issubclass(dp.PyTorchTrial, determined.LegacyTrial))
        self.assertTrue(issubclass(deepspeed.DeepSpeedTrial, determined.LegacyTrial))


class OneBatchTest(unittest.TestCase):
    def test_trains_validates_and_saves_once(self):
        calls = []

        class Watched(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                calls.append(("train", self.context.get_hparam("lr")))
                return super().train_batch(batch, epoch_idx, batch_idx)

            def evaluate_batch(self, batch, batch_idx):
                calls.append(("validate", batch_idx))
                return super().evaluate_batch(batch, batch_idx)

        self.addCleanup(os.chdir, os.getcwd())
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            hparams = {"global_batch_size": 4, "lr": 0.5}
            with contextlib.redirect_stdout(io.StringIO()):
                run_one_batch(Watched, {"hyperparameters": hparams, "scheduling_unit": 7})
            self.assertEqual(1, len(os.listdir("checkpoints")))
            os.chdir("/")
        self.assertEqual(("train", 0.5), calls[0])
        self.assertEqual({"validate"}, {kind for kind, _ in calls[1:]})

    def test_refuses_another_class(self):
        with self.assertRaisesRegex(TypeError, "takes a subclass of PyTorchTrial"):
            run_one_batch(dict)


class TorchWriterTest(unittest.TestCase):
    def test_writes_to_the_event_files_of_the_trial(self):
        folders, values = [], []

        class SummaryWriter:
            def __init__(self, log_dir):
                folders.append(log_dir)

            def add_scalar(self, *arguments):
                values.append(arguments)

        fake = types.ModuleType("torch.utils.tensorboard")
        fake.SummaryWriter = SummaryWriter
        with mock.patch.dict(sys.modules, {"torch.utils.tensorboard": fake}):

            class Logged(NetTrial):
                def __init__(self, context):
                    super().__init__(context)
                    self.logger = TorchWriter()
                    self.logger.add_scalar("start", torch.tensor(2), 0)
                    self.logger.writer.add_scalar("mine", 1.0, 0)

            run(Logged, max_length=dp.Batch(1))
        self.assertEqual(["tensorboard/rank-0"], folders)
        self.assertEqual([("start", 2.0, 0), ("mine", 1.0, 0)], values)

    def test_says_which_package_is_missing(self):
        with mock.patch.dict(sys.modules, {"torch.utils.tensorboard": None}):
            with self.assertRaisesRegex(ImportError, "needs the Python package tensorboard"):
                TorchWriter()


if __name__ == "__main__":
    unittest.main()
