#!/usr/bin/env -S python3 -B
"""Tests notebooks, shells, TensorBoards and ports of tasks with the real programs: JupyterLab and
TensorBoard of PyPI, sshd and ssh of Debian.

A program in a virtual environment with these packages talks to the services (task_client.py).
"""
import hashlib
import json
import os
import subprocess
import urllib.error
import urllib.request

import harness

MEGABYTES = 100  # of the file that is copied by scp
PYTHON = harness.find_python("notebook")


class TasksTestCase(harness.ClusterTestCase):
    @property
    def token(self):
        with open(os.path.join(self.home.data, "admin.token"), encoding="ascii") as file:
            return file.read().strip()

    def request(self, path, body=None, **headers):
        """(status, body) of a request with the administrator's token."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.home.port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": "Bearer " + self.token, **headers})
        try:
            with urllib.request.urlopen(request, timeout=harness.TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def launch(self, kind, config=None, **members):
        config = {"resources": {"slots": 0}, **(config or {})}
        config["environment"] = {"environment_variables": [f"DET_PYTHON_EXECUTABLE={PYTHON}"],
                                 **config.get("environment", {})}
        status, body = self.request(f"/api/v1/{kind}s", {"config": config, **members})
        self.assertEqual(200, status, body)
        return json.loads(body)[kind]

    def describe(self, kind, task):
        return json.loads(self.request(f"/api/v1/{kind}s/{task}")[1])[kind]

    def log(self, task):
        lines = self.request(f"/api/v1/tasks/{task}/logs")[1].splitlines()
        return "\n".join(json.loads(line)["result"]["log"] for line in lines if line)

    def await_ready(self, task):
        def poll():
            described = json.loads(self.request(f"/api/v1/tasks/{task}")[1])["task"]
            if described.get("endTime"):
                raise AssertionError(f"the task has ended:\n{self.log(task)}")
            return described["allocations"] and described["allocations"][0]["isReady"]
        try:
            harness.eventually(poll, "the service")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log(task)}\n{self.home.logs()}") from None

    def kill(self, kind, task):
        status, body = self.request(f"/api/v1/{kind}s/{task}/kill", {})
        self.assertEqual(200, status, body)
        harness.eventually(lambda: self.describe(kind, task)["state"] == "STATE_TERMINATED",
                           "its end")

    def client(self, *words):
        """Runs task_client.py in the environment with the libraries; returns what it prints."""
        done = subprocess.run([PYTHON, "tests/e2e/task_client.py", *words], check=False,
                              capture_output=True, encoding="utf-8", timeout=harness.TIMEOUT)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout.strip()


class NotebookTest(TasksTestCase):
    def test_jupyterlab_executes_cells_through_the_proxy(self):
        notebook = self.launch("notebook", files=[
            {"path": "hello.txt", "type": 48, "content": "aGVsbG8=", "mode": 0o644}])
        self.await_ready(notebook["id"])
        address = f"http://127.0.0.1:{self.home.port}{notebook['serviceAddress']}"
        self.assertIn("token=", address)
        self.assertEqual("42", self.client("kernel", address, "print(6 * 7)"))
        self.assertEqual("hello", self.client("kernel", address, "print(open('hello.txt').read())"))
        self.assertIn("Jupyter Server", self.log(notebook["id"]))
        # The page of JupyterLab, with the token of a user instead of the notebook's.
        status, page = self.request(f"/proxy/{notebook['id']}/lab")
        self.assertEqual(200, status)
        self.assertIn("JupyterLab", page)
        self.kill("notebook", notebook["id"])
        self.assertEqual(410, self.request(f"/proxy/{notebook['id']}/lab")[0])
        self.assertEqual([], [p for p in harness.processes_below(self.home.data)
                              if "jupyter" in p[1]])

    def test_refuses_other_callers_in_one_sentence(self):
        notebook = self.launch("notebook")
        other = self.launch("notebook")
        self.await_ready(notebook["id"])
        self.await_ready(other["id"])
        path = f"/proxy/{notebook['id']}/api/kernels"
        token = other["serviceAddress"].split("token=")[1]
        nobody = {"Authorization": ""}
        self.assertEqual(401, self.request(path, **nobody)[0])
        self.assertEqual(403, self.request(f"{path}?token={token}", **nobody)[0])
        self.assertEqual(404, self.request("/proxy/absent/")[0])
        for task in (notebook, other):
            self.kill("notebook", task["id"])

    def test_reports_a_python_without_jupyterlab(self):
        notebook = self.launch("notebook", {"environment": {
            "environment_variables": ["DET_PYTHON_EXECUTABLE=/usr/bin/python3"]}})
        harness.eventually(lambda: self.describe("notebook", notebook["id"])["state"]
                           == "STATE_TERMINATED", "its end")
        self.assertIn("has no JupyterLab", self.log(notebook["id"]))

    def test_ends_idle_notebook(self):
        notebook = self.launch("notebook", {"idle_timeout": "2s", "environment": {
            "environment_variables": [f"DET_PYTHON_EXECUTABLE={PYTHON}", "DET_IDLE_INTERVAL=0.5"]}})
        harness.eventually(lambda: self.describe("notebook", notebook["id"])["state"]
                           == "STATE_TERMINATED", "its end")
        self.assertIn("idle", self.log(notebook["id"]))

    def test_survives_killed_master_and_agent(self):
        notebook = self.launch("notebook")
        self.await_ready(notebook["id"])
        address = f"http://127.0.0.1:{self.home.port}{notebook['serviceAddress']}"
        kernel = self.client("start", address, "x = 41")
        for name in ("master", "agent-0"):
            self.home.kill(name)
            self.home.up(self.agents, self.slots)
            harness.eventually(lambda: self.request(f"/proxy/{notebook['id']}/api")[0] == 200,
                               "the proxied service")
        self.assertEqual("42", self.client("continue", address, kernel, "print(x + 1)"))
        self.kill("notebook", notebook["id"])


class PortsTest(TasksTestCase):
    def test_proxies_ports_of_a_command(self):
        config = {"entrypoint": [PYTHON, "-m", "http.server", "--bind", "127.0.0.1", "8123"],
                  "environment": {"proxy_ports": [{"proxy_port": 8123}]}}
        command = self.launch("command", config)
        path = f"/proxy/{command['id']}:8123/"
        # http.server does not know the prefix: its 404 shows that the request arrived.
        harness.eventually(lambda: "Error code: 404" in self.request(path)[1], "the server")
        self.assertEqual(404, self.request(f"/proxy/{command['id']}:1/")[0])
        self.kill("command", command["id"])

    def test_says_that_nobody_listens(self):
        command = self.launch("command", {"entrypoint": ["sleep", "600"], "environment": {
            "proxy_ports": [{"proxy_port": 8124}]}})
        path = f"/proxy/{command['id']}:8124/"
        status, body = harness.eventually(
            lambda: next((answer for answer in [self.request(path)] if "8124" in answer[1]), None),
            "the reason")
        self.assertEqual(502, status)
        self.assertIn("nobody listens on port 8124", body)
        self.kill("command", command["id"])


class TensorboardTest(TasksTestCase):
    def test_shows_scalars_of_a_running_trial(self):
        storage = os.path.join(self.home.folder, "checkpoints")
        os.makedirs(storage)
        script = ("import time\nimport determined as d\nwith d.core.init() as context:\n"
                  "    for step in range(1, 10000):\n"
                  "        context.train.report_training_metrics(step, {'loss': 1 / step})\n"
                  "        time.sleep(0.05)\n")
        experiment = self.home.create(
            harness.job(entrypoint="python3 script.py", checkpoint_storage={
                "type": "shared_fs", "host_path": storage}),
            self.home.context({"script.py": script}))
        tensorboard = self.launch("tensorboard", experimentIds=[experiment])
        self.await_ready(tensorboard["id"])
        path = f"/proxy/{tensorboard['id']}/data/plugin/scalars/tags"
        tags = harness.eventually(lambda: json.loads(self.request(path)[1]), "the first run")
        run = next(iter(tags))
        self.assertIn("Determined/loss", tags[run])
        scalars = f"/proxy/{tensorboard['id']}/data/plugin/scalars/scalars?tag=Determined%2Floss"
        count = lambda: len(json.loads(self.request(f"{scalars}&run={run.replace('/', '%2F')}")[1]))
        before = count()
        harness.eventually(lambda: count() > before, "more scalars of the running trial")
        self.home.kill("master")
        self.home.up(self.agents, self.slots)
        harness.eventually(lambda: self.request(path)[0] == 200, "the proxied service")
        self.home.det("experiment", "kill", experiment)
        self.kill("tensorboard", tensorboard["id"])

    def test_refuses_missing_sources_in_one_sentence(self):
        status, body = self.request("/api/v1/tensorboards", {"config": {}})
        self.assertEqual(400, status)
        self.assertIn("must set experiment, trial ids, or filters", body)
        status, body = self.request("/api/v1/tensorboards", {"config": {}, "experimentIds": [9999]})
        self.assertIn(status, (400, 404))


class ShellTest(TasksTestCase):
    def test_browser_gets_a_terminal(self):
        shell = self.launch("shell")
        self.await_ready(shell["id"])
        address = f"http://127.0.0.1:{self.home.port}/proxy/{shell['id']}:terminal/"
        shown = self.client("terminal", address, self.token, "stty size; echo $((6 * 7))=", "42=")
        self.assertIn("30 100", shown)
        status, body = self.request(f"/proxy/{shell['id']}:terminal/", Authorization="")
        self.assertEqual(401, status, body)
        self.kill("shell", shell["id"])

    def test_ssh_and_scp_work_through_the_tunnel(self):
        shell = self.home.det("shell", "start", "--detach", "--config",
                              "resources.slots=0", "--config",
                              "environment.environment_variables=[FROM_CONFIG=yes]").stdout.strip()
        self.await_ready(shell)
        opened = self.home.det("shell", "open", shell, "echo from=$FROM_CONFIG; det user whoami")
        self.assertIn("from=yes", opened.stdout)
        self.assertRegex(opened.stdout, r"user +admin")
        config = self.home.write("ssh_config", self.home.det("shell", "ssh-config", shell).stdout)
        host = next(line.split()[1] for line in open(config, encoding="utf-8")
                    if line.startswith("Host "))
        source = os.path.join(self.home.folder, "source")
        with open(source, "wb") as file:
            for _ in range(MEGABYTES):
                file.write(os.urandom(1 << 20))
        target, back = source + ".remote", source + ".back"
        for words in (["scp", "-F", config, source, f"{host}:{target}"],
                      ["scp", "-F", config, f"{host}:{target}", back]):
            subprocess.run(words, check=True, env=self.home.env, stdin=subprocess.DEVNULL,
                           timeout=4 * harness.TIMEOUT)
        digests = []
        for path in (source, target, back):
            with open(path, "rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
        self.assertEqual(1, len(set(digests)), digests)
        self.kill("shell", shell)
        refused = self.home.det("shell", "open", shell, "true", code=None)
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("ended", refused.stderr)


if __name__ == "__main__":
    harness.main()
