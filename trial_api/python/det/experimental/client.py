"""The SDK: experiments, trials, checkpoints and models for programs and notebooks.

from det.experimental import client

client.login("http://master:8080", user="ann", password="...")
experiment = client.create_experiment("const.yaml", "model_dir")
experiment.wait()
print(experiment.top_checkpoint().download())
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping

from det._types import Json, JsonMapping
from det.experimental._checkpoint import (
    Checkpoint,
    CheckpointState,
    DownloadMode,
    Model,
    ModelVersion,
)
from det.experimental._determined import Determined, Path
from det.experimental._experiment import (
    Experiment,
    ExperimentState,
    Trial,
    TrialMetrics,
    TrialState,
)
from det.experimental._order import (
    CheckpointOrderBy,
    CheckpointSortBy,
    ExperimentOrderBy,
    ExperimentSortBy,
    ModelOrderBy,
    ModelSortBy,
    OrderBy,
    TrialOrderBy,
    TrialSortBy,
)
from det.experimental._user import User
from det.experimental._workspace import Project, ResourcePool, Workspace

__all__ = [
    "Checkpoint",
    "CheckpointOrderBy",
    "CheckpointSortBy",
    "CheckpointState",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentSortBy",
    "ExperimentState",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "ResourcePool",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialSortBy",
    "TrialState",
    "User",
    "Workspace",
    "create_experiment",
    "create_model",
    "create_user",
    "create_workspace",
    "delete_workspace",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_model_by_id",
    "get_model_labels",
    "get_models",
    "get_project",
    "get_session_username",
    "get_trial",
    "get_user_by_id",
    "get_user_by_name",
    "get_workspace",
    "iter_trials_metrics",
    "list_experiments",
    "list_models",
    "list_resource_pools",
    "list_users",
    "list_workspaces",
    "login",
    "logout",
    "stream_trials_metrics",
    "stream_trials_training_metrics",
    "stream_trials_validation_metrics",
    "whoami",
]


_determined: Determined | None = None


def login(
    master: str | None = None,
    user: str | None = None,
    password: str | None = None,
    cert_path: str | None = None,
    cert_name: str | None = None,
) -> None:
    """Selects the master and the user for the functions of this module.

    Args:
        master: The URL of the master. Default: DET_MASTER.
        user: The user. Default: DET_USER, or the active user of `det`.
        password: The password. Default: DET_PASS. Without any, DET_USER_TOKEN or the token of `det
            user login` is used.
        cert_path: A PEM file with the CA certificates of the master. Default: DET_MASTER_CERT_FILE.
        cert_name: The name in the master's certificate, if it differs from the host name.

    Raises:
        MasterError: The login failed, or no credentials were found.
    """
    global _determined
    _determined = Determined(master, user, password, cert_path, cert_name)


def _default() -> Determined:
    if _determined is None:
        login()
    assert _determined is not None
    return _determined


def create_experiment(
    config: str | pathlib.Path | JsonMapping,
    model_dir: Path | None = None,
    includes: Iterable[Path] = (),
    parent_id: int | None = None,
    project_id: int | None = None,
    template: str | None = None,
) -> Experiment:
    """Creates and starts an experiment. See Determined.create_experiment()."""
    return _default().create_experiment(
        config, model_dir, includes, parent_id, project_id, template
    )


def get_experiment(experiment_id: int) -> Experiment:
    """Returns an experiment by its ID. See Determined.get_experiment()."""
    return _default().get_experiment(experiment_id)


def list_experiments(
    sort_by: ExperimentSortBy | None = None,
    order_by: OrderBy | None = None,
    *,
    states: Iterable[ExperimentState | str] | None = None,
    **filters: object,
) -> Iterator[Experiment]:
    """Yields experiments. See Determined.list_experiments()."""
    return _default().list_experiments(sort_by, order_by, states=states, **filters)


def get_trial(trial_id: int) -> Trial:
    """Returns a trial by its ID. See Determined.get_trial()."""
    return _default().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    """Returns a checkpoint by its UUID. See Determined.get_checkpoint()."""
    return _default().get_checkpoint(uuid)


def create_model(
    name: str,
    description: str = "",
    metadata: Mapping[str, Json] | None = None,
    labels: list[str] | None = None,
    workspace_name: str | None = None,
) -> Model:
    """Registers a model. See Determined.create_model()."""
    return _default().create_model(name, description, metadata, labels, workspace_name)


def get_model(identifier: str | int) -> Model:
    """Returns a model by its name or ID. See Determined.get_model()."""
    return _default().get_model(identifier)


def get_models(
    sort_by: ModelSortBy | None = None, order_by: OrderBy | None = None, **filters: object
) -> list[Model]:
    """Returns models. See Determined.get_models()."""
    return _default().get_models(sort_by, order_by, **filters)


list_models = get_models


def get_model_by_id(model_id: int) -> Model:
    """Returns a model by its ID. See Determined.get_model()."""
    return _default().get_model(model_id)


def get_model_labels() -> list[str]:
    """Returns the labels of all models."""
    return _default().get_model_labels()


def stream_trials_metrics(trial_ids: list[int], group: str | None = None) -> Iterator[TrialMetrics]:
    """Yields the metric reports of trials. See Determined.stream_trials_metrics()."""
    return _default().stream_trials_metrics(trial_ids, group)


iter_trials_metrics = stream_trials_metrics


def stream_trials_training_metrics(trial_ids: list[int]) -> Iterator[TrialMetrics]:
    """Yields the training metrics of trials; stream_trials_metrics(trial_ids, "training")."""
    return stream_trials_metrics(trial_ids, "training")


def stream_trials_validation_metrics(trial_ids: list[int]) -> Iterator[TrialMetrics]:
    """Yields the validation metrics of trials; stream_trials_metrics(trial_ids, "validation")."""
    return stream_trials_metrics(trial_ids, "validation")


def create_workspace(name: str) -> Workspace:
    """Creates a workspace."""
    return _default().create_workspace(name)


def get_workspace(name: str | int) -> Workspace:
    """Returns a workspace by its name or ID. See Determined.get_workspace()."""
    return _default().get_workspace(name)


def list_workspaces(**filters: object) -> list[Workspace]:
    """Returns workspaces. See Determined.list_workspaces()."""
    return _default().list_workspaces(**filters)


def delete_workspace(name: str) -> None:
    """Deletes a workspace. See Determined.delete_workspace()."""
    _default().delete_workspace(name)


def get_project(project_id: int) -> Project:
    """Returns a project by its ID."""
    return _default().get_project(project_id)


def list_resource_pools() -> list[ResourcePool]:
    """Returns all resource pools."""
    return _default().list_resource_pools()


def create_user(
    username: str, admin: bool, password: str | None = None, remote: bool = False
) -> User:
    """Creates a user. See Determined.create_user()."""
    return _default().create_user(username, admin, password, remote)


def get_user_by_id(user_id: int) -> User:
    """Returns a user by their ID."""
    return _default().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    """Returns a user by their name."""
    return _default().get_user_by_name(user_name)


def list_users(active: bool | None = None) -> list[User]:
    """Returns users. See Determined.list_users()."""
    return _default().list_users(active)


def whoami() -> User:
    """Returns the user of the session."""
    return _default().whoami()


def get_session_username() -> str:
    """Returns the name of the user of the session."""
    return _default().get_session_username()


def logout() -> None:
    """Ends the session and revokes its token."""
    global _determined
    _default().logout()
    _determined = None
