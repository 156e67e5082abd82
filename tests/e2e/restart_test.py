#!/usr/bin/env -S python3 -B
"""Tests the state of the cluster after restarts of masters and agents (README.md has a table of the
scenarios). All tests share one cluster."""
import os
import re
import signal
import subprocess

import harness
from harness import eventually
from scheduling import SchedulingTestCase

AGENT = os.path.join(harness.ROOT, "agent/resolute-agent")
# Runs until a file exists, and ignores preemption.
IGNORES_PREEMPTION = "echo begun as $DET_ALLOCATION_ID pid=$$; while [ ! -e {stop} ]; do sleep 0.05; done; {end}"


class RestartTestCase(SchedulingTestCase):
    """A cluster with two agents of two slots. Tests can start further agents, each in its own pool."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.owned = {}

    def tearDown(self):
        super().tearDown()
        for name in list(self.owned):
            self.end_agent(name, signal.SIGINT)

    def create_stubborn(self, flag, end="true", **changes):
        return self.create(entrypoint=IGNORES_PREEMPTION.format(stop=self.path(flag), end=end), **changes)

    def pid(self, experiment):
        return int(re.findall(r"pid=([0-9]+)", self.log(experiment))[-1])

    def up(self):
        self.home.up(self.agents, self.slots)

    def restart_master(self):
        self.home.kill("master")
        self.up()

    def start_agent(self, name, pool, slots=1):
        with open(os.path.join(self.home.folder, name + ".log"), "ab") as log:
            self.owned[name] = subprocess.Popen(
                [AGENT, "--config-file", "/dev/null", "--id", name, "--slots", str(slots),
                 "--pool", pool, "--master",
                 f"http://127.0.0.1:{self.home.port}", "--work-dir",
                 os.path.join(self.home.folder, name), "--token-file",
                 os.path.join(self.home.data, "agent.token")],
                env=self.home.env, cwd=self.home.folder, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)

    def end_agent(self, name, number):
        process = self.owned.pop(name)
        process.send_signal(number)
        process.wait(harness.TIMEOUT)

    def agent_log(self, name):
        with open(os.path.join(self.home.folder, name + ".log"), encoding="utf-8") as f:
            return f.read()

    def agent(self, name):
        """The agent as the master sees it; None if it is disconnected."""
        found = [a for a in self.home.json("agent", "list")["agents"] if a["id"] == name]
        return found[0] if found else None

    def await_agent(self, name, slots):
        def poll():
            agent = self.agent(name)
            return agent and agent.get("connected", True) and len(agent.get("slots", {})) == slots
        eventually(poll, f"{name} with {slots} slots")

    def pool(self, name):
        self.home.det("resource-pool", "create", name, code=None)
        return {"resource_pool": name}

    def restarts(self, experiment):
        return self.home.first_trial(experiment)["restarts"]

    def end(self, experiment, flag, state="COMPLETED"):
        self.home.write(flag, "")
        self.assert_state(self.home.finish(experiment), state)

    def await_exit(self, pid):
        eventually(lambda: not os.path.exists(f"/proc/{pid}"), f"the end of process {pid}")


class MasterRestartTest(RestartTestCase):
    def test_keeps_running_and_waiting_trials(self):
        running = self.create_stubborn("as-they-were", resources={"slots_per_trial": 4})
        eventually(lambda: self.log(running).count("begun as") == 2, "the start on both agents")
        first, second = (self.create(4, "true") for _ in range(2))
        for each in (first, second):
            self.await_reason(each)
        before = [(self.queue_entry(e)["submissionTime"], self.queue_entry(e)["name"])
                  for e in (running, first, second)]
        order, pid = self.order(), self.pid(running)
        self.restart_master()
        self.assertEqual(order, self.order())
        self.assertEqual(before, [(self.queue_entry(e)["submissionTime"], self.queue_entry(e)["name"])
                                  for e in (running, first, second)])
        self.assertTrue(os.path.exists(f"/proc/{pid}"))
        self.end(running, "as-they-were")
        for each in (first, second):
            self.assert_state(self.home.finish(each), "COMPLETED")
        self.assertEqual(2, self.log(running).count("begun as"))
        self.assertEqual(0, self.restarts(running))

    def test_records_tasks_that_ended_meanwhile(self):
        fails, ends = self.create_stubborn("ends-away", "exit 3"), self.create_stubborn("ends-away")
        for each in (fails, ends):
            self.await_log(each)
        pids = [self.pid(each) for each in (fails, ends)]
        self.home.kill("master")
        self.home.write("ends-away", "")
        for pid in pids:
            self.await_exit(pid)
        self.up()
        self.assert_state(self.home.finish(ends), "COMPLETED")
        failed = self.home.finish(fails)
        self.assert_state(failed, "ERROR")
        self.assertIn("3", failed["stateReason"])

    def test_continued_experiment_is_still_running(self):
        experiment = self.create_stubborn("continued-1", "exit 1")
        self.await_log(experiment)
        self.end(experiment, "continued-1", "ERROR")
        os.unlink(self.path("continued-1"))
        self.home.det("experiment", "continue", experiment,
                      "--config", "entrypoint=" + IGNORES_PREEMPTION.format(stop=self.path("continued-2"),
                                                              end="true"))
        eventually(lambda: self.log(experiment).count("begun as") == 2, "the second run")
        pid = self.pid(experiment)
        self.restart_master()
        self.assertTrue(os.path.exists(f"/proc/{pid}"))
        self.end(experiment, "continued-2")
        self.assertEqual(2, self.log(experiment).count("begun as"))

    def test_kills_a_task_that_ignores_preemption(self):
        ways = {"pause": "PAUSED", "cancel": "CANCELED"}
        for way in ways:
            with self.subTest(way):
                experiment = self.create(entrypoint=IGNORES_PREEMPTION.format(stop=self.path("never"), end=""),
                                         preemption_timeout=3)
                self.await_log(experiment)
                pid = self.pid(experiment)
                self.home.det("experiment", way, experiment)
                self.restart_master()
                self.await_exit(pid)
                eventually(lambda e=experiment, w=way: self.home.experiment(e)["state"]
                           == "STATE_" + ways[w], f"the state after {way}")
                self.assertEqual(0, self.restarts(experiment))

    def test_stopping_task_that_ended_meanwhile_is_stopped(self):
        for way, state in {"pause": "PAUSED", "cancel": "CANCELED", "kill": "CANCELED"}.items():
            with self.subTest(way):
                experiment = self.create_stubborn("leaves-" + way, preemption_timeout=600)
                self.await_log(experiment)
                pid = self.pid(experiment)
                self.home.det("experiment", way, experiment)
                self.home.kill("master")
                self.home.write("leaves-" + way, "")
                self.await_exit(pid)
                self.up()
                # The trial may have completed: it may have exited with code 0 without acknowledging
                # the preemption.
                states = {"STATE_" + state, "STATE_COMPLETED"}
                eventually(lambda e=experiment, s=states: self.home.experiment(e)["state"] in s,
                           f"the state after {way}")
                eventually(lambda: "● used" not in self.home.det("slot", "list").stdout,
                           "free slots")

    def test_kills_after_a_restart(self):
        experiment = self.create()
        self.await_log(experiment)
        self.restart_master()
        self.home.det("experiment", "kill", experiment)
        self.assert_state(self.home.finish(experiment), "CANCELED")

    def test_restarts_a_task_that_disappeared(self):
        experiment = self.create_stubborn("gone-again", max_restarts=1)
        self.await_log(experiment)
        self.home.kill("master")
        keeper = [pid for pid, words in harness.processes_below(self.home.data)
                  if "resolute-keeper" in words and f"/{experiment}." in words]
        self.assertEqual(1, len(keeper))
        pid = int(open(f"/proc/{keeper[0]}/task/{keeper[0]}/children",
                       encoding="utf-8").read().split()[0])
        os.kill(keeper[0], signal.SIGKILL)
        self.await_exit(pid)
        self.up()
        eventually(lambda: self.log(experiment).count("begun as") == 2, "the second run")
        self.assertEqual(1, self.restarts(experiment))
        self.end(experiment, "gone-again")

    def test_agent_reconnects_with_other_devices(self):
        pool = self.pool("devices")
        self.start_agent("changing", "devices", slots=2)
        self.await_agent("changing", 2)
        experiment = self.create(2, IGNORES_PREEMPTION.format(stop=self.path("devices"), end="true"),
                                 resources=pool)
        self.await_log(experiment)
        pid = self.pid(experiment)
        self.home.kill("master")
        self.end_agent("changing", signal.SIGKILL)
        self.start_agent("changing", "devices", slots=1)
        self.up()
        # The agent must not remove devices of running tasks.
        eventually(lambda: "reconnects without the device" in self.agent_log("changing"),
                   "the refusal")
        self.assertTrue(os.path.exists(f"/proc/{pid}"))
        self.end_agent("changing", signal.SIGTERM)
        self.start_agent("changing", "devices", slots=3)
        self.await_agent("changing", 3)
        self.end(experiment, "devices")
        self.assertEqual(1, self.log(experiment).count("begun as"))
        wide = self.create(3, "true", resources=pool)
        self.assert_state(self.home.finish(wide), "COMPLETED")

    def test_agent_reconnects_to_the_same_or_another_pool(self):
        pools = [self.pool("old"), self.pool("new")]
        self.start_agent("moving", "old")
        self.await_agent("moving", 1)
        for step, now in enumerate(("old", "new")):
            with self.subTest(now):
                experiment = self.create_stubborn(f"moves-{step}", resources=pools[0])
                self.await_log(experiment)
                pid = self.pid(experiment)
                self.home.kill("master")
                self.end_agent("moving", signal.SIGKILL)
                self.start_agent("moving", now)
                self.up()
                self.await_agent("moving", 1)
                self.assertTrue(os.path.exists(f"/proc/{pid}"))
                self.end(experiment, f"moves-{step}")
                self.assertEqual(0, self.restarts(experiment))
        there = self.create(1, "true", resources=pools[1])
        self.assert_state(self.home.finish(there), "COMPLETED")
        self.await_reason(self.create(1, "true", resources=pools[0]))


class AgentRestartTest(RestartTestCase):
    def test_restarts_a_task_that_failed_without_agent(self):
        self.pool("unseen")
        self.start_agent("blind", "unseen")
        self.await_agent("blind", 1)
        experiment = self.create_stubborn("fails-unseen", f"test -e {self.path('second')}", max_restarts=1,
                               resources={"resource_pool": "unseen"})
        self.await_log(experiment)
        pid = self.pid(experiment)
        self.end_agent("blind", signal.SIGKILL)
        self.home.write("fails-unseen", "")
        self.await_exit(pid)
        self.home.write("second", "")
        self.start_agent("blind", "unseen")
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        self.assertEqual(1, self.restarts(experiment))

    def test_reconnected_agent_gets_waiting_trials(self):
        self.pool("waited")
        self.start_agent("late", "waited")
        self.await_agent("late", 1)
        self.end_agent("late", signal.SIGKILL)
        experiment = self.create(1, "echo begun as $DET_ALLOCATION_ID",
                                 resources={"resource_pool": "waited"})
        self.await_reason(experiment)
        self.restart_master()
        self.start_agent("late", "waited")
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        # Waiting did not count as a run.
        self.assertIn(f"begun as {experiment}.", self.log(experiment))
        runs = self.home.first_trial(experiment)["runs"]
        self.assertEqual(1, len(runs))
        self.assertIn(f"begun as {runs[0]['allocationId']}", self.log(experiment))
        self.assertTrue(runs[0]["allocationId"].endswith(".1"), runs)

    def test_agent_keeps_its_task_after_a_network_failure(self):
        self.pool("cut")
        self.start_agent("asleep", "cut")
        self.await_agent("asleep", 1)
        pool = {"resource_pool": "cut"}
        experiment = self.create_stubborn("kept", resources=pool)
        self.await_log(experiment)
        waiting = self.create(1, "true", resources=pool)
        self.await_reason(waiting)
        self.owned["asleep"].send_signal(signal.SIGSTOP)
        self.restart_master()
        self.owned["asleep"].send_signal(signal.SIGCONT)
        self.end(experiment, "kept")
        self.assertEqual(0, self.restarts(experiment))
        self.assert_state(self.home.finish(waiting), "COMPLETED")


class AgentDisableTest(RestartTestCase):
    def test_disabling_a_draining_agent_ends_its_trials(self):
        running = self.create()
        self.await_log(running)
        agent = self.agents_of(running)[0]
        self.home.det("agent", "disable", agent, "--drain")
        self.assertEqual([agent], self.agents_of(running))
        self.home.det("agent", "disable", agent)
        eventually(lambda: self.agents_of(running) not in ([], [agent]), "a run on another agent")
        self.assertEqual(0, self.restarts(running))

    def test_enabling_a_draining_agent_gives_it_work(self):
        self.home.det("agent", "disable", "--all", "--drain")
        waiting = self.create(1, "true")
        self.await_reason(waiting)
        self.restart_master()
        self.await_reason(waiting)
        self.home.det("agent", "enable", "--all")
        self.assert_state(self.home.finish(waiting), "COMPLETED")

    def test_disables_and_enables_an_agent_without_slots(self):
        self.pool("slotless")
        self.start_agent("slotless", "slotless", slots=0)
        self.await_agent("slotless", 0)
        self.home.det("agent", "disable", "slotless")
        self.assertFalse(self.agent("slotless")["enabled"])
        self.home.det("agent", "enable", "slotless")
        self.assertTrue(self.agent("slotless")["enabled"])


if __name__ == "__main__":
    harness.main()
