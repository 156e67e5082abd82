#!/usr/bin/env -S python3 -B
"""Tests that `det deploy local up`, with the options that started a cluster, repairs it."""
import os
import signal

import harness

PASSWORDS = ("--admin-password", "Secret123", "--user-password", "Other1234")


class RepairTest(harness.unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(lambda: self.assertEqual([], self.home.close()))
        self.flag = os.path.join(self.home.folder, "go")

    def start(self, *options):
        """Starts a cluster and an experiment that runs until finish_experiment()."""
        self.options = options
        self.home.up(1, 1, *options)
        waits = f"echo started; while [ ! -e {self.flag} ]; do sleep 0.05; done; echo continued"
        self.experiment = self.home.create(harness.job(entrypoint=["sh", "-c", waits]))
        self.trial = self.home.first_trial(self.experiment)["id"]
        self.tasks = harness.eventually(self.running_tasks, "the task")
        harness.eventually(lambda: "started" in self.home.trial_log(self.trial), "its output")

    def running_tasks(self):
        return [pid for pid, command in harness.processes_below(self.home.data)
                if command.startswith("sh -c")]

    def up(self, code=0):
        return self.home.up(1, 1, *self.options, code=code)

    def assert_experiment_continues(self):
        self.assertEqual(self.tasks, self.running_tasks(), "the task was not restarted")
        self.home.write("go", "")
        self.assertEqual("STATE_COMPLETED", self.home.finish(self.experiment)["state"])
        log = self.home.trial_log(self.trial)
        self.assertEqual((1, 1), (log.count("started"), log.count("continued")), log)

    def test_restarts_an_agent(self):
        self.start(*PASSWORDS)
        self.home.kill("agent-0")
        self.assertIn("started agent-0;", self.up().stdout)
        self.assertIn("already running", self.up().stdout)
        self.assert_experiment_continues()

    def test_restarts_the_master(self):
        self.start(*PASSWORDS)
        self.home.kill("master")
        self.assertIn("started master;", self.up().stdout)
        self.assert_experiment_continues()

    def test_restarts_master_and_agent(self):
        self.start("--allow-blank-passwords")
        self.home.kill("agent-0")
        self.home.kill("master")
        # Tasks are not stopped for other options.
        other = self.home.up(1, 2, code=1).stderr
        self.assertIn("--slots 1, not --slots 2", other)
        self.assertEqual(self.tasks, self.running_tasks())
        self.assertIn("started master, agent-0;", self.up().stdout)
        self.assert_experiment_continues()

    def test_continues_after_postgresql_was_killed(self):
        self.start()
        with open(os.path.join(self.home.data, "postgres/postmaster.pid"), encoding="utf-8") as f:
            database = int(f.readline())
        os.kill(database, signal.SIGKILL)
        harness.eventually(lambda: harness.ended(database), "the end of PostgreSQL")
        # The master restarts its PostgreSQL.
        self.assertIn("already running", self.up().stdout)
        self.home.kill("agent-0")
        self.assertIn("started agent-0;", self.up().stdout)
        self.assert_experiment_continues()

    def test_restarts_the_master_after_it_and_postgresql_were_killed(self):
        self.start()
        with open(os.path.join(self.home.data, "postgres/postmaster.pid"), encoding="utf-8") as f:
            database = int(f.readline())
        self.home.kill("master")
        os.kill(database, signal.SIGKILL)
        harness.eventually(lambda: harness.ended(database), "the end of PostgreSQL")
        self.assertIn("started master;", self.up().stdout)
        self.assert_experiment_continues()

    def test_accepts_options_of_the_start_after_agents_were_added(self):
        self.start("--no-gpu")
        self.home.det("deploy", "local", "agent-up", "--agent-name", "second")
        self.home.kill("second")
        self.assertIn("started second;", self.up().stdout)
        # After a reboot the agents have the same names.
        for name in ("agent-0", "second", "master"):
            self.home.kill(name)
        self.assertIn("2 agents", self.up().stdout)
        self.assertEqual(["master", "agent-0", "second"], [m["name"] for m in self.home.members()])
        self.assert_experiment_continues()

    def test_names_options_that_differ(self):
        self.start(*PASSWORDS)
        self.home.kill("agent-0")
        for options, words in {
                ("--port", self.home.port + 1): f"--port {self.home.port}, not --port",
                ("--agents", 2): "--agents 1, not --agents 2",
                ("--slots", 3): "--slots 1, not --slots 3",
                ("--tls",): "no --tls, not --tls",
                ("--gpu",): "--no-gpu, not --gpu",
                ("--allow-blank-passwords",): "det user change-password",
                ("--admin-password", "Secret124"): "--admin-password",
                ("--initial-user-password", "Secret123"): "--user-password",
        }.items():
            output = self.home.det("deploy", "local", "up", *options, code=1).stderr
            self.assertIn(words, output)
            self.assertEqual(1, len(output.strip().splitlines()), output)
        self.assertIn("started agent-0;", self.up().stdout)
        self.assert_experiment_continues()


if __name__ == "__main__":
    harness.main()
