"""The strategy fsdp: torch's FullyShardedDataParallel.

Each rank keeps a part of weights, gradients and optimizer state. Checkpoints contain the complete
model and optimizer. Rajbhandari et al., "ZeRO", 2020, stage 3.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from contextlib import AbstractContextManager
from types import ModuleType

import torch

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.base import ShardedStrategy, StrategyContext
from det.pytorch.strategies.data_parallel import broadcast_weights
from det.pytorch.utilities.types import Arguments, StateDict

_MIN_MODULE_PARAMETERS = 1_000_000  # Modules from this size on are gathered separately.
_PREFIX = "_fsdp_wrapped_module."  # Part of the names of parameters in wrapped modules.


class FsdpStrategy(ShardedStrategy):
    """Wraps models with torch's FullyShardedDataParallel."""

    # The gradients are sharded too, and cannot be loaded on another number of ranks.
    saves_gradients = False

    def __init__(
        self, context: StrategyContext, process_group: ProcessGroup, fsdp: ModuleType
    ) -> None:
        """Creates the strategy.

        Args:
            context: The Trial's context.
            process_group: All ranks.
            fsdp: The module that import_fsdp() returned.
        """
        super().__init__(context, process_group)
        self._fsdp = fsdp
        self._class = fsdp.FullyShardedDataParallel
        known = inspect.signature(self._class.__init__).parameters
        self._options: Arguments = {"use_orig_params": True} if "use_orig_params" in known else {}
        self._names: dict[int, list[str]] = {}  # The names of a model's parameters, by its id.

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module | None:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            return None  # A frozen model is complete on each rank.
        device = self._context.device
        model.to(device)
        broadcast_weights(model)
        names = [name for name, _ in model.named_parameters()]
        policy = functools.partial(
            self._fsdp.wrap.size_based_auto_wrap_policy, min_num_params=_MIN_MODULE_PARAMETERS
        )
        # Newer versions of torch accept a model in host memory only if its device is named.
        wrapped: torch.nn.Module = self._class(
            model, auto_wrap_policy=policy, device_id=device, **self._options
        )
        self._names[id(wrapped)] = names
        return wrapped

    def check_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        self._get_model(optimizer)
        if not self._options and len(optimizer.param_groups) > 1:
            raise ValueError(
                "optimizations.strategy fsdp with torch before 2.0 does not support several parameter "
                "groups in an optimizer: use one group, or a newer torch"
            )

    def _get_model(self, optimizer: torch.optim.Optimizer) -> torch.nn.Module:
        """Returns the wrapped model of the optimizer's parameters."""
        given = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for model in self._context.models:
            if given <= {id(p) for p in model.parameters()} and id(model) in self._names:
                return model
        raise ValueError(
            "an optimizer has parameters of no wrapped model, or of several: under "
            "optimizations.strategy fsdp create it with parameters() of what wrap_model() returned"
        )

    def _gather_model(self, model: torch.nn.Module) -> StateDict:
        if id(model) not in self._names:
            return dict(model.state_dict())
        with self._full_state_dict(model, rank0_only=True):
            return dict(model.state_dict())

    def _gather_optimizer(self, optimizer: torch.optim.Optimizer) -> StateDict:
        model = self._get_model(optimizer)
        if hasattr(self._class, "full_optim_state_dict"):
            state = self._class.full_optim_state_dict(model, optimizer)
        else:
            with self._full_state_dict(model, rank0_only=True, optimizers=True):
                state = self._class.optim_state_dict(model, optimizer)
        if not self._process_group.is_chief:
            return {}
        return index_optimizer_state(state, self._get_group_names(optimizer))

    def load_model(self, model: torch.nn.Module, state: StateDict) -> None:
        if id(model) not in self._names:
            model.load_state_dict(state)
            return
        with self._full_state_dict(model, rank0_only=False):
            model.load_state_dict(state)

    def load_optimizer(self, optimizer: torch.optim.Optimizer, state: StateDict) -> None:
        model = self._get_model(optimizer)
        full = name_optimizer_state(state, self._get_group_names(optimizer))
        if hasattr(self._class, "shard_full_optim_state_dict"):
            own = self._class.shard_full_optim_state_dict(full, model, optim=optimizer)
        else:
            with self._full_state_dict(model, rank0_only=False, optimizers=True):
                own = self._class.optim_state_dict_to_load(
                    model=model, optim=optimizer, optim_state_dict=full
                )
        optimizer.load_state_dict(own)

    def _full_state_dict(
        self, model: torch.nn.Module, rank0_only: bool, optimizers: bool = False
    ) -> AbstractContextManager[object]:
        """Makes state_dict() complete inside the block.

        Args:
            model: The wrapped model.
            rank0_only: Whether only the chief gets the state.
            optimizers: Whether optimizer state is needed, with the API of torch 2.0 and later. The
                older API, which newer torch warns about, does not need it.
        """
        options = {"offload_to_cpu": True, "rank0_only": rank0_only}
        configs = [self._fsdp.FullStateDictConfig(**options)]
        if optimizers:
            configs.append(self._fsdp.FullOptimStateDictConfig(**options))
        kind = self._fsdp.StateDictType.FULL_STATE_DICT
        manager: AbstractContextManager[object] = self._class.state_dict_type(model, kind, *configs)
        return manager

    def _get_group_names(self, optimizer: torch.optim.Optimizer) -> list[list[str]]:
        """Returns the names of the parameters in the Trial's model, for each parameter group."""
        model = self._get_model(optimizer)
        if (
            not self._options
        ):  # torch has flattened the parameters; check_optimizer() saw one group.
            return [self._names[id(model)]]
        names = {id(p): name.replace(_PREFIX, "") for name, p in model.named_parameters()}
        return [[names[id(p)] for p in group["params"]] for group in optimizer.param_groups]


def import_fsdp(device: torch.device) -> ModuleType:
    """Returns the module torch.distributed.fsdp.

    Raises:
        ValueError: If this torch does not support it on the device.
    """
    advice = "choose another strategy, for example allreduce with optimizations.shard_optimizer"
    numbers = torch.__version__.split(".")
    if device.type != "cuda" and (int(numbers[0]), int(numbers[1])) < (2, 1):
        raise ValueError(
            "optimizations.strategy fsdp needs GPUs, or torch 2.1 or later, and the slots are CPU "
            f"cores and torch is {torch.__version__}: {advice}"
        )
    try:
        importlib.import_module("torch.distributed.fsdp.wrap")
        return importlib.import_module("torch.distributed.fsdp")
    except Exception as error:  # The import fails in Debian's torch 1.13.
        raise ValueError(
            f"optimizations.strategy fsdp is not available in torch {torch.__version__} ({error}): "
            f"{advice}"
        ) from error


def index_optimizer_state(state: StateDict, groups: list[list[str]]) -> StateDict:
    """Converts an optimizer's state_dict() by parameter name to one by parameter index.

    Args:
        state: The state_dict(), as FullyShardedDataParallel returns it.
        groups: The names of the parameters, for each parameter group.
    """
    indexed: StateDict = {"state": {}, "param_groups": []}
    index = 0
    for group, names in zip(state["param_groups"], groups):
        begin = index
        for name in names:
            if name in state["state"]:
                indexed["state"][index] = state["state"][name]
            index += 1
        indexed["param_groups"].append({**group, "params": list(range(begin, index))})
    return indexed


def name_optimizer_state(indexed: StateDict, groups: list[list[str]]) -> StateDict:
    """Reverses index_optimizer_state().

    Raises:
        ValueError: If the numbers of parameters differ.
    """
    expected = [len(names) for names in groups]
    found = [len(group["params"]) for group in indexed["param_groups"]]
    if expected != found:
        raise ValueError(
            f"an optimizer has groups of {expected} parameters, and the checkpoint has {found}"
        )
    state: StateDict = {"state": {}, "param_groups": []}
    for group, names in zip(indexed["param_groups"], groups):
        for index, name in zip(group["params"], names):
            if index in indexed["state"]:
                state["state"][name] = indexed["state"][index]
        state["param_groups"].append({**group, "params": list(names)})
    return state
