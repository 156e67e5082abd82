#!/usr/bin/env -S python3 -B
"""Tests C++ Trials on a cluster: two slots, checkpoints, killed ranks, compile errors."""
import json
import os
import shutil
import signal

import harness

EXAMPLE = os.path.join(harness.ROOT, "examples/fashion_mnist")


class TrainingTest(harness.ClusterTestCase):
    def example(self):
        """Creates a context directory with the sources of the example, without its build files."""
        context = self.home.context()
        for name in os.listdir(EXAMPLE):
            if name.endswith((".cc", ".h", ".yaml")):
                shutil.copy(os.path.join(EXAMPLE, name), context)
        return context

    def create(self, batches, *overrides, context=None):
        context = context or self.example()
        options = [f"searcher.max_length={{batches: {batches}}}", "resources.slots_per_trial=2",
                   *overrides]
        created = self.home.json("experiment", "create", os.path.join(context, "const.yaml"),
                                 context, *[x for o in options for x in ("--config", o)])
        return created["experiment"]["id"]

    def test_architecture_search_finds_an_architecture(self):
        source = os.path.join(harness.ROOT, "examples/architecture_search")
        context = self.home.context()
        for name in ("architecture_search.cc", "search.yaml"):
            shutil.copy(os.path.join(source, name), context)
        options = ["searcher.max_trials=4", "searcher.max_length.batches=32",
                   "data.train_records=1024", "data.validation_records=500"]
        created = self.home.json("experiment", "create", os.path.join(context, "search.yaml"),
                                 context, *[x for o in options for x in ("--config", o)])
        described = self.home.finish(created["experiment"]["id"])
        self.assert_state(described, "COMPLETED")
        self.assertEqual(4, described["numTrials"])
        text = self.home.det("experiment", "describe", described["id"]).stdout
        self.assertIn("depth=", text)

    def test_char_lm_learns_and_its_checkpoint_can_be_fine_tuned(self):
        context, texts = self.home.context(), os.path.join(self.home.folder, "texts")
        source = os.path.join(harness.ROOT, "examples/char_lm")
        for name in os.listdir(source):
            if name.endswith((".cc", ".h", ".yaml", ".tsv")):
                shutil.copy(os.path.join(source, name), context)
        for i in range(60):
            os.makedirs(os.path.join(texts, str(i)))
            with open(os.path.join(texts, str(i), "README"), "w", encoding="utf-8") as file:
                file.write(f"options of program {i}: print the names of files and lines\n" * 40)

        def finish(config, *options):
            words = [word for option in ("hyperparameters.hidden=32", *options)
                     for word in ("--config", option)]
            created = self.home.json("experiment", "create", os.path.join(context, config), context,
                                  *words)
            described = self.home.finish(created["experiment"]["id"])
            trial = self.home.first_trial(described["id"])
            self.assertEqual("STATE_COMPLETED", described["state"],
                             self.home.trial_log(trial["id"]))
            return described["id"], trial["bestValidation"]["metrics"]["avgMetrics"]

        experiment, results = finish("const.yaml", f"data.path={texts}", "data.min_bytes=1000",
                                  "hyperparameters.sequence_length=16",
                                  "hyperparameters.warmup_batches=2",
                                  "hyperparameters.learning_rate=0.004",
                                  "searcher.max_length={batches: 30}")
        self.assertLess(results["bits_per_character"], 7)  # A uniform guess has 8.
        uuid = self.home.json("checkpoint", "list", experiment)["checkpoints"][-1]["uuid"]
        self.home.det("checkpoint", "download", uuid, "-o",
                      os.path.join(context, "language_model"))
        _, results = finish("sentiment.yaml", "hyperparameters.learning_rate=0.05",
                         "searcher.max_length={epochs: 40}")
        self.assertGreater(results["accuracy"], 0.6)  # A guess has 0.5.

    def test_trains_on_two_slots_and_saves_a_checkpoint(self):
        experiment = self.create(200)
        described = self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        self.assertEqual("STATE_COMPLETED", described["state"], self.home.trial_log(trial["id"]))
        self.assertEqual(200, trial["totalBatchesProcessed"])
        accuracy = trial["bestValidation"]["metrics"]["avgMetrics"]["accuracy"]
        self.assertGreater(accuracy, 0.5)
        checkpoints = self.home.json("checkpoint", "list", experiment)["checkpoints"]
        self.assertTrue(checkpoints)
        uuid = checkpoints[-1]["uuid"]  # The newest checkpoint is kept; an older one may be being deleted.
        target = os.path.join(self.home.folder, "downloaded")
        self.home.det("checkpoint", "download", uuid, "-o", target)
        for path, size in checkpoints[-1]["resources"].items():
            if not path.endswith("/"):
                self.assertEqual(int(size), os.path.getsize(os.path.join(target, path)), path)
        self.assertIn("exists", self.home.det("checkpoint", "download", uuid, "-o", target,
                                              code=1).stderr)

    def test_in_process_and_allreduce_give_equal_results(self):
        same = ("reproducibility.experiment_seed=7", "data.train_records=4096",
                "data.validation_records=500")
        results = []
        for strategy in ("allreduce", "in_process"):
            experiment = self.create(60, f"optimizations.strategy={strategy}", *same)
            described = self.home.finish(experiment)
            trial = self.home.first_trial(experiment)
            log = self.home.trial_log(trial["id"])
            self.assertEqual("STATE_COMPLETED", described["state"], log)
            self.assertEqual((0, 60), (trial["restarts"], trial["totalBatchesProcessed"]))
            results.append(trial["latestValidation"]["metrics"]["avgMetrics"])
        self.assertAlmostEqual(results[0]["accuracy"], results[1]["accuracy"], delta=0.005)
        self.assertAlmostEqual(results[0]["loss"], results[1]["loss"], delta=0.01)

    def first_reports(self, trial):
        """Returns the batch of the first report of each attempt of the trial, by run ID."""
        output = self.home.det("dev", "curl", "/api/v1/trials/metrics/trial_metrics?group=training"
                             f"&trial_ids={trial}").stdout
        first, decoder = {}, json.JSONDecoder()
        while output.strip():  # Several messages, each with many lines.
            message, end = decoder.raw_decode(output.lstrip())
            output = output.lstrip()[end:]
            for report in message["result"]["metrics"]:
                run_id = report.get("trialRunId", 0)
                first[run_id] = min(first.get(run_id, 1 << 30), report["totalBatches"])
        return first

    def test_restarts_from_checkpoint_when_a_rank_is_killed(self):
        same = ("reproducibility.experiment_seed=7", "scheduling_unit=10")
        experiment = self.create(300, "min_checkpoint_period={batches: 50}", "max_restarts=2", *same)
        saved = harness.eventually(
            lambda: self.home.json("checkpoint", "list", experiment)["checkpoints"],
            "a first checkpoint")
        ranks = harness.eventually(
            lambda: len(harness.ranks_of(self.home)) == 2 and harness.ranks_of(self.home),
            "two ranks")
        os.kill(ranks[1], signal.SIGKILL)
        harness.eventually(lambda: not os.path.exists(f"/proc/{ranks[0]}"), "the end of the other rank",
                           timeout=15)
        described = self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        self.assertEqual("STATE_COMPLETED", described["state"], self.home.trial_log(trial["id"]))
        self.assertEqual(1, trial["restarts"])
        self.assertEqual(300, trial["totalBatchesProcessed"])
        self.assertIn("SIGKILL", trial["runs"][0]["exitReason"])
        text = self.home.det("trial", "describe", trial["id"]).stdout
        self.assertIn("restarts", text)
        self.assertIn("SIGKILL", text)
        # The second attempt resumed from the checkpoint; the result is that without the failure.
        self.assertEqual(10, self.first_reports(trial["id"])[1])
        self.assertGreater(self.first_reports(trial["id"])[2],
                           int(saved[0]["metadata"]["steps_completed"]))
        uninterrupted = self.create(300, *same)
        self.assert_state(self.home.finish(uninterrupted), "COMPLETED")
        metrics, expected = (
            each["latestValidation"]["metrics"]["avgMetrics"]
            for each in (trial, self.home.first_trial(uninterrupted)))
        self.assertAlmostEqual(expected["accuracy"], metrics["accuracy"], delta=0.005)
        self.assertAlmostEqual(expected["loss"], metrics["loss"], delta=0.01)

    def test_ends_with_error_after_max_restarts(self):
        experiment = self.create(100000, "max_restarts=0")
        ranks = harness.eventually(
            lambda: len(harness.ranks_of(self.home)) == 2 and harness.ranks_of(self.home),
            "two ranks")
        os.kill(ranks[0], signal.SIGKILL)
        described = self.home.finish(experiment)
        self.assert_state(described, "ERROR")
        self.assertIn("SIGKILL", described["stateReason"])

    def test_compile_error_ends_the_trial_immediately(self):
        context = self.example()
        with open(os.path.join(context, "fashion_mnist.cc"), "a", encoding="utf-8") as f:
            f.write("\nint broken = undeclared_name;\n")
        experiment = self.create(100, "max_restarts=5", context=context)
        described = self.home.finish(experiment)
        self.assert_state(described, "ERROR")
        trial = self.home.first_trial(experiment)
        self.assertEqual(0, trial["restarts"])
        self.assertEqual(1, len(trial["runs"]))
        self.assertIn("undeclared_name", self.home.trial_log(trial["id"]))


if __name__ == "__main__":
    harness.main()
