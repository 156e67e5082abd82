#!/usr/bin/env -S python3 -B
"""Who runs where, who goes first, who must go, and why others wait: through `det` on a real cluster."""
import importlib.machinery
import importlib.util
import os
import signal

import harness
from harness import eventually, job

# A trial without any library: works until a file appears, saves and leaves when it is told to.
SAVER = '''
import json, os, pathlib, sys, threading, time, urllib.request, uuid
info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
def call(method, body):
    return urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        data=json.dumps({"allocationId": info["allocation_id"], **body}).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}))
told = threading.Event()
def watch():
    for line in call("WatchAllocation", {}):
        if b"preemption" in line:
            return told.set()
threading.Thread(target=watch, daemon=True).start()
steps = info["steps_completed"]
print("begun from", steps, "after", info["latest_checkpoint"], flush=True)
while not os.path.exists(sys.argv[1]):
    steps += 1
    if told.wait(0.05):
        call("ReportCheckpoint", {"trialId": info["trial_id"], "uuid": str(uuid.uuid4()),
                                  "stepsCompleted": steps, "resources": {}})
        call("AckPreemption", {})
        print("saved at", steps, flush=True)
        break
'''


class SchedulingTestCase(harness.ClusterTestCase):
    agents, slots = 2, 2

    def setUp(self):
        self.created = []

    def tearDown(self):
        for experiment in self.created:
            self.home.det("experiment", "kill", experiment, code=None)
        for experiment in self.created:
            self.home.finish(experiment)
        self.home.det("agent", "enable", "--all")

    def create(self, slots=1, entrypoint="echo begun; sleep 600", files=None, **changes):
        resources = {"slots_per_trial": slots, **changes.pop("resources", {})}
        experiment = self.home.create(
            job(entrypoint=entrypoint, resources=resources, preemption_timeout=20, **changes),
            self.home.context(files))
        self.created.append(experiment)
        return experiment

    def saver(self, flag, slots=1, **changes):
        return self.create(slots, f"exec /usr/bin/python3 saver.py {self.path(flag)}",
                           {"saver.py": SAVER}, **changes)

    def path(self, flag):
        return os.path.join(self.home.folder, flag)

    def log(self, experiment):
        return self.home.trial_log(self.home.first_trial(experiment)["id"])

    def begun(self, experiment, words="begun"):
        eventually(lambda: words in self.log(experiment), f"{words!r} in the log of {experiment}")

    def agents_of(self, experiment):
        return self.home.first_trial(experiment)["runs"][-1]["agentIds"]

    def jobs(self, *args):
        return self.home.json("job", "list", *args)["jobs"]

    def place(self, experiment):
        """Its entry in the queue; None without."""
        found = [j for j in self.jobs() if j["entityId"] == str(experiment)]
        return found[0] if found else None

    def waits(self, experiment, *words):
        """Its reason to wait, once it has one with these words."""
        def look():
            entry = self.place(experiment)
            reason = entry and entry["summary"]["state"] == "STATE_QUEUED" and entry["reason"]
            return reason if reason and all(word in reason for word in words) else None
        return eventually(look, f"experiment {experiment} waits because of {words}")

    def order(self):
        return [int(j["entityId"]) for j in self.jobs()]


class QueueTest(SchedulingTestCase):
    def test_a_gang_is_on_two_agents_at_once(self):
        experiment = self.create(4)
        self.begun(experiment)
        self.assertEqual(2, len(set(self.agents_of(experiment))))
        self.assertEqual(4, self.home.det("slot", "list").stdout.count("● used"))

    def test_a_request_that_can_never_fit_is_refused_with_the_largest_that_does(self):
        path = self.home.write("large.yaml", job(resources={"slots_per_trial": 64}))
        said = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("64", said)
        self.assertIn("4", said)
        one = job(resources={"slots_per_trial": 3, "is_single_node": True})
        path = self.home.write("single.yaml", one)
        said = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("2", said)
        self.assertEqual([], self.jobs())

    def test_an_update_of_the_queue_changes_who_is_next(self):
        holder = self.saver("holder-may-end", 4)
        self.begun(holder)
        first, second, third = (self.create(4, "echo begun") for _ in range(3))
        for each in (first, second, third):
            self.waits(each)
        self.assertEqual([holder, first, second, third], self.order())
        self.home.det("job", "update", third, "--ahead-of", first)
        self.assertEqual([holder, third, first, second], self.order())
        self.home.det("job", "update-batch", f"{second}.priority=10", f"{first}.behind-of={third}")
        self.assertEqual(second, self.order()[0])
        self.assertEqual(10, self.place(second)["priority"])
        text = self.home.det("experiment", "describe", second).stdout
        self.assertIn("0 jobs ahead in pool default", text)
        # All or nothing.
        said = self.home.det("job", "update-batch", f"{first}.priority=5", "999.priority=5",
                             code=1).stderr
        self.assertIn("999", said)
        self.assertEqual(42, self.place(first)["priority"])
        self.home.det("job", "update", first, "-p", 100, code=1)
        self.home.write("holder-may-end", "")
        started = []
        for each in (second, third, first):
            self.home.finish(each)
            started.append(self.home.first_trial(each)["runs"][0]["startTime"])
        self.assertEqual(sorted(started), started)

    def test_explain_says_after_whom_and_when(self):
        holder = self.create(4, resources={"max_run_time": 3600})
        self.begun(holder)
        experiment = self.create(3)
        self.waits(experiment)
        allocation = self.home.json("slot", "list")["agents"][0]["slots"]["0"]["container"]["id"]
        told = self.home.json("job", "explain", experiment)["waiting"][0]
        self.assertEqual([allocation], told["waitsFor"])
        self.assertEqual("NO_CAPACITY", told["kind"])
        self.assertIn("max_run_time", told["estimateBasis"])
        self.assertTrue(told["estimatedStart"])
        text = self.home.det("job", "explain", f"exp-{experiment}").stdout
        self.assertIn(f"First must end or be preempted: {allocation}.", text)
        self.assertIn("May start in ", text)
        self.home.det("experiment", "kill", experiment)
        self.home.finish(experiment)
        said = self.home.det("job", "explain", experiment, code=1).stderr
        self.assertIn("is CANCELED", said)

    def test_max_run_time_stops_a_trial_after_it_has_saved(self):
        experiment = self.saver("never", resources={"max_run_time": 2})
        self.home.finish(experiment)
        self.assertIn("saved at", self.log(experiment))
        self.assertIn("max_run_time", str(self.home.first_trial(experiment)))

    def test_max_slots_holds_trials_back_and_can_be_changed(self):
        experiment = self.create(1, "echo begun; sleep 600",
                                 searcher={"name": "random", "metric": "loss", "max_trials": 3},
                                 hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}},
                                 resources={"max_slots": 1})
        held = lambda: (self.place(experiment) or {}).get("allocatedSlots")  # noqa: E731
        eventually(lambda: held() == 1, "one trial")
        kinds = [w["kind"] for w in self.home.json("job", "explain", experiment)["waiting"]]
        self.assertIn("OVER_MAX_SLOTS", kinds)
        self.home.det("experiment", "set", "max-slots", experiment, 3)
        eventually(lambda: held() == 3, "three trials")

    def test_a_snapshot_is_what_the_scheduler_sees(self):
        experiment = self.create(2)
        self.begun(experiment)
        snapshot = self.home.json("cluster", "snapshot")
        self.assertEqual(2, len(snapshot["agents"]))
        self.assertEqual([f"exp-{experiment}"], [j["id"] for j in snapshot["jobs"]])

    def test_lists_come_as_csv(self):
        for command in ("job", "agent", "slot", "resource-pool", "quota", "experiment"):
            lines = self.home.det(command, "list", "--csv").stdout.splitlines()
            self.assertIn(",", lines[0], command)
            self.assertNotIn("●", "".join(lines), command)


class PreemptionTest(SchedulingTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home.det("resource-pool", "set", "default", "preemption=true")

    def test_the_less_important_saves_leaves_and_goes_on_afterwards(self):
        low = self.saver("low-may-end", 2, resources={"priority": 60})
        self.begun(low)
        high = self.create(4, "echo begun", resources={"priority": 10})
        self.assert_state(self.home.finish(high), "COMPLETED")
        self.begun(low, "begun from 0")
        saved = self.log(low).split("saved at ")[1].split()[0]
        self.begun(low, f"begun from {saved}")
        self.home.write("low-may-end", "")
        self.assert_state(self.home.finish(low), "COMPLETED")
        trial = self.home.first_trial(low)
        self.assertEqual(2, len(trial["runs"]))
        self.assertEqual(0, trial["restarts"])

    def test_equals_do_not_preempt_each_other(self):
        holder = self.saver("equal-may-end", 4)
        self.begun(holder)
        equal = self.create(4, "echo begun")
        self.waits(equal)
        self.assertNotIn("saved", self.log(holder))
        self.home.write("equal-may-end", "")
        self.assert_state(self.home.finish(equal), "COMPLETED")
        self.assertEqual(1, len(self.home.first_trial(holder)["runs"]))


class QuotaTest(SchedulingTestCase):
    def tearDown(self):
        super().tearDown()
        self.home.det("quota", "remove", "user", "admin", code=None)

    def test_a_quota_holds_its_user_back_and_says_so(self):
        self.home.det("quota", "set", "user", "admin", "--max-slots", 1)
        first, second = self.create(), self.create()
        self.begun(first)
        self.waits(second, "admin")
        self.assertEqual("OVER_QUOTA",
                         self.home.json("job", "explain", second)["waiting"][0]["kind"])
        self.assertIn("1 of 1", self.home.det("quota", "list").stdout)
        self.home.det("quota", "set", "user", "admin", "--max-slots", 2)
        self.begun(second)
        self.home.det("quota", "set", "user", "admin", "--max-slots", "-1", code=2)


class AgentTest(SchedulingTestCase):
    def test_what_drains_ends_by_itself_and_nothing_new_starts(self):
        running = self.saver("drained-may-end")
        self.begun(running)
        agent = self.agents_of(running)[0]
        said = self.home.det("agent", "disable", agent, "--drain").stdout
        self.assertIn("may end by themselves", said)
        self.assertIn("draining", self.home.det("agent", "list").stdout)
        others = [self.create(1, "echo begun") for _ in range(3)]
        for other in others:
            self.assert_state(self.home.finish(other), "COMPLETED")
            self.assertNotEqual([agent], self.agents_of(other))
        self.assertEqual("STATE_RUNNING", self.home.experiment(running)["state"])
        self.home.write("drained-may-end", "")
        self.assert_state(self.home.finish(running), "COMPLETED")

    def test_what_runs_on_a_disabled_agent_is_queued_again_at_no_cost(self):
        running = self.create()
        self.begun(running)
        agent = self.agents_of(running)[0]
        self.home.det("agent", "disable", agent)
        eventually(lambda: self.agents_of(running) not in ([], [agent]), "a run elsewhere")
        trial = self.home.first_trial(running)
        self.assertEqual(0, trial["restarts"])
        self.home.det("agent", "disable", "--all")
        later = self.create()
        self.waits(later)
        self.home.det("agent", "enable", "--all")
        self.begun(later)

    def test_a_disabled_slot_takes_no_work(self):
        self.home.det("slot", "disable", "agent-0", 0)
        self.assertIn("disabled", self.home.det("slot", "list").stdout)
        three = self.create(3)
        self.begun(three)
        self.waits(self.create(1))
        self.home.det("slot", "enable", "agent-0", 0)
        self.home.det("slot", "disable", "agent-0", 7, code=1)

    def test_nothing_starts_that_would_run_into_a_maintenance(self):
        self.home.det("agent", "maintenance", "agent-0", "--from", "+30m", "--to", "+1h",
                      "--note", "disks")
        self.addCleanup(self.home.det, "agent", "maintenance", "agent-0", "--clear")
        self.assertIn("disks", self.home.det("agent", "list").stdout)
        long = self.create(1, resources={"max_run_time": 7200})
        self.begun(long)
        self.assertEqual(["agent-1"], self.agents_of(long))
        short = self.create(3, resources={"max_run_time": 600})
        self.begun(short)
        self.assertIn("agent-0", self.agents_of(short))


class PoolTest(SchedulingTestCase):
    def test_pools_are_made_changed_and_removed_while_it_runs(self):
        self.home.det("resource-pool", "create", "night", "policy=fair_share", "hold-after=1h")
        self.addCleanup(self.home.det, "resource-pool", "delete", "night", code=None)
        made = self.home.json("resource-pool", "describe", "night")
        self.assertEqual("SCHEDULER_TYPE_FAIR_SHARE", made["schedulerType"])
        self.assertEqual(3600, made["holdAfterSeconds"])
        self.assertEqual("runtime", made["source"])
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

    def test_a_pool_is_closed_to_workspaces_that_it_is_not_bound_to(self):
        holder = self.saver("bound-may-end", 4)
        self.begun(holder)
        waiting = self.create(4)
        self.waits(waiting)
        self.home.det("resource-pool", "bindings", "replace", "default", "elsewhere")
        self.addCleanup(self.home.det, "resource-pool", "bindings", "remove", "default",
                        "elsewhere")
        kind = lambda: self.home.json("job", "explain", waiting)["waiting"][0]["kind"]  # noqa: E731
        eventually(lambda: kind() == "NOT_BOUND", "a reason that names the binding")
        path = self.home.write("unbound.yaml", job())
        said = self.home.det("experiment", "create", path, self.home.context(), code=1).stderr
        self.assertIn("may not use", said)
        self.home.write("bound-may-end", "")
        self.assert_state(self.home.finish(holder), "COMPLETED")
        self.home.det("resource-pool", "bindings", "remove", "default", "elsewhere")
        self.begun(waiting)


class RestartTest(SchedulingTestCase):
    def test_a_restart_forgets_nothing_that_people_have_decided(self):
        self.home.det("resource-pool", "create", "night", "policy=fifo")
        self.home.det("agent", "disable", "agent-1", "--drain")
        self.home.det("slot", "disable", "agent-0", 1)
        self.home.det("quota", "set", "workspace", "lab", "--slot-hours", 10)
        holder = self.create()
        self.begun(holder)
        first, second, third = self.create(), self.create(), self.create()
        for each in (first, second, third):
            self.waits(each)
        self.home.det("job", "update", third, "--ahead-of", first)
        self.home.det("job", "update", second, "-p", 7)
        before = self.order()
        members = self.home.json("deploy", "local", "status")["members"]
        os.kill([m["pid"] for m in members if m["name"] == "master"][0], signal.SIGKILL)
        self.home.up(self.agents, self.slots)
        agents = {a["id"]: a for a in self.home.json("agent", "list")["agents"]}
        self.assertTrue(agents["agent-1"]["draining"])
        self.assertFalse(agents["agent-0"]["slots"]["1"]["enabled"])
        self.assertEqual(before, self.order())
        self.assertEqual(7, self.place(second)["priority"])
        self.assertIn("lab", self.home.det("quota", "list").stdout)
        self.assertEqual("runtime", self.home.json("resource-pool", "describe", "night")["source"])
        self.home.det("slot", "enable", "agent-0", 1)
        self.begun(second)


class PoolsOfAFileTest(harness.ClusterTestCase):
    CONFIG = """
resource_pools:
- pool_name: default
  scheduler: {type: priority, preemption: true}
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

    def test_pools_of_the_configuration_file(self):
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


class ManyShortTasksTest(harness.unittest.TestCase):
    def test_none_is_lost_and_none_is_on_an_occupied_slot(self):
        os.environ["DET_BENCH_BIN"] = harness.ROOT
        path = os.path.join(harness.ROOT, "tests/bench/scheduler/run_agents")
        loader = importlib.machinery.SourceFileLoader("run_agents", path)
        run_agents = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("run_agents", loader))
        loader.exec_module(run_agents)
        # How busy the slots are is for the benchmark: here the machine is shared.
        run_agents.LEAST_BUSY = 0
        self.assertTrue(run_agents.measure(agents=6, slots=2, tasks=40))


if __name__ == "__main__":
    harness.main()
