"""DeepSpeedTrial, with a stand-in for DeepSpeed's engines: fake_deepspeed.py."""

import json
import os
import tempfile
import unittest

import torch
from det import CheckpointError
from det import pytorch as dp
from det.pytorch import deepspeed
from fake_deepspeed import EngineTrial, PipelineTrial, files_of, train
from ranks_test import run_on_two_ranks
from trials import NetTrial, run


class NoisyTrial(EngineTrial):
    dropout = 0.3


class ByHand(EngineTrial):
    """Reads the micro-batches of a step itself."""

    def __init__(self, context):
        super().__init__(context)
        context.disable_auto_grad_accumulation()

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        for _ in range(self.sizes[1]):
            results = super().train_batch(dataloader_iter, epoch_idx, batch_idx)
        return results


class Case(unittest.TestCase):
    def near(self, run, expected):
        for name, weights in expected.items():
            torch.testing.assert_close(run.weights[name], weights, rtol=1e-4, atol=1e-6)


class DeepSpeedTest(Case):
    def test_step_of_micro_batches_equals_step_of_one_batch(self):
        single_batch = run(NetTrial, max_length=dp.Batch(6))
        for cls in (EngineTrial, ByHand, PipelineTrial):
            trained = train(cls, reporting_period=dp.Batch(2))
            self.near(trained, single_batch.weights)
            self.assertEqual(
                [2, 4, 6], [at for at, _ in trained.train.get_metrics("training", "loss")]
            )
            calls = {EngineTrial: 24, ByHand: 24, PipelineTrial: 6}[cls]
            self.assertEqual(calls, len(trained.trial.calls))

    def test_reports_means_of_micro_batches(self):
        single_batch = run(NetTrial, max_length=dp.Batch(6), reporting_period=dp.Batch(6))
        trained = train(EngineTrial, reporting_period=dp.Batch(6))
        for group, name in (("training", "loss"), ("validation", "error")):
            [(_, expected)], [(steps, found)] = (
                single_batch.train.get_metrics(group, name),
                trained.train.get_metrics(group, name),
            )
            self.assertEqual(6, steps)
            self.assertAlmostEqual(expected, found, places=5)
        [(_, batches)] = trained.train.get_metrics("validation", "batches")
        [(_, counted)] = trained.train.get_metrics("validation", "records")
        self.assertEqual((6, 96), (batches, counted))

    def test_epoch_has_as_many_steps_as_the_data_fills(self):
        trained = train(EngineTrial, max_length=dp.Epoch(2))
        self.assertEqual((12, [(0, 5), (1, 6)]), (trained.steps, trained.trial.calls[23:25]))

    def test_resumed_run_equals_uninterrupted_run(self):
        uninterrupted = train(NoisyTrial, max_length=dp.Batch(11))
        first = train(NoisyTrial, max_length=dp.Batch(11), preempt_at=8)
        self.assertEqual((8, True), (first.steps, first.preempt.acknowledged))
        second = train(
            NoisyTrial,
            max_length=dp.Batch(11),
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
        )
        for name, weights in uninterrupted.weights.items():
            self.assertTrue(torch.equal(weights, second.weights[name]), name)
        self.assertEqual(
            uninterrupted.train.get_metrics("training", "loss"),
            second.train.get_metrics("training", "loss"),
        )

    def test_checkpoint_has_expected_files(self):
        trained = train(EngineTrial)
        names = files_of(trained)
        for name in (
            "latest",
            "load_data.json",
            "model0/model_states.pt",
            "model0/optim_states_0.pt",
            "rank_0.safetensors",
            "state.json",
            "training.safetensors",
        ):
            self.assertIn(name, names)
        folder = os.path.join(trained.storage, trained.last_uuid)
        with open(f"{folder}/load_data.json", encoding="utf-8") as file:
            self.assertEqual("DeepSpeedTrial", json.load(file)["trial_type"])
        with self.assertRaisesRegex(CheckpointError, "load_checkpoint"):
            dp.load_trial_from_checkpoint_path(folder)

    def test_warm_start_counts_from_zero_with_its_own_learning_rate(self):
        first = train(NoisyTrial, max_length=dp.Batch(4), trial_id=1)
        second = train(
            NoisyTrial,
            max_length=dp.Batch(1),
            trial_id=2,
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
        )
        self.assertEqual(1, second.steps)
        self.assertEqual(1, second.trial.net.schedule.last_epoch)

    def test_rejects_checkpoint_of_another_engine(self):
        first = train(EngineTrial)
        os.remove(os.path.join(first.storage, first.last_uuid, "manifest.json"))
        os.remove(os.path.join(first.storage, first.last_uuid, "model0/optim_states_0.pt"))
        with self.assertRaises(CheckpointError):
            train(EngineTrial, storage=first.storage, latest_checkpoint=first.last_uuid)

    def test_saves_callback_state(self):
        class Counts(dp.PyTorchCallback):
            def __init__(self):
                self.reports = 0

            def on_training_workload_end(self, avg_metrics, batch_metrics):
                self.reports += 1

            def state_dict(self):
                return {"reports": self.reports}

            def load_state_dict(self, state):
                self.reports = state["reports"]

        first = train(EngineTrial, reporting_period=dp.Batch(2), callbacks={"counts": Counts()})
        counts = Counts()
        train(
            EngineTrial,
            reporting_period=dp.Batch(2),
            callbacks={"counts": counts},
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
            max_length=dp.Batch(10),
        )
        self.assertEqual(5, counts.reports)

    def test_rejects_unsupported_calls_and_sizes(self):
        class Without(EngineTrial):
            wraps = False

            def __init__(self, context):
                super().__init__(context)
                context.wrap_model(self.net)

        class Large(EngineTrial):
            sizes = (4, 30)

        for cls, kind, words in (
            (Without, RuntimeError, "wrap_model_engine"),
            (Large, ValueError, "too small for one step"),
        ):
            with self.assertRaisesRegex(kind, words):
                train(cls)
        Without.__init__ = EngineTrial.__init__
        with self.assertRaisesRegex(RuntimeError, "wrapped no engine"):
            train(Without)
        with self.assertRaisesRegex(ValueError, "optimizations.strategy.*ZeRO"):
            train(EngineTrial, config={"optimizations": {"strategy": "local_sgd"}})

    def test_middle_stage_reads_and_reports_nothing(self):
        class Middle:
            def get_pipe_parallel_rank(self):
                return 1

            def get_pipe_parallel_world_size(self):
                return 3

            def get_data_parallel_rank(self):
                return 4

            def get_data_parallel_world_size(self):
                return 5

        self.assertEqual(
            deepspeed.ModelParallelUnit(4, 5, False, False), deepspeed.make_deepspeed_mpu(Middle())
        )


class ConfigTest(unittest.TestCase):
    def test_hyperparameters_override_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/ds.json", "w", encoding="utf-8") as file:
                json.dump({"a": 1, "zero": {"stage": 1, "offload": True}}, file)
            hparams = {
                "deepspeed_config": "ds.json",
                "overwrite_deepspeed_args": {"zero": {"stage": 2}, "b": [1]},
            }
            self.assertEqual(
                {"a": 1, "b": [1], "zero": {"stage": 2, "offload": True}},
                deepspeed.get_ds_config_from_hparams(hparams, folder),
            )
        with self.assertRaisesRegex(ValueError, "deepspeed_config is missing"):
            deepspeed.get_ds_config_from_hparams({})


class TwoRanksTest(Case):
    @classmethod
    def setUpClass(cls):
        cls.storage = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.results = run_on_two_ranks(["engines", "engines_resumed"], cls.storage)

    def test_two_ranks_train_to_the_weights_of_one(self):
        one_rank = train(EngineTrial, max_length=dp.Batch(10), reporting_period=dp.Batch(5))
        for results in self.results["engines"]:
            for name, weights in results["weights"].items():
                torch.testing.assert_close(
                    torch.tensor(weights), one_rank.weights[name], rtol=1e-4, atol=1e-6
                )
        reports = [
            (group, steps, metrics["loss" if group == "training" else "error"])
            for group, steps, metrics in one_rank.train.reports
        ]
        for (group, steps, value), results in zip(reports, self.results["engines"][0]["reports"]):
            self.assertEqual([group, steps], results[:2])
            self.assertAlmostEqual(
                value, results[2]["loss" if group == "training" else "error"], places=5
            )

    def test_each_rank_saves_and_loads_its_part(self):
        uninterrupted, resumed = self.results["engines"], self.results["engines_resumed"]
        for rank in range(2):
            self.assertEqual(uninterrupted[rank]["weights"], resumed[rank]["weights"])
            self.assertEqual(10, resumed[rank]["steps"])


if __name__ == "__main__":
    unittest.main()
