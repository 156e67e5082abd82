#!/usr/bin/env -S python3 -B
"""Tests changes of agents, slots and pools with `det`, at run time and across a restart."""

import harness
from harness import eventually, job
from scheduling import SchedulingTestCase


class AgentTest(SchedulingTestCase):
    def test_draining_agent_finishes_work_and_starts_none(self):
        running = self.saver("drained-may-end")
        self.await_log(running)
        agent = self.agents_of(running)[0]
        output = self.home.det("agent", "disable", agent, "--drain").stdout
        self.assertIn("can finish", output)
        self.assertIn("draining", self.home.det("agent", "list").stdout)
        others = [self.create(1, "echo begun") for _ in range(3)]
        for other in others:
            self.assert_state(self.home.finish(other), "COMPLETED")
            self.assertNotEqual([agent], self.agents_of(other))
        self.assertEqual("STATE_RUNNING", self.home.experiment(running)["state"])
        self.home.write("drained-may-end", "")
        self.assert_state(self.home.finish(running), "COMPLETED")

    def test_disabling_an_agent_requeues_its_trials(self):
        running = self.create()
        self.await_log(running)
        agent = self.agents_of(running)[0]
        self.home.det("agent", "disable", agent)
        eventually(lambda: self.agents_of(running) not in ([], [agent]), "a run on another agent")
        trial = self.home.first_trial(running)
        self.assertEqual(0, trial["restarts"])
        self.home.det("agent", "disable", "--all")
        later = self.create()
        self.await_reason(later)
        self.home.det("agent", "enable", "--all")
        self.await_log(later)

    def test_disabled_slot_gets_no_work(self):
        self.home.det("slot", "disable", "agent-0", 0)
        self.assertIn("disabled", self.home.det("slot", "list").stdout)
        three = self.create(3)
        self.await_log(three)
        self.await_reason(self.create(1))
        self.home.det("slot", "enable", "agent-0", 0)
        self.home.det("slot", "disable", "agent-0", 7, code=1)

    def test_starts_no_trial_that_runs_into_maintenance(self):
        self.home.det("agent", "maintenance", "agent-0", "--from", "+30m", "--to", "+1h",
                      "--note", "disks")
        self.addCleanup(self.home.det, "agent", "maintenance", "agent-0", "--clear")
        self.assertIn("disks", self.home.det("agent", "list").stdout)
        long = self.create(1, resources={"max_run_time": 7200})
        self.await_log(long)
        self.assertEqual(["agent-1"], self.agents_of(long))
        short = self.create(3, resources={"max_run_time": 600})
        self.await_log(short)
        self.assertIn("agent-0", self.agents_of(short))


class BrokenHardwareTest(SchedulingTestCase):
    agents, slots = 1, 1
    LINE = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."

    def slot(self):
        return self.home.json("slot", "list")["agents"][0]["slots"]["0"]

    def test_quarantines_a_slot_after_repeated_failures(self):
        repaired = self.path("repaired")
        experiment = self.create(1, f"[ -e {repaired} ] || {{ echo '{self.LINE}'; exit 1; }}",
                                 max_restarts=9)
        eventually(lambda: self.slot().get("quarantined"), "a quarantine")
        listed = self.home.det("slot", "list").stdout
        self.assertIn("quarantined", listed)
        self.assertIn("fallen off the bus", listed)
        csv = self.home.det("slot", "list", "--csv").stdout
        self.assertIn("quarantined", csv)
        agent = self.home.json("agent", "list")["agents"][0]
        self.assertTrue(agent["slots"]["0"]["quarantined"])
        self.await_reason(experiment)
        trial = self.home.first_trial(experiment)
        self.assertEqual(2, trial["restarts"], "the slot is quarantined after the second failure")
        self.assertIn("det slot enable agent-0 0", self.log(experiment))
        # No other trial gets the slot, also after a restart.
        other = self.create(1, "echo begun")
        self.await_reason(other)
        self.home.kill("master")
        self.home.up(self.agents, self.slots)
        self.assertTrue(self.slot()["quarantined"])
        self.home.write("repaired", "")
        self.home.det("slot", "enable", "agent-0", 0)
        for each in (experiment, other):
            self.assert_state(self.home.finish(each), "COMPLETED")
        self.assertNotIn("quarantined", self.home.det("slot", "list").stdout)


class PoolTest(SchedulingTestCase):
    def test_creates_changes_and_deletes_pools(self):
        self.home.det("resource-pool", "create", "night", "policy=fair_share", "hold-after=1h",
                      "maintenance-lead=20m")
        self.addCleanup(self.home.det, "resource-pool", "delete", "night", code=None)
        pool = self.home.json("resource-pool", "describe", "night")
        self.assertEqual("SCHEDULER_TYPE_FAIR_SHARE", pool["schedulerType"])
        self.assertEqual(3600, pool["holdAfterSeconds"])
        self.assertEqual(1200, pool["maintenanceLeadSeconds"])
        self.assertEqual("runtime", pool["source"])
        self.home.det("resource-pool", "set", "night", "policy=fifo")
        described = self.home.det("resource-pool", "describe", "night").stdout
        self.assertIn("fifo", described)
        self.home.det("resource-pool", "bindings", "add", "night", "Uncategorized", "lab")
        self.assertIn("lab", self.home.det("resource-pool", "bindings", "list-workspaces",
                                           "night").stdout)
        self.home.det("resource-pool", "bindings", "remove", "night", "lab")
        bound = self.home.json("resource-pool", "bindings", "list-workspaces", "night")
        self.assertEqual(["Uncategorized"], bound["workspaceNames"])
        self.home.det("resource-pool", "create", "night", code=1)
        self.home.det("resource-pool", "set", "night", "policy=lottery", code=1)
        self.home.det("resource-pool", "delete", "night")
        self.home.det("resource-pool", "describe", "night", code=1)

    def test_pool_rejects_workspaces_without_binding(self):
        holder = self.saver("bound-may-end", 4)
        self.await_log(holder)
        waiting = self.create(4)
        self.await_reason(waiting)
        refused = self.home.det("resource-pool", "bindings", "replace", "default", "elsewhere",
                                code=1).stderr
        self.assertIn("cannot be bound to any workspace", refused)
        defaults = ("default-compute-pool=true", "default-aux-pool=true")
        self.home.det("resource-pool", "create", "other", *defaults)
        self.addCleanup(self.home.det, "resource-pool", "delete", "other")
        self.addCleanup(self.home.det, "resource-pool", "set", "default", *defaults)
        self.home.det("resource-pool", "bindings", "replace", "default", "elsewhere")
        self.addCleanup(self.home.det, "resource-pool", "bindings", "remove", "default",
                        "elsewhere")
        kind = lambda: self.home.json("job", "explain", waiting)["waiting"][0]["kind"]  # noqa: E731
        eventually(lambda: kind() == "NOT_BOUND", "a reason that names the binding")
        path = self.home.write("unbound.yaml", job(resources={"resource_pool": "default"}))
        output = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("may not use", output)
        self.home.write("bound-may-end", "")
        self.assert_state(self.home.finish(holder), "COMPLETED")
        self.home.det("resource-pool", "bindings", "remove", "default", "elsewhere")
        self.await_log(waiting)


class RestartTest(SchedulingTestCase):
    def test_restart_keeps_changes_of_users(self):
        self.home.det("resource-pool", "create", "night", "policy=fifo")
        self.home.det("agent", "disable", "agent-1", "--drain")
        self.home.det("slot", "disable", "agent-0", 1)
        self.home.det("workspace", "create", "lab")
        self.home.det("quota", "set", "workspace", "lab", "--slot-hours", 10)
        holder = self.create()
        self.await_log(holder)
        first, second, third = self.create(), self.create(), self.create()
        for each in (first, second, third):
            self.await_reason(each)
        self.home.det("job", "update", third, "--ahead-of", first)
        self.home.det("job", "update", second, "-p", 7)
        before = self.order()
        self.home.kill("master")
        self.home.up(self.agents, self.slots)
        agents = {a["id"]: a for a in self.home.json("agent", "list")["agents"]}
        self.assertTrue(agents["agent-1"]["draining"])
        self.assertFalse(agents["agent-0"]["slots"]["1"]["enabled"])
        self.assertEqual(before, self.order())
        self.assertEqual(7, self.queue_entry(second)["priority"])
        self.assertIn("lab", self.home.det("quota", "list").stdout)
        self.assertEqual("runtime", self.home.json("resource-pool", "describe", "night")["source"])
        self.home.det("slot", "enable", "agent-0", 1)
        self.await_log(second)


class PoolsOfAFileTest(harness.ClusterTestCase):
    CONFIG = """
task_container_defaults:
  environment_variables: [SITE=here, POOL=none, OWN=none]
resource_pools:
- pool_name: default
  scheduler: {type: priority, preemption: true}
  task_container_defaults: {environment_variables: [POOL=mine]}
- pool_name: night
  scheduler: {type: fifo, hold_after: 10m}
"""

    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        try:
            path = cls.home.write("master.yaml", cls.CONFIG)
            cls.home.det("deploy", "local", "up", "--port", cls.home.port, "--agents", 1,
                         "--slots", 1, "--master-config", path)
        except BaseException:
            cls.home.close()
            raise

    def test_tasks_get_defaults_of_cluster_and_pool(self):
        path = self.home.write("defaults.yaml", job(
            entrypoint="echo got $SITE $POOL $OWN",
            environment={"environment_variables": ["OWN=own"]}))
        experiment = self.home.json("experiment", "create", path, self.home.context())["experiment"]["id"]
        self.assertEqual("STATE_COMPLETED", self.home.finish(experiment)["state"])
        self.assertIn("got here mine own", self.home.trial_log(self.home.first_trial(experiment)["id"]))

    def test_reads_pools_from_the_configuration_file(self):
        pools = {p["name"]: p for p in self.home.json("resource-pool", "list")["resourcePools"]}
        self.assertEqual({"default", "night"}, set(pools))
        self.assertTrue(pools["default"]["preemption"])
        self.assertTrue(pools["default"]["defaultComputePool"])
        self.assertEqual(600, pools["night"]["holdAfterSeconds"])
        self.home.det("resource-pool", "delete", "night", code=1)
        self.home.det("resource-pool", "set", "night", "hold-after=1m")
        self.assertEqual("runtime", self.home.json("resource-pool", "describe", "night")["source"])
        self.home.det("resource-pool", "delete", "night")
        night = self.home.json("resource-pool", "describe", "night")
        self.assertEqual(("file", 600), (night["source"], night["holdAfterSeconds"]))


if __name__ == "__main__":
    harness.main()
