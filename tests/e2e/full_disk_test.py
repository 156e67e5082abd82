#!/usr/bin/env -S python3 -B
"""Tests a database on a small file system that is filled completely while a task is running."""
import os
import re
import shutil
import subprocess
import unittest

import harness
import postgres
from harness import eventually, job

# Prints numbered lines until a file exists, then their number.
COUNT = ("i=0; while [ ! -e {stop} ]; do i=$((i+1)); echo line=$i; sleep 0.02; done; echo last=$i")
SIZE = "24m"  # size of the file system
LARGE = 2 << 20  # size in bytes of a context directory that does not fit


class FullDiskTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.close)
        self.disk = os.path.join(self.home.folder, "disk")
        os.mkdir(self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "disk", self.disk],
                                 capture_output=True, encoding="utf-8", check=False)
        if mounted.returncode:
            self.skipTest(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.db = postgres.Postgres(self.home.folder)
        self.db.start()
        self.addCleanup(self.db.stop, "immediate")
        if os.geteuid() == 0:
            shutil.chown(self.disk, "postgres", "postgres")
        self.sql(f"CREATE TABLESPACE disk LOCATION '{self.disk}'")
        self.sql("ALTER ROLE resolute SET default_tablespace = disk")
        config = self.home.write("master.yaml", {"db": {
            "host": self.db.folder, "user": "resolute", "name": "postgres"}})
        self.home.det("deploy", "local", "up", "--port", self.home.port, "--agents", 1,
                      "--slots", 2, "--master-config", config)

    def close(self):
        self.assertEqual([], self.home.close())

    def sql(self, text):
        subprocess.run([os.path.join(self.db.bin, "psql"), "-q", "-d", self.db.url, "-c", text],
                       check=True, capture_output=True)

    def fill(self):
        """Fills the file system; returns the file that uses the space."""
        path = os.path.join(self.disk, "filler")
        with open(path, "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                return path

    def create(self, name):
        """Creates an experiment with a new context directory."""
        path = self.home.write(name + ".yaml", job(name=name))
        context = self.home.context()
        with open(os.path.join(context, "data"), "wb") as f:
            f.write(os.urandom(LARGE))
        return self.home.det("experiment", "create", path, context, code=None)

    def names(self):
        return {e["name"] for e in self.home.json("experiment", "list")["experiments"]}

    def test_rejects_new_work_and_keeps_running_work(self):
        stop = os.path.join(self.home.folder, "stop")
        running = self.home.create(job(name="running", entrypoint=COUNT.format(stop=stop)))
        trial = self.home.first_trial(running)["id"]

        def lines():
            return [int(n) for n in re.findall("line=([0-9]+)", self.home.trial_log(trial))]
        eventually(lines, "the first lines")
        filler = self.fill()
        refused = self.create("refused")
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("disk is full", refused.stderr)
        self.assertNotIn("refused", self.names())
        self.assertEqual("STATE_RUNNING", self.home.experiment(running)["state"])
        self.assertNotEqual(0, self.create("refused-too").returncode)
        had = len(lines())
        os.unlink(filler)
        eventually(lambda: self.create("later").returncode == 0, "a successful submission")
        eventually(lambda: len(lines()) > had, "new log lines")
        self.home.write(stop, "")
        self.assertEqual("STATE_COMPLETED", self.home.finish(running)["state"])
        last = re.findall("last=([0-9]+)", self.home.trial_log(trial))
        self.assertEqual(1, len(last))
        self.assertEqual(list(range(1, int(last[0]) + 1)), lines())
        self.assertEqual(0, self.home.first_trial(running)["restarts"])
        self.assertEqual({"running", "later"}, self.names())


if __name__ == "__main__":
    harness.main()
