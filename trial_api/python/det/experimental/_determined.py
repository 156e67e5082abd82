"""The operations of one user at one master."""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Union, cast

from det._types import Json, JsonMapping
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
from det.experimental._order import ExperimentSortBy, ModelSortBy, OrderBy, in_order
from det.experimental._session import Session, connect
from det.experimental._user import User
from det.experimental._workspace import Project, ResourcePool, Workspace

Path = Union[str, "os.PathLike[str]"]


class Determined:
    """One user at one master.

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
        config: str | pathlib.Path | JsonMapping,
        model_dir: Path | None = None,
        includes: Iterable[Path] = (),
        parent_id: int | None = None,
        project_id: int | None = None,
        template: str | None = None,
    ) -> Experiment:
        """Creates and starts an experiment.

        Args:
            config: The configuration: a mapping, or the path of a YAML file.
            model_dir: The context directory.
            includes: More files and directories for the context.
            parent_id: The experiment that this one is forked from.
            project_id: The project. Default: as the configuration says.
            template: The name of a template that the configuration is merged with.

        Returns:
            The experiment.

        Raises:
            ValueError: The context directory is invalid or too large.
            MasterError: The master refused the experiment.
        """
        if isinstance(config, Mapping):
            text, name = json.dumps(config), ""  # JSON is YAML.
        else:
            text, name = pathlib.Path(config).read_text(encoding="utf-8"), str(config)
        body: dict[str, Json] = {
            "config": text,
            "configPath": name,
            "activate": True,
            "requestId": str(uuid.uuid4()),
            "modelDefinition": cast(Json, read_context(model_dir, includes)) if model_dir else [],
            "parentId": parent_id or 0,
            "projectId": project_id or 0,
            "template": template or "",
        }
        data = self._session.post("/api/v1/experiments", body)
        return _get_experiment(self._session, int(data["experiment"]["id"]))

    def get_experiment(self, experiment_id: int) -> Experiment:
        """Returns an experiment by its ID.

        Args:
            experiment_id: The ID of the experiment.

        Returns:
            The experiment.

        Raises:
            MasterError: It does not exist (status 404).
        """
        return _get_experiment(self._session, experiment_id)

    def list_experiments(
        self,
        sort_by: ExperimentSortBy | None = None,
        order_by: OrderBy | None = None,
        *,
        states: Iterable[ExperimentState | str] | None = None,
        **filters: object,
    ) -> Iterator[Experiment]:
        """Yields experiments.

        Args:
            sort_by: An ExperimentSortBy.
            order_by: An OrderBy.
            states: The states of the experiments. Default: all states.
            **filters: The other filters of GetExperiments, for example name="mnist",
                archived=False or project_id=3.
        """
        if states is not None:
            filters["states"] = [
                f"STATE_{one.value}" if isinstance(one, ExperimentState) else one for one in states
            ]
        path = "/api/v1/experiments"
        by: dict[str, object] = {"sortBy": sort_by, "orderBy": order_by}
        for data in self._session.pages(path, "experiments", **by, **filters):
            yield Experiment(self._session, data)

    def get_trial(self, trial_id: int) -> Trial:
        """Returns a trial by its ID.

        Args:
            trial_id: The ID of the trial.

        Returns:
            The trial.

        Raises:
            MasterError: It does not exist (status 404).
        """
        return Trial(self._session, {"id": trial_id}).reload()

    def get_checkpoint(self, uuid: str) -> Checkpoint:
        """Returns a checkpoint by its UUID.

        Args:
            uuid: The UUID of the checkpoint.

        Returns:
            The checkpoint.

        Raises:
            MasterError: It does not exist (status 404).
        """
        data = self._session.get(f"/api/v1/checkpoints/{uuid}")
        return Checkpoint(self._session, data["checkpoint"])

    def create_model(
        self,
        name: str,
        description: str = "",
        metadata: Mapping[str, Json] | None = None,
        labels: list[str] | None = None,
        workspace_name: str | None = None,
    ) -> Model:
        """Registers a model.

        Args:
            name: The name.
            description: The description.
            metadata: The metadata.
            labels: The labels.
            workspace_name: The workspace. Default: the default workspace.

        Returns:
            The model, without versions.

        Raises:
            MasterError: The name is taken, or the workspace does not exist.
        """
        body: dict[str, Json] = {
            "name": name,
            "description": description,
            "metadata": metadata or {},
            "labels": in_order(labels or []),
        }
        if workspace_name:
            body["workspaceName"] = workspace_name
        return Model(self._session, self._session.post("/api/v1/models", body)["model"])

    def get_model(self, identifier: str | int) -> Model:
        """Returns a model by its name or ID.

        Args:
            identifier: The name or the ID of the model.

        Returns:
            The model.

        Raises:
            MasterError: It does not exist (status 404).
        """
        quoted = urllib.parse.quote(str(identifier), safe="")
        return Model(self._session, self._session.get(f"/api/v1/models/{quoted}")["model"])

    def get_models(
        self, sort_by: ModelSortBy | None = None, order_by: OrderBy | None = None, **filters: object
    ) -> list[Model]:
        """Returns models.

        Args:
            sort_by: A ModelSortBy.
            order_by: An OrderBy.
            **filters: The filters of GetModels, for example workspace_names=["vision"].
        """
        by = {"sortBy": sort_by, "orderBy": order_by}
        found = self._session.pages("/api/v1/models", "models", **by, **filters)
        return [Model(self._session, data) for data in found]

    list_models = get_models

    def get_model_labels(self) -> list[str]:
        """Returns the labels of all models."""
        return list(self._session.get("/api/v1/model/labels").get("labels") or [])

    def stream_trials_metrics(
        self, trial_ids: list[int], group: str | None = None
    ) -> Iterator[TrialMetrics]:
        """Yields the metric reports of trials.

        Args:
            trial_ids: The IDs of the trials.
            group: The group of the metrics; None: all groups.
        """
        return iter_metrics(self._session, trial_ids, group)

    iter_trials_metrics = stream_trials_metrics

    def create_workspace(self, name: str) -> Workspace:
        """Creates a workspace.

        Args:
            name: The name of the workspace.

        Returns:
            The workspace.

        Raises:
            MasterError: The master refused the name, for example because it is taken.
        """
        data = self._session.post("/api/v1/workspaces", {"name": name})
        return Workspace(self._session, data["workspace"])

    def get_workspace(self, identifier: str | int) -> Workspace:
        """Returns a workspace by its name or ID.

        Args:
            identifier: The name or the ID of the workspace.

        Returns:
            The workspace.

        Raises:
            MasterError: It does not exist (status 404).
        """
        return _workspace.get_workspace(self._session, identifier)

    def list_workspaces(self, **filters: object) -> list[Workspace]:
        """Returns workspaces.

        Args:
            **filters: The filters of GetWorkspaces, for example archived=False.
        """
        return _workspace.list_workspaces(self._session, **filters)

    def delete_workspace(self, name: str) -> None:
        """Deletes a workspace by its name. See Workspace.delete().

        Args:
            name: The name of the workspace.

        Raises:
            MasterError: The workspace does not exist (status 404), or cannot be deleted.
        """
        self.get_workspace(name).delete()

    def get_project(self, project_id: int) -> Project:
        """Returns a project by its ID.

        Args:
            project_id: The ID of the project.

        Returns:
            The project.

        Raises:
            MasterError: It does not exist (status 404).
        """
        data = self._session.get(f"/api/v1/projects/{project_id}")
        return Project(self._session, data["project"])

    def list_resource_pools(self) -> list[ResourcePool]:
        """Returns all resource pools."""
        found = self._session.pages("/api/v1/resource-pools", "resourcePools")
        return [ResourcePool(self._session, str(data["name"])) for data in found]

    def create_user(
        self, username: str, admin: bool, password: str | None = None, remote: bool = False
    ) -> User:
        """Creates a user.

        Args:
            username: The name.
            admin: Whether the user is an administrator.
            password: The password.
            remote: Whether the user logs in through another service and has no password here.

        Returns:
            The user.

        Raises:
            MasterError: The name is taken, or the caller is not an administrator.
        """
        return _user.create_user(self._session, username, admin, password, remote)

    def get_user_by_id(self, user_id: int) -> User:
        """Returns a user by their ID.

        Args:
            user_id: The ID of the user.

        Returns:
            The user.

        Raises:
            MasterError: The user does not exist (status 404).
        """
        return _user.get_user(self._session, user_id)

    def get_user_by_name(self, user_name: str) -> User:
        """Returns a user by their name.

        Args:
            user_name: The name of the user.

        Returns:
            The user.

        Raises:
            MasterError: The user does not exist (status 404).
        """
        return _user.get_user_by_name(self._session, user_name)

    def list_users(self, active: bool | None = None) -> list[User]:
        """Returns users; with `active` only those that are active, or only those that are not.

        Args:
            active: True: only active users; False: only inactive ones; None: all users.

        Returns:
            The users.
        """
        return _user.list_users(self._session, active)

    def whoami(self) -> User:
        """Returns the user of this session."""
        return _user.whoami(self._session)

    def get_session_username(self) -> str:
        """Returns the name of the user of this session."""
        return self.whoami().username

    def logout(self) -> None:
        """Ends the session and revokes its token."""
        self._session.post("/api/v1/auth/logout")
