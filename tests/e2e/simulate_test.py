#!/usr/bin/env -S python3 -B
"""Tests `det dev schedule`, `det cluster simulate` and `det cluster workload`, which need no master."""
import json
import os
import re
import subprocess
import unittest

import harness

SIMULATE = os.path.join(harness.ROOT, "master/simulate/resolute-simulate")

SNAPSHOT = {
    "policy": "priority",
    "agents": [{"id": "a", "slots": 4}, {"id": "b", "slots": 4}],
    "jobs": [{"id": "j", "priority": 10}],
    "gangs": [
        {"id": "runs", "job": "j", "slots": 2, "running": [{"agent": "a", "slots": 2}]},
        {"id": "fits", "job": "j", "slots": 4, "submitted": 1},
        {"id": "never", "job": "j", "slots": 9, "submitted": 2},
    ],
}


class SimulateTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.home.close)

    def pipe(self, text, *args):
        return subprocess.run([harness.DET, *args], input=text, env=self.home.env, check=True,
                              capture_output=True, encoding="utf-8",
                              timeout=harness.TIMEOUT).stdout

    def test_schedule_prints_plan_with_reasons(self):
        path = self.home.write("s.json", SNAPSHOT)
        plan = self.home.json("dev", "schedule", "--snapshot", path)
        self.assertEqual({"fits": [{"agent": "b", "slots": [0, 1, 2, 3]}]}, plan["assign"])
        self.assertEqual([], plan["preempt"])
        self.assertEqual({"never": "INFEASIBLE"}, plan["waiting"])
        self.assertEqual({"fits", "never"}, set(plan["reasons"]))
        text = self.pipe(json.dumps(SNAPSHOT), "dev", "schedule", "--snapshot", "-")
        self.assertRegex(text, r"start +fits +4 +b 0-3 ")
        self.assertRegex(text, r"wait +never +9 +INFEASIBLE ")

    def test_schedule_reports_all_errors(self):
        path = self.home.write("s.json", {"agents": [{"id": "a", "slots": -1}], "gang": []})
        error = self.home.det("dev", "schedule", "--snapshot", path, code=1).stderr
        self.assertIn("agents[0].slots: expected an integer", error)
        self.assertIn("gang: unknown", error)
        self.home.det("dev", "schedule", code=2)

    def test_simulates_a_generated_workload(self):
        agents = ("--agents", "4x8")
        workload = self.home.det("cluster", "workload", "--jobs", 200, "--seed", 3, *agents).stdout
        self.assertEqual(200 + 2, len(workload.splitlines()))
        figures = json.loads(self.pipe(workload, "cluster", "simulate", "--workload", "-", "--json",
                                       *agents))
        self.assertEqual((200, 200), (figures["jobs"], figures["completed"]))
        self.assertEqual(200, figures["waits"]["all"]["started"])
        self.assertLessEqual(figures["utilisation"]["window"]["of_bound"], 1)
        # The same workload through a pipe, with the records of each job.
        records = os.path.join(self.home.folder, "jobs.csv")
        again = self.home.json("cluster", "simulate", "--jobs", 200, "--seed", 3, "--jobs-out",
                               records, *agents)
        self.assertEqual(figures, again)
        with open(records, encoding="utf-8") as f:
            self.assertEqual(200 + 1, len(f.readlines()))
        self.assertIn("slots", self.pipe(workload, "cluster", "simulate", "--workload", "-",
                                         "--preemption", "--policy", "fair_share", *agents))

    def test_det_has_the_options_of_the_program(self):
        for command, name in ((("dev", "schedule"), "schedule"), (("cluster", "simulate"), "cluster"),
                              (("cluster", "workload"), "workload")):
            ours = self.home.det(*command, "--help").stdout
            theirs = subprocess.run([SIMULATE, name, "--help"], check=True, capture_output=True,
                                    encoding="utf-8", timeout=harness.TIMEOUT).stdout
            common = {"--help", "--master", "--user", "--json", "--no-color"}
            options = [set(re.findall(r"--[a-z-]+", text)) - common
                       for text in (ours.split("Options")[1].split("\n\n")[0],
                                    theirs.split("Options:")[1])]
            self.assertEqual(*options, name)


if __name__ == "__main__":
    harness.main()
