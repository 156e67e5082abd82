"""Training on one rank with the Trainer and real checkpoints."""

import contextlib
import fractions
import io
import json
import math
import os
import pathlib
import tempfile
import unittest

import det
import torch
from det import core
from det import pytorch as dp
from det.core import _json
from trials import NetTrial, NoisyTrial, RecordingTrain, run


class ResumeTest(unittest.TestCase):
    def assert_same(self, result, other):
        for name, tensor in result.weights.items():
            self.assertTrue(torch.equal(tensor, other.weights[name]), name)

    def test_resumed_run_equals_uninterrupted_run_to_the_last_bit(self):
        # Inside an epoch, between two reports and between the two batches of one step.
        options = {
            "max_length": dp.Batch(30),
            "reporting_period": dp.Batch(5),
            "validation_period": dp.Epoch(1),
            "frequency": 2,
        }
        uninterrupted = run(NoisyTrial, **options)
        first = run(NoisyTrial, preempt_at=9, **options)
        self.assertEqual(first.steps, 9)
        self.assertTrue(first.preempt.acknowledged)
        second = run(
            NoisyTrial, storage=first.storage, latest_checkpoint=first.last_uuid, **options
        )
        self.assertEqual(second.steps, 30)
        self.assert_same(uninterrupted, second)
        self.assertEqual(uninterrupted.train.reports, first.train.reports + second.train.reports)

    def test_does_due_work_when_resumed_after_preemption_at_the_end_of_an_epoch(self):
        options = {"max_length": dp.Epoch(3), "validation_period": dp.Epoch(1)}
        uninterrupted = run(NoisyTrial, **options)
        first = run(NoisyTrial, preempt_at=7, **options)
        self.assertEqual(first.train.get_metrics("validation", "error"), [])
        second = run(
            NoisyTrial, storage=first.storage, latest_checkpoint=first.last_uuid, **options
        )
        self.assert_same(uninterrupted, second)
        self.assertEqual(uninterrupted.train.reports, first.train.reports + second.train.reports)

    def test_finishes_when_preempted_in_the_last_batch(self):
        result = run(NetTrial, preempt_at=20)
        self.assertFalse(result.preempt.acknowledged)
        self.assertEqual(len(result.train.get_metrics("validation", "error")), 1)

    def test_warm_start_loads_weights_and_counts_from_zero(self):
        first = run(NetTrial, trial_id=1)
        seen = []

        def lower_rate(trial):
            for group in trial.sgd.param_groups:
                group["lr"] = 0.0

        warm = run(
            NetTrial,
            trial_id=2,
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
            max_length=dp.Batch(3),
            prepare=lower_rate,
            callbacks={"startup": _Startup(seen)},
        )
        self.assertEqual(warm.steps, 3)
        self.assertEqual(seen, [(0, first.last_uuid)])
        self.assert_same(first, warm)  # The warm start uses its own learning rate, which is 0.

    def test_rejects_checkpoint_of_another_model(self):
        class Other(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.wrap_model(torch.nn.Linear(1, 1))

        first = run(NetTrial)
        with self.assertRaisesRegex(det.CheckpointError, "has 1 models, and this trial wraps 2"):
            run(Other, storage=first.storage, latest_checkpoint=first.last_uuid)

    def test_resumes_at_the_same_record_with_another_batch_size(self):
        first = run(NetTrial, preempt_at=4)  # 64 records of 100.
        second = run(
            NetTrial,
            batch_size=32,
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
            max_length=dp.Batch(6),  # The rest of the epoch in 2 batches.
        )
        self.assertEqual(second.trial.context.current_train_epoch(), 1)


class _Startup(dp.PyTorchCallback):
    def __init__(self, seen):
        self.seen = seen

    def on_trial_startup(self, first_batch_idx, checkpoint_uuid):
        self.seen.append((first_batch_idx, checkpoint_uuid))


class _Recorder(dp.PyTorchCallback):
    """Records every call."""

    def __init__(self):
        self.calls = []

    def __getattribute__(self, name):
        if name.startswith("on_") and name != "on_checkpoint_upload_end":
            return lambda *arguments: self.calls.append(name[3:])
        return super().__getattribute__(name)


class CallbackTest(unittest.TestCase):
    def test_calls_callbacks_in_order(self):
        recorder = _Recorder()
        run(NetTrial, batch_size=50, max_length=dp.Epoch(1), callbacks={"recorder": recorder})
        self.assertEqual(
            recorder.calls,
            """trial_startup training_start training_epoch_start training_epoch_end
            training_workload_end validation_start validation_epoch_start validation_epoch_end
            validation_end checkpoint_save_start checkpoint_write_end checkpoint_end
            trial_shutdown""".split(),
        )

    def test_saves_callback_state(self):
        class Counter(dp.PyTorchCallback):
            count = 0

            def on_training_workload_end(self, avg_metrics, batch_metrics):
                self.count += len(batch_metrics)

            def state_dict(self):
                return {"count": self.count, "inf": math.inf, 3: ("a", {torch.float32})}

            def load_state_dict(self, state_dict):
                assert state_dict == {"count": 20, "inf": math.inf, 3: ("a", {torch.float32})}
                self.count = state_dict["count"]

        first = run(NetTrial, callbacks={"counter": Counter()})
        counter = Counter()
        run(
            NetTrial,
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
            max_length=dp.Batch(25),
            callbacks={"counter": counter},
        )
        self.assertEqual(counter.count, 25)

    def test_callbacks_get_values_of_numpy(self):
        import numpy

        seen = {}

        class Values(dp.PyTorchCallback):
            def on_training_workload_end(self, avg_metrics, batch_metrics):
                seen.update(means=avg_metrics, batches=batch_metrics)

            def on_validation_epoch_end(self, outputs):
                seen.update(outputs=outputs)

            def on_validation_end(self, metrics):
                seen.update(metrics=dict(metrics))
                metrics["added"] = metrics["error"] * 2

        class Several(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.wrap_reducer(lambda values: torch.ones(2), name="vector")

            def train_batch(self, batch, epoch_idx, batch_idx):
                metrics = super().train_batch(batch, epoch_idx, batch_idx)
                rows = torch.tensor([[1, 2]])
                return {**metrics, "plain": 0.5, "rows": rows, "half": rows.bfloat16()}

            def evaluate_batch(self, batch, batch_idx):
                metrics = super().evaluate_batch(batch, batch_idx)
                return {**metrics, "name": "x", "count": torch.tensor([3])}

        result = run(Several, max_length=dp.Batch(7), callbacks={"values": Values()})
        means, [first, *rest] = seen["means"], seen["batches"]
        self.assertEqual(len(rest), 6)
        self.assertIs(type(means["loss"]), float)
        self.assertEqual((means["batches"], means["epochs"]), (7, 1))
        self.assertIsInstance(means["vector"], numpy.ndarray)
        for value, kind, shape in (
            (first["loss"], "float32", ()),
            (first["rows"], "int64", (1, 2)),
            (first["half"], "float32", (1, 2)),
            (seen["outputs"][0]["error"], "float32", ()),
            (seen["outputs"][0]["count"], "int64", (1,)),
            (seen["metrics"]["vector"], "float32", (2,)),
        ):
            self.assertIsInstance(value, numpy.ndarray)
            self.assertEqual((str(value.dtype), value.shape), (kind, shape))
        self.assertIs(type(first["plain"]), float)
        self.assertEqual(seen["outputs"][0]["name"], "x")
        self.assertIsInstance(seen["metrics"]["error"], numpy.floating)
        [(_, added)] = result.train.get_metrics("validation", "added")
        self.assertEqual(added, result.train.get_metrics("validation", "error")[0][1] * 2)

    def test_callbacks_get_values_of_numpy_in_a_resumed_run(self):
        import numpy

        kinds = []

        class Values(dp.PyTorchCallback):
            def on_training_workload_end(self, avg_metrics, batch_metrics):
                kinds.extend(type(metrics["loss"]) for metrics in batch_metrics)

        first = run(NetTrial, preempt_at=3)
        run(
            NetTrial,
            storage=first.storage,
            latest_checkpoint=first.last_uuid,
            max_length=dp.Batch(5),
            callbacks={"values": Values()},
        )
        self.assertEqual(kinds, [numpy.ndarray] * 5)

    def test_rejects_callback_state_that_cannot_be_saved_by_its_place(self):
        class Bad(dp.PyTorchCallback):
            def state_dict(self):
                return {"thing": object()}

        with self.assertRaisesRegex(TypeError, r"training\.callbacks\.bad\.thing is a builtins"):
            run(NetTrial, callbacks={"bad": Bad()})

    def test_failed_save_ends_training(self):
        class Full(dp.PyTorchCallback):
            def on_checkpoint_write_end(self, checkpoint_dir):
                raise OSError(28, "No space left on device")

        with self.assertRaisesRegex(Exception, "No space left"):
            run(NetTrial, checkpoint_period=dp.Batch(5), callbacks={"full": Full()})


class ScheduleTest(unittest.TestCase):
    def test_checkpoint_policy_selects_which_validations_are_saved(self):
        for policy, best, saved in (("all", False, 4), ("best", False, 1), ("none", True, 1)):
            with self.subTest(policy=policy, best=best):
                result = run(
                    NetTrial,
                    train=RecordingTrain(best=best),
                    validation_period=dp.Batch(5),
                    checkpoint_policy=policy,
                )
                self.assertEqual(len(result.uuids), saved)

    def test_does_work_at_the_counts_of_a_container(self):
        result = run(
            NetTrial,
            validation_period=dp.Batch([3, 11]),
            checkpoint_period=dp.Epoch({1}),
            checkpoint_policy="none",
            step_zero_validation=True,
        )
        steps = [steps for steps, _ in result.train.get_metrics("validation", "error")]
        self.assertEqual(steps, [0, 3, 11, 20])
        self.assertEqual(len(result.uuids), 2)  # After an epoch, and at the end.

    def test_saves_a_rung_before_reporting_it(self):
        complete = {}

        def look(steps):
            folder = pathlib.Path(storage)
            complete[steps] = len(list(folder.glob("*/manifest.json"))) if folder.exists() else 0

        storage = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")) + "/c"
        rungs = dp.Batch({5})
        original = dp.Trainer._get_rungs
        dp.Trainer._get_rungs = lambda self: rungs
        self.addCleanup(setattr, dp.Trainer, "_get_rungs", original)
        run(NetTrial, train=RecordingTrain(on_validation=look), storage=storage)
        self.assertEqual(complete[5], 1)

    def test_finishes_when_the_trial_requests_to_stop(self):
        class Enough(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.set_stop_requested(batch_idx == 6)
                return super().train_batch(batch, epoch_idx, batch_idx)

        result = run(Enough)
        self.assertEqual(result.steps, 7)
        self.assertEqual([steps for _, steps, _ in result.train.reports], [7, 7])
        self.assertEqual(len(result.uuids), 1)
        self.assertFalse(result.preempt.acknowledged)

    def test_stops_where_a_callback_requests_it(self):
        def make(name, call):
            def method(self, *arguments):
                self.calls += 1
                self.trial.context.set_stop_requested(self.calls == call)

            callback = type("Stopper", (dp.PyTorchCallback,), {name: method, "calls": 0})()
            return callback

        for name, call, steps, validations, saved in (
            ("on_training_start", 1, 0, [], 0),
            ("on_training_epoch_start", 2, 7, [5], 1),
            ("on_training_epoch_end", 1, 7, [5], 1),
            ("on_training_workload_end", 1, 4, [], 1),
            ("on_validation_start", 1, 5, [5], 1),
            ("on_validation_end", 2, 10, [5, 10], 1),
        ):
            with self.subTest(name=name):
                callback = make(name, call)
                result = run(
                    NetTrial,
                    reporting_period=dp.Batch(4),
                    validation_period=dp.Batch(5),
                    checkpoint_policy="none",
                    callbacks={"stopper": callback},
                    prepare=lambda trial: setattr(callback, "trial", trial),
                )
                self.assertEqual(result.steps, steps)
                done = [steps for steps, _ in result.train.get_metrics("validation", "error")]
                self.assertEqual((done, len(result.uuids)), (validations, saved))
                reported = [steps for steps, _ in result.train.get_metrics("training", "loss")]
                self.assertEqual(reported[-1:], [steps] if steps else [])

    def test_test_mode_runs_everything_once(self):
        result = run(NetTrial, test_mode=True)
        self.assertEqual(
            [(g, s) for g, s, _ in result.train.reports], [("training", 1), ("validation", 1)]
        )
        self.assertEqual(len(result.uuids), 1)

    def test_rejects_fit_without_length(self):
        with self.assertRaisesRegex(ValueError, "max_length"):
            run(NetTrial, max_length=None)


class ComputationTest(unittest.TestCase):
    def test_aggregated_batches_equal_one_batch(self):
        class Plain(NetTrial):
            def build_training_data_loader(self):
                loader = super().build_training_data_loader()
                return dp.DataLoader(loader.dataset, loader.batch_size)

        parts = run(Plain, batch_size=5, frequency=4, max_length=dp.Batch(40))
        single_batch = run(Plain, batch_size=20, max_length=dp.Batch(10))
        for name, tensor in single_batch.weights.items():
            torch.testing.assert_close(parts.weights[name], tensor)

    def test_clips_gradients(self):
        class Clipped(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = self.loss(batch) * 1e6
                self.context.backward(loss)
                self.context.step_optimizer(
                    self.sgd, lambda p: torch.nn.utils.clip_grad_norm_(p, 1e-9)
                )
                return loss

        before = run(Clipped, max_length=dp.Batch(1))
        after = run(Clipped, max_length=dp.Batch(5))
        for name, tensor in before.weights.items():
            torch.testing.assert_close(after.weights[name], tensor)

    def test_steps_lr_schedulers_when_due(self):
        mode = dp.LRScheduler.StepMode
        # 7 batches an epoch; 20 batches, 10 steps.
        for step_mode, frequency, expected in (
            (mode.STEP_EVERY_BATCH, 1, 20),
            (mode.STEP_EVERY_BATCH, 3, 6),
            (mode.STEP_EVERY_EPOCH, 1, 2),
            (mode.STEP_EVERY_OPTIMIZER_STEP, 1, 10),
            (mode.MANUAL_STEP, 1, 0),
        ):

            class Scheduled(NetTrial):
                def __init__(self, context):
                    super().__init__(context)
                    schedule = torch.optim.lr_scheduler.LambdaLR(self.sgd, lambda n: 1 / (1 + n))
                    self.schedule = context.wrap_lr_scheduler(schedule, step_mode, frequency)

            with self.subTest(step_mode=step_mode, frequency=frequency):
                result = run(Scheduled, frequency=2)
                self.assertEqual(result.trial.schedule.last_epoch, expected)

    def test_learning_rate_does_not_change_while_gradients_are_aggregated(self):
        mode = dp.LRScheduler.StepMode
        for frequency, aggregation, expected in (
            (1, 1, [1, 2, 3, 4, 5, 6, 7, 8]),
            (1, 2, [1, 1, 3, 3, 5, 5, 7, 7]),
            (1, 3, [1, 1, 1, 4, 4, 4, 7, 7]),
            (2, 3, [1, 1, 1, 2, 2, 2, 4, 4]),
            (3, 2, [1, 1, 1, 1, 2, 2, 3, 3]),
        ):

            class Scheduled(NetTrial):
                rates = []
                optimizer = staticmethod(lambda p: torch.optim.SGD(p, 1.0))

                def __init__(self, context):
                    super().__init__(context)
                    schedule = torch.optim.lr_scheduler.LambdaLR(self.sgd, lambda n: n + 1)
                    context.wrap_lr_scheduler(schedule, mode.STEP_EVERY_BATCH, frequency)

                def train_batch(self, batch, epoch_idx, batch_idx):
                    self.rates.append(self.sgd.param_groups[0]["lr"])
                    return super().train_batch(batch, epoch_idx, batch_idx)

            with self.subTest(frequency=frequency, aggregation=aggregation):
                run(Scheduled, frequency=aggregation, max_length=dp.Batch(8))
                self.assertEqual(Scheduled.rates, expected)

    def test_resumed_lr_scheduler_continues_to_count_steps(self):
        class Scheduled(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                schedule = torch.optim.lr_scheduler.LambdaLR(self.sgd, lambda n: 1 / (1 + n))
                mode = dp.LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP
                self.schedule = context.wrap_lr_scheduler(schedule, mode, 3)

        options = {"max_length": dp.Batch(21)}
        first = run(Scheduled, preempt_at=4, **options)
        second = run(Scheduled, storage=first.storage, latest_checkpoint=first.last_uuid, **options)
        self.assertEqual(second.trial.schedule.last_epoch, 7)

    def test_use_amp_enables_mixed_precision(self):
        kinds = set()

        class Mixed(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.experimental.use_amp()

            def loss(self, batch):
                kinds.add(self.net(batch[0]).dtype)
                return super().loss(batch)

        result = run(Mixed)
        self.assertEqual(kinds, {torch.bfloat16})
        losses = result.train.get_metrics("validation", "error")
        self.assertLess(losses[-1][1], 1)

    def test_reports_nan_and_continues(self):
        class Nan(NetTrial):
            def loss(self, batch):
                return super().loss(batch) * math.nan

        result = run(Nan)
        self.assertEqual(result.steps, 20)
        self.assertTrue(math.isnan(result.train.get_metrics("training", "loss")[-1][1]))
        self.assertTrue(math.isnan(result.train.get_metrics("validation", "error")[-1][1]))

    def test_invalid_hp_exits_with_zero(self):
        class Invalid(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                raise det.InvalidHP("no")

        exits = []
        train = RecordingTrain()
        train.report_early_exit = lambda *results: exits.append(results)
        with self.assertRaises(SystemExit) as raised:
            run(Invalid, train=train)
        self.assertEqual(raised.exception.code or 0, 0)
        self.assertEqual(exits, [(core.EarlyExitReason.INVALID_HP, "no")])


class EvaluationTest(unittest.TestCase):
    def test_reduces_validation_metrics(self):
        class Reduced(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                self.seen = context.wrap_reducer(sum, name="seen")
                self.named = context.wrap_reducer(
                    lambda values: {"first": values[0], "count": len(values)}, for_training=False
                )

            def train_batch(self, batch, epoch_idx, batch_idx):
                self.seen.update(len(batch[0]))
                return super().train_batch(batch, epoch_idx, batch_idx)

            def evaluate_batch(self, batch):  # Older scripts have no index.
                self.seen.update(len(batch[0]))
                self.named.update(7)
                size = float(len(batch[0]))
                mean = batch[1].mean()
                reducers = {"sum": size, "max": size, "min": size}
                return {"mean": mean, "by_batch": size, **reducers}

            def evaluation_reducer(self):
                reducers = {"sum": dp.Reducer.SUM, "max": dp.Reducer.MAX, "min": dp.Reducer.MIN}
                return {"mean": dp.Reducer.WEIGHTED_AVG, **reducers}

        result = run(Reduced, max_length=dp.Epoch(2), reporting_period=dp.Batch(7))
        self.assertEqual(result.train.get_metrics("training", "seen"), [(7, 100), (14, 100)])
        [(_, _, metrics)] = [r for r in result.train.reports if r[0] == "validation"]
        expected = {"sum": 37, "max": 8, "min": 5, "seen": 37, "first": 7, "count": 5}
        expected["by_batch"] = (4 * 8 + 5) / 5
        self.assertEqual({name: metrics[name] for name in expected}, expected)
        from trials import records

        self.assertAlmostEqual(metrics["mean"], records(37, seed=8)[1].mean().item(), places=6)

    def test_warns_once_when_a_reducer_replaces_another_metric(self):
        class Replaced(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                self.mine = context.wrap_reducer(lambda values: 7.0, name="replaced_loss")
                self.other = context.wrap_reducer(
                    lambda values: {"replaced_loss": 8.0}, for_training=False
                )

            def evaluate_batch(self, batch, batch_idx):
                return {"replaced_loss": 1.0}

        with contextlib.redirect_stderr(io.StringIO()) as stderr:
            result = run(Replaced, max_length=dp.Batch(4), validation_period=dp.Batch(2))
        validations = [m["replaced_loss"] for g, _, m in result.train.reports if g == "validation"]
        self.assertEqual([8.0, 8.0], validations)
        warning = (
            "WARNING: metric 'replaced_loss' of a reducer replaces another metric of this name"
        )
        self.assertEqual(1, stderr.getvalue().count(warning), stderr.getvalue())

    def test_validation_metrics_are_means_over_batches(self):
        class Default(NetTrial):
            validation_records = 9
            evaluation_reducer = dp.PyTorchTrial.evaluation_reducer

            def evaluate_batch(self, batch, batch_idx):
                return {"index": batch_idx, "nan": math.nan, "inf": math.inf}

        class Weighted(Default):
            evaluation_reducer = NetTrial.evaluation_reducer

        for cls, expected in ((Default, 0.5), (Weighted, 1 / 9)):
            metrics = run(cls, max_length=dp.Batch(1)).train.reports[-1][2]
            self.assertEqual((metrics["index"], metrics["inf"]), (expected, math.inf))
            self.assertTrue(math.isnan(metrics["nan"]))

    def test_reduces_arrays_of_batches_to_numbers(self):
        class Arrays(NetTrial):
            evaluation_reducer = dp.PyTorchTrial.evaluation_reducer

            def train_batch(self, batch, epoch_idx, batch_idx):
                super().train_batch(batch, epoch_idx, batch_idx)
                return {"rows": torch.tensor([1.0, 3.0])}

            def evaluate_batch(self, batch, batch_idx):
                rows = torch.arange(len(batch[0])) * 2.0  # The last batch is shorter.
                return {"rows": rows, "nested": [[1, 2], [3, batch_idx]], "array": rows.numpy()}

        result = run(Arrays, max_length=dp.Batch(2))
        self.assertEqual(result.train.get_metrics("training", "rows"), [(2, 2.0)])
        metrics = result.train.reports[-1][2]
        self.assertEqual(
            (metrics["rows"], metrics["array"], metrics["nested"]),
            ((4 * 7 + 4) / 5, (4 * 7 + 4) / 5, 2.0),
        )

    def test_reduces_dicts_of_metrics_by_name(self):
        class Nested(NetTrial):
            def evaluate_batch(self, batch, batch_idx):
                first = {"once": [1, 3]} if batch_idx == 0 else {"text": "x"}
                classes = {"cat": torch.tensor(float(batch_idx)), **first}
                return {
                    "error": 1.0,
                    "classes": {"animals": classes, 7: batch_idx},
                    "words": {"a": "b"},
                }

            def evaluation_reducer(self):
                return {"error": dp.Reducer.AVG, "classes": dp.Reducer.MAX}

        with contextlib.redirect_stderr(io.StringIO()) as output:
            result = run(Nested, max_length=dp.Batch(1))
        metrics = result.train.reports[-1][2]
        self.assertEqual(metrics["classes"], {"animals": {"cat": 4.0, "once": 3}, "7": 4})
        self.assertNotIn("words", metrics)
        self.assertIn("'words' of evaluate_batch() is neither", output.getvalue())

    def test_reports_vectors_and_nested_metrics_as_they_are(self):
        class Nested(NetTrial):
            evaluate_batch = dp.PyTorchTrial.evaluate_batch

            def __init__(self, context):
                super().__init__(context)
                context.wrap_reducer(lambda values: torch.tensor([[1, 2]]), name="matrix")
                context.wrap_reducer(lambda values: {"a": {"b": [0.5, {"c": "x"}]}})

            def evaluate_full_dataset(self, data_loader):
                per_class = {"cat": torch.tensor(0.5), "dog": [1, 2]}
                return {"error": 1.0, "vector": torch.tensor([1.0, 2.0]), "per_class": per_class}

        result = run(Nested, max_length=dp.Batch(2))
        for group in ("training", "validation"):
            [metrics] = [metrics for kind, _, metrics in result.train.reports if kind == group]
            sent = json.loads(_json.encode(metrics))
            self.assertEqual((sent["matrix"], sent["a"]), ([[1, 2]], {"b": [0.5, {"c": "x"}]}))
        self.assertEqual(sent["vector"], [1.0, 2.0])
        self.assertEqual(sent["per_class"], {"cat": 0.5, "dog": [1, 2]})

    def test_training_reducers_continue_in_the_next_attempt(self):
        class Counted(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                self.seen = context.wrap_reducer(sum, name="seen", for_validation=False)

            def train_batch(self, batch, epoch_idx, batch_idx):
                self.seen.update(self.of(batch))
                return super().train_batch(batch, epoch_idx, batch_idx)

            @staticmethod
            def of(batch):
                return len(batch[0])

        class Odd(Counted):
            @staticmethod
            def of(batch):
                return fractions.Fraction(len(batch[0]))

        def seen(cls):
            """Returns the results of a run that stops twice between two reports."""
            arguments, results = {"max_length": dp.Batch(12), "reporting_period": dp.Batch(6)}, []
            first = run(cls, preempt_at=2, **arguments)
            arguments.update(storage=first.storage)
            second = run(cls, preempt_at=4, latest_checkpoint=first.last_uuid, **arguments)
            third = run(cls, latest_checkpoint=second.last_uuid, **arguments)
            for result in (first, second, third):
                results += result.train.get_metrics("training", "seen")
            return results

        self.assertEqual(seen(Counted), [(6, 96), (12, 84)])
        with contextlib.redirect_stderr(io.StringIO()) as output:
            self.assertEqual([steps for steps, _ in seen(Odd)], [6, 12])
        self.assertIn("reducers", output.getvalue())
        self.assertIn(
            "a run that resumes from this checkpoint reports without it", output.getvalue()
        )

    def test_evaluates_the_full_dataset(self):
        class Full(NetTrial):
            evaluate_batch = dp.PyTorchTrial.evaluate_batch

            def evaluate_full_dataset(self, data_loader):
                assert not self.net.training
                return {"records": 1, "batches_seen": sum(1 for _ in data_loader)}

        result = run(Full)
        self.assertEqual(result.train.get_metrics("validation", "batches_seen"), [(20, 5)])

    def test_requires_one_evaluation_method(self):
        class Neither(NetTrial):
            evaluate_batch = dp.PyTorchTrial.evaluate_batch

        with self.assertRaisesRegex(TypeError, "overrides neither"):
            run(Neither)
