"""Loads a trained Trial from the files of its checkpoint."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

import det
import torch
from det import pytorch as dp
from det.pytorch.state import determined_format
from trials import NetTrial, run


class LoadTest(unittest.TestCase):
    def test_loads_a_trial(self):
        result = run(NetTrial)
        loaded = dp.load_trial_from_checkpoint_path(f"{result.storage}/{result.last_uuid}")
        self.assertIs(type(loaded), NetTrial)
        x = torch.ones(1, 4)
        result.trial.net.eval()
        loaded.net.eval()
        self.assertTrue(torch.equal(loaded.net(x), result.trial.net(x)))

    def test_does_not_use_the_context_of_the_task(self):
        result = run(NetTrial)
        with mock.patch("det.core._context.get_cluster_info", side_effect=AssertionError):
            dp.load_trial_from_checkpoint_path(f"{result.storage}/{result.last_uuid}")

    def test_leaves_out_links_in_the_code(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        model = folder / "determined" / "train" / "model"
        model.mkdir(parents=True)
        (model / "net.py").write_text("")
        (model / "data").symlink_to("/nowhere")

        def in_a_task(trial):
            trial.context._core.info = mock.Mock(run_dir=str(folder))

        result = run(NetTrial, prepare=in_a_task, trial_id=1, max_length=dp.Batch(1))
        saved = pathlib.Path(result.storage, result.last_uuid, "code")
        self.assertEqual([path.name for path in saved.iterdir()], ["net.py"])

    def test_rejects_a_folder_that_is_not_a_checkpoint(self):
        with self.assertRaisesRegex(det.CheckpointError, "load_data.json"):
            dp.load_trial_from_checkpoint_path(".")

    def test_loads_files_of_determined(self):
        result = run(NetTrial)
        folder = pathlib.Path(result.storage, result.last_uuid)
        weights = {"module." + name: tensor + 1 for name, tensor in result.weights.items()}
        for path in folder.glob("*.safetensors"):
            path.unlink()
        (folder / "state.json").unlink()
        state = {"models_state_dict": [weights], "optimizers_state_dict": []}
        torch.save(state, folder / "state_dict.pth")
        with mock.patch.dict(os.environ, DET_TRUST_PICKLE="1"):
            loaded = dp.load_trial_from_checkpoint_path(folder)
        for name, tensor in loaded.net.state_dict().items():
            self.assertTrue(torch.equal(tensor, result.weights[name] + 1))

    def test_detects_torch_versions_that_read_pickles_safely(self):
        versions = ("1.13.0a0+gitunknown", "2.5.1+cu124", "2.6.0", "2.10.0+cpu", "3.0.0")
        safe = []
        for version in versions:
            with mock.patch("torch.__version__", version):
                safe.append(determined_format._is_weights_only_safe())
        self.assertEqual(safe, [False, False, True, True, True])

    def test_rejects_pickle_unless_trusted(self):
        result = run(NetTrial)
        folder = pathlib.Path(result.storage, result.last_uuid)
        (folder / "state.json").unlink()
        torch.save({"models_state_dict": []}, folder / "state_dict.pth")
        with self.assertRaisesRegex(det.CheckpointError, "DET_TRUST_PICKLE.*torch 2.6"):
            dp.load_trial_from_checkpoint_path(folder)
