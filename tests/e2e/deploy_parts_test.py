#!/usr/bin/env -S python3 -B
"""Tests the parts of `det deploy local`: master-up, agent-up, agent-down, master-down, and slots."""
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


class GpuTest(harness.unittest.TestCase):
    """The GPUs are a stand-in: a fake NVML library with two GPUs of which one is split twice, and one
    more GPU. Tasks that would compute on them cannot run."""

    FOUND = "5 GPUs (Fake GPU, Fake GPU MIG 1g.10gb)"

    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(lambda: self.assertEqual([], self.home.close()))
        library = self.home.write("nvidia/README", "")
        os.symlink(os.path.join(harness.ROOT, "agent/device/libfake_nvml.so"),
                   os.path.join(os.path.dirname(library), "libnvidia-ml.so.1"))
        del self.home.env["CUDA_VISIBLE_DEVICES"]
        self.home.env["LD_LIBRARY_PATH"] = os.path.dirname(library)

    def local(self, *words, code=0):
        return self.home.det("deploy", "local", *words, code=code)

    def up(self, *words, code=0):
        return self.local("up", "--port", self.home.port, *words, code=code)

    def devices(self):
        """The UUIDs of the devices of each agent; that of CPU slot 0 is "artificial-0"."""
        agents = self.home.json("agent", "list")["agents"]
        return {agent["id"]: sorted(slot["device"]["uuid"] for slot in agent["slots"].values())
                for agent in agents}

    def kill_all(self):
        """Ends all members as a reboot does."""
        for member in reversed(self.home.members()):
            self.home.kill(member["name"])

    def test_offers_gpus_by_default(self):
        self.assertIn(f"slots: {self.FOUND}\n", self.up().stdout)
        self.assertEqual(
            {"agent-0": ["GPU-four", "GPU-two", "GPU-zero", "MIG-a", "MIG-c"]}, self.devices())
        self.assertIn("already running", self.up("--gpu", "--slots", 5).stdout)
        self.assertIn("runs with --gpu, not --no-gpu", self.up("--no-gpu", code=1).stderr)
        # An agent that is restarted has the same GPUs.
        before = self.devices()
        self.home.kill("agent-0")
        self.up()
        self.assertEqual(before, self.devices())
        self.assertIn("0 of 5 are free", self.local("agent-up", code=1).stderr)

    def test_offers_as_many_gpus_as_requested(self):
        self.assertIn("slots: 1 of 5 GPUs", self.up("--slots", 1).stdout)
        self.assertEqual({"agent-0": ["GPU-zero"]}, self.devices())
        self.local("agent-up")
        self.assertEqual({"agent-0": ["GPU-zero"], "agent-1": ["GPU-two"]}, self.devices())
        self.local("agent-up", "--no-gpu")
        self.assertEqual(["artificial-0"], self.devices()["agent-2"])
        before = self.devices()
        self.kill_all()
        self.home.env["CUDA_VISIBLE_DEVICES"] = ""
        self.assertIn("the cluster used GPUs and none is found now", self.up(code=1).stderr)
        del self.home.env["CUDA_VISIBLE_DEVICES"]
        self.assertIn("slots: 2 of 5 GPUs (Fake GPU, Fake GPU MIG 1g.10gb), 1 CPU slot\n",
                      self.up().stdout)
        self.assertEqual(before, self.devices())

    def test_shares_gpus_between_agents(self):
        too_many = self.up("--agents", 2, "--slots", 3, "--gpu", code=1).stderr
        self.assertIn("--slots 3: 2 agents need 6 GPUs, and this machine has " + self.FOUND,
                      too_many)
        self.assertIn("--no-gpu", too_many)
        self.home.env["CUDA_VISIBLE_DEVICES"] = "0,2"
        self.assertIn("slots: 2 GPUs (Fake GPU)", self.up("--agents", 2).stdout)
        self.assertEqual({"agent-0": ["GPU-zero"], "agent-1": ["GPU-two"]}, self.devices())

    def test_offers_cpu_slots_when_requested(self):
        self.assertIn("slots: 3 CPU slots\n", self.up("--no-gpu", "--slots", 3).stdout)
        self.assertEqual(3, len(self.devices()["agent-0"]))
        self.assertIn("runs with --no-gpu, not --gpu", self.up("--gpu", code=1).stderr)
        self.local("agent-up", "--gpu")
        before = self.devices()
        self.assertEqual(["GPU-two", "GPU-zero", "MIG-a"], before["agent-1"])
        self.kill_all()
        self.up()
        self.assertEqual(before, self.devices())

    def test_offers_cpu_slots_when_more_slots_than_gpus_are_requested(self):
        self.assertIn("slots: 5 GPUs are fewer than --slots 8: 8 CPU slots\n",
                      self.up("--slots", 8).stdout)
        self.assertEqual(8, len(self.devices()["agent-0"]))

    def test_offers_cpu_slots_without_gpus(self):
        self.home.env["CUDA_VISIBLE_DEVICES"] = ""
        self.assertIn("--gpu: no GPU found", self.up("--gpu", code=1).stderr)
        self.assertIn("exclude each other", self.up("--gpu", "--no-gpu", code=2).stderr)
        self.assertIn("slots: no GPU found: 2 CPU slots\n", self.up("--slots", 2).stdout)


if __name__ == "__main__":
    harness.main()
