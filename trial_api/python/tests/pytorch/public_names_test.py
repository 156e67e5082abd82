"""The public names exist: those of the Core API, PyTorch, Keras, the SDK and the launchers."""

import importlib
import unittest

import keras_test  # noqa: F401  Its stand-in for Keras.

NAMES = {
    "det": "ClusterInfo InvalidHP LOG_FORMAT TrialInfo core errors get_cluster_info import_from_path",
    "det.util": "force_create_symlink import_from_path is_overridden sizeof_fmt",
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
    "det.pytorch.experimental": "TorchBatchProcessor TorchBatchProcessorContext torch_batch_process",
    "det.pytorch.experimental.TorchBatchProcessor": "on_checkpoint_start on_finish process_batch",
    "det.pytorch.experimental.TorchBatchProcessorContext": "get_distributed_rank get_distributed_size "
    "get_tensorboard_path prepare_model_for_inference report_metrics report_task_using_checkpoint "
    "report_task_using_model_version to_device upload_path",
    "det.pytorch.deepspeed": "DeepSpeedTrial DeepSpeedTrialContext ModelParallelUnit Trainer "
    "get_ds_config_from_hparams init make_data_parallel_mpu make_deepspeed_mpu "
    "overwrite_deepspeed_config",
    "det.pytorch.deepspeed.DeepSpeedTrial": "build_callbacks build_training_data_loader "
    "build_validation_data_loader evaluate_batch evaluation_reducer load save train_batch",
    "det.pytorch.deepspeed.DeepSpeedTrialContext": "disable_auto_grad_accumulation get_data_config "
    "get_experiment_config get_global_batch_size get_hparam get_hparams "
    "get_num_micro_batches_per_slot get_tensorboard_path get_train_micro_batch_size_per_gpu "
    "get_trial_seed mpu set_mpu set_profiler set_stop_requested to_device use_pipeline_parallel "
    "wrap_model_engine wrap_reducer",
    "det.keras": "DeterminedCallback TensorBoard load_model_from_checkpoint_path",
    "det.experimental": "Checkpoint Determined DownloadMode Experiment Model ModelVersion OrderBy "
    "Project ResourcePool Trial User Workspace client",
    "det.experimental.core_v2": "Config DefaultConfig UnmanagedConfig close init init_context "
    "url_reverse_webui_exp_view",
    "det.common": "api util",
    "det.common.api": "errors",
    "det.common.api.errors": "APIException ForbiddenException NotFoundException "
    "UnauthenticatedException",
    "det.experimental.client": "Checkpoint CheckpointOrderBy CheckpointSortBy Determined DownloadMode "
    "Experiment ExperimentOrderBy ExperimentSortBy ExperimentState Model ModelOrderBy ModelSortBy "
    "ModelVersion OrderBy Project ResourcePool Trial TrialOrderBy TrialSortBy User Workspace "
    "create_experiment create_model create_user create_workspace delete_workspace get_checkpoint "
    "get_experiment get_model get_model_labels get_models get_project get_session_username get_trial "
    "get_user_by_id get_user_by_name get_workspace iter_trials_metrics list_experiments list_models "
    "list_resource_pools list_users list_workspaces login logout stream_trials_metrics whoami",
    "det.experimental.client.Experiment": "activate add_label archive await_first_trial cancel delete "
    "delete_tensorboard_files download_code kill list_checkpoints list_trials move_to_project pause "
    "reload remove_label set_description set_labels set_name set_notes top_checkpoint unarchive wait",
    "det.experimental.client.Trial": "iter_logs iter_metrics kill list_checkpoints list_metrics "
    "top_checkpoint",
    "det.experimental.client.Checkpoint": "add_metadata delete download get_metrics remove_files "
    "remove_metadata",
    "det.experimental.client.Model": "add_metadata archive delete get_version get_versions "
    "list_versions move_to_workspace register_version remove_metadata set_description set_labels "
    "set_name set_notes unarchive",
    "det.experimental.client.ModelVersion": "delete set_name set_notes",
    "det.experimental.client.Workspace": "archive create_project delete delete_project get_project "
    "list_pools list_projects reload set_default_pools set_name unarchive",
    "det.experimental.client.Project": "add_note archive clear_notes delete reload remove_note "
    "set_description set_name unarchive",
    "det.experimental.client.User": "activate change_display_name change_password deactivate "
    "link_with_agent reload rename",
    "det.experimental.client.ResourcePool": "add_bindings list_workspaces remove_bindings "
    "replace_bindings",
    "det.launch.deepspeed": "",
    "det.launch.horovod": "",
    "det.launch.mpi": "",
    "det.launch.tensorflow": "",
    "det.launch.torch_distributed": "",
    "det.launch.wrap_rank": "",
}


def found(path):
    """Returns a module, or a class of one."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


class NamesTest(unittest.TestCase):
    def test_public_names_exist_in_det_and_determined(self):
        for path, names in NAMES.items():
            for package in ("det", "determined"):
                with self.subTest(path=path, package=package):
                    owner = found(package + path[len("det") :])
                    missing = [name for name in names.split() if not hasattr(owner, name)]
                    self.assertEqual([], missing)


if __name__ == "__main__":
    unittest.main()
