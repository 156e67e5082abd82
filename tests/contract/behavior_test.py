#!/usr/bin/env -S python3 -B
"""Tests behavior that programs and scripts for existing clients rely on: states, effects and the
words of errors, which the recorded answers do not show (README.md)."""
import base64
import glob
import json
import os
import sys
import tempfile
import time
import urllib.parse

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
import replay  # noqa: E402

ENDED = ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR", "STATE_DELETED")

# Sends the calls that its argument lists (method, path, body), writes its environment to a file,
# then runs until the end file exists and ends with its code.
PROGRAM = r"""
import json, os, re, sys, time, urllib.request
folder, trial = sys.argv[1], os.environ["DET_TRIAL_ID"]
def fill(text):
    return re.sub(r"\$(DET_\w+)", lambda m: os.environ[m[1]], text)
print("begun", flush=True)
for method, path, body in json.loads(sys.argv[2]):
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + fill(path), fill(json.dumps(body)).encode(), method=method,
        headers={"Grpc-Metadata-x-allocation-token": "Bearer " + os.environ["DET_SESSION_TOKEN"]})
        ).read()
path = f"{folder}/env-{trial}-{os.environ['DET_TRIAL_RUN_ID']}"
with open(path + ".part", "w") as f:
    json.dump({**os.environ, "cwd": os.getcwd()}, f)
os.rename(path + ".part", path)
while not os.path.exists(f"{folder}/end-{trial}"):
    time.sleep(0.02)
with open(f"{folder}/end-{trial}") as f:
    sys.exit(int(f.read() or 0))
"""


def report(group, steps, metrics):
    """A call with which a task reports metrics."""
    return ("POST", "/api/v1/trials/$DET_TRIAL_ID/metrics", {
        "group": group, "metrics": {"stepsCompleted": steps, "metrics": {"avgMetrics": metrics}}})


class BehaviorTest(harness.ClusterTestCase):
    agents, slots = 1, 4
    config = None  # of the master

    @classmethod
    def setUpClass(cls):
        if cls.config:
            with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
                json.dump(cls.config, file)
                file.flush()
                cls.options = ("--master-config", file.name)
                super().setUpClass()
        else:
            super().setUpClass()
        with open(cls.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        cls.admin = replay.Client(cls.home.port, {"Authorization": "Bearer " + token})
        cls.outside = replay.Client(cls.home.port, {})
        cls.names = 0

    # ---- requests

    def call(self, verb, path, body=None, status=200, client=None):
        """The response as JSON; for an error, its text."""
        answer = (client or self.admin).send(verb, path, body)
        self.assertEqual(status, answer.status, f"{verb} {path}: {answer.text[:500]}")
        return answer.json() if status == 200 else answer.text

    def get(self, path, **options):
        return self.call("GET", path, **options)

    def stream(self, path):
        answer = self.admin.send("GET", path)
        self.assertEqual(200, answer.status, answer.text)
        return answer.results()

    def name(self, kind="thing"):
        type(self).names += 1
        return f"{kind}-{self.names}"

    def log_in(self, username, password, status=200):
        return self.call("POST", "/api/v1/auth/login",
                         {"username": username, "password": password, "isHashed": False}, status,
                         client=self.outside)

    def make_user(self, **changes):
        """(the user, a client with the user's token)"""
        user = {"username": self.name("user"), "active": True, **changes}
        user = self.call("POST", "/api/v1/users", {
            "user": user, "password": "Passw0rd.1", "isHashed": False})["user"]
        token = self.log_in(user["username"], "Passw0rd.1")["token"]
        return user, replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def make_workspace(self, **fields):
        return self.call("POST", "/api/v1/workspaces", {"name": self.name("workspace"), **fields})[
            "workspace"]

    def make_project(self, workspace):
        return self.call("POST", f"/api/v1/workspaces/{workspace}/projects", {
            "name": self.name("project"), "workspaceId": workspace})["project"]["id"]

    # ---- experiments

    def make(self, *calls, client=None, status=200, validate=False, project=None, **config):
        """Creates an experiment whose task sends the calls, and returns the answer."""
        config = {**harness.TRUE_JOB, "name": self.name("experiment"),
                  "entrypoint": ["python3", "program.py", self.home.folder, json.dumps(calls)],
                  **config}
        content = base64.b64encode(PROGRAM.encode()).decode()
        body = {"activate": True, "config": json.dumps(config), "validateOnly": validate,
                "modelDefinition": [{"path": "program.py", "type": 48, "content": content,
                                     "mtime": "1795244796", "mode": 33188, "uid": 0, "gid": 0}]}
        if project:
            body["projectId"] = project
        return self.call("POST", "/api/v1/experiments", body, status, client=client)

    def create(self, *calls, **config):
        return self.make(*calls, **config)["experiment"]["id"]

    def experiment(self, experiment):
        return self.get(f"/api/v1/experiments/{experiment}")["experiment"]

    def trial_of(self, experiment):
        return harness.eventually(
            lambda: self.get(f"/api/v1/experiments/{experiment}/trials")["trials"], "a trial"
        )[0]["id"]

    def environment(self, experiment, attempts=1):
        """Waits until the task has sent its calls; returns the environment of its last attempt."""
        trial = self.trial_of(experiment)

        def poll():
            found = sorted(glob.glob(f"{self.home.folder}/env-{trial}-*[0-9]"))
            if len(found) >= attempts:
                return found[-1]
            state = self.experiment(experiment)["state"]
            log = self.admin.send("GET", f"/api/v1/trials/{trial}/logs").text
            self.assertNotIn(state, ENDED, log)
            return None
        with open(harness.eventually(poll, "the start of the task"), encoding="utf-8") as f:
            return json.load(f)

    def let_end(self, experiment, code=0):
        with open(f"{self.home.folder}/end-{self.trial_of(experiment)}", "w",
                  encoding="utf-8") as f:
            f.write(str(code))

    def await_state(self, experiment, *states):
        def poll():
            return self.experiment(experiment)["state"] in [f"STATE_{each}" for each in states]
        harness.eventually(poll, f"{states} of experiment {experiment}", timeout=30)

    def end(self, experiment, code=0, state="COMPLETED"):
        self.let_end(experiment, code)
        self.await_state(experiment, state)
        os.remove(f"{self.home.folder}/end-{self.trial_of(experiment)}")

    def run_experiment(self, *calls, code=0, state="COMPLETED", **config):
        """Runs an experiment to its end; returns its ID and that of its trial."""
        experiment = self.create(*calls, **config)
        self.environment(experiment)
        self.end(experiment, code, state)
        return experiment, self.trial_of(experiment)

    def log_of(self, trial):
        return "".join(each["message"] for each in self.stream(f"/api/v1/trials/{trial}/logs"))


class AnswersTest(BehaviorTest):
    def test_shows_unset_messages_as_null(self):
        agents = self.get("/api/v1/agents")["agents"]
        slots = list(agents[0]["slots"].values())
        self.assertIn(None, [slot["container"] for slot in slots])

    def test_validates_configuration_without_creating_an_experiment(self):
        experiment = self.make(validate=True)["experiment"]
        self.assertIn("startTime", experiment)
        self.assertIsNone(experiment["startTime"])

    def test_names_kind_and_id_of_what_is_not_found(self):
        uuid = "11111111-2222-4333-8444-555555555555"
        for path, kind, id_ in (
                ("experiments/9999", "experiment", "9999"), ("trials/9999", "trial", "9999"),
                (f"tasks/{uuid}", "task", uuid), (f"tasks/{uuid}/logs", "task", uuid),
                (f"checkpoints/{uuid}", "checkpoint", uuid), ("models/none", "model", "none"),
                ("templates/none", "template", "none"), ("users/9999", "user", "9999"),
                ("workspaces/9999", "workspace", "9999"), ("projects/9999", "project", "9999"),
                ("agents/none", "agent", "none")):
            text = self.get("/api/v1/" + path, status=404)
            error = json.loads(text)["error"]
            text = error.get("error") or error.get("message")
            for word in ("not found", kind, id_):
                self.assertIn(word, text.lower(), path)

    def test_login_tells_wrong_from_inactive(self):
        user, client = self.make_user()
        name = user["username"]
        for username, password in ((name, "wrong"), ("nobody", "wrong"), (name, "")):
            self.assertIn("invalid credentials", self.log_in(username, password, 401))
        self.call("PATCH", f"/api/v1/users/{user['id']}",
                  {"password": "Other.Passw0rd.1", "isHashed": False}, client=client)
        self.log_in(name, "Passw0rd.1", 401)
        self.log_in(name, "Other.Passw0rd.1")
        self.call("PATCH", f"/api/v1/users/{user['id']}", {"active": False})
        self.assertIn("user is not active", self.log_in(name, "Other.Passw0rd.1", 403))
        self.call("POST", "/api/v1/users", {
            "user": {"username": "far", "active": True, "remote": True}})
        self.log_in("far", "Passw0rd.1", 401)

    def test_protects_names_of_users(self):
        (first, client), (second, _) = self.make_user(), self.make_user(displayName="Second")
        path = f"/api/v1/users/{first['id']}"
        for taken in ("Admin", "determined", "DETERMINED", "second", second["username"].upper(),
                      "J\u00f6rg"):
            self.call("PATCH", path, {"displayName": taken}, status=400, client=client)
            self.call("POST", "/api/v1/users",
                      {"user": {"username": self.name("u"), "displayName": taken}}, status=400)
        self.call("POST", "/api/v1/users", {"user": {"username": "J\u00f6rg"}}, status=400)
        self.assertEqual("", self.get(path)["user"]["displayName"])
        self.call("PATCH", path, {"displayName": "Somebody"})
        self.call("PATCH", path, {"displayName": ""})
        self.assertEqual("", self.get(path)["user"]["displayName"])

    def test_links_all_of_an_agent_user_or_nothing(self):
        user, _ = self.make_user()
        path = f"/api/v1/users/{user['id']}"
        whole = {"agentUid": 1000, "agentGid": 1000, "agentUser": "u", "agentGroup": "g"}
        for bad in ({"agentUid": 1000, "agentGid": 1000}, {**whole, "agentUser": ""},
                    {**whole, "agentGroup": ""}):
            self.call("PATCH", path, {"agentUserGroup": bad}, status=400)
            self.call("POST", "/api/v1/users",
                      {"user": {"username": self.name("u"), "agentUserGroup": bad}}, status=400)
        self.call("PATCH", path, {"agentUserGroup": whole})
        self.assertEqual(whole, self.get(path)["user"]["agentUserGroup"])

    def test_master_configuration_has_what_clients_read(self):
        config = self.get("/api/v1/master/config")["config"]
        self.assertEqual([], config["feature_switches"])
        self.assertIs(True, config["launch_error"])
        self.assertIn("task_container_defaults", config)
        for pool in config["resource_pools"]:
            self.assertIn("task_container_defaults", pool)

    def test_shows_the_version_that_clients_compare_with(self):
        self.assertEqual("0.38.1", self.get("/api/v1/master")["version"])
        self.assertEqual("0.38.1", self.get("/info")["version"])

    def test_only_administrators_read_the_cluster_message(self):
        _, client = self.make_user()
        self.get("/api/v1/master/cluster_message", client=client, status=403)
        self.call("PUT", "/api/v1/master/cluster_message", {"message": "down at noon"})
        shown = self.get("/api/v1/master", client=client)["clusterMessage"]
        self.assertEqual("down at noon", shown["message"])
        self.call("DELETE", "/api/v1/master/cluster_message")

    def test_default_pool_cannot_be_bound(self):
        workspace = self.make_workspace()["id"]
        for verb in ("POST", "PUT"):
            text = self.call(verb, "/api/v1/resource-pools/default/workspace-bindings",
                             {"resourcePoolName": "default", "workspaceIds": [workspace]},
                             status=400)
            self.assertIn("default resource pool default cannot be bound to any workspace", text)

    def test_drained_agent_drains_its_slots(self):
        agent = self.get("/api/v1/agents")["agents"][0]["id"]
        self.call("POST", f"/api/v1/agents/{agent}/disable", {"agentId": agent, "drain": True})
        slots = self.get(f"/api/v1/agents/{agent}/slots")["slots"]
        self.assertEqual([(False, True)] * 4, [(s["enabled"], s["draining"]) for s in slots])
        self.call("POST", f"/api/v1/agents/{agent}/enable")

    def test_names_the_trial_of_a_task(self):
        experiment = self.create()
        env = self.environment(experiment)
        trial = self.trial_of(experiment)
        task = self.get("/tasks")[env["DET_ALLOCATION_ID"]]
        self.assertEqual(f"Trial {trial} (Experiment {experiment})", task["name"])
        self.assertTrue(task["resources"])
        for each in task["resources"]:
            self.assertTrue(each["agent_devices"])
            self.assertTrue(each["resources_type"])
        self.assertTrue(task["scheduler_type"])
        camel = self.get("/api/v1/tasks")["allocationIdToSummary"][env["DET_ALLOCATION_ID"]]
        self.assertTrue(camel["resources"][0]["agentDevices"])
        waiting = self.create(resources={"slots_per_trial": 4})
        found = harness.eventually(
            lambda: [each for each in self.get("/tasks").values()
                     if each["name"].endswith(f"(Experiment {waiting})")], "the task")
        self.assertEqual([], found[0]["resources"])
        self.call("POST", f"/api/v1/experiments/{waiting}/kill")
        self.end(experiment)
        self.assertNotIn(env["DET_ALLOCATION_ID"], self.get("/tasks"))


class WorkspacesTest(BehaviorTest):
    def pinned(self):
        return [each["id"] for each in self.get("/api/v1/workspaces?pinned=true")["workspaces"]]

    def test_new_workspace_is_pinned_for_its_creator(self):
        workspace = self.make_workspace()
        self.assertTrue(workspace["pinned"])
        self.assertIn(workspace["id"], self.pinned())
        self.call("POST", f"/api/v1/workspaces/{workspace['id']}/unpin")
        self.assertNotIn(workspace["id"], self.pinned())
        self.call("POST", f"/api/v1/workspaces/{workspace['id']}/pin")
        self.assertIn(workspace["id"], self.pinned())

    def test_archived_workspace_does_not_change(self):
        workspace, other = (self.make_workspace()["id"] for _ in range(2))
        project, outside = self.make_project(workspace), self.make_project(other)
        path = f"/api/v1/workspaces/{workspace}"
        self.call("POST", path + "/archive")
        attempts = (
            ("PATCH", path, {"name": self.name("w")}),
            ("POST", path + "/projects", {"name": "p", "workspaceId": workspace}),
            ("POST", f"/api/v1/projects/{outside}/move",
             {"projectId": outside, "destinationWorkspaceId": workspace}),
            ("POST", f"/api/v1/projects/{project}/archive", None),
            ("POST", f"/api/v1/projects/{project}/unarchive", None),
            ("POST", f"/api/v1/projects/{project}/move",
             {"projectId": project, "destinationWorkspaceId": other}))
        for attempt in attempts:
            answer = self.admin.send(*attempt)
            self.assertIn(answer.status, (400, 404, 409), (attempt, answer.text))
        self.assertTrue(self.get(f"/api/v1/projects/{project}")["project"]["archived"])
        self.call("POST", path + "/unarchive")
        for attempt in attempts:
            self.call(*attempt)

    def test_archived_project_does_not_change(self):
        workspace = self.make_workspace()["id"]
        project, other = self.make_project(workspace), self.make_project(workspace)
        experiment = self.make(project=project, entrypoint="true")["experiment"]["id"]
        outside = self.make(project=other, entrypoint="true")["experiment"]["id"]
        for each in (experiment, outside):
            self.await_state(each, "COMPLETED")
        path = f"/api/v1/projects/{project}"
        self.call("POST", path + "/archive")
        for attempt in (
                ("PATCH", path, {"name": self.name("p")}),
                ("POST", path + "/move", {"projectId": project, "destinationWorkspaceId": 1}),
                ("POST", f"/api/v1/experiments/{experiment}/move",
                 {"experimentId": experiment, "destinationProjectId": other})):
            answer = self.admin.send(*attempt)
            self.assertIn(answer.status, (400, 404, 409), (attempt, answer.text))
        answer = self.admin.send("POST", f"/api/v1/experiments/{outside}/move",
                                 {"experimentId": outside, "destinationProjectId": project})
        self.assertIn(answer.status, (400, 404), answer.text)
        self.assertIn("is archived and cannot add new experiments", answer.text)
        listed = [each["id"] for each in
                  self.get("/api/v1/experiments?archived=false&limit=-1")["experiments"]]
        self.assertNotIn(experiment, listed)
        self.assertIn(outside, listed)
        listed = self.get(f"/api/v1/experiments?archived=false&projectId={project}")["experiments"]
        self.assertEqual([experiment], [each["id"] for each in listed])
        self.assertTrue(listed[0]["parentArchived"])
        listed = [each["id"] for each in self.get("/api/v1/experiments?limit=-1")["experiments"]]
        self.assertIn(experiment, listed)

    def test_sorts_names_without_regard_to_case(self):
        for name in ("_Patched", "_PRJ", "_Early", "b-low", "Z-high"):
            self.make_workspace(name=name)
        names = [each["name"] for each in
                 self.get("/api/v1/workspaces?sortBy=SORT_BY_NAME")["workspaces"]]
        chosen = [name for name in names if name[0] in "_bZ"]
        self.assertEqual(["_Early", "_Patched", "_PRJ", "b-low", "Z-high"], chosen)
        workspace = self.make_workspace()["id"]
        for name in ("_Patched", "_PRJ", "_Early"):
            self.call("POST", f"/api/v1/workspaces/{workspace}/projects",
                      {"name": name, "workspaceId": workspace})
        projects = self.get(f"/api/v1/workspaces/{workspace}/projects?sortBy=SORT_BY_NAME")
        self.assertEqual(["_Early", "_Patched", "_PRJ"],
                         [each["name"] for each in projects["projects"]])

    def test_deletes_workspace_with_its_experiments(self):
        workspace = self.make_workspace()["id"]
        project = self.make_project(workspace)
        experiment = self.make(project=project, entrypoint="true")["experiment"]["id"]
        self.await_state(experiment, "COMPLETED")
        self.assertIs(False, self.call("DELETE", f"/api/v1/workspaces/{workspace}")["completed"])
        harness.eventually(
            lambda: self.admin.send("GET", f"/api/v1/workspaces/{workspace}").status == 404,
            "the deletion of the workspace", timeout=30)
        self.get(f"/api/v1/experiments/{experiment}", status=404)
        with_model = self.make_workspace()["id"]
        self.call("POST", "/api/v1/models", {"name": self.name("m"), "workspaceId": with_model})
        self.call("DELETE", f"/api/v1/workspaces/{with_model}", status=400)

    def test_usage_names_the_workspace_where_an_experiment_ran(self):
        first, second = (self.make_workspace() for _ in range(2))
        project = self.make_project(first["id"])
        experiment = self.make(project=project)["experiment"]["id"]
        self.environment(experiment)
        self.end(experiment)
        self.call("POST", f"/api/v1/projects/{project}/move",
                  {"projectId": project, "destinationWorkspaceId": second["id"]})

        def rows():
            now = time.time()
            after, before = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + each))
                             for each in (-600, 600))
            text = self.admin.send("GET", "/resources/allocation/allocations-csv?timestamp_after="
                                   f"{after}&timestamp_before={before}").text.splitlines()
            head = text[0].split(",")
            found = [dict(zip(head, line.split(","))) for line in text[1:]]
            return [each for each in found if each["experiment_id"] == str(experiment)]
        self.assertEqual([first["name"]], [each["workspace_name"] for each in rows()])
        self.call("DELETE", f"/api/v1/experiments/{experiment}")
        harness.eventually(
            lambda: self.admin.send("GET", f"/api/v1/experiments/{experiment}").status == 404,
            "the deletion", timeout=30)
        self.assertEqual([first["name"]], [each["workspace_name"] for each in rows()])


class ExperimentsTest(BehaviorTest):
    def bulk(self, action, **body):
        return self.call("DELETE" if action == "delete" else "POST",
                         f"/api/v1/projects/-1/experiments/{action}",
                         {"projectId": -1, **body})["results"]

    def test_bulk_actions_apply_to_all_projects(self):
        project = self.make_project(self.make_workspace()["id"])
        name = self.name("bulk")
        experiment = self.make(project=project, name=name)["experiment"]["id"]
        self.environment(experiment)
        done = [{"error": "", "id": experiment}]
        filters = {"name": name}
        # Filters without states select the experiments to which the action applies.
        for action in ("activate", "archive", "delete", "unarchive"):
            self.assertEqual([], self.bulk(action, filters=filters), action)
        self.assertEqual(done, self.bulk("pause", filters=filters))
        self.await_state(experiment, "PAUSED")
        self.assertEqual(done, self.bulk("activate", filters=filters))
        self.assertEqual(done, self.bulk("pause", experimentIds=[experiment]))
        self.assertEqual(done, self.bulk("kill", filters=filters))
        self.await_state(experiment, "CANCELED")
        self.assertEqual("killed by admin", self.experiment(experiment)["stateReason"])
        for action in ("pause", "activate", "cancel", "kill"):
            self.assertEqual([], self.bulk(action, filters=filters), action)
        self.assertEqual(done, self.bulk("kill", experimentIds=[experiment]))
        self.assertEqual(done, self.bulk("archive", experimentIds=[experiment]))
        self.assertEqual(done, self.bulk("unarchive", experimentIds=[experiment]))
        self.assertEqual(done, self.bulk("delete", filters=filters))

    def test_ended_experiment_can_be_killed_without_effect(self):
        experiment, trial = self.run_experiment(code=1, state="ERROR")
        for action in ("kill", "cancel"):
            self.assertEqual({}, self.call("POST", f"/api/v1/experiments/{experiment}/{action}"))
        self.assertEqual("", self.bulk("kill", experimentIds=[experiment])[0]["error"])
        for _ in range(2):
            results = self.call("POST", "/api/v1/runs/kill",
                                {"runIds": [trial], "projectId": 1})["results"]
            self.assertEqual("", results[0]["error"])

    def test_limit_minus_one_means_all(self):
        for _ in range(3):
            self.await_state(self.create(entrypoint="true"), "COMPLETED")
        lists = (
            lambda limit: self.get(f"/api/v1/experiments?limit={limit}"),
            lambda limit: self.call("POST", "/api/v1/runs", {"limit": limit}),
            lambda limit: self.call("POST", "/api/v1/experiments-search", {"limit": limit}))
        for read, member in zip(lists, ("experiments", "runs", "experiments")):
            everything = read(-1)
            self.assertEqual(everything["pagination"]["total"], len(everything[member]))
            nothing = read(-2)
            self.assertEqual([], nothing[member])
            self.assertEqual(everything["pagination"]["total"], nothing["pagination"]["total"])

    def test_continues_with_changed_hyperparameters(self):
        experiment = self.create(report("training", 1, {"x": 1}), hyperparameters={"lr": 1})
        trial = self.trial_of(experiment)
        self.environment(experiment)
        self.end(experiment, 1, "ERROR")
        self.call("POST", "/api/v1/experiments/continue",
                  {"id": experiment, "overrideConfig": "hyperparameters: {lr: 2}"})
        env = self.environment(experiment, attempts=2)
        self.assertEqual(2, json.loads(env["DET_HPARAMS"])["lr"])
        self.assertEqual(2, self.get(f"/api/v1/trials/{trial}")["trial"]["hparams"]["lr"])
        self.end(experiment)

    def test_keeps_the_pod_specification(self):
        spec = {"spec": {"imagePullSecrets": [{"name": "secret"}]}}
        created = self.make(environment={"pod_spec": spec}, entrypoint="true")
        config = self.experiment(created["experiment"]["id"])["config"]
        pod = config["environment"]["pod_spec"]
        self.assertEqual([{"name": "secret"}], pod["spec"]["imagePullSecrets"])

    def test_deletes_checkpoint_files_by_globs(self):
        storage = os.path.join(self.home.folder, self.name("storage"))
        os.makedirs(storage)
        experiment = self.create(checkpoint_storage={
            "type": "shared_fs", "host_path": storage, "save_trial_latest": 9})
        env = self.environment(experiment)
        task = replay.Client(self.home.port, {
            "Grpc-Metadata-x-allocation-token": "Bearer " + env["DET_SESSION_TOKEN"]})
        uuids = [f"{experiment:08x}-0000-4000-8000-00000000000{i}" for i in range(4)]
        for i, uuid in enumerate(uuids):
            os.makedirs(f"{storage}/{uuid}/sub")
            for path in ("a", "sub/state"):
                with open(f"{storage}/{uuid}/{path}", "w", encoding="utf-8") as f:
                    f.write("xyz")
            self.call("POST", "/api/v1/checkpoints", {
                "uuid": uuid, "taskId": env["DET_TASK_ID"],
                "allocationId": env["DET_ALLOCATION_ID"], "state": "STATE_COMPLETED",
                "resources": {"a": "3", "sub/": "0", "sub/state": "3"},
                "metadata": {"steps_completed": i + 1}, "training": {}}, client=task)
        for _ in range(3):
            self.call("POST", f"/api/v1/trials/{self.trial_of(experiment)}/metrics", {
                "group": "validation", "metrics": {
                    "trialId": self.trial_of(experiment), "trialRunId": 1, "stepsCompleted": 1,
                    "metrics": {"avgMetrics": {"loss": 0.5}}}}, client=task)
        self.end(experiment)

        def remove(uuid, globs, status=200):
            return self.call("POST", "/api/v1/checkpoints/rm",
                             {"checkpointUuids": [uuid], "checkpointGlobs": globs}, status)

        def checkpoint(uuid):
            return self.get(f"/api/v1/checkpoints/{uuid}")["checkpoint"]

        def settled(uuid, state, *files):
            def poll():
                found = checkpoint(uuid)
                left = [path for path in found["resources"] if not path.endswith("/")]
                return (found["state"], sorted(left)) == (f"STATE_{state}", sorted(files))
            harness.eventually(poll, f"{state} of checkpoint {uuid}", timeout=30)

        first = checkpoint(uuids[0])
        self.assertEqual(0.5, first["training"]["validationMetrics"]["avgMetrics"]["loss"])
        config = first["training"]["experimentConfig"]
        self.assertEqual("loss", config["searcher"]["metric"])
        self.assertEqual("shared_fs", config["checkpoint_storage"]["type"])
        for path in (f"experiments/{experiment}", f"trials/{self.trial_of(experiment)}"):
            for each in self.get(f"/api/v1/{path}/checkpoints")["checkpoints"]:
                self.assertIn("searcher", each["training"]["experimentConfig"])
                for kind in ("trainingMetrics", "validationMetrics"):
                    metrics = each["training"][kind]
                    self.assertTrue(metrics is None or "avgMetrics" in metrics, metrics)
        remove(uuids[0], [])
        remove(uuids[1], ["**/*state*"])
        # Checkpoints are trimmed in the order of their UUIDs: the first one is done, too.
        settled(uuids[1], "PARTIALLY_DELETED", "a")
        settled(uuids[0], "COMPLETED", "a", "sub/state")
        self.assertTrue(os.path.exists(f"{storage}/{uuids[0]}/a"))
        os.remove(f"{storage}/{uuids[0]}/a")
        remove(uuids[0], [])
        settled(uuids[0], "PARTIALLY_DELETED", "sub/state")
        for bad in ("", "../a", "a/../../b"):
            remove(uuids[1], [bad], status=400)
        remove(uuids[2], ["**/*"])
        settled(uuids[2], "DELETED", "a", "sub/state")
        harness.eventually(lambda: checkpoint(uuids[2])["size"] == "0",
                           "the files of the deleted checkpoint are gone", timeout=30)
        self.assertEqual("12", self.experiment(experiment)["checkpointSize"])
        trial = self.get(f"/api/v1/trials/{self.trial_of(experiment)}")["trial"]
        self.assertEqual("12", trial["totalCheckpointSize"])
        name = self.name("model")
        self.call("POST", "/api/v1/models", {"name": name, "workspaceId": 1})
        self.call("POST", f"/api/v1/models/{name}/versions",
                  {"modelName": name, "checkpointUuid": uuids[3]})
        text = remove(uuids[3], ["**/*"], status=400)
        self.assertIn(uuids[3], text)
        self.assertIn(uuids[3], self.call("DELETE", "/api/v1/checkpoints",
                                          {"checkpointUuids": [uuids[0], uuids[3]]}, status=400))
        self.assertEqual("STATE_PARTIALLY_DELETED", checkpoint(uuids[0])["state"])

    def test_shows_task_while_checkpoints_are_removed(self):
        storage = os.path.join(self.home.folder, self.name("storage"))
        os.makedirs(storage)
        experiment = self.create(checkpoint_storage={"type": "shared_fs", "host_path": storage})
        env = self.environment(experiment)
        task = replay.Client(self.home.port, {
            "Grpc-Metadata-x-allocation-token": "Bearer " + env["DET_SESSION_TOKEN"]})
        uuid = f"{experiment:08x}-0000-4000-8000-000000000009"
        os.makedirs(f"{storage}/{uuid}")
        resources = {}
        for i in range(20000):
            with open(f"{storage}/{uuid}/{i}", "w", encoding="utf-8"):
                pass
            resources[str(i)] = "0"
        self.call("POST", "/api/v1/checkpoints", {
            "uuid": uuid, "taskId": env["DET_TASK_ID"], "allocationId": env["DET_ALLOCATION_ID"],
            "state": "STATE_COMPLETED", "resources": resources, "metadata": {"steps_completed": 1},
            "training": {}}, client=task)
        self.end(experiment)
        self.call("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
        name = f"Checkpoint GC (Experiment {experiment})"
        seen = harness.eventually(
            lambda: [each for each in self.get("/tasks").values() if each["name"] == name] or
            self.get(f"/api/v1/checkpoints/{uuid}")["checkpoint"]["state"] == "STATE_DELETED",
            "the task")
        self.assertIsInstance(seen, list, "the checkpoint was removed before a task was seen")
        harness.eventually(
            lambda: name not in [each["name"] for each in self.get("/tasks").values()], "its end")


class TrialsTest(BehaviorTest):
    def test_streams_metrics_as_clients_read_them(self):
        experiment, trial = self.run_experiment(
            report("training", 1, {"x": 1}), report("validation", 1, {"x": 2}),
            report("other", 1, {"x": 3}), *[report("training", i, {"x": i}) for i in range(2, 11)])
        path = f"/api/v1/trials/metrics/{{}}trialIds={trial}"
        for end, member, value in (
                ("trial_metrics?group=training&", "avg_metrics", 1),
                ("training_metrics?", "avg_metrics", 1),
                ("trial_metrics?group=validation&", "validation_metrics", 2),
                ("validation_metrics?", "validation_metrics", 2),
                ("trial_metrics?group=other&", "avg_metrics", 3)):
            found = self.stream(path.format(end))[0]["metrics"][0]
            self.assertEqual(value, found["metrics"][member]["x"], end)
        summary = self.get(f"/api/v1/trials/{trial}")["trial"]["summaryMetrics"]
        x = summary["avg_metrics"]["x"]
        self.assertEqual((10, 1, 10, 5.5, 55, 10, "number"), tuple(
            x[each] for each in ("count", "min", "max", "mean", "sum", "last", "type")))
        self.assertEqual(1, summary["validation_metrics"]["x"]["count"])

    def test_shows_which_log_policy_matched(self):
        policies = [{"name": "P", "pattern": "beg.n"}, {"name": "Q", "pattern": "never"}]
        experiment, trial = self.run_experiment(log_policies=policies)
        self.assertEqual("P", self.get(f"/api/v1/trials/{trial}")["trial"]["logPolicyMatched"])
        runs = self.call("POST", "/api/v1/runs", {"limit": -1})["runs"]
        self.assertEqual(["P"], [each["logPolicyMatched"] for each in runs if each["id"] == trial])
        experiment, trial = self.run_experiment()
        self.assertIsNone(
            self.get(f"/api/v1/trials/{trial}")["trial"].get("logPolicyMatched"))

    def test_streams_names_and_batches_once_each(self):
        experiment = self.create(
            report("training", 1, {"x": 1}), report("validation", 1, {"loss": 2}))
        path = f"/api/v1/experiments/metrics-stream/metric-names?ids={experiment}&period_seconds=1"
        self.environment(experiment)
        self.let_end(experiment)
        found = self.stream(path)
        self.assertEqual(["loss"], found[0]["searcherMetrics"])
        names = [name for each in found for name in each["trainingMetrics"]]
        self.assertEqual(["x"], names)
        batches = self.stream(f"/api/v1/experiments/{experiment}/metrics-stream/batches"
                              "?metricName=x&group=training&period_seconds=1")
        self.assertEqual([1], [b for each in batches for b in each["batches"]])
        sample = self.stream(f"/api/v1/experiments/{experiment}/metrics-stream/trials-sample"
                             "?metricName=x&group=training&period_seconds=1")
        self.assertEqual(1, len(sample[0]["trials"]))

    def test_user_reports_metrics_for_a_trial(self):
        experiment, trial = self.run_experiment()
        self.call("POST", f"/api/v1/trials/{trial}/metrics", {
            "group": "abc", "metrics": {"trialId": trial, "trialRunId": 0, "stepsCompleted": 10,
                                        "metrics": {"avgMetrics": {"l": 3.3}}}})
        series = self.get(f"/api/v1/trials/time-series?trialIds={trial}&metricIds=abc.l")
        self.assertEqual(3.3, series["trials"][0]["metrics"][0]["data"][0]["values"]["l"])

    def test_keeps_names_of_metrics_and_groups(self):
        group, metric = "inf%er en/ce", "a/b %\\ [x]"
        experiment, trial = self.run_experiment(report(group, 1, {metric: 1.5}))
        series = self.get("/api/v1/trials/time-series?" + urllib.parse.urlencode(
            {"trialIds": trial, "metricIds": f"{group}.{metric}"}))
        self.assertEqual(1.5, series["trials"][0]["metrics"][0]["data"][0]["values"][metric])

    def test_excludes_agents_that_a_log_policy_names(self):
        experiment = self.create(
            log_policies=[{"pattern": "begun", "action": "exclude_node"}], max_restarts=3)
        self.environment(experiment)
        self.let_end(experiment, 1)
        trial = self.trial_of(experiment)
        harness.eventually(
            lambda: self.get(f"/api/v1/trials/{trial}")["trial"]["restarts"] == 1, "a restart")
        # Another experiment gets the slot that the trial waits for.
        other = self.create(entrypoint="true")
        self.await_state(other, "COMPLETED")
        self.assertEqual("STATE_QUEUED", self.get(f"/api/v1/trials/{trial}")["trial"]["state"])
        self.assertRegex(self.log_of(trial), r"\(log '.*' matched regex .*\) therefore will not "
                         r"schedule on agent-0")
        self.call("POST", f"/api/v1/experiments/{experiment}/kill")
        self.await_state(experiment, "CANCELED")
        self.assertEqual("killed by admin", self.experiment(experiment)["stateReason"])

    def test_log_has_the_words_that_scripts_look_for(self):
        _, trial = self.run_experiment()
        log = self.log_of(trial)
        self.assertIn("resources exited successfully with a zero exit code", log)
        self.assertRegex(log, r"New trial runner in \(container .*\) on agent agent-0")
        _, trial = self.run_experiment(code=3, state="ERROR")
        log = self.log_of(trial)
        self.assertIn("resources failed with non-zero exit code", log)
        self.assertIn("container failed with non-zero exit code: 3", log)
        _, trial = self.run_experiment(
            code=1, state="ERROR", max_restarts=2,
            log_policies=[{"pattern": "begun", "action": "cancel_retries"}])
        self.assertIn("trial failed and matched logs to a don't retry policy", self.log_of(trial))

    def test_runs_have_states_of_trials_that_clients_know(self):
        experiment = self.create()
        self.environment(experiment)
        waiting = self.create(resources={"slots_per_trial": 4})
        self.trial_of(waiting)
        states = {each["id"]: each["state"]
                  for each in self.call("POST", "/api/v1/runs", {"limit": -1})["runs"]}
        for each in (experiment, waiting):
            self.assertEqual("STATE_ACTIVE", states[self.trial_of(each)])
            self.call("POST", f"/api/v1/experiments/{each}/kill")
            self.await_state(each, "CANCELED")

    def test_location_says_that_a_name_is_a_hyperparameter(self):
        _, low = self.run_experiment(hyperparameters={"x": 1})
        _, high = self.run_experiment(hyperparameters={"x": 3})
        for name in ("x", "hp.x"):
            field = {"kind": "field", "location": "LOCATION_TYPE_RUN_HYPERPARAMETERS",
                     "columnName": name, "type": "COLUMN_TYPE_NUMBER", "operator": ">=",
                     "value": 2}
            filters = json.dumps({"filterGroup": {
                "kind": "group", "conjunction": "and", "children": [field]}, "showArchived": True})
            runs = self.call("POST", "/api/v1/runs", {"filter": filters, "limit": -1})["runs"]
            self.assertEqual([high], [each["id"] for each in runs])
            killed = self.call("POST", "/api/v1/runs/kill",
                               {"filter": filters, "projectId": 1, "runIds": []})["results"]
            self.assertEqual([{"error": "", "id": high}], killed)
        self.assertNotEqual(low, high)

    def test_run_of_a_search_cannot_be_paused_alone(self):
        experiment = self.create(searcher={"name": "random", "metric": "loss", "max_trials": 2,
                                           "max_length": {"batches": 1}},
                                 hyperparameters={"x": {"type": "int", "minval": 1, "maxval": 9}})
        self.environment(experiment)
        trial = self.trial_of(experiment)
        for action in ("pause", "resume"):
            results = self.call("POST", f"/api/v1/runs/{action}",
                                {"runIds": [trial], "projectId": 1})["results"]
            self.assertEqual([f"Cannot pause/unpause run '{trial}' (part of multi-trial)."],
                             [each["error"] for each in results])
        project = self.make_project(self.make_workspace()["id"])
        results = self.call("POST", "/api/v1/runs/move", {
            "runIds": [trial], "sourceProjectId": 1, "destinationProjectId": project,
            "skipMultitrial": True})["results"]
        self.assertEqual([f"Skipping run '{trial}' (part of multi-trial)."],
                         [each["error"] for each in results])
        self.call("POST", f"/api/v1/experiments/{experiment}/kill")
        self.await_state(experiment, "CANCELED")

    def test_keeps_null_bytes_of_log_lines(self):
        experiment = self.create(entrypoint="printf 'a\\000b\\n'")
        self.await_state(experiment, "COMPLETED")
        lines = self.stream(f"/api/v1/trials/{self.trial_of(experiment)}/logs")
        self.assertIn("a\0b", [each["log"].rstrip("\n") for each in lines])

    def test_selects_log_lines_without_a_rank(self):
        experiment, trial = self.run_experiment()
        task = self.get(f"/api/v1/trials/{trial}")["trial"]["taskId"]
        self.call("POST", "/api/v1/task/logs", {"logs": [
            {"taskId": task, "log": "with rank\n", "rankId": 3},
            {"taskId": task, "log": "without rank\n"}]})
        for path in (f"trials/{trial}", f"tasks/{task}"):
            lines = [each["log"] for each in self.stream(f"/api/v1/{path}/logs?rankIds=-1")]
            self.assertTrue(any("without rank" in each for each in lines), lines)
            self.assertFalse(any("with rank" in each for each in lines), lines)
            self.assertEqual([], self.stream(f"/api/v1/{path}/logs?rankIds=-2"))


class OtherTest(BehaviorTest):
    def test_template_holds_settings_of_any_task(self):
        name = self.name("template")
        config = {"resources": {"slots": 0, "weight": 1}, "environment": {
            "environment_variables": ["A=B"]}}
        path = f"/api/v1/templates/{name}"
        made = self.call("POST", path, {"name": name, "workspaceId": 1, "config": config})
        self.assertEqual(config, made["template"]["config"])
        self.assertEqual(config, self.get(path)["template"]["config"])
        changed = {"resources": {"slots": 1}}
        self.call("PATCH", path, changed)
        self.assertEqual(changed, self.get(path)["template"]["config"])
        self.call("DELETE", path)
        self.get(path, status=404)

    def test_webhooks_of_a_workspace_need_no_name(self):
        hook = {"url": "https://example.com", "webhookType": "WEBHOOK_TYPE_DEFAULT",
                "triggers": [{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
                              "condition": {"state": "COMPLETED"}}],
                "workspaceId": 1, "name": "", "mode": "WEBHOOK_MODE_WORKSPACE"}
        ids = [self.call("POST", "/api/v1/webhooks", hook)["webhook"]["id"] for _ in range(2)]
        self.call("PATCH", f"/api/v1/webhooks/{ids[0]}", {"url": "https://example.org"})
        custom = {**hook, "triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]}
        self.call("POST", "/api/v1/webhooks", custom, status=400)
        custom.update(mode="WEBHOOK_MODE_SPECIFIC", name="custom")
        ids.append(self.call("POST", "/api/v1/webhooks", custom)["webhook"]["id"])
        for each in ids:
            self.call("DELETE", f"/api/v1/webhooks/{each}")

    def test_warns_of_webhook_that_will_not_be_delivered(self):
        hook = {"url": "http://127.0.0.1:9", "webhookType": "WEBHOOK_TYPE_DEFAULT",
                "triggers": [{"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE",
                              "condition": {"state": "COMPLETED"}}],
                "workspaceId": 1, "name": "local", "mode": "WEBHOOK_MODE_WORKSPACE"}
        answer = self.call("POST", "/api/v1/webhooks", hook)
        self.assertIn("allow_private", json.dumps(answer))


class AgentDetailsTest(BehaviorTest):
    def test_masks_details_of_agents(self):
        experiment = self.create()
        env = self.environment(experiment)
        _, client = self.make_user()
        agent = self.get("/api/v1/agents")["agents"][0]
        self.assertIn(env["DET_ALLOCATION_ID"], agent["containers"])
        answers = [self.get("/api/v1/agents", client=client)["agents"][0],
                   self.get(f"/api/v1/agents/{agent['id']}", client=client)["agent"]]
        for masked in answers:
            self.assertEqual(["********"], masked["addresses"])
            self.assertEqual(["0", "1", "2", "3"], sorted(masked["slots"]))
            held = [each["container"] for each in masked["slots"].values() if each["container"]]
            for container in [*held, *masked["containers"].values()]:
                self.assertEqual(("********", "********", True), tuple(
                    container[each] for each in ("id", "parent", "permissionDenied")))
            for device in [each["device"] for each in masked["slots"].values()]:
                self.assertEqual((-1, "********"), (device["id"], device["uuid"]))
            self.assertNotIn(env["DET_ALLOCATION_ID"], json.dumps(masked))
        slots = self.get(f"/api/v1/agents/{agent['id']}/slots", client=client)["slots"]
        self.assertEqual(["0", "1", "2", "3"], [each["id"] for each in slots])
        self.assertEqual(-1, slots[0]["device"]["id"])
        self.end(experiment)


class OwnerTokenTest(BehaviorTest):
    def test_program_of_a_task_acts_as_the_owner(self):
        user, client = self.make_user()
        experiment = self.make(client=client)["experiment"]["id"]
        env = self.environment(experiment)
        task = replay.Client(self.home.port, {"Authorization": "Bearer " + env["DET_USER_TOKEN"]})
        self.assertEqual(user["username"], self.get("/api/v1/me", client=task)["user"]["username"])
        self.get("/api/v1/models", client=task)
        other = self.make(client=task, entrypoint="true")["experiment"]
        self.assertEqual(user["username"], other["username"])
        self.get("/api/v1/master/config", client=task, status=403)
        self.call("POST", "/api/v1/tokens", {"userId": user["id"]}, client=task, status=403)
        self.call("PATCH", f"/api/v1/users/{user['id']}", {"password": "Other.Passw0rd.1"},
                  client=task, status=403)
        self.end(experiment)
        self.get("/api/v1/me", client=task, status=401)
        with open(os.path.join(self.home.data, "log/master.log"), encoding="utf-8") as log:
            self.assertNotIn(env["DET_USER_TOKEN"], log.read())


class ConfiguredTest(BehaviorTest):
    config = {
        "security": {"authz": {"strict_job_queue_control": True,
                               "workspace_creator_assign_role": {"enabled": True, "role_id": 5}}},
        "task_container_defaults": {"environment_variables": ["GIVEN=1"], "work_dir": "/x"},
        "resource_pools": [{"pool_name": "default"},
                           {"pool_name": "other", "scheduler": {"type": "fifo"}}],
        "launch_error": False}

    def test_only_administrators_change_the_queue(self):
        self.assertIs(True, self.get("/api/v1/master")["strictJobQueueControl"])
        _, client = self.make_user()
        experiment = self.make(client=client, resources={"slots_per_trial": 1000})["experiment"]
        body = {"updates": [{"jobId": experiment["jobId"], "priority": 10}]}
        self.call("POST", "/api/v1/job-queues", body, client=client, status=403)
        self.call("POST", "/api/v1/job-queues", body)
        self.call("POST", f"/api/v1/experiments/{experiment['id']}/kill")

    def test_creator_of_a_workspace_gets_the_configured_role(self):
        _, client = self.make_user()
        workspace = self.call("POST", "/api/v1/workspaces", {"name": self.name("w")},
                              client=client)["workspace"]["id"]
        self.call("POST", "/api/v1/models", {"name": self.name("m"), "workspaceId": workspace},
                  client=client)
        self.call("PATCH", f"/api/v1/workspaces/{workspace}", {"name": self.name("w")},
                  client=client, status=403)

    def test_shows_only_types_of_schedulers_that_clients_know(self):
        pools = self.get("/api/v1/resource-pools")["resourcePools"]
        known = {f"SCHEDULER_TYPE_{each}" for each in (
            "UNSPECIFIED", "PRIORITY", "FAIR_SHARE", "ROUND_ROBIN", "KUBERNETES", "SLURM", "PBS")}
        self.assertLessEqual({each["schedulerType"] for each in pools}, known)

    def test_shows_defaults_of_tasks(self):
        shown = self.get("/api/v1/master/config")["config"]["task_container_defaults"]
        self.assertEqual(["GIVEN=1"], shown["environment_variables"])
        self.assertIn("preemption_timeout", shown)
        self.assertIsNone(shown["log_policies"])
        self.assertNotIn("work_dir", shown)

    def test_experiment_beyond_the_capacity_waits(self):
        created = self.make(resources={"slots_per_trial": 1000})
        self.assertEqual(["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"], created["warnings"])
        experiment = created["experiment"]["id"]
        self.await_state(experiment, "QUEUED")
        for action, state in (("pause", "PAUSED"), ("activate", "QUEUED"), ("kill", "CANCELED")):
            self.call("POST", f"/api/v1/experiments/{experiment}/{action}")
            self.await_state(experiment, state)


class WithoutRolesTest(BehaviorTest):
    config = {"security": {"authz": {"type": "basic"}}}

    def test_every_user_works_everywhere_but_deletes_only_own_work(self):
        workspace = self.make_workspace()["id"]
        project = self.make_project(workspace)
        experiment = self.make(project=project, entrypoint="true")["experiment"]["id"]
        self.await_state(experiment, "COMPLETED")
        _, client = self.make_user()
        listed = self.get("/api/v1/workspaces", client=client)["workspaces"]
        self.assertIn(workspace, [each["id"] for each in listed])
        self.call("POST", "/api/v1/models", {"name": self.name("m"), "workspaceId": workspace},
                  client=client)
        self.make(client=client, project=project, entrypoint="true")
        self.assertEqual(200, client.send("GET", "/api/v1/master/logs?limit=1").status)
        self.call("DELETE", f"/api/v1/experiments/{experiment}", client=client, status=403)
        self.call("PATCH", f"/api/v1/workspaces/{workspace}", {"name": "mine"}, client=client,
                  status=403)
        agent = self.get("/api/v1/agents", client=client)["agents"][0]
        self.assertNotEqual(["********"], agent["addresses"])


if __name__ == "__main__":
    harness.main()
