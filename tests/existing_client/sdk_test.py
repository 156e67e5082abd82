#!/usr/bin/env -S python3 -B
"""Tests the existing client's SDK, determined.experimental.client."""
import os
import pathlib
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", name) for name in ("existing_client", "e2e")]
import existing_client  # noqa: E402
import harness  # noqa: E402

sys.path.append(existing_client.SITE_PACKAGES)

USER, PASSWORD = "boss", "Existing-Passw0rd"

# Saves two checkpoints and reports metrics. The second checkpoint is the best.
TRAIN = """
import determined as det
with det.core.init() as context:
    for step in (1, 2):
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 2 / step})
        context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state").write_text(f"state {step}")
    print("trained", flush=True)
"""


@unittest.skipUnless(os.geteuid() == 0, "a private mount for each task needs root")
class SdkTest(harness.ClusterTestCase):
    agents, slots = 1, 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            existing_client.create_administrator(cls.home, USER, PASSWORD)
            cls.enterClassContext(existing_client.user_environment(cls.home))
            from determined.experimental import client
            client.login(os.environ["DET_MASTER"], USER, PASSWORD)
            cls.client = client
            cls.experiment = cls.create_experiment("sdk")
            assert cls.experiment.wait(interval=0.1) == client.ExperimentState.COMPLETED
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def create_experiment(cls, name, **changes):
        model = cls.home.context({"train.py": TRAIN})
        config = harness.job(**{"name": name, "entrypoint": "python3 train.py",
                                "hyperparameters": {"lr": 1}, **changes})
        return cls.client.create_experiment(config, model)

    def test_edits_experiment(self):
        experiment = self.create_experiment("named", entrypoint="true")
        experiment.wait(interval=0.1)
        experiment = self.client.get_experiment(experiment.id)
        self.assertEqual("named", experiment.name)
        experiment.set_name("renamed")
        experiment.set_description("words")
        experiment.add_label("red")
        experiment.set_notes("notes")
        experiment.reload()
        self.assertEqual(("renamed", "words", {"red"}, "notes"), (
            experiment.name, experiment.description, set(experiment.labels), experiment.notes))
        experiment.remove_label("red")
        experiment.archive()
        experiment.unarchive()
        self.assertIn(experiment.id, [each.id for each in self.client.list_experiments()])
        code = experiment.download_code(self.home.folder)
        self.assertTrue(os.path.exists(code), code)

    def test_pauses_activates_and_kills(self):
        experiment = self.create_experiment("states", entrypoint="sleep 100")
        experiment.await_first_trial(interval=0.1)
        experiment.pause()
        experiment.activate()
        experiment.kill()
        self.assertEqual(self.client.ExperimentState.CANCELED, experiment.wait(interval=0.1))
        experiment.delete()

    def test_reads_trial_and_metrics(self):
        [trial] = self.experiment.list_trials()
        self.assertEqual(self.client.TrialState.COMPLETED, trial.state)
        self.assertEqual({"lr": 1}, trial.hparams)
        self.assertIn("trained", "".join(trial.iter_logs()))
        for group, values in (("training", [2, 1]), ("validation", [1, 0.5])):
            reports = list(trial.iter_metrics(group))
            self.assertEqual(values, [report.metrics["loss"] for report in reports], reports)
            self.assertEqual([1, 2], [report.steps_completed for report in reports])
        stream = list(self.client.stream_trials_metrics([trial.id], "validation"))
        self.assertEqual(2, len(stream))
        self.assertEqual(0.5, trial.summary_metrics["validation_metrics"]["loss"]["min"])
        self.assertEqual(trial.id, self.client.get_trial(trial.id).id)

    def test_finds_and_downloads_checkpoints(self):
        by_steps = self.experiment.list_checkpoints(
            sort_by=self.client.CheckpointSortBy.BATCH_NUMBER, order_by=self.client.OrderBy.DESC)
        best = self.experiment.list_checkpoints(
            sort_by="loss", order_by=self.client.OrderBy.ASC, max_results=1)[0]
        self.assertEqual(by_steps[0].uuid, best.uuid)
        self.assertEqual(best.uuid, self.experiment.top_checkpoint().uuid)
        [trial] = self.experiment.list_trials()
        self.assertEqual(best.uuid, trial.list_checkpoints(max_results=1)[0].uuid)
        self.assertEqual(0.5, best.training.validation_metrics["avgMetrics"]["loss"])
        self.assertEqual("sdk", best.training.experiment_config["name"])
        for mode in self.client.DownloadMode:
            path = pathlib.Path(self.home.folder, "downloads", mode.name)
            best.download(str(path), mode=mode)
            self.assertEqual("state 2", (path / "state").read_text(), mode.name)
        best.add_metadata({"kind": "best"})
        found = self.client.get_checkpoint(best.uuid)
        self.assertEqual("best", found.metadata["kind"])
        found.remove_metadata(["kind"])
        self.assertEqual(self.client.CheckpointState.COMPLETED, found.state)
        self.assertEqual([], list(found.get_metrics("inference")))  # No trial has used it.

    def test_registers_models(self):
        checkpoint = self.experiment.top_checkpoint()
        model = self.client.create_model("net", "a net", metadata={"a": 1})
        version = model.register_version(checkpoint.uuid)
        version.set_name("first")
        version.set_notes("notes")
        self.assertEqual(1, version.model_version)
        self.assertEqual(checkpoint.uuid, model.get_version().checkpoint.uuid)
        self.assertEqual(["first"], [each.name for each in model.list_versions()])
        model.add_metadata({"b": 2})
        model.set_labels(["red"])
        model.set_description("another")
        found = self.client.get_model("net")
        self.assertEqual(({"a": 1, "b": 2}, ["red"], "another"),
                         (found.metadata, found.labels, found.description))
        self.assertIn("net", [each.name for each in self.client.list_models()])
        self.assertIn("red", self.client.get_model_labels())
        model.archive()
        model.unarchive()
        model.delete()
        with self.assertRaisesRegex(Exception, "not found"):
            self.client.get_model("net")

    def test_creates_users_workspaces_and_projects(self):
        user = self.client.create_user("ann", False, PASSWORD)
        user.change_display_name("Ann")
        user.deactivate()
        user.activate()
        self.assertEqual("Ann", self.client.get_user_by_name("ann").display_name)
        self.assertEqual(USER, self.client.get_session_username())
        self.assertEqual(USER, self.client.whoami().username)
        self.assertIn("ann", [each.username for each in self.client.list_users()])
        workspace = self.client.create_workspace("team")
        project = workspace.create_project("first", description="d")
        project.set_name("second")
        project.set_description("e")
        project.add_note("n", "contents")
        project.archive()
        project.unarchive()
        self.assertEqual(["second"], [each.name for each in workspace.list_projects()])
        self.assertTrue(workspace.list_pools())
        experiment = self.create_experiment("moved", entrypoint="true")
        experiment.wait(interval=0.1)
        experiment.move_to_project("team", "second")
        experiment.delete()

    def test_raises_when_resource_is_missing(self):
        for call in (lambda: self.client.get_experiment(9999), lambda: self.client.get_trial(9999),
                     lambda: self.client.get_model("absent"),
                     lambda: self.client.get_checkpoint("00000000-0000-0000-0000-000000000001")):
            with self.assertRaisesRegex(Exception, "not found"):
                call()


if __name__ == "__main__":
    harness.main()
