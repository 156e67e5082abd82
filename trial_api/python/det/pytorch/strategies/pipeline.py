"""The strategy pipeline: wraps models in stages, and assembles the complete state for checkpoints."""

from __future__ import annotations

import torch

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.base import ShardedStrategy, StrategyContext
from det.pytorch.strategies.data_parallel import broadcast_weights
from det.pytorch.strategies.pipeline_stage import OTHER_STAGE, PipelineStage
from det.pytorch.utilities.rng import derive_seed
from det.pytorch.utilities.types import StateDict, StateTree


class PipelineStrategy(ShardedStrategy):
    """Each rank has one stage of each model, and the optimizer state of its parameters.

    A checkpoint has the names and the order of the complete model.
    """

    def __init__(
        self, context: StrategyContext, process_group: ProcessGroup, micro_batches: int
    ) -> None:
        super().__init__(context, process_group)
        self._micro_batches = micro_batches
        self._forward_passes = (-1, 0)  # The batch, and its number of forward passes so far.

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module | None:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            return None  # A frozen model is complete on each rank.
        if not isinstance(model, torch.nn.Sequential):
            raise ValueError(
                "optimizations.strategy pipeline divides a torch.nn.Sequential into stages, and "
                f"wrap_model() got a {type(model).__name__}: write the model as a Sequential, or "
                "choose another strategy"
            )
        model.to(self._context.device)
        broadcast_weights(model)
        return PipelineStage(model, self._process_group, self._micro_batches, self._next_seed)

    def _next_seed(self) -> int:
        """Returns a new seed for each forward pass and stage, the same in a run that resumed."""
        batch = self._context.current_train_batch() or 0
        known, count = self._forward_passes
        self._forward_passes = (batch, count + 1 if known == batch else 1)
        rank = self._process_group.rank
        return derive_seed(self._context.get_trial_seed(), rank, *self._forward_passes)

    def check_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        known = {id(p) for model in self._context.models for p in model.parameters()}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) in known:
                    continue
                where = (
                    "another slot's stage of the model"
                    if hasattr(parameter, OTHER_STAGE)
                    else "no wrapped model"
                )
                raise ValueError(
                    f"an optimizer has a parameter of {where}: under optimizations.strategy pipeline "
                    "create it with parameters() of what wrap_model() returned"
                )

    def _gather_model(self, model: torch.nn.Module) -> StateDict:
        own = {name: _to_host(value) for name, value in model.state_dict().items()}
        if not isinstance(model, PipelineStage):
            return own
        parts = self._process_group.gather(own) or []
        return {name: value for part in parts for name, value in part.items()}

    def _gather_optimizer(self, optimizer: torch.optim.Optimizer) -> StateDict:
        return merge_stage_states(
            self._process_group.gather(_to_host(optimizer.state_dict())) or []
        )

    def load_model(self, model: torch.nn.Module, state: StateDict) -> None:
        if isinstance(model, PipelineStage):
            others = set(model.all_names) - set(model.state_dict())
            state = {name: value for name, value in state.items() if name not in others}
        model.load_state_dict(state)

    def load_optimizer(self, optimizer: torch.optim.Optimizer, state: StateDict) -> None:
        own = [len(group["params"]) for group in optimizer.param_groups]
        counts = self._process_group.allgather(own)
        optimizer.load_state_dict(extract_stage_state(state, counts, self._process_group.rank))


def merge_stage_states(parts: list[StateDict]) -> StateDict:
    """Merges the state_dict()s of the stages' optimizers to that of one optimizer.

    Args:
        parts: One for each rank, in order.

    Returns:
        The state_dict() of an optimizer with all parameters; {} for no parts.
    """
    if not parts:
        return {}
    merged: StateDict = {"state": {}, "param_groups": []}
    index = 0
    for i, group in enumerate(parts[0]["param_groups"]):
        begin = index
        for part in parts:
            for own in part["param_groups"][i]["params"]:
                if own in part["state"]:
                    merged["state"][index] = part["state"][own]
                index += 1
        merged_group = {**group, "params": list(range(begin, index))}
        if "param_names" in group:
            merged_group["param_names"] = [
                name for part in parts for name in part["param_groups"][i]["param_names"]
            ]
        merged["param_groups"].append(merged_group)
    return merged


def extract_stage_state(merged: StateDict, counts: list[list[int]], rank: int) -> StateDict:
    """Reverses merge_stage_states() for one rank.

    Args:
        merged: What merge_stage_states() returned.
        counts: For each rank, the number of parameters in each group.
        rank: The rank whose part is returned.

    Raises:
        ValueError: If the numbers of parameters differ.
    """
    expected = [sum(column) for column in zip(*counts)]
    found = [len(group["params"]) for group in merged["param_groups"]]
    if expected != found:
        raise ValueError(
            f"an optimizer has groups of {expected} parameters, and the checkpoint has {found}"
        )
    own: StateDict = {"state": {}, "param_groups": []}
    index = 0
    for i, group in enumerate(merged["param_groups"]):
        begin = sum(counts_of_rank[i] for counts_of_rank in counts[:rank])
        part_slice = slice(begin, begin + counts[rank][i])
        indices = list(range(index, index + counts[rank][i]))
        for mine, theirs in zip(indices, group["params"][part_slice]):
            if theirs in merged["state"]:
                own["state"][mine] = merged["state"][theirs]
        part = {**group, "params": indices}
        if "param_names" in group:
            part["param_names"] = group["param_names"][part_slice]
        own["param_groups"].append(part)
        index += len(indices)
    return own


def _to_host(value: StateTree) -> StateTree:
    """Copies the tensors of a state_dict() to host memory."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {name: _to_host(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_to_host(one) for one in value]
    return value
