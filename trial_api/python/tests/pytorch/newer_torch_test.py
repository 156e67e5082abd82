"""Support for newer versions of torch, with stand-ins for what differs."""

import pathlib
import pickle
import tempfile
import types
import unittest
import warnings
from unittest import mock

import numpy
import torch
import torch.distributed as dist
from det._errors import CheckpointError
from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.state import determined_format
from det.pytorch.strategies import bucket_order, gradient_compression, in_process, zero
from det.pytorch.trial.experimental_context import PyTorchExperimentalContext


class RefusingModel:
    """Refuses hooks as DistributedDataParallel of torch 2.x does with other backends than NCCL."""

    def register_comm_hook(self, state, hook):
        if hook.__name__ in ("bf16_compress_hook", "bf16_compress_wrapper_hook"):
            raise TypeError("BF16 all reduce communication hook required CUDA 11+ and NCCL 2.10+.")
        self.hook = hook


class NewAdamW(torch.optim.Adam):
    """AdamW of torch 2.7, whose defaults have what its constructor does not accept."""

    def __init__(self, params, lr=1e-3, weight_decay=1e-2, *, foreach=None):
        super().__init__(params, lr, weight_decay=weight_decay, foreach=foreach)
        self.defaults["decoupled_weight_decay"] = True
        for group in self.param_groups:
            group.setdefault("decoupled_weight_decay", True)


class SafeGlobals:
    """torch.serialization.safe_globals.

    With takes_names, as from torch 2.7 on, an object may have a name.
    """

    allowed = {}

    def __init__(self, given):
        names = [item if isinstance(item, tuple) else (item, None) for item in given]
        if not self.takes_names and any(name for _, name in names):
            raise AttributeError("'tuple' object has no attribute '__module__'")
        SafeGlobals.allowed = {
            name or f"{item.__module__}.{item.__qualname__}": item for item, name in names
        }

    def __enter__(self):
        pass

    def __exit__(self, *_):
        SafeGlobals.allowed = {}


class _Reader(pickle.Unpickler):
    """An unpickler that finds only allowed classes."""

    def find_class(self, module, name):
        if (module, name) == ("_codecs", "encode"):
            return super().find_class(module, name)
        return SafeGlobals.allowed[f"{module}.{name}"]


def safe_load(path, map_location, weights_only):
    """torch.load() of a file without tensors."""
    assert weights_only
    with open(path, "rb") as file:
        return _Reader(file).load()


class NewerTorchTest(unittest.TestCase):
    def test_loads_checkpoint_with_numpy_random_state_without_trust(self):
        state = {
            "models_state_dict": [{"module.weight": numpy.float64(2.5)}],
            "rng_state": {"np_rng_state": numpy.random.get_state()},
        }
        written = pickle.dumps(state, protocol=2)
        for takes_names in (True, False):
            for older in (True, False) if takes_names else (None,):
                data = written
                if older is not None:  # The file as the other version of NumPy writes it.
                    names = (b"numpy._core", b"numpy.core")
                    data = written.replace(*(names if older else names[::-1]))
                with tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder, "state_dict.pth")
                    path.write_bytes(data)
                    SafeGlobals.takes_names = takes_names
                    safe = mock.patch.object(
                        torch.serialization, "safe_globals", SafeGlobals, create=True
                    )
                    newer = mock.patch.object(torch, "__version__", "2.7.0")
                    with safe, newer, mock.patch.object(torch, "load", safe_load):
                        results = determined_format.read_determined_checkpoint(path.parent)
                    self.assertEqual({"weight": 2.5}, results["models_state_dict"][0])

    def test_rejects_checkpoint_that_runs_code(self):
        SafeGlobals.takes_names = True
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "state_dict.pth").write_bytes(pickle.dumps(print))
            safe = mock.patch.object(torch.serialization, "safe_globals", SafeGlobals, create=True)
            newer = mock.patch.object(torch, "__version__", "2.7.0")
            with safe, newer, mock.patch.object(torch, "load", safe_load):
                with self.assertRaisesRegex(CheckpointError, "DET_TRUST_PICKLE=1 if you trust it"):
                    determined_format.read_determined_checkpoint(pathlib.Path(folder))

    def test_uses_gloo_that_can_add_bfloat16(self):
        model = RefusingModel()
        with mock.patch.object(gradient_compression, "_can_add_bfloat16", lambda device: True):
            gradient_compression.compress_gradients(model, "bfloat16", torch.device("cpu"))
        future = torch.futures.Future()
        gradients = torch.tensor([1.0, 2.0])
        bucket = types.SimpleNamespace(buffer=lambda: gradients)

        def all_reduce(tensor, group=None, async_op=False):
            future.set_result([tensor * 2])  # Two ranks have equal gradients.
            return types.SimpleNamespace(get_future=lambda: future)

        group = types.SimpleNamespace(size=lambda: 2)
        # A property of a metaclass in newer versions, which mock cannot restore.
        self.addCleanup(setattr, dist.group, "WORLD", dist.group.WORLD)
        dist.group.WORLD = group
        with mock.patch.object(dist, "all_reduce", all_reduce):
            results = model.hook(None, bucket).wait()
        self.assertEqual([1.0, 2.0], results.tolist())

    def test_shards_optimizer_whose_defaults_are_not_all_arguments(self):
        ranks = types.SimpleNamespace(size=2)
        net = torch.nn.Linear(3, 2)
        optimizer = NewAdamW(net.parameters(), lr=0.5)
        with mock.patch("torch.distributed.optim.ZeroRedundancyOptimizer") as optimizer_class:
            zero.shard_optimizer(optimizer, ranks, Optimizations(shard_optimizer=True))
        [groups], options = optimizer_class.call_args
        self.assertIs(NewAdamW, options.pop("optimizer_class"))
        self.assertEqual({"lr": 0.5, "weight_decay": 1e-2, "foreach": None}, options)
        restored = NewAdamW(groups, **options).param_groups[0]
        self.assertEqual(optimizer.param_groups[0], restored)

    def test_shards_optimizer_that_accepts_any_argument(self):
        class Any(torch.optim.SGD):
            def __init__(self, params, **options):
                super().__init__(params, **options)

        optimizer = Any(torch.nn.Linear(1, 1).parameters(), lr=0.5)
        self.assertEqual(optimizer.defaults, zero._constructor_arguments(optimizer))

    def test_creates_scaler_with_the_name_for_all_devices(self):
        requested = []
        options = Optimizations(mixed_precision="float16")
        with mock.patch.object(torch.amp, "GradScaler", requested.append, create=True):
            with warnings.catch_warnings(record=True) as output:
                warnings.simplefilter("always")
                PyTorchExperimentalContext(torch.device("cuda"), options)
        self.assertEqual(["cuda"], requested)
        self.assertEqual([], output)

    def test_reads_autocast_with_the_names_for_all_devices(self):
        requested = []

        def enabled(*device):
            requested.append(device)
            return True

        dtype = mock.patch.object(
            torch, "get_autocast_dtype", lambda _: torch.bfloat16, create=True
        )
        with mock.patch.object(torch, "is_autocast_enabled", enabled), dtype:
            modes = in_process._ThreadModes()
        self.assertEqual([("cpu",)], requested)
        self.assertEqual((True, torch.bfloat16), (modes._autocast, modes._dtype))

    def test_leaves_buckets_alone_when_torch_has_no_api_for_them(self):
        model = types.SimpleNamespace(
            module=torch.nn.Linear(2, 1),
            reducer=object(),
            named_modules=lambda: [],
            parameters_to_ignore=(),
            find_unused_parameters=False,
        )
        self.assertFalse(bucket_order.rebuild_buckets(model, ["weight", "bias"]))


if __name__ == "__main__":
    unittest.main()
