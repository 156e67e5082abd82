#!/usr/bin/env -S python3 -B
"""`det deploy local`: up, status, down, and what stands in the way."""
import json
import os
import signal
import socket
import unittest

import harness


class LocalClusterTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.close)

    def close(self):
        self.assertEqual([], self.home.close(), "still running after `down`")

    def members(self):
        return self.home.json("deploy", "local", "status", code=None)["members"]

    def test_up_registers_the_agents_and_down_leaves_no_process(self):
        self.home.up(agents=2, slots=3)
        info = self.home.json("master", "info")
        self.assertEqual((2, 6), (info["agents"], info["slots"]))
        self.assertEqual(2, len(self.home.json("agent", "list")["agents"]))
        self.home.det("deploy", "local", "down")
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_up_twice_leaves_the_first_as_it_is(self):
        self.home.up()
        before = self.members()
        second = self.home.up()
        self.assertIn("already running", second.stdout)
        self.assertEqual(before, self.members())

    def test_data_survive_down_and_up(self):
        self.home.up()
        experiment = self.home.create(harness.TRUE_JOB)
        self.home.finish(experiment)
        self.home.det("deploy", "local", "down")
        self.home.up()
        self.assertEqual("STATE_COMPLETED", self.home.experiment(experiment)["state"])

    def test_a_taken_port_is_said_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.home.port))
            taken.listen()
            said = self.home.up(code=1).stderr
        self.assertIn(f"port {self.home.port} is in use", said)
        self.assertIn("--port", said)
        self.assertEqual(1, len(said.strip().splitlines()), said)
        self.assertEqual([], harness.processes_below(self.home.folder))

    def test_a_data_directory_that_cannot_be_written_is_said_in_one_line(self):
        # Even root cannot make a folder below a file.
        path = os.path.join(self.home.write("file", "x"), "data")
        said = self.home.det("deploy", "local", "up", "--port", self.home.port, "--data-dir", path,
                             code=1).stderr
        self.assertIn(path, said)
        self.assertIn("--data-dir", said)
        self.assertEqual(1, len(said.strip().splitlines()), said)

    def test_an_interrupt_during_up_leaves_nothing(self):
        with self.home.popen("deploy", "local", "up", "--port", self.home.port) as up:
            harness.eventually(lambda: harness.processes_below(self.home.data) or
                               up.poll() is not None, "the master's start")
            up.send_signal(signal.SIGINT)
            up.communicate(timeout=harness.PATIENCE)
        self.assertEqual(3, up.returncode)
        self.assertEqual([], harness.processes_below(self.home.data))

    def test_down_after_the_master_was_killed(self):
        self.home.up()
        master = [m for m in self.members() if m["name"] == "master"][0]
        os.kill(master["pid"], signal.SIGKILL)
        self.home.det("deploy", "local", "down")
        self.assertEqual([], harness.processes_below(self.home.folder))

    def test_up_after_the_master_was_killed(self):
        self.home.up()
        master = [m for m in self.members() if m["name"] == "master"][0]
        os.kill(master["pid"], signal.SIGKILL)
        self.home.up()
        self.assertTrue(self.home.json("deploy", "local", "status")["running"])
        experiment = self.home.create(harness.TRUE_JOB)
        self.assertEqual("STATE_COMPLETED", self.home.finish(experiment)["state"])

    def test_down_touches_no_process_that_only_has_the_old_pid(self):
        self.home.up()
        path = os.path.join(self.home.data, "cluster.json")
        with open(path, encoding="utf-8") as f:
            state = json.load(f)
        self.home.det("deploy", "local", "down")
        # As if the pids had been given to others since.
        for member in state["members"]:
            member["pid"] = os.getpid()
        with open(path, "w", encoding="utf-8") as f:
            json.dump(state, f)
        self.home.det("deploy", "local", "down")  # This test lives on.

    def test_without_a_master_det_says_how_to_start_one(self):
        said = self.home.det("experiment", "list", code=1).stderr
        self.assertIn("det deploy local up", said)
        self.assertEqual(1, len(said.strip().splitlines()), said)


if __name__ == "__main__":
    harness.main()
