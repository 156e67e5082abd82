#!/usr/bin/env -S python3 -B
"""Tests order, preemption, wait reasons and quotas with `det` on a real cluster."""
import importlib.machinery
import importlib.util
import os

import harness
from harness import eventually, job
from scheduling import SchedulingTestCase


class QueueTest(SchedulingTestCase):
    def test_gang_runs_on_two_agents(self):
        experiment = self.create(4)
        self.await_log(experiment)
        self.assertEqual(2, len(set(self.agents_of(experiment))))
        self.assertEqual(4, self.home.det("slot", "list").stdout.count("● used"))

    def test_rejects_a_request_that_can_never_fit(self):
        path = self.home.write("large.yaml", job(resources={"slots_per_trial": 64}))
        output = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("64", output)
        self.assertIn("4", output)
        one = job(resources={"slots_per_trial": 3, "is_single_node": True})
        path = self.home.write("single.yaml", one)
        output = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("2", output)
        self.assertEqual([], self.jobs())

    def test_queue_update_changes_the_order(self):
        holder = self.saver("holder-may-end", 4)
        self.await_log(holder)
        first, second, third = (self.create(4, "echo begun") for _ in range(3))
        for each in (first, second, third):
            self.await_reason(each)
        self.assertEqual([holder, first, second, third], self.order())
        self.home.det("job", "update", third, "--ahead-of", first)
        self.assertEqual([holder, third, first, second], self.order())
        self.home.det("job", "update-batch", f"{second}.priority=10", f"{first}.behind-of={third}")
        self.assertEqual(second, self.order()[0])
        self.assertEqual(10, self.queue_entry(second)["priority"])
        text = self.home.det("experiment", "describe", second).stdout
        self.assertIn("0 jobs ahead in pool default", text)
        # All changes or none.
        output = self.home.det("job", "update-batch", f"{first}.priority=5", "999.priority=5",
                             code=1).stderr
        self.assertIn("999", output)
        self.assertEqual(42, self.queue_entry(first)["priority"])
        self.home.det("job", "update", first, "-p", 100, code=1)
        self.home.write("holder-may-end", "")
        started = []
        for each in (second, third, first):
            self.home.finish(each)
            started.append(self.home.first_trial(each)["runs"][0]["startTime"])
        self.assertEqual(sorted(started), started)

    def test_explain_reports_blocking_jobs_and_start_time(self):
        holder = self.create(4, resources={"max_run_time": 3600})
        self.await_log(holder)
        experiment = self.create(3)
        self.await_reason(experiment)
        allocation = self.home.json("slot", "list")["agents"][0]["slots"]["0"]["container"]["id"]
        results = self.home.json("job", "explain", experiment)["waiting"][0]
        self.assertEqual([allocation], results["waitsFor"])
        self.assertEqual("NO_CAPACITY", results["kind"])
        self.assertIn("max_run_time", results["estimateBasis"])
        self.assertTrue(results["estimatedStart"])
        text = self.home.det("job", "explain", f"exp-{experiment}").stdout
        self.assertIn(f"Waits for the end or preemption of: {allocation}.", text)
        self.assertIn("Estimated start: in ", text)
        self.home.det("experiment", "kill", experiment)
        self.home.finish(experiment)
        output = self.home.det("job", "explain", experiment, code=1).stderr
        self.assertIn("is CANCELED", output)

    def test_max_run_time_stops_a_trial_after_a_checkpoint(self):
        experiment = self.saver("never", resources={"max_run_time": 2})
        self.home.finish(experiment)
        self.assertIn("saved at", self.log(experiment))
        self.assertIn("max_run_time", str(self.home.first_trial(experiment)))

    def test_max_slots_limits_trials_and_can_be_changed(self):
        experiment = self.create(1, "echo begun; sleep 600",
                                 searcher={"name": "random", "metric": "loss", "max_trials": 3},
                                 hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}},
                                 resources={"max_slots": 1})
        held = lambda: (self.queue_entry(experiment) or {}).get("allocatedSlots")  # noqa: E731
        eventually(lambda: held() == 1, "one trial")
        kinds = [w["kind"] for w in self.home.json("job", "explain", experiment)["waiting"]]
        self.assertIn("OVER_MAX_SLOTS", kinds)
        self.home.det("experiment", "set", "max-slots", experiment, 3)
        eventually(lambda: held() == 3, "three trials")

    def test_snapshot_contains_the_scheduler_input(self):
        experiment = self.create(2)
        self.await_log(experiment)
        snapshot = self.home.json("cluster", "snapshot")
        self.assertEqual(2, len(snapshot["agents"]))
        self.assertEqual([f"exp-{experiment}"], [j["id"] for j in snapshot["jobs"]])

    def test_prints_lists_as_csv(self):
        for command in ("job", "agent", "slot", "resource-pool", "quota", "experiment"):
            lines = self.home.det(command, "list", "--csv").stdout.splitlines()
            self.assertIn(",", lines[0], command)
            self.assertNotIn("●", "".join(lines), command)


class PreemptionTest(SchedulingTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home.det("resource-pool", "set", "default", "preemption=true")

    def test_preempted_trial_saves_and_resumes(self):
        low = self.saver("low-may-end", 2, resources={"priority": 60})
        self.await_log(low)
        high = self.create(4, "echo begun", resources={"priority": 10})
        self.assert_state(self.home.finish(high), "COMPLETED")
        self.await_log(low, "begun from 0")
        saved = self.log(low).split("saved at ")[1].split()[0]
        self.await_log(low, f"begun from {saved}")
        self.home.write("low-may-end", "")
        self.assert_state(self.home.finish(low), "COMPLETED")
        trial = self.home.first_trial(low)
        self.assertEqual(2, len(trial["runs"]))
        self.assertEqual(0, trial["restarts"])

    def test_does_not_preempt_equal_priority(self):
        holder = self.saver("equal-may-end", 4)
        self.await_log(holder)
        equal = self.create(4, "echo begun")
        self.await_reason(equal)
        self.assertNotIn("saved", self.log(holder))
        self.home.write("equal-may-end", "")
        self.assert_state(self.home.finish(equal), "COMPLETED")
        self.assertEqual(1, len(self.home.first_trial(holder)["runs"]))


class SharedDeviceTest(SchedulingTestCase):
    agents, slots = 1, 2

    def half_slot_job(self, me, other):
        """A job that prints its share of the device, and starts after another one has done so."""
        return self.create(0.5, f"echo $DET_SLOT_IDS > {self.path(me)}.new; "
                                f"mv {self.path(me)}.new {self.path(me)}; "
                                f"until [ -e {self.path(other)} ]; do sleep 0.05; done; echo begun; "
                                f"until [ -e {self.path('halves-may-end')} ]; do sleep 0.05; done")

    def read(self, flag):
        with open(self.path(flag), encoding="utf-8") as f:
            return f.read().strip()

    def test_two_halves_share_one_device(self):
        path = self.home.write("half.yaml", job(resources={"slots_per_trial": 0.5}))
        output = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("does not share devices", output)
        self.home.det("resource-pool", "set", "default", "shared-devices=true")
        halves = [self.half_slot_job("one", "two"), self.half_slot_job("two", "one")]
        for each in halves:
            self.await_log(each)
        self.assertEqual("[0]", self.read("one"))
        self.assertEqual("[0]", self.read("two"))
        slots = self.home.json("slot", "list")["agents"][0]["slots"]
        self.assertEqual(2, len(slots["0"]["containers"]))
        self.assertNotIn("container", slots["1"])
        # The other device is still unused, and the shared one has no more capacity.
        whole = self.create()
        self.await_log(whole)
        self.await_reason(self.create(0.2), "0.2 of a slot")
        self.home.write("halves-may-end", "")
        for each in halves:
            self.assert_state(self.home.finish(each), "COMPLETED")


class QuotaTest(SchedulingTestCase):
    def tearDown(self):
        super().tearDown()
        self.home.det("quota", "remove", "user", "admin", code=None)

    def test_quota_limits_its_user_with_a_reason(self):
        self.home.det("quota", "set", "user", "admin", "--max-slots", 1)
        first, second = self.create(), self.create()
        self.await_log(first)
        self.await_reason(second, "admin")
        self.assertEqual("OVER_QUOTA",
                         self.home.json("job", "explain", second)["waiting"][0]["kind"])
        self.assertIn("1 of 1", self.home.det("quota", "list").stdout)
        self.home.det("quota", "set", "user", "admin", "--max-slots", 2)
        self.await_log(second)
        self.home.det("quota", "set", "user", "admin", "--max-slots", "-1", code=2)


class ManyShortTasksTest(harness.unittest.TestCase):
    def test_loses_no_task_and_shares_no_slot(self):
        os.environ["DET_BENCH_BIN"] = harness.ROOT
        path = os.path.join(harness.ROOT, "tests/bench/scheduler/run_agents")
        loader = importlib.machinery.SourceFileLoader("run_agents", path)
        run_agents = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("run_agents", loader))
        loader.exec_module(run_agents)
        # Utilization is measured by a benchmark, because this machine runs other tests.
        run_agents.MIN_BUSY = 0
        self.assertTrue(run_agents.measure(agents=6, slots=2, tasks=40))


if __name__ == "__main__":
    harness.main()
