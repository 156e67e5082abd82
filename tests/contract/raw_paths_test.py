#!/usr/bin/env -S python3 -B
"""Tests HTTP requests of existing clients outside of /api/v1: files of checkpoints and context
directories, previews of retention, tasks, log lines, /info and the master (README.md)."""
import http.client
import io
import json
import os
import sys
import tarfile
import zipfile

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import fields  # noqa: E402
import harness  # noqa: E402
import replay  # noqa: E402

OLDER, NEWER = (f"{n}000000a-0000-4000-8000-000000000001" for n in (1, 2))
UNKNOWN = "3000000a-0000-4000-8000-000000000001"
INFO = {name: "str" for name in ("version", "cluster_id", "master_id", "cluster_name")}
MASTER = {"version": "str", "masterId": "str", "clusterId": "str", "clusterName": "str",
          "hasCustomLogo": "bool", "strictJobQueueControl": "bool", "branding": "str",
          "externalLoginUri": "str", "externalLogoutUri": "str", "featureSwitches": "list",
          "product": "Product", "rbacEnabled": "bool", "ssoProviders": "list",
          "telemetryEnabled": "bool", "userManagementEnabled": "bool"}
DELETED = {"metric_name": "str", "checkpoints": "list", "checkpoints[].uuid": "str",
        "checkpoints[].trial_id": "int", "checkpoints[].state": "str", "checkpoints[].end_time": "str",
        "checkpoints[].resources": "map", "checkpoints[].step": "map",
        "checkpoints[].step.total_batches": "int"}

# Saves two checkpoints, writes its environment to a file, then runs until the file `end` exists.
PROGRAM = r"""
import json, os, sys, time, urllib.request
folder, *uuids = sys.argv[1:]
for steps, uuid in enumerate(uuids, 1):
    os.makedirs(f"{folder}/{uuid}/model")
    with open(f"{folder}/{uuid}/model/state.pt", "wb") as f:
        f.write(b"weights" * 300_000)
    body = {"allocationId": os.environ["DET_ALLOCATION_ID"], "uuid": uuid, "stepsCompleted": steps,
            "trialId": int(os.environ["DET_TRIAL_ID"]),
            "resources": {"model/": 0, "model/state.pt": 2_100_000}}
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/ReportCheckpoint",
        json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})).read()
with open(f"{folder}/environment.part", "w") as f:
    json.dump(dict(os.environ), f)
os.rename(f"{folder}/environment.part", f"{folder}/environment")
while not os.path.exists(f"{folder}/end"):
    time.sleep(0.02)
"""


class RawPathsTest(harness.ClusterTestCase):
    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def fetch(self, path, has, client=None):
        answer = (client or self.admin).send("GET", path)
        self.assertEqual(200, answer.status, f"{path}: {answer.text}")
        kinds = {"Product": ["PRODUCT_UNSPECIFIED", "PRODUCT_COMMUNITY"]}
        self.assertEqual([], fields.problems(answer.json(), has, kinds), path)
        return answer.json()

    def download(self, path, accept=None):
        """(status, type, bytes)"""
        headers = {**self.admin.headers, **({"Accept": accept} if accept else {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.home.port, timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read()
        finally:
            connection.close()

    def test_describes_the_cluster(self):
        self.fetch("/info", INFO, replay.Client(self.home.port, {}))
        self.fetch("/api/v1/master", MASTER)

    def test_serves_files_and_tasks(self):
        storage = os.path.join(self.home.folder, "kept")
        os.makedirs(storage)
        config = harness.job(entrypoint=["python3", "program.py", storage, OLDER, NEWER],
                             checkpoint_storage={"type": "shared_fs", "host_path": storage})
        experiment = self.home.create(config, self.home.context({"program.py": PROGRAM}))
        path = os.path.join(storage, "environment")
        harness.eventually(lambda: os.path.exists(path), "the checkpoints")
        with open(path, encoding="utf-8") as f:
            env = json.load(f)
        self.check_checkpoints(storage)
        self.check_context(experiment)
        self.check_preview(experiment)
        task = self.fetch("/tasks", {})[env["DET_ALLOCATION_ID"]]
        self.assertEqual([1, env["DET_TASK_ID"]], [task["slots_needed"], task["task_id"]])
        self.assertEqual(401, replay.Client(self.home.port, {}).send("GET", "/tasks").status)
        self.check_logs(env)
        with open(os.path.join(storage, "end"), "w", encoding="utf-8"):
            pass
        self.home.finish(experiment)

    def check_checkpoints(self, storage):
        status, kind, content = self.download("/checkpoints/" + NEWER, "application/gzip")
        self.assertEqual((200, "application/gzip"), (status, kind), content[:300])
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            self.assertEqual(b"weights" * 300_000, tar.extractfile("model/state.pt").read())
        status, kind, content = self.download("/checkpoints/" + NEWER, "application/zip")
        self.assertEqual((200, "application/zip"), (status, kind), content[:300])
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            self.assertEqual(b"weights" * 300_000, file.read("model/state.pt"))
        self.assertEqual(404, self.download("/checkpoints/" + UNKNOWN)[0])
        os.rename(f"{storage}/{NEWER}", f"{storage}/away")
        status, _, content = self.download("/checkpoints/" + NEWER)
        self.assertEqual(400, status)
        self.assertIn("cannot read", json.loads(content)["error"]["error"])
        os.rename(f"{storage}/away", f"{storage}/{NEWER}")

    def check_context(self, experiment):
        status, _, content = self.download(f"/experiments/{experiment}/model_def")
        self.assertEqual(200, status)
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            self.assertEqual(PROGRAM.encode(), tar.extractfile("program.py").read())
        status, _, content = self.download(
            f"/experiments/{experiment}/file/download?path=program.py")
        self.assertEqual((200, PROGRAM.encode()), (status, content))

    def check_preview(self, experiment):
        path = f"/experiments/{experiment}/preview_gc?save_experiment_best=0&save_trial_best=0"
        deleted = self.fetch(path + "&save_trial_latest=1", DELETED)["checkpoints"]
        self.assertEqual([OLDER], [each["UUID"] for each in deleted])

    def check_logs(self, env):
        line = {"task_id": env["DET_TASK_ID"], "allocation_id": env["DET_ALLOCATION_ID"],
                "source": "task", "log": "by the old path\n", "level": "INFO"}
        reported = self.admin.send(
            "POST", "/task-logs", [{**line, "log": "by a user\n", "level": "ERROR", "rank": "3"}])
        self.assertEqual((200, '""'), (reported.status, reported.text))
        token = {"Grpc-Metadata-x-allocation-token": "Bearer " + env["DET_SESSION_TOKEN"]}
        task = replay.Client(self.home.port, token)
        line["level"] = "LOG_LEVEL_INFO"
        shipped = task.send("POST", "/task-logs", [line])
        self.assertEqual(200, shipped.status, shipped.text)
        log = self.admin.send("GET", f"/api/v1/tasks/{env['DET_TASK_ID']}/logs").text
        self.assertIn("by the old path", log)
        self.assertIn("by a user", log)
        path = f"/api/v1/tasks/{env['DET_TASK_ID']}/logs?rankIds=3&levels=LOG_LEVEL_ERROR"
        self.assertIn("by a user", self.admin.send("GET", path).text)
        self.assertEqual(400, task.send("POST", "/task-logs", line).status)


if __name__ == "__main__":
    harness.main()
