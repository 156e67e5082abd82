"""Measurement of the bucket size on two ranks, with a fake clock."""

import tempfile
import unittest

from det.pytorch.distributed import optimizations
from ranks_test import run_on_two_ranks


class FusionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.left, cls.right = run_on_two_ranks(["fusion"], folder)["fusion"]

    def test_tries_each_size_equally_long_and_keeps_the_best_of_the_chief(self):
        expected = [1] * 8 + [4] * 8 + [16] * 8 + [64] * 8 + [16] * 18
        for rank in (self.left, self.right):
            self.assertEqual(rank["tuned"]["sizes"], expected)
            self.assertEqual(rank["tuned_float16"]["sizes"], expected)

    def test_tuning_does_not_change_the_result(self):
        for rank in (self.left, self.right):
            for tuned, plain in (("tuned", "plain"), ("tuned_float16", "float16")):
                self.assertEqual(rank[tuned]["weights"], rank[plain]["weights"], tuned)
        self.assertNotEqual(self.left["plain"]["weights"], self.left["float16"]["weights"])

    def test_hooks_of_the_model_stay(self):
        self.assertEqual(self.left["tuned"]["seen"], [50, 50])
        self.assertEqual(self.left["tuned"]["modes"], [True])

    def test_logs_the_result_once(self):
        [output] = self.left["tuned"]["message"]
        self.assertIn("the bucket size is 16 MB (median seconds of a batch by", output)
        self.assertIn("1 MB: 4.000000, 4 MB: 3.000000, 16 MB: 1.000000, 64 MB: 2.000000", output)
        self.assertEqual(self.right["tuned"]["message"], [])

    def test_rejects_int8_compression(self):
        options = {"auto_tune_tensor_fusion": True, "gradient_compression": "int8"}
        with self.assertRaisesRegex(ValueError, "int8 .* remove one of them"):
            optimizations.parse_optimizations({"optimizations": options})
        options = {"auto_tune_tensor_fusion": True, "strategy": "async"}
        with self.assertRaisesRegex(
            ValueError, "auto_tune_tensor_fusion requires strategy allreduce"
        ):
            optimizations.parse_optimizations({"optimizations": options})


if __name__ == "__main__":
    unittest.main()
