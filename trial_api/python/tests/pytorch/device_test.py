"""Which device a slot is."""

import os
import unittest
from unittest import mock

import torch

from det.pytorch import _ranks, init


class DeviceTest(unittest.TestCase):
    def told(self, gpus=False, version=None, **variables):
        env = {name: value for name, value in variables.items() if value is not None}
        cuda = mock.patch.multiple(
            torch.cuda, is_available=lambda: gpus, set_device=lambda device: None
        )
        known = {"DET_SLOT_TYPE", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"}
        with mock.patch.dict(os.environ), cuda, mock.patch.object(torch.version, "cuda", version):
            for name in known:
                os.environ.pop(name, None)
            os.environ.update(env)
            return _ranks.choose_device()

    def test_the_gpu_of_the_local_rank_unless_slots_are_cores(self):
        for slots in (None, "cuda", "rocm"):
            device = self.told(True, DET_SLOT_TYPE=slots, LOCAL_RANK="2")
            self.assertEqual(torch.device("cuda", 2), device)
        self.assertEqual("cpu", self.told(True, DET_SLOT_TYPE="cpu").type)
        self.assertEqual("cpu", self.told(False, DET_SLOT_TYPE="cpu").type)
        self.assertEqual("cpu", self.told(False).type)  # Off the cluster.

    def test_a_slot_whose_gpu_torch_does_not_see_is_an_error(self):
        for slots in ("cuda", "rocm"):
            with self.assertRaisesRegex(
                RuntimeError, f"DET_SLOT_TYPE is {slots}.*torch .* without .*install"
            ):
                self.told(False, DET_SLOT_TYPE=slots)
        with self.assertRaisesRegex(RuntimeError, "DET_SLOT_TYPE is cuda.*CUDA 12.1.*GPU-7.*driver"):
            self.told(False, "12.1", DET_SLOT_TYPE="cuda", CUDA_VISIBLE_DEVICES="GPU-7")
        with mock.patch.dict(os.environ, DET_SLOT_TYPE="cuda"):
            with mock.patch.object(torch.cuda, "is_available", lambda: False):
                with self.assertRaisesRegex(RuntimeError, "sees none"), init(hparams={}):
                    pass


if __name__ == "__main__":
    unittest.main()
