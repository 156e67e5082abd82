"""The client that users bring along: the package `determined` of PyPI, in an environment of its own.

`tools/install_packages test` installs it; tools/python/requirements-existing-client.txt pins it.
"""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import harness

ROOT = pathlib.Path(harness.ROOT)
VIRTUAL_ENVIRONMENT = pathlib.Path(harness.find_environment("existing-client"))
PYTHON = str(VIRTUAL_ENVIRONMENT / "bin/python")
SITE_PACKAGES = str(next(VIRTUAL_ENVIRONMENT.glob("lib/python3*/site-packages")))
DEBIAN_TORCH = str(ROOT / "tests/existing_client/debian_torch")
OUR_PACKAGE = str(ROOT / "trial_api/python/package")  # `bazel build //trial_api/python:package` makes it.


def environment(home):
    """The environment of a client that uses the master of a cluster, and that opens no browser."""
    return {**home.env, "BROWSER": "true", "DET_MASTER": f"http://127.0.0.1:{home.port}",
            "DET_DEBUG_CONFIG_PATH": os.path.join(home.folder, "existing-client")}


@contextlib.contextmanager
def user_environment(home):
    """Lets the client in this process use the master and the files of a cluster."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment(home))
    try:
        yield os.environ
    finally:
        os.environ.clear()
        os.environ.update(before)


def create_administrator(home, name, password):
    """Creates a user who administers the cluster, and who can log in with a password."""
    client_hash = hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" + password.encode()).hexdigest()
    body = {"user": {"username": name, "admin": True, "active": True}, "password": client_hash,
            "isHashed": True}
    home.det("dev", "curl", "-X", "POST", "/api/v1/users", "-d", json.dumps(body))


def start_module(home, module, *words):
    """Starts a module of the client in a separate process, as its users do."""
    env = {**environment(home), "PYTHONUNBUFFERED": "1"}  # Tests read its lines as it prints them.
    return subprocess.Popen([PYTHON, "-m", module, *map(str, words)], env=env,
                            cwd=home.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, encoding="utf-8")


class CommandLine:
    """Runs commands of the client's `det` for one cluster.

    Its modules are loaded once, because that takes longer than a command: each command runs in a
    forked process.
    """

    def __init__(self, home):
        self._home = home
        with user_environment(home):
            sys.path.append(SITE_PACKAGES)
            from determined.cli import cli
        self._cli = cli

    def __call__(self, *words, stdin=""):
        """Returns (exit code, stdout, stderr) of a command."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
                tempfile.TemporaryFile() as given:
            given.write(stdin.encode())
            given.seek(0)
            child = os.fork()
            if child == 0:
                os._exit(self._run([str(word) for word in words], given, out, err))
            _, status = os.waitpid(child, 0)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return os.waitstatus_to_exitcode(status), *texts

    def _run(self, words, given, out, err):
        for number, file in enumerate((given, out, err)):
            os.dup2(file.fileno(), number)
        sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb"))
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"))
        sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb"), write_through=True)
        code = 0
        try:
            os.chdir(self._home.folder)
            with user_environment(self._home) as environment:
                # Without --master, all commands use the DET_MASTER of the time of loading.
                self._cli.main(["--master", environment["DET_MASTER"], *words])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            traceback.print_exc()
            code = 70
        sys.stdout.flush()
        sys.stderr.flush()
        return code
