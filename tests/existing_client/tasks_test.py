#!/usr/bin/env -S python3 -B
"""Tests commands, notebooks, shells, TensorBoards, generic tasks and ports of tasks with the existing client.

The programs are real: JupyterLab and TensorBoard of PyPI, sshd and ssh of Debian.
"""
import csv
import datetime
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.path[:0] = [os.path.join(os.getcwd(), "tests", name) for name in ("existing_client", "e2e")]
import existing_client  # noqa: E402
import harness  # noqa: E402

USER, PASSWORD = "boss", "Existing-Passw0rd"
LAUNCHED = re.compile(r"Launched (\S+) \(id: (\S+), name: (.+)\)\.")
NO_SLOTS = ("--config", "resources.slots=0")
SLEEP = "echo begun; sleep 600"

REPORT = """
import determined as det
with det.core.init() as context:
    for step in (1, 2):
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
"""

# Answers HTTP requests on port {http} of the task's machine, and returns the bytes sent to {tcp}.
SERVE = """
import http.server, socketserver, threading
class Http(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from " + self.path.encode())
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(4096):
            self.request.sendall(data)
http_server = http.server.HTTPServer(("127.0.0.1", {http}), Http)
threading.Thread(target=http_server.serve_forever, daemon=True).start()
socketserver.ThreadingTCPServer.allow_reuse_address = True
print("serves", flush=True)
socketserver.ThreadingTCPServer(("127.0.0.1", {tcp}), Echo).serve_forever()
"""


# With JupyterLab and TensorBoard.
WITH_PYTHON = ("--config", "environment.environment_variables="
               f"[DET_PYTHON_EXECUTABLE={harness.find_python('notebook')}]")


def exchange(port, data):
    """Sends the data to a port of this machine; returns as many bytes of the answer, or None."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=harness.TIMEOUT) as connection:
            connection.sendall(data)
            answer = b""
            while len(answer) < len(data):
                piece = connection.recv(65536)
                if not piece:
                    return None
                answer += piece
            return answer
    except OSError:
        return None


@unittest.skipUnless(os.geteuid() == 0, "a private mount for each task needs root")
class TasksTestCase(harness.ClusterTestCase):
    agents, slots = 1, 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.det = existing_client.CommandLine(cls.home)
        existing_client.create_administrator(cls.home, USER, PASSWORD)
        code, out, err = cls.det("user", "login", USER, stdin=PASSWORD + "\n")
        assert code == 0, out + err
        cls.home.write("template.yaml",
                       {"environment": {"environment_variables": ["FROM_TEMPLATE=yes"]}})
        code, out, err = cls.det("template", "create", "variables", "template.yaml")
        assert code == 0, out + err

    def run_det(self, *words, code=0):
        """Runs a command; returns its output and error messages."""
        got, out, err = self.det(*words)
        self.assertEqual(code, got, f"det {' '.join(map(str, words))}\n{out}{err}\n{self.home.logs()}")
        return out + err

    def launch(self, *words):
        """Launches a task in the background; returns its ID."""
        return self.run_det(*words[:2], "--detach", *NO_SLOTS, *words[2:]).splitlines()[-1]

    def describe(self, kind, task):
        """The (object, configuration) of a task."""
        described = json.loads(self.run_det("dev", "curl", f"/api/v1/{kind}s/{task}"))
        return described[kind], described["config"]

    def await_state(self, kind, task, state):
        harness.eventually(lambda: self.describe(kind, task)[0]["state"] == "STATE_" + state,
                           f"{state} of {task}")

    def await_log(self, task, word, times=1):
        harness.eventually(lambda: self.run_det("task", "logs", task).count(word) >= times,
                           f"{word} in the log of {task}")

    def token(self):
        return self.run_det("dev", "auth-token").strip()

    def request(self, path, token=None):
        """(status, text) of a page of the master."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.home.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=harness.TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def run_module(self, module, *words):
        """Runs a module of the client in a separate process; returns what it prints."""
        with existing_client.start_module(self.home, module, *words) as process:
            try:
                out, _ = process.communicate(timeout=harness.TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(f"{module} {words} hangs:\n{process.communicate()[0]}") from None
        self.assertEqual(0, process.returncode, out + self.home.logs())
        return out

    def check_common_verbs(self, kind, task):
        """Tests the verbs that all kinds have, then kills the task, which is running."""
        listed = json.loads(self.run_det(kind, "list", "--json"))
        row = next(row for row in listed if row["id"] == task)
        self.assertEqual((USER, "RUNNING", "Uncategorized"),
                         (row["username"], row["state"], row["workspaceName"]))
        for words in ((), ("-a",), ("-q",), ("--csv",), ("-w", "Uncategorized"),
                      ("--sort-by", "id", "--order-by", "desc")):
            self.assertIn(task, self.run_det(kind, "list", *words))
        self.assertIn(task, self.run_det("task", "list"))
        self.assertIn("resources:", self.run_det(kind, "config", task[:8]))
        self.assertIn("Task log stream ended", self.run_det(kind, "logs", task, "--tail", 1))
        self.assertIn(f"Set priority of {kind} {task} to 20",
                      self.run_det(kind, "set", "priority", task, 20))
        self.assertIn(f"Killed {kind} {task}", self.run_det(kind, "kill", task))
        self.await_state(kind, task, "TERMINATED")
        self.assertIn(f"Killed {kind} {task}", self.run_det(kind, "kill", task))
        self.run_det(kind, "logs", "--follow", task)


class CommandTest(TasksTestCase):
    def test_run_follows_the_log(self):
        out = self.run_det("cmd", "run", *NO_SLOTS, "echo hi; exit 3")
        kind, command, _ = LAUNCHED.search(out).groups()
        self.assertEqual("command", kind)
        self.assertRegex(out, r"(?m)\bhi$")
        self.assertRegex(out, "resources failed with non-zero exit code.*3")
        self.assertIn(f"To reopen log stream, run: det task logs -f {command}", out)
        self.assertIn("exit code 3", json.loads(
            self.run_det("cmd", "describe", command, "--json"))["exitStatus"].replace(": ", " "))
        out = self.run_det("cmd", "run", *NO_SLOTS, "echo", "$HOME", "a  b")
        self.assertIn("$HOME a  b", out)
        self.assertIn("resources exited successfully with a zero exit code", out)
        command = LAUNCHED.search(out)[2]
        self.assertIn("success", self.run_det("cmd", "describe", command, "--csv"))

    def test_verbs_of_commands(self):
        command = self.launch("command", "run", SLEEP)
        self.await_log(command, "begun")
        self.assertIn("RUNNING", self.run_det("cmd", "describe", command[:8]))
        self.check_common_verbs("command", command)
        absent = "00000000-0000-0000-0000-000000000001"
        self.assertIn("not found", self.run_det("cmd", "kill", absent, command, code=1))
        out = self.run_det("cmd", "kill", "-f", absent, command)
        self.assertIn("Skipping", out)
        self.assertIn(f"Killed command {command}", out)
        self.assertIn("partial UUID 'zz' not found", self.run_det("cmd", "config", "zz", code=1))

    def test_lists_own_commands_and_those_of_everybody(self):
        other = self.home.det("command", "run", "--detach", *NO_SLOTS, "true").stdout.strip()
        self.assertNotIn(other, self.run_det("cmd", "list"))
        self.assertIn(other, self.run_det("cmd", "list", "-a"))

    def test_options_of_run(self):
        context = self.home.context({"sub/hello.txt": "from context", ".detignore": "secret\n",
                                     "secret": "x"})
        os.symlink("sub/hello.txt", os.path.join(context, "link"))
        include = self.home.context({"startup-hook.sh": "export FROM_HOOK=yes\n"})
        mounted = self.home.context({"in-mount": ""})
        file = self.home.write("command.yaml", {
            "description": "described", "environment": {"environment_variables": ["FROM_FILE=yes"]}})
        self.run_det("workspace", "create", "options")
        out = self.run_det(
            "cmd", "run", "--config-file", file, "--context", context,
            "--include", include + "/startup-hook.sh", "--template", "variables",
            "-v", f"{mounted}:{mounted}", *NO_SLOTS,
            "--config", "resources.shm_size=1048576", "-w", "options",
            f"cat link; echo; ls . {mounted}; echo $FROM_FILE $FROM_HOOK $FROM_TEMPLATE")
        for words in ("name: described", "from context", "in-mount", "yes yes yes"):
            self.assertIn(words, out)
        self.assertNotIn("secret", out)
        command = LAUNCHED.search(out)[2]
        self.assertIn(command, self.run_det("cmd", "list", "-w", "options"))
        self.assertNotIn(command, self.run_det("cmd", "list", "-w", "Uncategorized"))
        out = self.run_det("cmd", "run", *NO_SLOTS, "--config",
                           "environment.environment_variables='A=true','B'",
                           "--config-file", self.home.write("entrypoint.yaml", {
                               "entrypoint": ["sh", "-c", "echo a=$A b=${B-unset}"]}), "ignored")
        self.assertIn("a=true b=", out)

    def test_size_of_the_context_is_limited(self):
        large = self.home.context()
        with open(os.path.join(large, "large"), "wb") as file:
            file.truncate(100 << 20)
        self.assertIn("maximum allowed size",
                      self.run_det("cmd", "run", "--context", large, "true", code=1))
        self.home.write(os.path.join(large, ".detignore"), "large\n")
        self.assertIn(" 0 large", self.run_det("cmd", "run", *NO_SLOTS, "--context", large,
                                               "echo \"\" $(ls | wc -l) large"))

    def test_bad_input_is_refused_in_one_sentence(self):
        for words, reason in [
            (("--config", "resources.slots=10485", "true"), "request unfulfillable"),
            (("--config", "resources.slotz=1", "true"), "slotz"),
            (("--template", "absent", "true"), "absent"),
            (("-v", "/bin:/mounted", "true"), "set both to /bin"),
            (("-w", "absent", "true"), "absent"),
        ]:
            self.assertIn(reason, self.run_det("cmd", "run", *words, code=1))

    def test_both_command_lines_act_as_the_owner_in_a_task(self):
        # PYTHONPATH selects the library (docs/task_environment.md). The existing client prefers a user
        # who has signed in on the machine, whose token is below HOME.
        theirs = (f"HOME=$PWD PYTHONPATH={existing_client.SITE_PACKAGES} "
                  f"{existing_client.PYTHON} -m determined.cli")
        for program in ("det", theirs):
            out = self.run_det("cmd", "run", *NO_SLOTS, program + " user whoami")
            self.assertIn("zero exit code", out)
            self.assertRegex(out, r"(?m)(user +|logged in as user ')boss\b")

    def test_usage_has_rows_of_tasks(self):
        self.run_det("workspace", "create", "usage")
        command = LAUNCHED.search(self.run_det("cmd", "run", *NO_SLOTS, "-w", "usage", "true"))[2]
        now = datetime.datetime.now(datetime.timezone.utc)
        day = datetime.timedelta(days=1)
        begin, end = ((now + change).strftime("%Y-%m-%dT%H:%M:%SZ") for change in (-day, day))
        rows = csv.DictReader(io.StringIO(self.run_det("resources", "allocations", begin, end)))
        row = next(row for row in rows if row["allocation_id"].startswith(command))
        self.assertEqual(("COMMAND", USER, "usage", ""),
                         tuple(row[name] for name in ("task_type", "username", "workspace_name",
                                                      "experiment_id")))


class NotebookTest(TasksTestCase):
    def test_start_shows_addresses(self):
        out = self.run_det("notebook", "start", "--no-browser", *NO_SLOTS, *WITH_PYTHON,
                           "--context", self.home.context({"hello.ipynb": "{}"}))
        kind, notebook, _ = LAUNCHED.search(out).groups()
        self.assertEqual("notebook", kind)
        self.assertIn(f"notebook (id: {notebook}) is ready.", out)
        self.assertIn(f"/det/interactive/{notebook}/jupyter-lab/", out)
        address = re.search(r"Connect to remote Jupyter server: http://[^/]+(\S+)", out)[1]
        path, _, query = address.partition("?")
        status, text = self.request(f"{path}api/status?{query}")
        self.assertEqual(200, status, text)
        self.assertIn("kernels", text)
        self.assertRegex(self.run_det("notebook", "logs", notebook), r"Jupyter Server .* is running")
        self.run_det("notebook", "open", notebook[:8])
        self.check_common_verbs("notebook", notebook)
        self.assertIn("Notebook has ended", self.run_det("notebook", "open", notebook, code=1))

    def test_preview_starts_nothing(self):
        before = self.run_det("notebook", "list", "-a", "-q")
        self.assertIn("resource_pool: default", self.run_det("notebook", "start", "--preview"))
        self.assertEqual(before, self.run_det("notebook", "list", "-a", "-q"))

    def test_templates_apply_to_all_kinds(self):
        for kind, *words in (("notebook", "start"), ("shell", "start"), ("command", "run", "true")):
            task = self.launch(kind, words[0], "--template", "variables", *words[1:])
            self.assertIn("FROM_TEMPLATE=yes", self.run_det(kind, "config", task))
            self.run_det(kind, "kill", task)

    def test_deleting_a_workspace_ends_its_notebooks(self):
        self.run_det("workspace", "create", "short-lived")
        inside = self.launch("notebook", "start", "-w", "short-lived", *WITH_PYTHON)
        outside = self.launch("notebook", "start", *WITH_PYTHON)
        for notebook in (inside, outside):
            self.await_state("notebook", notebook, "RUNNING")
        self.assertIn(inside, self.run_det("notebook", "list", "-w", "short-lived"))
        self.run_det("workspace", "delete", "short-lived", "--yes")
        self.await_state("notebook", inside, "TERMINATED")
        self.assertEqual("STATE_RUNNING", self.describe("notebook", outside)[0]["state"])
        self.assertRegex(self.run_det("notebook", "list", "-w", "short-lived", code=1),
                         "(?i)not found|no workspace")
        self.run_det("notebook", "kill", outside)


class ShellTest(TasksTestCase):
    def test_ssh_runs_programs_through_its_tunnel(self):
        shell = self.launch("shell", "start", "--config",
                            "environment.environment_variables=[FROM_CONFIG=yes]")
        out = self.run_module("determined.cli", "shell", "open", shell, "det", "user", "whoami")
        self.assertRegex(out, r"user\S* +boss\b")
        self.assertIn(f"To reconnect, run: det shell open {shell}", out)
        self.assertIn("Server listening on", self.run_det("shell", "logs", shell))
        # Editors use the printed command later.
        command = shlex.split(self.run_module(
            "determined.cli", "shell", "show-ssh-command", shell).splitlines()[-1])
        self.assertEqual("ssh", command[0])
        self.assertEqual(0o600, os.stat(command[command.index("-i") + 1]).st_mode & 0o777)
        done = subprocess.run([*command, "echo from=$FROM_CONFIG"], check=False, capture_output=True,
                              env=existing_client.environment(self.home), stdin=subprocess.DEVNULL,
                              encoding="utf-8", timeout=harness.TIMEOUT)
        self.assertIn("from=yes", done.stdout, done.stderr)
        self.check_common_verbs("shell", shell)
        self.assertIn("task has been terminated.", self.run_det("shell", "open", shell, code=1))

    def test_start_opens_the_shell(self):
        out = self.run_module("determined.cli", "shell", "start", *NO_SLOTS, "--show-ssh-command",
                              "echo", "in the shell")
        shell = LAUNCHED.search(out)[2]
        self.assertIn("in the shell", out)
        self.assertIn("ssh -o", out)
        self.run_det("shell", "kill", shell)


class TensorboardTest(TasksTestCase):
    def test_shows_experiments_and_trials(self):
        storage = self.home.folder + "/checkpoints"
        os.makedirs(storage, exist_ok=True)
        config = harness.job(entrypoint="python3 report.py", checkpoint_storage={
            "type": "shared_fs", "host_path": storage})
        experiment = self.home.create(config, self.home.context({"report.py": REPORT}))
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        trial = self.home.first_trial(experiment)["id"]
        out = self.run_det("tensorboard", "start", experiment, "--no-browser", *WITH_PYTHON,
                           "--config", "environment.image=some/image")
        kind, tensorboard, _ = LAUNCHED.search(out).groups()
        self.assertEqual("tensorboard", kind)
        self.assertIn(f"/det/interactive/{tensorboard}/tensorboard/", out)
        tags = harness.eventually(lambda: json.loads(self.request(
            f"/proxy/{tensorboard}/data/plugin/scalars/tags", self.token())[1]), "the first run")
        self.assertIn("Determined/loss", next(iter(tags.values())))
        image = self.describe("tensorboard", tensorboard)[1]["environment"]["image"]
        self.assertEqual({"some/image"}, set(image.values()))
        self.assertEqual({"cpu", "cuda", "rocm"}, set(image))
        listed = json.loads(self.run_det("tensorboard", "list", "--json"))
        self.assertEqual([experiment], next(
            row["experimentIds"] for row in listed if row["id"] == tensorboard))
        self.assertRegex(self.run_det("tensorboard", "logs", tensorboard), "TensorBoard .* at http")
        self.run_det("tensorboard", "open", tensorboard[:8])
        self.check_common_verbs("tensorboard", tensorboard)
        of_trial = self.run_det("tensorboard", "start", "-t", trial, "--detach").splitlines()[-1]
        self.assertEqual([trial], self.describe("tensorboard", of_trial)[0]["trialIds"])
        self.run_det("tensorboard", "kill", of_trial)
        files = os.path.join(storage, next(
            name for name in os.listdir(storage)
            if os.path.isdir(os.path.join(storage, name, "tensorboard"))), "tensorboard/experiment",
            str(experiment))
        self.assertNotEqual([], os.listdir(files))
        self.run_det("experiment", "delete-tb-files", experiment)
        harness.eventually(lambda: not os.path.exists(files), "the end of the event files")
        self.run_det("experiment", "describe", experiment)


class GenericTaskTest(TasksTestCase):
    def create(self, config, *options):
        path = self.home.write("task.yaml", config)
        return re.search(r"Created task (\S+)", self.run_det("task", "create", path, *options))[1]

    def task(self, task):
        return json.loads(self.run_det("dev", "curl", f"/api/v1/tasks/{task}"))["task"]

    def await_task(self, task, state):
        harness.eventually(lambda: self.task(task)["taskState"] == "GENERIC_TASK_STATE_" + state,
                           f"{state} of task {task}")

    def test_runs_and_forks(self):
        config = {"entrypoint": ["cat", "hello.txt"], "resources": {"slots": 0}}
        context = self.home.context({"hello.txt": "from context"})
        path = self.home.write("task.yaml", config)
        out = self.run_det("task", "create", path, "--context", context, "--follow",
                           "--config", "debug=false")
        self.assertIn("from context", out)
        task = re.search(r"Created task (\S+)", out)[1]
        self.await_task(task, "COMPLETED")
        self.assertIn("from context", self.run_det("task", "logs", task))
        self.assertIn("hello.txt", self.run_det("task", "config", task))
        self.assertIn("hello.txt", self.run_det("task", "config", "--json", task))
        self.assertIn("from context", self.run_det("task", "fork", task, "--follow"))
        changed = self.create({"entrypoint": ["cat hello.txt; exit 1"]}, "--fork", task)
        self.await_task(changed, "ERROR")
        self.assertIn("from context", self.run_det("task", "logs", changed))
        heir = self.create(config, "--parent", task, "--inherit_context")
        self.await_task(heir, "COMPLETED")

    def test_pauses_and_kills(self):
        config = {"entrypoint": [SLEEP], "resources": {"slots": 0}}
        task = self.create(config)
        child = self.create(config, "--parent", task, "--no_pause")
        for one in (task, child):
            self.await_log(one, "begun")
        self.assertIn(task, self.run_det("task", "list"))
        self.assertIn(task, self.run_det("task", "list", "--json"))
        self.assertIn(f"Paused task: {task}", self.run_det("task", "pause", task))
        self.await_task(task, "PAUSED")
        self.assertEqual("GENERIC_TASK_STATE_ACTIVE", self.task(child)["taskState"])
        self.assertIn(f"Unpaused task: {task}", self.run_det("task", "unpause", task))
        self.await_log(task, "begun", 2)
        self.assertIn(f"killed task: {child}", self.run_det("task", "kill", "--root", child))
        for one in (task, child):
            self.await_task(one, "CANCELED")
        self.run_det("task", "kill", task, code=1)


class PortsTest(TasksTestCase):
    def setUp(self):
        self.http, self.tcp = harness.free_port(), harness.free_port()
        self.config = harness.job(
            entrypoint="python3 serve.py", resources={"slots_per_trial": 0}, environment={
                "proxy_ports": [{"proxy_port": self.http},
                                {"proxy_port": self.tcp, "proxy_tcp": True}]})
        self.context = self.home.context(
            {"serve.py": SERVE.replace("{http}", str(self.http)).replace("{tcp}", str(self.tcp))})

    def await_trial(self, experiment):
        task = self.home.first_trial(experiment)["taskId"]
        harness.eventually(lambda: "serves" in self.run_det("experiment", "logs", experiment),
                           "the servers")
        return task

    def check_echo(self, port):
        data = os.urandom(1 << 20)
        harness.eventually(lambda: exchange(port, b"x") == b"x", "the tunnel")
        self.assertEqual(data, exchange(port, data))

    def test_reaches_ports_of_a_trial(self):
        experiment = self.home.create(self.config, self.context)
        task = self.await_trial(experiment)
        path = f"/proxy/{task}:{self.http}/"
        self.assertEqual((200, f"hello from {path}"), self.request(path, self.token()))
        self.assertEqual(401, self.request(path)[0])
        listed = self.run_det("task", "list")
        self.assertIn(str(self.http), listed)
        port = harness.free_port()
        with existing_client.start_module(
                self.home, "determined.cli.tunnel", "--listener", port, "--auth",
                f"http://127.0.0.1:{self.home.port}", f"{task}:{self.tcp}") as tunnel:
            try:
                self.check_echo(port)
            finally:
                tunnel.kill()
        self.run_det("experiment", "kill", experiment)

    def test_publishes_ports_while_it_follows_the_log(self):
        port = harness.free_port()
        path = self.home.write("ports.yaml", self.config)
        with existing_client.start_module(
                self.home, "determined.cli", "experiment", "create", path, self.context,
                "--follow-first-trial", "--publish", f"{port}:{self.tcp}") as follow:
            try:
                seen = ""
                for line in follow.stdout:
                    seen += line
                    if "serves" in line:
                        break
                experiment = re.search(r"Created experiment (\d+)", seen)[1]
                self.check_echo(port)
                self.run_det("experiment", "kill", experiment)
                self.assertIn("Trial log stream ended", follow.communicate(timeout=harness.TIMEOUT)[0])
            finally:
                follow.kill()


if __name__ == "__main__":
    harness.main()
