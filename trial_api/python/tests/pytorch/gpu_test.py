"""Training on a GPU. Cases are skipped if there is no GPU; those of two GPUs need two."""

import os
import tempfile
import unittest
from unittest import mock

import scenarios
import torch
import torch.distributed as dist
from det import pytorch as dp
from ranks_test import run_on_ranks
from torch import nn
from trials import NetTrial, run


class Convolves(NetTrial):
    """A model with convolutions, for which GPUs have libraries of their own.

    Attributes:
        computed: The device and the dtype of each forward pass.
    """

    computed = set()

    def __init__(self, context):
        self.context = context
        net = nn.Sequential(nn.Conv1d(1, 16, 2), nn.Tanh(), nn.Flatten(), nn.Linear(48, 1))
        self.net = context.wrap_model(net)
        self.sgd = context.wrap_optimizer(torch.optim.Adam(self.net.parameters(), 0.01))

    def loss(self, batch):
        out = self.net(batch[0].unsqueeze(1))
        self.computed.add((out.device.type, out.dtype))
        return torch.mean((out.float() - batch[1]) ** 2)


class GpuTest(unittest.TestCase):
    def setUp(self):
        if not torch.cuda.is_available():
            print("skipped: no GPU")
            self.skipTest("no GPU")

    def train(self, slots="cuda", precision="O0", kind=torch.float32, **options):
        """Returns the error of the last validation."""
        Convolves.computed = set()
        options.setdefault("max_length", dp.Batch(50))
        with mock.patch.dict(os.environ, DET_SLOT_TYPE=slots):
            result = run(Convolves, optimizations={"mixed_precision": precision}, **options)
        if "preempt_at" not in options:
            self.assertEqual({(slots, kind)}, Convolves.computed)
            self.error = result.train.get_metrics("validation", "error")[-1][1]
        return result

    def assertLearned(self, reference, within):
        self.assertLess(abs(self.error - reference), within * reference)

    def test_gpu_trains_to_the_weights_of_a_cpu(self):
        self.train("cpu")
        on_cpu = self.error
        self.train()
        self.assertLearned(on_cpu, 1e-3)

    def test_mixed_precision_computes_in_float16_and_learns(self):
        self.train()
        float32_error = self.error
        for precision, kind in (
            ("O1", torch.float16),
            ("float16", torch.float16),
            ("bfloat16", torch.bfloat16),
        ):
            with self.subTest(precision):
                self.train("cuda", precision, kind)
                self.assertLearned(float32_error, 0.1)

    def test_resumes_on_a_gpu_and_on_a_cpu(self):
        self.train()
        uninterrupted = self.error
        first = self.train(preempt_at=20)
        self.assertEqual(20, first.steps)
        for slots in ("cuda", "cpu"):
            with self.subTest(slots):
                self.train(slots, storage=first.storage, latest_checkpoint=first.last_uuid)
                self.assertLearned(uninterrupted, 1e-3)

    def test_supports_several_nccl_groups_on_one_device(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            store = dist.FileStore(os.path.join(folder, "store"), 1)
            dist.init_process_group("nccl", store=store, rank=0, world_size=1)
            try:
                for group in (None, dist.new_group([0]), dist.new_group([0])):
                    numbers = torch.arange(1000.0, device="cuda")
                    dist.all_reduce(numbers, group=group)
                    self.assertTrue(torch.equal(numbers.cpu(), torch.arange(1000.0)))
            finally:
                dist.destroy_process_group()

    def test_two_gpus_train_to_the_weights_of_one(self):
        if torch.cuda.device_count() < 2:
            print("skipped: no GPU beside the first")
            self.skipTest("no GPU beside the first")
        with mock.patch.dict(os.environ, DET_SLOT_TYPE="cuda"):
            one = scenarios.fifty_steps()
            with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
                two = run_on_ranks(2, ["fifty_steps"], folder)["fifty_steps"]
        for name, weights in one["weights"].items():
            expected, got = torch.tensor(weights), torch.tensor(two[0]["weights"][name])
            self.assertTrue(torch.allclose(expected, got, rtol=1e-3, atol=1e-4), name)


if __name__ == "__main__":
    unittest.main()
