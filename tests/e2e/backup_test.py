#!/usr/bin/env -S python3 -B
"""Tests `det deploy backup` and `restore`."""
import os
import re
import shutil
import tarfile
import unittest

import harness


class BackupTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(lambda: self.assertEqual([], self.home.close()))
        self.file = os.path.join(self.home.folder, "cluster.backup")

    def start_with_experiment(self):
        """Starts a cluster with an experiment; returns the IDs of both."""
        self.home.up()
        experiment = self.home.create(harness.TRUE_JOB)
        self.home.finish(experiment)
        return experiment, self.home.json("master", "info")["cluster_id"]

    def down(self):
        self.home.det("deploy", "local", "down")

    def backup(self, code=0):
        return self.home.det("deploy", "backup", self.file, code=code)

    def restore(self, *options, code=0):
        return self.home.det("deploy", "restore", self.file, *options, code=code)

    def assert_restored(self, experiment, cluster):
        self.home.up()
        self.assertEqual(cluster, self.home.json("master", "info")["cluster_id"])
        self.assertEqual("STATE_COMPLETED", self.home.experiment(experiment)["state"])

    def test_restores_a_deleted_cluster(self):
        experiment, cluster = self.start_with_experiment()
        with open(os.path.join(self.home.data, "admin.token"), encoding="utf-8") as f:
            token = f.read()
        output = self.backup().stdout  # while the cluster is running
        self.assertIn(f"cluster {cluster}", output)
        self.assertIn("1 experiments", output)
        self.assertEqual(0o600, os.stat(self.file).st_mode & 0o777)
        after = self.home.create(harness.TRUE_JOB)
        self.down()
        shutil.rmtree(self.home.data)
        output = self.restore().stdout
        self.assertIn(f"holds cluster {cluster}", output)
        self.assert_restored(experiment, cluster)
        self.assertNotIn(after, [e["id"] for e in self.home.json("experiment", "list")["experiments"]])
        with open(os.path.join(self.home.data, "admin.token"), encoding="utf-8") as f:
            self.assertEqual(token, f.read())

    def test_replaces_a_cluster_only_with_replace(self):
        experiment, cluster = self.start_with_experiment()
        self.down()
        self.backup()  # while the cluster is stopped
        self.home.up()
        output = self.restore("--replace", code=1).stderr
        self.assertIn("another master is using", output)
        later = self.home.create(harness.TRUE_JOB)
        self.home.finish(later)
        self.down()
        refused = self.restore(code=1)
        self.assertIn("already contains a cluster", refused.stderr)
        self.assertIn("--replace", refused.stderr)
        self.assertIn("1 experiments", refused.stdout)
        self.assert_restored(later, cluster)  # the existing cluster is unchanged
        self.down()
        self.restore("--replace")
        self.assert_restored(experiment, cluster)
        listed = self.home.json("experiment", "list")["experiments"]
        self.assertEqual([experiment], [e["id"] for e in listed])

    def test_agents_kill_tasks_after_a_restore(self):
        """Kills the master and restores the database while agents, tasks and PostgreSQL keep running."""
        sleeps = harness.job(entrypoint="echo process $$ of run $DET_TRIAL_RUN_ID; exec sleep 600",
                             max_restarts=0)
        self.home.up()
        before = self.home.create(sleeps)
        processes = [self.process_of(before)]
        self.backup()
        after = self.home.create(sleeps)
        processes.append(self.process_of(after))
        self.home.kill("master")
        self.restore("--replace")
        self.home.up()
        for process in processes:
            harness.eventually(lambda pid=process: harness.ended(pid), "the end of the old process")
        listed = self.home.json("experiment", "list")["experiments"]
        self.assertEqual([before], [e["id"] for e in listed])
        # Another process continues the trial. New IDs differ from all IDs before the restore.
        harness.eventually(lambda: self.process_of(before) not in processes, "another process")
        experiment = self.home.create(harness.TRUE_JOB)
        self.assertGreater(experiment, after + 1000)
        self.assertEqual("STATE_COMPLETED", self.home.finish(experiment)["state"])
        self.home.det("experiment", "kill", before)
        self.assertEqual("STATE_CANCELED", self.home.finish(before)["state"])

    def process_of(self, experiment):
        """The PID in the newest line of the log."""
        trial = self.home.first_trial(experiment)["id"]

        def poll():
            output = re.findall(r"process (\d+) of run", self.home.trial_log(trial))
            return output and int(output[-1])
        return harness.eventually(poll, "a line with a PID")

    def test_restore_of_a_damaged_file_changes_nothing(self):
        experiment, cluster = self.start_with_experiment()
        self.backup()
        self.down()
        with open(self.file, "rb") as f:
            whole = f.read()
        with tarfile.open(self.file) as archive:
            dump = archive.getmember("database.dump")
            self.assertEqual({"manifest.json", "SHA256SUMS", "admin.token", "agent.token",
                              "database.dump"}, set(archive.getnames()))
        middle = dump.offset_data + dump.size // 2
        for damaged in (b"", whole[:middle], b"not a backup",
                        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:]):
            with open(self.file, "wb") as f:
                f.write(damaged)
            output = self.restore("--replace", code=1).stderr
            self.assertIn("is not a backup of a cluster, or is damaged", output)
        self.assert_restored(experiment, cluster)

    def test_failed_backup_leaves_no_file(self):
        self.assertIn("there is no cluster", self.backup(code=1).stderr)
        self.assertFalse(os.path.exists(self.file))
        experiment, _ = self.start_with_experiment()
        self.file = os.path.join(self.home.folder, "none/cluster.backup")
        self.assertIn("cannot write to the folder", self.backup(code=1).stderr)
        os.remove(os.path.join(self.home.data, "agent.token"))
        self.file = os.path.join(self.home.folder, "cluster.backup")
        self.assertIn("agent.token", self.backup(code=1).stderr)
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual([], [n for n in os.listdir(self.home.folder) if n.startswith(".backup")])
        self.assertEqual("STATE_COMPLETED", self.home.experiment(experiment)["state"])


if __name__ == "__main__":
    harness.main()
