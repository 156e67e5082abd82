"""A trial that resumes on more or fewer ranks equals an uninterrupted one.

Nothing of the ranks that are gone is lost, and new ranks add nothing.
"""

import json
import os
import tempfile
import unittest
from unittest import mock

import elastic_scenarios
import torch
from det import pytorch as dp
from ranks_test import run_on_ranks

SIZES = (1, 2, 3, 4)


class ElasticTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.storage = folder.name
        saved = {size: cls.on(size, "saved")[0] for size in SIZES}
        with mock.patch.dict(os.environ, SAVED_BY=json.dumps(saved)):
            cls.outcomes = {size: cls.on(size, "all_resumed_cases") for size in SIZES}

    @classmethod
    def on(cls, size, name):
        if size == 1:
            outcomes = elastic_scenarios.SCENARIOS[name](cls.storage)
            return [json.loads(json.dumps(outcomes))]
        return run_on_ranks(size, [name], cls.storage)[name]

    def cases(self, name):
        """Yields the results of each rank, by the numbers of ranks that saved and that resumed."""
        for size, ranks in self.outcomes.items():
            for saved_by in ranks[0]:
                yield f"{saved_by} to {size}", [rank[saved_by][name] for rank in ranks]

    def assert_weights(self, uninterrupted, weights):
        self.assertTrue(weights)
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.tensor(numbers), torch.tensor(uninterrupted[name]), rtol=1e-5, atol=1e-6
            )

    def assert_as_uninterrupted(self, name):
        uninterrupted = json.loads(json.dumps(elastic_scenarios.uninterrupted(name)))
        [[*reference, expected]] = uninterrupted["reports"]
        for sizes, ranks in self.cases(name):
            with self.subTest(sizes):
                for rank in ranks:
                    self.assert_weights(uninterrupted["weights"], rank["weights"])
                known = {weight for rank in ranks for weight in rank["weights"]}
                self.assertEqual(set(uninterrupted["weights"]), known)
                [[*where, metrics]] = ranks[0]["reports"]
                self.assertEqual(reference, where)
                self.assertEqual(expected["seen"], metrics["seen"])
                self.assertAlmostEqual(expected["loss"], metrics["loss"], delta=1e-5)

    def test_resumes_gradients_and_metrics_on_other_numbers_of_ranks(self):
        self.assert_as_uninterrupted("net")

    def test_resumes_gradients_of_a_parameter_server(self):
        self.assert_as_uninterrupted("server")

    def test_resumes_sparse_gradients(self):
        self.assert_as_uninterrupted("sparse")

    def test_resumes_from_nodes_with_several_slots(self):
        self.assert_as_uninterrupted("nodes")

    def test_resumes_from_stages_and_into_stages(self):
        self.assert_as_uninterrupted("pipeline")

    def test_adds_rounding_errors_to_gradients_when_nothing_is_rounded(self):
        self.assert_as_uninterrupted("bytes")

    def test_resumes_rounding_errors(self):
        uninterrupted = elastic_scenarios.uninterrupted("bytes", batches=12)
        for sizes, ranks in self.cases("again"):
            with self.subTest(sizes):
                options = {
                    "latest_checkpoint": ranks[0],
                    "max_length": dp.Batch(12),
                    "compress": False,
                }
                ended = elastic_scenarios.summarize(
                    elastic_scenarios.train_case("bytes", self.storage, **options)
                )
                self.assert_weights(uninterrupted["weights"], ended["weights"])


if __name__ == "__main__":
    unittest.main()
