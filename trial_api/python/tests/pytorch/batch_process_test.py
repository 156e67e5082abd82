"""torch_batch_process() on one rank and on two."""

import os
import pathlib
import tempfile
import unittest

from batch_process_scenarios import Numbers, RecordingProcessor, process
from det.pytorch import experimental
from ranks_test import run_on_two_ranks
from torch.utils.data import IterableDataset
from trials import new_storage


def records_of(batches):
    return [record for _, records in batches for record in records]


class OneRankTest(unittest.TestCase):
    def setUp(self):
        self.storage = new_storage()
        RecordingProcessor.fails_at = None

    def test_processes_every_record_once_in_order(self):
        batches, events, _ = process(self.storage, checkpoint_interval=3)
        self.assertEqual(list(range(20)), records_of(batches))
        self.assertEqual(list(range(7)), [number for number, _ in batches])
        self.assertEqual(["store", "store", "store", "finish"], events)
        self.assertEqual(
            [[0], [1]],
            [records for _, records in process(self.storage, records=2, batch_size=None)[0]],
        )

    def test_resumes_after_the_last_batch_when_preempted(self):
        first, events, uuid = process(self.storage, preempt_after=2)
        self.assertEqual((3, ["store"]), (len(first), events))
        second, events, _ = process(self.storage, latest_checkpoint=uuid)
        self.assertEqual(list(range(20)), records_of(first + second))
        self.assertEqual(3, second[0][0])
        self.assertEqual("finish", events[-1])

    def test_resumes_from_stored_progress_after_a_failure(self):
        RecordingProcessor.fails_at = 4
        kept = []

        class Keeps(RecordingProcessor):
            def on_checkpoint_start(self):
                kept.append(len(self.batches))

        with self.assertRaisesRegex(RuntimeError, "process_batch failed"):
            process(self.storage, cls=Keeps, checkpoint_interval=3)
        self.assertEqual([3], kept)
        [uuid] = os.listdir(self.storage)
        RecordingProcessor.fails_at = None
        batches, _, _ = process(self.storage, latest_checkpoint=uuid)
        self.assertEqual(9, records_of(batches)[0])

    def test_finishes_when_preempted_at_the_last_batch(self):
        _, events, _ = process(self.storage, preempt_after=6)
        self.assertEqual("finish", events[-1])

    def test_max_batches_counts_batches_of_all_runs(self):
        first, _, uuid = process(self.storage, max_batches=2)
        second, _, _ = process(self.storage, max_batches=3, latest_checkpoint=uuid)
        self.assertEqual([0, 1, 2], [number for number, _ in first + second])

    def test_records_sources_and_stores_uploaded_files(self):
        noted = {}

        class Makes(RecordingProcessor):
            def __init__(self, context):
                super().__init__(context)
                context.report_task_using_checkpoint("u")
                context.report_task_using_checkpoint("u")

            def process_batch(self, batch, batch_idx):
                with self.context.upload_path() as path:
                    (path / f"batch_{batch_idx}").write_text(str(len(batch)))

            def on_finish(self):
                [uuid] = [
                    name
                    for name in os.listdir(self.context._core.checkpoint._storage.base)
                    if len(name) == 36
                ]
                noted.update(self.context._core.checkpoint.get_metadata(uuid))

        process(self.storage, records=5, cls=Makes)
        self.assertEqual(
            {"batch_0": "3", "batch_1": "2"},
            {
                path.name: path.read_text()
                for path in pathlib.Path(self.storage, "inference").iterdir()
            },
        )
        self.assertEqual(
            ([{"checkpoint": "u"}], 5, 2),
            (noted["sources"], noted["records"], noted["steps_completed"]),
        )

    def test_rejects_invalid_arguments(self):
        class Stream(IterableDataset):
            def __iter__(self):  # Newer versions of torch have it as an abstract method.
                return iter([])

        for dataset, options, words in (
            (Stream(), {}, "with a length"),
            (Numbers(3), {"batch_size": 0}, "batch_size is 0"),
            (Numbers(3), {"dataloader_kwargs": {"shuffle": True}}, "shuffle, which"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                experimental.torch_batch_process(
                    RecordingProcessor, dataset, **{"batch_size": 3, **options}
                )


class TwoRanksTest(unittest.TestCase):
    def test_two_ranks_divide_the_records_and_one_rank_resumes(self):
        storage = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        results = run_on_two_ranks(["processed"], storage)["processed"]
        of_ranks = [rank["uninterrupted"][0] for rank in results]
        self.assertEqual([[0, [0, 1, 2]], [0, [3, 4, 5]]], [batches[0] for batches in of_ranks])
        self.assertEqual(list(range(20)), sorted(sum(map(records_of, of_ranks), [])))
        for rank in results:
            self.assertEqual("finish", rank["uninterrupted"][1][-1])
            self.assertEqual(["store"], rank["stopped"][1])
        stopped = sorted(sum((records_of(rank["stopped"][0]) for rank in results), []))
        self.assertEqual(list(range(18)), stopped)
        rest, _, _ = process(storage + "/processed", latest_checkpoint=results[0]["stopped"][2])
        self.assertEqual([18, 19], records_of(rest))


if __name__ == "__main__":
    unittest.main()
