"""What a process of a task is told about itself and its cluster."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from typing import Any

from det._master import Master, patience_of_task


@dataclasses.dataclass
class TrialInfo:
    """The trial that this process is of.

    hparams and config are those of the experiment's configuration, which is complete.
    steps_completed: how far the trial was at its newest checkpoint, 0 on a warm start.
    validate_at: lengths at which a search compares trials, see docs/task_environment.md.
    """

    trial_id: int
    experiment_id: int
    trial_run_id: int
    trial_seed: int
    hparams: dict[str, Any]
    config: dict[str, Any]
    steps_completed: int = 0
    warm_start: bool = False
    validate_at: list[int] = dataclasses.field(default_factory=list)
    checkpoint_dir: str = ""

    @property
    def _config(self) -> dict[str, Any]:
        return self.config


@dataclasses.dataclass
class Rendezvous:
    """The nodes of an allocation, in the order of their ranks, and which of them this one is."""

    addresses: list[str]
    slots: list[int]
    rank: int


@dataclasses.dataclass
class ClusterInfo:
    """The task that this process is of. trial is None in a task that is none."""

    master_url: str
    cluster_id: str
    agent_id: str
    slot_ids: list[int]
    task_id: str
    allocation_id: str
    session_token: str
    task_type: str
    latest_checkpoint: str | None
    trial: TrialInfo | None
    gpu_uuids: list[str]
    master_cert_file: str | None = None
    master_cert_name: str | None = None
    masters: list[str] = dataclasses.field(default_factory=list)
    run_dir: str = ""
    cache_dir: str = ""

    @property
    def user_data(self) -> dict[str, Any]:
        """`data` of the configuration."""
        data = self.trial.config.get("data") if self.trial else None
        return dict(data or {})

    @property
    def container_addrs(self) -> list[str]:
        return self.rendezvous().addresses

    @property
    def container_rank(self) -> int:
        return self.rendezvous().rank

    @property
    def container_slot_counts(self) -> list[int]:
        return self.rendezvous().slots

    def rendezvous(self) -> Rendezvous:
        """Asks the master, once, and waits until all nodes of the allocation have started."""
        known = os.environ.get("DET_RENDEZVOUS")  # Of the launcher, for its ranks.
        if known is None:
            with connect_to_master(self) as master:
                known = json.dumps(master.rendezvous())
            os.environ["DET_RENDEZVOUS"] = known
        told = json.loads(known)
        return Rendezvous(
            addresses=list(told["addresses"]),
            slots=[int(slots) for slots in told["slots"]],
            rank=int(told.get("rank", 0)),
        )


def connect_to_master(info: ClusterInfo) -> Master:
    """Returns a connection of its own to the master, with the token of the task."""
    return Master(
        [info.master_url] + [url for url in info.masters if url != info.master_url],
        {"Authorization": f"Bearer {info.session_token}"},
        info.master_cert_file,
        info.master_cert_name,
        patience_of_task(),
        task=True,
        allocation=info.allocation_id,
        resources=os.environ.get("DET_RESOURCES_ID", info.agent_id),
    )


_info: ClusterInfo | None = None


def get_cluster_info() -> ClusterInfo | None:
    """What this process is told; None off the cluster."""
    global _info
    if _info is None and os.environ.get("DET_MASTER") and os.environ.get("DET_ALLOCATION_ID"):
        _info = _read()
    return _info


def _read() -> ClusterInfo:
    env = os.environ
    trial = _read_trial() if env.get("DET_TRIAL_ID") else None
    masters = [url for url in env.get("DET_MASTERS", "").split(",") if url]
    return ClusterInfo(
        master_url=env["DET_MASTER"],
        cluster_id=env.get("DET_CLUSTER_ID", ""),
        agent_id=env.get("DET_AGENT_ID", ""),
        slot_ids=[int(slot) for slot in json.loads(env.get("DET_SLOT_IDS", "[]"))],
        task_id=env.get("DET_TASK_ID", ""),
        allocation_id=env["DET_ALLOCATION_ID"],
        session_token=env.get("DET_SESSION_TOKEN", ""),
        task_type=env.get("DET_TASK_TYPE", "TRIAL"),
        latest_checkpoint=env.get("DET_LATEST_CHECKPOINT") or None,
        trial=trial,
        gpu_uuids=[u for u in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if u],
        master_cert_file=env.get("DET_MASTER_CERT_FILE"),
        master_cert_name=env.get("DET_MASTER_CERT_NAME"),
        masters=masters or [env["DET_MASTER"]],
        run_dir=env.get("DET_RUN_DIR", ""),
        cache_dir=env.get("DET_CACHE_DIR", ""),
    )


def _read_trial() -> TrialInfo:
    """From the file that the agent wrote: a configuration may be too long for a variable."""
    path = pathlib.Path(os.environ.get("DET_RUN_DIR", "/run/determined"), "info", "trial.json")
    told: dict[str, Any] = {}
    if path.exists():
        told = json.loads(path.read_text(encoding="utf-8"))
    env = os.environ
    return TrialInfo(
        trial_id=int(told.get("trial_id") or env["DET_TRIAL_ID"]),
        experiment_id=int(told.get("experiment_id") or env["DET_EXPERIMENT_ID"]),
        trial_run_id=int(told.get("trial_run_id", env.get("DET_TRIAL_RUN_ID", 0))),
        trial_seed=int(told.get("trial_seed", env.get("DET_TRIAL_SEED", 0))),
        hparams=told.get("hparams") or json.loads(env.get("DET_HPARAMS", "{}")),
        config=told.get("config") or json.loads(env.get("DET_EXPERIMENT_CONFIG", "{}")),
        steps_completed=int(told.get("steps_completed", env.get("DET_STEPS_COMPLETED", 0))),
        warm_start=bool(told.get("warm_start", False)),
        validate_at=[int(at) for at in told.get("validate_at") or []],
        checkpoint_dir=told.get("checkpoint_dir") or "",
    )
