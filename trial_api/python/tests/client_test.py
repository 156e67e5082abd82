import base64
import hashlib
import json
import os
import tempfile
import unittest
from unittest import mock

from det import CheckpointError, MasterError
from det.experimental import _checkpoint, _experiment, _user, _workspace, client
from det.experimental._context_dir import ignored, read_context
from det.experimental._session import canonical_url
from fake_master import fake_master

EMPTY = dict.fromkeys(("DET_MASTER", "DET_USER", "DET_USER_TOKEN"), "")


class ContextDirTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def write(self, path, text="x"):
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        return full

    def test_reads_files_folders_and_links(self):
        for path in (
            "m/train.py",
            "m/sub/a.csv",
            "m/sub/b.csv",
            "m/__pycache__/x.pyc",
            "m/.git/y",
            "m/data/big",
            "m/keep.csv",
            "extra/lib.py",
        ):
            self.write(path)
        os.symlink("train.py", os.path.join(self.folder, "m/link"))
        self.write("m/.detignore", "# rules\n*.csv\n!keep.csv\n/data\n")
        sent = read_context(f"{self.folder}/m", [f"{self.folder}/extra"])
        self.assertEqual(
            {
                ".detignore": 48,
                "train.py": 48,
                "sub": 53,
                "keep.csv": 48,
                "link": 50,
                "extra": 53,
                "extra/lib.py": 48,
            },
            {file["path"]: file["type"] for file in sent},
        )
        link = [file for file in sent if file["path"] == "link"][0]
        self.assertEqual(b"train.py", base64.b64decode(link["content"]))

    def test_applies_the_rules_of_detignore(self):
        for rule, path, expected in (
            ("*.csv", "a/b.csv", True),
            ("/b.csv", "a/b.csv", False),
            ("a/", "a", False),
            ("a/*.csv", "a/b.csv", True),
            ("**/b", "x/y/b", True),
        ):
            self.assertEqual(expected, ignored(path, False, [rule]), (rule, path))

    def test_refuses_invalid_directories(self):
        with self.assertRaisesRegex(ValueError, "nothing is not a directory"):
            read_context(f"{self.folder}/nothing")
        self.write("m/a")
        with self.assertRaisesRegex(ValueError, "already exists in .*m"):
            read_context(f"{self.folder}/m", [self.write("a")])


class ClientTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        env = mock.patch.dict(os.environ, {**EMPTY, "DET_DEBUG_CONFIG_PATH": self.folder})
        env.start()
        self.addCleanup(env.stop)
        self.master.answers["/api/v1/auth/login"] = {"token": "t"}

    def signed_in(self):
        return client.Determined(self.master.url, "ann", "secret")

    def test_login_uses_password_token_or_stored_token(self):
        with self.assertRaisesRegex(MasterError, "not logged in at"):
            client.Determined(self.master.url)
        self.signed_in().get_models()
        self.assertEqual(
            [{"username": "ann", "password": "secret"}], self.master.bodies("/api/v1/auth/login")
        )
        self.assertIn("Bearer t", self.master.tokens)
        with open(f"{self.folder}/auth.json", "w", encoding="utf-8") as file:
            json.dump(
                {
                    "version": 2,
                    "masters": {self.master.url: {"active_user": "bob", "tokens": {"bob": "kept"}}},
                },
                file,
            )
        client.Determined(self.master.url).get_models()
        self.assertIn("Bearer kept", self.master.tokens)
        with mock.patch.dict(os.environ, DET_USER_TOKEN="given"):
            client.Determined(self.master.url).get_models()
        self.assertIn("Bearer given", self.master.tokens)

    def test_urls_are_canonical_as_in_the_command_line(self):
        self.assertEqual("http://m:8080", canonical_url("m"))
        self.assertEqual("http://m:80", canonical_url("http://m/"))
        self.assertEqual("https://m:443", canonical_url("https://m"))

    def test_reads_lists_page_by_page(self):
        def page(_method, _body):
            seen = len(self.master.bodies("/api/v1/models"))
            return 200, {"models": [{"id": seen, "name": f"m{seen}"}], "pagination": {"total": 3}}

        self.master.answers["/api/v1/models"] = page
        self.assertEqual(["m1", "m2", "m3"], [m.name for m in self.signed_in().get_models()])

    def test_top_checkpoint_is_the_best(self):
        def checkpoint(uuid, metric, accuracy, state="STATE_COMPLETED"):
            return {
                "uuid": uuid,
                "state": state,
                "training": {
                    "searcherMetric": metric,
                    "validationMetrics": {"avgMetrics": {"acc": accuracy}},
                },
            }

        self.master.answers["/api/v1/experiments/3"] = {
            "experiment": {"id": 3},
            "config": {"searcher": {"smaller_is_better": True}},
        }
        self.master.answers["/api/v1/experiments/3/checkpoints"] = {
            "checkpoints": [
                checkpoint("a", 0.3, 0.5),
                checkpoint("b", 0.2, 0.4),
                checkpoint("c", 0.1, 0.9, "STATE_DELETED"),
                {"uuid": "d", "state": "STATE_COMPLETED"},
            ]
        }
        experiment = self.signed_in().get_experiment(3)
        self.assertEqual("b", experiment.top_checkpoint().uuid)
        self.assertEqual("a", experiment.top_checkpoint("acc", smaller_is_better=False).uuid)
        self.assertEqual(["b", "a"], [c.uuid for c in experiment.top_n_checkpoints(5)])
        with self.assertRaisesRegex(ValueError, "no checkpoint has f1"):
            experiment.top_checkpoint("f1")

    def test_download_detects_damaged_files(self):
        files = {"state": b"good"}
        manifest = {
            "files": [{"path": "state", "size": 4, "sha256": hashlib.sha256(b"good").hexdigest()}]
        }
        files["manifest.json"] = json.dumps(manifest).encode()
        self.master.answers["/api/v1/checkpoints/u"] = {
            "checkpoint": {
                "uuid": "u",
                "state": "STATE_COMPLETED",
                "resources": dict.fromkeys(files, "1"),
            }
        }
        for name in files:
            self.master.answers[f"/api/v1/checkpoints/u/files/{name}"] = lambda *_, name=name: (
                200,
                json.dumps({"result": {"chunk": base64.b64encode(files[name]).decode()}}).encode(),
            )
        checkpoint = self.signed_in().get_checkpoint("u")
        path = checkpoint.download(f"{self.folder}/down")
        with open(f"{path}/state", "rb") as file:
            self.assertEqual(b"good", file.read())
        files["state"] = b"bad!"
        with self.assertRaisesRegex(CheckpointError, "state is damaged"):
            checkpoint.download(f"{self.folder}/again")
        # Removed files are not compared, but a complete checkpoint must have all files.
        for state, left in (("PARTIALLY_DELETED", True), ("COMPLETED", False)):
            self.master.answers["/api/v1/checkpoints/u"] = {
                "checkpoint": {
                    "uuid": "u",
                    "state": "STATE_" + state,
                    "resources": {"manifest.json": "1"},
                }
            }
            rest = self.signed_in().get_checkpoint("u")
            if left:
                self.assertEqual(
                    ["manifest.json"], os.listdir(rest.download(self.folder + "/rest"))
                )
            else:
                with self.assertRaisesRegex(CheckpointError, "state is damaged"):
                    rest.download(self.folder + "/whole")

    def test_download_rejects_files_outside_the_directory(self):
        self.master.answers["/api/v1/checkpoints/u/files/a"] = lambda *_: (200, b"{}")
        for name in ("../x", "/tmp/x", "a/../../x", ".."):
            self.master.answers["/api/v1/checkpoints/u"] = {
                "checkpoint": {
                    "uuid": "u",
                    "state": "STATE_COMPLETED",
                    "resources": {"a": "1", name: "1"},
                }
            }
            with self.assertRaisesRegex(CheckpointError, "outside"):
                self.signed_in().get_checkpoint("u").download(f"{self.folder}/down")
        self.assertFalse(os.path.exists(f"{self.folder}/down"))

    def test_creates_one_experiment_when_the_answer_is_lost(self):
        self.master.answers["/api/v1/experiments"] = {"experiment": {"id": 3}}
        self.master.answers["/api/v1/experiments/3"] = {"experiment": {"id": 3, "name": "n"}}
        determined = self.signed_in()
        self.master.dropped_responses = 1
        self.assertEqual("n", determined.create_experiment({"name": "n"}).name)
        first, second = self.master.bodies("/api/v1/experiments")
        self.assertEqual(first["requestId"], second["requestId"])
        self.assertEqual({"name": "n"}, json.loads(first["config"]))

    def test_wait_skips_updates_of_metrics(self):
        states = iter(["STATE_RUNNING", "STATE_COMPLETED"])
        self.master.answers["/api/v1/experiments/3"] = lambda *_: (
            200,
            {"experiment": {"id": 3, "state": next(states)}},
        )
        updates = [{"experiment": None}, {"experiment": {"id": 3, "state": "STATE_COMPLETED"}}]
        self.master.answers["/api/v1/experiments/3/watch"] = "".join(
            json.dumps({"result": update}) + "\n" for update in updates
        ).encode()
        determined = self.signed_in()
        self.assertEqual("COMPLETED", determined.get_experiment(3).wait().value)

    def test_treats_null_members_as_absent(self):
        class Nulls(dict):
            """A message of which all other members are null."""

            def __contains__(self, _):
                return True

            def get(self, name, _default=None):
                return super().get(name)

        for make, data in (
            (_checkpoint.Checkpoint, {"uuid": "u"}),
            (_checkpoint.Model, {"id": 1, "name": "m"}),
            (_checkpoint.ModelVersion, {"version": 1, "checkpoint": Nulls(uuid="u")}),
            (_experiment.Experiment, {"id": 1}),
            (_experiment.Trial, {"id": 1}),
            (_user.User, {"id": 1}),
            (_workspace.Project, {"id": 1}),
            (_workspace.Workspace, {"id": 1}),
        ):
            with self.subTest(make.__name__):
                make(None, Nulls(data))
        self.master.answers["/api/v1/experiments/3"] = {
            "experiment": {"id": 3, "config": None},
            "config": {"name": "n"},
        }
        experiment = self.signed_in().get_experiment(3)
        self.assertEqual({"name": "n"}, experiment.reload().config)

    def test_returns_metrics_of_all_groups_by_name(self):
        self.master.answers["/api/v1/trials/metrics/trial_metrics"] = {
            "result": {
                "metrics": [
                    {
                        "trialId": 3,
                        "group": "training",
                        "totalBatches": 10,
                        "metrics": {"avg_metrics": {"loss": 0.5}, "batch_metrics": None},
                    },
                    {
                        "trialId": 3,
                        "group": "validation",
                        "metrics": {"validation_metrics": {"loss": 0.25}},
                    },
                ]
            }
        }
        first, second = self.signed_in().iter_trials_metrics([3])
        self.assertEqual(("training", 10), (first.group, first.steps_completed))
        self.assertEqual({"loss": 0.5}, first.metrics)
        self.assertEqual({"loss": 0.25}, second.metrics)

    def test_changes_metadata_and_files_of_a_checkpoint(self):
        path = "/api/v1/checkpoints/u"
        self.master.answers[path] = {"checkpoint": {"uuid": "u", "metadata": {"a": 1, "b": 2}}}
        self.master.answers[f"{path}/metadata"] = lambda _, body: (200, body)
        self.master.answers[f"{path}/metrics"] = {"metrics": [{"group": "validation"}]}
        checkpoint = self.signed_in().get_checkpoint("u")
        checkpoint.add_metadata({"b": 3, "c": 4})
        checkpoint.remove_metadata(["a", "absent"])
        self.assertEqual({"b": 3, "c": 4}, checkpoint.metadata)
        self.assertEqual(
            [{"a": 1, "b": 3, "c": 4}, {"b": 3, "c": 4}],
            [body["checkpoint"]["metadata"] for body in self.master.bodies(f"{path}/metadata")],
        )
        self.assertEqual([{"group": "validation"}], checkpoint.get_metrics())
        checkpoint.remove_files(["*.pt"])
        self.assertEqual(
            [{"checkpointUuids": ["u"], "checkpointGlobs": ["*.pt"]}],
            self.master.bodies("/api/v1/checkpoints/rm"),
        )

    def test_changes_fields_of_a_model(self):
        self.master.answers["/api/v1/models/m"] = {
            "model": {"id": 5, "name": "m", "metadata": {"a": 1}}
        }
        model = self.signed_in().get_model("m")
        model.set_name("n")
        model.set_labels(["x"])
        model.add_metadata({"b": 2})
        model.remove_metadata(["a"])
        self.assertEqual(
            [
                {"name": "n"},
                {"labels": ["x"]},
                {"metadata": {"a": 1, "b": 2}},
                {"metadata": {"b": 2}},
            ],
            self.master.bodies("/api/v1/models/5"),
        )
        model.move_to_workspace(3)
        self.assertEqual(
            [{"destinationWorkspaceId": 3}], self.master.bodies("/api/v1/models/5/move")
        )
        data = {"version": 2, "model": {"id": 5}, "checkpoint": {"uuid": "u"}}
        self.master.answers["/api/v1/models/5/versions"] = {"modelVersion": data}
        version = model.register_version("u")
        self.assertEqual("ModelVersion(model_id=5, model_version=2)", repr(version))

    def test_manages_workspaces_and_projects(self):
        answers, path = self.master.answers, "/api/v1/workspaces/5"
        data = {"id": 5, "name": "vision", "defaultComputePool": "gpus"}
        answers["/api/v1/workspaces"] = lambda method, _: (
            200,
            ({"workspace": data} if method == "POST" else {"workspaces": [data]}),
        )
        answers[path] = lambda _, body: (200, {"workspace": {**data, **(body or {})}})
        project = {"id": 8, "name": "cats", "workspaceId": 5}
        answers[f"{path}/projects"] = lambda method, _: (
            200,
            ({"project": project} if method == "POST" else {"projects": [project]}),
        )
        determined = self.signed_in()
        self.assertEqual(5, determined.create_workspace("vision").id)
        workspace = determined.get_workspace("vision")
        self.assertEqual(
            ("vision", "gpus", None),
            (workspace.name, workspace.default_compute_pool, workspace.default_aux_pool),
        )
        workspace.set_default_pools(default_aux_pool="cpus")
        self.assertEqual({"defaultAuxPool": "cpus"}, self.master.bodies(path)[-1])
        self.assertEqual("cpus", workspace.default_aux_pool)
        self.assertEqual(8, workspace.create_project("cats").id)
        self.assertEqual(8, workspace.get_project("cats").id)
        with self.assertRaisesRegex(MasterError, "no project 'dogs' in workspace 'vision'"):
            workspace.get_project("dogs")
        workspace.archive()
        workspace.delete_project("cats")
        determined.delete_workspace("vision")
        called = [(method, called) for method, called, _ in self.master.calls]
        for call in (
            ("POST", f"{path}/archive"),
            ("DELETE", "/api/v1/projects/8"),
            ("DELETE", path),
        ):
            self.assertIn(call, called)
        answers["/api/v1/workspaces"] = {"workspaces": []}
        with self.assertRaisesRegex(MasterError, "workspace 'none' does not exist"):
            determined.get_workspace("none")

    def test_returns_notes_of_a_project(self):
        path = "/api/v1/projects/8"
        notes = [{"name": "a", "contents": "1"}, {"name": "b", "contents": "2"}]
        self.master.answers[path] = {"project": {"id": 8, "notes": notes}}
        self.master.answers[f"{path}/notes"] = lambda method, body: (
            200,
            body if method == "PUT" else {"notes": notes + [body]},
        )
        project = self.signed_in().get_project(8)
        project.add_note("c", "3")
        self.assertEqual(["a", "b", "c"], [note["name"] for note in project.notes])
        project.remove_note("a")
        self.assertEqual([notes[1]], project.notes)
        with self.assertRaisesRegex(ValueError, "0 notes with the name 'x'"):
            project.remove_note("x")
        project.clear_notes()
        self.assertEqual([], project.notes)

    def test_binds_pools_to_workspaces(self):
        path = "/api/v1/resource-pools/a%20b/workspace-bindings"
        self.master.answers["/api/v1/resource-pools"] = {"resourcePools": [{"name": "a b"}]}
        self.master.answers[path] = {"workspaceIds": [5]}
        self.master.answers["/api/v1/workspaces/5"] = {"workspace": {"id": 5, "name": "w"}}
        self.master.answers["/api/v1/workspaces/5/available-resource-pools"] = {
            "resourcePools": ["a b"]
        }
        [pool] = self.signed_in().list_resource_pools()
        [workspace] = pool.list_workspaces()
        self.assertEqual(("w", "a b"), (workspace.name, workspace.list_pools()[0].name))
        for change in (pool.add_bindings, pool.remove_bindings, pool.replace_bindings):
            change(["w"])
        self.assertEqual(
            [(method, {"workspaceNames": ["w"]}) for method in ("POST", "DELETE", "PUT")],
            [
                (method, body)
                for method, called, body in self.master.calls
                if called == path and body
            ],
        )

    def test_manages_users(self):
        path, data = "/api/v1/users/4", {"id": 4, "username": "bob", "active": True}
        answers = self.master.answers
        answers["/api/v1/users"] = lambda method, body: (
            200,
            ({"user": {"id": 4, **body["user"]}} if method == "POST" else {"users": [data]}),
        )
        answers[path] = lambda _, body: (200, {"user": {**data, **(body or {})}})
        answers["/api/v1/users/bob/by-username"] = answers["/api/v1/me"] = {"user": data}
        determined = self.signed_in()
        self.assertTrue(determined.create_user("bob", admin=True, password="p").admin)
        self.assertEqual("p", self.master.bodies("/api/v1/users")[-1]["password"])
        self.assertEqual(
            ["bob"] * 3,
            [
                determined.get_user_by_name("bob").username,
                determined.list_users()[0].username,
                determined.get_session_username(),
            ],
        )
        user = determined.get_user_by_id(4)
        user.deactivate()
        self.assertFalse(user.active)
        user.change_display_name("Bob")
        user.link_with_agent(agent_uid=7)
        self.assertEqual((7, None), (user.agent_uid, user.agent_gid))
        self.assertEqual(
            [{"active": False}, {"displayName": "Bob"}, {"agentUserGroup": {"agentUid": 7}}],
            [body for body in self.master.bodies(path) if body],
        )

    def test_passes_sort_keys_to_the_master(self):
        paths = []
        handle = self.master.server.RequestHandlerClass.handle_any

        def note(handler):
            paths.append(handler.path)
            handle(handler)

        for method in ("do_GET", "do_POST"):
            setattr(self.master.server.RequestHandlerClass, method, note)
        self.master.answers["/api/v1/experiments/3"] = {"experiment": {"id": 3}}
        self.master.answers["/api/v1/experiments/3/checkpoints"] = {
            "checkpoints": [{"uuid": name, "state": "STATE_COMPLETED"} for name in "ab"]
        }
        determined = self.signed_in()
        experiment = determined.get_experiment(3)
        self.assertEqual(
            ["a"],
            [
                c.uuid
                for c in experiment.list_checkpoints(
                    client.CheckpointSortBy.SEARCHER_METRIC, client.OrderBy.DESC, max_results=1
                )
            ],
        )
        experiment.list_checkpoints("f1")
        experiment.list_trials(client.TrialSortBy.ID)
        list(determined.list_experiments(states=[client.ExperimentState.PAUSED]))
        asked = " ".join(paths)
        for words in (
            "sortByAttr=SORT_BY_SEARCHER_METRIC&orderBy=ORDER_BY_DESC",
            "sortByMetric=f1",
            "trials?offset=0&limit=500&sortBy=SORT_BY_ID",
            "states=STATE_PAUSED",
        ):
            self.assertIn(words, asked)

    def test_labels_keep_their_order(self):
        path = "/api/v1/experiments/3"
        self.master.answers[path] = {"experiment": {"id": 3}}
        experiment = self.signed_in().get_experiment(3)
        experiment.set_labels({"b", "a"})
        experiment.set_labels(["b", "a"])
        self.assertEqual(
            [["a", "b"], ["b", "a"]], [body["labels"] for body in self.master.bodies(path) if body]
        )
        with self.assertRaisesRegex(TypeError, "labels is 'ab'; expected a list or a set"):
            experiment.set_labels("ab")
        with self.assertRaisesRegex(TypeError, "sort_by is 5; expected a CheckpointSortBy"):
            experiment.list_checkpoints(sort_by=5)

    def test_returns_summary_metrics_of_a_trial(self):
        self.master.answers["/api/v1/trials/7"] = {"trial": {"id": 7, "experimentId": 3}}
        data = {"validation_metrics": {"loss": {"count": 2, "last": 0.5}}}
        self.master.answers["/api/v1/runs"] = {"runs": [{"id": 7, "summaryMetrics": data}]}
        trial = self.signed_in().get_trial(7)
        self.assertEqual(data, trial.summary_metrics)
        [body] = self.master.bodies("/api/v1/runs")
        [own] = json.loads(body["filter"])["filterGroup"]["children"]
        self.assertEqual(("id", "=", 7), (own["columnName"], own["operator"], own["value"]))

    def test_changes_labels_and_downloads_code_of_an_experiment(self):
        path = "/api/v1/experiments/3"
        self.master.answers[path] = {"experiment": {"id": 3, "labels": ["a"]}}
        self.master.answers[f"{path}/model_def"] = {"b64Tgz": base64.b64encode(b"tgz").decode()}
        experiment = self.signed_in().get_experiment(3)
        experiment.add_label("b")
        experiment.add_label("a")
        experiment.remove_label("a")
        self.assertEqual(
            [["a", "b"], []], [body["labels"] for body in self.master.bodies(path) if body]
        )
        with open(experiment.download_code(self.folder), "rb") as file:
            self.assertEqual(b"tgz", file.read())
        experiment.delete_tensorboard_files()
        self.assertIn(
            ("DELETE", f"{path}/tensorboard-files"),
            [(method, called) for method, called, _ in self.master.calls],
        )
