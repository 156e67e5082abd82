"""The strategy fsdp: torch's FullyShardedDataParallel, which keeps a part of weights, gradients and
optimizers' state on each rank, and has a checkpoint hold the whole. Rajbhandari et al., "ZeRO", 2020,
stage 3."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any, Dict, List

import torch

from det.pytorch import _parallel
from det.pytorch._ranks import Ranks
from det.pytorch._strategy import InParts

_UNIT = 1_000_000  # Parameters from which on modules are gathered by themselves.
_PREFIX = "_fsdp_wrapped_module."  # In the names of what is within.


class FullySharded(InParts):
    """fsdp: what load() gave."""

    keeps_gradients = False  # They lie in parts as well, which another number of ranks cannot take.

    def __init__(self, context: Any, ranks: Ranks, fsdp: Any) -> None:
        super().__init__(context, ranks)
        self._fsdp = fsdp
        self._class = fsdp.FullyShardedDataParallel
        known = inspect.signature(self._class.__init__).parameters
        self._options: Dict[str, Any] = {"use_orig_params": True} if "use_orig_params" in known else {}
        self._names: Dict[int, List[str]] = {}  # Of a model's parameters, by its id.

    def wrap(self, model: torch.nn.Module) -> Any:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            return None  # Whole on each rank.
        device = self._context.device
        model.to(device)
        _parallel.broadcast_weights(model)
        names = [name for name, _ in model.named_parameters()]
        policy = functools.partial(
            self._fsdp.wrap.size_based_auto_wrap_policy, min_num_params=_UNIT
        )
        devices = {"device_id": device} if device.type == "cuda" else {}
        wrapped = self._class(model, auto_wrap_policy=policy, **devices, **self._options)
        self._names[id(wrapped)] = names
        return wrapped

    def check_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._model_of(optimizer)
        if not self._options and len(optimizer.param_groups) > 1:
            raise ValueError(
                "optimizations.strategy fsdp on torch before 2.0 has no groups of parameters in an "
                "optimizer: give it all in one, or take a newer torch"
            )

    def _model_of(self, optimizer: torch.optim.Optimizer) -> Any:
        given = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for model in self._context.models:
            if given <= {id(p) for p in model.parameters()} and id(model) in self._names:
                return model
        raise ValueError(
            "an optimizer has parameters of no wrapped model, or of several: under "
            "optimizations.strategy fsdp give it parameters() of what wrap_model() returned"
        )

    def _whole_model(self, model: torch.nn.Module) -> Dict[str, Any]:
        if id(model) not in self._names:
            return dict(model.state_dict())
        with self._whole(model, rank0_only=True):
            return dict(model.state_dict())

    def _whole_optimizer(self, optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
        model = self._model_of(optimizer)
        if hasattr(self._class, "full_optim_state_dict"):
            told = self._class.full_optim_state_dict(model, optimizer)
        else:
            with self._whole(model, rank0_only=True, optimizers=True):
                told = self._class.optim_state_dict(model, optimizer)
        return numbered(told, self._groups_of(optimizer)) if self._ranks.is_chief else {}

    def load_model(self, model: torch.nn.Module, state: Dict[str, Any]) -> None:
        if id(model) not in self._names:
            model.load_state_dict(state)
            return
        with self._whole(model, rank0_only=False):
            model.load_state_dict(state)

    def load_optimizer(self, optimizer: torch.optim.Optimizer, state: Dict[str, Any]) -> None:
        model = self._model_of(optimizer)
        whole = named(state, self._groups_of(optimizer))
        if hasattr(self._class, "shard_full_optim_state_dict"):
            own = self._class.shard_full_optim_state_dict(whole, model, optim=optimizer)
        else:
            with self._whole(model, rank0_only=False, optimizers=True):
                own = self._class.optim_state_dict_to_load(
                    model=model, optim=optimizer, optim_state_dict=whole
                )
        optimizer.load_state_dict(own)

    def _whole(self, model: torch.nn.Module, rank0_only: bool, optimizers: bool = False) -> Any:
        """optimizers: their state is wanted, too, by the names that torch 2.0 and later have for it; the
        older ones, of which those warn, do without."""
        options = {"offload_to_cpu": True, "rank0_only": rank0_only}
        forms = [self._fsdp.FullStateDictConfig(**options)]
        if optimizers:
            forms.append(self._fsdp.FullOptimStateDictConfig(**options))
        kind = self._fsdp.StateDictType.FULL_STATE_DICT
        return self._class.state_dict_type(model, kind, *forms)

    def _groups_of(self, optimizer: torch.optim.Optimizer) -> List[List[str]]:
        """The names of its parameters in the model that the Trial gave."""
        model = self._model_of(optimizer)
        if not self._options:  # Its parameters are several in one; check_optimizer() saw one group.
            return [self._names[id(model)]]
        names = {id(p): name.replace(_PREFIX, "") for name, p in model.named_parameters()}
        return [[names[id(p)] for p in group["params"]] for group in optimizer.param_groups]


def load(device: torch.device) -> Any:
    """torch.distributed.fsdp. Raises ValueError where it cannot do its work."""
    advice = "choose another strategy, for example allreduce with optimizations.shard_optimizer"
    numbers = torch.__version__.split(".")
    if device.type != "cuda" and (int(numbers[0]), int(numbers[1])) < (2, 1):
        raise ValueError(
            f"optimizations.strategy fsdp needs GPUs, or torch 2.1 or later, and there are CPU slots "
            f"and torch {torch.__version__}: {advice}"
        )
    try:
        importlib.import_module("torch.distributed.fsdp.wrap")
        return importlib.import_module("torch.distributed.fsdp")
    except Exception as error:  # Debian's torch 1.13 fails in its own code.
        raise ValueError(
            f"optimizations.strategy fsdp is not in this torch {torch.__version__} ({error}): {advice}"
        ) from error


def numbered(told: Dict[str, Any], groups: List[List[str]]) -> Dict[str, Any]:
    """The state of an optimizer by names, as torch has it otherwise: by numbers, from group to
    group."""
    whole: Dict[str, Any] = {"state": {}, "param_groups": []}
    number = 0
    for group, names in zip(told["param_groups"], groups):
        begin = number
        for name in names:
            if name in told["state"]:
                whole["state"][number] = told["state"][name]
            number += 1
        whole["param_groups"].append({**group, "params": list(range(begin, number))})
    return whole


def named(whole: Dict[str, Any], groups: List[List[str]]) -> Dict[str, Any]:
    """What numbered() was given. Raises ValueError if it is of another number of parameters."""
    wanted = [len(names) for names in groups]
    found = [len(group["params"]) for group in whole["param_groups"]]
    if wanted != found:
        raise ValueError(f"an optimizer has groups of {wanted} parameters, and there are {found}")
    told: Dict[str, Any] = {"state": {}, "param_groups": []}
    for group, names in zip(whole["param_groups"], groups):
        for number, name in zip(group["params"], names):
            if number in whole["state"]:
                told["state"][name] = whole["state"][number]
        told["param_groups"].append({**group, "params": list(names)})
    return told
