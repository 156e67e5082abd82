#!/usr/bin/env -S python3 -B
"""Follows projects, models and model versions over the websocket /stream, also with the existing client."""
import glob
import json
import os
import queue
import subprocess
import sys
import threading
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
import replay  # noqa: E402

ENVIRONMENT = harness.find_environment("existing-client")
sys.path += glob.glob(ENVIRONMENT + "/lib/python3*/site-packages")
import lomond  # noqa: E402
from determined.common import streams  # noqa: E402
from determined.common.api import authentication  # noqa: E402
from determined.common.streams._client import ModelSpec  # noqa: E402

PASSWORD = "Stream-Passw0rd"

KEYS = {
    "project": {"id", "name", "description", "archived", "created_at", "notes", "workspace_id",
                "user_id", "immutable", "state", "key", "seq"},
    "model": {"id", "name", "description", "archived", "creation_time", "notes", "workspace_id",
              "user_id", "last_updated_time", "metadata", "labels", "seq"},
    "modelversion": {"id", "name", "version", "checkpoint_uuid", "creation_time",
                     "last_updated_time", "metadata", "model_id", "user_id", "comment", "labels",
                     "notes", "workspace_id", "seq"},
}

# Reports a checkpoint.
REPORT = r"""
import json, os, pathlib, urllib.request

info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
name = "00000000-0000-4000-8000-000000000001"
folder = pathlib.Path(info["checkpoint_dir"], name)
folder.mkdir(parents=True)
(folder / "model.pt").write_bytes(bytes(10))
urllib.request.urlopen(urllib.request.Request(
    os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/ReportCheckpoint",
    json.dumps({"allocationId": info["allocation_id"], "trialId": info["trial_id"], "uuid": name,
                "stepsCompleted": 4, "resources": {"model.pt": 10}}).encode(),
    {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})).read()
"""
CHECKPOINT = "00000000-0000-4000-8000-000000000001"


class Follower:
    """A client of /stream that keeps its messages."""

    def __init__(self, port, token, origin=None):
        self.socket = lomond.WebSocket(f"ws://127.0.0.1:{port}/stream", proxies={})
        if token:
            self.socket.add_header(b"Authorization", b"Bearer " + token.encode())
        if origin:
            self.socket.add_header(b"Origin", origin.encode())
        self.events, self.closed = queue.Queue(), None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        for event in self.socket.connect(ping_rate=0):
            if event.name == "text":
                self.events.put(json.loads(event.text))
            elif event.name in ("ready", "rejected", "connect_fail"):
                self.events.put(event)
            elif event.name == "closing":
                self.closed = (event.code, event.reason)
        self.events.put(None)

    def next(self):
        return self.events.get(timeout=harness.TIMEOUT)

    def subscribe(self, known, **specs):
        """Sends a request; returns the messages of the sync, without its begin and end."""
        self.socket.send_text(json.dumps({"sync_id": "x", "known": known, "subscribe": specs}))
        messages = []
        while True:
            message = self.next()
            if message == {"sync_id": "x", "complete": False}:
                messages = []
            elif message == {"sync_id": "x", "complete": True}:
                return messages
            else:
                messages.append(message)

    def close(self):
        self.socket.close()
        self.thread.join(harness.TIMEOUT)


class StreamTest(harness.ClusterTestCase):
    slots = 1

    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        config = cls.home.write("master.yaml", {"feature_switches": ["streaming_updates"]})
        try:
            cls.home.up(cls.agents, cls.slots, "--master-config", config,
                        "--admin-password", PASSWORD)
            cls.make_checkpoint()
        except BaseException:
            cls.home.close()
            raise

    @classmethod
    def make_checkpoint(cls):
        config = harness.job(entrypoint=["python3", "report.py"])
        ended = cls.home.create(config, cls.home.context({"report.py": REPORT}))
        assert cls.home.finish(ended)["state"] == "STATE_COMPLETED", cls.home.logs()

    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            self.token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + self.token})
        # Another workspace for each test; names are limited to 80 characters.
        self.name = self._testMethodName[:60]
        self.workspace = self.post("workspaces", name=self.name)["workspace"]["id"]
        self.project = self.make_project("second")

    def send(self, verb, path, body=None):
        answer = self.admin.send(verb, "/api/v1/" + path, body)
        self.assertEqual(200, answer.status, f"{verb} {path}: {answer.text}")
        return answer.json()

    def post(self, path, **body):
        return self.send("POST", path, body)

    def make_project(self, name):
        path = f"workspaces/{self.workspace}/projects"
        return self.post(path, name=f"{name} of {self.name}")["project"]["id"]

    def make_model(self, name):
        return self.post("models", name=f"{name} of {self.name}",
                         workspaceId=self.workspace)["model"]["id"]

    def follow(self, token=None, **options):
        follower = Follower(self.home.port, token or self.token, **options)
        self.addCleanup(follower.close)
        self.assertEqual("ready", follower.next().name)
        return follower

    def assert_record(self, message, kind, record, **values):
        self.assertEqual([kind], list(message))
        self.assertEqual(KEYS[kind], set(message[kind]))
        self.assertEqual(record, message[kind]["id"])
        for name, value in values.items():
            self.assertEqual(value, message[kind][name], name)

    # ---- the examples of the original service

    def test_sends_what_differs_from_known_projects(self):
        follower = self.follow()
        both = [1, self.project]
        for known, ids, deleted in (([1, self.project], both, ""),
                                    ([1, self.project, 999], [*both, 999], "999"),
                                    ([1, self.project], [1], str(self.project))):
            messages = follower.subscribe({"projects": ",".join(map(str, known))},
                                          projects={"project_ids": ids})
            self.assertEqual([{"projects_deleted": deleted}], messages)
        first, second = follower.subscribe({"projects": "1"}, projects={"project_ids": both})
        self.assertEqual({"projects_deleted": ""}, first)
        self.assert_record(second, "project", self.project, workspace_id=self.workspace, notes=[],
                           state="UNSPECIFIED", archived=False, immutable=False)

    def test_follows_a_project_until_it_is_deleted(self):
        follower = self.follow()
        follower.subscribe({"projects": str(self.project)},
                           projects={"workspace_ids": [self.workspace]})
        third = self.make_project("third")
        self.assert_record(follower.next(), "project", third, workspace_id=self.workspace)
        self.post(f"projects/{third}/move", destinationWorkspaceId=1)
        self.assertEqual({"projects_deleted": str(third)}, follower.next())
        self.post(f"projects/{third}/move", destinationWorkspaceId=self.workspace)
        self.assert_record(follower.next(), "project", third, workspace_id=self.workspace)
        follower.subscribe({"projects": f"{self.project},{third}"}, projects={"project_ids": [third]})
        self.post(f"projects/{third}/move", destinationWorkspaceId=1)
        self.assert_record(follower.next(), "project", third, workspace_id=1)
        self.send("DELETE", f"projects/{third}")
        message = follower.next()
        while "project" in message:  # It may be seen while it is being deleted.
            message = follower.next()
        self.assertEqual({"projects_deleted": str(third)}, message)

    def test_follows_all_kinds(self):
        model = self.make_model("first")
        version = self.post(f"models/{model}/versions", checkpointUuid=CHECKPOINT)["modelVersion"]
        follower = self.follow()
        messages = follower.subscribe(
            {"projects": str(self.project), "models": str(model), "modelversions": str(version["id"])},
            projects={"workspace_ids": [self.workspace]}, models={"workspace_ids": [self.workspace]},
            modelversions={"model_ids": [model]})
        self.assertEqual([{"projects_deleted": ""}, {"models_deleted": ""},
                          {"modelversions_deleted": ""}], messages)
        third = self.make_project("third")
        self.assert_record(follower.next(), "project", third)
        second = self.make_model("second")
        self.assert_record(follower.next(), "model", second, labels=[], metadata={}, notes="")
        added = self.post(f"models/{model}/versions", checkpointUuid=CHECKPOINT, name="v2")
        found = [follower.next(), follower.next()]  # The model changes, too.
        found.sort(key=lambda message: "modelversion" in message)
        self.assert_record(found[0], "model", model)
        self.assert_record(found[1], "modelversion", added["modelVersion"]["id"], version=2,
                           name="v2", model_id=model, checkpoint_uuid=CHECKPOINT)

    def test_version_moves_with_its_model(self):
        model = self.make_model("moved")
        version = self.post(f"models/{model}/versions", checkpointUuid=CHECKPOINT)["modelVersion"]["id"]
        follower = self.follow()
        deleted, found = follower.subscribe({}, modelversions={"model_ids": [model]})
        self.assertEqual({"modelversions_deleted": ""}, deleted)
        self.assert_record(found, "modelversion", version, workspace_id="")
        self.post(f"models/{model}/move", destinationWorkspaceId=1)
        self.assert_record(follower.next(), "modelversion", version, workspace_id="1")

    def test_follows_models_of_a_user(self):
        follower = self.follow()
        follower.subscribe({}, models={"user_ids": [1]})
        model = self.make_model("of admin")
        self.assert_record(follower.next(), "model", model, user_id=1)

    # ---- beyond them

    def test_sends_what_changed_while_the_client_was_away(self):
        follower = self.follow()
        spec = {"workspace_ids": [self.workspace]}
        seq = follower.subscribe({}, projects=spec)[1]["project"]["seq"]
        follower.close()
        self.send("PATCH", f"projects/{self.project}", {"description": "changed"})
        follower = self.follow()
        known = {"projects": str(self.project)}
        found = follower.subscribe(known, projects={**spec, "since": seq})
        self.assert_record(found[1], "project", self.project, description="changed")
        seq = found[1]["project"]["seq"]
        self.assertEqual([{"projects_deleted": ""}],
                         follower.subscribe(known, projects={**spec, "since": seq}))

    def test_sends_only_what_the_user_may_see(self):
        user = self.post("users", user={"username": self.name, "active": True},
                         password=PASSWORD)["user"]["id"]
        login = self.post("auth/login", username=self.name, password=PASSWORD)
        follower = self.follow(token=login["token"])
        known = {"projects": str(self.project)}
        spec = {"project_ids": [self.project]}
        self.assertEqual([{"projects_deleted": str(self.project)}],
                         follower.subscribe(known, projects=spec))
        assignment = {"userId": user, "roleAssignment": {
            "role": {"name": "Viewer"}, "scopeWorkspaceId": self.workspace}}
        self.post("roles/add-assignments", userRoleAssignments=[assignment])
        self.assert_record(follower.next(), "project", self.project)
        self.post("roles/remove-assignments", userRoleAssignments=[assignment])
        self.assertEqual({"projects_deleted": str(self.project)}, follower.next())

    def test_closes_after_a_bad_request_and_after_the_end_of_the_session(self):
        follower = self.follow()
        follower.socket.send_text('{"sync_id": "x", "subscribe": {"projects": {}}}')
        self.assertIsNone(follower.next())
        self.assertEqual((1008, "subscribe.projects: name the records to follow"), follower.closed)

        token = self.post("auth/login", username="admin", password=PASSWORD)["token"]
        follower = self.follow(token=token)
        follower.subscribe({}, projects={"project_ids": [1]})
        own = replay.Client(self.home.port, {"Authorization": "Bearer " + token})
        self.assertEqual(200, own.send("POST", "/api/v1/auth/logout").status)
        self.assertIsNone(follower.next())
        self.assertEqual(1008, follower.closed[0])

    def test_refuses_clients_without_a_token_and_other_pages(self):
        for token, origin, status in ((None, None, 401), ("wrong", None, 401),
                                      (self.token, "https://other.example", 403)):
            event = Follower(self.home.port, token, origin).next()
            self.assertEqual(("rejected", status), (event.name, event.response.status_code))
        self.assertEqual(400, self.admin.send("GET", "/stream").status)

    def test_serves_the_existing_client(self):
        session = authentication.login(f"http://127.0.0.1:{self.home.port}", "admin", PASSWORD)
        stream = streams.Stream(streams.LomondStreamWebSocket(session))
        stream.subscribe(sync_id="a", projects=streams.ProjectSpec(workspace_id=self.workspace),
                         models=ModelSpec(workspace_id=self.workspace))
        events = iter(stream)
        self.assertEqual(streams.Sync("a", False), next(events))
        found = next(events)
        self.assertEqual((self.project, self.workspace), (found.id, found.workspace_id))
        self.assertEqual(streams.Sync("a", True), next(events))
        model = self.make_model("followed")
        self.assertEqual(model, next(events).id)
        self.send("DELETE", f"models/{model}")
        self.assertEqual(str(model), next(events).keys)
        stream.close()

    def test_lists_the_feature_switch(self):
        self.assertEqual(["streaming_updates"], self.send("GET", "master")["featureSwitches"])
        config = self.send("GET", "master/config")["config"]
        self.assertEqual(["streaming_updates"], config["feature_switches"])


class WithoutSwitchTest(unittest.TestCase):
    def test_has_no_stream(self):
        home = harness.Home()
        self.addCleanup(home.close)
        home.up(0)
        with open(home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        event = Follower(home.port, token).next()
        self.assertEqual(("rejected", 404), (event.name, event.response.status_code))


if __name__ == "__main__":
    harness.main()
