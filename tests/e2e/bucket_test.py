#!/usr/bin/env -S python3 -B
"""Tests checkpoints in a bucket: saved by two ranks, loaded, downloaded and deleted by the master;
and servers that the master must not access."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "base/objects/testing"))
import object_server  # noqa: E402  (found by the line above)

# A Python with s3fs, which the package det needs for checkpoints in a bucket.
VENV = harness.find_environment("test")
EXAMPLE = os.path.join(harness.ROOT, "examples/fashion_mnist")
OVERRIDES = ("resources.slots_per_trial=2", "min_checkpoint_period={batches: 40}",
             "scheduling_unit=10", "max_restarts=2", "data.train_records=2000",
             "data.validation_records=500")


# Saves a checkpoint in its first run and fails; resumes from it in the second.
SCRIPT = """
import det, os, pathlib, sys
info = det.get_cluster_info()
with det.core.init() as context:
    if info.latest_checkpoint is None:
        with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
            (path / "state").write_text("of the first run")
        sys.exit(3)
    with context.checkpoint.restore_path(info.latest_checkpoint) as path:
        print("found:", (path / "state").read_text(), flush=True)
    context.train.report_validation_metrics(2, {"loss": 0.5})
"""


class BucketTest(harness.ClusterTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = object_server.serve(fail=23)
        cls.url = f"http://127.0.0.1:{cls.server.server_address[1]}"
        cls.objects = cls.server.RequestHandlerClass.state.objects
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        config = os.path.join(folder.name, "master.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""
checkpoint_storage:
  type: s3
  bucket: bucket
  prefix: team/checkpoints
  endpoint_url: {cls.url}
  access_key: {object_server.ACCESS_KEY}
  secret_key: {object_server.SECRET_KEY}
""")
        cls.options = ("--master-config", config)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        super().tearDownClass()

    def create(self, *overrides):
        context = self.home.context()
        for name in os.listdir(EXAMPLE):
            if name.endswith((".cc", ".h", ".yaml")):
                shutil.copy(os.path.join(EXAMPLE, name), context)
        options = ["searcher.max_length={batches: 160}", *OVERRIDES, *overrides]
        created = self.home.json("experiment", "create", os.path.join(context, "const.yaml"), context,
                              *[x for o in options for x in ("--config", o)])
        return created["experiment"]["id"]

    def checkpoints(self, experiment):
        return self.home.json("checkpoint", "list", experiment).get("checkpoints", [])

    def test_trial_saves_resumes_and_deletes_in_a_bucket(self):
        experiment = self.create()
        harness.eventually(lambda: self.checkpoints(experiment), "a first checkpoint")
        ranks = harness.eventually(
            lambda: len(harness.ranks_of(self.home)) == 2 and harness.ranks_of(self.home),
            "two ranks")
        os.kill(ranks[1], signal.SIGKILL)
        described = self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        log = self.home.trial_log(trial["id"])
        self.assertEqual("STATE_COMPLETED", described["state"], log)
        self.assertEqual(1, trial["restarts"])
        self.assertEqual(160, trial["totalBatchesProcessed"])
        self.assertNotIn("damaged", log)

        saved = self.checkpoints(experiment)[-1]
        self.assertEqual(f"s3://bucket/team/checkpoints/{saved['uuid']}", saved["storagePath"])
        target = os.path.join(self.home.folder, "downloaded")
        self.home.det("checkpoint", "download", saved["uuid"], "-o", target)
        for path, size in saved["resources"].items():
            key = ("bucket", f"team/checkpoints/{saved['uuid']}/{path}")
            with open(os.path.join(target, path), "rb") as file:
                content = file.read()
            self.assertEqual(int(size), len(content), path)
            self.assertEqual(self.objects[key], content, path)
        self.assert_secret_is_kept(experiment)

        uuids = [each["uuid"] for each in self.checkpoints(experiment)]
        self.home.det("experiment", "delete", experiment, "--yes")
        harness.eventually(lambda: not any(uuid in key for _, key in self.objects for uuid in uuids),
                           "the deletion of the checkpoints")

    def test_script_resumes_from_a_bucket(self):
        context = self.home.context()
        with open(os.path.join(context, "train.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        experiment = self.home.create(harness.job(entrypoint=f"{VENV}/bin/python train.py", max_restarts=1),
                                      context)
        described = self.home.finish(experiment)
        log = self.home.trial_log(self.home.first_trial(experiment)["id"])
        self.assertEqual("STATE_COMPLETED", described["state"], log)
        self.assertIn("found: of the first run", log)
        [saved] = self.checkpoints(experiment)
        self.assertIn(("bucket", f"team/checkpoints/{saved['uuid']}/state"), self.objects)
        self.home.det("experiment", "delete", experiment, "--yes")
        harness.eventually(lambda: not any(saved["uuid"] in key for _, key in self.objects),
                           "the deletion of the checkpoint")

    def assert_secret_is_kept(self, experiment):
        secret = object_server.SECRET_KEY
        for words in (("dev", "curl", f"/api/v1/experiments/{experiment}"),
                      ("dev", "curl", "/api/v1/master/config"),
                      ("experiment", "describe", experiment, "--json")):
            self.assertNotIn(secret, self.home.det(*words).stdout)
        self.assertNotIn(secret, self.home.logs())

    def test_master_does_not_access_other_servers(self):
        # The same server with another host name.
        elsewhere = self.url.replace("127.0.0.1", "localhost")
        experiment = self.create(f"checkpoint_storage.endpoint_url={elsewhere}",
                                 "searcher.max_length={batches: 10}")
        described = self.home.finish(experiment)
        self.assertEqual("STATE_COMPLETED", described["state"])
        saved = self.checkpoints(experiment)[-1]
        output = self.home.det("checkpoint", "download", saved["uuid"], "-o",
                             os.path.join(self.home.folder, "refused"), code=1).stderr
        self.assertIn(f"the master may not access {elsewhere}; add it to checkpoint_roots", output)


if __name__ == "__main__":
    harness.main()
