"""Errors and warnings for mistakes of scripts, and support for older scripts."""

import contextlib
import io
import pathlib
import types
import unittest

import torch
from det import pytorch as dp
from trials import NetTrial, run


def stderr_of(trial, **options):
    """Returns what a short run writes to stderr."""
    with contextlib.redirect_stderr(io.StringIO()) as output:
        run(trial, max_length=dp.Batch(2), **options)
    return output.getvalue()


class ErrorsTest(unittest.TestCase):
    def test_rejects_lengths_and_periods_without_unit(self):
        for name, value, words in (
            ("max_length", 5, r"max_length is 5: .* for example Batch\(5\)"),
            ("max_length", {"epochs": 1}, r"max_length is {'epochs': 1}: must be .* Epoch"),
            ("validation_period", "epochs", "validation_period is 'epochs': must be"),
            ("checkpoint_period", 1.5, "checkpoint_period is 1.5: must be"),
            ("reporting_period", True, "reporting_period is True: must be"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                run(NetTrial, **{name: value})

    def test_rejects_configs_that_are_not_dictionaries(self):
        for name in ("exp_conf", "hparams"):
            with self.assertRaisesRegex(TypeError, f"{name} is 'const.yaml': must be a dictionary"):
                with dp.init(**{name: "const.yaml"}):
                    pass

    def test_rejects_unknown_optimizations(self):
        with self.assertRaisesRegex(
            ValueError, "unknown field optimizations.agregation_frequency; .* aggreg"
        ):
            run(NetTrial, optimizations={"agregation_frequency": 2})

    def test_rejects_callbacks_without_names(self):
        class Listed(NetTrial):
            def build_callbacks(self):
                return [dp.PyTorchCallback()]

        with self.assertRaisesRegex(TypeError, r"build_callbacks\(\) returned a list: .* by name"):
            with dp.init(hparams={"global_batch_size": 4}, exp_conf={}) as context:
                dp.Trainer(Listed(context), context).fit(max_length=dp.Batch(1))

    def test_rejects_step_of_an_optimizer_that_is_not_wrapped(self):
        class Other(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                self.sgd = torch.optim.SGD(self.net.parameters(), 0.1)

        with self.assertRaisesRegex(ValueError, r"takes what wrap_optimizer\(\) returned"):
            run(Other)

    def test_rejects_dataset_without_random_access(self):
        with self.assertRaisesRegex(TypeError, "data set of type generator: it must have"):
            dp.DataLoader((number for number in range(8)), 4)

    def test_rejects_invalid_models_schedulers_and_losses(self):
        class Twice(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.wrap_model(self.net)

        class Schedules(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                context.wrap_lr_scheduler(0.1, dp.LRScheduler.StepMode.STEP_EVERY_BATCH)

        class Loses(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.backward(self.loss(batch).item())

        for trial, error, words in (
            (Twice, ValueError, r"wrap_model\(\) was called twice with the same model"),
            (Schedules, TypeError, r"0.1 is not a learning-rate scheduler: it has no step\(\)"),
            (Loses, TypeError, r"the loss is [0-9.]+: backward\(\) takes a tensor"),
        ):
            with self.assertRaisesRegex(error, words):
                run(trial)

    def test_rejects_clip_grads_that_is_not_callable(self):
        class Clips(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.backward(self.loss(batch))
                self.context.step_optimizer(self.sgd, clip_grads=1.0)

        with self.assertRaisesRegex(TypeError, "clip_grads is 1.0: must be a function"):
            run(Clips)

    def test_rejects_invalid_reducers_before_training(self):
        for given, words in (
            ({"error": max}, "returned <built-in function max> for error: .*wrap_reducer"),
            ("AVG", "returned 'AVG' for all metrics: return a det.pytorch.Reducer"),
        ):

            class Reduces(NetTrial):
                def train_batch(self, batch, epoch_idx, batch_idx):
                    raise AssertionError("it trains")

                def evaluation_reducer(self):
                    return given

            with self.assertRaisesRegex(TypeError, words):
                run(Reduces)


class Count(dp.MetricReducer):
    def __init__(self):
        self.count = 0

    def reset(self):
        self.count = 0

    def per_slot_reduce(self):
        return self.count

    def cross_slot_reduce(self, per_slot_metrics):
        return sum(per_slot_metrics)


class CompatibilityTest(unittest.TestCase):
    """Unusual code that is supported."""

    def test_reducers_may_depend_on_the_validation_data(self):
        class Late(NetTrial):
            def build_validation_data_loader(self):
                self.names = ["error"]
                return super().build_validation_data_loader()

            def evaluation_reducer(self):
                return types.MappingProxyType(dict.fromkeys(self.names, dp.Reducer.MAX))

        self.assertEqual(
            1, len(run(Late, max_length=dp.Batch(2)).train.get_metrics("validation", "error"))
        )

    def test_reducer_keeps_values_until_on_validation_end(self):
        seen = []

        class Counts(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                self.count = context.wrap_reducer(Count(), "count", for_training=False)

            def evaluate_batch(self, batch, batch_idx):
                self.count.count += len(batch[0])
                return super().evaluate_batch(batch, batch_idx)

            def build_callbacks(self):
                trial = self

                class Looks(dp.PyTorchCallback):
                    def on_validation_end(self, metrics):
                        seen.append(trial.count.count)

                return {"looks": Looks()}

        run(Counts, max_length=dp.Batch(2))
        self.assertEqual([Counts.validation_records], seen)

    def test_callback_may_add_files_with_names_like_those_of_ranks(self):
        class Adds(dp.PyTorchCallback):
            def on_checkpoint_write_end(self, checkpoint_dir):
                (pathlib.Path(checkpoint_dir) / "rank_embeddings.safetensors").write_text("mine")

        first = run(NetTrial, preempt_at=3, callbacks={"adds": Adds()})
        second = run(NetTrial, storage=first.storage, latest_checkpoint=first.last_uuid)
        for name, tensor in run(NetTrial).weights.items():
            self.assertTrue(torch.equal(tensor, second.weights[name]), name)


class WarningsTest(unittest.TestCase):
    def test_warns_about_callback_method_that_is_never_called(self):
        class Typing(dp.PyTorchCallback):
            def on_train_epoch_end(self, epoch_idx):
                raise AssertionError("it was called")

        output = stderr_of(NetTrial, callbacks={"mine": Typing()})
        self.assertEqual(
            1, output.count("on_train_epoch_end() of the callback 'mine' is never called")
        )
        self.assertIn("did you mean on_training_epoch_end()?", output)

    def test_warns_once_about_each_metric_that_is_not_reported(self):
        class Several(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                super().train_batch(batch, epoch_idx, batch_idx)
                return {"loss": 1.0, "each row's": ["a", 1]}

            def evaluate_batch(self, batch, batch_idx):
                return {"error": 1.0, "rows' names": "a b"}

            def evaluation_reducer(self):
                return {"eror": dp.Reducer.MAX}

        output = stderr_of(Several, reporting_period=dp.Batch(1), validation_period=dp.Batch(1))
        for words in (
            'metric "each row\'s" of train_batch() is neither a number nor an array of numbers, and is not '
            "reported",
            'metric "rows\' names" of evaluate_batch() is neither a number nor an array of numbers, and is '
            "not reported",
            "metric 'eror' of evaluation_reducer() is not returned by evaluate_batch()",
        ):
            self.assertEqual(1, output.count(words), words)

    def test_logs_when_training_is_already_finished(self):
        first = run(NetTrial, max_length=dp.Batch(4))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            options = {"storage": first.storage, "latest_checkpoint": first.last_uuid}
            run(NetTrial, max_length=dp.Batch(3), **options)
        self.assertIn("training is already finished: Batch(3) is reached", output.getvalue())


class DeprecatedUsageTest(unittest.TestCase):
    def test_supports_on_training_epoch_start_without_argument(self):
        class Older(dp.PyTorchCallback):
            seen = 0

            def on_training_epoch_start(self):
                self.seen += 1

        older = Older()
        run(NetTrial, max_length=dp.Epoch(2), callbacks={"older": older})
        self.assertEqual(2, older.seen)

    def test_applies_aggregation_frequency_of_the_config(self):
        def steps(**options):
            trial = run(NetTrial, max_length=dp.Batch(8), **options).trial
            return trial.context._optimizer_steps[id(trial.sgd)]

        results = {"aggregation_frequency": 4}
        self.assertEqual(2, steps(optimizations=results, frequency=None))
        self.assertEqual(4, steps(optimizations=results, frequency=2))


class SharedReducerTest(unittest.TestCase):
    def test_separates_training_and_validation_values_of_a_reducer(self):
        class Counting(NetTrial):
            def __init__(self, context):
                super().__init__(context)
                self.seen = context.wrap_reducer(len, name="seen")

            def train_batch(self, batch, epoch_idx, batch_idx):
                self.seen.update(1)
                return super().train_batch(batch, epoch_idx, batch_idx)

            def evaluate_batch(self, batch, batch_idx):
                self.seen.update(1)
                return {}

        result = run(Counting, max_length=dp.Batch(6), validation_period=dp.Batch(2))
        self.assertEqual([(2, 2), (4, 2), (6, 2)], result.train.get_metrics("training", "seen"))
        self.assertEqual([(2, 5), (4, 5), (6, 5)], result.train.get_metrics("validation", "seen"))


if __name__ == "__main__":
    unittest.main()
