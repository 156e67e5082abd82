"""The SDK: experiments, trials, checkpoints and models from a program or a notebook.

from det.experimental import client
client.login("http://master:8080", user="ann", password="...")
experiment = client.create_experiment("const.yaml", "model_dir")
experiment.wait()
print(experiment.top_checkpoint().download())
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
    """Whom the functions below speak for. What is left out is of the environment (DET_MASTER,
    DET_USER, DET_PASS, DET_USER_TOKEN, DET_MASTER_CERT_FILE) or of who is signed in by `det`.
    """
    global _determined
    _determined = Determined(master, user, password, cert_path, cert_name)


def _default() -> Determined:
    if _determined is None:
        login()
    assert _determined is not None
    return _determined


def create_experiment(
    config: str | pathlib.Path | Mapping[str, Any],
    model_dir: Path | None = None,
    includes: Iterable[Path] = (),
    parent_id: int | None = None,
    project_id: int | None = None,
    template: str | None = None,
) -> Experiment:
    """See Determined.create_experiment; so for all below."""
    return _default().create_experiment(
        config, model_dir, includes, parent_id, project_id, template
    )


def get_experiment(experiment_id: int) -> Experiment:
    return _default().get_experiment(experiment_id)


def list_experiments(
    sort_by: Any = None, order_by: Any = None, **filters: Any
) -> Iterator[Experiment]:
    return _default().list_experiments(sort_by, order_by, **filters)


def get_trial(trial_id: int) -> Trial:
    return _default().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    return _default().get_checkpoint(uuid)


def create_model(name: str, description: str = "", **options: Any) -> Model:
    return _default().create_model(name, description, **options)


def get_model(identifier: str | int) -> Model:
    return _default().get_model(identifier)


def get_models(sort_by: Any = None, order_by: Any = None, **filters: Any) -> list[Model]:
    return _default().get_models(sort_by, order_by, **filters)


list_models = get_models


def get_model_labels() -> list[str]:
    return _default().get_model_labels()


def stream_trials_metrics(trial_ids: list[int], group: str | None = None) -> Iterator[TrialMetrics]:
    return _default().stream_trials_metrics(trial_ids, group)


iter_trials_metrics = stream_trials_metrics


def create_workspace(name: str) -> Workspace:
    return _default().create_workspace(name)


def get_workspace(name: str | int) -> Workspace:
    return _default().get_workspace(name)


def list_workspaces(**filters: Any) -> list[Workspace]:
    return _default().list_workspaces(**filters)


def delete_workspace(name: str) -> None:
    _default().delete_workspace(name)


def get_project(project_id: int) -> Project:
    return _default().get_project(project_id)


def list_resource_pools() -> list[ResourcePool]:
    return _default().list_resource_pools()


def create_user(
    username: str, admin: bool, password: str | None = None, remote: bool = False
) -> User:
    return _default().create_user(username, admin, password, remote)


def get_user_by_id(user_id: int) -> User:
    return _default().get_user_by_id(user_id)


def get_user_by_name(user_name: str) -> User:
    return _default().get_user_by_name(user_name)


def list_users(active: bool | None = None) -> list[User]:
    return _default().list_users(active)


def whoami() -> User:
    return _default().whoami()


def get_session_username() -> str:
    return _default().get_session_username()


def logout() -> None:
    """Nobody is signed in here any more; the token of the session is void."""
    global _determined
    _default().logout()
    _determined = None
