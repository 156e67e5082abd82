#!/usr/bin/env -S python3 -B
"""Tests the Python examples that need torch, each for a few batches."""
import os
import shutil

import harness

EXAMPLES = os.path.join(harness.ROOT, "examples")


class ExamplesTest(harness.ClusterTestCase):
    agents, slots = 1, 4

    def validate(self, example, slots, *options):
        """Runs the example; returns the metrics of its last validation."""
        source = os.path.join(EXAMPLES, example)
        context = self.home.context()
        for name in os.listdir(source):
            if name.endswith((".py", ".yaml", ".json")):
                shutil.copy(os.path.join(source, name), context)
        options = [f"resources.slots_per_trial={slots}", *options]
        created = self.home.json("experiment", "create", os.path.join(context, "const.yaml"), context,
                              *[x for o in options for x in ("--config", o)])
        self.assertEqual([], created.get("warnings", []), "an example must have no warnings")
        return self.home.last_validation(created["experiment"]["id"])

    def test_question_answering_gives_equal_results_on_1_2_and_4_slots(self):
        options = ["searcher.max_length={batches: 48}", "hyperparameters.epochs=1"]
        results = [self.validate("question_answering", slots, *options) for slots in (1, 2, 4)]
        self.assertGreater(results[0]["f1"], 15, results)  # More than guessing among all words.
        for metric in ("f1", "exact_match"):
            values = [each[metric] for each in results]
            self.assertLess(max(values) - min(values), 1, results)

    def test_question_answering_learns_with_its_configuration(self):
        results = self.validate("question_answering", 1)
        # 75 is reached by knowing the kind of the fact and guessing its subject.
        self.assertGreater(results["f1"], 90, results)

    def test_fashion_mnist_learns_on_two_slots(self):
        results = self.validate("fashion_mnist/python", 2, "searcher.max_length={batches: 30}")
        self.assertGreater(results["accuracy"], 0.4, results)  # Guessing gives 0.1.


if __name__ == "__main__":
    harness.main()
