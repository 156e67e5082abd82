"""The public names of the package that existing scripts import: present, or refused with a hint."""

import importlib
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import determined as det
import name_checks
from det import _unsupported
from existing_names import NAMES


class NamesTest(unittest.TestCase):
    def test_names_exist_or_are_refused_with_a_hint(self):
        modules = name_checks.get_modules(with_torch=False)
        self.assertGreater(len(modules), 60)
        self.assertEqual([], name_checks.find_differences(modules))

    def test_refused_modules_are_those_of_the_other_package(self):
        left_out = {"determined.common.api.bindings", "determined.estimator"}  # Generated; removed.
        self.assertEqual(left_out, set(_unsupported.MODULES) - set(NAMES))
        self.assertEqual(set(), set(_unsupported.NAMES) - set(NAMES))

    def test_import_error_says_what_to_write_instead(self):
        for code, words in (
            (
                "import determined.horovod",
                "determined.horovod does not exist in Resolute: use torch.",
            ),
            ("from determined import horovod", "use torch.distributed"),
            ("from determined.tensorboard.fetchers.s3 import S3Fetcher", "get_tensorboard_path()"),
            ("from determined.common.api import bindings", "determined.experimental.client"),
            ("from determined.core import ExperimentalCoreContext", "TorchBatchProcessorContext"),
            ("from determined import TrialController", "Trainer(trial, context).fit()"),
            (
                "from determined.launch.horovod import parse_args",
                "python3 -m determined.launch.horovod",
            ),
        ):
            with (
                self.subTest(code=code),
                self.assertRaisesRegex(ImportError, "does not exist") as raised,
            ):
                exec(code, {})
            self.assertIn(words, str(raised.exception))

    def test_unknown_names_raise_attribute_error(self):
        for module in ("determined", "determined.core", "determined.util"):
            self.assertFalse(hasattr(importlib.import_module(module), "no_such_name"))
        with self.assertRaises(ModuleNotFoundError):
            importlib.import_module("determined.no_such_module")

    def test_package_has_the_modules_that_existing_scripts_use_without_importing_them(self):
        code = "import determined as det; print(det.util.sizeof_fmt(1), det.gpu.get_gpus, det.common.util)"
        done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, check=False)
        self.assertEqual((0, b""), (done.returncode, done.stderr))


class BehaviourTest(unittest.TestCase):
    def test_dummy_contexts_are_those_of_a_run_off_the_cluster(self):
        from determined import core

        ranks = core.DummyDistributedContext()
        self.assertEqual((0, 1, [3]), (ranks.rank, ranks.size, ranks.gather(3)))
        self.assertIsInstance(ranks, core.DistributedContext)
        self.assertFalse(core.DummyPreemptContext(ranks).should_preempt())
        [operation] = core.DummySearcherContext(ranks, length=3).operations()
        self.assertEqual((3, "epochs"), (operation.length, operation.unit))
        core.DummyProfilerContext().on()
        with tempfile.TemporaryDirectory() as folder:
            checkpoints = core.DummyCheckpointContext(ranks, folder)
            with checkpoints.store_path({"steps_completed": 1}) as (path, uuid):
                (path / "state").write_text("x")
            self.assertTrue(pathlib.Path(folder, uuid, "state").exists())
            train = core.DummyTrainContext(pathlib.Path(folder, "events"))
            train.report_training_metrics(1, {"loss": 1})
            self.assertEqual(pathlib.Path(folder, "events"), train.get_tensorboard_path())

    def test_experiment_config_has_methods_for_fields(self):
        config = det.ExperimentConfig(
            {"searcher": {"metric": "loss"}, "entrypoint": "train.py", "records_per_epoch": 5}
        )
        self.assertEqual(
            ("loss", "train.py", 5, 100, 0, {}),
            (
                config.get_searcher_metric(),
                config.get_entrypoint(),
                config.get_records_per_epoch(),
                config.scheduling_unit(),
                config.experiment_seed(),
                config.get_min_validation_period(),
            ),
        )
        with self.assertRaisesRegex(ValueError, "searcher.metric is None"):
            det.ExperimentConfig().get_searcher_metric()

    def test_lists_the_gpus_of_nvidia_smi_and_rocm_smi(self):
        from determined import gpu

        outputs = {
            "nvidia-smi": "1, GPU-b, 50, 100, 400\n0, GPU-a, [N/A], 0, 400\nNo devices\n",
            "rocm-smi": '{"card0": {"Unique ID": "0x1"}, "system": {}}',
        }
        with mock.patch.object(gpu, "_run", lambda program, *_: outputs[program]):
            self.assertEqual(["GPU-a", "GPU-b"], gpu.get_gpu_uuids())
            found, kind = gpu.get_gpus()
            self.assertEqual((gpu.GPU(1, "GPU-b", 0.5, 0.25), "cuda"), (found[0], kind))
            outputs["nvidia-smi"] = ""
            self.assertEqual(([gpu.GPU(0, "0x1", 0, 0)], "rocm"), gpu.get_gpus())
            outputs["rocm-smi"] = ""
            self.assertEqual(([], ""), gpu.get_gpus())
            outputs["nvidia-smi"] = "12, python3, GPU-a, 123 MiB\n"
            self.assertEqual(
                [gpu.GPUProcess(12, "python3", "GPU-a", "123 MiB")], gpu.get_gpu_processes()
            )

    def test_checks_raise_with_the_values(self):
        from determined.common import check

        check.check_eq(1, 1)
        check.is_in("a", ["a"])
        with self.assertRaisesRegex(check.CheckFailedError, "1 is not equal to 2: the sizes"):
            check.eq(1, 2, "the sizes")
        with self.assertRaisesRegex(check.CheckFailedError, "the length is 2, not 3"):
            check.check_len([1, 2], 3)

    def test_small_functions_of_util(self):
        from determined import util
        from determined.common import util as common

        self.assertEqual(
            {"a": {"b": 1, "c": 3}, "d": 4},
            util.merge_dicts({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}, "d": 4}),
        )
        self.assertTrue(util.has_param(lambda batch, batch_idx: 0, "batch_idx"))
        self.assertFalse(util.has_param(lambda batch: 0, "batch_idx", 2))
        self.assertTrue(util.is_numerical_scalar(1.5))
        self.assertFalse(util.is_numerical_scalar([1.5]))
        self.assertEqual((True, False), (common.strtobool("Yes"), common.strtobool("off")))
        with self.assertRaises(TimeoutError):
            common.wait_for(lambda: (False, None), timeout=0, interval=0)

    def test_sdk_has_its_older_names(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            from determined.common.experimental import ExperimentReference, TrialReference
            from determined.common.experimental.trial import TrialSortBy
            from determined.experimental import client

        self.assertIs(ExperimentReference, client.Experiment)
        self.assertIs(TrialReference, client.Trial)
        self.assertIs(TrialSortBy, client.TrialSortBy)

    def test_errors_of_checkpoints_are_caught_by_their_older_names(self):
        with (
            self.assertRaises(det.errors.CheckpointNotFound),
            tempfile.TemporaryDirectory() as folder,
        ):
            with det.core.init(checkpoint_storage=folder) as context:
                with context.checkpoint.restore_path("00000000-0000-0000-0000-000000000000"):
                    pass


if __name__ == "__main__":
    unittest.main()
