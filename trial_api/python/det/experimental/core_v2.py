"""The Core API as functions of a module, for scripts that are started by hand as well as by a cluster.

from det.experimental import core_v2
core_v2.init(defaults=core_v2.DefaultConfig(name="mine"))
core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
core_v2.close()

In a task of the cluster it is the context of its trial. Elsewhere metrics are printed and checkpoints
go to `checkpoint_storage`: this cluster keeps no experiments that run elsewhere, and init() says so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from det import core
from det._info import get_cluster_info

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
    """What an experiment is where no configuration says. Off the cluster checkpoint_storage counts; the
    rest is for a cluster that keeps experiments which run elsewhere.
    """

    name: str | None = None
    hparams: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    description: str | None = None
    labels: list[str] | None = None
    checkpoint_storage: str | dict[str, Any] | None = None
    searcher: dict[str, Any] | None = None


@dataclasses.dataclass
class UnmanagedConfig:
    """As which experiment and trial a run elsewhere would be kept."""

    workspace: str | None = None
    project: str | None = None
    external_experiment_id: str | None = None
    external_trial_id: str | None = None


_context: core.Context | None = None


def init(
    *,
    defaults: DefaultConfig | None = None,
    unmanaged: UnmanagedConfig | None = None,
    client: Any = None,
    distributed: core.DistributedContext | None = None,
    checkpoint_storage: str | Mapping[str, Any] | None = None,
    preempt_mode: core.PreemptMode = core.PreemptMode.WorkersAskChief,
    tensorboard_mode: core.TensorboardMode = core.TensorboardMode.AUTO,
) -> None:
    """Opens the context that this module's members are of. Collective.

    Args:
        defaults, unmanaged: of runs off the cluster.
        client: is not asked.
        distributed, checkpoint_storage, preempt_mode, tensorboard_mode: of det.core.init().

    Raises:
        RuntimeError: one is open.
    """
    global _context
    if _context is not None:
        raise RuntimeError("core_v2.init() was called before: call core_v2.close() first")
    storage = checkpoint_storage or (defaults.checkpoint_storage if defaults else None)
    info = get_cluster_info()
    if info is None or info.trial is None:
        _say_where(unmanaged)
    _context = core.init(
        distributed=distributed,
        checkpoint_storage=storage,
        preempt_mode=preempt_mode,
        tensorboard_mode=tensorboard_mode,
    )


def _say_where(unmanaged: UnmanagedConfig | None) -> None:
    wanted = unmanaged.external_experiment_id if unmanaged else None
    print(
        f"WARNING: experiment {wanted or 'of core_v2.init()'} runs outside of the cluster, which does "
        "not keep it: metrics are printed here; det experiment create runs it on the cluster",
        file=sys.stderr,
        flush=True,
    )


@contextlib.contextmanager
def init_context(**arguments: Any) -> Iterator[core.Context]:
    """As init(), for a with-statement, which gives the context."""
    init(**arguments)
    assert _context is not None
    try:
        with _context as context:
            yield context
    finally:
        _forget()


def close() -> None:
    """Waits until all that was reported is kept; the exit of the process does so, too. Nothing where no
    context is open.
    """
    context = _context
    _forget()
    if context is not None:
        context.close()


def _forget() -> None:
    global _context
    _context = None


def __getattr__(name: str) -> Any:
    if name not in _MEMBERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _context is None:
        raise RuntimeError(f"core_v2.{name}: call core_v2.init() first")
    return getattr(_context, name)
