"""The content of a PyTorchTrial's checkpoint except the files of ranks; see README.md."""

from __future__ import annotations

import itertools
import json
import pathlib
import shutil
from collections.abc import Iterator

from det._errors import CheckpointError
from det.pytorch.state.determined_format import read_determined_checkpoint, strip_module_prefix
from det.pytorch.state.optimizer_partition import collect_partition, merge_partition
from det.pytorch.state.snapshot import Snapshot, read_model, read_tree
from det.pytorch.strategies.data_parallel import get_gradient_order, restore_gradient_order
from det.pytorch.trial.callbacks import CallbackList
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.progress import Progress
from det.pytorch.utilities.types import StateDict

_MODELS = "models_state_dict"
_OPTIMIZERS = "optimizers_state_dict"
_PROGRESS_FILE = "state.json"


def collect_state(
    context: PyTorchTrialContext, callbacks: CallbackList, partitioned: bool
) -> StateDict:
    """Returns what the chief saves, with the names that callbacks know.

    Args:
        context: The Trial's context.
        callbacks: The Trial's callbacks; on_checkpoint_save_start() is called.
        partitioned: Whether the chief saves only its part of the optimizer state.
    """
    state: StateDict = {
        **_collect_tensors(context, partitioned),
        "lr_schedulers_state_dict": [s.state_dict() for s in context.lr_schedulers],
        # Schedules with a frequency count optimizer steps.
        "optimizer_steps": [context._optimizer_steps.get(id(o), 0) for o in context.optimizers],
        "callbacks": callbacks.state_dict(),
        "arrival": [get_gradient_order(model) for model in context.models],
    }
    scaler = context.scaler
    if scaler is not None:
        state["scaler_state_dict"] = scaler.state_dict()
    callbacks.call("on_checkpoint_save_start", state)
    return state


def _collect_tensors(context: PyTorchTrialContext, partitioned: bool) -> StateDict:
    is_chief, strategy = context._process_group.is_chief, context._strategy
    return {
        _MODELS: strategy.model_state_dicts() if is_chief else [],
        _OPTIMIZERS: (
            collect_partition(context) if partitioned else strategy.optimizer_state_dicts()
        ),
    }


def take_tensors(
    snapshot: Snapshot,
    context: PyTorchTrialContext,
    partitioned: bool,
    state: StateDict | None = None,
) -> None:
    """Adds this rank's files of models and optimizers.

    Args:
        snapshot: Gets the files.
        context: The Trial's context.
        partitioned: Whether this rank saves only its part of the optimizer state.
        state: What collect_state() returned; None collects it.
    """
    state = state or _collect_tensors(context, partitioned)
    for i, model in enumerate(state[_MODELS]):
        snapshot.take_model(f"model_{i}.safetensors", model)
    for i, optimizer in enumerate(state[_OPTIMIZERS]):
        snapshot.take_tree(_optimizer_file_name(i, context._process_group.rank), optimizer)


def _optimizer_file_name(number: int, rank: int) -> str:
    """Returns the name of the file with a rank's part of the state."""
    part = f".rank_{rank}" if rank else ""
    return f"optimizer_{number}{part}.safetensors"


def take_chief_files(
    snapshot: Snapshot, context: PyTorchTrialContext, state: StateDict, progress: Progress
) -> None:
    """Adds the chief's files for what collect_state() returned."""
    take_tensors(snapshot, context, False, state)
    rest = {name: part for name, part in state.items() if name not in (_MODELS, _OPTIMIZERS)}
    snapshot.take_tree("training.safetensors", rest)
    snapshot.take_text(_PROGRESS_FILE, progress.to_json() + "\n")


def read_checkpoint(folder: pathlib.Path) -> StateDict:
    """Returns what collect_state() returned when the checkpoint was saved, here or by Determined.

    Raises:
        CheckpointError: If the folder is not a checkpoint of a PyTorchTrial.
        DamagedFileError: If a file is damaged.
    """
    if not (folder / _PROGRESS_FILE).exists():
        return read_determined_checkpoint(folder)
    state = dict(read_tree(folder / "training.safetensors"))
    state[_MODELS] = [read_model(path) for path in _list_files(folder, "model_{}.safetensors")]
    state[_OPTIMIZERS] = []
    for i, path in enumerate(_list_files(folder, "optimizer_{}.safetensors")):
        optimizer = read_tree(path)
        for part in _list_files(folder, f"optimizer_{i}.rank_{{}}.safetensors", first=1):
            merge_partition(optimizer, read_tree(part))
        state[_OPTIMIZERS].append(optimizer)
    return state


def _list_files(folder: pathlib.Path, pattern: str, first: int = 0) -> Iterator[pathlib.Path]:
    """Yields the existing files with the numbers `first`, `first` + 1, ..."""
    paths = (folder / pattern.format(number) for number in itertools.count(first))
    return itertools.takewhile(pathlib.Path.exists, paths)


def read_progress(folder: pathlib.Path) -> Progress | None:
    """Returns how far training was, or None for a checkpoint of Determined.

    Raises:
        CheckpointError: If the file is damaged.
    """
    path = folder / _PROGRESS_FILE
    if not path.exists():
        return None
    try:
        return Progress.from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged: {error!r}") from error


def restore_checkpoint(
    state: StateDict, context: PyTorchTrialContext, callbacks: CallbackList, where: str
) -> None:
    """Restores what read_checkpoint() returned. Collective.

    Args:
        state: The state.
        context: The Trial's context.
        callbacks: The Trial's callbacks.
        where: The name of the checkpoint, for errors.

    Raises:
        CheckpointError: If it is of another model; the message says what does not fit.
    """
    restore_weights(state, context, where, keep_options=False)
    schedules = state.get("lr_schedulers_state_dict", [])
    _check_count(len(schedules), len(context.lr_schedulers), "learning-rate schedulers", where)
    for scheduler, part in zip(context.lr_schedulers, schedules):
        scheduler.load_state_dict(part)
    for optimizer, count in zip(context.optimizers, state.get("optimizer_steps", [])):
        context._optimizer_steps[id(optimizer)] = count
    scaler = context.scaler
    if scaler is not None and "scaler_state_dict" in state:
        scaler.load_state_dict(state["scaler_state_dict"])
    callbacks.load_state_dict(state.get("callbacks", {}))
    for model, order in zip(context.models, state.get("arrival", [])):
        restore_gradient_order(model, order)


def restore_weights(
    state: StateDict, context: PyTorchTrialContext, where: str, keep_options: bool = True
) -> None:
    """Restores weights and optimizer state. Collective.

    Args:
        state: What read_checkpoint() returned.
        context: The Trial's context.
        where: The name of the checkpoint, for errors.
        keep_options: Whether optimizers keep their own options, such as the learning rate.

    Raises:
        CheckpointError: If it is of another model; the message says what does not fit.
    """
    _check_count(len(state[_MODELS]), len(context.models), "models", where)
    _check_count(len(state[_OPTIMIZERS]), len(context.optimizers), "optimizers", where)
    for model, part in zip(context.models, state[_MODELS]):
        try:
            context._strategy.load_model(model, strip_module_prefix(part))
        except RuntimeError as error:
            raise CheckpointError(f"{where} does not fit this trial: {error}") from error
    for optimizer, part in zip(context.optimizers, state[_OPTIMIZERS]):
        own = [_get_options(group) for group in optimizer.param_groups]
        try:
            context._strategy.load_optimizer(optimizer, part)
        except ValueError as error:
            raise CheckpointError(f"{where} does not fit this trial: {error}") from error
        for group, options in zip(optimizer.param_groups, own if keep_options else []):
            group.update(options)
    context._strategy.after_load()


def _get_options(group: StateDict) -> StateDict:
    return {name: value for name, value in group.items() if name != "params"}


def _check_count(found: int, expected: int, what: str, where: str) -> None:
    if found != expected:
        raise CheckpointError(f"{where} has {found} {what}, and this trial wraps {expected}")


def write_load_data(
    folder: pathlib.Path,
    context: PyTorchTrialContext,
    trial: object,
    trial_type: str = "PyTorchTrial",
) -> None:
    """Writes what load_trial_from_checkpoint_path() needs to create the Trial: load_data.json, code/."""
    cls = type(trial)
    load_data = {
        "trial_type": trial_type,
        "experiment_config": context.get_experiment_config(),
        "hparams": context.get_hparams(),
        "trial_cls_spec": f"{cls.__module__}:{cls.__qualname__}",
        "is_trainer": True,
    }
    text = json.dumps(load_data, indent=2, default=str)
    (folder / "load_data.json").write_text(text, encoding="utf-8")
    info = context._core.info
    if info is None or not info.run_dir:
        return
    source = pathlib.Path(info.run_dir, "determined", "train", "model")
    if source.is_dir():
        shutil.copytree(source, folder / "code", ignore=_list_ignored)


def _list_ignored(folder: str, names: list[str]) -> list[str]:
    """Returns links, which usually lead to data and are broken elsewhere, and special files."""
    return [name for name in names if not _is_plain(pathlib.Path(folder, name))]


def _is_plain(path: pathlib.Path) -> bool:
    return not path.is_symlink() and (path.is_file() or path.is_dir())
