"""A stand-in for torch.distributed.fsdp.

Its wrapper averages gradients and keeps everything on each rank, but has the interface of the real one, and
records its calls.
"""

import contextlib
import enum
import types

import torch
import torch.distributed as dist

PREFIX = "_fsdp_wrapped_module."
calls = []


class StateDictType(enum.Enum):
    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2


class FullStateDictConfig:
    def __init__(self, offload_to_cpu=False, rank0_only=False):
        self.offload_to_cpu, self.rank0_only = offload_to_cpu, rank0_only


class FullOptimStateDictConfig(FullStateDictConfig):
    pass


def size_based_auto_wrap_policy(module, recurse, nonwrapped_numel, min_num_params=int(1e8)):
    return nonwrapped_numel >= min_num_params


class _Wrapper(torch.nn.Module):
    """The interface that all versions of torch 2.x have."""

    def __init__(self, module, auto_wrap_policy=None, device_id=None, use_orig_params=False):
        super().__init__()
        calls.append(("wrap", auto_wrap_policy.keywords, str(device_id), use_orig_params))
        self._fsdp_wrapped_module = module
        self._form = self._of_optimizer = None
        for parameter in module.parameters():
            parameter.register_hook(self._average)

    @staticmethod
    def _average(gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient / dist.get_world_size()

    def forward(self, *inputs):
        dist.barrier()  # A rank without a forward pass makes the others wait, as in the real one.
        return self._fsdp_wrapped_module(*inputs)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module, kind, form, of_optimizer=None):
        assert kind is StateDictType.FULL_STATE_DICT
        calls.append(("state_dict_type", kind.name, form.offload_to_cpu, form.rank0_only))
        module._form, module._of_optimizer = form, of_optimizer
        try:
            yield
        finally:
            module._form = module._of_optimizer = None

    def state_dict(self, *arguments, **options):
        assert self._form is not None, "this would be the local part"
        dist.barrier()
        if self._form.rank0_only and dist.get_rank():
            return {}
        return self._fsdp_wrapped_module.state_dict(*arguments, **options)

    def load_state_dict(self, state):
        assert self._form is not None and not self._form.rank0_only
        return self._fsdp_wrapped_module.load_state_dict(state)

    @staticmethod
    def _names(model, optim):
        names = {id(p): name for name, p in model._fsdp_wrapped_module.named_parameters()}
        return [names[id(p)] for group in optim.param_groups for p in group["params"]]

    @classmethod
    def _whole(cls, model, optim):
        dist.barrier()
        if dist.get_rank():
            return {}
        names, results = cls._names(model, optim), optim.state_dict()
        groups = [dict(g, params=[names[i] for i in g["params"]]) for g in results["param_groups"]]
        return {"state": {names[i]: s for i, s in results["state"].items()}, "param_groups": groups}

    @classmethod
    def _part(cls, full, model, optim):
        number = {name: i for i, name in enumerate(cls._names(model, optim))}
        groups = [dict(g, params=[number[n] for n in g["params"]]) for g in full["param_groups"]]
        return {"state": {number[n]: s for n, s in full["state"].items()}, "param_groups": groups}


class FullyShardedDataParallel(_Wrapper):
    """The interface of torch 2.1, with names that later versions warn about."""

    @classmethod
    def full_optim_state_dict(cls, model, optim):
        calls.append(("full_optim_state_dict",))
        return cls._whole(model, optim)

    @classmethod
    def shard_full_optim_state_dict(cls, full, model, optim=None):
        calls.append(("shard_full_optim_state_dict",))
        return cls._part(full, model, optim)


class WithoutOlderNames(_Wrapper):
    @classmethod
    def optim_state_dict(cls, model, optim):
        assert isinstance(model._of_optimizer, FullOptimStateDictConfig)
        assert model._of_optimizer.rank0_only and model._of_optimizer.offload_to_cpu
        calls.append(("optim_state_dict",))
        return cls._whole(model, optim)

    @classmethod
    def optim_state_dict_to_load(cls, model, optim, optim_state_dict):
        assert isinstance(model._of_optimizer, FullOptimStateDictConfig)
        assert not model._of_optimizer.rank0_only
        calls.append(("optim_state_dict_to_load",))
        return cls._part(optim_state_dict, model, optim)


wrap = types.SimpleNamespace(size_based_auto_wrap_policy=size_based_auto_wrap_policy)
