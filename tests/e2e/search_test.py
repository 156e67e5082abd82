#!/usr/bin/env -S python3 -B
"""Tests a search with many trials, each a process that reports over HTTP."""
import json
import os
import sys
import time
import urllib.request

import harness
from harness import job

TRIALS = 500

# Appends one line per run with a single write, so that concurrent writers lose none.
REPORT = r"""
echo "$DET_TRIAL_ID $DET_TRIAL_RUN_ID" >> "$RAN"
exec curl -fsS -o /dev/null "$DET_MASTER/det.trial.v1.TrialRuntime/ReportMetrics" \
  -H "Authorization: Bearer $DET_SESSION_TOKEN" -d '{
  "allocationId": "'$DET_ALLOCATION_ID'", "trialId": '$DET_TRIAL_ID',
  "trialRunId": '$DET_TRIAL_RUN_ID', "reports": [{
    "group": "validation", "stepsCompleted": 1, "metrics": {"loss": '$DET_TRIAL_ID'}}]}'
"""


class ManyTrialsTest(harness.ClusterTestCase):
    def trials_of(self, experiment):
        """Reads the trials with the API, because det cannot list them."""
        with open(os.path.join(self.home.data, "admin.token"), encoding="utf-8") as f:
            token = f.read().strip()
        url = f"http://127.0.0.1:{self.home.port}/api/v1/experiments/{experiment}/trials"
        request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(request, timeout=harness.TIMEOUT) as answer:
            return json.load(answer)["trials"]

    def test_runs_each_of_500_trials_exactly_once(self):
        ran = os.path.join(self.home.folder, "ran")
        began = time.monotonic()
        experiment = self.home.create(
            job(entrypoint="sh report.sh",
                searcher={"name": "random", "metric": "loss", "max_trials": TRIALS,
                          "max_concurrent_trials": 16},
                hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}},
                environment={"environment_variables": ["RAN=" + ran]}),
            self.home.context({"report.sh": REPORT}))
        self.home.det("experiment", "wait", experiment)
        print(f"{TRIALS} trials in {time.monotonic() - began:.1f} s", file=sys.stderr)
        described = self.home.experiment(experiment)
        self.assert_state(described, "COMPLETED")
        self.assertEqual(TRIALS, described["numTrials"])
        with open(ran, encoding="utf-8") as f:
            runs = [tuple(map(int, line.split())) for line in f]
        self.assertEqual(TRIALS, len(runs), "each trial runs once")
        self.assertEqual(sorted(described["trialIds"]), sorted(trial for trial, _ in runs))
        self.assertEqual({1}, {run for _, run in runs})
        trials = self.trials_of(experiment)
        self.assertEqual(TRIALS, len(trials))
        self.assertEqual({("STATE_COMPLETED", 0)},
                         {(trial["state"], trial.get("restarts", 0)) for trial in trials})
        # Each trial reports its number as its loss.
        self.assertEqual(min(described["trialIds"]), described["bestTrialId"])


if __name__ == "__main__":
    harness.main()
