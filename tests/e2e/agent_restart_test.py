#!/usr/bin/env -S python3 -B
"""Tests that tasks and their output survive when agents are killed and restarted."""
import os
import re

import harness
from harness import eventually, job

# Prints numbered lines with the PID until a file exists, then the number of lines.
COUNT = ("i=0; while [ ! -e {stop} ]; do i=$((i+1)); echo line=$i pid=$$; sleep 0.01; done; "
         "echo last=$i")


class AgentRestartTest(harness.ClusterTestCase):
    def start(self, name):
        """Creates an experiment that counts; returns it, the file that ends it, and the trial."""
        stop = os.path.join(self.home.folder, name)
        experiment = self.home.create(job(entrypoint=COUNT.format(stop=stop)))
        return experiment, stop, self.home.first_trial(experiment)["id"]

    def lines(self, trial):
        """(number, PID) of each log line that the master has stored."""
        found = re.findall(r"line=([0-9]+) pid=([0-9]+)", self.home.trial_log(trial))
        return [(int(number), int(pid)) for number, pid in found]

    def assert_complete(self, experiment, trial):
        """Checks that the task ran once in one process, and that each line is stored exactly once."""
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        text = self.home.trial_log(trial)
        lines = self.lines(trial)
        last = re.findall(r"last=([0-9]+)", text)
        self.assertEqual(1, len(last), text[-500:])
        self.assertEqual(list(range(1, int(last[0]) + 1)), [number for number, _ in lines])
        self.assertEqual(1, len({pid for _, pid in lines}))
        self.assertEqual(0, self.home.first_trial(experiment)["restarts"])

    def test_task_survives_repeated_agent_kills(self):
        experiment, stop, trial = self.start("stop-counting")
        had = 0
        for _ in range(2):
            eventually(lambda: len(self.lines(trial)) > had, "lines of this agent")
            had = len(self.lines(trial))
            pid = self.lines(trial)[-1][1]
            self.home.kill("agent-0")
            self.assertTrue(os.path.exists(f"/proc/{pid}"), "the task is still running")
            self.home.up()
            self.assertTrue(os.path.exists(f"/proc/{pid}"), "the new agent does not kill the task")
        eventually(lambda: len(self.lines(trial)) > had, "lines of the last agent")
        self.home.write(stop, "")
        self.assert_complete(experiment, trial)

    def test_next_agent_reports_an_exit_without_agent(self):
        experiment, stop, trial = self.start("stop-alone")
        pid = eventually(lambda: self.lines(trial), "the first lines")[-1][1]
        self.home.kill("agent-0")
        self.home.write(stop, "")
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), "the end of the task")
        self.home.up()
        self.assert_complete(experiment, trial)


if __name__ == "__main__":
    harness.main()
