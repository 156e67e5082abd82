"""Notes for compatibility.py: what differs, or what to use instead. Keys are patterns of names."""

_SIGN_IN = "users sign in with a password or an access token"
_AS_ATTRIBUTE = "read the objects again with the function that returned them"
_PACHYDERM = "the configuration is in the member `config`; Pachyderm is not integrated"
_SORTED_LIST = "sort the returned list"
_DUMMY = "`core.init()` returns a `Context` also outside of a cluster"
_TF_KERAS = "use `det.keras.DeterminedCallback` with a script of your own"
_HPC = "the cluster has agents of its own; it does not submit to Slurm or PBS"

COMMANDS = {}

# What differs about options that are accepted. Keys are "COMMAND OPTION".
OPTIONS = {
    "dev bindings call --auto-confirm": "the command does not ask",
    "dev bindings list --show-unusable": "all methods can be called",
    "deploy local * --no-autorestart": "the processes restart with the next `det deploy local up`",
    "deploy local * --enterprise-edition": "there is one edition",
    "deploy local logs --no-follow": "the logs are followed only with `--follow`",
}

NAMES = {
    "*.get_pachyderm_*": _PACHYDERM,
    "determined.experimental.client.*oauth*": _SIGN_IN,
    "determined.experimental.client.Oauth2ScimClient*": _SIGN_IN,
    "determined.experimental.client.Checkpoint.reload": _AS_ATTRIBUTE,
    "determined.experimental.client.Model.reload": _AS_ATTRIBUTE,
    "determined.experimental.client.ModelVersion.reload": _AS_ATTRIBUTE,
    "determined.experimental.client.Checkpoint.write_metadata_file":
        "write `checkpoint.metadata` with `json.dump`",
    "determined.experimental.client.*get_model_by_id": "`get_model` accepts an ID",
    "determined.experimental.client.*stream_*": "use `Trial.iter_metrics` or `client.iter_trials_metrics`",
    "determined.experimental.client.TrainingMetrics*": "use `TrialMetrics` of the group `training`",
    "determined.experimental.client.ValidationMetrics*": "use `TrialMetrics` of the group `validation`",
    "determined.experimental.client.TrialMetrics.batch_metrics": "metrics of single batches are not kept",
    "determined.experimental.client.Experiment.iter_trials": "use `list_trials`",
    "determined.experimental.client.ExperimentSortBy.*": _SORTED_LIST,
    "determined.experimental.client.TrialSortBy.*": _SORTED_LIST,
    "determined.experimental.client.ModelVersion.*_metrics": "use `Checkpoint.get_metrics`",
    "determined.experimental.client.Project.list_experiments":
        "use `client.list_experiments(project_id=...)`",
    "determined.experimental.client.Project.set_key": "use `det project edit`",
    "determined.experimental.client.Trial.get_checkpoints": "use `list_checkpoints`",
    "determined.experimental.client.Trial.get_experiment": "use `client.get_experiment`",
    "determined.experimental.client.Trial.select_checkpoint": "use `top_checkpoint`",
    "determined.core.Context.start": "the context starts by itself",
    "determined.core.PreemptContext.start": "the context starts by itself",
    "determined.core.Dummy*": _DUMMY,
    "determined.core.ExperimentalCoreContext*": "the context has no experimental part",
    "determined.core.SearcherContext*": "the searcher needs no acknowledgement",
    "determined.core.SearcherOperation.length": "read `max_length` of the configuration",
    "determined.pytorch.CheckpointLoadContext": "`load_trial_from_checkpoint_path` makes the context",
    "determined.pytorch.adapt_batch_sampler": "`DataLoader` of the context shards the batches",
    "determined.pytorch.deepspeed.DeepSpeedTrialController": "use the `Trainer` of the package",
    "determined.keras.*": _TF_KERAS,
}

EXPERIMENT_SETTINGS = {
    "integrations": "webhooks are selected with `integrations.webhooks`; Pachyderm is not integrated",
    "pbs*": _HPC,
    "slurm*": _HPC,
}

MASTER_SETTINGS = {
    "config_file": "the flag `--config`",
    "db.migrations": "the schema is in the program",
    "db.views_and_triggers": "the schema is in the program",
    "resource_manager.cluster_name": "one cluster has one resource manager; use `cluster_name`",
    "resource_manager.metadata": "one cluster has one resource manager",
    "resource_manager.name": "one cluster has one resource manager",
    "resource_pools.agent_reattach_enabled": "tasks always survive a restart",
    "resource_pools.max_cpu_containers_per_agent": "use `max_aux_containers_per_agent`",
}

# Objects with members of users.
FREE_FORM = ("data", "hyperparameters", "environment.environment_variables")
