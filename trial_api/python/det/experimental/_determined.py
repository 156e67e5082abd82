"""What one user may ask of one master."""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

from det.experimental import _user, _workspace
from det.experimental._checkpoint import Checkpoint, Model
from det.experimental._context_dir import read_context
from det.experimental._experiment import (
    Experiment,
    ExperimentState,
    Trial,
    TrialMetrics,
    iter_metrics,
)
from det.experimental._experiment import get_experiment as _get_experiment
from det.experimental._order import in_order
from det.experimental._session import Session, connect
from det.experimental._user import User
from det.experimental._workspace import Project, ResourcePool, Workspace

Path = Union[str, "os.PathLike[str]"]


class Determined:
    """One user at one master. Arguments as of client.login()."""

    def __init__(
        self,
        master: str | None = None,
        user: str | None = None,
        password: str | None = None,
        cert_path: str | None = None,
        cert_name: str | None = None,
    ) -> None:
        self._session: Session = connect(master, user, password, cert_path, cert_name)

    def create_experiment(
        self,
        config: str | pathlib.Path | Mapping[str, Any],
        model_dir: Path | None = None,
        includes: Iterable[Path] = (),
        parent_id: int | None = None,
        project_id: int | None = None,
        template: str | None = None,
    ) -> Experiment:
        """Creates and starts one. config: a mapping, or the path of a YAML file. Raises ValueError
        for a directory that does not fit, MasterError for what the master refuses.
        """
        if isinstance(config, Mapping):
            text, name = json.dumps(config), ""  # JSON is YAML.
        else:
            text, name = pathlib.Path(config).read_text(encoding="utf-8"), str(config)
        body: dict[str, Any] = {
            "config": text,
            "configPath": name,
            "activate": True,
            "requestId": str(uuid.uuid4()),
            "modelDefinition": read_context(model_dir, includes) if model_dir else [],
            "parentId": parent_id or 0,
            "projectId": project_id or 0,
            "template": template or "",
        }
        told = self._session.post("/api/v1/experiments", body)
        return _get_experiment(self._session, int(told["experiment"]["id"]))

    def get_experiment(self, experiment_id: int) -> Experiment:
        return _get_experiment(self._session, experiment_id)

    def list_experiments(
        self, sort_by: Any = None, order_by: Any = None, **filters: Any
    ) -> Iterator[Experiment]:
        """sort_by: an ExperimentSortBy. filters: those of GetExperiments, such as name="mnist",
        archived=False, project_id=3 or states=[ExperimentState.PAUSED].
        """
        if "states" in filters:
            filters["states"] = [
                f"STATE_{one.value}" if isinstance(one, ExperimentState) else one
                for one in filters["states"]
            ]
        path, by = "/api/v1/experiments", {"sortBy": sort_by, "orderBy": order_by}
        for told in self._session.pages(path, "experiments", **by, **filters):
            yield Experiment(self._session, told)

    def get_trial(self, trial_id: int) -> Trial:
        return Trial(self._session, {"id": trial_id}).reload()

    def get_checkpoint(self, uuid: str) -> Checkpoint:
        told = self._session.get(f"/api/v1/checkpoints/{uuid}")
        return Checkpoint(self._session, told["checkpoint"])

    def create_model(
        self,
        name: str,
        description: str = "",
        metadata: dict[str, Any] | None = None,
        labels: list[str] | None = None,
        workspace_name: str | None = None,
    ) -> Model:
        body: dict[str, Any] = {
            "name": name,
            "description": description,
            "metadata": metadata or {},
            "labels": in_order(labels or []),
        }
        if workspace_name:
            body["workspaceName"] = workspace_name
        return Model(self._session, self._session.post("/api/v1/models", body)["model"])

    def get_model(self, identifier: str | int) -> Model:
        """By name or number."""
        quoted = urllib.parse.quote(str(identifier), safe="")
        return Model(self._session, self._session.get(f"/api/v1/models/{quoted}")["model"])

    def get_models(self, sort_by: Any = None, order_by: Any = None, **filters: Any) -> list[Model]:
        """sort_by: a ModelSortBy. filters: those of GetModels, such as workspace_names=["vision"]."""
        by = {"sortBy": sort_by, "orderBy": order_by}
        found = self._session.pages("/api/v1/models", "models", **by, **filters)
        return [Model(self._session, told) for told in found]

    list_models = get_models

    def get_model_labels(self) -> list[str]:
        """All that models have."""
        return list(self._session.get("/api/v1/model/labels").get("labels") or [])

    def stream_trials_metrics(
        self, trial_ids: list[int], group: str | None = None
    ) -> Iterator[TrialMetrics]:
        """All reports of some trials, or those of a group."""
        return iter_metrics(self._session, trial_ids, group)

    iter_trials_metrics = stream_trials_metrics

    def create_workspace(self, name: str) -> Workspace:
        told = self._session.post("/api/v1/workspaces", {"name": name})
        return Workspace(self._session, told["workspace"])

    def get_workspace(self, identifier: str | int) -> Workspace:
        """By name or number."""
        return _workspace.get_workspace(self._session, identifier)

    def list_workspaces(self, **filters: Any) -> list[Workspace]:
        return _workspace.list_workspaces(self._session, **filters)

    def delete_workspace(self, name: str) -> None:
        self.get_workspace(name).delete()

    def get_project(self, project_id: int) -> Project:
        told = self._session.get(f"/api/v1/projects/{project_id}")
        return Project(self._session, told["project"])

    def list_resource_pools(self) -> list[ResourcePool]:
        found = self._session.pages("/api/v1/resource-pools", "resourcePools")
        return [ResourcePool(self._session, str(told["name"])) for told in found]

    def create_user(
        self, username: str, admin: bool, password: str | None = None, remote: bool = False
    ) -> User:
        """remote: who signs in elsewhere, and has no password here."""
        return _user.create_user(self._session, username, admin, password, remote)

    def get_user_by_id(self, user_id: int) -> User:
        return _user.get_user(self._session, user_id)

    def get_user_by_name(self, user_name: str) -> User:
        return _user.get_user_by_name(self._session, user_name)

    def list_users(self, active: bool | None = None) -> list[User]:
        """active: only these, or only the others."""
        return _user.list_users(self._session, active)

    def whoami(self) -> User:
        return _user.whoami(self._session)

    def get_session_username(self) -> str:
        return self.whoami().username

    def logout(self) -> None:
        """Ends the session; its token is void."""
        self._session.post("/api/v1/auth/logout")
