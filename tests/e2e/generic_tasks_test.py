#!/usr/bin/env -S python3 -B
"""Tests generic tasks with real programs: create, fork, pause, unpause, kill; the end of a workspace."""
import json
import re

import harness

CREATED = re.compile(r"Created task (\S+)")


class GenericTaskTest(harness.ClusterTestCase):
    def create(self, config, *options):
        path = self.home.write("task.yaml", config)
        return CREATED.search(self.home.det("task", "create", path, *options).stdout)[1]

    def task(self, task):
        return json.loads(self.home.det("dev", "curl", f"/api/v1/tasks/{task}").stdout)["task"]

    def state(self, task):
        return self.task(task)["taskState"].removeprefix("GENERIC_TASK_STATE_")

    def await_state(self, task, state):
        harness.eventually(lambda: self.state(task) == state, f"{state} of task {task}")

    def await_log(self, task, word, times=1):
        harness.eventually(
            lambda: self.home.det("task", "logs", task).stdout.count(word) >= times, f"{word} in the log")

    def test_runs_in_its_context_and_ends_as_its_program(self):
        context = self.home.context({"x.py": "print('from', 'context')"})
        good = self.create({"entrypoint": ["python3", "x.py"]}, "-c", context)
        self.await_state(good, "COMPLETED")
        self.assertIn("from context", self.home.det("task", "logs", good).stdout)
        forked = CREATED.search(self.home.det("task", "fork", good, "-f").stdout)[1]
        self.assertIn("from context", self.home.det("task", "logs", forked).stdout)
        self.assertEqual({"entrypoint": ["python3", "x.py"]},
                         json.loads(self.home.det("task", "config", forked).stdout))
        bad = self.create({"entrypoint": ["exit 3"], "resources": {"slots": 0}})
        self.await_state(bad, "ERROR")

    def test_pauses_and_starts_again(self):
        task = self.create({"entrypoint": ["echo begun; sleep 600"]})
        child = self.create({"entrypoint": ["echo begun; sleep 600"]}, "--parent", task)
        self.await_log(task, "begun")
        self.assertIn(f"Paused task: {task}", self.home.det("task", "pause", task).stdout)
        self.await_state(task, "PAUSED")
        self.await_state(child, "PAUSED")
        self.assertEqual([], [p for p in harness.processes_below(self.home.data) if "sleep 600" in p[1]])
        self.assertIn("PAUSED", self.home.det("task", "pause", task, code=1).stderr)
        self.home.det("task", "unpause", task)
        self.await_log(task, "begun", 2)
        self.assertEqual(2, len(self.task(task)["allocations"]))
        self.home.det("task", "kill", child, "--root")
        self.await_state(task, "CANCELED")
        self.await_state(child, "CANCELED")
        self.assertIn("CANCELED", self.home.det("task", "kill", task, code=1).stderr)

    def test_bad_input_is_refused_in_one_sentence(self):
        for config, reason in [({}, "entrypoint"), ({"entrypoint": ["a"], "idle_timeout": "1h"}, "idle_timeout"),
                               ({"entrypoint": ["a"], "no_such": 1}, "no_such")]:
            path = self.home.write("task.yaml", config)
            self.assertIn(reason, self.home.det("task", "create", path, code=1).stderr)
        self.assertIn("not found", self.home.det("task", "kill", "absent", code=1).stderr)

    def test_tasks_end_with_their_workspace(self):
        self.home.det("workspace", "create", "short-lived")
        command = self.home.det("command", "run", "-w", "short-lived", "--detach",
                                "echo begun; sleep 600").stdout.strip()
        self.await_log(command, "begun")
        self.home.det("workspace", "delete", "short-lived", "--yes")
        harness.eventually(lambda: self.task(command).get("endTime"), "the end of the command")
        self.assertIn("workspace short-lived was deleted", self.home.det("task", "logs", command).stdout)
        self.assertEqual([], [p for p in harness.processes_below(self.home.data) if "sleep 600" in p[1]])


class AgentStateTest(harness.ClusterTestCase):
    agents, slots = 1, 1

    def test_disabled_agent_ends_commands_and_drained_agent_does_not(self):
        def run(line):
            return self.home.det("command", "run", "--detach", line).stdout.strip()

        def describe(command):
            return self.home.json("command", "describe", command)["command"]

        command = run("echo begun; sleep 600")
        harness.eventually(lambda: "begun" in self.home.det("command", "logs", command).stdout, "its begin")
        self.home.det("agent", "disable", "agent-0")
        harness.eventually(lambda: describe(command)["state"] == "STATE_TERMINATED", "its end")
        self.assertIn("agent-0 was disabled", describe(command)["exitStatus"])
        self.home.det("agent", "enable", "agent-0")

        flag = self.home.folder + "/flag"
        command = run(f"echo begun; while [ ! -e {flag} ]; do sleep 0.1; done; echo ended")
        harness.eventually(lambda: "begun" in self.home.det("command", "logs", command).stdout, "its begin")
        self.home.det("agent", "disable", "agent-0", "--drain")
        self.assertEqual("STATE_RUNNING", describe(command)["state"])
        self.home.write("flag", "")
        harness.eventually(lambda: describe(command)["state"] == "STATE_TERMINATED", "its end")
        self.assertIn("ended", self.home.det("command", "logs", command).stdout)
        self.assertEqual("allocation exited successfully", describe(command)["exitStatus"])


if __name__ == "__main__":
    harness.main()
