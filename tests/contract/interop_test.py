#!/usr/bin/env -S python3 -B
"""Replays recorded requests of existing clients against a real master and agent (README.md)."""
import base64
import hashlib
import json
import os
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
import replay  # noqa: E402
import unserved  # noqa: E402

with open("tests/contract/exchanges.json", encoding="utf-8") as recorded:
    EXCHANGES = json.load(recorded)

PASSWORD = "Interop-Passw0rd"
# The client hash of the password, which existing clients send.
CLIENT_HASH = hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" + PASSWORD.encode()).hexdigest()
NO_CHECKPOINT = "00000000-0000-0000-0000-000000000000"  # the one in the recording
ENDED = ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR")

# Writes its environment to a file and sends reports, then runs until SIGTERM or until the end file
# exists.
PROGRAM = r"""
import json, os, pathlib, signal, sys, time, urllib.request
folder = sys.argv[1]
trial = int(os.environ["DET_TRIAL_ID"])
run = int(os.environ["DET_TRIAL_RUN_ID"])
before = run - 1  # The number of earlier attempts.
def call(method, body):
    body.update(allocationId=os.environ["DET_ALLOCATION_ID"], trialId=trial)
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})).read()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("INFO: begun", flush=True)
if sys.argv[2:] == ["reports"]:
    for group in ("training", "validation"):
        call("ReportMetrics", {"trialRunId": run, "reports": [
            {"group": group, "stepsCompleted": run, "metrics": {"loss": 0.5}}]})
    info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
    uuid = "%08x-0000-4000-8000-00000000000%d" % (trial, before)
    saved = pathlib.Path(info["checkpoint_dir"], uuid, "state")
    saved.parent.mkdir(parents=True, exist_ok=True)
    saved.write_bytes(b"1")
    call("ReportCheckpoint", {"uuid": uuid, "stepsCompleted": run, "resources": {"state": 1}})
with open(f"{folder}/env-{trial}-{before}.part", "w") as f:
    json.dump(dict(os.environ), f)
os.rename(f"{folder}/env-{trial}-{before}.part", f"{folder}/env-{trial}-{before}")
while not os.path.exists(f"{folder}/end-{trial}"):
    time.sleep(0.02)
"""


class Replay(harness.ClusterTestCase):
    """A cluster with the resources of the exchanges. Each class has its own, because IDs start at 1."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            cls.sign_in()
        except BaseException:
            cls.home.close()
            raise

    @classmethod
    def sign_in(cls):
        cls.outside = replay.Client(cls.home.port, {})
        with open(cls.home.data + "/admin.token", encoding="utf-8") as f:
            cls.admin = replay.Client(cls.home.port,
                                      {"Authorization": "Bearer " + f.read().strip()})
        user = {"admin": True, "active": True, "password": CLIENT_HASH, "isHashed": True}
        answer = cls.admin.send("PATCH", "/api/v1/users/2", user)
        assert answer.status == 200, answer.text
        cls.login = cls.outside.send("POST", "/api/v1/auth/login", {
            "password": CLIENT_HASH, "username": "determined", "isHashed": True})
        assert cls.login.status == 200, cls.login.text
        cls.user = replay.Client(
            cls.home.port, {"Authorization": "Bearer " + cls.login.json()["token"]})

    def body(self, *arguments, **changes):
        """The body of a recorded CreateExperiment request, which the trace truncates."""
        config = {**harness.TRUE_JOB, "name": "noop-const", "hyperparameters": {"actions": {}},
                  "entrypoint": ["python3", "program.py", self.home.folder, *arguments], **changes}
        content = base64.b64encode(PROGRAM.encode()).decode()
        return {"activate": True, "config": json.dumps(config), "modelDefinition": [
            {"path": "program.py", "type": 48, "content": content, "mtime": "1795244796",
             "mode": 33188, "uid": 0, "gid": 0}],
                "parentId": None, "projectId": None, "template": None, "validateOnly": False}

    def create(self, *arguments, **changes):
        answer = self.user.send("POST", "/api/v1/experiments", self.body(*arguments, **changes))
        self.assertEqual(200, answer.status, answer.text)
        return answer.json()["experiment"]["id"]

    def get(self, path):
        answer = self.user.send("GET", path)
        self.assertEqual(200, answer.status, answer.text)
        return answer.json()

    def trial_of(self, experiment):
        found = harness.eventually(
            lambda: self.get(f"/api/v1/experiments/{experiment}/trials")["trials"], "a trial")
        return found[0]["id"]

    def complete_checkpoint(self, experiment):
        found = self.get(f"/api/v1/experiments/{experiment}/checkpoints"
                         "?states=STATE_COMPLETED")["checkpoints"]
        self.assertTrue(found)
        return found[0]["uuid"]

    def environment(self, trial, before=0):
        """The environment of a running trial, which has had so many attempts before; waits until it
        runs."""
        path = f"{self.home.folder}/env-{trial}-{before}"
        harness.eventually(lambda: os.path.exists(path), f"the start of trial {trial}")
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    def let_end(self, trial):
        with open(f"{self.home.folder}/end-{trial}", "w", encoding="utf-8"):
            pass

    def is_over(self, experiment):
        return self.get(f"/api/v1/experiments/{experiment}")["experiment"]["state"] in ENDED

    def await_end(self, experiment):
        """Lets the trial end and waits for the end of the experiment."""
        trial = self.trial_of(experiment)
        self.let_end(trial)
        harness.eventually(lambda: self.is_over(experiment), f"the end of experiment {experiment}")
        os.remove(f"{self.home.folder}/end-{trial}")

    def continue_experiment(self, experiment, before):
        """Waits for the end of the experiment, then continues it."""
        self.await_end(experiment)
        answer = self.user.send("POST", "/api/v1/experiments/continue", {"id": experiment})
        self.assertEqual(200, answer.status, answer.text)
        self.environment(self.trial_of(experiment), before)


# Operations that launch a task: its name in the response, and its ids in the recording.
TASKS = {
    "LaunchCommand": ("command", ["fd666084-7e2e-4ba6-bdf5-a60e690bb816",
                                  "f7ffa6d8-c910-432b-95aa-c4d42903864f"]),
    "LaunchNotebook": ("notebook", ["be088ecd-d75c-47d3-be3f-bcb195ae0fd6"]),
    "LaunchShell": ("shell", []),
    "LaunchTensorboard": ("tensorboard", ["bdb3e973-6f6d-4901-b214-d02602aa59bb"]),
}


class CommandLineTest(Replay):
    def prepare(self):
        """Actions before an exchange, by command or request, that restore the state of the recorded
        server, which did not change between requests."""
        return {
            "POST /api/v1/experiments/1/archive": lambda: self.await_end(1),
            # An ended experiment is not in the queue.
            "det experiment set max-slots 1 2": lambda: self.continue_experiment(1, 1),
            "DELETE /api/v1/experiments/2": lambda: self.await_end(2),
            "POST /api/v1/experiments/continue": lambda: (self.kill(1), self.await_end(1)),
            "GET /api/v1/trials/1/logs?follow=true": lambda: self.environment(1, 2),
            "det template set t1 const.yaml": self.make_template,
            # The recorded request before this one disabled it.
            "POST /api/v1/agents/agent-0/slots/0/disable":
                lambda: self.user.send("POST", "/api/v1/agents/agent-0/enable"),
            "POST /api/v1/job-queues": lambda: self.continue_experiment(1, 3),
            "GET /api/v1/experiments/3/trials": lambda: self.trial_of(3),
        }

    def kill(self, experiment):
        self.user.send("POST", f"/api/v1/experiments/{experiment}/kill")

    def make_template(self):
        answer = self.user.send("POST", "/api/v1/templates/t1", {"name": "t1", "config": {}})
        self.assertEqual(200, answer.status, answer.text)

    def test_replays_all_exchanges(self):
        self.create("reports")
        self.create()
        self.environment(1)
        names = {NO_CHECKPOINT: "00000001-0000-4000-8000-000000000000"}
        prepare, last = self.prepare(), None
        report = replay.Report(EXCHANGES)
        report.check({"verb": "POST", "path": "/api/v1/auth/login", "status": 200,
                      "operation": "Login"}, self.login, "det user login")
        for step in EXCHANGES["client"]:
            request = f"{step['verb']} {step['path']}"
            try:
                if step["command"] != last:
                    prepare.get(step["command"], lambda: None)()
                prepare.get(request, lambda: None)()
            except AssertionError as error:  # The differences so far may show the reason.
                report.failures.append(f"before {request}: {error}")
                break
            last = step["command"]
            if last.startswith("det model register-version"):  # The first one was deleted in the meantime.
                names[NO_CHECKPOINT] = self.complete_checkpoint(1)
            known = {} if step["status"] == 404 else names
            body = self.body() if request == "POST /api/v1/experiments" else step.get("body")
            if step.get("operation") in TASKS:  # The slots are for the experiments.
                body = {**body, "config": {**body["config"], "resources": {"slots": 0}}}
            answer = self.user.send(step["verb"], replay.path_with(step["path"], known),
                                    replay.substitute(body, known))
            report.check(step, answer, step["command"])
            noun, recorded = TASKS.get(step.get("operation"), ("", []))
            if noun and answer.status == 200:
                names.update(dict.fromkeys(recorded, answer.json()[noun]["id"]))
            if last.startswith("det user rename") and step["verb"] == "PATCH":
                names["bob"] = "bob2"
            if request == "POST /api/v1/auth/logout":
                self.sign_in()
        self.assertFalse(report.failures, report.summary())

    def test_stores_recently_viewed_projects(self):
        def visit(**changes):
            return self.user.send("POST", "/api/v1/users/activity", {
                "activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT",
                "entityId": 1, **changes}).status
        self.assertEqual(200, visit())
        found = self.get("/api/v1/user/projects/activity?limit=5")["projects"]
        self.assertEqual(1, found[0]["id"])
        self.assertEqual(404, visit(entityId=999))
        self.assertEqual(400, visit(entityType="ENTITY_TYPE_UNSPECIFIED"))


class TaskTest(Replay):
    def test_replays_all_exchanges(self):
        report = replay.Report(EXCHANGES)
        runs = dict.fromkeys(step["run"] for step in EXCHANGES["task"])
        trials = [self.replay_task(run, report) for run in runs]
        self.assertFalse(report.failures, report.summary())
        self.check_reports(trials[0])

    def check_reports(self, number):
        """Checks the reports of the first run, whose trace ends with a validation after three steps."""
        trial = self.get(f"/api/v1/trials/{number}")["trial"]
        loss = trial["latestValidation"]["metrics"]["avgMetrics"]["loss"]
        self.assertAlmostEqual(0.3667, loss, places=3)
        self.assertEqual("training", trial["runnerState"])
        self.assertEqual(1, trial["progress"])
        done = self.get(f"/api/v1/trials/{number}/workloads?limit=100")["workloads"]
        kinds = [next(iter(each)) for each in done]
        self.assertEqual(kinds.count("training"), kinds.count("validation"), kinds)
        self.assertIn("checkpoint", kinds)
        self.assertIn("shipped", self.user.send("GET", f"/api/v1/trials/{number}/logs").text)

    def test_rejects_requests_of_a_task_for_another(self):
        first, second = (self.trial_of(self.create()) for _ in range(2))
        env, other = self.environment(first), self.environment(second)
        task = replay.Client(self.home.port, {
            "Grpc-Metadata-X-Allocation-Token": "Bearer " + env["DET_SESSION_TOKEN"]})
        for path in (f"/api/v1/trials/{second}", "/api/v1/users",
                     f"/api/v1/tasks/{other['DET_TASK_ID']}/context_directory",
                     f"/api/v1/allocations/{other['DET_ALLOCATION_ID']}/signals/preemption"):
            answer = task.send("GET", path)
            self.assertEqual(403, answer.status, f"{path}: {answer.text}")
        answer = task.send("POST", f"/api/v1/trials/{second}/metrics", {
            "group": "validation", "metrics": {"trialId": second, "stepsCompleted": 1,
                                               "metrics": {"avgMetrics": {"loss": 0}}}})
        self.assertEqual(403, answer.status, answer.text)
        for trial in (first, second):
            self.let_end(trial)

    def replay_task(self, run, report):
        experiment = self.create()
        trial = self.trial_of(experiment)
        env = self.environment(trial)
        token = {"Grpc-Metadata-x-allocation-token": "Bearer " + env["DET_SESSION_TOKEN"]}
        task = replay.Client(self.home.port, token)
        steps = [step for step in EXCHANGES["task"] if step["run"] == run]
        last_checkpoint = None
        for count, step in enumerate(steps):
            if "timeout_seconds=60" in step["path"]:  # The recorded task was preempted here.
                self.user.send("POST", f"/api/v1/experiments/{experiment}/pause")
            if step.get("operation") == "ReportCheckpoint":
                last_checkpoint = f"{trial:08x}-0000-4000-8000-{count:012x}"
            names = {"1.UUID": env["DET_TASK_ID"], "1.UUID.1": env["DET_ALLOCATION_ID"],
                     "UUID": last_checkpoint or env["DET_AGENT_ID"]}
            answer = task.send(step["verb"], self.path_of(step["path"], names, experiment, trial),
                               self.body_of(step, names, experiment, trial))
            report.check(step, answer, run)
            if "timeout_seconds=60" in step["path"] and answer.status == 200:
                if answer.json().get("preempt") is not True:
                    report.failures.append(f"{run}: not preempted: {answer.text}")
        self.let_end(trial)
        return trial

    @staticmethod
    def path_of(path, names, experiment, trial):
        """A recorded path, with the IDs of this experiment and trial."""
        path = replay.path_with(path, names)
        for noun, number in (("experiments", experiment), ("trials", trial), ("runs", trial)):
            path = path.replace(f"/{noun}/1", f"/{noun}/{number}")
        return path

    @staticmethod
    def body_of(step, names, experiment, trial):
        body = replay.substitute(step.get("body"), names)
        if step.get("operation") == "PostTaskLogs" and not body:
            body = {"logs": [{"timestamp": "2026-11-21T07:32:30.738544+00:00", "stdtype": "stderr",
                              "allocation_id": names["1.UUID.1"], "task_id": names["1.UUID"],
                              "trial_id": str(trial), "container_id": "c", "agent_id": "agent-0",
                              "source": "task", "level": "LOG_LEVEL_INFO", "log": "shipped\n"}]}
        for holder in (body, (body or {}).get("metrics")):
            for name, number in (("trialId", trial), ("runId", trial),
                                 ("experimentId", experiment)):
                if isinstance(holder, dict) and name in holder:
                    holder[name] = number
        metrics = (body or {}).get("metrics", {}).get("metrics")
        if metrics and step.get("batches"):
            metrics["batchMetrics"] = [metrics["avgMetrics"]] * step["batches"]
        return body


class ExchangesTest(unittest.TestCase):
    def test_exchanges_are_complete(self):
        for step in EXCHANGES["client"] + EXCHANGES["task"]:
            self.assertIn(step["verb"], ("GET", "POST", "PUT", "PATCH", "DELETE"), step)
            self.assertTrue(step["path"].startswith("/"), step)
            self.assertTrue(step.get("command") or step.get("run"), step)
            known = step.get("operation") in EXCHANGES["needs"]
            self.assertTrue(known or unserved.expectation(step), step)


if __name__ == "__main__":
    harness.main()
