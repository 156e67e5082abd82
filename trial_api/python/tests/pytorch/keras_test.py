"""det.keras, called as Keras calls callbacks: it is not here."""

import os
import pathlib
import sys
import tempfile
import types
import unittest

from det import core
from trials import Preempts, RecordingTrain

keras = types.ModuleType("keras")
keras.callbacks = types.SimpleNamespace(Callback=type("Callback", (), {}))
sys.modules["keras"] = keras

from det.keras import DetCallback  # noqa: E402


class Model:
    """Adds 1 to its weight after each batch."""

    def __init__(self):
        self.weight, self.stop_training = 0, False

    def save_weights(self, path):
        pathlib.Path(path).write_text(str(self.weight))

    def load_weights(self, path):
        self.weight = int(pathlib.Path(path).read_text())

    def fit(self, callback, epochs, steps=3):
        callback.model, callback.params = self, {"epochs": epochs, "steps": steps}
        callback.on_train_begin()
        for epoch in range(callback.initial_epoch, epochs):
            for batch in range(steps):
                self.weight += 1
                callback.on_train_batch_end(batch, {"loss": 1.0})
                if self.stop_training:
                    break
            callback.on_epoch_end(epoch, {"loss": 1.0, "val_loss": 2.0})
            if self.stop_training:
                break
        callback.on_train_end({})


class KerasTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.context = core.init(checkpoint_storage="storage")
        self.addCleanup(self.context.close)
        self.context.train = RecordingTrain()
        self.model = Model()
        self.preempt_at = None
        self.context.preempt = Preempts(lambda: self.model.weight == self.preempt_at)

    def newest_is_the_only(self):
        [uuid] = os.listdir("storage")
        self.context.checkpoint.newest_whole = lambda: uuid

    def test_metrics_by_group(self):
        self.model.fit(DetCallback(self.context), 1)
        self.assertEqual(
            self.context.train.reports,
            [
                ("training", 3, {"loss": 1.0, "epochs": 1}),
                ("validation", 3, {"val_loss": 2.0, "epochs": 1}),
            ],
        )

    def test_preempted_within_an_epoch_goes_on_at_its_beginning(self):
        self.preempt_at = 4
        self.model.fit(DetCallback(self.context), 3)
        self.assertEqual(self.model.weight, 4)
        self.preempt_at = None
        self.newest_is_the_only()
        self.model = Model()
        callback = DetCallback(self.context)
        self.assertEqual(callback.initial_epoch, 1)
        self.model.fit(callback, 3)
        self.assertEqual(self.model.weight, 9)
        steps = [report[1] for report in self.context.train.reports if report[0] == "training"]
        self.assertEqual(steps, [3, 6, 9])

    def test_preempted_at_the_end_of_an_epoch_keeps_it(self):
        self.preempt_at = 3
        self.model.fit(DetCallback(self.context, 0, {"mine": 1}), 3)
        self.newest_is_the_only()
        metadata = self.context.checkpoint.get_metadata(self.context.checkpoint.newest_whole())
        self.assertEqual((metadata["steps_completed"], metadata["mine"]), (3, 1))

    def test_a_warm_start_takes_the_weights_and_counts_from_0(self):
        self.model.fit(DetCallback(self.context), 1)
        self.newest_is_the_only()
        trial = types.SimpleNamespace(warm_start=True)
        self.context.info = types.SimpleNamespace(trial=trial)
        callback = DetCallback(self.context)
        self.assertEqual(callback.initial_epoch, 0)
        self.model.fit(callback, 1)
        self.assertEqual(self.model.weight, 6)

    def test_several_ranks_are_refused(self):
        self.context.distributed.size = 2
        self.addCleanup(setattr, self.context.distributed, "size", 1)
        with self.assertRaisesRegex(ValueError, "slots_per_trial"):
            DetCallback(self.context)
