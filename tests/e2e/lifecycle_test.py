#!/usr/bin/env -S python3 -B
"""Tests retention, archiving and deletion of experiments, and random requests at random times."""
import json
import os
import random

import harness
from harness import eventually, job

# A trial without a library. It saves one checkpoint per item of its list, with a validation if the
# item is a number; then it waits for a file if one is given.
SAVER = '''
import json, os, pathlib, sys, time, urllib.request, uuid
info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
def call(method, body):
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        data=json.dumps({"allocationId": info["allocation_id"], "trialId": info["trial_id"],
                         **body}).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}))
print("starts after", info["latest_checkpoint"], flush=True)
for step, metric in enumerate(json.loads(sys.argv[1]), 1):
    if metric is not None:
        call("ReportMetrics", {"reports": [{"group": "validation", "stepsCompleted": step,
                                            "metrics": {"loss": metric}}]})
    name = str(uuid.uuid4())
    folder = pathlib.Path(info["checkpoint_dir"], name)
    folder.mkdir(parents=True)
    files = {"model.pt": 1000, "opt.pt": 500}
    for file, size in files.items():
        (folder / file).write_bytes(bytes(size))
    call("ReportCheckpoint", {"uuid": name, "stepsCompleted": step, "resources": files})
    print("saved", step, flush=True)
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
    time.sleep(0.05)
'''


class LifecycleTest(harness.ClusterTestCase):
    def saver(self, metrics, flag="", **changes):
        return self.home.create(
            job(entrypoint=f"exec /usr/bin/python3 saver.py '{json.dumps(metrics)}' {flag}",
                **changes),
            self.home.context({"saver.py": SAVER}))

    def checkpoints(self, experiment, *options):
        listed = self.home.json("checkpoint", "list", experiment, *options)
        return listed.get("checkpoints", [])

    def steps(self, experiment):
        """The steps of the existing checkpoints, whose files must exist as well."""
        listed = self.checkpoints(experiment)
        for each in self.checkpoints(experiment, "--all"):
            there = os.path.exists(os.path.join(each["storagePath"], "model.pt"))
            if there != (each in listed):
                return None  # still being deleted
        return [int(c["metadata"]["steps_completed"]) for c in listed]

    def settle(self, experiment, steps):
        eventually(lambda: self.steps(experiment) == steps, f"only checkpoints {steps} are left")

    def is_deleted(self, experiment):
        return "not found" in self.home.det("experiment", "describe", experiment,
                                                 code=None).stderr

    def restart_master(self):
        self.home.kill("master")
        self.home.up(self.agents, self.slots)

    def test_keeps_best_and_newest_checkpoint_at_the_end(self):
        experiment = self.saver([0.6, 0.4, 0.5, None, None])
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        self.settle(experiment, [2, 5])
        states = [c["state"] for c in self.checkpoints(experiment, "--all")]
        self.assertEqual(3, states.count("STATE_DELETED"))
        self.assertEqual(2, self.home.experiment(experiment)["checkpointCount"])
        # The experiment continues from the remaining checkpoint.
        self.home.det("experiment", "continue", experiment)
        self.home.finish(experiment)
        kept = self.checkpoints(experiment, "--all")[4]["uuid"]
        self.assertIn(f"starts after {kept}",
                      self.home.trial_log(self.home.first_trial(experiment)["id"]))

    def test_deletes_checkpoint_files_by_pattern(self):
        experiment = self.saver([0.6, 0.5], checkpoint_storage={"save_trial_latest": 9})
        self.home.finish(experiment)
        self.settle(experiment, [1, 2])
        first, second = self.checkpoints(experiment)
        remove = ("checkpoint", "rm", second["uuid"], "--glob", "opt*", "--glob", "none/**")
        self.assertIn("--yes", self.home.det(*remove, code=1).stderr)
        self.home.det(*remove, "--yes")
        describe = ("checkpoint", "describe", second["uuid"])

        def left():
            return self.home.json(*describe)["checkpoint"]["resources"]
        eventually(lambda: left() == {"model.pt": "1000"}, "the deletion of the matching files")
        self.assertEqual(["model.pt"], os.listdir(second["storagePath"]))
        self.assertIn("PARTIALLY_DELETED", self.home.det(*describe).stdout)
        self.assertEqual(2, len(os.listdir(first["storagePath"])), "the other checkpoint is unchanged")
        self.assertEqual(str(2500), self.home.experiment(experiment)["checkpointSize"])
        # The remaining files can be downloaded, but no trial can start from them.
        target = os.path.join(self.home.folder, "left")
        self.home.det("checkpoint", "download", second["uuid"], "-o", target)
        self.assertEqual(["model.pt"], os.listdir(target))
        self.home.det("experiment", "continue", experiment)
        self.home.finish(experiment)
        self.assertIn(f"starts after {first['uuid']}",
                      self.home.trial_log(self.home.first_trial(experiment)["id"]))
        output = self.home.det(*remove, "--yes").stderr
        self.assertIn("has no matching files", output)

    def test_previews_and_applies_a_new_gc_policy(self):
        policy = {"checkpoint_storage": {"save_experiment_best": 9, "save_trial_latest": 9}}
        experiment = self.saver([0.6, 0.4, 0.5, None], **policy)
        self.home.finish(experiment)
        before = [1, 2, 3, 4]
        self.settle(experiment, before)
        change = ("experiment", "set", "gc-policy", experiment, "--save-experiment-best", 2,
                  "--save-trial-best", 0, "--save-trial-latest", 0)
        output = self.home.det(*change, code=1).stderr
        for checkpoint in self.checkpoints(experiment):
            goes = int(checkpoint["metadata"]["steps_completed"]) in (1, 4)
            self.assertEqual(goes, checkpoint["uuid"] in output, output)
        self.assertIn("2 checkpoints", output)
        self.assertIn("--yes", output)
        self.assertEqual(before, self.steps(experiment))
        self.home.det(*change, "--yes")
        self.settle(experiment, [2, 3])
        self.home.det(*change, "--yes")
        self.settle(experiment, [2, 3])

    def test_applies_gc_policy_at_the_end_of_the_experiment(self):
        flag = os.path.join(self.home.folder, "policy-flag")
        experiment = self.saver([0.6, 0.4, 0.5], flag)
        eventually(lambda: len(self.checkpoints(experiment)) == 3, "three checkpoints")
        self.home.det("experiment", "set", "gc-policy", experiment, "--save-trial-best", 0,
                      "--yes")
        # The newest checkpoint of an active trial cannot be deleted.
        newest = self.checkpoints(experiment)[-1]["uuid"]
        output = self.home.det("checkpoint", "delete", newest, "--yes", code=1)
        self.assertIn("nothing was deleted", output.stderr)
        self.home.write("policy-flag", "")
        self.home.finish(experiment)
        self.settle(experiment, [3])
        self.home.det("checkpoint", "delete", newest, code=1)
        for _ in range(2):
            self.home.det("checkpoint", "delete", f"{newest},{newest}", "--yes")
        self.settle(experiment, [])
        self.assertIn("was deleted", self.home.det("checkpoint", "download", newest, code=1).stderr)

    def test_deletes_all_data_of_an_experiment(self):
        experiment = self.saver([0.5, 0.4], os.path.join(self.home.folder, "never"))
        eventually(lambda: len(self.checkpoints(experiment)) == 2, "two checkpoints")
        folders = [c["storagePath"] for c in self.checkpoints(experiment)]
        trial = self.home.first_trial(experiment)["id"]
        refused = self.home.det("experiment", "delete", experiment, "--yes", code=1).stderr
        self.assertIn("kill it first", refused)
        self.home.det("experiment", "archive", experiment, code=1)
        self.home.det("experiment", "kill", experiment)
        self.home.finish(experiment)
        prompt = self.home.det("experiment", "delete", experiment, code=1).stderr
        self.assertIn(f"Delete experiment {experiment}", prompt)
        self.assertIn("--yes", prompt)
        self.assertFalse(self.is_deleted(experiment))
        self.home.det("experiment", "delete", experiment, "--yes")
        self.home.det("experiment", "delete", experiment, "--yes", code=None)
        eventually(lambda: self.is_deleted(experiment), "the end of the deletion")
        self.assertFalse(any(os.path.exists(f) for f in folders))
        self.home.det("trial", "logs", trial, code=1)
        self.home.det("experiment", "continue", experiment, code=1)
        listed = self.home.json("experiment", "list", "--all").get("experiments", [])
        self.assertNotIn(experiment, [e["id"] for e in listed])
        self.restart_master()
        self.assertGreater(self.home.create(job()), experiment, "IDs are not reused")

    def test_keeps_checkpoints_that_another_experiment_needs(self):
        parent = self.saver([0.5])
        self.home.finish(parent)
        held = self.checkpoints(parent)[0]
        source = {"name": "single", "metric": "loss", "source_checkpoint_uuid": held["uuid"]}
        child = self.saver([0.3], searcher=source)
        self.home.finish(child)
        output = self.home.det("experiment", "delete", parent, "--yes").stderr
        self.assertIn(f"checkpoint {held['uuid']} was kept: experiment {child} uses it", output)
        eventually(lambda: self.home.experiment(parent)["state"] == "STATE_DELETED", "the deletion")
        self.assertTrue(os.path.exists(held["storagePath"]))
        listed = self.home.json("experiment", "list", "--all")["experiments"]
        self.assertNotIn(parent, [e["id"] for e in listed])
        refused = self.home.det("experiment", "fork", parent, code=1).stderr
        self.assertIn("DELETED", refused)
        self.home.det("experiment", "delete", child, "--yes")
        eventually(lambda: self.is_deleted(child) and self.is_deleted(parent), "the deletion of both")
        self.assertFalse(os.path.exists(held["storagePath"]))

    def test_reports_and_retries_failed_deletion(self):
        away = os.path.join(self.home.folder, "storage")
        experiment = self.saver([0.5], checkpoint_storage={"host_path": away})
        self.home.finish(experiment)
        os.rename(away, away + ".away")
        self.home.det("experiment", "delete", experiment, "--yes")
        eventually(lambda: self.home.experiment(experiment)["state"] == "STATE_DELETE_FAILED",
                   "the failure")
        self.assertIn("mount it there", self.home.experiment(experiment)["stateReason"])
        os.rename(away + ".away", away)
        self.home.det("experiment", "delete", experiment, "--yes")
        eventually(lambda: self.is_deleted(experiment), "the end of the deletion")
        self.assertEqual([], os.listdir(away))

    def test_hides_archived_experiments(self):
        experiment = self.home.create(job())
        self.home.finish(experiment)

        def listed(*options):
            found = self.home.json("experiment", "list", *options).get("experiments", [])
            return experiment in [e["id"] for e in found]
        for _ in range(2):
            self.home.det("experiment", "archive", experiment)
            self.assertFalse(listed())
            self.assertTrue(listed("--all"))
        self.assertTrue(self.home.experiment(experiment)["archived"])
        for _ in range(2):
            self.home.det("experiment", "unarchive", experiment)
            self.assertTrue(listed())

    def test_resumes_deletion_after_the_master_was_killed(self):
        experiment = self.saver([0.5] * 60, checkpoint_storage={"save_trial_latest": 100})
        self.home.finish(experiment)
        noisy = self.home.create(job(entrypoint="seq 30000"))
        self.home.finish(noisy)
        folders = [c["storagePath"] for c in self.checkpoints(experiment)]
        self.assertEqual(60, len(folders))
        for each in (experiment, noisy):
            self.home.det("experiment", "delete", each, "--yes")
        self.restart_master()
        eventually(lambda: self.is_deleted(experiment) and self.is_deleted(noisy), "the end of the deletions")
        self.assertFalse(any(os.path.exists(f) for f in folders))

    def test_random_requests_end_as_documented(self):
        seed = int(os.environ.get("SEED", random.randrange(2**32)))
        print("seed", seed, flush=True)
        rng = random.Random(seed)
        promised = {}
        for number in range(6):
            last = self.home.create(job(name=f"random-{seed}-{number}",
                                        entrypoint=f"sleep {rng.choice([0, 0.3, 1])}"))
            promised[last] = {}
            for _ in range(4):
                experiment = rng.choice(list(promised))
                what = rng.choice(["pause", "activate", "cancel", "kill", "archive", "delete"])
                options = ["--yes"] if what == "delete" else []
                for _ in range(rng.choice([1, 2])):
                    output = self.home.det("experiment", what, experiment, *options, code=None)
                    self.assertIn(output.returncode, (0, 1), output.stderr)
                    self.assertNotIn("INTERNAL", output.stderr)
                    if output.returncode == 0:
                        promised[experiment][what] = True
        for experiment, done in promised.items():
            if "delete" in done:
                eventually(lambda e=experiment: self.is_deleted(e), f"{experiment} is deleted; seed {seed}")
                continue
            self.home.det("experiment", "activate", experiment, code=None)
            ended = self.home.finish(experiment)
            stopped = "cancel" in done or "kill" in done
            # A stop of an experiment that has ended has no effect.
            if not stopped or ended["state"] != "STATE_CANCELED":
                self.assert_state(ended, "COMPLETED")
            self.assertEqual("archive" in done, ended.get("archived", False), f"seed {seed}")


if __name__ == "__main__":
    harness.main()
