#!/usr/bin/env -S python3 -B
"""Compares the golden responses of the dashboard tests with those of a real master (README.md)."""
import json
import os
import re
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
import replay  # noqa: E402
import shapes  # noqa: E402

GOLDENS = "tests/contract/goldens"
# The directory for the current responses of the master, with which golden files can be updated.
OUTPUTS = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")

# Sends one report of each kind, and exits.
REPORTS = r"""
import json, os, pathlib, urllib.request, uuid

info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())

def call(method, body):
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        json.dumps({"allocationId": info["allocation_id"], "trialId": info["trial_id"],
                    **body}).encode(),
        {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})).read()

for group, metrics in (("training", {"loss": 0.5, "accuracy": 0.75}), ("validation", {"loss": 0.25}),
                       ("system", {"cpu_util": 50.0})):
    call("ReportMetrics", {"trialRunId": info["trial_run_id"], "reports": [
        {"group": group, "stepsCompleted": 4, "metrics": metrics}]})
name = str(uuid.uuid4())
folder = pathlib.Path(info["checkpoint_dir"], name)
folder.mkdir(parents=True)
(folder / "model.pt").write_bytes(bytes(1000))
call("ReportCheckpoint", {"uuid": name, "stepsCompleted": 4, "resources": {"model.pt": 1000}})
"""


def read_goldens():
    found = {}
    for name in sorted(os.listdir(GOLDENS)):
        with open(os.path.join(GOLDENS, name), encoding="utf-8") as f:
            found[name.removesuffix(".json")] = json.load(f)
    return found


class GoldensTest(harness.ClusterTestCase):
    """Creates the state of the cluster to which all golden responses refer."""

    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def fetch(self, verb, path, body=None):
        answer = self.admin.send(verb, path, body)
        self.assertEqual(200, answer.status, f"{verb} {path}: {answer.text}")
        return answer

    def post(self, path, **body):
        return self.fetch("POST", "/api/v1/" + path, body).json()

    def make_experiments(self):
        """Creates an ended experiment in the default project, and two others, one of which waits."""
        config = harness.job(
            name="mnist", description="of one trial", labels=["vision"],
            entrypoint=["python3", "reports.py"], hyperparameters={"lr": 0.125})
        ended = self.home.create(config, self.home.context({"reports.py": REPORTS}))
        self.assert_state(self.home.finish(ended), "COMPLETED")
        trial = self.home.first_trial(ended)["id"]
        self.post(f"runs/{trial}/metadata", metadata={"data": {"version": "v2"}})
        sleeps = harness.job(name="sleeps", entrypoint="sleep 600", workspace="vision",
                             project="nets", resources={"slots_per_trial": 2})
        running, waiting = self.home.create(sleeps), self.home.create(sleeps)
        self.await_state(running, "STATE_RUNNING")
        self.await_state(waiting, "STATE_QUEUED")
        return {"experiment": ended, "trial": trial, "waiting": waiting}

    def await_state(self, experiment, state):
        harness.eventually(
            lambda: self.home.experiment(experiment)["state"] == state, f"{experiment} {state}")

    def make_spaces(self):
        workspace = self.post("workspaces", name="vision")["workspace"]["id"]
        project = self.post(f"workspaces/{workspace}/projects", name="nets",
                            description="What sees")["project"]["id"]
        self.fetch("PUT", f"/api/v1/projects/{project}/notes",
                 {"notes": [{"name": "Plan", "contents": "# Try"}]})
        self.fetch("PUT", "/api/v1/quotas", {"quota": {
            "scope": "workspace", "name": "vision", "maxSlots": 8, "slotHours": 100}})
        return {"workspace": workspace, "project": project}

    def make_users(self, workspace):
        user = self.post("users", user={"username": "bob", "displayName": "Bob", "active": True},
                         password="Secret456")["user"]["id"]
        self.post("roles/add-assignments", userRoleAssignments=[{
            "userId": user, "roleAssignment": {
                "role": {"name": "Editor"}, "scopeWorkspaceId": workspace}}])
        group = self.post("groups", name="researchers", addUsers=[user])["group"]["groupId"]
        self.post("roles/add-assignments", groupRoleAssignments=[{
            "groupId": group, "roleAssignment": {
                "role": {"name": "Viewer"}, "scopeWorkspaceId": workspace}}])
        self.post("tokens", description="nightly")
        return {"user": user, "group": group}

    def make_rest(self, names):
        self.post("templates/small", name="small", config={"max_restarts": 1})
        trigger = {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
                   "condition": {"state": "COMPLETED"}}
        hook = self.post("webhooks", name="ci", url="https://ci.example.org/hook",
                         webhookType="WEBHOOK_TYPE_DEFAULT", mode="WEBHOOK_MODE_WORKSPACE",
                         workspaceId=names["workspace"], triggers=[trigger])["webhook"]["id"]
        self.post("models", name="classifier", description="Says what is seen", labels=["good"],
                  notes="# Why", metadata={"owner": "bob"}, workspaceId=names["workspace"])
        found = self.fetch("GET", f"/api/v1/trials/{names['trial']}/checkpoints").json()
        self.post("models/classifier/versions", comment="the first",
                  checkpointUuid=found["checkpoints"][0]["uuid"])
        return {"hook": hook}

    def read(self, golden, names):
        """The response of the master to the request of a golden file; for a stream, its first
        message."""
        verb, path = re.sub(
            r"\{(\w+)\}", lambda part: str(names[part[1]]), golden["request"]).split(" ", 1)
        answer = self.fetch(verb, path, golden.get("body"))
        if "stream" not in golden:
            return answer.json()
        return json.loads(answer.text.partition("\n")[0])["result"]

    def test_golden_files_have_the_shape_of_responses(self):
        names = self.make_spaces()
        names |= self.make_experiments()
        names |= self.make_users(names["workspace"])
        names |= self.make_rest(names)
        api = self.fetch("GET", "/api/v1/openapi.json").json()
        failures = []
        for name, golden in read_goldens().items():
            answer = self.read(golden, names)
            if OUTPUTS:
                with open(f"{OUTPUTS}/{name}.json", "w", encoding="utf-8") as f:
                    json.dump({**golden, "answer": answer}, f, indent=2)
            checker = shapes.Shapes(api["components"]["schemas"], golden.get("optional", ()))
            schema = {"$ref": "#/" + golden["message"]}
            failures += [f"{name}: {each}" for each in
                         checker.problems(golden["answer"], answer, schema)]
        self.assertFalse(failures, "\n".join(failures))


class ShapesTest(unittest.TestCase):
    SCHEMAS = {"Trial": {"type": "object", "properties": {
        "id": {"type": "integer"}, "state": {"type": "string", "enum": ["A", "B"]},
        "end": {"type": "string"}, "hparams": {"type": "object"}}}}
    LIST = {"type": "array", "items": {"$ref": "#/Trial"}}

    def problems(self, golden, answer, *optional):
        return shapes.Shapes(self.SCHEMAS, optional).problems(golden, answer, self.LIST)

    def test_ignores_values(self):
        self.assertEqual([], self.problems([{"id": 1, "state": "A", "hparams": {"lr": 1}}],
                                           [{"id": 2, "state": "B", "hparams": {}}]))

    def test_reports_missing_and_new_fields(self):
        self.assertEqual(["[].end is not in the golden file", "[].id is missing"],
                         self.problems([{"id": 1}], [{"end": "x"}]))
        self.assertEqual([], self.problems([{"id": 1}], [{"id": 1, "end": "x"}], "[].end"))

    def test_reports_fields_that_are_not_always_present(self):
        both = [{"id": 1, "end": "x"}, {"id": 2}]
        self.assertEqual([], self.problems(both, both))
        self.assertEqual(["[].end is not always present"], self.problems(both[:1], both))

    def test_reports_invalid_values(self):
        [kind] = self.problems([{"id": 1}], [{"id": "1"}])
        self.assertIn("of the master is not integer", kind)
        [name] = self.problems([{"state": "C"}], [{"state": "A"}])
        self.assertIn("of the golden file is not one of A, B", name)
        self.assertEqual(["[].lr is not a field of the API"], self.problems([{"lr": 1}], [{"lr": 1}]))

    def test_reports_an_empty_list(self):
        self.assertEqual(["[]: the list of the master is empty"], self.problems([{"id": 1}], []))


if __name__ == "__main__":
    harness.main()
