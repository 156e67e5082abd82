"""The Core API as functions of a module, for scripts that run on the cluster and elsewhere.

    from det.experimental import core_v2

    core_v2.init(defaults=core_v2.DefaultConfig(name="mine"))
    core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
    core_v2.close()

In a task of the cluster, the functions use the context of its trial. Elsewhere metrics are printed
and checkpoints are stored in `checkpoint_storage`: the cluster does not record experiments that run
elsewhere, and init() prints a warning about that.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Callable

from det import core
from det._info import ClusterInfo, get_cluster_info
from det._types import CheckpointStorage, JsonObject

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


@dataclasses.dataclass
class DefaultConfig:
    """The configuration of an experiment that runs off the cluster.

    Only checkpoint_storage is used.

    Attributes:
        name: The name of the experiment.
        hparams: The hyperparameters.
        data: The data section.
        description: The description.
        labels: The labels.
        checkpoint_storage: The checkpoint storage, as for det.core.init().
        searcher: The searcher section.
    """

    name: str | None = None
    hparams: JsonObject | None = None
    data: JsonObject | None = None
    description: str | None = None
    labels: list[str] | None = None
    checkpoint_storage: str | JsonObject | None = None
    searcher: JsonObject | None = None


@dataclasses.dataclass
class UnmanagedConfig:
    """The experiment and trial to record a run elsewhere as. The cluster does not support it.

    Attributes:
        workspace: The workspace.
        project: The project.
        external_experiment_id: The ID of the experiment in another system.
        external_trial_id: The ID of the trial in another system.
    """

    workspace: str | None = None
    project: str | None = None
    external_experiment_id: str | None = None
    external_trial_id: str | None = None


# The members of the open context, which __getattr__() finds.
alert: Callable[..., None]
checkpoint: core.CheckpointContext
distributed: core.DistributedContext
info: ClusterInfo | None
preempt: core.PreemptContext
profiler: core.ProfilerContext
searcher: core.SearcherContext
train: core.TrainContext

_context: core.Context | None = None


def init(
    *,
    defaults: DefaultConfig | None = None,
    unmanaged: UnmanagedConfig | None = None,
    client: object = None,
    distributed: core.DistributedContext | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    preempt_mode: core.PreemptMode = core.PreemptMode.WorkersAskChief,
    tensorboard_mode: core.TensorboardMode = core.TensorboardMode.AUTO,
) -> None:
    """Opens the context whose members this module has. Collective.

    Args:
        defaults: The configuration off the cluster.
        unmanaged: The experiment to record a run off the cluster as.
        client: Ignored.
        distributed: See det.core.init().
        checkpoint_storage: See det.core.init().
        preempt_mode: See det.core.init().
        tensorboard_mode: See det.core.init().

    Raises:
        RuntimeError: A context is open.
    """
    global _context
    if _context is not None:
        raise RuntimeError("core_v2.init() was called before: call core_v2.close() first")
    storage = checkpoint_storage or (defaults.checkpoint_storage if defaults else None)
    info = get_cluster_info()
    if info is None or info.trial is None:
        _warn_unmanaged(unmanaged)
    _context = core.init(
        distributed=distributed,
        checkpoint_storage=storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )


def _warn_unmanaged(unmanaged: UnmanagedConfig | None) -> None:
    name = unmanaged.external_experiment_id if unmanaged else None
    print(
        f"WARNING: experiment {name or 'of core_v2.init()'} runs outside the cluster, which does "
        "not record it: metrics are printed here; to run it on the cluster, use det experiment create",
        file=sys.stderr,
        flush=True,
    )


@contextlib.contextmanager
def init_context(
    *,
    defaults: DefaultConfig | None = None,
    unmanaged: UnmanagedConfig | None = None,
    client: object = None,
    distributed: core.DistributedContext | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    preempt_mode: core.PreemptMode = core.PreemptMode.WorkersAskChief,
    tensorboard_mode: core.TensorboardMode = core.TensorboardMode.AUTO,
) -> Iterator[core.Context]:
    """Opens a context for the block of a `with` statement. The arguments are those of init().

    Args:
        defaults: As in init().
        unmanaged: As in init().
        client: Ignored.
        distributed: As in init().
        checkpoint_storage: As in init().
        preempt_mode: As in init().
        tensorboard_mode: As in init().
    """
    init(
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


def _forget() -> None:
    global _context
    _context = None


def __getattr__(name: str) -> object:
    if name not in _MEMBERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _context is None:
        raise RuntimeError(f"core_v2.{name}: call core_v2.init() first")
    return getattr(_context, name)
