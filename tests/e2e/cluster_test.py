#!/usr/bin/env -S python3 -B
"""Tests `det deploy local`: up, status, down, and their errors."""
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

    def test_up_registers_agents_and_down_ends_all_processes(self):
        self.home.up(agents=2, slots=3)
        info = self.home.json("master", "info")
        self.assertEqual((2, 6), (info["agents"], info["slots"]))
        self.assertEqual(2, len(self.home.json("agent", "list")["agents"]))
        self.home.det("deploy", "local", "down")
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_second_up_changes_nothing(self):
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

    def test_concurrent_ups_start_one_cluster(self):
        words = ("deploy", "local", "up", "--port", self.home.port, "--slots", "1")
        with self.home.popen(*words) as first, self.home.popen(*words) as second:
            output = [each.communicate(timeout=harness.TIMEOUT) for each in (first, second)]
        self.assertEqual([0, 0], [first.returncode, second.returncode], output)
        self.assertEqual(1, sum("already running" in out for out, _ in output), output)
        self.assertEqual(1, self.home.json("master", "info")["agents"])

    def log_in(self, user, password):
        """The HTTP status of a login."""
        body = json.dumps({"username": user, "password": password}).encode()
        url = f"http://127.0.0.1:{self.home.port}/api/v1/auth/login"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
                self.assertTrue(json.load(answer)["token"])
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def test_generates_and_prints_first_passwords_once(self):
        output = self.home.up(slots=1).stdout
        passwords = dict(re.findall(r"^(\w+) password: (\S+)$", output, re.MULTILINE))
        self.assertEqual({"admin", "determined"}, set(passwords), output)
        for user, password in passwords.items():
            self.assertEqual(200, self.log_in(user, password))
            self.assertEqual(401, self.log_in(user, password[:-1]))
            self.assertEqual(401, self.log_in(user, ""))
        for again in ("already running", "cluster "):
            output = self.home.up(slots=1).stdout
            self.assertIn(again, output)
            self.assertNotIn("password", output)
            self.home.det("deploy", "local", "down")
        for folder, _, names in os.walk(self.home.data):
            for name in names:
                if "postgres" in folder:
                    continue
                with open(os.path.join(folder, name), "rb") as file:
                    text = file.read()
                for password in passwords.values():
                    self.assertNotIn(password.encode(), text, os.path.join(folder, name))

    def test_uses_given_first_passwords(self):
        words = ("--port", self.home.port, "--agents", 0, "--slots", 1)
        easy = self.home.det("deploy", "local", "up", *words, "--admin-password", "easy", code=1)
        self.assertIn("first password of user admin: password: expected at least 8", easy.stderr)
        output = self.home.det("deploy", "local", "up", *words, "--admin-password", "Secret123",
                             "--user-password", "Other1234").stdout
        self.assertNotIn("password", output)
        self.assertEqual(200, self.log_in("admin", "Secret123"))
        self.assertEqual(200, self.log_in("determined", "Other1234"))
        late = self.home.det("deploy", "local", "up", "--admin-password", "Later1234", code=1)
        self.assertIn("det user change-password", late.stderr)

    def test_uses_first_passwords_of_the_environment(self):
        words = ("deploy", "local", "up", "--port", self.home.port, "--agents", 0)
        self.home.env.update(DET_ADMIN_PASSWORD="Variable1", DET_USER_PASSWORD="Other1234")
        output = self.home.det(*words, "--admin-password", "Secret123").stdout
        self.assertNotIn("password", output)
        self.assertEqual(200, self.log_in("admin", "Secret123"))
        self.assertEqual(200, self.log_in("determined", "Other1234"))
        self.assertIn("already running", self.home.det(*words).stdout)
        again = self.home.det(*words, "--user-password", "Other1234").stdout
        self.assertIn("already running", again)

    def test_allows_blank_passwords_when_requested(self):
        self.home.det("deploy", "local", "up", "--port", self.home.port, "--agents", 0,
                      "--allow-blank-passwords")
        self.assertEqual(200, self.log_in("determined", ""))
        self.assertEqual(401, self.log_in("determined", "x"))

    def test_keeps_data_after_down_and_up(self):
        self.home.up()
        experiment = self.home.create(harness.TRUE_JOB)
        self.home.finish(experiment)
        self.home.det("deploy", "local", "down")
        self.home.up()
        self.assertEqual("STATE_COMPLETED", self.home.experiment(experiment)["state"])

    def test_reports_a_port_in_use_in_one_line(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.home.port))
            taken.listen()
            output = self.home.up(code=1).stderr
        self.assertIn(f"port {self.home.port} is in use", output)
        self.assertIn("--port", output)
        self.assertEqual(1, len(output.strip().splitlines()), output)
        self.assertEqual([], harness.processes_below(self.home.folder))

    def test_rejects_an_invalid_configuration_before_start(self):
        file = os.path.join(self.home.folder, "master.yaml")
        tls = "security: {tls: {cert: c.crt, key: c.key}}\n"
        for text, words in ((tls, "use --tls"), ("bind: 192.0.2.1\n", "bind: 192.0.2.1"),
                            ("prot: 1\n", "prot")):
            with open(file, "w", encoding="utf-8") as f:
                f.write(text)
            output = self.home.det("deploy", "local", "up", "--port", self.home.port,
                                   "--master-config", file, code=1).stderr
            self.assertIn(words, output)
            self.assertFalse(os.path.exists(os.path.join(self.home.data, "log/master.log")))
        self.home.env["DET_MASTER_CERT_FILE"] = file
        output = self.home.det("deploy", "local", "up", "--tls", code=1).stderr
        self.assertIn("is not the certificate authority of this cluster", output)
        self.assertFalse(os.path.exists(os.path.join(self.home.data, "log/master.log")))

    def test_reports_an_unwritable_data_directory_in_one_line(self):
        # Even root cannot create a directory below a file.
        path = os.path.join(self.home.write("file", "x"), "data")
        output = self.home.det("deploy", "local", "up", "--port", self.home.port, "--data-dir", path,
                             code=1).stderr
        self.assertIn(path, output)
        self.assertIn("--data-dir", output)
        self.assertEqual(1, len(output.strip().splitlines()), output)

    def test_reports_a_database_that_does_not_start_in_one_line(self):
        self.home.up()
        self.home.det("deploy", "local", "down")
        settings = os.path.join(self.home.data, "postgres/postgresql.conf")
        with open(settings, encoding="utf-8") as f:
            good = f.read()
        with open(settings, "a", encoding="utf-8") as f:
            f.write("no_such_setting = 1\n")
        output = self.home.up(code=1).stderr
        for words in ("PostgreSQL did not start", "no_such_setting", "fix it", settings):
            self.assertIn(words, output)
        self.assertEqual(1, len(output.strip().splitlines()), output)
        self.assertEqual([], harness.processes_below(self.home.folder))
        with open(settings, "w", encoding="utf-8") as f:
            f.write(good)
        self.home.up()

    def test_interrupt_during_up_leaves_no_process(self):
        with self.home.popen("deploy", "local", "up", "--port", self.home.port) as up:
            harness.eventually(lambda: harness.processes_below(self.home.data) or
                               up.poll() is not None, "the start of the master")
            up.send_signal(signal.SIGINT)
            up.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(3, up.returncode)
        self.assertEqual([], harness.processes_below(self.home.data))

    def test_down_works_after_the_master_was_killed(self):
        self.home.up()
        master = [m for m in self.home.members() if m["name"] == "master"][0]
        os.kill(master["pid"], signal.SIGKILL)
        self.home.det("deploy", "local", "down")
        self.assertEqual([], harness.processes_below(self.home.folder))

    def pids(self):
        return {m["name"]: m["pid"] for m in self.home.members()}

    def test_up_starts_only_a_killed_master(self):
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

    def test_up_starts_only_a_killed_agent(self):
        self.home.up(agents=2)
        before = self.pids()
        self.home.kill("agent-0")
        self.assertIn("started agent-0;", self.home.det("deploy", "local", "up").stdout)
        after = self.pids()
        self.assertNotEqual(before["agent-0"], after["agent-0"])
        self.assertEqual([before["master"], before["agent-1"]],
                         [after["master"], after["agent-1"]])

    def test_up_restarts_the_same_cluster_after_a_reboot(self):
        self.home.up(agents=2, slots=3)
        address = self.home.json("deploy", "local", "status")["url"]
        for name in ("agent-0", "agent-1", "master"):
            self.home.kill(name)
        with socket.socket() as taken:  # A failed `up` must not change cluster.json.
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", self.home.port))
            taken.listen()
            self.assertIn("is in use", self.home.det("deploy", "local", "up", code=1).stderr)
        self.home.det("deploy", "local", "up")
        self.assertEqual(address, self.home.json("deploy", "local", "status")["url"])
        info = self.home.json("master", "info")
        self.assertEqual((2, 6), (info["agents"], info["slots"]))

    def test_failed_up_keeps_running_members(self):
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

    def test_down_ends_tasks_without_agent(self):
        self.home.up()
        fled = "setsid sleep 600 & echo fled=$!; sleep 600"
        experiment = self.home.create(harness.job(entrypoint=fled))
        trial = self.home.first_trial(experiment)["id"]
        log = harness.eventually(lambda: re.search("fled=([0-9]+)", self.home.trial_log(trial)),
                                 "the start of the task")
        # Its working directory and arguments do not identify the process; only its environment does.
        neighbour = subprocess.Popen(["sleep", "600"], env={
            "DET_RUN_DIR": self.home.data + "2/agents/agent-0/tasks/1.1.1/run"})
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

    def test_reports_a_damaged_cluster_file(self):
        path = self.home.write("data/cluster.json", "{")
        for command in ("up", "status", "down"):
            output = self.home.det("deploy", "local", command, code=1).stderr
            self.assertIn(f"{path} is damaged", output)
            self.assertIn("remove the file", output)
            self.assertEqual(1, len(output.strip().splitlines()), output)
        os.unlink(path)

    def health(self):
        """Status and body of GET /health."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.home.port}/health",
                                        timeout=harness.TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def test_master_survives_a_hanging_database(self):
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
            harness.eventually(lambda: self.health()[0] == 200, "a response of the database")
            out, err = create.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(0, create.returncode, out + err)
        self.assertEqual("STATE_COMPLETED", self.home.finish(1)["state"])

    def test_down_does_not_kill_a_process_with_a_reused_pid(self):
        self.home.up()
        path = os.path.join(self.home.data, "cluster.json")
        with open(path, encoding="utf-8") as f:
            state = json.load(f)
        self.home.det("deploy", "local", "down")
        # Simulates PIDs that were reused by other processes.
        for member in state["members"]:
            member["pid"] = os.getpid()
        with open(path, "w", encoding="utf-8") as f:
            json.dump(state, f)
        self.home.det("deploy", "local", "down")  # Must not kill this test.

    def test_det_explains_how_to_start_a_master(self):
        output = self.home.det("experiment", "list", code=1).stderr
        self.assertIn("det deploy local up", output)
        self.assertEqual(1, len(output.strip().splitlines()), output)


if __name__ == "__main__":
    harness.main()
