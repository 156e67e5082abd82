#!/usr/bin/env -S python3 -B
"""Tests two masters with one PostgreSQL: leadership, takeover, and the previous leader."""
import os
import signal
import subprocess
import urllib.error
import urllib.request

import harness
from masters import MastersTestCase


class StandbyTest(MastersTestCase):
    def setUp(self):
        super().setUp()
        self.leader = self.start("a").leads()
        self.home.env["DET_USER_TOKEN"] = self.leader.token()
        self.standby = self.start("b", "--standby").await_word("standing by; the leader at")

    def use(self, *masters):
        self.home.env["DET_MASTER"] = ",".join(m.url for m in masters)

    def names(self):
        return [e["name"] for e in self.home.json("experiment", "list")["experiments"]]

    def create(self, name, code=0):
        path = self.home.write(name + ".yaml", harness.job(name=name))
        return self.home.det("experiment", "create", path, self.home.context(), code=code)

    def test_standby_replaces_a_killed_leader(self):
        self.use(self.leader, self.standby)
        self.create("before")
        self.leader.kill().end()
        output = self.home.det("experiment", "list", code=1).stderr
        for master in self.masters:
            self.assertIn(master.url, output)
        harness.eventually(lambda: self.create("after", code=None).returncode == 0,
                           "a successful write of the standby")
        self.assertEqual({"before", "after"}, set(self.names()))
        self.standby.leads()
        # The previous leader returns as a standby.
        again = self.start("a", "--standby").await_word(f"the leader at {self.standby.url}")
        self.assertEqual(0, again.kill(signal.SIGTERM).end(), again.read_log())

    def test_stopped_leader_exits_without_writing(self):
        self.leader.kill(signal.SIGSTOP)
        # The socket of a stopped process still accepts connections.
        path = self.home.write("late.yaml", harness.job(name="late"))
        late = self.home.popen("-m", self.leader.url, "experiment", "create", path,
                               self.home.context())
        self.addCleanup(late.kill)
        self.standby.leads()
        self.use(self.standby)
        self.create("new")
        self.leader.kill(signal.SIGCONT)
        self.assertEqual(1, self.leader.end(), self.leader.read_log())
        self.assertIn(f"another master has taken over this database and leads at {self.standby.url}",
                      self.leader.read_log())
        with late:
            late.communicate(timeout=harness.TIMEOUT)
        self.assertNotEqual(0, late.returncode)
        self.assertEqual(["new"], self.names())
        self.assertIsNone(self.standby.process.poll())

    def test_database_outage_causes_no_takeover(self):
        self.use(self.leader, self.standby)
        self.create("before")
        self.db.stop("immediate")
        self.leader.await_word("lease renewal failed")
        output = self.create("refused", code=None)
        self.assertNotEqual(0, output.returncode)
        self.assertIn("cannot reach the database", output.stderr)
        self.db.start()
        self.leader.await_word("this master leads again")
        harness.eventually(lambda: self.create("after", code=None).returncode == 0,
                           "a successful write of the leader")
        self.assertEqual({"before", "after"}, set(self.names()) - {"refused"})
        for master in self.masters:
            self.assertIsNone(master.process.poll(), master.read_log())
        self.assertNotIn("taking over", self.standby.read_log())

    def test_master_without_standby_takes_over(self):
        newer = self.start("c").leads()
        self.assertEqual(1, self.leader.end(), self.leader.read_log())
        self.assertIn("another master has taken over this database", self.leader.read_log())
        self.standby.await_word(f"the leader at {newer.url}")

    def test_master_without_port_does_not_take_over(self):
        for flags in (), ("--standby",):
            late = self.start("c", *flags, port=self.leader.port)
            self.assertEqual(1, late.end(), late.read_log())
            self.assertIn(f"port {self.leader.port} is in use", late.read_log())
        self.use(self.leader)
        self.create("kept")
        self.assertIsNone(self.leader.process.poll(), self.leader.read_log())

    def test_det_skips_a_stopped_leader(self):
        self.leader.kill(signal.SIGSTOP)
        self.standby.leads()
        self.use(self.leader, self.standby)
        self.create("new")
        self.assertEqual(["new"], self.names())

    def start_agent(self):
        with open(os.path.join(self.home.folder, "agent.log"), "w", encoding="utf-8") as log:
            agent = subprocess.Popen(
                [os.path.join(harness.ROOT, "agent/resolute-agent"), "--config-file", "/dev/null",
                 "--master", f"{self.leader.url},{self.standby.url}", "--id", "agent-0", "--slots", "1",
                 "--work-dir", os.path.join(self.home.folder, "agent"), "--token-file",
                 os.path.join(self.leader.data, "agent.token")],
                env=self.home.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)

    def request(self, master, path):
        """The body of a response, also of one that says why the request failed; or nothing."""
        token = {"Authorization": "Bearer " + self.leader.token()}
        try:
            with urllib.request.urlopen(urllib.request.Request(master.url + path, headers=token),
                                        timeout=harness.TIMEOUT) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError:
            return ""

    def test_tasks_and_their_ports_continue_after_a_takeover(self):
        self.use(self.leader, self.standby)
        self.start_agent()
        no_slots = ("--config", "resources.slots=0")
        port = harness.free_port()
        command = self.home.det(
            "command", "run", "--detach", *no_slots, "--config",
            f"environment.proxy_ports=[{{proxy_port: {port}}}]",
            "python3", "-m", "http.server", "--bind", "127.0.0.1", port).stdout.strip()
        shell = self.home.det("shell", "start", "--detach", *no_slots).stdout.strip()
        task = self.home.write("task.yaml", {"entrypoint": ["sleep 600"], "resources": {"slots": 0}})
        generic = self.home.det("task", "create", task).stdout.split()[-1]
        # The server does not know the prefix of the path: its own error shows that it was reached.
        path, reached = f"/proxy/{command}:{port}/", "Error code: 404"
        harness.eventually(lambda: reached in self.request(self.leader, path), "the server")
        self.home.det("shell", "open", shell, "echo $PPID > session")
        harness.eventually(lambda: self.running("sleep 600"), "the generic task")
        before = self.running("http.server"), self.running("sleep 600")

        self.leader.kill().end()
        self.standby.leads()
        harness.eventually(lambda: reached in self.request(self.standby, path), "the server again")
        self.assertEqual(before, (self.running("http.server"), self.running("sleep 600")))
        self.assertIn("same", self.home.det("shell", "open", shell,
                                            "test -s session && echo same").stdout)
        for words in (("command", "kill", command), ("shell", "kill", shell),
                      ("task", "kill", generic)):
            self.home.det(*words)
        harness.eventually(lambda: not self.running("http.server") and not self.running("sshd")
                           and not self.running("sleep 600"), "the end of the tasks")

    def running(self, word):
        return [p for p in harness.processes_below(self.home.folder) if word in p[1]]


if __name__ == "__main__":
    harness.main()
