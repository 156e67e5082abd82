"""The file formats of a checkpoint, units of length, and metrics."""

import collections
import json
import math
import pathlib
import tempfile
import unittest

import torch
from det import pytorch as dp
from det.pytorch.metrics import accumulators
from det.pytorch.state import rank_state, safetensors, tree_codec
from det.pytorch.state.snapshot import Snapshot, read_model, read_tree
from det.pytorch.trial.train_units import parse_train_unit


class FileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "x.safetensors"

    def test_reads_the_tensors_that_were_written(self):
        tensors = {
            str(dtype): torch.arange(7).to(dtype)
            for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.int8, torch.bool)
        }
        tensors["across"] = torch.arange(12.0).view(3, 4).t()
        tensors["single"] = torch.tensor(math.nan)
        tensors["empty"] = torch.empty(0, 3)
        safetensors.write_safetensors(self.path, tensors, {"a": "b"})
        read, metadata = safetensors.read_with_metadata(self.path)
        self.assertEqual(set(read), set(dp.read_safetensors(self.path)))
        self.assertEqual(metadata, {"a": "b"})
        self.assertEqual(set(read), set(tensors))
        for name, tensor in tensors.items():
            self.assertEqual((read[name].dtype, read[name].shape), (tensor.dtype, tensor.shape))
            self.assertTrue(torch.equal(read[name], tensor) or name == "single")

    def test_writes_the_safetensors_format(self):
        safetensors.write_safetensors(self.path, {"t": torch.tensor([1, 2], dtype=torch.uint8)}, {})
        data = self.path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        self.assertEqual((8 + length) % 8, 0)
        header = {"t": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}
        self.assertEqual(json.loads(data[8 : 8 + length]), header)
        self.assertEqual(data[8 + length :], b"\1\2")

    def test_rejects_damaged_files(self):
        safetensors.write_safetensors(self.path, {"t": torch.ones(100)}, {})
        data = self.path.read_bytes()
        for damaged in (b"", b"abc", data[:-1], b"\xff" * 64, data[:9] + b"\0" + data[10:]):
            self.path.write_bytes(damaged)
            with self.assertRaisesRegex(safetensors.DamagedFileError, "x.safetensors"):
                safetensors.read_with_metadata(self.path)

    def test_rejects_invalid_headers(self):
        entry = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
        for header in (
            {"t": 1},
            {"t": {}},
            {"t": {**entry, "data_offsets": [0]}},
            {"t": {**entry, "data_offsets": [0, "2"]}},
            {"t": {**entry, "data_offsets": [0, 10**18]}},
            {"t": {**entry, "data_offsets": [-2, 0]}},
            {"t": {**entry, "shape": [-1, -2]}},
            {"t": {**entry, "shape": 2}},
            {"t": {**entry, "dtype": []}},
            {"__metadata__": 1},
            [1],
        ):
            text = json.dumps(header).encode()
            self.path.write_bytes(len(text).to_bytes(8, "little") + text + b"\1\2")
            with self.subTest(header=header):
                with self.assertRaisesRegex(safetensors.DamagedFileError, "x.safetensors"):
                    safetensors.read_with_metadata(self.path)

    def test_decodes_encoded_trees(self):
        value = {
            "plain": [1, 2.5, "x", None, True],
            "far": [math.inf, (1, 2), {3}, b"bytes", 1j],
            5: collections.OrderedDict(a=torch.ones(2)),
            "counter": collections.Counter(a=2),
            "queue": collections.deque([1]),
            "of torch": [torch.float16, torch.Size([1]), torch.device("cpu")],
            "$": "dollar",
        }
        node, tensors = tree_codec.encode_tree(value, "root")
        back = tree_codec.decode_tree(json.loads(json.dumps(node)), tensors)
        self.assertTrue(torch.equal(back[5].pop("a"), value[5].pop("a")))
        self.assertEqual(back, value)
        self.assertEqual([type(v) for v in back.values()], [type(v) for v in value.values()])
        self.assertEqual(tree_codec.encode_tree({"f": len, "n": 1}, "root")[0], {"n": 1})

    def test_names_each_tensor_of_a_tree_uniquely(self):
        import numpy

        numbers = iter(range(100))

        def tensor():
            return torch.tensor([next(numbers)])

        value = [
            {"a.b": tensor(), "a": {"b": tensor()}},
            {1: tensor(), "1": tensor(), "key": numpy.array([next(numbers)])},
            {(tensor(),): tensor(), "key": [tensor()]},
        ]
        node, tensors = tree_codec.encode_tree(value, "root")
        self.assertEqual(len(tensors), next(numbers))
        back = tree_codec.decode_tree(json.loads(json.dumps(node)), tensors)
        self.assertEqual(back[0]["a.b"].item(), 0)
        self.assertEqual([part.item() for part in back[1].values()], [2, 3, 4])

    def test_snapshot_keeps_copied_values(self):
        shared = torch.ones(3)
        snapshot = Snapshot()
        snapshot.begin()
        snapshot.take_model("m.safetensors", {"a": shared, "b": shared, "_extra": {"x": (1,)}})
        snapshot.take_tree("t.safetensors", {"state": {0: {"step": torch.tensor(4.0)}}})
        snapshot.end()
        shared.zero_()
        snapshot.write(self.folder)
        model = read_model(self.folder / "m.safetensors")
        self.assertEqual(model.pop("_extra"), {"x": (1,)})
        weights = {name: tensor.tolist() for name, tensor in model.items()}
        self.assertEqual(weights, {"a": [1] * 3, "b": [1] * 3})
        tree = read_tree(self.folder / "t.safetensors")
        self.assertEqual(tree["state"][0]["step"].item(), 4.0)


class SparseTest(unittest.TestCase):
    def test_decodes_sparse_tensors_unchanged(self):
        twice = torch.sparse_coo_tensor([[2, 0, 2]], [1.0, 2.0, 3.0], (4,))
        for given in (twice, twice.coalesce()):
            tree, tensors = tree_codec.encode_tree({"a": given}, "t")
            results = tree_codec.decode_tree(json.loads(json.dumps(tree)), tensors)["a"]
            self.assertEqual(given.is_coalesced(), results.is_coalesced())
            self.assertTrue(torch.equal(given._values(), results._values()))
            self.assertTrue(torch.equal(given.to_dense(), results.to_dense()))


class GradientsTest(unittest.TestCase):
    def test_restores_gradients_by_name_and_by_order(self):
        first, second = (torch.nn.Linear(3, 1) for _ in range(2))
        first(torch.ones(3)).backward()
        first.bias.grad = None

        def give(gradients):
            by_name = rank_state._by_name(second, gradients)
            rank_state._set_gradients(second, by_name, set())

        give(rank_state._get_gradients(first))
        self.assertTrue(torch.equal(second.weight.grad, torch.ones(1, 3)))
        give([None, torch.ones(1)])
        self.assertIsNone(second.weight.grad)
        self.assertEqual(second.bias.grad.item(), 1)
        # From a checkpoint whose ranks had other parts of the model.
        give({"other.weight": torch.ones(5)})
        self.assertIsNone(second.bias.grad)


class UnitTest(unittest.TestCase):
    def test_parses_lengths_of_a_config(self):
        for value, unit in (
            (100, dp.Batch(100)),
            ({"epochs": 3}, dp.Epoch(3)),
            ({"records": 1000}, dp.Batch(15)),
            ({"batches": 0}, None),
            (None, None),
        ):
            self.assertEqual(parse_train_unit(value, "f", 64), unit)
        for value in ("3", {"minutes": 1}, {"epochs": -1}, {"epochs": 1, "batches": 2}, True):
            with self.assertRaisesRegex(ValueError, "^f is "):
                parse_train_unit(value, "f", 64)

    def test_rejects_invalid_lengths(self):
        for value in (0, -1):
            with self.assertRaises(ValueError):
                dp.Batch(value)
        for value in (1.5, True, None):
            with self.assertRaises(TypeError):
                dp.Epoch(value)


class MetricsTest(unittest.TestCase):
    def test_converts_metrics_to_python_values(self):
        batches = [{"a": torch.tensor(1.5), "b": torch.tensor([1, 2]), "c": "x"}, {"a": 2}]
        self.assertEqual(
            accumulators.to_python_all(batches), [{"a": 1.5, "b": [1, 2], "c": "x"}, {"a": 2}]
        )
        with self.assertRaisesRegex(TypeError, "train_batch.. returned a NoneType"):
            accumulators.detach_metrics(None, "train_batch")
