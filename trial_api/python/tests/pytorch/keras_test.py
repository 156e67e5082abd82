"""Callbacks of det.keras, with a stand-in for Keras that calls them as Keras does."""

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

keras = types.ModuleType("keras")


class KerasTensorBoard:
    def __init__(self, log_dir, update_freq="epoch"):
        self.log_dir, self.update_freq, self.epochs = log_dir, update_freq, []

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(epoch)


keras.callbacks = types.SimpleNamespace(
    Callback=type("Callback", (), {}), TensorBoard=KerasTensorBoard
)
keras.models = types.SimpleNamespace(
    model_from_json=lambda text, custom_objects: Model(json.loads(text), custom_objects)
)
sys.modules["keras"] = keras

from det import CheckpointError
from det.keras import (
    DetCallback,
    DeterminedCallback,
    TensorBoard,
    load_model_from_checkpoint_path,
)


class Model:
    """Adds 1 to its weight after each batch."""

    def __init__(self, layers="two", custom_objects=None):
        self.weight, self.stop_training = 0, False
        self.layers, self.custom_objects = layers, custom_objects

    def to_json(self):
        return json.dumps(self.layers)

    def save_weights(self, path):
        pathlib.Path(path).write_text(str(self.weight))

    def load_weights(self, path):
        self.weight = int(pathlib.Path(path).read_text())

    def fit(self, callback, epochs, steps=3, initial_epoch=None):
        callback.model, callback.params = self, {"epochs": epochs, "steps": steps}
        self.stop_training = False
        callback.on_train_begin()
        first = callback.initial_epoch if initial_epoch is None else initial_epoch
        for epoch in range(first, epochs):
            getattr(callback, "on_epoch_begin", lambda _: None)(epoch)
            for batch in range(steps):
                self.weight += 1
                callback.on_train_batch_end(batch, {"loss": 1.0})
                if self.stop_training:
                    break
            callback.on_epoch_end(epoch, {"loss": 1.0, "val_loss": 2.0})
            if self.stop_training:
                break
        callback.on_train_end({})


class Case(unittest.TestCase):
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
        self.context.preempt = FakePreempt(lambda: self.model.weight == self.preempt_at)


class KerasTest(Case):
    def use_only_checkpoint(self):
        [uuid] = os.listdir("storage")
        self.context.checkpoint.newest_whole = lambda: uuid

    def test_reports_metrics_by_group(self):
        self.model.fit(DetCallback(self.context), 1)
        self.assertEqual(
            self.context.train.reports,
            [
                ("training", 3, {"loss": 1.0, "epochs": 1}),
                ("validation", 3, {"val_loss": 2.0, "epochs": 1}),
            ],
        )

    def test_resumes_at_the_beginning_of_the_epoch_when_preempted_within_it(self):
        self.preempt_at = 4
        self.model.fit(DetCallback(self.context), 3)
        self.assertEqual(self.model.weight, 4)
        self.preempt_at = None
        self.use_only_checkpoint()
        self.model = Model()
        callback = DetCallback(self.context)
        self.assertEqual(callback.initial_epoch, 1)
        self.model.fit(callback, 3)
        self.assertEqual(self.model.weight, 9)
        steps = [report[1] for report in self.context.train.reports if report[0] == "training"]
        self.assertEqual(steps, [3, 6, 9])

    def test_saves_the_epoch_when_preempted_at_its_end(self):
        self.preempt_at = 3
        self.model.fit(DetCallback(self.context, 0, {"mine": 1}), 3)
        self.use_only_checkpoint()
        metadata = self.context.checkpoint.get_metadata(self.context.checkpoint.newest_whole())
        self.assertEqual((metadata["steps_completed"], metadata["mine"]), (3, 1))

    def test_loads_weights_and_counts_from_0_on_a_warm_start(self):
        self.model.fit(DetCallback(self.context), 1)
        self.use_only_checkpoint()
        trial = types.SimpleNamespace(warm_start=True)
        self.context.info = types.SimpleNamespace(trial=trial)
        callback = DetCallback(self.context)
        self.assertEqual(callback.initial_epoch, 0)
        self.model.fit(callback, 1)
        self.assertEqual(self.model.weight, 6)

    def test_loads_the_model_of_a_checkpoint(self):
        self.model.fit(DetCallback(self.context), 1)
        [uuid] = os.listdir("storage")
        model = load_model_from_checkpoint_path(f"storage/{uuid}", {"mine": int})
        self.assertEqual(
            (model.weight, model.layers, model.custom_objects), (3, "two", {"mine": int})
        )
        with self.assertRaisesRegex(CheckpointError, "did not save this checkpoint"):
            load_model_from_checkpoint_path("storage")

    def test_error_names_load_weights_when_the_script_defines_the_model_class(self):
        self.model.to_json = mock.Mock(side_effect=NotImplementedError)
        self.model.fit(DetCallback(self.context), 1)
        [uuid] = os.listdir("storage")
        with self.assertRaisesRegex(CheckpointError, r"load_weights\('.*model.weights.h5'\)"):
            load_model_from_checkpoint_path(f"storage/{uuid}")

    def test_refuses_several_ranks(self):
        self.context.distributed.size = 2
        self.addCleanup(setattr, self.context.distributed, "size", 1)
        with self.assertRaisesRegex(ValueError, "slots_per_trial"):
            DetCallback(self.context)


class DeterminedCallbackTest(Case):
    def callback(self, checkpoint=None, continue_id=7, **options):
        return DeterminedCallback(self.context, checkpoint, continue_id, **options)

    def newest(self):
        [uuid] = os.listdir("storage")
        return uuid

    def steps(self, group):
        return [report[1] for report in self.context.train.reports if report[0] == group]

    def test_counts_the_epochs_of_all_runs_when_resumed(self):
        self.preempt_at = 4
        self.model.fit(self.callback(), 3, initial_epoch=0)
        self.preempt_at = None
        self.model = Model()
        self.model.fit(self.callback(self.newest()), 3, initial_epoch=0)
        self.assertEqual(self.model.weight, 9)
        self.assertEqual(self.steps("training"), [3, 6, 9])

    def test_begins_at_initial_epoch_when_fit_gets_it(self):
        self.model.fit(self.callback(), 1, initial_epoch=0)
        self.model = Model()
        self.model.fit(self.callback(self.newest()), 2, initial_epoch=1)
        self.assertEqual((self.model.weight, self.steps("validation")), (6, [3, 6]))

    def test_reports_and_saves_nothing_when_all_epochs_are_trained(self):
        self.model.fit(self.callback(), 1, initial_epoch=0)
        self.model.fit(self.callback(self.newest()), 1, initial_epoch=0)
        self.assertEqual(self.steps("training"), [3])
        self.newest()

    def test_loads_weights_and_counts_from_0_when_continue_id_differs(self):
        self.model.fit(self.callback(), 1, initial_epoch=0)
        self.model = Model()
        self.model.fit(self.callback(self.newest(), 8), 1, initial_epoch=0)
        self.assertEqual((self.model.weight, self.steps("training")), (6, [3, 3]))

    def test_reports_training_metrics_every_report_period(self):
        self.model.fit(self.callback(train_metrics_report_period=2), 2, initial_epoch=0)
        self.assertEqual((self.steps("training"), self.steps("validation")), ([2, 4, 6], [3, 6]))
        with self.assertRaisesRegex(ValueError, "train_metrics_report_period"):
            self.callback(train_metrics_report_period="batch")

    def test_event_files_are_stored_with_those_of_the_trial(self):
        stored = []
        self.context.train.get_tensorboard_path = lambda: pathlib.Path("events")
        self.context.train.upload_tensorboard_files = lambda *_: stored.append(1)
        board = TensorBoard(self.context, update_freq=5)
        board.on_epoch_end(3)
        self.assertEqual(
            (board.log_dir, board.update_freq, board.epochs, stored), ("events", 5, [3], [1])
        )
