"""A real cluster in its own directory, for tests that use `det`.

Each test file contains subclasses of ClusterTestCase and calls harness.main() at the end. A cluster
is started once per class with `det deploy local up` and stopped with `down`; a remaining process
fails the class.
"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import venv
import xml.etree.ElementTree as ET

ROOT = os.getcwd()  # Bazel starts a test in the root of its data.
DET = os.path.join(ROOT, "cli/det")
TIMEOUT = 120  # Seconds, for operations that should take a few: detects hangs.

TRUE_JOB = {
    "name": "true-job",
    "entrypoint": "true",
    "searcher": {"name": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 0,
}


def free_port():
    """A free port below the ephemeral ports, which other connections could use."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        ephemeral = int(file.read().split()[0])
    while True:
        port = random.SystemRandom().randrange(10240, ephemeral)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("", port))
            except OSError:
                continue
        return port


def find_environment(name, root=ROOT):
    """The folder of the virtual environment of tools/python/requirements-NAME.txt."""
    tools = os.path.join(root, "tools/python")
    words = [os.path.join(tools, "venv_path"), os.path.join(tools, f"requirements-{name}.txt")]
    folder = subprocess.check_output(words, encoding="utf-8").strip()
    if not os.path.exists(os.path.join(folder, ".complete")):
        raise AssertionError(f"{folder} is missing: run tools/install_packages test")
    return folder


def find_python(name, root=ROOT):
    """The Python of this environment."""
    return os.path.join(find_environment(name, root), "bin/python")


def job(**changes):
    return {**TRUE_JOB, **changes}


def processes_below(folder):
    """(PID, command) of the processes whose working directory or arguments are in the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode(errors="replace")
            cwd = os.readlink(f"/proc/{pid}/cwd")
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                state = f.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        mine = int(pid) == os.getpid()
        if state not in "ZX" and not mine and (folder in command or cwd.startswith(folder)):
            found.append((int(pid), command.strip()))
    return found


def ended(pid):
    """Whether all threads of the process have ended, so that its resources, such as ports, are free."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            state = f.read().rpartition(")")[2].split()[0]
        return state in "ZX" and len(os.listdir(f"/proc/{pid}/task")) == 1
    except OSError:
        return True


def eventually(condition, what, timeout=TIMEOUT):
    """Polls the condition until it is true; returns its result."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"did not happen within {timeout} s: {what}")


def ranks_of(home):
    """The PID of each running rank, by rank."""
    found = {}
    for pid, _ in processes_below(home.data):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                env = dict(x.split(b"=", 1) for x in f.read().split(b"\0") if b"=" in x)
        except OSError:
            continue
        if b"DET_RANK" in env:
            found[int(env[b"DET_RANK"])] = pid
    return found


class Home:
    """A directory with the environment of one user and one cluster."""

    def __init__(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="det-e2e-", dir="/tmp"))
        os.chmod(self.folder, 0o755)  # PostgreSQL may run as a different user.
        self.data = os.path.join(self.folder, "data")
        self.port = free_port()
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("DET_", "XDG_", "TEST_"))}
        # The slots of tests are CPU slots, also on a machine with GPUs.
        self.env.update(HOME=os.path.join(self.folder, "home"), DET_DATA_DIR=self.data,
                        NO_COLOR="1", CUDA_VISIBLE_DEVICES="")
        os.makedirs(self.env["HOME"])

    def popen(self, *args, **options):
        return subprocess.Popen([DET, *map(str, args)], env=self.env, cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, encoding="utf-8", **options)

    def det(self, *args, code=0):
        """Runs det and checks its exit code; returns the completed process."""
        with self.popen(*args) as process:
            try:
                out, err = process.communicate(timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(f"det {args} hangs") from None
        if code is not None and process.returncode != code:
            raise AssertionError(f"det {' '.join(map(str, args))}: exit code {process.returncode}, "
                                 f"not {code}\nstdout: {out}\nstderr: {err}\n{self.logs()}")
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def json(self, *args, code=0):
        return json.loads(self.det(*args, "--json", code=code).stdout)

    def put_python_without_torch_first(self):
        """Puts a Python without torch first on PATH, as conda and pyenv often do; returns it."""
        folder = os.path.join(self.folder, "conda")
        venv.create(folder, symlinks=True)
        self.env["PATH"] = os.path.join(folder, "bin") + os.pathsep + self.env["PATH"]
        return os.path.join(folder, "bin/python3")

    def up(self, agents=1, slots=2, *options, code=0):
        return self.det("deploy", "local", "up", "--port", self.port, "--agents", agents,
                        "--slots", slots, *options, code=code)

    def members(self):
        return self.json("deploy", "local", "status", code=None)["members"]

    def kill(self, name):
        """Kills the member ("master", "agent-0") with SIGKILL and waits for its end."""
        pid = [m["pid"] for m in self.members() if m["name"] == name][0]
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: ended(pid), f"the end of {name}")

    def logs(self):
        """The last lines of the logs of all daemons, for failure messages."""
        parts = []
        folder = os.path.join(self.data, "log")
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                parts.append(f"--- {name}\n" + "".join(f.readlines()[-15:]))
        return "\n".join(parts)

    def close(self):
        """Stops and removes everything; returns processes that were still running, normally none."""
        self.det("deploy", "local", "down", code=None)
        left = processes_below(self.folder)
        for pid, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)
        return left

    # ---- experiments

    def write(self, path, content):
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(content if isinstance(content, str) else json.dumps(content, indent=1))
        return full

    def context(self, files=None):
        folder = tempfile.mkdtemp(prefix="context-", dir=self.folder)
        for path, content in (files or {}).items():
            self.write(os.path.join(folder, path), content)
        return folder

    def create(self, config, context=None, *options):
        """Creates an experiment; returns its ID. The configuration is a dict (JSON is YAML) or a
        string."""
        path = self.write("config.yaml", config)
        created = self.json("experiment", "create", path, context or self.context(), *options)
        return created["experiment"]["id"]

    def experiment(self, experiment):
        return self.json("experiment", "describe", experiment)["experiment"]

    def first_trial(self, experiment):
        def poll():
            ids = self.experiment(experiment).get("trialIds")
            return ids and ids[0]
        return self.json("trial", "describe", eventually(poll, "a first trial"))["trial"]

    def finish(self, experiment):
        """Waits for the end of the experiment; returns its description."""
        self.det("experiment", "wait", experiment, code=None)
        return self.experiment(experiment)

    def last_validation(self, experiment):
        """Waits for the end; returns the metrics of the last validation of the first trial."""
        described = self.finish(experiment)
        trial = self.first_trial(experiment)["id"]
        if described["state"] != "STATE_COMPLETED":
            raise AssertionError(f"{described['state']}:\n{self.trial_log(trial)}")
        path = f"/api/v1/trials/metrics/trial_metrics?trial_ids={trial}&group=validation"
        results = json.loads(self.det("dev", "curl", path).stdout)
        report = results.get("result", results)["metrics"][-1]
        return report["metrics"]["validation_metrics"]

    def trial_log(self, trial):
        return self.det("trial", "logs", trial).stdout


class ClusterTestCase(unittest.TestCase):
    agents, slots = 1, 2
    options = ()  # for `deploy local up`

    @classmethod
    def setUpClass(cls):
        cls.home = Home()
        try:
            cls.home.up(cls.agents, cls.slots, *cls.options)
        except BaseException:
            cls.home.close()
            raise

    @classmethod
    def tearDownClass(cls):
        left = cls.home.close()
        if left:
            raise AssertionError(f"still running after `down`: {left}")

    def assert_state(self, experiment, state):
        self.assertEqual("STATE_" + state, experiment["state"],
                         f"{experiment.get('stateReason')}\n{self.home.logs()}")


class _Report(unittest.TextTestResult):
    """A result that also records each case for the XML report that Bazel reads."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.cases = []
        self._start_time = 0.0

    def startTest(self, test):
        self._start_time = time.monotonic()
        super().startTest(test)

    def _record(self, test, kind=None, text=""):
        name = test.id().rpartition(".")
        self.cases.append((name[0], name[2], time.monotonic() - self._start_time, kind, text))

    def addSuccess(self, test):
        super().addSuccess(test)
        self._record(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._record(test, "failure", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self._record(test, "error", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._record(test, "skipped", reason)

    def write(self, path):
        suite = ET.Element("testsuite", name=os.path.basename(sys.argv[0]))
        for classname, name, seconds, kind, text in self.cases:
            case = ET.SubElement(suite, "testcase", classname=classname, name=name,
                                 time=f"{seconds:.3f}")
            if kind:
                ET.SubElement(case, kind, message=text.strip().splitlines()[-1][:300]).text = text
        ET.ElementTree(suite).write(path)


def main():
    runner = unittest.TextTestRunner(resultclass=_Report, verbosity=2)
    argv = [sys.argv[0], *sys.argv[1:]]
    only = os.environ.get("TESTBRIDGE_TEST_ONLY")  # bazel test --test_filter
    if only:
        argv += ["-k", only]
    result = unittest.main(module="__main__", argv=argv, testRunner=runner, exit=False).result
    if os.environ.get("XML_OUTPUT_FILE"):
        result.write(os.environ["XML_OUTPUT_FILE"])
    sys.exit(0 if result.wasSuccessful() else 1)
