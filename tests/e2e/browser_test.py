#!/usr/bin/env -S python3 -B
"""The dashboard in Chromium: each test is a script of browser/, all of a class with one cluster.

Pictures of the pages are kept among the test's outputs (bazel-testlogs/.../test.outputs).
"""
import json
import os
import subprocess
import tempfile

import harness

PASSWORD = "Secret123"

# Reports a decreasing loss every 0.2 s until it is stopped.
TRAINING_SCRIPT = r"""
import json, os, time, urllib.request

with open(os.environ["DET_RUN_DIR"] + "/info/trial.json") as f:
    info = json.load(f)
for step in range(1, 10_000):
    reports = [{"group": group, "stepsCompleted": step, "metrics": {"loss": 1 + 1 / step}}
               for group in ("training", "validation", "system")]
    body = {"allocationId": info["allocation_id"], "trialId": info["trial_id"],
            "trialRunId": info["trial_run_id"], "reports": reports}
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/ReportMetrics",
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})).read()
    print("step", step, "of many", flush=True)
    time.sleep(0.2)
"""

# Saves one checkpoint.
CHECKPOINT_SCRIPT = r"""
import json, os, pathlib, urllib.request, uuid

info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
name = str(uuid.uuid4())
folder = pathlib.Path(info["checkpoint_dir"], name)
folder.mkdir(parents=True)
(folder / "model.pt").write_bytes(bytes(1000))
body = {"allocationId": info["allocation_id"], "trialId": info["trial_id"], "uuid": name,
        "stepsCompleted": 1, "resources": {"model.pt": 1000}}
urllib.request.urlopen(urllib.request.Request(
    os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/ReportCheckpoint",
    data=json.dumps(body).encode(),
    headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}))
"""


# Prints lines of each rank and level, and exits.
LOG_SCRIPT = r"""
for rank in range(2):
    for line in ("INFO: calm", "WARNING: warm", "ERROR: broken"):
        print(f"[rank={rank}] {line} of {rank}", flush=True)
"""


# Prints what tqdm and rich print: bars that overwrite their lines, and colours.
BARS_SCRIPT = r"""
import sys, time

def write(stream, text):
    for piece in text.replace("\r", "\0\r").split("\0"):
        stream.write(piece)
        stream.flush()
        time.sleep(0.01)

write(sys.stderr,
      "\repoch 1:   0%|    | 0/4 [00:00<?, ?it/s]\repoch 1:  50%|##  | 2/4 [00:00<00:00, 49.37it/s]"
      "\repoch 1: 100%|####| 4/4 [00:00<00:00, 49.03it/s]\n"
      "\repochs:   0%|    | 0/2 [00:00<?, ?it/s]\n\rbatches:   0%|    | 0/2 [00:00<?, ?it/s]\x1b[A"
      "\n\rbatches: 100%|####| 2/2 [00:00<00:00, 44.19it/s]\x1b[A\n\r                    \x1b[A"
      "\repochs: 100%|####| 2/2 [00:00<00:00, 22.97it/s]\n")
write(sys.stdout,
      "\x1b[1;31mloss\x1b[0m \x1b[1;38;2;0;255;136m0.25\x1b[0m\n"
      "\x1b[?25l\r\x1b[2Ktrain \x1b[90m----\x1b[0m \x1b[35m  0%\x1b[0m\nvalid \x1b[90m----\x1b[0m \x1b[35m  0%\x1b[0m"
      "\r\x1b[2K\x1b[1A\x1b[2Ktrain \x1b[92m----\x1b[0m \x1b[35m100%\x1b[0m\nvalid \x1b[92m----\x1b[0m \x1b[35m100%\x1b[0m\n"
      "\x1b[?25h\x1b[37;44m ok \x1b[0m \x1b[7minverse\x1b[0m \x1b[2mfaint\x1b[0m\nthe end\n")
"""

# Reports metrics, which the library writes as event files.
EVENTS_SCRIPT = r"""
import determined

with determined.core.init() as context:
    for step in range(1, 20):
        context.train.report_training_metrics(step, {"loss": 1 / step})
"""


class DashboardTestCase(harness.ClusterTestCase):
    options = ("--admin-password", PASSWORD, "--user-password", PASSWORD)

    def run_script(self, name, **more):
        webui = os.path.dirname(os.path.realpath(os.path.join(harness.ROOT, "webui/package.json")))
        outputs = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR") or tempfile.mkdtemp()
        env = {**self.home.env, "URL": f"http://127.0.0.1:{self.home.port}", "WEBUI": webui,
               "OUTPUTS": outputs, "PASSWORD": PASSWORD, "DET": harness.DET, **more}
        script = os.path.join(harness.ROOT, "tests/e2e/browser", name)
        done = subprocess.run(["node", script], env=env, cwd=self.home.folder, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=1800)
        print(done.stdout)
        self.assertEqual(0, done.returncode, f"{done.stdout}\n{self.home.logs()}")


class BrowserTest(DashboardTestCase):
    def test_session(self):
        self.run_script("session.mjs")

    def test_home(self):
        self.home.finish(self.home.create(harness.job(name="does-nothing")))
        self.home.finish(self.home.create(harness.job(name="fails", entrypoint="false")))
        sleeps = harness.job(name="runs-for-long", entrypoint="sleep 600",
                             resources={"slots_per_trial": 2})
        running = self.home.create(sleeps)
        try:
            config = self.home.write("waits.yaml", {**sleeps, "name": "waits"})
            create = ["experiment", "create", config, self.home.context(), "--json"]
            self.run_script("home.mjs", CREATE=json.dumps(create))
        finally:
            for experiment in (running, running + 1):
                self.home.det("experiment", "kill", experiment, code=None)

    def test_experiments(self):
        context = self.home.context({"learns.py": TRAINING_SCRIPT})
        learns = harness.job(name="learns", entrypoint=["python3", "learns.py"],
                             hyperparameters={"x": 0.5}, preemption_timeout=1)
        experiment_id = self.home.create(learns, context)
        try:
            self.run_script("experiments.mjs")
        finally:
            for experiment in self.home.json("experiment", "list")["experiments"]:
                if experiment["id"] >= experiment_id:
                    self.home.det("experiment", "kill", experiment["id"], code=None)

    def test_actions(self):
        learns = harness.job(name="is-steered", entrypoint=["python3", "learns.py"],
                             hyperparameters={"x": 0.5}, preemption_timeout=1)
        experiment_id = self.home.create(learns, self.home.context({"learns.py": TRAINING_SCRIPT}))
        try:
            self.home.first_trial(experiment_id)
            self.run_script("windows.mjs", EXPERIMENT=str(experiment_id))
            self.run_script("actions.mjs", EXPERIMENT=str(experiment_id))
        finally:
            self.home.det("experiment", "kill", experiment_id, code=None)

    def test_charts(self):
        counts = TRAINING_SCRIPT.replace('"loss": 1 + 1 / step', '"loss": 1 + 1 / step, "epoch": step / 10')
        searcher = {"name": "random", "metric": "loss", "max_trials": 2,
                    "max_concurrent_trials": 2, "max_length": {"batches": 5000}}
        learns = harness.job(name="draws", entrypoint=["python3", "learns.py"], searcher=searcher,
                             preemption_timeout=1,
                             hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}})
        experiment_id = self.home.create(learns, self.home.context({"learns.py": counts}))
        try:
            trial = self.home.first_trial(experiment_id)["id"]
            self.run_script("charts.mjs", EXPERIMENT=str(experiment_id), TRIALS=f"{trial},{trial + 1}")
        finally:
            self.home.det("experiment", "kill", experiment_id, code=None)

    def test_table(self):
        ends = TRAINING_SCRIPT.replace("10_000", "4").replace("time.sleep(0.2)", "")
        searcher = {"name": "random", "metric": "loss", "max_trials": 4,
                    "max_length": {"batches": 5000}}
        experiment_id = self.home.create(
            harness.job(name="tabled", entrypoint=["python3", "learns.py"], searcher=searcher,
                        hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 0.7}}),
            self.home.context({"learns.py": ends}))
        self.home.finish(self.home.create(harness.job(name="is-another")))
        self.home.finish(experiment_id)
        self.run_script("table.mjs", NAME="tabled", COUNT="4")

    def test_logs(self):
        experiment_id = self.home.create(harness.job(name="says", entrypoint=["python3", "says.py"]),
                                self.home.context({"says.py": LOG_SCRIPT}))
        self.home.finish(experiment_id)
        self.run_script("logs.mjs", TRIAL=str(self.home.first_trial(experiment_id)["id"]))

    def test_admin(self):
        self.run_script("admin.mjs")

    def test_workspaces(self):
        saves = harness.job(name="saves", entrypoint=["python3", "saves.py"])
        experiment_id = self.home.create(saves, self.home.context({"saves.py": CHECKPOINT_SCRIPT}))
        self.home.finish(experiment_id)
        [checkpoint] = self.home.json("checkpoint", "list", experiment_id)["checkpoints"]
        self.run_script("workspaces.mjs", CHECKPOINT=checkpoint["uuid"])


class GroupsAndUnmanagedTest(DashboardTestCase):
    """Uses its own cluster, because the other tests count experiments and audit records."""

    def test_groups(self):
        self.run_script("groups.mjs")

    def test_unmanaged(self):
        self.run_script("unmanaged.mjs")


class FindingTest(DashboardTestCase):
    """Uses its own cluster, because its script reports the experiments that it finds."""

    def test_finding(self):
        self.run_script("finding.mjs")


class MetricsTest(DashboardTestCase):
    """Uses its own cluster, which its last experiments fill."""

    def test_metrics(self):
        ends = TRAINING_SCRIPT.replace("10_000", "5").replace("time.sleep(0.2)", "")
        searcher = {"name": "asha", "metric": "loss", "max_trials": 12, "num_rungs": 2,
                    "max_length": {"batches": 4}}
        search = self.home.create(
            harness.job(name="searches", entrypoint=["python3", "learns.py"], searcher=searcher,
                        resources={"slots_per_trial": 0},
                        hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}}),
            self.home.context({"learns.py": ends}))
        failed = self.home.create(harness.job(name="fails", entrypoint="false"))
        labelled = self.home.create(harness.job(name="labelled",
                                                entrypoint="echo CUDA out of memory"))
        for experiment in (failed, labelled, search):
            self.home.finish(experiment)
        full = {"resources": {"slots_per_trial": 2}, "entrypoint": "sleep 600"}
        running = self.home.create(harness.job(name="holds", **full))
        try:
            self.home.first_trial(running)
            queued = self.home.create(harness.job(name="waits", **full))
            try:
                self.run_script("metrics.mjs", FAILED=str(failed), LABELLED=str(labelled),
                                QUEUED=str(queued), SEARCH=str(search))
            finally:
                self.home.det("experiment", "kill", queued, code=None)
        finally:
            self.home.det("experiment", "kill", running, code=None)


class BulkAndQueueTest(DashboardTestCase):
    """Uses its own cluster, because the other tests count experiments."""

    def test_bulk(self):
        project = self.home.json("project", "create", "Uncategorized", "attic")["project"]["id"]
        short = harness.job(name="is-short")
        experiments = [self.home.create(short) for _ in range(3)]
        for experiment in experiments:
            self.home.finish(experiment)
        running = self.home.create(harness.job(name="still-running", entrypoint="sleep 600"))
        try:
            self.home.first_trial(running)
            self.run_script("bulk.mjs", EXPERIMENTS=json.dumps([*experiments, running]),
                            PROJECT=str(project))
        finally:
            self.home.det("experiment", "kill", running, code=None)

    def test_cluster(self):
        experiments = []
        try:
            for name in ("holds", "first", "second", "third"):
                experiments.append(self.home.create(harness.job(name=name, entrypoint="sleep 600",
                                                         resources={"slots_per_trial": 2})))
                self.home.first_trial(experiments[0])
            self.run_script("cluster.mjs")
        finally:
            # Kill the last one first, so that no waiting experiment starts.
            for experiment in reversed(experiments):
                self.home.det("experiment", "kill", experiment, code=None)


class TasksTest(DashboardTestCase):
    """Uses its own cluster, because its script counts tasks."""

    def test_tasks(self):
        self.run_script("tasks.mjs")


class ServicesTest(DashboardTestCase):
    """Uses its own cluster, whose tasks run with the Python that has JupyterLab and TensorBoard."""

    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as config:
            variable = f"DET_PYTHON_EXECUTABLE={harness.find_python('notebook')}"
            defaults = {"environment_variables": [variable]}
            json.dump({"task_container_defaults": defaults}, config)
            config.flush()
            cls.options = (*DashboardTestCase.options, "--master-config", config.name)
            super().setUpClass()

    def test_services(self):
        storage = os.path.join(self.home.folder, "checkpoints")
        os.makedirs(storage)
        learns = harness.job(name="learns", entrypoint=["python3", "learns.py"],
                             checkpoint_storage={"type": "shared_fs", "host_path": storage})
        experiment_id = self.home.create(learns, self.home.context({"learns.py": EVENTS_SCRIPT}))
        self.home.finish(experiment_id)
        self.run_script("services.mjs", EXPERIMENT=str(experiment_id))


class ReadingTest(DashboardTestCase):
    """Uses its own cluster, whose master it kills."""

    def test_reading(self):
        bars = self.home.create(harness.job(name="bars", entrypoint=["python3", "bars.py"]),
                                self.home.context({"bars.py": BARS_SCRIPT}))
        fails = self.home.create(harness.job(name="fails", entrypoint="false", max_restarts=1))
        for experiment in (bars, fails):
            self.home.finish(experiment)
        resources = {"slots_per_trial": 1, "priority": 30, "max_slots": 1}
        running = self.home.create(
            harness.job(name="still-running", entrypoint="sleep 600", resources=resources))
        try:
            self.home.first_trial(running)
            self.run_script("reading.mjs", RUNNING=str(running),
                            BARS_TRIAL=str(self.home.first_trial(bars)["id"]),
                            FAILED_TRIAL=str(self.home.first_trial(fails)["id"]))
        finally:
            self.home.det("experiment", "kill", running, code=None)


class LayoutTest(DashboardTestCase):
    """Uses its own cluster, which it fills with long names."""

    def test_page_layout(self):
        saves = harness.job(name="saves", entrypoint=["python3", "saves.py"])
        saved = self.home.create(saves, self.home.context({"saves.py": CHECKPOINT_SCRIPT}))
        self.home.finish(saved)
        [checkpoint] = self.home.json("checkpoint", "list", saved)["checkpoints"]
        context = self.home.context({"learns.py": TRAINING_SCRIPT})
        searcher = {"name": "adaptive_asha", "metric": "loss", "max_trials": 4,
                    "max_length": {"batches": 5000}}
        learns = harness.job(name="learns-" + "long-" * 12, entrypoint=["python3", "learns.py"],
                             searcher=searcher, preemption_timeout=1,
                             hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}})
        experiment_id = self.home.create(learns, context)
        try:
            self.home.first_trial(experiment_id)
            self.run_script("layout.mjs", EXPERIMENT=str(experiment_id), CHECKPOINT=checkpoint["uuid"])
        finally:
            self.home.det("experiment", "kill", experiment_id, code=None)


if __name__ == "__main__":
    harness.main()
