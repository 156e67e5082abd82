#!/usr/bin/env -S python3 -B
"""Tests requests that existing clients can send but that were not recorded: actions on many runs, files
of a context directory, fields of a log, actions on many experiments of a project (README.md)."""
import base64
import os
import sys

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import fields  # noqa: E402
import harness  # noqa: E402
import replay  # noqa: E402

RESULTS = {"results": "list", "results[].id": "int", "results[].error": "str"}
NODES = {"files": "list", "files[].name": "str", "files[].path": "str", "files[].isDir": "bool",
         "files[].contentLength": "int", "files[].modifiedTime": "str"}
COUNTS = {kind: "int" for kind in ("commands", "notebooks", "shells", "tensorboards")}


class AdditionalRequestsTest(harness.ClusterTestCase):
    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def fetch(self, verb, path, body=None, has=None):
        answer = self.admin.send(verb, "/api/v1/" + path, body)
        self.assertEqual(200, answer.status, f"{verb} {path}: {answer.text}")
        self.assertEqual([], fields.problems(answer.json(), has or {}, {}), path)
        return answer.json()

    def act(self, action, **body):
        """Performs the action; returns the error of each run, by ID."""
        if "sourceProjectId" not in body:
            body = {"projectId": 1, **body}
        results = self.fetch("POST", "runs/" + action, {"filter": None, **body}, RESULTS)["results"]
        return {each["id"]: each["error"] for each in results}

    def test_reads_files_and_logs_and_acts_on_runs(self):
        config = harness.job(entrypoint="echo started; sleep 600")
        experiment = self.home.create(config, self.home.context({"src/model.py": "code"}))
        run = self.home.first_trial(experiment)["id"]

        tree = self.fetch("GET", f"experiments/{experiment}/file_tree", None, NODES)["files"]
        self.assertEqual(["src"], [each["path"] for each in tree])
        self.assertEqual(["src/model.py"], [each["path"] for each in tree[0]["files"]])
        file = self.fetch("POST", f"experiments/{experiment}/file",
                        {"experimentId": experiment, "path": "src/model.py"}, {"file": "str"})
        self.assertEqual(b"code", base64.b64decode(file["file"]))
        outside = self.admin.send("POST", f"/api/v1/experiments/{experiment}/file",
                                  {"path": "../../etc/passwd"})
        self.assertEqual(400, outside.status, outside.text)
        self.fetch("GET", "tasks/count", None, COUNTS)

        def sources():
            answer = self.admin.send("GET", f"/api/v1/trials/{run}/logs/fields?follow=false")
            self.assertEqual(200, answer.status, answer.text)
            return [each for result in answer.results() for each in result["sources"]]
        harness.eventually(lambda: "task" in sources(), "a log line of the task")

        self.assertEqual({run: ""}, self.act("pause", runIds=[run]))
        self.assertEqual({run: ""}, self.act("resume", runIds=[run]))
        self.assertIn("not found", self.act("kill", runIds=[run + 1000])[run + 1000])
        self.assertEqual({run: ""}, self.act("kill", runIds=[run], projectId=None))
        self.home.finish(experiment)
        project = self.fetch("POST", "workspaces/1/projects", {"name": "other"})["project"]["id"]
        self.assertEqual({run: ""}, self.act(
            "move", runIds=[run], sourceProjectId=1, destinationProjectId=project,
            skipMultitrial=True))
        self.assertIn("not found", self.act("archive", runIds=[run])[run])
        for action in ("archive", "unarchive", "delete"):
            self.assertEqual({run: ""}, self.act(action, runIds=[run], projectId=project), action)

    def test_filter_selects_runs_of_its_project(self):
        experiment = self.home.create(harness.job(entrypoint="sleep 600"))
        run = self.home.first_trial(experiment)["id"]
        chosen = ('{"filterGroup":{"kind":"group","conjunction":"and","children":[{"kind":"field",'
                  '"columnName":"id","operator":"=","value":%d}]}}' % run)
        self.assertEqual({run: ""}, self.act("kill", runIds=[], filter=chosen))
        alone = self.admin.send("POST", "/api/v1/runs/kill", {"runIds": [], "filter": chosen})
        self.assertEqual(400, alone.status, alone.text)

    def test_acts_on_experiments_of_a_project(self):
        experiment = self.home.create(harness.job(entrypoint="sleep 600"))
        trial = self.home.first_trial(experiment)["id"]

        def act(action, verb="POST", project=1, **body):
            results = self.fetch(verb, f"projects/{project}/experiments/{action}",
                               {"experimentIds": [experiment], "projectId": project,
                                "filters": None, **body}, RESULTS)["results"]
            return {each["id"]: each["error"] for each in results}

        self.assertEqual({experiment: ""}, act("pause"))
        self.assertEqual({experiment: ""}, act("activate"))
        self.assertEqual({experiment: ""}, act("retain_logs", "PUT", numDays=9))
        days = self.fetch("GET", f"trials/{trial}/remaining_log_retention_days")
        self.assertEqual({}, days, "the days count from the end of the trial")
        filters = {"projectId": 1, "states": ["STATE_COMPLETED"], "labels": None}
        self.assertNotIn(experiment, act("kill", filters=filters))
        self.assertEqual({experiment: ""}, act("kill"))
        self.home.finish(experiment)
        history = self.fetch("GET", f"experiments/{experiment}/validation-history")
        self.assertEqual([], history["validationHistory"])
        project = self.fetch("POST", "workspaces/1/projects", {"name": "moved"})["project"]["id"]
        self.assertEqual({experiment: ""}, act("move", destinationProjectId=project))
        self.assertIn("has no experiment", act("archive")[experiment])
        for action in ("archive", "unarchive"):
            self.assertEqual({experiment: ""}, act(action, project=project), action)
        self.assertEqual({experiment: ""}, act("delete", "DELETE", project=project))

    def test_renames_template_and_changes_log_level(self):
        template = {"name": "old", "config": {"max_restarts": 1}}
        self.fetch("POST", "templates/old", template)
        renamed = self.fetch("PATCH", "template/rename", {"oldName": "old", "newName": "new"},
                           {"template.name": "str", "template.config": "map"})
        self.assertEqual("new", renamed["template"]["name"])
        mask = {"paths": ["log.level", "log.color"]}
        for level in ("LOG_LEVEL_DEBUG", "LOG_LEVEL_INFO"):
            log = {"log": {"level": level, "color": False}}
            self.fetch("PATCH", "master/config", {"config": log, "fieldMask": mask})
            shown = self.fetch("GET", "master/config")["config"]["log"]["level"]
            self.assertEqual(level.rpartition("_")[2].lower(), shown)

    def test_tasks_that_do_not_exist_are_not_found(self):
        for path in ("commands/x", "notebooks/x", "shells/x", "tensorboards/x"):
            self.assertEqual(404, self.admin.send("GET", "/api/v1/" + path).status, path)
            self.assertEqual(404, self.admin.send("POST", f"/api/v1/{path}/kill").status, path)


if __name__ == "__main__":
    harness.main()
