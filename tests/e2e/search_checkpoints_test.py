#!/usr/bin/env -S python3 -B
"""Tests trials that start from a checkpoint: their own when a search resumes them, or that of
another trial in population-based training or when an experiment starts from it."""
import json
import os
import sys

import harness
from harness import job

# Trains to the end in units of length. It saves the trained units and their trial before it reports
# them, so that no unit is trained twice, and waits briefly at lengths at which the search may pause
# it. Trials that were created later report worse metrics.
TRIAL = """
import json, os, time
import det

def is_to_go(context):
    end = time.monotonic() + 2
    while not context.preempt.should_preempt():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True

with det.core.init() as context:
    trial = context.info.trial
    trained, own = [], 0
    latest = context.info.latest_checkpoint
    if latest:
        with context.checkpoint.restore_path(latest) as path:
            trained = json.loads((path / "trained").read_text())
        if not trial.warm_start:
            own = context.checkpoint.get_metadata(latest)["steps_completed"]
    with open(os.environ["RUNS"], "a") as runs:
        print(json.dumps([trial.trial_id, trial.trial_run_id, own, trained]), file=runs)
    last = trial.config["searcher"]["max_length"]["batches"]
    for length in range(own + 1, last + 1):
        trained.append([trial.trial_id, length])
        with context.checkpoint.store_path({"steps_completed": length}) as (path, _):
            (path / "trained").write_text(json.dumps(trained))
        loss = trial.trial_id + 1 / length
        context.train.report_validation_metrics(length, {"loss": loss, "batches": length})
        context.train.flush()
        if length in trial.validate_at and length < last and is_to_go(context):
            break
    else:
        with open(os.environ["ENDS"], "a") as ends:
            print(json.dumps([trial.trial_id, trained]), file=ends)
"""
SPACE = {"x": {"type": "double", "minval": 0, "maxval": 1}}
SINGLE = {"name": "single", "metric": "loss", "max_length": {"batches": 2}}


def lengths(trial, upto):
    return [[trial, length] for length in range(1, upto + 1)]


class SearchCheckpointsTest(harness.ClusterTestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        # Keeps the checkpoints that the tests read.
        config = cls.home.write("master.yaml", {"checkpoint_storage": {
            "host_path": os.path.join(cls.home.folder, "all"), "storage_path": "searches",
            "save_trial_latest": 100}})
        try:
            cls.home.up(cls.agents, cls.slots, "--master-config", config)
        except BaseException:
            cls.home.close()
            raise

    def run_search(self, searcher, *options):
        folder = self.home.context({"trial.py": TRIAL})
        self.files = [os.path.join(folder, name) for name in ("runs", "ends")]
        runs, ends = self.files
        return self.ended(self.home.create(
            job(entrypoint=[sys.executable, "trial.py"], hyperparameters=SPACE, searcher=searcher,
                environment={"environment_variables": ["RUNS=" + runs, "ENDS=" + ends]}),
            folder, *options))

    def ended(self, experiment):
        described = self.home.finish(experiment)
        if described["state"] != "STATE_COMPLETED":
            logs = [self.home.trial_log(trial) for trial in described["trialIds"]]
            self.fail("\n".join([str(described), *logs]))
        return described

    def read_reports(self):
        """[trial, run, own length, trained units] of each run at its start, and the trained units
        of the runs that completed."""
        runs, ends = self.files
        with open(runs, encoding="utf-8") as begun, open(ends, encoding="utf-8") as ended:
            return [json.loads(line) for line in begun], dict(map(json.loads, ended))

    def test_promoted_trial_resumes_from_its_rung(self):
        described = self.run_search(
            {"name": "asha", "metric": "loss", "max_length": {"batches": 4}, "num_rungs": 3,
             "divisor": 2, "max_trials": 4, "max_concurrent_trials": 1, "stop_once": False})
        first, second, third, fourth = sorted(described["trialIds"])
        begun, ended = self.read_reports()
        # Rungs at 1, 2 and 4, one trial at a time: the first one pauses and is the best of two, then of
        # four.
        self.assertEqual(sorted([
            [first, 1, 0, []], [second, 1, 0, []], [third, 1, 0, []], [fourth, 1, 0, []],
            [first, 2, 1, lengths(first, 1)], [second, 2, 1, lengths(second, 1)],
            [first, 3, 2, lengths(first, 2)],
        ]), sorted(begun))
        self.assertEqual({first: lengths(first, 4)}, ended)

    def test_population_resumes_from_the_best_checkpoints(self):
        described = self.run_search(
            {"name": "pbt", "metric": "loss", "max_length": {"batches": 4}, "population_size": 4,
             "num_generations": 2, "max_concurrent_trials": 2})
        best, second, third, worst, child = sorted(described["trialIds"])
        begun, ended = self.read_reports()
        # The worst trial does not run again. The child continues the work of its parent and counts
        # its own.
        self.assertEqual(sorted([
            *([trial, 1, 0, []] for trial in (best, second, third, worst)),
            *([trial, 2, 2, lengths(trial, 2)] for trial in (best, second, third)),
            [child, 1, 0, lengths(best, 2)],
        ]), sorted(begun))
        self.assertEqual({trial: lengths(trial, 4) for trial in (best, second, third)},
                         {trial: done for trial, done in ended.items() if trial != child})
        hparams = [self.home.json("trial", "describe", trial)["trial"]["hparams"]["x"]
                   for trial in (best, child)]
        self.assertNotEqual(*hparams, "the child has other hyperparameters")

    def test_experiment_starts_from_the_checkpoint_of_another_trial(self):
        described = self.run_search(SINGLE)
        [source] = described["trialIds"]
        saved = self.home.json("experiment", "list-checkpoints", described["id"])["checkpoints"]
        by_length = {one["metadata"]["steps_completed"]: one["uuid"] for one in saved}
        place = os.path.join(self.home.folder, "all", "searches")
        self.assertLessEqual({*by_length.values()}, {*os.listdir(place)}, "the master lists existing files")
        for option, length in (f"source_trial_id={source}", 2), (
                f"source_checkpoint_uuid={by_length[1]}", 1):
            [trial] = self.run_search(SINGLE, "--config", "searcher." + option)["trialIds"]
            begun, ended = self.read_reports()
            self.assertEqual([[trial, 1, 0, lengths(source, length)]], begun)
            self.assertEqual({trial: lengths(source, length) + lengths(trial, 2)}, ended)

    def test_continued_experiment_starts_from_its_own_checkpoint(self):
        described = self.run_search(SINGLE)
        [trial] = described["trialIds"]
        self.home.det("experiment", "continue", described["id"], "--config",
                      "searcher.max_length={batches: 5}")
        self.assertEqual([trial], self.ended(described["id"])["trialIds"])
        begun, ended = self.read_reports()
        self.assertEqual([[trial, 1, 0, []], [trial, 2, 2, lengths(trial, 2)]], begun)
        self.assertEqual({trial: lengths(trial, 5)}, ended)


if __name__ == "__main__":
    harness.main()
