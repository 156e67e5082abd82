"""The Core API as functions of a module, for scripts that run on the cluster and elsewhere.

    from det.experimental import core_v2

    core_v2.init(config=core_v2.Config(name="mine"))
    core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
    core_v2.close()

In a task of the cluster, the functions use the context of its trial. Elsewhere they report to an
experiment that the cluster records but does not run (docs/recorded-runs.md).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Callable

from det import core
from det._info import ClusterInfo, get_cluster_info
from det._types import CheckpointStorage
from det.core import DistributedContext, PreemptMode, TensorboardMode
from det.detached._context import Config, open_context
from det.experimental._session import canonical_url

_MEMBERS = (
    "alert",
    "checkpoint",
    "distributed",
    "info",
    "preempt",
    "profiler",
    "searcher",
    "train",
)


class DefaultConfig(Config):
    """Config, for existing scripts."""


class UnmanagedConfig(Config):
    """Config, for existing scripts, of which only the workspace, project and external IDs are used."""


# The members of the open context, which __getattr__() finds.
alert: Callable[..., None]
checkpoint: core.CheckpointContext
distributed: DistributedContext
info: ClusterInfo | None
preempt: core.PreemptContext
profiler: core.ProfilerContext
searcher: core.SearcherContext
train: core.TrainContext

_context: core.Context | None = None


def init(
    *,
    config: Config | None = None,
    defaults: Config | None = None,
    unmanaged: Config | None = None,
    client: object = None,
    distributed: DistributedContext | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> None:
    """Opens the context whose members this module has. Collective. An open context is closed first.

    Args:
        config: The experiment that records a run outside of the cluster.
        defaults: The same, for existing scripts.
        unmanaged: The workspace, project and external IDs of the experiment, for existing scripts.
        client: Ignored; the user is that of `det user login`, DET_USER_TOKEN, or DET_USER and
            DET_PASS.
        distributed: See det.core.init().
        checkpoint_storage: See det.core.init().
        preempt_mode: See det.core.init().
        tensorboard_mode: See det.core.init().

    Raises:
        ValueError: There is no configuration outside of the cluster.
        MasterError: The master refused the experiment, or does not answer.
    """
    global _context
    close()
    task = get_cluster_info()
    if task is not None and task.trial is not None:
        _context = core.init(
            distributed=distributed,
            checkpoint_storage=checkpoint_storage,
            preempt_mode=preempt_mode,
            tensorboard_mode=tensorboard_mode,
        )
        return
    _context = open_context(
        _merge(config, defaults, unmanaged),
        distributed or DistributedContext.single(),
        checkpoint_storage,
        preempt_mode,
        tensorboard_mode,
    )


def _merge(config: Config | None, defaults: Config | None, unmanaged: Config | None) -> Config:
    merged = config or defaults
    if merged is None:
        raise ValueError("core_v2.init() needs `config` outside of the cluster")
    if config is None and unmanaged is not None:
        for name in ("workspace", "project", "external_experiment_id", "external_trial_id"):
            setattr(merged, name, getattr(merged, name) or getattr(unmanaged, name))
    return merged


@contextlib.contextmanager
def init_context(
    *,
    config: Config | None = None,
    defaults: Config | None = None,
    unmanaged: Config | None = None,
    client: object = None,
    distributed: DistributedContext | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Iterator[core.Context]:
    """Opens a context for the block of a `with` statement. The arguments are those of init().

    Args:
        config: As in init().
        defaults: As in init().
        unmanaged: As in init().
        client: Ignored.
        distributed: As in init().
        checkpoint_storage: As in init().
        preempt_mode: As in init().
        tensorboard_mode: As in init().
    """
    init(
        config=config,
        defaults=defaults,
        unmanaged=unmanaged,
        client=client,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )
    assert _context is not None
    try:
        with _context as context:
            yield context
    finally:
        _forget()


def close() -> None:
    """Waits until the master has every report, and closes the context.

    The exit of the process does that too.

    Does nothing if no context is open.
    """
    context = _context
    _forget()
    if context is not None:
        context.close()


def url_reverse_webui_exp_view() -> str:
    """Returns the address of the experiment's page.

    Raises:
        RuntimeError: No context is open.
    """
    if _context is None or _context.info is None or _context.info.trial is None:
        raise RuntimeError("core_v2.url_reverse_webui_exp_view(): call core_v2.init() first")
    url = canonical_url(_context.info.master_url)
    return f"{url}/det/experiments/{_context.info.trial.experiment_id}"


def _forget() -> None:
    global _context
    _context = None


def __getattr__(name: str) -> object:
    if name not in _MEMBERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _context is None:
        raise RuntimeError(f"core_v2.{name}: call core_v2.init() first")
    return getattr(_context, name)
