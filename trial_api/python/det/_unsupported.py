"""Names of the package `determined` that do not exist here, and what to write instead.

Importing one raises ImportError with the hint; see determined/__init__.py. tests/existing_names_test.py
compares the names of both packages, so this is the complete list of the differences.
"""

from __future__ import annotations

_CLIENT = "call the functions of determined.experimental.client"
_SESSION = (
    "call determined.experimental.client.login() and the functions beside it; for other calls use the "
    "REST API with `Authorization: Bearer TOKEN`"
)
_STORAGE = (
    "use core.init(checkpoint_storage=...) to save, and Checkpoint.download() or context.checkpoint."
    "restore_path() to read"
)
_EVENTS = (
    "write event files to context.train.get_tensorboard_path(), or with context."
    "get_tensorboard_writer() in a PyTorchTrial; they are stored beside the checkpoints"
)
_CONTROLLER = "use determined.pytorch.Trainer(trial, context).fit()"
_KERAS = "train with keras.Model.fit(callbacks=[determined.keras.DeterminedCallback(...)])"
_LAUNCHER = "run the launcher as a program: python3 -m {module} -- python3 train.py"
_INTERNAL = "write it in your own code; it was an internal function"
_STREAMS = "use det experiment wait, Experiment.wait() or the REST API"
_OAUTH = "configure single sign-on in the master configuration; it has no OAuth clients"
_DIRECTORY = "pass the directory to create_experiment(model_dir=...), with a .detignore"
_NODES = "use get_cluster_info().container_addrs, container_rank and container_slot_counts"

# Modules, and all below them.
MODULES = {
    "determined.common.api.analytics": "remove the import; nothing is sent",
    "determined.common.api.authentication": _SESSION,
    "determined.common.api.bindings": _SESSION,
    "determined.common.api.certs": "call client.login(master, user, password, cert_path=...)",
    "determined.common.api.logs": "call Trial.iter_logs() of determined.experimental.client",
    "determined.common.api.metric": "call Trial.iter_metrics('validation')",
    "determined.common.context": _DIRECTORY,
    "determined.common.detignore": _DIRECTORY,
    "determined.common.detlomond": "use the package websocket-client",
    "determined.common.experimental.oauth2_scim_client": _OAUTH,
    "determined.common.storage": _STORAGE,
    "determined.common.streams": _STREAMS,
    "determined.common.v1file_utils": _DIRECTORY,
    "determined.constants": "use the environment variables that docs/task_environment.md lists",
    "determined.estimator": _CONTROLLER,
    "determined.horovod": "use torch.distributed with determined.launch.torch_distributed, or import horovod",
    "determined.ipc": "use determined.core.DistributedContext",
    "determined.keras.callbacks": "use the callbacks of Keras",
    "determined.layers": _CONTROLLER,
    "determined.load": "use importlib.import_module()",
    "determined.tensorboard.azure": _EVENTS,
    "determined.tensorboard.base": _EVENTS,
    "determined.tensorboard.build": _EVENTS,
    "determined.tensorboard.directory": _EVENTS,
    "determined.tensorboard.fetchers": _EVENTS,
    "determined.tensorboard.gcs": _EVENTS,
    "determined.tensorboard.metric_writers.callback": _EVENTS,
    "determined.tensorboard.metric_writers.tensorflow": _EVENTS,
    "determined.tensorboard.s3": _EVENTS,
    "determined.tensorboard.shared": _EVENTS,
    "determined.tensorboard.util": _EVENTS,
    "determined.workload": _CONTROLLER,
}

# Names of modules that exist. The key is separated by spaces.
_NAMES = {
    "determined": {
        "EnvContext": "use get_cluster_info()",
        "RendezvousInfo": _NODES,
        "ResourcesInfo": "use get_cluster_info().gpu_uuids",
        "TrialController": _CONTROLLER,
    },
    "determined.common": {"context": _DIRECTORY, "storage": _STORAGE},
    "determined.common.api": {
        "AnyNTSC NTSC_Kind PageOpts WARNING_MESSAGE_MAP get_ntsc_details read_paginated "
        "wait_for_ntsc_state wait_for_task_ready": _CLIENT,
        "BaseSession Session TaskSession UnauthSession authentication bindings salt_and_hash": _SESSION,
        "create_group_assignment_request create_user_assignment_request group_name_to_group_id "
        "not_found_errs role_name_to_role_id usernames_to_user_ids": "run det rbac",
        "metric": "call Trial.iter_metrics('validation')",
        "pprint_logs task_logs trial_logs": "call Trial.iter_logs() of determined.experimental.client",
        "workspace_by_name": "call client.get_workspace(name)",
    },
    "determined.common.api.errors": {
        "CorruptCertificateCacheException CorruptTokenCacheException": "catch APIException",
    },
    "determined.common.constants": {
        "DEFAULT_DETIGNORE": "write a .detignore in the model directory",
        "MAX_CONTEXT_SIZE MAX_ENCODED_SIZE MAX_HTTP_REQUEST_SIZE MAX_METRICS_SIZE "
        "MAX_WEBSOCKET_MSG_SIZE": "remove the import; the master says which request is too large",
    },
    "determined.common.experimental.experiment": {
        "TERMINAL_STATES": "compare with ExperimentState.COMPLETED, CANCELED and ERROR",
    },
    "determined.common.experimental.trial": {
        "LogLevel": 'pass the name of the level to Trial.iter_logs(), such as "ERROR"',
    },
    "determined.common.util": {
        "deprecated": "use warnings.warn()",
        "get_config_path": "use ~/.config/determined",
        "get_max_retries_config": "remove the import; calls are repeated until the master answers",
        "is_protobuf_timestamp parse_protobuf_timestamp": "use datetime.datetime.fromisoformat()",
        "safe_load_yaml_with_exceptions": "use determined.common.util.yaml_safe_load()",
    },
    "determined.core": {
        "DummyExperimentalCoreContext ExperimentalCoreContext": "use determined.pytorch.experimental."
        "TorchBatchProcessorContext",
        "SearcherContextMissing": "use context.searcher.get_configured_units() to see whether a length "
        "is configured",
    },
    "determined.errors": {
        "SkipWorkloadException StopLoadingImplementation WorkerError WorkerFinishedGracefully": "raise "
        "another exception; the trial fails and is restarted",
    },
    "determined.experimental.client": {
        "add_oauth_client list_oauth_clients remove_oauth_client": _OAUTH,
    },
    "determined.gpu": {"float_or_default gpu_fields warned_fields": _INTERNAL},
    "determined.keras": {
        "ArrayLike InputData SequenceAdapter TFKerasExperimentalContext TFKerasTensorBoard "
        "TFKerasTrainConfig TFKerasTrial TFKerasTrialContext TFKerasTrialController callbacks "
        "get_rng_state set_rng_state": _KERAS,
    },
    "determined.launch.deepspeed": {
        "check_deepspeed_version create_deepspeed_env_file create_hostlist_file "
        "create_log_redirect_cmd create_pid_client_cmd create_pid_server_cmd create_run_command "
        "create_sshd_cmd deepspeed_version filter_env_vars get_hostfile_path hostfile_path "
        "is_nccl_socket_ifname_env_var_set is_using_cuda main parse_args script": _LAUNCHER,
    },
    "determined.launch.horovod": {
        "create_hvd_pid_server_cmd create_sshd_worker_cmd create_worker_wrapper_cmd "
        "parse_args": _LAUNCHER,
    },
    "determined.launch.tensorflow": {"C10D_PORT create_log_wrapper main parse_args": _LAUNCHER},
    "determined.launch.torch_distributed": {
        "C10D_PORT create_launch_cmd create_log_redirect_cmd create_pid_client_cmd "
        "create_pid_server_cmd main parse_args": _LAUNCHER,
    },
    "determined.launch.wrap_rank": {
        "forward_stream lineend read_newlines_or_carriage_returns run_all": _LAUNCHER,
    },
    "determined.pytorch": {
        "CheckpointLoadContext": "call determined.pytorch.load_trial_from_checkpoint_path()",
        "adapt_batch_sampler": "pass the sampler to determined.pytorch.DataLoader",
    },
    "determined.pytorch.deepspeed": {
        "DeepSpeedTrialController": "use determined.pytorch.deepspeed.Trainer(trial, context).fit()",
    },
    "determined.pytorch.experimental": {"get_default_device": "use context.device"},
    "determined.tensorboard": {
        "AzureTensorboardManager BatchMetricWriter MetricWriter S3TensorboardManager "
        "SharedFSTensorboardManager TensorboardManager build get_base_path get_experiment_sync_path "
        "get_metric_writer get_sync_path": _EVENTS,
    },
    "determined.tensorboard.metric_writers": {"BatchMetricWriter MetricWriter": _EVENTS},
    "determined.util": {
        "calculate_batch_sizes": "use context.get_per_slot_batch_size()",
        "check_sshd download_gcs_blob_with_backoff filter_duplicates forward_signals get_member_func "
        "humanize_float legacy_trial_entrypoint_to_script make_metrics make_timing_log "
        "mask_checkpoint_storage mask_config_dict match_legacy_trial_class rmtree_nfs_safe "
        "signal_process_tree validate_batch_metrics write_user_code": _INTERNAL,
    },
}

# The hint of each name, by module.
NAMES = {
    module: {
        name: hint.format(module=module) for names, hint in hints.items() for name in names.split()
    }
    for module, hints in _NAMES.items()
}


def find_module_hint(module: str) -> str | None:
    """Returns the hint for a module; None if it is not in the list."""
    parts = module.split(".")
    parents = (".".join(parts[:count]) for count in range(len(parts), 1, -1))
    return next((MODULES[parent] for parent in parents if parent in MODULES), None)


def make_error(name: str, hint: str) -> ImportError:
    """Returns the exception for a name that does not exist here.

    Args:
        name: The complete name.
        hint: What to write instead.
    """
    return ImportError(f"{name} does not exist in Resolute: {hint}", name=name)
