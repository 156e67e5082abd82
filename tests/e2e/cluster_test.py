#!/usr/bin/env -S python3 -B
"""`det deploy local`: up, status, down, and what stands in the way."""
import json
import os
import re
import signal
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

import harness


class LocalClusterTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.close)

    def close(self):
        self.assertEqual([], self.home.close(), "still running after `down`")

    def test_up_registers_the_agents_and_down_leaves_no_process(self):
        self.home.up(agents=2, slots=3)
        info = self.home.json("master", "info")
        self.assertEqual((2, 6), (info["agents"], info["slots"]))
        self.assertEqual(2, len(self.home.json("agent", "list")["agents"]))
        self.home.det("deploy", "local", "down")
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_up_twice_leaves_the_first_as_it_is(self):
        self.home.up(slots=1)
        before = self.home.members()
        second = self.home.up(slots=1)
        self.assertIn("already running", second.stdout)
        self.assertIn("1 agent, 1 slot\n", second.stdout)
        self.assertIn("already running", self.home.det("deploy", "local", "up").stdout)
        other = self.home.up(agents=2, slots=1, code=1).stderr
        self.assertIn("runs with --agents 1, not --agents 2", other)
        self.assertIn("det deploy local down", other)
        self.assertEqual(before, self.home.members())

    def test_two_at_once_start_one_cluster(self):
        words = ("deploy", "local", "up", "--port", self.home.port, "--slots", "1")
        with self.home.popen(*words) as first, self.home.popen(*words) as second:
            said = [each.communicate(timeout=harness.PATIENCE) for each in (first, second)]
        self.assertEqual([0, 0], [first.returncode, second.returncode], said)
        self.assertEqual(1, sum("already running" in out for out, _ in said), said)
        self.assertEqual(1, self.home.json("master", "info")["agents"])

    def log_in(self, user, password):
        """The status of a login."""
        body = json.dumps({"username": user, "password": password}).encode()
        url = f"http://127.0.0.1:{self.home.port}/api/v1/auth/login"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
                self.assertTrue(json.load(answer)["token"])
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def test_first_passwords_are_made_and_printed_once(self):
        said = self.home.up(slots=1).stdout
        made = dict(re.findall(r"^(\w+) password: (\S+)$", said, re.MULTILINE))
        self.assertEqual({"admin", "determined"}, set(made), said)
        for user, password in made.items():
            self.assertEqual(200, self.log_in(user, password))
            self.assertEqual(403, self.log_in(user, password[:-1]))
            self.assertEqual(403, self.log_in(user, ""))
        for again in ("already running", "cluster "):
            said = self.home.up(slots=1).stdout
            self.assertIn(again, said)
            self.assertNotIn("password", said)
            self.home.det("deploy", "local", "down")
        for folder, _, names in os.walk(self.home.data):
            for name in names:
                if "postgres" in folder:
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read()
                for password in made.values():
                    self.assertNotIn(password.encode(), text, os.path.join(folder, name))

    def test_first_passwords_may_be_given(self):
        words = ("--port", self.home.port, "--agents", 0, "--slots", 1)
        easy = self.home.det("deploy", "local", "up", *words, "--admin-password", "easy", code=1)
        self.assertIn("first password of user admin: password: expected at least 8", easy.stderr)
        said = self.home.det("deploy", "local", "up", *words, "--admin-password", "Secret123",
                             "--user-password", "Other1234").stdout
        self.assertNotIn("password", said)
        self.assertEqual(200, self.log_in("admin", "Secret123"))
        self.assertEqual(200, self.log_in("determined", "Other1234"))
        late = self.home.det("deploy", "local", "up", "--admin-password", "Later1234", code=1)
        self.assertIn("det user change-password", late.stderr)

    def test_blank_passwords_where_they_are_asked_for(self):
        self.home.det("deploy", "local", "up", "--port", self.home.port, "--agents", 0,
                      "--allow-blank-passwords")
        self.assertEqual(200, self.log_in("determined", ""))
        self.assertEqual(403, self.log_in("determined", "x"))

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

    def test_what_a_configuration_asks_for_in_vain_is_said_before_anything_starts(self):
        file = os.path.join(self.home.folder, "master.yaml")
        tls = "security: {tls: {cert: c.crt, key: c.key}}\n"
        for text, words in ((tls, "use --tls"), ("bind: 192.0.2.1\n", "bind: 192.0.2.1"),
                            ("prot: 1\n", "prot")):
            with open(file, "w", encoding="utf-8") as f:
                f.write(text)
            said = self.home.det("deploy", "local", "up", "--master-config", file, code=1).stderr
            self.assertIn(words, said)
            self.assertFalse(os.path.exists(os.path.join(self.home.data, "log/master.log")))
        self.home.env["DET_MASTER_CERT_FILE"] = file
        said = self.home.det("deploy", "local", "up", "--tls", code=1).stderr
        self.assertIn("is not the certificate authority of this cluster", said)
        self.assertFalse(os.path.exists(os.path.join(self.home.data, "log/master.log")))

    def test_a_data_directory_that_cannot_be_written_is_said_in_one_line(self):
        # Even root cannot make a folder below a file.
        path = os.path.join(self.home.write("file", "x"), "data")
        said = self.home.det("deploy", "local", "up", "--port", self.home.port, "--data-dir", path,
                             code=1).stderr
        self.assertIn(path, said)
        self.assertIn("--data-dir", said)
        self.assertEqual(1, len(said.strip().splitlines()), said)

    def test_a_database_that_does_not_start_is_said_in_one_line(self):
        self.home.up()
        self.home.det("deploy", "local", "down")
        settings = os.path.join(self.home.data, "postgres/postgresql.conf")
        with open(settings, encoding="utf-8") as f:
            good = f.read()
        with open(settings, "a", encoding="utf-8") as f:
            f.write("no_such_setting = 1\n")
        said = self.home.up(code=1).stderr
        for words in ("PostgreSQL does not start", "no_such_setting", "mend that", settings):
            self.assertIn(words, said)
        self.assertEqual(1, len(said.strip().splitlines()), said)
        self.assertEqual([], harness.processes_below(self.home.folder))
        with open(settings, "w", encoding="utf-8") as f:
            f.write(good)
        self.home.up()

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
        master = [m for m in self.home.members() if m["name"] == "master"][0]
        os.kill(master["pid"], signal.SIGKILL)
        self.home.det("deploy", "local", "down")
        self.assertEqual([], harness.processes_below(self.home.folder))

    def pids(self):
        return {m["name"]: m["pid"] for m in self.home.members()}

    def test_up_after_the_master_was_killed_starts_the_master_alone(self):
        self.home.up(agents=2)
        before = self.pids()
        self.home.kill("master")
        self.home.det("deploy", "local", "status", "--json", code=1)
        self.assertIn("started master;", self.home.up(agents=2).stdout)
        after = self.pids()
        self.assertNotEqual(before["master"], after["master"])
        self.assertEqual([before["agent-0"], before["agent-1"]],
                         [after["agent-0"], after["agent-1"]])
        self.assertTrue(self.home.json("deploy", "local", "status")["running"])
        experiment = self.home.create(harness.TRUE_JOB)
        self.assertEqual("STATE_COMPLETED", self.home.finish(experiment)["state"])

    def test_up_after_an_agent_was_killed_starts_that_agent_alone(self):
        self.home.up(agents=2)
        before = self.pids()
        self.home.kill("agent-0")
        self.assertIn("started agent-0;", self.home.det("deploy", "local", "up").stdout)
        after = self.pids()
        self.assertNotEqual(before["agent-0"], after["agent-0"])
        self.assertEqual([before["master"], before["agent-1"]],
                         [after["master"], after["agent-1"]])

    def test_up_after_the_machine_went_down_starts_it_as_it_was(self):
        self.home.up(agents=2, slots=3)
        address = self.home.json("deploy", "local", "status")["url"]
        for name in ("agent-0", "agent-1", "master"):
            self.home.kill(name)
        with socket.socket() as taken:  # One that fails forgets nothing.
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", self.home.port))
            taken.listen()
            self.assertIn("is in use", self.home.det("deploy", "local", "up", code=1).stderr)
        self.home.det("deploy", "local", "up")
        self.assertEqual(address, self.home.json("deploy", "local", "status")["url"])
        info = self.home.json("master", "info")
        self.assertEqual((2, 6), (info["agents"], info["slots"]))

    def test_an_up_that_fails_leaves_what_ran(self):
        self.home.up()
        before = self.pids()
        self.home.kill("master")
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", self.home.port))
            taken.listen()
            self.assertIn("is in use", self.home.up(code=1).stderr)
        self.assertEqual(before, self.pids())
        self.home.up()
        self.assertEqual(before["agent-0"], self.pids()["agent-0"])

    def test_down_ends_the_tasks_that_outlived_their_agent(self):
        self.home.up()
        fled = "setsid sleep 600 & echo fled=$!; sleep 600"
        experiment = self.home.create(harness.job(entrypoint=fled))
        trial = self.home.first_trial(experiment)["id"]
        log = harness.eventually(lambda: re.search("fled=([0-9]+)", self.home.trial_log(trial)),
                                 "the task's start")
        # Neither told by its folder nor by its words, only by its environment.
        neighbour = subprocess.Popen(["sleep", "600"], env={
            "DET_RUN_DIR": self.home.data + "2/agents/agent-0/tasks/1.1.0/run"})
        try:
            self.home.kill("agent-0")
            status = self.home.json("deploy", "local", "status", code=1)
            self.assertIn(int(log[1]), [task["pid"] for task in status["leftovers"]])
            self.assertIn("without their agent",
                          self.home.det("deploy", "local", "status", code=1).stderr)
            self.home.det("deploy", "local", "down")
            self.assertFalse(os.path.exists(f"/proc/{log[1]}"))
            self.assertIsNone(neighbour.poll())
        finally:
            neighbour.kill()
            neighbour.wait()

    def test_a_damaged_cluster_file_is_said_with_what_to_do(self):
        path = self.home.write("data/cluster.json", "{")
        for command in ("up", "status", "down"):
            said = self.home.det("deploy", "local", command, code=1).stderr
            self.assertIn(f"{path} is damaged", said)
            self.assertIn("remove the file", said)
            self.assertEqual(1, len(said.strip().splitlines()), said)
        os.unlink(path)

    def health(self):
        """The status of GET /health, and its body."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.home.port}/health",
                                        timeout=harness.PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def test_a_database_that_hangs_is_said_and_outlived(self):
        self.home.up()
        self.assertEqual(200, self.health()[0])
        database = [pid for pid, command in harness.processes_below(self.home.data)
                    if command.startswith("postgres:") or "/postgres " in command]
        self.assertGreater(len(database), 1)

        def signal_all(number):
            for pid in database:
                os.kill(pid, number)
        self.addCleanup(lambda: [os.kill(pid, signal.SIGCONT) for pid in database
                                 if os.path.exists(f"/proc/{pid}")])
        signal_all(signal.SIGSTOP)
        path = self.home.write("config.yaml", harness.TRUE_JOB)
        with self.home.popen("experiment", "create", path, self.home.context()) as create:
            code, body = self.health()
            self.assertEqual(503, code)
            self.assertIn("the database has not answered", body)
            signal_all(signal.SIGCONT)
            harness.eventually(lambda: self.health()[0] == 200, "the database's return")
            out, err = create.communicate(timeout=harness.PATIENCE)
        self.assertEqual(0, create.returncode, out + err)
        self.assertEqual("STATE_COMPLETED", self.home.finish(1)["state"])

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
