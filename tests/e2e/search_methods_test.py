#!/usr/bin/env -S python3 -B
"""Tests searches with `det`: previews, templates, rungs, several objectives, custom searches,
forked and continued experiments."""
import json
import os
import subprocess
import sys

import harness
from harness import job

# Trains for LENGTH units with a validation each; the loss decreases to x.
TRIAL = r"""
import json, os, sys, urllib.request

def call(method, body):
    request = urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})
    urllib.request.urlopen(request).read()

with open(os.environ["DET_RUN_DIR"] + "/info/trial.json") as f:
    info = json.load(f)
x = info["hparams"]["x"]
for length in range(1, int(os.environ["LENGTH"]) + 1):
    call("ReportMetrics", {
        "allocationId": info["allocation_id"], "trialId": info["trial_id"],
        "trialRunId": info["trial_run_id"],
        "reports": [{"group": "validation", "stepsCompleted": length,
                     "metrics": {"loss": x + 1 / length, "size": 1 - x}}]})
"""
SPACE = {"x": {"type": "double", "minval": 0, "maxval": 1}}
ASHA = {"name": "asha", "metric": "loss", "max_length": {"batches": 9}, "num_rungs": 3,
        "divisor": 3, "max_trials": 9, "max_concurrent_trials": 2}


def search(searcher, **changes):
    return job(**{"entrypoint": ["python3", "trial.py"], "hyperparameters": SPACE,
                  "searcher": searcher, "preemption_timeout": 1,
                  "environment": {"environment_variables": ["LENGTH=9"]}, **changes})


class SearchMethodsTest(harness.ClusterTestCase):
    def run_search(self, searcher, **changes):
        experiment = self.home.create(search(searcher, **changes),
                                      self.home.context({"trial.py": TRIAL}))
        return self.home.finish(experiment)

    def get(self, path):
        """Calls the API; returns the response as text."""
        return subprocess.run(
            ["curl", "-fsS", f"http://127.0.0.1:{self.home.port}{path}",
             "-H", "Authorization: Bearer " + self.token()],
            check=True, capture_output=True, text=True, timeout=harness.TIMEOUT).stdout

    def token(self):
        with open(os.path.join(self.home.data, "admin.token"), encoding="utf-8") as f:
            return f.read().strip()

    def test_previews_a_search(self):
        config = self.home.write("adaptive.yaml", search(
            {"name": "adaptive_asha", "metric": "loss", "max_length": {"batches": 937},
             "max_trials": 500, "divisor": 4}))
        rows = json.loads(self.home.det("preview-search", config, "--json").stdout)
        self.assertEqual([(266, 3), (149, 14), (65, 58), (16, 234), (4, 937)],
                         [(row["trials"], row["length"]) for row in rows])
        text = self.home.det("preview-search", config).stdout
        self.assertIn("500 trials", text)
        self.assertIn("3 brackets", text)
        bad = self.home.det("preview-search", config, "--config", "searcher.max_trialz=3", code=1)
        self.assertIn("did you mean max_trials", bad.stderr)

    def test_asha_stops_worse_trials_and_describes_rungs(self):
        described = self.run_search(ASHA)
        self.assert_state(described, "COMPLETED")
        self.assertEqual(9, described["numTrials"])
        text = self.home.det("experiment", "describe", described["id"]).stdout
        self.assertIn("best trial", text)
        self.assertIn("PROMOTED", text)
        rungs = json.loads(self.get(f"/api/v1/experiments/{described['id']}/search"))
        reported = [int(rung["reported"]) for rung in rungs["search"]["brackets"][0]["rungs"]]
        self.assertEqual(9, reported[0])
        self.assertLess(reported[2], reported[0])
        # Each rung lists its trials, the best first, and their outcomes.
        for rung in rungs["search"]["brackets"][0]["rungs"]:
            arrivals = rung.get("arrivals", [])
            self.assertEqual(int(rung["reported"]), len({each["trialId"] for each in arrivals}))
            metrics = [each["metric"] for each in arrivals]
            self.assertEqual(sorted(metrics), metrics)
            outcomes = [each["outcome"] for each in arrivals]
            self.assertEqual(int(rung.get("continued", 0)), outcomes.count("OUTCOME_CONTINUED"))

    def test_paused_trials_resume_or_end(self):
        described = self.run_search({**ASHA, "stop_once": False, "max_trials": 4})
        self.assert_state(described, "COMPLETED")
        self.assertEqual(4, described["numTrials"])

    def test_population_replaces_its_worst_trials(self):
        described = self.run_search(
            {"name": "pbt", "metric": "loss", "max_length": {"batches": 4}, "population_size": 4,
             "num_generations": 2, "max_concurrent_trials": 2})
        self.assert_state(described, "COMPLETED")
        self.assertGreater(described["numTrials"], 4)

    def test_reports_the_pareto_front(self):
        described = self.run_search(
            {"name": "tpe", "max_trials": 6,
             "metric": [{"name": "loss"}, {"name": "size", "smaller_is_better": True}]},
            environment={"environment_variables": ["LENGTH=1"]})
        self.assert_state(described, "COMPLETED")
        text = self.home.det("experiment", "describe", described["id"]).stdout
        self.assertIn("Pareto front", text)
        front = json.loads(self.get(f"/api/v1/experiments/{described['id']}/search"))["search"]
        # x improves one objective and worsens the other.
        self.assertEqual(6, len(front["front"]))

    def test_merges_a_template(self):
        template = self.home.write("small.yaml", "max_restarts: 1\nresources:\n  priority: 7\n")
        self.home.det("template", "create", "small", template)
        self.assertIn("small", self.home.det("template", "list").stdout)
        self.assertIn("priority: 7", self.home.det("template", "describe", "small").stdout)
        experiment = self.home.create(job(max_restarts=0), None, "--template", "small",
                                      "--config", "resources.weight=2")
        config = self.home.experiment(experiment)["config"]
        self.assertEqual((0, 7, 2), (config["max_restarts"], config["resources"]["priority"],
                                     config["resources"]["weight"]))
        bad = self.home.write("bad.yaml", "resources:\n  priority: high\n")
        self.assertIn("template bad:2: resources.priority",
                      self.home.det("template", "create", "bad", bad, code=1).stderr)
        self.home.det("template", "remove", "small")
        self.assertIn("template small not found", self.home.det(
            "experiment", "create", os.path.join(self.home.folder, "config.yaml"),
            self.home.context(), "--template", "small", code=1).stderr)

    def test_simulates_a_search_on_recorded_curves(self):
        rows = ["x,length,loss"]
        for i in range(20):
            rows += [f"{i / 20},{length},{i / 20 + 1 / length}" for length in (1, 3, 9)]
        curves = self.home.write("curves.csv", "\n".join(rows) + "\n")
        config = self.home.write("asha.yaml", search({**ASHA, "max_trials": 50}))
        result = self.home.json("search", "simulate", config, "--objective", curves, "--seed", 3)
        self.assertEqual(50, len(result["trials"]))
        self.assertLess(result["totalUnits"], 50 * 9 / 2)
        self.assertLess(result["best"][-1]["metric"], 0.4)
        again = self.home.json("search", "simulate", config, "--objective", curves, "--seed", 3)
        self.assertEqual(result, again)
        self.assertIn("BEST", self.home.det("search", "simulate", config, "--objective",
                                            curves).stdout)
        bad = self.home.write("bad.csv", "x,length,accuracy\n1,1,1\n")
        self.assertIn("bad.csv:1: the curves do not contain the searcher metric loss", self.home.det(
            "search", "simulate", config, "--objective", bad, code=1).stderr)

    def test_program_drives_a_custom_search(self):
        example = os.path.join(harness.ROOT, "examples/custom_search")
        context = self.home.context()
        for name in ("trial.py", "search.yaml"):
            with open(os.path.join(example, name), encoding="utf-8") as f:
                self.home.write(os.path.join(context, name), f.read())
        for driver in (
            [sys.executable, os.path.join(example, "random_search.py"), "--trials", "4",
             "--master", f"http://127.0.0.1:{self.home.port}"],
            [os.path.join(example, "hill_climb"), f"127.0.0.1:{self.home.port}"],
        ):
            created = self.home.json("experiment", "create", os.path.join(context, "search.yaml"),
                                  context)
            experiment = str(created["experiment"]["id"])
            trailer = [experiment] if driver[0] == sys.executable else [experiment, "4"]
            subprocess.run([*driver, *trailer], check=True, timeout=harness.TIMEOUT,
                           env={**self.home.env, "DET_USER_TOKEN": self.token()})
            described = self.home.finish(experiment)
            self.assert_state(described, "COMPLETED")
            self.assertEqual(4, described["numTrials"])

    def test_forks_and_continues_an_experiment(self):
        first = self.home.create(job(entrypoint="sh go.sh"),
                                 self.home.context({"go.sh": "test -e $GOES_ON\n"}),
                                 "--config", "environment.environment_variables=[GOES_ON=/none]")
        self.assert_state(self.home.finish(first), "ERROR")
        output = self.home.json("experiment", "fork", first, "--config",
                              "environment.environment_variables=[GOES_ON=/]")
        fork = self.home.finish(output["experiment"]["id"])
        self.assert_state(fork, "COMPLETED")
        self.assertEqual(first, fork["forkedFrom"])
        other = self.run_search({**ASHA, "max_trials": 2})
        self.assertIn("only the searchers single, random and grid", self.home.det(
            "experiment", "continue", other["id"], code=1).stderr)
        self.home.det("experiment", "continue", first, "--config",
                      "environment.environment_variables=[GOES_ON=/]")
        again = self.home.finish(first)
        self.assert_state(again, "COMPLETED")
        self.assertEqual(1, again["numTrials"])


if __name__ == "__main__":
    harness.main()
