"""A torch.nn.Sequential that is cut into stages, one on each rank: `optimizations.strategy` pipeline.
Huang et al., "GPipe: efficient training of giant neural networks using pipeline parallelism", 2019.

All ranks are given the same batch. It goes through the stages in micro-batches, so that several
stages compute at once; what the last stage gives goes to all ranks, which so compute the same loss.
Of its gradient the last stage's is used; the other stages are sent theirs.
"""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import torch

from det.pytorch import _random
from det.pytorch._ranks import Ranks
from det.pytorch._wire import Wire

_Kept = List[Tuple[torch.Tensor, torch.Tensor]]  # Of each micro-batch: what came in, what went out.


def cut(modules: List[torch.nn.Module], stages: int) -> List[range]:
    """Which modules each stage has, in order: so that the greatest number of parameters of a stage is
    as small as can be, and each has some that train.

    Raises:
        ValueError: there are too few modules.
    """
    sizes = [sum(p.numel() for p in module.parameters()) for module in modules]
    trains = [any(p.requires_grad for p in module.parameters()) for module in modules]
    if sum(trains) < stages:
        raise ValueError(
            f"optimizations.strategy pipeline on {stages} slots cuts the Sequential into as many "
            f"stages, and {sum(trains)} of its modules have parameters that train: take fewer slots, "
            "or make the Sequential of more modules"
        )
    # best[n]: of the first n modules in so many stages, the greatest stage and where each begins.
    best: List[Any] = [(0, [])] + [None] * len(modules)
    for _ in range(stages):
        best = [None] + [
            _best_last(best, sizes, trains, end) for end in range(1, len(modules) + 1)
        ]
    begins = [*best[-1][1], len(modules)]
    return [range(begin, end) for begin, end in zip(begins, begins[1:])]


def _best_last(best: List[Any], sizes: List[int], trains: List[bool], end: int) -> Any:
    """The best way to let one more stage end before `end`; None if there is none."""
    options = [
        (max(best[begin][0], sum(sizes[begin:end])), [*best[begin][1], begin])
        for begin in range(end)
        if best[begin] is not None and any(trains[begin:end])
    ]
    return min(options) if options else None


class Pipe(torch.nn.Module):
    """This rank's stage; its parameters have the names that they have in the whole. Every call is
    collective, and so is backward() of what it gives, once.

    Args:
        whole: is taken apart.
        seed: of what this stage draws in a forward pass (dropout); other generators stay alike on all
            ranks, as all compute the same loss.

    Raises:
        ValueError: it cannot be cut.
    """

    in_parts = True

    def __init__(
        self, whole: torch.nn.Sequential, ranks: Ranks, micro_batches: int, seed: Callable[[], int]
    ) -> None:
        super().__init__()
        children = list(whole._modules.items())  # named_children() leaves out what comes twice.
        stages = cut([module for _, module in children], ranks.size)
        _check_not_shared([[children[i][1] for i in stage] for stage in stages])
        self.whole_names = list(whole.state_dict())
        self._ranks, self._micro_batches, self._seed = ranks, micro_batches, seed
        self._wire = Wire(ranks)
        self._names = [children[i][0] for i in stages[ranks.rank]]
        for i, (name, module) in enumerate(children):
            if i in stages[ranks.rank]:
                self.add_module(name, module)
            else:
                for parameter in module.parameters():
                    parameter._det_other_stage = True  # type: ignore[attr-defined]
        self.train(whole.training)

    @property
    def _is_first(self) -> bool:
        return self._ranks.rank == 0

    @property
    def _is_last(self) -> bool:
        return self._ranks.rank == self._ranks.size - 1

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        if not isinstance(batch, torch.Tensor) or not batch.dim() or batch.requires_grad:
            raise TypeError(
                "a model of optimizations.strategy pipeline takes one tensor, with a row for each "
                "record and without a gradient of its own"
            )
        with _random.forked(self._seed()):
            kept = self._compute(batch)
        out = torch.cat([out for _, out in kept]).detach() if self._is_last else None
        out = self._wire.broadcast(out, self._ranks.size - 1, batch.device)
        if not torch.is_grad_enabled() or not out.is_floating_point():
            return out
        anchor = torch.zeros((), requires_grad=True)
        return _Tie.apply(anchor, lambda gradient: self._send_back(kept, gradient), out)

    def _compute(self, batch: torch.Tensor) -> _Kept:
        count = min(self._micro_batches, len(batch)) or 1
        bounds = [len(batch) * i // count for i in range(count + 1)]
        kept: _Kept = []
        for begin, end in zip(bounds, bounds[1:]):
            if self._is_first:
                given = batch[begin:end]
            else:
                given = self._wire.receive(self._ranks.rank - 1, batch.device)
                given.requires_grad_(torch.is_grad_enabled() and given.is_floating_point())
            # A module may work in place, which torch refuses of what it is to find a gradient for.
            out = given.clone() if given.requires_grad else given
            for name in self._names:
                out = self._modules[name](out)  # type: ignore[misc]
            self._check(out)
            if not self._is_last:
                self._wire.send(out.detach(), self._ranks.rank + 1)
            kept.append((given, out))
        self._wire.finish()
        return kept

    def _check(self, out: Any) -> None:
        if not isinstance(out, torch.Tensor) or not out.dim():
            raise TypeError(
                f"module {self._names[-1]!r} of the Sequential gave a {type(out).__name__}, and ends "
                "a stage of optimizations.strategy pipeline: it must give one tensor, with a row for "
                "each record"
            )

    def _send_back(self, kept: _Kept, gradient: torch.Tensor) -> None:
        """gradient: of what forward() gave."""
        rank = self._ranks.rank
        own = gradient.split([len(out) for _, out in kept]) if self._is_last else ()
        for i, (given, out) in reversed(list(enumerate(kept))):
            if out.is_floating_point():
                part = own[i] if self._is_last else self._wire.receive(rank + 1, out.device)
                if out.requires_grad:
                    torch.autograd.backward(out, part)
            if given.requires_grad:
                found = given.grad if given.grad is not None else torch.zeros_like(given)
                self._wire.send(found, rank - 1)
        self._wire.finish()


class _Tie(torch.autograd.Function):
    """Lets backward() of the output, which has come from elsewhere, go on by a function."""

    @staticmethod
    def forward(ctx: Any, anchor: Any, back: Any, out: Any) -> Any:  # type: ignore[override]
        ctx.back = back
        return out.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        with torch.enable_grad():
            ctx.back(gradient)
        return None, None, None


def _check_not_shared(stages: List[List[torch.nn.Module]]) -> None:
    seen = {}
    for number, stage in enumerate(stages):
        for module in stage:
            for name, parameter in module.named_parameters():
                if seen.setdefault(id(parameter), number) != number:
                    raise ValueError(
                        f"parameter {name} is shared by modules that come to lie on other stages of "
                        "optimizations.strategy pipeline: give each its own, or take fewer slots"
                    )
