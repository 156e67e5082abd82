#!/usr/bin/env -S python3 -B
"""Tests experiments whose trials are shell commands: create, follow, restart, pause, kill, recovery."""
import json
import os
import re
import signal

import harness
from harness import job


class CommandJobTest(harness.ClusterTestCase):
    def test_job_completes(self):
        experiment = self.home.create(job(name="simple"))
        self.home.det("experiment", "wait", experiment)
        described = self.home.experiment(experiment)
        self.assert_state(described, "COMPLETED")
        self.assertEqual("simple", described["name"])
        self.assertEqual(1, described["numTrials"])
        text = self.home.det("experiment", "describe", experiment).stdout
        self.assertIn("✓ COMPLETED", text)
        self.assertNotIn("\x1b", text)
        listed = self.home.json("experiment", "list")["experiments"]
        self.assertIn(experiment, [e["id"] for e in listed])

    def test_follow_prints_log_to_stdout_and_progress_to_stderr(self):
        path = self.home.write("follow.yaml", job(entrypoint="echo one; echo two >&2"))
        output = self.home.det("experiment", "create", path, self.home.context(), "-f")
        self.assertIn("one", output.stdout)
        self.assertIn("two", output.stdout)
        self.assertIn("COMPLETED", output.stderr)

    def test_job_has_context_and_environment(self):
        context = self.home.context({"hello.txt": "hello", "sub/x.sh": "cat hello.txt\n",
                                     "junk.pyc": "x", ".detignore": "secret\n", "secret": "x",
                                     "données/é": "umlaut"})
        os.symlink("hello.txt", os.path.join(context, "link"))
        os.symlink("données/é", os.path.join(context, "länk"))
        experiment = self.home.create(
            job(entrypoint="sh sub/x.sh; cat link; echo; ls -a; echo trial=$DET_TRIAL_ID "
                           "own=$OWN; cat länk; echo; test -L link",
                environment={"environment_variables": ["OWN=value"]}), context)
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        trial = self.home.first_trial(experiment)
        log = self.home.trial_log(trial["id"])
        self.assertIn("hellohello", log)
        self.assertIn("umlaut", log)
        self.assertIn(f"trial={trial['id']} own=value", log)
        self.assertNotIn("secret", log)
        self.assertNotIn("junk.pyc", log)

    def test_override_has_precedence_over_the_file(self):
        experiment = self.home.create(job(entrypoint="exit 1"), None, "--config",
                                      "entrypoint=echo instead", "--config", "name=other")
        described = self.home.finish(experiment)
        self.assert_state(described, "COMPLETED")
        self.assertEqual("other", described["name"])

    def test_failing_job_restarts_and_ends_with_the_reason(self):
        experiment = self.home.create(job(entrypoint="echo attempt; exit 7", max_restarts=2))
        waited = self.home.det("experiment", "wait", experiment, code=1)
        self.assertIn("ERROR", waited.stderr)
        described = self.home.experiment(experiment)
        self.assert_state(described, "ERROR")
        self.assertNotEqual("", described["stateReason"])
        trial = self.home.first_trial(experiment)
        self.assertEqual(2, trial["restarts"])
        self.assertEqual([7, 7, 7], [run["exitCode"] for run in trial["runs"]])
        self.assertEqual(3, self.home.trial_log(trial["id"]).count("attempt"))

    def test_killed_job_ends_immediately(self):
        experiment = self.home.create(job(entrypoint="echo begun; sleep 600"))
        self.await_log(experiment)
        self.home.det("experiment", "kill", experiment)
        self.home.det("experiment", "wait", experiment, code=1)
        self.assert_state(self.home.experiment(experiment), "CANCELED")
        self.assertEqual([], [p for p in harness.processes_below(self.home.data)
                              if "sleep 600" in p[1]])
        self.home.det("experiment", "kill", experiment, code=None)

    def await_log(self, experiment, word="begun"):
        trial = self.home.first_trial(experiment)["id"]
        harness.eventually(lambda: word in self.home.trial_log(trial), f"{word} in the log")
        return trial

    def test_followed_job_survives_ctrl_c(self):
        path = self.home.write("long.yaml", job(entrypoint="echo begun; sleep 600"))
        before = {e["id"] for e in self.home.json("experiment", "list")["experiments"]}
        with self.home.popen("experiment", "create", path, self.home.context(), "-f") as follow:
            for line in follow.stdout:
                if "begun" in line:
                    break
            follow.send_signal(signal.SIGINT)
            _, err = follow.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(3, follow.returncode)
        self.assertIn("is still running", err)
        created = {e["id"] for e in self.home.json("experiment", "list")["experiments"]} - before
        self.assertEqual(1, len(created))
        experiment = created.pop()
        self.assertIn(self.home.experiment(experiment)["state"],
                      ("STATE_RUNNING", "STATE_ACTIVE"))
        self.home.det("experiment", "kill", experiment)
        self.home.finish(experiment)

    def test_pauses_and_activates(self):
        context = self.home.context({"once.sh": "echo begun; test -e $FLAG || sleep 600\n"})
        flag = os.path.join(self.home.folder, "flag")
        experiment = self.home.create(
            # The script ignores the preemption, so it may run this long.
            job(entrypoint="sh once.sh", preemption_timeout=1,
                environment={"environment_variables": ["FLAG=" + flag]}), context)
        self.await_log(experiment)
        self.home.det("experiment", "pause", experiment)
        harness.eventually(lambda: not [p for p in harness.processes_below(self.home.data)
                                        if "sleep 600" in p[1]], "the end of the job")
        self.assert_state(self.home.experiment(experiment), "PAUSED")
        self.home.write("flag", "")
        self.home.det("experiment", "activate", experiment)
        self.assert_state(self.home.finish(experiment), "COMPLETED")

    def test_slot_list_shows_tasks(self):
        experiment = self.home.create(job(entrypoint="echo begun; sleep 600",
                                          resources={"slots_per_trial": 2}))
        self.await_log(experiment)
        text = self.home.det("slot", "list").stdout
        self.assertEqual(2, text.count("● used"))
        self.home.det("experiment", "kill", experiment)
        self.home.finish(experiment)
        harness.eventually(lambda: "● used" not in self.home.det("slot", "list").stdout,
                           "free slots")

    def test_random_search_creates_its_trials(self):
        experiment = self.home.create(job(
            searcher={"name": "random", "metric": "loss", "max_trials": 5},
            hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}}))
        described = self.home.finish(experiment)
        self.assert_state(described, "COMPLETED")
        self.assertEqual(5, described["numTrials"])

    def test_json_output_is_that_of_the_api(self):
        for args in (["experiment", "list"], ["agent", "list"], ["slot", "list"],
                     ["master", "info"], ["version"], ["deploy", "local", "status"]):
            self.assertIsInstance(self.home.json(*args), dict, args)
        experiment = self.home.create(job(entrypoint="echo a line"))
        self.home.finish(experiment)
        lines = self.home.det("experiment", "logs", experiment, "--json").stdout.splitlines()
        self.assertIn("a line", [json.loads(line)["log"].strip() for line in lines])


class RecoveryTest(harness.ClusterTestCase):
    def test_experiment_continues_after_down_and_up(self):
        flag = os.path.join(self.home.folder, "flag")
        experiment = self.home.create(job(
            entrypoint=f"echo begun; test -e {flag} || sleep 600", max_restarts=1))
        trial = self.home.first_trial(experiment)["id"]
        harness.eventually(lambda: "begun" in self.home.trial_log(trial), "the start of the job")
        self.home.det("deploy", "local", "down")
        self.home.write("flag", "")
        self.home.up(self.agents, self.slots)
        self.assert_state(self.home.finish(experiment), "COMPLETED")

    def test_follow_survives_a_master_restart(self):
        flag = os.path.join(self.home.folder, "on")
        config = self.home.write("followed.yaml", job(entrypoint=(
            f"for i in 1 2 3; do echo line-$i; done; while ! test -e {flag}; do sleep 0.1; done; "
            "for i in 4 5 6; do echo line-$i; done")))
        created = self.home.popen("experiment", "create", config, self.home.context(), "-f")
        for line in created.stdout:
            if "line-3" in line:
                break
        experiment = self.home.json("experiment", "list")["experiments"][0]["id"]
        trial = self.home.first_trial(experiment)["id"]
        logs = [self.home.popen("experiment", "logs", "-f", experiment),
                self.home.popen("trial", "logs", "-f", trial)]
        for process in logs:
            for line in process.stdout:
                if "line-3" in line:
                    break
        waiting = self.home.popen("experiment", "wait", experiment)
        waiting.stderr.readline()  # The first progress line shows that it is connected to the master.
        self.home.kill("master")
        followers = [created, waiting, *logs]
        output = {process: process.stderr.readline() for process in logs}
        for process in logs:
            self.assertIn("waiting for it", output[process])
        self.home.up(self.agents, self.slots)
        self.home.write("on", "")
        for process in followers:
            out, err = process.communicate(timeout=harness.TIMEOUT)
            self.assertEqual(0, process.returncode, err)
            if process is waiting:
                self.assertIn("COMPLETED", err)
                continue
            # Earlier lines were read above.
            self.assertEqual(["line-4", "line-5", "line-6"], re.findall("line-[0-9]", out), err)
            self.assertNotIn("waiting for it", err if process in output else "")


if __name__ == "__main__":
    harness.main()
