#!/usr/bin/env -S python3 -B
"""Tests the parts of `det deploy local`: master-up, agent-up, agent-down, master-down."""
import os

import harness


class DeployPartsTest(harness.unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(lambda: self.assertEqual([], self.home.close()))

    def local(self, *words, code=0):
        return self.home.det("deploy", "local", *words, code=code)

    def master_up(self):
        return self.local("master-up", "--port", self.home.port, "--slots", 1)

    def names(self):
        return [m["name"] for m in self.home.members()]

    def wait_for_agents(self, *names):
        """Waits until exactly these agents are connected."""
        def poll():
            lines = self.home.det("agent", "list", "--csv").stdout.splitlines()[1:]
            return {line.split(",")[0] for line in lines if ",connected," in line} == set(names)
        harness.eventually(poll, f"agents {names}")

    def test_starts_and_stops_parts_of_a_cluster(self):
        self.assertIn("0 agents", self.master_up().stdout)
        self.assertEqual(["master"], self.names())
        self.assertIn("agent-0", self.local("agent-up").stdout)
        # The form that existing scripts use.
        self.assertIn("second", self.local("agent-up", "localhost", "--agent-name", "second").stdout)
        self.wait_for_agents("agent-0", "second")
        job = self.home.create(harness.TRUE_JOB)
        self.assertEqual("STATE_COMPLETED", self.home.finish(job)["state"])

        self.assertIn("stopped second", self.local("agent-down", "--agent-name", "second").stdout)
        self.assertEqual(["master", "agent-0"], self.names())
        self.wait_for_agents("agent-0")
        self.assertIn("stopped agent-0", self.local("agent-down", "--all").stdout)
        self.assertEqual(["master"], self.names())
        self.assertIn("stopped the master", self.local("master-down").stdout)
        self.assertEqual([], harness.processes_below(self.home.data))
        self.assertIn("no master is running", self.local("master-down").stdout)

    def test_tasks_continue_while_the_master_is_down(self):
        self.master_up()
        self.local("agent-up")
        flag = os.path.join(self.home.folder, "go")
        waits = f"while [ ! -e {flag} ]; do sleep 0.05; done; echo continued"
        job = self.home.create(harness.job(entrypoint=["sh", "-c", waits]))
        trial = self.home.first_trial(job)["id"]
        tasks = harness.eventually(
            lambda: [pid for pid, command in harness.processes_below(self.home.data)
                     if command.startswith("sh -c")], "the task")

        self.assertIn("stopped the master", self.local("master-down").stdout)
        self.assertFalse(any(harness.ended(pid) for pid in tasks))
        self.assertEqual({"master": False, "agent-0": True},
                         {m["name"]: m["alive"] for m in self.home.members()})
        self.home.write("go", "")
        self.assertIn("master", self.master_up().stdout)
        ended = self.home.finish(job)
        self.assertEqual("STATE_COMPLETED", ended["state"])
        self.assertEqual(1, self.home.trial_log(trial).count("continued"))

    def test_errors_say_what_to_do(self):
        for command in ("master-down", "agent-down --all"):
            self.assertIn("running in", self.local(*command.split()).stdout)
        self.assertIn("det deploy local master-up", self.local("agent-up", code=1).stderr)
        self.assertIn("--agent-name AGENT or --all", self.local("agent-down", code=2).stderr)
        self.master_up()
        self.local("agent-up")
        output = self.local("agent-down", "--agent-name", "second", code=1).stderr
        self.assertIn("it has: agent-0", output)
        self.assertIn("letters, digits", self.local("agent-up", "--agent-name", "a/b", code=1).stderr)
        self.assertIn("have --slots 1", self.local("agent-up", "--slots", 3, code=1).stderr)


if __name__ == "__main__":
    harness.main()
