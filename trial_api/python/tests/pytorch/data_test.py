"""Data loaders: which records a rank reads, from which position, and what is accepted instead."""

import random
import unittest

import torch
from det import pytorch as dp
from det.pytorch import samplers
from det.pytorch.data.batch_shard import BatchShard
from det.pytorch.data.data_loader import adapt_loader
from det.pytorch.data.sharded_loader import ShardedDataLoader
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset, IterableDataset, TensorDataset


class Numbers(Dataset):
    """Records with the random number that was drawn for each."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"number": index, "drawn": random.random()}


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


class CoinStream(Stream):
    """A stream whose order is random too."""

    def __iter__(self):
        left = list(range(self.count))
        while left:
            yield left.pop(random.randrange(len(left)))


class CoinSampler:
    """Draws its order from the generators of the process."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __iter__(self):
        return iter(random.sample(range(self.count), self.count))


def shard(loader, rank=0, size=1, training=True, seed=3):
    return ShardedDataLoader(loader, shard=BatchShard(rank, 1, size), seed=seed, training=training)


def read(loader, epoch=0, first=0, **options):
    return [batch["number"].tolist() for batch in shard(loader, **options).read(epoch, first)]


def draw_between(loader, rank, epoch=0, first=0, **options):
    """Returns the batches of a rank whose training draws random numbers too."""
    batches = []
    for batch in shard(loader, rank=rank, **options).read(epoch, first):
        random.seed(rank)
        batches.append(batch.tolist())
    return batches


class ShardingTest(unittest.TestCase):
    def test_ranks_divide_the_batches_of_one_rank(self):
        cases = ((24, False, 3), (27, False, 4), (25, False, 3), (31, True, 3))
        for count, drop_last, batches in cases:
            with self.subTest(count=count):
                one = read(dp.DataLoader(Numbers(count), 8, shuffle=True, drop_last=drop_last))
                parts = [
                    read(
                        dp.DataLoader(Numbers(count), 4, shuffle=True, drop_last=drop_last),
                        rank=rank,
                        size=2,
                    )
                    for rank in range(2)
                ]
                self.assertEqual([len(part) for part in parts], [batches, batches])
                for whole, left, right in zip(one, *parts):
                    self.assertEqual(left + right, whole[: len(left + right)])
                    self.assertLess(len(whole) - len(left + right), 2)
                    self.assertEqual(len(left), len(right))

    def test_validation_reads_every_record_once(self):
        for size in (1, 2, 3):
            for loader in (
                dp.DataLoader(Numbers(19), 4),
                dp.DataLoader(Numbers(19), batch_sampler=[[i] for i in range(19)]),
            ):
                got = [read(loader, rank=r, size=size, training=False) for r in range(size)]
                numbers = sorted(n for part in got for batch in part for n in batch)
                self.assertEqual(numbers, list(range(19)))

    def test_every_epoch_has_a_different_order(self):
        loader = dp.DataLoader(Numbers(40), 8, shuffle=True)
        self.assertNotEqual(read(loader, epoch=0), read(loader, epoch=1))
        self.assertEqual(read(loader, epoch=1), read(loader, epoch=1))
        self.assertNotEqual(read(loader, epoch=1), read(loader, epoch=1, seed=4))

    def test_reads_from_any_position(self):
        for loader in (
            dp.DataLoader(Numbers(40), 8, shuffle=True),
            dp.DataLoader(Numbers(40), 8, sampler=CoinSampler(40)),
            dp.DataLoader(
                Numbers(40), batch_sampler=torch.utils.data.BatchSampler(CoinSampler(40), 8, False)
            ),
        ):
            whole = read(loader, epoch=2)
            random.random()  # The order does not depend on other random numbers.
            self.assertEqual(read(loader, epoch=2, first=3), whole[3:])

    def test_skips_to_a_position_without_reading(self):
        class Watched(Numbers):
            def __getitem__(self, index):
                requested.append(index)
                return super().__getitem__(index)

        requested = []
        self.assertEqual(len(read(dp.DataLoader(Watched(40), 8), first=4)), 1)
        self.assertEqual(requested, list(range(32, 40)))

    def test_workers_read_the_same_batches_with_the_same_random_numbers(self):
        for persistent in (False, True):
            loader = dp.DataLoader(
                Numbers(40), 8, shuffle=True, num_workers=2, persistent_workers=persistent
            )
            data = shard(loader)
            list(data.read(0))
            whole = list(data.read(1))
            again = list(shard(loader).read(1, 2))
            self.assertEqual(
                [b["number"].tolist() for b in whole],
                read(dp.DataLoader(Numbers(40), 8, shuffle=True), epoch=1),
            )
            self.assertEqual(
                [b["drawn"].tolist() for b in whole[2:]], [b["drawn"].tolist() for b in again]
            )

    def test_divides_an_iterable_dataset(self):
        for workers in (0, 2):
            parts = [
                [
                    b.tolist()
                    for b in shard(
                        dp.DataLoader(Stream(11), 2, num_workers=workers), rank=rank, size=2
                    ).read(0, 1)
                ]
                for rank in range(2)
            ]
            self.assertEqual(parts, [[[4, 5], [8]], [[6, 7], [9]]])

    def test_ranks_and_workers_draw_the_same_order_of_an_iterable_dataset(self):
        for workers in (0, 1, 2):
            with self.subTest(workers=workers):
                loader = dp.DataLoader(CoinStream(20), 2, num_workers=workers)
                left, right = (draw_between(loader, rank, size=2) for rank in range(2))
                got = [part[i] for i in range(5) for part in (left, right)]
                self.assertEqual(sorted(n for batch in got for n in batch), list(range(20)))
                self.assertNotEqual(left, draw_between(loader, 0, size=2, epoch=1))
                # Read again from the middle of the epoch.
                self.assertEqual(left[2:], draw_between(loader, 0, size=2, first=2))

    def test_random_numbers_of_an_iterable_dataset_do_not_change_training(self):
        random.seed(1)
        list(shard(dp.DataLoader(CoinStream(20), 2)).read(0))
        drawn = random.random()
        random.seed(1)
        self.assertEqual(random.random(), drawn)

    def test_reads_tensors_of_a_batch_at_once(self):
        dataset = TensorDataset(torch.arange(20), torch.arange(20) * 2)
        fast = list(shard(dp.DataLoader(dataset, 6)).read(0))
        slow = list(TorchDataLoader(dataset, 6))
        self.assertEqual(len(fast), len(slow))
        for one, other in zip(fast, slow):
            self.assertEqual(type(one), type(other))
            for a, b in zip(one, other):
                self.assertTrue(torch.equal(a, b))

    def test_rejects_a_dataset_smaller_than_a_batch(self):
        with self.assertRaisesRegex(ValueError, "has 3 records, too few"):
            shard(dp.DataLoader(Numbers(3), 4), size=4)


class AdaptTest(unittest.TestCase):
    def adapt(self, given, unchecked=False):
        return adapt_loader(
            given, batch_size=lambda: 5, shuffle=True, what="build", unchecked=unchecked
        )

    def test_accepts_tensors_and_arrays(self):
        import numpy

        for given in (torch.ones(20, 3), [numpy.ones((20, 3)), torch.ones(20)]):
            loader = self.adapt(given)
            self.assertEqual((len(loader), loader.shuffle), (4, True))
        named = self.adapt({"x": torch.ones(20, 3), "y": numpy.ones(20)})
        self.assertEqual(next(iter(shard(named).read(0)))["x"].shape, (5, 3))
        with self.assertRaisesRegex(ValueError, "have 3, 4 records"):
            self.adapt((torch.ones(3), torch.ones(4)))

    def test_accepts_torch_data_loader(self):
        loader = self.adapt(TorchDataLoader(Numbers(20), 5, shuffle=True, drop_last=True))
        self.assertEqual((loader.batch_size, loader.shuffle, loader.drop_last), (5, True, True))
        self.assertEqual(read(self.adapt(TorchDataLoader(Numbers(4), 2))), [[0, 1], [2, 3]])
        weighted = torch.utils.data.WeightedRandomSampler([1.0] * 20, 8)
        self.assertEqual(len(self.adapt(TorchDataLoader(Numbers(20), 4, sampler=weighted))), 2)

    def test_rejects_other_iterables_unless_checks_are_disabled(self):
        batches = [torch.ones(2), torch.zeros(2)]
        with self.assertRaisesRegex(TypeError, "disable_dataset_reproducibility_checks"):
            self.adapt(iter(batches))
        self.assertIs(self.adapt(batches, unchecked=True), batches)

    def test_rejects_torch_distributed_sampler(self):
        sampler = torch.utils.data.distributed.DistributedSampler(Numbers(4), 2, 0)
        with self.assertRaisesRegex(ValueError, "DistributedSampler"):
            dp.DataLoader(Numbers(4), sampler=sampler)

    def test_counts_records_and_moves_to_device(self):
        batch = {"text": ["a", "b"], "x": (torch.ones(2, 3), 1)}
        self.assertEqual(dp.data_length(batch), 2)
        self.assertEqual(dp.to_device(batch, torch.device("cpu"))["text"], ["a", "b"])
        with self.assertRaisesRegex(TypeError, "get_batch_length"):
            dp.data_length("abc")


class SamplersTest(unittest.TestCase):
    def test_samplers_compose(self):
        shuffled = samplers.ReproducibleShuffleSampler(range(10), 3)
        self.assertEqual(sorted(shuffled), list(range(10)))
        parts = [list(samplers.DistributedSampler(range(10), 3, rank)) for rank in range(3)]
        self.assertEqual(parts, [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]])
        repeated = iter(samplers.RepeatBatchSampler(samplers.SkipBatchSampler([[1], [2]], 1)))
        self.assertEqual([next(repeated) for _ in range(3)], [[2], [1], [2]])
