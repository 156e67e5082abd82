"""The SDK: experiments, trials, checkpoints and models from a program or a notebook.

from det.experimental import client
client.login("http://master:8080", user="ann", password="...")
experiment = client.create_experiment("const.yaml", "model_dir")
experiment.wait()
print(experiment.top_checkpoint().download())
"""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
import uuid
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Union

from det.experimental._checkpoint import Checkpoint, CheckpointState, Model, ModelVersion
from det.experimental._context_dir import read_context
from det.experimental._experiment import (
    Experiment,
    ExperimentState,
    Trial,
    TrialMetrics,
    TrialState,
    iter_metrics,
)
from det.experimental._experiment import get_experiment as _get_experiment
from det.experimental._session import Session, connect

__all__ = [
    "Checkpoint",
    "CheckpointState",
    "Determined",
    "Experiment",
    "ExperimentState",
    "Model",
    "ModelVersion",
    "Trial",
    "TrialMetrics",
    "TrialState",
    "create_experiment",
    "create_model",
    "get_checkpoint",
    "get_experiment",
    "get_model",
    "get_models",
    "get_trial",
    "list_experiments",
    "login",
    "stream_trials_metrics",
]

Path = Union[str, "os.PathLike[str]"]


class Determined:
    """One user at one master. Arguments as of login()."""

    def __init__(
        self,
        master: Optional[str] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        cert_path: Optional[str] = None,
        cert_name: Optional[str] = None,
    ) -> None:
        self._session: Session = connect(master, user, password, cert_path, cert_name)

    def create_experiment(
        self,
        config: Union[str, pathlib.Path, Mapping[str, Any]],
        model_dir: Optional[Path] = None,
        includes: Iterable[Path] = (),
        parent_id: Optional[int] = None,
        project_id: Optional[int] = None,
        template: Optional[str] = None,
    ) -> Experiment:
        """Creates and starts one. config: a mapping, or the path of a YAML file. Raises ValueError
        for a directory that does not fit, MasterError for what the master refuses."""
        if isinstance(config, Mapping):
            text, name = json.dumps(config), ""  # JSON is YAML.
        else:
            text, name = pathlib.Path(config).read_text(encoding="utf-8"), str(config)
        body: Dict[str, Any] = {
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

    def list_experiments(self, **filters: Any) -> Iterator[Experiment]:
        """filters: those of GetExperiments, such as name="mnist" or archived=False."""
        for told in self._session.pages("/api/v1/experiments", "experiments", **filters):
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
        metadata: Optional[Dict[str, Any]] = None,
        labels: Optional[List[str]] = None,
        workspace_name: Optional[str] = None,
    ) -> Model:
        body: Dict[str, Any] = {
            "name": name,
            "description": description,
            "metadata": metadata or {},
            "labels": labels or [],
        }
        if workspace_name:
            body["workspaceName"] = workspace_name
        return Model(self._session, self._session.post("/api/v1/models", body)["model"])

    def get_model(self, identifier: Union[str, int]) -> Model:
        """By name or number."""
        quoted = urllib.parse.quote(str(identifier), safe="")
        return Model(self._session, self._session.get(f"/api/v1/models/{quoted}")["model"])

    def get_models(self, **filters: Any) -> List[Model]:
        found = self._session.pages("/api/v1/models", "models", **filters)
        return [Model(self._session, told) for told in found]

    def stream_trials_metrics(
        self, trial_ids: List[int], group: Optional[str] = None
    ) -> Iterator[TrialMetrics]:
        """All reports of some trials, or those of a group."""
        return iter_metrics(self._session, trial_ids, group)


_determined: Optional[Determined] = None


def login(
    master: Optional[str] = None,
    user: Optional[str] = None,
    password: Optional[str] = None,
    cert_path: Optional[str] = None,
    cert_name: Optional[str] = None,
) -> None:
    """Whom the functions below speak for. What is left out is of the environment (DET_MASTER,
    DET_USER, DET_PASS, DET_USER_TOKEN, DET_MASTER_CERT_FILE) or of who is signed in by `det`."""
    global _determined
    _determined = Determined(master, user, password, cert_path, cert_name)


def _default() -> Determined:
    if _determined is None:
        login()
    assert _determined is not None
    return _determined


def create_experiment(
    config: Union[str, pathlib.Path, Mapping[str, Any]],
    model_dir: Optional[Path] = None,
    includes: Iterable[Path] = (),
    parent_id: Optional[int] = None,
    project_id: Optional[int] = None,
    template: Optional[str] = None,
) -> Experiment:
    """See Determined.create_experiment; so for all below."""
    return _default().create_experiment(
        config, model_dir, includes, parent_id, project_id, template
    )


def get_experiment(experiment_id: int) -> Experiment:
    return _default().get_experiment(experiment_id)


def list_experiments(**filters: Any) -> Iterator[Experiment]:
    return _default().list_experiments(**filters)


def get_trial(trial_id: int) -> Trial:
    return _default().get_trial(trial_id)


def get_checkpoint(uuid: str) -> Checkpoint:
    return _default().get_checkpoint(uuid)


def create_model(name: str, description: str = "", **options: Any) -> Model:
    return _default().create_model(name, description, **options)


def get_model(identifier: Union[str, int]) -> Model:
    return _default().get_model(identifier)


def get_models(**filters: Any) -> List[Model]:
    return _default().get_models(**filters)


def stream_trials_metrics(
    trial_ids: List[int], group: Optional[str] = None
) -> Iterator[TrialMetrics]:
    return _default().stream_trials_metrics(trial_ids, group)
