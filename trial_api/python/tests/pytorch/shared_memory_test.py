"""The all-gather of small numbers through memory that the ranks of a node share."""

import threading
import types
import unittest
import unittest.mock

from det.pytorch.distributed import shared_memory
from det.pytorch.distributed.shared_memory import (
    SharedMemoryAllgather,
    buffer_size,
    create_shared_memory_allgather,
)


class SharedMemoryTest(unittest.TestCase):
    def test_each_rank_gets_all_numbers_of_the_same_round(self):
        memory, size, rounds = bytearray(buffer_size(3)), 3, 200
        gathered = [[] for _ in range(size)]

        def rank(number):
            allgather = SharedMemoryAllgather(memory, number, size, 60)
            for index in range(rounds):
                allgather.put((index + number) % 256)
                gathered[number].append(allgather.wait())

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = [[(index + number) % 256 for number in range(size)] for index in range(rounds)]
        self.assertEqual([expected] * size, gathered)

    def test_names_the_rank_that_is_missing_after_the_timeout(self):
        allgather = SharedMemoryAllgather(bytearray(buffer_size(2)), 0, 2, 0.01)
        allgather.put(1)
        with self.assertRaisesRegex(RuntimeError, "rank 1 has not begun"):
            allgather.wait()

    def test_is_not_created_when_ranks_are_on_several_nodes(self):
        group = types.SimpleNamespace(size=2, rank=0, is_chief=True)
        group.broadcast, group.gather = (lambda value: value), (lambda value: [value, value])
        with unittest.mock.patch.dict(shared_memory.os.environ, LOCAL_WORLD_SIZE="1"):
            self.assertIsNone(create_shared_memory_allgather(group, 60))
        with unittest.mock.patch.dict(shared_memory.os.environ, LOCAL_WORLD_SIZE="2"):
            self.assertIsNotNone(create_shared_memory_allgather(group, 60))


if __name__ == "__main__":
    unittest.main()
