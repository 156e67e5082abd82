"""Event files for TensorBoard, on the cluster and off it."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from det import CheckpointError
from det import pytorch as dp
from det.core import _storage
from det.pytorch.trainer import tensorboard_logger
from event_files import points
from fake_master import as_task, fake_master
from trials import NetTrial, RecordingTrain, run

ARGUMENTS = {
    "max_length": dp.Batch(20),
    "reporting_period": dp.Batch(5),
    "validation_period": dp.Batch(10),
}


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def files(self, below=""):
        found = pathlib.Path(self.folder, below).rglob("*tfevents*")
        return [path for path in found if path.is_file()]


class OffClusterTest(Case):
    def train(self, cls=NetTrial, **options):
        train = RecordingTrain(tensorboard=self.folder)
        run(cls, train=train, **{**ARGUMENTS, **options})
        return train

    def test_writes_all_points(self):
        train = self.train()
        [path] = self.files()
        results = points(path)
        for group, name, series in (
            ("training", "loss", "Determined/loss"),
            ("validation", "error", "Determined/val_error"),
        ):
            expected = train.get_metrics(group, name)
            found = [(step, value) for tag, step, value in results if tag == series]
            self.assertEqual([step for step, _ in expected], [step for step, _ in found])
            for (_, value), (_, other) in zip(expected, found):
                self.assertAlmostEqual(value, other, places=5)
        self.assertEqual(
            {"Determined/loss", "Determined/val_error"}, {tag for tag, _, _ in results}
        )

    def test_writes_nothing_when_disabled(self):
        class Trial(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.set_enable_tensorboard_logging(False)

        self.train(Trial)
        self.assertEqual([], self.files())

    def test_only_the_chief_writes(self):
        context = mock.Mock(
            get_tensorboard_path=lambda: self.folder, first_untrained_step=lambda: None
        )
        context._core._events = None
        for chief in (False, True):
            context._process_group.is_chief = chief
            events = tensorboard_logger.TensorBoardLogger(context)
            events.add("training", 1, {"loss": 1, "notes": ["no number"]})
            events.close()
            self.assertEqual(int(chief), len(self.files()))
        self.assertEqual([("Determined/loss", 1, 1.0)], points(self.files()[0]))

    def test_training_continues_when_the_disk_is_full(self):
        output = io.StringIO()
        full = OSError(28, "No space left on device")
        with contextlib.redirect_stderr(output):
            with mock.patch("det.tensorboard.EventWriter.flush", side_effect=full):
                train = self.train()
            with mock.patch("det.tensorboard.EventWriter.__init__", side_effect=full):
                self.assertEqual(train.reports, self.train().reports)
        self.assertEqual(20, train.get_metrics("training", "loss")[-1][0])
        self.assertEqual(
            2, output.getvalue().count("WARNING: metrics are not written for TensorBoard")
        )
        self.assertIn("No space left", output.getvalue())

    def test_starts_another_file_after_a_failure(self):
        flush, calls = tensorboard_logger.EventWriter.flush, []

        def fails_once(writer):
            calls.append(writer)
            if len(calls) == 2:  # The first writes the file header.
                raise OSError(28, "No space left on device")
            flush(writer)

        with contextlib.redirect_stderr(io.StringIO()):
            with mock.patch("det.tensorboard.EventWriter.flush", fails_once):
                self.train()
        steps = {step for path in self.files() for _, step, _ in points(path)}
        self.assertEqual(2, len(self.files()))
        self.assertEqual({5, 10, 15, 20}, steps)


class ClusterTest(Case):
    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.master = stack.enter_context(fake_master())
        stack.enter_context(as_task(self.master, self.folder))
        self.stored = "checkpoints/c/tensorboard/experiment/3/trial/7"

    def train(self, cls=NetTrial):
        with dp.init(hparams={"global_batch_size": 16}, exp_conf={}) as context:
            dp.Trainer(cls(context), context).fit(**ARGUMENTS, checkpoint_period=dp.Batch(10))

    def test_stores_reported_metrics(self):
        self.train()
        [path] = self.files(self.stored)
        found = points(path)
        self.assertEqual([5, 10, 15, 20], [s for tag, s, _ in found if tag == "Determined/loss"])
        self.assertEqual([10, 20], [s for tag, s, _ in found if tag == "Determined/val_error"])

    def test_stores_no_metrics_when_disabled(self):
        class Trial(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.set_enable_tensorboard_logging(False)

        self.train(Trial)
        self.assertEqual([], self.files())

    def test_stores_files_of_the_trial_with_each_checkpoint(self):
        before = []

        class Trial(NetTrial):
            def build_callbacks(_):
                callback = dp.PyTorchCallback()
                callback.on_checkpoint_write_end = lambda folder: (
                    _.context.get_tensorboard_path() / "notes"
                ).write_text("n")
                callback.on_checkpoint_upload_end = lambda uuid: before.append(
                    os.path.exists(os.path.join(self.folder, self.stored, "notes"))
                )
                return {"looks": callback}

        self.train(Trial)
        self.assertEqual([True, True], before)

    def test_training_continues_when_the_storage_fails(self):
        output = pathlib.Path(self.folder, "message")
        for error in (CheckpointError("it answered 503"), OSError(28, "No space left")):
            with mock.patch.object(_storage.FolderStorage, "copy_beside", side_effect=error):
                with output.open("a") as file, contextlib.redirect_stderr(file):
                    self.train()
        self.assertIn("it answered 503", output.read_text())
        self.assertEqual(20, max(steps for _, _, steps in self.master.reports()))
        self.assertFalse(os.path.exists(os.path.join(self.folder, self.stored)))


if __name__ == "__main__":
    unittest.main()
