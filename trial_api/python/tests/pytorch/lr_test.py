"""Learning rates against their formulas, which are those of lr_schedule_test.cc."""

import math
import unittest

import torch
from det.pytorch import lr


def rates(factor, steps, max_steps):
    return [factor(step, max_steps) for step in range(steps)]


class LrTest(unittest.TestCase):
    def expect(self, factor, expected, max_steps=4):
        for got, want in zip(rates(factor, len(expected), max_steps), expected):
            self.assertAlmostEqual(got, want, places=12)

    def test_schedules_follow_their_formulas(self):
        self.expect(lr.constant(), [1, 1, 1])
        self.expect(lr.polynomial(), [1, 0.75, 0.5, 0.25, 0, 0])
        self.expect(lr.polynomial(2, 0.2), [1, 0.65, 0.4, 0.25, 0.2, 0.2])
        half = (1 + math.cos(math.pi / 4)) / 2
        self.expect(lr.cosine(), [1, half, 0.5, 1 - half, 0, 0])
        self.expect(lr.cosine(0.5), [1, 0.5 + half / 2, 0.75])
        self.expect(lr.stairs(2, 0.1), [1, 1, 0.1, 0.1, 0.01])
        self.expect(lr.exponential(0.5), [1, 0.5, 0.25])
        self.expect(lr.scaled(8, lr.exponential(0.5)), [8, 4, 2])
        self.assertEqual(lr.linear_scaling(4096, 256), 16)
        self.assertEqual(lr.square_root_scaling(4096, 256), 4)

    def test_schedule_after_warmup_counts_from_its_end(self):
        self.expect(lr.warmup(2, lr.polynomial()), [0.5, 1, 1, 0.5, 0])
        self.expect(lr.warmup(4, start=0.2), [0.4, 0.6, 0.8, 1, 1])
        self.expect(
            lr.warmup(4, lr.cosine()), [0.25, 0.5, 0.75, 1, 0]
        )  # Nothing remains after the warmup.

    def test_schedule_resumes_at_its_position(self):
        def make():
            optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
            return optimizer, lr.schedule(optimizer, lr.warmup(3, lr.cosine()), 10)

        optimizer, schedule = make()
        seen, halfway = [], None
        for step in range(10):
            if step == 4:
                halfway = optimizer.state_dict(), schedule.state_dict()
            seen.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        resumed, resumed_run = make()
        resumed.load_state_dict(halfway[0])
        resumed_run.load_state_dict(halfway[1])
        after = []
        for _ in range(4, 10):
            after.append(resumed.param_groups[0]["lr"])
            resumed.step()
            resumed_run.step()
        self.assertEqual(after, seen[4:])
        self.assertAlmostEqual(seen[0], 0.1 / 3)

    def test_rejects_invalid_arguments_by_name(self):
        for make, message in (
            (lambda: lr.warmup(0), "lr.warmup(): steps is 0: must be at least 1"),
            (lambda: lr.stairs(5, -1), "lr.stairs(): gamma is -1: must be above 0"),
            (lambda: lr.exponential(math.nan), "lr.exponential(): gamma is nan"),
            (lambda: lr.polynomial(0), "lr.polynomial(): power is 0: must be above 0"),
            (lambda: lr.scaled(0), "lr.scaled(): by is 0: must be above 0"),
            (lambda: lr.linear_scaling(8, 0), "reference is 0: must be at least 1"),
            (lambda: lr.schedule(None, lr.constant(), 0), "max_steps is 0: must be at least 1"),
        ):
            with self.assertRaises(ValueError) as caught:
                make()
            self.assertIn(message, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
