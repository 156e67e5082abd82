"""Selection of the device."""

import os
import sys
import types
import unittest
from unittest import mock

import torch
from det.pytorch import init
from det.pytorch.distributed import device, process_group, xla


class DeviceTest(unittest.TestCase):
    def choose(self, gpus=False, version=None, **variables):
        env = {name: value for name, value in variables.items() if value is not None}
        cuda = mock.patch.multiple(torch.cuda, is_available=lambda: gpus, set_device=lambda _: None)
        known = {"DET_SLOT_TYPE", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"}
        with mock.patch.dict(os.environ), cuda, mock.patch.object(torch.version, "cuda", version):
            for name in known:
                os.environ.pop(name, None)
            os.environ.update(env)
            return device.choose_device()

    def test_chooses_gpu_of_local_rank_unless_slots_are_cores(self):
        for slots in (None, "cuda", "rocm"):
            device = self.choose(True, DET_SLOT_TYPE=slots, LOCAL_RANK="2")
            self.assertEqual(torch.device("cuda", 2), device)
        self.assertEqual("cpu", self.choose(True, DET_SLOT_TYPE="cpu").type)
        self.assertEqual("cpu", self.choose(False, DET_SLOT_TYPE="cpu").type)
        self.assertEqual("cpu", self.choose(False).type)  # Off the cluster.

    def test_rejects_gpu_slot_when_torch_sees_no_gpu(self):
        for slots in ("cuda", "rocm"):
            with self.assertRaisesRegex(
                RuntimeError, f"DET_SLOT_TYPE is {slots}.*torch .* without .*install"
            ):
                self.choose(False, DET_SLOT_TYPE=slots)
        with self.assertRaisesRegex(
            RuntimeError, "DET_SLOT_TYPE is cuda.*CUDA 12.1.*GPU-7.*driver"
        ):
            self.choose(False, "12.1", DET_SLOT_TYPE="cuda", CUDA_VISIBLE_DEVICES="GPU-7")
        with mock.patch.dict(os.environ, DET_SLOT_TYPE="cuda"):
            with mock.patch.object(torch.cuda, "is_available", lambda: False):
                with self.assertRaisesRegex(RuntimeError, "sees none"), init(hparams={}):
                    pass

    def with_torch_xla(self, **model):
        """A stand-in: no machine of the tests has a TPU."""
        modules = {
            name: types.ModuleType(name)
            for name in (
                "torch_xla",
                "torch_xla.core",
                "torch_xla.core.xla_model",
                "torch_xla.distributed",
                "torch_xla.distributed.xla_backend",
            )
        }
        vars(modules["torch_xla.core.xla_model"]).update(model)
        return mock.patch.dict(sys.modules, modules)

    def test_uses_tpu_through_torch_xla(self):
        marked = []
        tpu = torch.device("xla", 1)
        with self.with_torch_xla(xla_device=lambda: tpu, mark_step=lambda: marked.append(1)):
            self.assertEqual(tpu, self.choose(True, DET_SLOT_TYPE="tpu"))
            xla.mark_step(torch.device("cpu"))
            self.assertEqual([], marked)
            xla.mark_step(tpu)
            self.assertEqual([1], marked)
            with mock.patch.dict(os.environ, WORLD_SIZE="2"):
                with mock.patch.object(process_group.dist, "init_process_group") as joined:
                    self.assertTrue(process_group.init_process_group(tpu))
        self.assertEqual(("xla",), joined.call_args[0])
        self.assertEqual("xla://", joined.call_args[1]["init_method"])

    def test_uses_tpu_with_function_names_of_torch_xla_2_4(self):
        marked = []
        tpu = torch.device("xla", 1)
        with self.with_torch_xla():
            package = sys.modules["torch_xla"]
            package.device, package.sync = lambda: tpu, lambda: marked.append(1)
            self.assertEqual(tpu, self.choose(True, DET_SLOT_TYPE="tpu"))
            xla.mark_step(tpu)
        self.assertEqual([1], marked)

    def test_rejects_tpu_slot_when_there_is_no_tpu(self):
        with mock.patch.dict(sys.modules, {"torch_xla": None}):
            with self.assertRaisesRegex(RuntimeError, "are TPUs .* torch_xla, .*install"):
                self.choose(DET_SLOT_TYPE="tpu")
        with self.with_torch_xla(xla_device=mock.Mock(side_effect=RuntimeError("no chip"))):
            with self.assertRaisesRegex(RuntimeError, "finds none .no chip.: check PJRT_DEVICE"):
                self.choose(DET_SLOT_TYPE="tpu")


if __name__ == "__main__":
    unittest.main()
