"""The processes of a trial: who one is, and how they agree."""

from __future__ import annotations

import datetime
import enum
import os
from typing import Any, List, Optional

import torch
import torch.distributed as dist

from det.pytorch import _shared_words, _xla


class Ranks:
    """This process among those that train together, as torch.distributed knows them.

    Its operations are collective: every rank calls them, in the same order, on the training thread.
    """

    def __init__(self, alone: bool = False) -> None:
        """alone: whoever else there is."""
        self._group: Any = None
        self.alone = alone
        self.rank = 0
        self.size = 1
        if not alone and dist.is_available() and dist.is_initialized():
            self.rank = dist.get_rank()
            self.size = dist.get_world_size()
        # Small things are on the host, and must not wait for what a GPU computes.
        if self.size > 1 and dist.get_backend() != "gloo":
            self._group = dist.new_group(backend="gloo")

    def readers(self, strategy: str) -> Ranks:
        """The ranks that each have records of their own; this one alone where all have the same."""
        return Ranks(alone=True) if strategy == "pipeline" else self

    @property
    def is_chief(self) -> bool:
        return self.rank == 0

    def broadcast(self, value: Any) -> Any:
        """The chief's value."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self._group)
        return box[0]

    def gather(self, value: Any) -> Optional[List[Any]]:
        """All values in order on the chief; None on the others."""
        if self.size == 1:
            return [value]
        values: Optional[List[Any]] = [None] * self.size if self.is_chief else None
        dist.gather_object(value, values, dst=0, group=self._group)
        return values

    def allgather(self, value: Any) -> List[Any]:
        """All values in order."""
        if self.size == 1:
            return [value]
        values: List[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self._group)
        return values

    def start_max(self, number: torch.Tensor) -> Any:
        """Starts to replace it by the greatest of all ranks; the result's wait() ends that."""
        return dist.all_reduce(number, dist.ReduceOp.MAX, group=self._group, async_op=True)

    def sum(self, numbers: torch.Tensor) -> torch.Tensor:
        """The sums over the ranks."""
        if self.size > 1:
            dist.all_reduce(numbers, group=self._group)
        return numbers


class Stop(enum.IntEnum):
    """Why to stop. The greatest of what the ranks say holds."""

    NO = 0
    REQUESTED = 1  # By the Trial: training is over.
    PREEMPTED = 2  # To go on later.


class StopAgreement:
    """Makes all ranks stop after the same batch, without waiting for each other.

    begin() goes before a batch and starts to tell the others what this rank knows; the answer has
    come when the batch is trained, so what follows need not wait for it. Collective when it is made.
    """

    _LAST = 8  # Beside the word to stop.

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._told = torch.zeros(2, dtype=torch.int32)
        self._work: Any = None
        self._heard = (0, False)
        alone = ranks.size == 1
        self._words = None if alone else _shared_words.share(ranks, collective_timeout())

    def begin(self, stop: Stop, last: bool) -> None:
        """last: this rank has no batch behind this one."""
        if self._ranks.size == 1:
            self._heard = (0, last)
        elif self._words is not None:
            self._words.tell(int(stop) | (self._LAST if last else 0))
        else:
            self._told[0], self._told[1] = int(stop), int(last)
            self._work = self._ranks.start_max(self._told)

    def last(self) -> bool:
        """Whether the epoch ends: some rank has no further batch."""
        if self._words is not None:
            told = self._words.hear()
            stop = max(word & (self._LAST - 1) for word in told)
            self._heard = (stop, any(word & self._LAST for word in told))
        elif self._ranks.size > 1:
            self._work.wait()
            self._heard = (int(self._told[0].item()), bool(self._told[1].item()))
        return self._heard[1]

    def end(self, stop: Stop) -> Stop:
        """What holds for all, after last(); `stop`: what this rank knows by now, enough where it is
        alone."""
        return stop if self._ranks.size == 1 else Stop(self._heard[0])


def collective_timeout() -> float:
    """Seconds."""
    return float(os.environ.get("DET_COLLECTIVE_TIMEOUT") or 1800)


def join(device: torch.device) -> bool:
    """Brings the processes that a launcher started together, by torch's variables. Returns whether
    it did; otherwise there is one, or somebody else has done it."""
    size = int(os.environ.get("WORLD_SIZE") or 1)
    if size == 1 or not dist.is_available() or dist.is_initialized():
        return False
    timeout = datetime.timedelta(seconds=collective_timeout())
    if device.type == "xla":
        dist.init_process_group(_xla.backend(), init_method="xla://", timeout=timeout)
    else:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timeout)
    return True


def choose_device() -> torch.device:
    """The slot's: a GPU where there is one, unless the slots are CPU cores or TPUs.

    Raises:
        RuntimeError: the slots are GPUs or TPUs, and torch sees none.
    """
    slots = os.environ.get("DET_SLOT_TYPE")
    if slots == _xla.SLOTS:
        return _xla.choose_device()
    if slots == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if slots:  # A CPU in its place would take days, and nobody would know why.
            raise RuntimeError(_why_no_gpu(slots))
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK") or 0))
    torch.cuda.set_device(device)
    return device


def _why_no_gpu(slots: str) -> str:
    name, variable, library = "CUDA", "CUDA_VISIBLE_DEVICES", torch.version.cuda
    if slots == "rocm":
        name, variable, library = "ROCm", "ROCR_VISIBLE_DEVICES", torch.version.hip
    if library is None:
        why = f"is built without {name}: install one that is built with it where the task runs"
    else:
        shown = os.environ.get(variable)
        why = (
            f"is built for {name} {library} ({variable} is {shown!r}): see that the driver of the "
            "node, and the container if there is one, go with it"
        )
    return (
        f"the slots of this task are GPUs (DET_SLOT_TYPE is {slots}) and torch sees none. torch "
        f"{torch.__version__} {why}. To train on the CPU, take a resource pool whose slots are "
        'cores, or set os.environ["DET_SLOT_TYPE"] = "cpu" at the beginning of the script'
    )
