#!/usr/bin/env -S python3 -B
"""What existing clients may ask beside what was recorded of them: many runs at once, files of a
context, fields of a log (README.md)."""
import base64
import os
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import fields  # noqa: E402
import harness  # noqa: E402
import replay  # noqa: E402

RESULTS = {"results": "list", "results[].id": "int", "results[].error": "str"}
NODES = {"files": "list", "files[].name": "str", "files[].path": "str", "files[].isDir": "bool",
         "files[].contentLength": "int", "files[].modifiedTime": "str"}
COUNTS = {kind: "int" for kind in ("commands", "notebooks", "shells", "tensorboards")}


class BesideTest(harness.ClusterTestCase):
    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def ask(self, verb, path, body=None, has=None):
        answer = self.admin.send(verb, "/api/v1/" + path, body)
        self.assertEqual(200, answer.status, f"{verb} {path}: {answer.text}")
        self.assertEqual([], fields.problems(answer.json(), has or {}, {}), path)
        return answer.json()

    def act(self, action, **body):
        """What each run was answered, by its id."""
        if "sourceProjectId" not in body:
            body = {"projectId": 1, **body}
        results = self.ask("POST", "runs/" + action, {"filter": None, **body}, RESULTS)["results"]
        return {each["id"]: each["error"] for each in results}

    def test_runs_and_what_is_read_of_them(self):
        config = harness.job(entrypoint="echo said; sleep 600")
        experiment = self.home.create(config, self.home.context({"src/model.py": "code"}))
        run = self.home.first_trial(experiment)["id"]

        tree = self.ask("GET", f"experiments/{experiment}/file_tree", None, NODES)["files"]
        self.assertEqual(["src"], [each["path"] for each in tree])
        self.assertEqual(["src/model.py"], [each["path"] for each in tree[0]["files"]])
        file = self.ask("POST", f"experiments/{experiment}/file",
                        {"experimentId": experiment, "path": "src/model.py"}, {"file": "str"})
        self.assertEqual(b"code", base64.b64decode(file["file"]))
        outside = self.admin.send("POST", f"/api/v1/experiments/{experiment}/file",
                                  {"path": "../../etc/passwd"})
        self.assertEqual(400, outside.status, outside.text)
        self.ask("GET", "tasks/count", None, COUNTS)

        def sources():
            answer = self.admin.send("GET", f"/api/v1/trials/{run}/logs/fields?follow=false")
            self.assertEqual(200, answer.status, answer.text)
            return [each for result in answer.results() for each in result["sources"]]
        harness.eventually(lambda: "task" in sources(), "a line of the task")

        self.assertEqual({run: ""}, self.act("pause", runIds=[run]))
        self.assertEqual({run: ""}, self.act("resume", runIds=[run]))
        self.assertIn("does not exist", self.act("kill", runIds=[run + 1000])[run + 1000])
        self.assertEqual({run: ""}, self.act("kill", runIds=[run], projectId=None))
        self.home.finish(experiment)
        project = self.ask("POST", "workspaces/1/projects", {"name": "other"})["project"]["id"]
        self.assertEqual({run: ""}, self.act(
            "move", runIds=[run], sourceProjectId=1, destinationProjectId=project,
            skipMultitrial=True))
        self.assertIn("has no run", self.act("archive", runIds=[run])[run])
        for action in ("archive", "unarchive", "delete"):
            self.assertEqual({run: ""}, self.act(action, runIds=[run], projectId=project), action)

    def test_a_filter_names_runs_of_its_project(self):
        experiment = self.home.create(harness.job(entrypoint="sleep 600"))
        run = self.home.first_trial(experiment)["id"]
        chosen = ('{"filterGroup":{"kind":"group","conjunction":"and","children":[{"kind":"field",'
                  '"columnName":"id","operator":"=","value":%d}]}}' % run)
        self.assertEqual({run: ""}, self.act("kill", runIds=[], filter=chosen))
        alone = self.admin.send("POST", "/api/v1/runs/kill", {"runIds": [], "filter": chosen})
        self.assertEqual(400, alone.status, alone.text)


if __name__ == "__main__":
    harness.main()
