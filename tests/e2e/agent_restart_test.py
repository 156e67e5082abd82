#!/usr/bin/env -S python3 -B
"""Agents that are killed and start again: their tasks go on, and nothing of them is lost."""
import os
import re

import harness
from harness import eventually, job

# Until a file is there: numbered lines, each with the process that wrote it; at the end how many.
COUNT = ("i=0; while [ ! -e {stop} ]; do i=$((i+1)); echo line=$i pid=$$; sleep 0.01; done; "
         "echo last=$i")


class AgentRestartTest(harness.ClusterTestCase):
    def start(self, name):
        """An experiment that counts, the file that ends it, and the trial."""
        stop = os.path.join(self.home.folder, name)
        experiment = self.home.create(job(entrypoint=COUNT.format(stop=stop)))
        return experiment, stop, self.home.first_trial(experiment)["id"]

    def lines(self, trial):
        """(number, process) of each line that the master has."""
        found = re.findall(r"line=([0-9]+) pid=([0-9]+)", self.home.trial_log(trial))
        return [(int(number), int(pid)) for number, pid in found]

    def assert_complete(self, experiment, trial):
        """It ran once, in one process, and the master has each of its lines exactly once."""
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
            self.assertTrue(os.path.exists(f"/proc/{pid}"), "the task runs on")
            self.home.up()
            self.assertTrue(os.path.exists(f"/proc/{pid}"), "the new agent leaves it alone")
        eventually(lambda: len(self.lines(trial)) > had, "lines of the last agent")
        self.home.write(stop, "")
        self.assert_complete(experiment, trial)

    def test_next_agent_reports_an_exit_without_agent(self):
        experiment, stop, trial = self.start("stop-alone")
        pid = eventually(lambda: self.lines(trial), "its first lines")[-1][1]
        self.home.kill("agent-0")
        self.home.write(stop, "")
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), "the task's end")
        self.home.up()
        self.assert_complete(experiment, trial)


if __name__ == "__main__":
    harness.main()
