"""The names that scripts know are there: of the Core API, PyTorch, Keras, the SDK and the launchers."""

import importlib
import unittest

import keras_test  # noqa: F401  Its stand-in for Keras.

NAMES = {
    "det": "ClusterInfo InvalidHP LOG_FORMAT core errors get_cluster_info",
    "det.core": "CheckpointContext Context DistributedContext DownloadMode EarlyExitReason PreemptContext "
    "PreemptMode ProfilerContext SearcherContext SearcherMode TensorboardMode TrainContext init",
    "det.core.DistributedContext": "allgather allgather_local broadcast broadcast_local from_deepspeed "
    "from_horovod from_tf_config from_torch_distributed gather gather_local",
    "det.core.TrainContext": "get_experiment_best_validation get_metadata get_tensorboard_path "
    "report_early_exit report_metrics report_progress report_training_metrics "
    "report_validation_metrics set_metadata set_status upload_tensorboard_files",
    "det.core.PreemptContext": "acknowledge_preemption_signal should_preempt",
    "det.core.CheckpointContext": "delete download get_metadata restore_path store_path upload",
    "det.core.ProfilerContext": "off on",
    "det.core.Context": "alert",
    "det.pytorch": "Batch DataLoader Epoch LRScheduler MetricReducer PyTorchCallback PyTorchTrial "
    "PyTorchTrialContext Reducer TorchData Trainer init load_trial_from_checkpoint_path samplers",
    "det.pytorch.PyTorchTrial": "build_callbacks build_training_data_loader "
    "build_validation_data_loader evaluate_batch evaluate_full_dataset evaluation_reducer "
    "get_batch_length train_batch",
    "det.pytorch.PyTorchTrialContext": "backward configure_apex_amp current_train_batch "
    "current_train_epoch distributed get_data_config get_experiment_config get_global_batch_size "
    "get_hparam get_hparams get_per_slot_batch_size get_stop_requested get_tensorboard_path "
    "get_tensorboard_writer get_trial_seed is_epoch_end is_epoch_start set_profiler "
    "set_stop_requested step_optimizer to_device wrap_lr_scheduler wrap_model wrap_optimizer "
    "wrap_reducer wrap_scaler",
    "det.pytorch.PyTorchExperimentalContext": "disable_auto_to_device "
    "disable_dataset_reproducibility_checks use_amp",
    "det.pytorch.PyTorchCallback": "load_state_dict on_checkpoint_end on_checkpoint_load_start "
    "on_checkpoint_save_start on_checkpoint_upload_end on_checkpoint_write_end on_training_epoch_end "
    "on_training_epoch_start on_training_start on_training_workload_end on_trial_shutdown "
    "on_trial_startup on_validation_end on_validation_epoch_end on_validation_epoch_start "
    "on_validation_start state_dict",
    "det.keras": "DeterminedCallback TensorBoard",
    "det.experimental.client": "Checkpoint Determined Experiment Model ModelVersion Trial "
    "create_experiment create_model get_checkpoint get_experiment get_model get_models get_trial "
    "list_experiments login stream_trials_metrics",
    "det.experimental.client.Experiment": "activate add_label archive await_first_trial cancel delete "
    "delete_tensorboard_files download_code kill list_checkpoints list_trials move_to_project pause "
    "reload remove_label set_description set_labels set_name set_notes top_checkpoint unarchive wait",
    "det.experimental.client.Trial": "iter_logs iter_metrics kill list_checkpoints top_checkpoint",
    "det.experimental.client.Checkpoint": "add_metadata delete download get_metrics remove_files "
    "remove_metadata",
    "det.experimental.client.Model": "add_metadata archive delete get_version get_versions "
    "list_versions move_to_workspace register_version remove_metadata set_description set_labels "
    "set_name set_notes unarchive",
    "det.experimental.client.ModelVersion": "delete set_name set_notes",
    "det.launch.deepspeed": "",
    "det.launch.horovod": "",
    "det.launch.mpi": "",
    "det.launch.torch_distributed": "",
    "det.launch.wrap_rank": "",
}


def found(path):
    """A module, or a class of one."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


class NamesTest(unittest.TestCase):
    def test_each_is_there_under_both_names_of_the_package(self):
        for path, names in NAMES.items():
            for package in ("det", "determined"):
                with self.subTest(path=path, package=package):
                    owner = found(package + path[len("det") :])
                    missing = [name for name in names.split() if not hasattr(owner, name)]
                    self.assertEqual([], missing)


if __name__ == "__main__":
    unittest.main()
