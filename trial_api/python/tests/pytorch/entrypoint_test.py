"""An entrypoint module:Class, which trains as the experiment config says."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import det
from det import pytorch as dp
from det.pytorch import deepspeed
from fake_deepspeed import EngineTrial
from trials import NetTrial, RecordingTrain

CONFIG = {
    "searcher": {"name": "single", "metric": "error", "max_length": {"epochs": 3}},
    "min_validation_period": {"batches": 10},
    "min_checkpoint_period": {"records": 80},
    "scheduling_unit": 4,
    "perform_initial_validation": True,
    "checkpoint_policy": "none",
    "optimizations": {"aggregation_frequency": 2},
    "hyperparameters": {},
}


class EntrypointTest(unittest.TestCase):
    def make_info(self, **changes):
        trial = det.TrialInfo(
            trial_id=7,
            experiment_id=3,
            trial_run_id=1,
            trial_seed=11,
            hparams={"global_batch_size": 16},
            config={**CONFIG, **changes},
            validate_at=[1],
        )
        fields = dict.fromkeys(
            ("master_url", "cluster_id", "agent_id", "task_id", "allocation_id", "task_type"), ""
        )
        return det.ClusterInfo(
            slot_ids=[0],
            session_token="",
            latest_checkpoint=None,
            trial=trial,
            gpu_uuids=[],
            **fields,
        )

    def run_class(self, cls, kind=dp, **changes):
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)  # The folder of the checkpoints.
        train = RecordingTrain()

        def make(context):
            context._core.train = train
            return cls(context)

        with mock.patch(
            "det.pytorch.trainer.trainer.get_cluster_info", lambda: self.make_info(**changes)
        ):
            kind.run_trial_class(make)
        return train

    def test_applies_the_config(self):
        seen = []

        class Watched(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                seen.append((len(batch[0]), self.context.steps_now))
                return super().train_batch(batch, epoch_idx, batch_idx)

        train = self.run_class(Watched)
        self.assertEqual(seen[:7], [(16, False), (16, True)] * 3 + [(4, False)])
        validated = [steps for steps, _ in train.get_metrics("validation", "error")]
        self.assertEqual(validated, [0, 7, 10, 20, 21])  # 7 is a rung of the search.
        trained = {steps for steps, _ in train.get_metrics("training", "loss")}
        self.assertEqual(trained, {4, 7, 8, 10, 12, 16, 20, 21})
        steps = []
        for name in os.listdir("checkpoints"):
            with open(f"checkpoints/{name}/metadata.json", encoding="utf-8") as file:
                steps.append(json.load(file)["steps_completed"])
        self.assertEqual(sorted(steps), [5, 7, 10, 15, 20, 21])

    def test_applies_the_config_to_a_deepspeed_trial(self):
        train = self.run_class(EngineTrial, kind=deepspeed, optimizations={})
        # Three epochs of six steps, in records; 1 is a rung.
        self.assertEqual([s for s, _ in train.get_metrics("validation", "error")], [0, 6, 10, 18])
        self.assertEqual(
            {s for s, _ in train.get_metrics("training", "loss")}, {4, 6, 8, 10, 12, 16, 18}
        )

    def test_validates_only_at_rungs_and_at_the_end_without_a_period(self):
        for period in (None, {"batches": 0}, {"epochs": 0}, {"records": 0}, 0):
            with self.subTest(period=period):
                train = self.run_class(
                    NetTrial, min_validation_period=period, perform_initial_validation=False
                )
                validated = [steps for steps, _ in train.get_metrics("validation", "error")]
                self.assertEqual(validated, [7, 21])  # 7 is a rung of the search.

    def test_epoch_is_one_pass_over_the_data_when_records_per_epoch_differs(self):
        with contextlib.redirect_stderr(io.StringIO()) as output:
            train = self.run_class(
                NetTrial, records_per_epoch=40, min_validation_period={"epochs": 1}
            )
        validated = [steps for steps, _ in train.get_metrics("validation", "error")]
        self.assertEqual(validated, [0, 7, 14, 21])
        epochs = [epochs for _, epochs in train.get_metrics("validation", "epochs")]
        self.assertEqual(epochs, [0, 1, 2, 3])
        self.assertEqual(output.getvalue().count("records_per_epoch is 40 and is ignored"), 1)
        self.assertIn("7 batches of 16 records", output.getvalue())

    def test_does_not_warn_when_records_per_epoch_is_the_length_of_the_data(self):
        for records in (100, 112, 0):
            with contextlib.redirect_stderr(io.StringIO()) as output:
                self.run_class(NetTrial, records_per_epoch=records)
            self.assertNotIn("records_per_epoch", output.getvalue())

    def test_records_per_epoch_needs_no_batch_size(self):
        with self.assertRaisesRegex(ValueError, "max_length is unknown"):
            self.run_class(NetTrial, records_per_epoch=40, searcher={"metric": "error"})

    def test_applies_max_time_of_the_searcher(self):
        for unit, time, ends in (("batches", 9, 9), ("records", 32, 2), ("epochs", 2, 14)):
            with self.subTest(unit=unit):
                searcher = {"metric": "error", "max_time": time, "time_metric": unit}
                train = self.run_class(NetTrial, searcher=searcher)
                self.assertEqual(train.get_metrics("validation", "error")[-1][0], ends)

    def test_requires_a_length_when_time_metric_is_another_metric(self):
        searcher = {"metric": "error", "max_time": 2, "time_metric": "hours"}
        with self.assertRaisesRegex(ValueError, "max_length is unknown: .* time_metric"):
            self.run_class(NetTrial, searcher=searcher)

    def test_fails_at_the_first_validation_without_the_metric_of_the_search(self):
        trains = []

        class Named(NetTrial):
            value = 1.0

            def __init__(self, context):
                super().__init__(context)
                trains.append(context._core.train)

            def evaluate_batch(self, batch, batch_idx):
                return {"error": 1.0, "acc": self.value}

        for value, metric, problem in (
            (1.0, "accuracy", "no metric 'accuracy'.* it has: 'error', 'acc'; report 'accuracy'"),
            ("x", "acc", "no metric 'acc'.* it has: 'error';"),
        ):
            for policy in ("best", "all", "none"):
                with self.subTest(metric=metric, policy=policy):
                    Named.value = value
                    searcher = {**CONFIG["searcher"], "metric": metric}
                    with self.assertRaisesRegex(RuntimeError, problem):
                        self.run_class(Named, searcher=searcher, checkpoint_policy=policy)
                    reports = [(group, steps) for group, steps, _ in trains[-1].reports]
                    self.assertEqual(reports, [("validation", 0)])  # Reported before it fails.

    def test_fails_when_the_metric_of_the_search_is_not_a_number(self):
        class Vector(NetTrial):
            evaluate_batch = dp.PyTorchTrial.evaluate_batch

            def evaluate_full_dataset(self, data_loader):
                return {"error": [1, 2]}

        with self.assertRaisesRegex(RuntimeError, r"'error', .* is \[1, 2\]; expected a number"):
            self.run_class(Vector)

    def test_rejects_an_invalid_field_by_name(self):
        with self.assertRaisesRegex(ValueError, "searcher.max_length is 'long'"):
            self.run_class(NetTrial, searcher={"max_length": "long"})

    def test_rejects_entrypoint_off_the_cluster(self):
        with self.assertRaisesRegex(RuntimeError, "det.pytorch.init"):
            dp.run_trial_class(NetTrial)
