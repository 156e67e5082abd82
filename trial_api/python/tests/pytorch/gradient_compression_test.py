"""Quantization of gradients, and the configuration of compression."""

import unittest

import torch
from det.pytorch.distributed import optimizations
from det.pytorch.strategies.error_feedback import ErrorFeedback, dequantize, quantize


class Bucket:
    def __init__(self, gradients, parameters):
        self._gradients, self._parameters = gradients.clone(), parameters

    def buffer(self):
        return self._gradients

    def parameters(self):
        return self._parameters


class CompressionTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_quantization_error_is_at_most_half_a_level(self):
        numbers = torch.randn(1000)
        levels, scale = quantize(numbers)
        self.assertEqual(levels.dtype, torch.int8)
        error = (dequantize(levels, scale) - numbers).abs().max()
        self.assertLessEqual(float(error), 0.501 * float(numbers.abs().max()) / 127)

    def test_quantizes_zeros_exactly_and_propagates_nan(self):
        self.assertTrue(torch.equal(dequantize(*quantize(torch.zeros(3))), torch.zeros(3)))
        for bad in (float("nan"), float("inf")):
            self.assertFalse(dequantize(*quantize(torch.tensor([bad, 1.0]))).isfinite().all())

    def test_adds_rounding_errors_later_also_in_other_buckets(self):
        parameters = [torch.nn.Parameter(torch.zeros(3, 2)), torch.nn.Parameter(torch.zeros(4))]
        feedback, sent, expected = ErrorFeedback(), torch.zeros(10), torch.zeros(10)
        greatest = 0.0
        for step in range(100):
            gradients = torch.randn(10) * torch.logspace(-5, 0, 10)
            expected += gradients
            buckets = [(0, 10, parameters)]
            if step % 2:  # torch rearranges the buckets.
                buckets = [(0, 6, parameters[:1]), (6, 10, parameters[1:])]
            for begin, end, held in buckets:
                levels, scale = feedback.quantize_bucket(Bucket(gradients[begin:end], held))
                sent[begin:end] += dequantize(levels, scale)
                greatest = max(greatest, float(scale))
        self.assertLessEqual(float((sent - expected).abs().max()), 0.51 * greatest)

    def test_rescales_rounding_errors_with_the_loss_scale(self):
        feedback, parameter = ErrorFeedback(), torch.nn.Parameter(torch.zeros(2))
        feedback.rescale(8.0)
        feedback.quantize_bucket(Bucket(torch.tensor([127.0, 0.25]), [parameter]))
        feedback.rescale(16.0)
        self.assertEqual(feedback.save(torch.nn.ParameterList([parameter]))[0].tolist(), [0.0, 0.5])

    def test_skipped_step_leaves_no_rounding_error(self):
        feedback, parameter = ErrorFeedback(), torch.nn.Parameter(torch.zeros(2))
        feedback.quantize_bucket(Bucket(torch.tensor([float("inf"), 1.0]), [parameter]))
        levels, scale = feedback.quantize_bucket(Bucket(torch.tensor([127.0, 1.0]), [parameter]))
        self.assertEqual(dequantize(levels, scale).tolist(), [127.0, 1.0])


class OptimizationsTest(unittest.TestCase):
    def read(self, **options):
        return optimizations.parse_optimizations({"optimizations": options})

    def test_parses_defaults_and_values(self):
        self.assertEqual(
            optimizations.parse_optimizations({}), self.read(gradient_compression=False)
        )
        self.assertEqual(self.read(gradient_compression=True).compression, "float16")
        self.assertEqual(self.read(aggregation_frequency=4).aggregation_frequency, 4)
        self.assertFalse(self.read(average_aggregated_gradients=False).average_aggregated_gradients)

    def test_rejects_invalid_values_by_name(self):
        for name, value in (
            ("strategy", "ring"),
            ("gradient_compression", "int4"),
            ("tensor_fusion_threshold", -1),
            ("aggregation_frequency", 0),
        ):
            with self.assertRaisesRegex(ValueError, f"optimizations.{name} is {value!r}"):
                self.read(**{name: value})
