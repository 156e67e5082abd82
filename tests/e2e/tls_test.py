#!/usr/bin/env -S python3 -B
"""Tests a cluster with TLS, started by `det deploy local up --tls`: accepted and rejected
connections."""
import json
import os
import re
import ssl
import stat
import subprocess
import unittest
import urllib.error
import urllib.request

import harness
import postgres
from masters import MASTER, Master

# Without the files of this machine in /etc/determined.
AGENT = [os.path.join(harness.ROOT, "agent/resolute-agent"), "--config-file", "/dev/null"]

# A trial without a library that reports one validation over TLS.
REPORTER = '''
import json, os, ssl, urllib.request
assert os.environ["DET_MASTER"].startswith("https://") and os.environ["DET_USE_TLS"] == "true"
info = json.load(open(os.environ["DET_RUN_DIR"] + "/info/trial.json"))
urllib.request.urlopen(urllib.request.Request(
    os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/ReportMetrics",
    data=json.dumps({"allocationId": info["allocation_id"], "trialId": info["trial_id"],
                     "reports": [{"group": "validation", "stepsCompleted": 1,
                                  "metrics": {"loss": 0.25}}]}).encode(),
    headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}),
    context=ssl.create_default_context(cafile=os.environ["DET_MASTER_CERT_FILE"]))
print("reported")
'''


class TlsTest(harness.ClusterTestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        try:
            cls.up = cls.start().stdout
        except BaseException:
            cls.home.close()
            raise
        cls.url = f"https://127.0.0.1:{cls.home.port}"

    @classmethod
    def start(cls, *more, code=0):
        return cls.home.det("deploy", "local", "up", "--tls", "--port", cls.home.port,
                            "--slots", 1, *more, code=code)

    def path(self, name):
        return os.path.join(self.home.data, "tls", name)

    def run_det(self, *args, code=0, **env):
        """Runs det as a user who has only an access token for this cluster."""
        with open(os.path.join(self.home.data, "admin.token"), encoding="utf-8") as f:
            token = f.read().strip()
        home = os.path.join(self.home.folder, "stranger")
        output = subprocess.run(
            [harness.DET, "-m", self.url, *args], encoding="utf-8", check=False,
            capture_output=True, timeout=harness.TIMEOUT,
            env={"HOME": home, "DET_DATA_DIR": home, "DET_USER_TOKEN": token, **env})
        self.assertEqual(code, output.returncode, output.stdout + output.stderr)
        return output

    def test_det_trusts_the_local_cluster(self):
        self.assertIn(self.url, self.up)
        info = self.home.json("master", "info")
        self.assertEqual((1, 1), (info["agents"], info["slots"]))
        self.assertTrue(self.home.json("deploy", "local", "status")["running"])
        self.assertIn("already running", self.start().stdout)

    def test_keys_are_readable_only_by_their_owner(self):
        for name in ("ca.key", "master.key", "agent-0.key"):
            self.assertEqual(0o600, stat.S_IMODE(os.stat(self.path(name)).st_mode), name)

    def test_trial_reports_metrics_over_tls(self):
        context = self.home.context({"reporter.py": REPORTER})
        experiment = self.home.create(
            harness.job(entrypoint="python3 reporter.py",
                        searcher={"name": "single", "metric": "loss", "max_length": 1}), context)
        described = self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        self.assertEqual("STATE_COMPLETED", described["state"], self.home.trial_log(trial["id"]))
        self.assertIn("reported", self.home.trial_log(trial["id"]))
        self.assertEqual(0.25, trial["bestValidation"]["metrics"]["avgMetrics"]["loss"])

    def fetch(self, url, context=None):
        """Status and body of a GET."""
        try:
            with urllib.request.urlopen(url, context=context, timeout=harness.TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_clients_need_the_authority_and_https(self):
        known = ssl.create_default_context(cafile=self.path("ca.crt"))
        self.assertEqual(200, self.fetch(self.url + "/health", known)[0])
        with self.assertRaises(urllib.error.URLError):
            self.fetch(self.url + "/health", ssl.create_default_context())
        status, body = self.fetch(f"http://127.0.0.1:{self.home.port}/health")
        self.assertEqual(400, status)
        self.assertIn("use https://", body)

    def test_curl_with_http_2_support_works(self):
        output = subprocess.run(["curl", "-fsS", "--cacert", self.path("ca.crt"), self.url + "/health"],
                              capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(0, output.returncode, output.stderr)

    def agent(self, *flags, master=None, token="agent.token"):
        """The output of an agent that exits at its start."""
        output = subprocess.run(
            [*AGENT, "--master", master or self.url, "--id", "other", "--slots", "1", "--work-dir",
             os.path.join(self.home.folder, "other"), "--token-file",
             os.path.join(self.home.data, token), *flags],
            env=self.home.env, capture_output=True, encoding="utf-8", check=False,
            timeout=harness.TIMEOUT)
        self.assertEqual(1, output.returncode, output.stderr)
        return output.stderr.strip().splitlines()[-1]

    def test_rejects_an_agent_without_certificate(self):
        last = self.agent("--tls-ca", self.path("ca.crt"))
        self.assertIn("rejected this agent: this master requires a client certificate", last)
        self.assertIn("--tls-cert", last)
        self.assertNotIn("--token-file", last)

    def test_rejects_server_certificate_and_user_token_of_an_agent(self):
        last = self.agent("--tls-ca", self.path("ca.crt"), "--tls-cert", self.path("master.crt"),
                          "--tls-key", self.path("master.key"))
        self.assertIn("requires a client certificate", last)
        last = self.agent("--tls-ca", self.path("ca.crt"), "--tls-cert", self.path("agent-0.crt"),
                          "--tls-key", self.path("agent-0.key"), token="admin.token")
        self.assertIn("is for an agent, but this token belongs to a user", last)

    def await_word(self, word, *flags, master=None):
        """The log of an agent that cannot connect and keeps retrying."""
        path = os.path.join(self.home.folder, "lost.log")
        with open(path, "w", encoding="utf-8") as log:
            agent = subprocess.Popen(
                [*AGENT, "--master", master or self.url, "--id", "lost", "--slots", "1",
                 "--work-dir", os.path.join(self.home.folder, "lost"), *flags],
                env=self.home.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def output():
            with open(path, encoding="utf-8") as log:
                return word in log.read()
        try:
            harness.eventually(output, word)
        finally:
            agent.kill()
            agent.wait()

    def test_agent_explains_a_failed_connection(self):
        self.await_word("use https://", master=self.url.replace("https", "http"))
        self.await_word("--tls-ca")
        self.await_word("--tls-master-name", "--tls-ca", self.path("ca.crt"), "--tls-master-name",
                        "nobody")

    def test_agent_rejects_files_that_do_not_match(self):
        last = self.agent("--tls-cert", self.path("agent-0.crt"), "--tls-key", self.path("ca.key"))
        self.assertIn("does not match the certificate", last)
        last = self.agent("--tls-ca", self.path("ca.crt"), master=self.url.replace("https", "http"))
        self.assertIn("use https://", last)

    def test_shows_the_certificate_to_new_clients_who_can_trust_it(self):
        output = self.run_det("master", "info", code=1).stderr
        self.assertEqual(1, len(output.strip().splitlines()), output)
        shown = re.search("SHA-256 fingerprint is ([0-9A-F:]{95})", output)[1]
        self.assertIn(shown, self.run_det("master", "trust").stdout)
        other = shown.replace(shown[:2], "00" if shown[:2] != "00" else "01", 1)
        self.assertIn("does not match", self.run_det("master", "trust", other, code=1).stderr)
        self.run_det("master", "info", code=1)
        self.run_det("master", "info", DET_MASTER_CERT_FILE=self.path("ca.crt"))
        self.run_det("master", "info", DET_MASTER_CERT_FILE="noverify")
        output = self.run_det("master", "info", code=1, DET_MASTER_CERT_FILE=self.path("ca.crt"),
                             DET_MASTER_CERT_NAME="elsewhere").stderr
        self.assertIn("hostname mismatch", output.lower())
        output = self.run_det("master", "info", code=1, DET_MASTER_CERT_FILE="/no/file").stderr
        self.assertIn("DET_MASTER_CERT_FILE", output)
        self.run_det("master", "trust", shown)
        self.run_det("master", "info")

    def test_det_without_tls_gets_an_explanation(self):
        output = self.home.det("-m", f"http://127.0.0.1:{self.home.port}", "master", "info", code=1)
        self.assertIn("this port speaks TLS: use https://", output.stderr)


class StartTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.home.close)

    def test_keeps_the_authority_after_down_and_up(self):
        words = ("deploy", "local", "up", "--tls", "--agents", 1, "--slots", 1, "--port",
                 self.home.port)
        self.home.det(*words)
        authority = os.path.join(self.home.data, "tls/ca.crt")
        with open(authority, encoding="utf-8") as f:
            before = f.read()
        self.home.kill("agent-0")
        self.assertIn("started agent-0;", self.home.det("deploy", "local", "up").stdout)
        self.home.det("deploy", "local", "down")
        self.home.up(slots=1)
        refused = self.home.det(*words, code=1).stderr
        self.assertIn("runs with no --tls, not --tls", refused)
        self.home.det("deploy", "local", "down")
        self.home.det(*words)
        with open(authority, encoding="utf-8") as f:
            self.assertEqual(before, f.read())
        self.assertEqual(1, self.home.json("master", "info")["agents"])

    def test_master_reports_invalid_files_in_one_line(self):
        output = subprocess.run(
            [MASTER, "--config", "/dev/null", "--data-dir", self.home.data,
             "--port", str(self.home.port), "--tls-cert", self.home.write("c", "nothing"),
             "--tls-key", self.home.write("k", "nothing")],
            env=self.home.env, capture_output=True, encoding="utf-8", check=False,
            timeout=harness.TIMEOUT)
        self.assertEqual(1, output.returncode)
        self.assertEqual(1, len(output.stderr.strip().splitlines()), output.stderr)
        self.assertIn("--tls-cert " + os.path.join(self.home.folder, "c"), output.stderr)


class StandbyTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.processes = []
        self.db = postgres.Postgres(self.home.folder)
        self.addCleanup(self.close)
        self.db.start()

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(timeout=harness.TIMEOUT)
        self.db.stop("immediate")
        self.home.close()

    def master(self, name, *flags):
        master = Master(self.home, name, self.db.url, "--tls-cert", self.tls("master.crt"),
                                   "--tls-key", self.tls("master.key"), "--tls-client-ca",
                                   self.tls("ca.crt"), *flags)
        master.url = f"https://127.0.0.1:{master.port}"
        self.processes.append(master.process)
        return master

    def tls(self, name):
        return os.path.join(self.home.data, "tls", name)

    def test_agents_and_det_switch_to_the_next_leader(self):
        # The certificates of any local cluster can be used.
        self.home.det("deploy", "local", "up", "--tls", "--slots", 1, "--port", self.home.port)
        self.home.det("deploy", "local", "down")
        leader = self.master("a").leads()
        standby = self.master("b", "--standby").await_word("standing by; the leader at")
        urls = f"{leader.url},{standby.url}"
        self.home.env.update(DET_MASTER=urls, DET_USER_TOKEN=leader.token(),
                             DET_MASTER_CERT_FILE=self.tls("ca.crt"))
        with open(os.path.join(self.home.folder, "agent.log"), "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(
                [*AGENT, "--master", urls, "--id", "agent-0", "--slots", "1", "--work-dir",
                 os.path.join(self.home.folder, "agent"), "--token-file",
                 os.path.join(leader.data, "agent.token"), "--tls-ca", self.tls("ca.crt"),
                 "--tls-cert", self.tls("agent-0.crt"), "--tls-key", self.tls("agent-0.key")],
                env=self.home.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

        def connected():
            output = self.home.det("agent", "list", "--json", code=None)
            return output.returncode == 0 and any(a.get("connected")
                                                for a in json.loads(output.stdout)["agents"])
        harness.eventually(connected, "the agent with the first leader")
        leader.kill().end()
        standby.leads()
        harness.eventually(connected, "the agent with the next leader")


if __name__ == "__main__":
    harness.main()
