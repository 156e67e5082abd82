"""What the ranks of a node tell each other in shared memory."""

import threading
import types
import unittest
import unittest.mock

from det.pytorch import _shared_words
from det.pytorch._shared_words import SharedWords, share, size_of


class SharedWordsTest(unittest.TestCase):
    def test_each_hears_all_of_the_same_turn_and_waits_for_the_slowest(self):
        memory, size, turns = bytearray(size_of(3)), 3, 200
        heard = [[] for _ in range(size)]

        def rank(number):
            words = SharedWords(memory, number, size, 60)
            for turn in range(turns):
                words.tell((turn + number) % 256)
                heard[number].append(words.hear())

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wanted = [[(turn + number) % 256 for number in range(size)] for turn in range(turns)]
        self.assertEqual([wanted] * size, heard)

    def test_one_that_is_gone_is_named(self):
        words = SharedWords(bytearray(size_of(2)), 0, 2, 0.01)
        words.tell(1)
        with self.assertRaisesRegex(RuntimeError, "rank 1 has not begun"):
            words.hear()

    def test_none_where_ranks_are_on_several_nodes(self):
        ranks = types.SimpleNamespace(size=2, rank=0, is_chief=True)
        ranks.broadcast, ranks.gather = (lambda value: value), (lambda value: [value, value])
        with unittest.mock.patch.dict(_shared_words.os.environ, LOCAL_WORLD_SIZE="1"):
            self.assertIsNone(share(ranks, 60))
        with unittest.mock.patch.dict(_shared_words.os.environ, LOCAL_WORLD_SIZE="2"):
            self.assertIsNotNone(share(ranks, 60))


if __name__ == "__main__":
    unittest.main()
