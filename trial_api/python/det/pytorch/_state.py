"""What a checkpoint of a PyTorchTrial holds, file by file: see README.md; the files of ranks are
_rank_state.py's."""

from __future__ import annotations

import itertools
import json
import pathlib
import shutil
from typing import Any, Dict, Iterator, List, Optional

from det._errors import CheckpointError
from det.pytorch import _legacy, _parallel, _parts, _snapshot
from det.pytorch._callback import Callbacks
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._schedule import Progress

_MODELS = "models_state_dict"
_OPTIMIZERS = "optimizers_state_dict"
_PROGRESS_FILE = "state.json"


def collect(context: PyTorchTrialContext, callbacks: Callbacks, divided: bool) -> Dict[str, Any]:
    """What the chief saves, under the names that callbacks know; divided: of the state of optimizers
    its part."""
    state: Dict[str, Any] = {
        **_tensors(context, divided),
        "lr_schedulers_state_dict": [s.state_dict() for s in context.lr_schedulers],
        # What schedules with a frequency count.
        "optimizer_steps": [context._optimizer_steps.get(id(o), 0) for o in context.optimizers],
        "callbacks": callbacks.state_dict(),
        "arrival": [_parallel.arrival_of(model) for model in context.models],
    }
    scaler = context.scaler
    if scaler is not None:
        state["scaler_state_dict"] = scaler.state_dict()
    callbacks.call("on_checkpoint_save_start", state)
    return state


def _tensors(context: PyTorchTrialContext, divided: bool) -> Dict[str, Any]:
    chief, strategy = context._ranks.is_chief, context._strategy
    return {
        _MODELS: strategy.models_state() if chief else [],
        _OPTIMIZERS: _parts.own(context) if divided else strategy.optimizers_state(),
    }


def take_tensors(
    snapshot: _snapshot.Snapshot,
    context: PyTorchTrialContext,
    divided: bool,
    state: Optional[Dict[str, Any]] = None,
) -> None:
    """This rank's large files. state: None: the present one."""
    state = state or _tensors(context, divided)
    for i, model in enumerate(state[_MODELS]):
        snapshot.take_model(f"model_{i}.safetensors", model)
    for i, optimizer in enumerate(state[_OPTIMIZERS]):
        snapshot.take_tree(_optimizer_file(i, context._ranks.rank), optimizer)


def _optimizer_file(number: int, rank: int) -> str:
    """With the part of the state that the rank wrote."""
    part = f".rank_{rank}" if rank else ""
    return f"optimizer_{number}{part}.safetensors"


def take(
    snapshot: _snapshot.Snapshot,
    context: PyTorchTrialContext,
    state: Dict[str, Any],
    progress: Progress,
) -> None:
    """The chief's files."""
    take_tensors(snapshot, context, False, state)
    rest = {name: part for name, part in state.items() if name not in (_MODELS, _OPTIMIZERS)}
    snapshot.take_tree("training.safetensors", rest)
    snapshot.take_text(_PROGRESS_FILE, progress.to_json() + "\n")


def read(folder: pathlib.Path) -> Dict[str, Any]:
    """What collect() gave, of a checkpoint of ours or of Determined's."""
    if not (folder / _PROGRESS_FILE).exists():
        return _legacy.read(folder)
    state = dict(_snapshot.read_tree(folder / "training.safetensors"))
    state[_MODELS] = [_snapshot.read_model(path) for path in _all(folder, "model_{}.safetensors")]
    state[_OPTIMIZERS] = []
    for i, path in enumerate(_all(folder, "optimizer_{}.safetensors")):
        optimizer = _snapshot.read_tree(path)
        for part in _all(folder, f"optimizer_{i}.rank_{{}}.safetensors", first=1):
            _parts.add(optimizer, _snapshot.read_tree(part))
        state[_OPTIMIZERS].append(optimizer)
    return state


def _all(folder: pathlib.Path, name: str, first: int = 0) -> Iterator[pathlib.Path]:
    """Those of the numbers from `first` on that are there."""
    paths = (folder / name.format(number) for number in itertools.count(first))
    return itertools.takewhile(pathlib.Path.exists, paths)


def read_progress(folder: pathlib.Path) -> Optional[Progress]:
    """None in a checkpoint of Determined's: of it, weights are taken."""
    path = folder / _PROGRESS_FILE
    if not path.exists():
        return None
    try:
        return Progress.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged: {error!r}") from error


def restore(
    state: Dict[str, Any], context: PyTorchTrialContext, callbacks: Callbacks, where: str
) -> None:
    """Everything that collect() gave."""
    restore_weights(state, context, where, own_options=False)
    schedules = state.get("lr_schedulers_state_dict", [])
    _check_count(len(schedules), len(context.lr_schedulers), "learning-rate schedules", where)
    for scheduler, part in zip(context.lr_schedulers, schedules):
        scheduler.load_state_dict(part)
    for optimizer, count in zip(context.optimizers, state.get("optimizer_steps", [])):
        context._optimizer_steps[id(optimizer)] = count
    scaler = context.scaler
    if scaler is not None and "scaler_state_dict" in state:
        scaler.load_state_dict(state["scaler_state_dict"])
    callbacks.load_state_dict(state.get("callbacks", {}))
    for model, order in zip(context.models, state.get("arrival", [])):
        _parallel.arrange(model, order)


def restore_weights(
    state: Dict[str, Any], context: PyTorchTrialContext, where: str, own_options: bool = True
) -> None:
    """Weights, and the state of optimizers; own_options: which keep their own learning rate.

    Raises:
        CheckpointError: it is of another model; says what does not fit.
    """
    _check_count(len(state[_MODELS]), len(context.models), "models", where)
    _check_count(len(state[_OPTIMIZERS]), len(context.optimizers), "optimizers", where)
    for model, part in zip(context.models, state[_MODELS]):
        try:
            context._strategy.load_model(model, _legacy.without_prefix(part))
        except RuntimeError as error:
            raise CheckpointError(f"{where} does not fit this trial: {error}") from error
    for optimizer, part in zip(context.optimizers, state[_OPTIMIZERS]):
        own = [_options(group) for group in optimizer.param_groups]
        try:
            context._strategy.load_optimizer(optimizer, part)
        except ValueError as error:
            raise CheckpointError(f"{where} does not fit this trial: {error}") from error
        for group, options in zip(optimizer.param_groups, own if own_options else []):
            group.update(options)
    context._strategy.loaded()


def _options(group: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _check_count(found: int, wanted: int, what: str, where: str) -> None:
    if found != wanted:
        raise CheckpointError(f"{where} has {found} {what}, this trial wraps {wanted}")


def write_origin(
    folder: pathlib.Path, context: PyTorchTrialContext, trial: Any, kind: str = "PyTorchTrial"
) -> None:
    """What it takes to build the Trial again."""
    cls = type(trial)
    told = {
        "trial_type": kind,
        "experiment_config": context.get_experiment_config(),
        "hparams": context.get_hparams(),
        "trial_cls_spec": f"{cls.__module__}:{cls.__qualname__}",
        "is_trainer": True,
    }
    text = json.dumps(told, indent=2, default=str)
    (folder / "load_data.json").write_text(text, encoding="utf-8")
    info = context._core.info
    source = pathlib.Path(info.run_dir, "determined", "train", "model") if info else None
    if source is not None and info.run_dir and source.is_dir():
        shutil.copytree(source, folder / "code", ignore=_no_files)


def _no_files(folder: str, names: List[str]) -> List[str]:
    """Links, which lead nowhere elsewhere (to data, as a rule), and what a checkpoint cannot hold
    either."""
    return [name for name in names if not _is_plain(pathlib.Path(folder, name))]


def _is_plain(path: pathlib.Path) -> bool:
    return not path.is_symlink() and (path.is_file() or path.is_dir())
