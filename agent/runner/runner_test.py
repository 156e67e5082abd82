#!/usr/bin/env -S python3 -B
"""Tests resolute-runner with the real programs: shells, OpenSSH and JupyterLab.

The master is a stand-in that records the requests; tests/e2e has tests with a real one.
"""

import hashlib
import http.server
import json
import os
import pathlib
import pwd
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

RUNNER = os.path.abspath("agent/resolute-runner")
VENV = subprocess.check_output(
    ["tools/python/venv_path", "tools/python/requirements-notebook.txt"], text=True
).strip()
# A user who may log in, for tests that run as root.
OTHER_USER = "postgres"
TIMEOUT = 120


class Master:
    """Records requests as (method, path, body), and rejects the first `failures` of them."""

    def __init__(self, failures=0):
        self.requests = queue.Queue()
        left = [failures]

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(handler):
                body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
                if left[0] > 0:
                    left[0] -= 1
                    handler.send_error(503)
                    return
                token = handler.headers.get("Grpc-Metadata-x-allocation-token")
                assert token == "Bearer secret-of-task", token
                handler.send_response(200)
                handler.end_headers()
                handler.wfile.write(b"{}")
                self.requests.put((handler.command, handler.path, json.loads(body)))

            do_POST = do_PUT = answer

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class RunnerTestCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_dir, self.work = self.folder / "run dir", self.folder / "work"
        self.run_dir.mkdir(mode=0o700)
        self.work.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ.get("HOME", "/"),
            "DET_RUN_DIR": str(self.run_dir),
            "DET_SESSION_TOKEN": "secret-of-task",
            "DET_ALLOCATION_ID": "t.1",
            "DET_TASK_ID": "t",
            "DET_MASTER": "http://127.0.0.1:1",
            "DET_USER": "alice",
            "DET_IDLE_INTERVAL": "0.1",
        }

    def run_task(self, *words, **env):
        return subprocess.run(
            [RUNNER, *words],
            cwd=self.work,
            env=self.env | env,
            text=True,
            capture_output=True,
            timeout=TIMEOUT,
        )


class CommandTest(RunnerTestCase):
    def test_runs_one_word_in_a_shell(self):
        self.assertEqual(self.run_task("--", "echo a; exit 3").returncode, 3)

    def test_runs_several_words_without_a_shell(self):
        self.assertEqual(self.run_task("--", "echo", "$HOME", "*").stdout, "$HOME *\n")

    def test_does_nothing_without_words(self):
        self.assertEqual(self.run_task("--").returncode, 0)

    def test_ends_by_the_signal_of_the_command(self):
        self.assertEqual(self.run_task("--", "kill -9 $$").returncode, -signal.SIGKILL)

    def test_reports_missing_program(self):
        done = self.run_task("--", "no-such-program", "x")
        self.assertEqual(done.returncode, 127)
        self.assertIn("cannot run no-such-program: No such file", done.stderr)

    def test_reports_unknown_option_and_service(self):
        self.assertIn("unknown option --x", self.run_task("--x").stderr)
        self.assertIn("unknown service x", self.run_task("--service=x").stderr)

    def test_enters_work_dir_and_replaces_names_of_users(self):
        me = pwd.getpwuid(os.geteuid()).pw_name
        place = self.folder / f"alice-{me}"
        place.mkdir()
        done = self.run_task(
            f"--work-dir={self.folder}/$DET_USER-$AGENT_USER", "--", "pwd; echo $PWD"
        )
        self.assertEqual(done.stdout, f"{place}\n{place}\n")

    def test_fails_when_work_dir_does_not_exist(self):
        done = self.run_task("--work-dir=/no/such", "--", "true")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot enter work_dir /no/such: No such file", done.stderr)


class StartupHookTest(RunnerTestCase):
    def write_hooks(self, of_cluster, of_context):
        (self.run_dir / "startup-hook.sh").write_text(of_cluster)
        (self.work / "startup-hook.sh").write_text(of_context)

    def test_passes_variables_of_both_hooks_to_the_command(self):
        self.write_hooks("export A='x  y'; set -- lost", 'export B="$A z"')
        done = self.run_task("--", "printf", "%s|", "it's", "a  b")
        self.assertEqual((done.stdout, done.returncode), ("it's|a  b|", 0))
        done = self.run_task("--", 'echo "$B"')
        self.assertEqual(done.stdout, "x  y z\n")
        self.assertIn("+ export 'A=x  y'", done.stderr, "the log shows what ran")

    def test_ends_task_with_the_code_of_the_failed_line(self):
        self.write_hooks("echo first\n(exit 9)\necho never", "echo never")
        done = self.run_task("--", "echo never")
        self.assertEqual((done.returncode, done.stdout), (9, "first\n"))
        self.assertIn("startup-hook.sh ended the task with exit code 9", done.stderr)

    def test_ignores_failing_line_of_command(self):
        self.write_hooks("", "")
        self.assertEqual(self.run_task("--", "false; echo on").stdout, "on\n")


class ServiceTestCase(RunnerTestCase):
    def setUp(self):
        super().setUp()
        self.master = Master(failures=2)
        self.addCleanup(self.master.close)
        # The first master cannot be reached.
        self.env["DET_MASTERS"] = f"{self.env['DET_MASTER']},{self.master.url}"
        self.log = self.folder / "log"

    def start(self, service, description, user=None, **env):
        (self.run_dir / "service.json").write_text(json.dumps(description))
        program = RUNNER
        if user:
            program = shutil.copy(RUNNER, self.folder / "resolute-runner")
            for path in (self.folder, self.run_dir, self.work, self.run_dir / "service.json"):
                shutil.chown(path, user)
        with open(self.log, "wb") as log:
            self.task = subprocess.Popen(
                [program, f"--service={service}", "--"],
                cwd=self.work,
                env=self.env | env,
                stdout=log,
                stderr=log,
                user=user,
                start_new_session=True,
            )
        self.addCleanup(self.stop)

    def stop(self):
        self.task.terminate()
        self.task.wait(TIMEOUT)

    def wait_for(self, path):
        """Returns the body of the next request to the path."""
        while True:
            method, requested, body = self.master.requests.get(timeout=TIMEOUT)
            if requested == path:
                return body

    def wait_until_ready(self):
        try:
            return self.wait_for("/api/v1/allocations/t.1/ready")["port"]
        except queue.Empty:
            self.fail(f"not ready; log: {self.log.read_text()}")


class ShellTest(ServiceTestCase):
    def start_shell(self, **options):
        key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        description = {
            "private_key": key.read_text(),
            "public_key": key.with_suffix(".pub").read_text(),
        }
        self.start("shell", description, **options)
        self.port = self.wait_until_ready()
        self.key = key

    def options(self):
        return [
            "-q",
            "-F",
            "none",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "BatchMode=yes",
            "-i",
            self.key,
        ]

    def ssh(self, *words, user=None, **options):
        user = user or pwd.getpwuid(os.geteuid()).pw_name
        return subprocess.run(
            ["ssh", *self.options(), "-p", str(self.port), f"{user}@127.0.0.1", *words],
            text=True,
            capture_output=True,
            timeout=TIMEOUT,
            **options,
        )

    def test_runs_command_with_environment_and_directory_of_the_task(self):
        value = 'it\'s "quoted" $HOME %h & `x`\nline 2'
        self.start_shell(WEIRD=value)
        done = self.ssh('printf "%s|" "$WEIRD" "$PWD" "$DET_USER" "$HOME"; exit 7')
        home = pwd.getpwuid(os.geteuid()).pw_dir
        self.assertEqual(
            (done.stdout, done.returncode),
            ("|".join([value, str(self.work), "alice", home, ""]), 7),
            done.stderr,
        )

    def test_opens_terminal(self):
        self.start_shell()
        done = self.ssh("-tt", input="tty; exit 5\n")
        self.assertIn("/dev/pts/", done.stdout)
        self.assertEqual(done.returncode, 5)

    def test_copies_files(self):
        self.start_shell()
        content = os.urandom(5 << 20)
        (self.folder / "sent").write_bytes(content)
        subprocess.run(
            ["scp", *self.options(), "-P", str(self.port), self.folder / "sent", "127.0.0.1:copy"],
            check=True,
            timeout=TIMEOUT,
        )
        digest = hashlib.sha256(content).hexdigest()
        self.assertEqual(hashlib.sha256((self.work / "copy").read_bytes()).hexdigest(), digest)

    def test_forwards_ports(self):
        self.start_shell()
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            def answer():
                connection, _ = server.accept()
                with connection:
                    connection.sendall(b"forwarded\n")

            threading.Thread(target=answer, daemon=True).start()
            self.assertEqual(self.ssh("-W", f"127.0.0.1:{port}").stdout, "forwarded\n")

    def test_refuses_other_keys_and_passwords(self):
        self.start_shell()
        self.key = self.folder / "other"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.assertEqual(self.ssh("true").returncode, 255)

    def test_keeps_key_private(self):
        self.start_shell()
        for path in (self.run_dir / "ssh").iterdir():
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)
        log = self.log.read_text()
        self.assertRegex(log, "(?m)^Server listening on 127.0.0.1")
        self.assertNotIn("PRIVATE KEY", log)

    @unittest.skipUnless(os.geteuid() == 0, "only root can start a program as another user")
    def test_works_as_ordinary_user(self):
        self.start_shell(user=OTHER_USER)
        done = self.ssh("id -un; pwd", user=OTHER_USER)
        self.assertEqual(done.stdout, f"{OTHER_USER}\n{self.work}\n", self.log.read_text())

    def test_ends_when_signaled(self):
        self.start_shell()
        self.task.send_signal(signal.SIGTERM)
        self.assertEqual(self.task.wait(TIMEOUT), 0, "as sshd ends")
        self.assertEqual(self.ssh("true").returncode, 255)


class NotebookTest(ServiceTestCase):
    TOKEN = "token-of-jupyter"

    def start_notebook(self, idle_type="kernels_or_terminals"):
        self.start(
            "notebook",
            {"base_path": "/proxy/t/", "token": self.TOKEN, "idle_type": idle_type},
            DET_PYTHON_EXECUTABLE=f"{VENV}/bin/python",
        )
        self.url = f"http://127.0.0.1:{self.wait_until_ready()}/proxy/t/"

    def call(self, path, method="GET", token=TOKEN):
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {token}"}
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return json.loads(response.read() or "null")

    def wait_for_idle(self, idle):
        while self.wait_for("/api/v1/notebooks/t/report_idle")["idle"] != idle:
            pass

    def test_serves_and_reports_idleness(self):
        self.start_notebook()
        self.wait_for_idle(True)
        kernel = self.call("api/kernels", "POST")["id"]
        self.wait_for_idle(False)
        self.call(f"api/kernels/{kernel}", "DELETE")
        self.wait_for_idle(True)
        self.assertRegex(self.log.read_text(), "Jupyter Server .* is running")
        self.assertEqual(self.call("api/contents?content=0")["path"], "")

    def test_counts_only_connections_of_kernels(self):
        self.start_notebook("kernel_connections")
        self.call("api/kernels", "POST")
        self.wait_for_idle(True)

    def test_hides_token(self):
        self.start_notebook()
        self.assertNotIn(self.TOKEN, self.log.read_text())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.call("api/kernels", token="guess")
        self.assertEqual(refused.exception.code, 403)
        # Command lines are visible to all users of the machine.
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(self.TOKEN.encode(), line.read_bytes())
            except OSError:  # The process has ended.
                pass

    def test_explains_python_without_jupyterlab(self):
        (self.run_dir / "service.json").write_text("{}")
        done = self.run_task("--service=notebook", "--", DET_PYTHON_EXECUTABLE="/usr/bin/python3")
        self.assertEqual(done.returncode, 1)
        self.assertIn(
            "/usr/bin/python3, has no JupyterLab; run `pip install jupyterlab`", done.stderr
        )


# Stands in for the module of the package `det`, which has separate tests.
TENSORBOARD = """
import http.server, json, os, sys
print(json.dumps(sys.argv[1:]), flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""


class TensorboardTest(ServiceTestCase):
    def test_starts_module_of_the_package(self):
        package = self.folder / "package" / "det"
        package.mkdir(parents=True)
        (package / "tensorboard.py").write_text(TENSORBOARD)
        self.start(
            "tensorboard",
            {"base_path": "/proxy/t/", "sources": [], "arguments": []},
            DET_PYTHON_EXECUTABLE=f"{VENV}/bin/python",
            PYTHONPATH=str(package.parent),
        )
        port = self.wait_until_ready()
        self.assertIn(
            json.dumps(["--port", str(port), "--base-path", "/proxy/t"]), self.log.read_text()
        )

    def test_ends_as_its_program(self):
        package = self.folder / "package" / "det"
        package.mkdir(parents=True)
        (package / "tensorboard.py").write_text("import os; os._exit(4)")
        self.start(
            "tensorboard",
            {"base_path": "/proxy/t/", "sources": [], "arguments": []},
            DET_PYTHON_EXECUTABLE=f"{VENV}/bin/python",
            PYTHONPATH=str(package.parent),
        )
        self.assertEqual(self.task.wait(TIMEOUT), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
