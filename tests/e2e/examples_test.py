#!/usr/bin/env -S python3 -B
"""The examples in Python that need torch, each for a few batches."""
import os
import shutil

import harness

EXAMPLES = os.path.join(harness.ROOT, "examples")


class ExamplesTest(harness.ClusterTestCase):
    agents, slots = 1, 4

    def validate(self, example, slots, *options):
        """The metrics of the last validation of an example that ran to its end."""
        source = os.path.join(EXAMPLES, example)
        context = self.home.context()
        for name in os.listdir(source):
            if name.endswith((".py", ".yaml", ".json")):
                shutil.copy(os.path.join(source, name), context)
        options = [f"resources.slots_per_trial={slots}", *options]
        made = self.home.json("experiment", "create", os.path.join(context, "const.yaml"), context,
                              *[x for o in options for x in ("--config", o)])
        self.assertEqual([], made.get("warnings", []), "an example is written as it should be")
        return self.home.last_validation(made["experiment"]["id"])

    def test_question_answering_gives_equal_results_on_1_2_and_4_slots(self):
        options = ["searcher.max_length={batches: 48}", "hyperparameters.epochs=1"]
        results = [self.validate("question_answering", slots, *options) for slots in (1, 2, 4)]
        self.assertGreater(results[0]["f1"], 15, results)  # What a guess among all words would not reach.
        for metric in ("f1", "exact_match"):
            values = [each[metric] for each in results]
            self.assertLess(max(values) - min(values), 1, results)

    def test_question_answering_learns_with_its_configuration(self):
        results = self.validate("question_answering", 1)
        # Who knows what kind of fact is asked, and guesses of whom, has 75.
        self.assertGreater(results["f1"], 90, results)

    def test_fashion_mnist_learns_on_two_slots(self):
        results = self.validate("fashion_mnist/python", 2, "searcher.max_length={batches: 30}")
        self.assertGreater(results["accuracy"], 0.4, results)  # A guess has 0.1.


if __name__ == "__main__":
    harness.main()
