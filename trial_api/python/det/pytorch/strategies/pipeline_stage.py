"""A torch.nn.Sequential that is divided into stages, one on each rank.

All ranks get the same batch. It passes through the stages in micro-batches, so several stages
compute at once. The last stage sends its output to all ranks, so all compute the same loss. The
gradient of the last stage's output is used there, and each stage sends the gradient of its input to
the stage before.

Huang et al., "GPipe: efficient training of giant neural networks using pipeline parallelism", 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, Protocol

import torch

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.distributed.tensor_channel import TensorChannel
from det.pytorch.utilities.rng import fork_rng
from det.pytorch.utilities.types import ModelValue

# The attribute of parameters of other ranks' stages, for PipelineStrategy.check_optimizer().
OTHER_STAGE = "_det_other_stage"

_Activations = list[tuple[torch.Tensor, torch.Tensor]]  # Input and output of each micro-batch.
_Partition = tuple[int, list[int]]  # The size of the largest stage, and where each stage begins.


def partition_modules(modules: Sequence[torch.nn.Module], stages: int) -> list[range]:
    """Divides modules into consecutive stages.

    The number of parameters of the largest stage is minimal, and each stage has some that require
    gradients.

    Returns:
        The indices of the modules of each stage.

    Raises:
        ValueError: If there are fewer modules with such parameters than stages.
    """
    sizes = [sum(p.numel() for p in module.parameters()) for module in modules]
    trains = [any(p.requires_grad for p in module.parameters()) for module in modules]
    if sum(trains) < stages:
        raise ValueError(
            f"optimizations.strategy pipeline on {stages} slots divides the Sequential into as many "
            f"stages, and {sum(trains)} of its modules have parameters that require gradients: use "
            "fewer slots, or a Sequential of more modules"
        )
    # best[n] is the best partition of the first n modules into the number of stages so far.
    best: list[_Partition | None] = [(0, [])]
    best += [None] * len(modules)
    for _ in range(stages):
        ends = range(1, len(modules) + 1)
        best = [None, *(_add_stage(best, sizes, trains, end) for end in ends)]
    found = best[-1]
    assert found is not None
    begins = [*found[1], len(modules)]
    return [range(begin, end) for begin, end in zip(begins, begins[1:])]


def _add_stage(
    best: list[_Partition | None], sizes: list[int], trains: list[bool], end: int
) -> _Partition | None:
    """Returns the best partition with one more stage that ends before `end`, or None."""
    options = [
        (max(partition[0], sum(sizes[begin:end])), [*partition[1], begin])
        for begin, partition in enumerate(best[:end])
        if partition is not None and any(trains[begin:end])
    ]
    return min(options) if options else None


class PipelineStage(torch.nn.Module):
    """This rank's stage of a Sequential. Its parameters have the names that they have in the whole.

    forward() is collective, and so is one call of backward() on what it returns.

    Attributes:
        all_names: The names in the state_dict() of the complete model.
    """

    is_sharded = True

    def __init__(
        self,
        model: torch.nn.Sequential,
        process_group: ProcessGroup,
        micro_batches: int,
        seed: Callable[[], int],
    ) -> None:
        """Takes the modules of this rank's stage out of the model.

        Args:
            model: The complete model, which is the same on all ranks.
            process_group: All ranks; each has one stage.
            micro_batches: Into how many parts a batch is divided.
            seed: Returns the seed for the random numbers of this stage in a forward pass, such as
                dropout. Outside of stages the generators stay equal on all ranks, which compute the
                same loss.

        Raises:
            ValueError: If the model has too few modules, or modules of different stages share a
                parameter.
        """
        super().__init__()
        children = _list_children(model)
        stages = partition_modules([module for _, module in children], process_group.size)
        _check_not_shared([[children[i][1] for i in stage] for stage in stages])
        self.all_names = list(model.state_dict())
        self._process_group, self._micro_batches, self._seed = process_group, micro_batches, seed
        self._channel = TensorChannel(process_group)
        self._names = [children[i][0] for i in stages[process_group.rank]]
        for i, (name, module) in enumerate(children):
            if i in stages[process_group.rank]:
                self.add_module(name, module)
            else:
                for parameter in module.parameters():
                    setattr(parameter, OTHER_STAGE, True)
        self.train(model.training)

    @property
    def _is_first(self) -> bool:
        return self._process_group.rank == 0

    @property
    def _is_last(self) -> bool:
        return self._process_group.rank == self._process_group.size - 1

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Computes the complete model.

        Args:
            batch: A tensor with one row for each record, the same on all ranks, without gradient.

        Returns:
            The output of the last stage, on every rank.

        Raises:
            TypeError: If the batch or the output of a stage is not one tensor with rows.
        """
        if not isinstance(batch, torch.Tensor) or not batch.dim() or batch.requires_grad:
            raise TypeError(
                "a model of optimizations.strategy pipeline takes one tensor, with a row for each "
                "record, that does not require a gradient"
            )
        with fork_rng(self._seed()):
            activations = self._compute(batch)
        own = torch.cat([out for _, out in activations]).detach() if self._is_last else None
        out = self._channel.broadcast(own, self._process_group.size - 1, batch.device)
        if not torch.is_grad_enabled() or not out.is_floating_point():
            return out
        anchor = torch.zeros((), requires_grad=True)
        result: torch.Tensor = _BackwardThrough.apply(
            anchor, lambda gradient: self._send_gradients(activations, gradient), out
        )
        return result

    def _compute(self, batch: torch.Tensor) -> _Activations:
        count = min(self._micro_batches, len(batch)) or 1
        bounds = [len(batch) * i // count for i in range(count + 1)]
        activations: _Activations = []
        for begin, end in zip(bounds, bounds[1:]):
            if self._is_first:
                given = batch[begin:end]
            else:
                given = self._channel.receive(self._process_group.rank - 1, batch.device)
                given.requires_grad_(torch.is_grad_enabled() and given.is_floating_point())
            # A module may work in place, which torch refuses on a leaf that requires a gradient.
            out = given.clone() if given.requires_grad else given
            for name in self._names:
                module = self._modules[name]
                assert module is not None
                out = module(out)
            self._check_output(out)
            if not self._is_last:
                self._channel.send(out.detach(), self._process_group.rank + 1)
            activations.append((given, out))
        self._channel.finish()
        return activations

    def _check_output(self, out: object) -> None:
        if not isinstance(out, torch.Tensor) or not out.dim():
            raise TypeError(
                f"module {self._names[-1]!r} of the Sequential returned a {type(out).__name__}, and "
                "is the last of a stage of optimizations.strategy pipeline: it must return one tensor, "
                "with a row for each record"
            )

    def _send_gradients(self, activations: _Activations, gradient: torch.Tensor) -> None:
        """Computes the backward pass of this stage.

        Args:
            activations: What _compute() returned.
            gradient: The gradient of what forward() returned.
        """
        rank = self._process_group.rank
        own = gradient.split([len(out) for _, out in activations]) if self._is_last else ()
        for i, (given, out) in reversed(list(enumerate(activations))):
            if out.is_floating_point():
                part = own[i] if self._is_last else self._channel.receive(rank + 1, out.device)
                if out.requires_grad:
                    torch.autograd.backward(out, part)
            if given.requires_grad:
                found = given.grad if given.grad is not None else torch.zeros_like(given)
                self._channel.send(found, rank - 1)
        self._channel.finish()


class _BackwardContext(Protocol):
    """What _BackwardThrough keeps of a forward pass for the backward pass."""

    function: Callable[[torch.Tensor], None]


class _BackwardThrough(torch.autograd.Function):
    """Calls a function with the gradient of a tensor that another rank has computed."""

    @staticmethod
    def forward(ctx: _BackwardContext, *args: ModelValue, **kwargs: ModelValue) -> torch.Tensor:
        """Takes a scalar that requires a gradient, the function, and the tensor, which is cloned."""
        _, ctx.function, out = args
        clone: torch.Tensor = out.clone()
        return clone

    @staticmethod
    def backward(ctx: _BackwardContext, *grad_outputs: torch.Tensor) -> tuple[None, None, None]:
        with torch.enable_grad():
            ctx.function(*grad_outputs)
        return None, None, None


def _list_children(model: torch.nn.Sequential) -> list[tuple[str, torch.nn.Module]]:
    """Returns the modules by name; named_children() would leave out repeated modules."""
    return [(name, module) for name, module in model._modules.items() if module is not None]


def _check_not_shared(stages: list[list[torch.nn.Module]]) -> None:
    seen: dict[int, int] = {}
    for number, stage in enumerate(stages):
        for module in stage:
            for name, parameter in module.named_parameters():
                if seen.setdefault(id(parameter), number) != number:
                    raise ValueError(
                        f"parameter {name} is shared by modules of different stages of "
                        "optimizations.strategy pipeline: give each module its own, or use fewer slots"
                    )
