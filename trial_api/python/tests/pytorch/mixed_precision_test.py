"""`optimizations.mixed_precision`."""

import unittest
import warnings

import torch
from det import pytorch as dp
from det.pytorch.distributed import optimizations
from det.pytorch.trial.experimental_context import PyTorchExperimentalContext
from trials import NetTrial, run

GPU, CPU = torch.device("cuda"), torch.device("cpu")


def parse(precision, **more):
    return optimizations.parse_optimizations(
        {"optimizations": {"mixed_precision": precision, **more}}
    )


def watched():
    """A Trial, and what its net computed in: (in training mode, type)."""
    seen = set()

    class Watched(NetTrial):
        def loss(self, batch):
            seen.add((self.net.training, self.net(batch[0]).dtype))
            return super().loss(batch)

    return Watched, seen


class TrainTest(unittest.TestCase):
    def test_applies_mixed_precision_of_the_config(self):
        for precision, kind in (
            ("O0", torch.float32),
            ("O1", torch.bfloat16),
            ("O3", torch.bfloat16),
            ("bfloat16", torch.bfloat16),
        ):
            with self.subTest(precision):
                cls, seen = watched()
                result = run(cls, optimizations={"mixed_precision": precision})
                self.assertEqual(seen, {(True, kind), (False, kind)})
                self.assertEqual({t.dtype for t in result.weights.values()}, {torch.float32})
                self.assertLess(result.train.get_metrics("validation", "error")[-1][1], 1)

    def test_resumed_run_equals_uninterrupted_run(self):
        options = {"max_length": dp.Batch(20), "optimizations": {"mixed_precision": "bfloat16"}}
        uninterrupted = run(NetTrial, **options)
        first = run(NetTrial, preempt_at=7, **options)
        second = run(NetTrial, storage=first.storage, latest_checkpoint=first.last_uuid, **options)
        self.assertEqual(first.steps, 7)
        for name, tensor in uninterrupted.weights.items():
            self.assertTrue(torch.equal(tensor, second.weights[name]), name)

    def test_rejects_float16_on_cpu_slots_before_the_trial_is_created(self):
        created_with = []
        with self.assertRaisesRegex(ValueError, "float16, .* needs GPUs, .*: choose bfloat16"):
            run(created_with.append, optimizations={"mixed_precision": "float16"})
        self.assertEqual(created_with, [])

    def test_rejects_second_mixed_precision(self):
        class Amp(NetTrial):
            def __init__(self, context):
                context.experimental.use_amp()

        class Scaler(NetTrial):
            def __init__(self, context):
                context.wrap_scaler(object())

        class Steps(NetTrial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.context.step_optimizer(self.sgd, scaler=object())

        for cls, name in ((Amp, "use_amp"), (Scaler, "wrap_scaler"), (Steps, "a scaler")):
            words = f"mixed_precision .* is O1, and the Trial calls .*{name}.*: remove the call"
            with self.assertRaisesRegex(RuntimeError, words):
                run(cls, optimizations={"mixed_precision": "O1"})


class ReadTest(unittest.TestCase):
    def test_dtype_depends_on_the_slots(self):
        for precision, on_gpu, on_cpu in (
            ("O0", None, None),
            ("O1", torch.float16, torch.bfloat16),
            ("O2", torch.float16, torch.bfloat16),
            ("float16", torch.float16, torch.float16),
            ("bfloat16", torch.bfloat16, torch.bfloat16),
        ):
            self.assertEqual(on_gpu, parse(precision).autocast_dtype(GPU))
            self.assertEqual(on_cpu, parse(precision).autocast_dtype(CPU))

    def test_scales_loss_only_for_float16_on_gpus(self):
        with warnings.catch_warnings():  # There is no GPU here.
            warnings.simplefilter("ignore")
            scaler = PyTorchExperimentalContext(GPU, parse("O1")).scaler
        self.assertIsInstance(scaler, getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler))
        self.assertIsNone(PyTorchExperimentalContext(GPU, parse("bfloat16")).scaler)
        self.assertIsNone(PyTorchExperimentalContext(CPU, parse("O1")).scaler)

    def test_rejects_unsupported_precision(self):
        with self.assertRaisesRegex(ValueError, "mixed_precision is 'half': must be one of O0, "):
            parse("half")
        parse("O1", strategy="parameter_server").check(CPU)
        with self.assertRaisesRegex(ValueError, "parameter_server does not .*: choose bfloat16"):
            parse("O1", strategy="parameter_server").check(GPU)


if __name__ == "__main__":
    unittest.main()
