"""The task that this process belongs to, and its cluster."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib

from det._master import Master, read_retry_timeout
from det._types import JsonObject


@dataclasses.dataclass
class TrialInfo:
    """The trial that this process belongs to.

    Attributes:
        trial_id: The ID of the trial.
        experiment_id: The ID of its experiment.
        trial_run_id: The number of this attempt; it grows with each restart.
        trial_seed: The seed of the trial's random numbers.
        hparams: The hyperparameters.
        config: The complete configuration of the experiment.
        steps_completed: The number of steps at the latest checkpoint; 0 on a warm start.
        warm_start: Whether the latest checkpoint belongs to another trial.
        validate_at: The lengths at which the search compares trials; see docs/task_environment.md.
        checkpoint_dir: The directory of the checkpoints; empty if they are in a bucket.
    """

    trial_id: int
    experiment_id: int
    trial_run_id: int
    trial_seed: int
    hparams: JsonObject
    config: JsonObject
    steps_completed: int = 0
    warm_start: bool = False
    validate_at: list[int] = dataclasses.field(default_factory=list)
    checkpoint_dir: str = ""

    @property
    def _config(self) -> JsonObject:
        return self.config


@dataclasses.dataclass
class Rendezvous:
    """The nodes of an allocation, in the order of their ranks.

    Attributes:
        addresses: The address of each node.
        slots: The number of slots of each node.
        rank: The index of this node.
    """

    addresses: list[str]
    slots: list[int]
    rank: int


@dataclasses.dataclass
class ClusterInfo:
    """The task that this process belongs to.

    Attributes:
        master_url: The URL of the master.
        cluster_id: The ID of the cluster.
        agent_id: The ID of the agent that runs this process.
        slot_ids: The IDs of the slots of this node.
        task_id: The ID of the task.
        allocation_id: The ID of the task's allocation.
        session_token: The token of the allocation.
        task_type: The type of the task, for example "TRIAL".
        latest_checkpoint: The UUID of the checkpoint to start from; None if there is none.
        trial: The trial; None if the task is not a trial.
        gpu_uuids: The UUIDs of the GPUs of this node.
        master_cert_file: A PEM file with the CA certificates of the master; None: the system's.
        master_cert_name: The name in the master's certificate, if it differs from the host name.
        masters: The URLs of all masters that share the database.
        run_dir: The directory of this local task.
        cache_dir: A directory that the tasks of this node share.
    """

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
    def user_data(self) -> JsonObject:
        """The `data` section of the configuration."""
        data = self.trial.config.get("data") if self.trial else None
        return dict(data or {})

    @property
    def container_addrs(self) -> list[str]:
        """The address of each node of the allocation."""
        return self.rendezvous().addresses

    @property
    def container_rank(self) -> int:
        """The index of this node."""
        return self.rendezvous().rank

    @property
    def container_slot_counts(self) -> list[int]:
        """The number of slots of each node."""
        return self.rendezvous().slots

    def rendezvous(self) -> Rendezvous:
        """Waits until all nodes of the allocation have started. Asks the master at most once.

        Raises:
            MasterError: The master does not answer, or has ended this attempt.
        """
        known = os.environ.get("DET_RENDEZVOUS")  # The launcher sets it for its ranks.
        if known is None:
            with connect_to_master(self) as master:
                known = json.dumps(master.rendezvous())
            os.environ["DET_RENDEZVOUS"] = known
        nodes = json.loads(known)
        return Rendezvous(
            addresses=list(nodes["addresses"]),
            slots=[int(slots) for slots in nodes["slots"]],
            rank=int(nodes.get("rank", 0)),
        )


def connect_to_master(info: ClusterInfo) -> Master:
    """Returns a new connection to the master that uses the token of the task."""
    return Master(
        [info.master_url] + [url for url in info.masters if url != info.master_url],
        {"Authorization": f"Bearer {info.session_token}"},
        info.master_cert_file,
        info.master_cert_name,
        read_retry_timeout(),
        task=True,
        allocation=info.allocation_id,
        resources=os.environ.get("DET_RESOURCES_ID", info.agent_id),
    )


_info: ClusterInfo | None = None


def get_cluster_info() -> ClusterInfo | None:
    """Returns the task that this process belongs to; None off the cluster."""
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
    """Reads the file that the agent wrote: a configuration may be too long for a variable."""
    path = pathlib.Path(os.environ.get("DET_RUN_DIR", "/run/determined"), "info", "trial.json")
    data: JsonObject = {}
    if path.exists():
        data = json.loads(path.read_text(encoding="utf-8"))
    env = os.environ
    return TrialInfo(
        trial_id=int(data.get("trial_id") or env["DET_TRIAL_ID"]),
        experiment_id=int(data.get("experiment_id") or env["DET_EXPERIMENT_ID"]),
        trial_run_id=int(data.get("trial_run_id", env.get("DET_TRIAL_RUN_ID", 0))),
        trial_seed=int(data.get("trial_seed", env.get("DET_TRIAL_SEED", 0))),
        hparams=data.get("hparams") or json.loads(env.get("DET_HPARAMS", "{}")),
        config=data.get("config") or json.loads(env.get("DET_EXPERIMENT_CONFIG", "{}")),
        steps_completed=int(data.get("steps_completed", env.get("DET_STEPS_COMPLETED", 0))),
        warm_start=bool(data.get("warm_start", False)),
        validate_at=[int(at) for at in data.get("validate_at") or []],
        checkpoint_dir=data.get("checkpoint_dir") or "",
    )
