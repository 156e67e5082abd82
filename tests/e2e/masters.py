"""Masters that share one PostgreSQL and that a test starts and stops itself."""
import os
import signal
import subprocess
import unittest

import harness
import postgres

MASTER = os.path.join(harness.ROOT, "master/resolute-master")


class Master:
    """A master with its own data directory and log; without `db`, it has its own PostgreSQL."""

    def __init__(self, home, name, db, *flags, port=None):
        self.home, self.name = home, name
        self.data = os.path.join(home.folder, name)
        self.port = port or harness.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = os.path.join(home.folder, name + ".log")
        # The machine's own /etc/determined/master.yaml does not apply.
        config = [] if "--config" in flags else ["--config", "/dev/null"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [MASTER, *config, "--data-dir", self.data, "--port", str(self.port),
                 *(["--db-url", db] if db else []),
                 "--checkpoint-dir", os.path.join(home.folder, "checkpoints"), *flags],
                env=home.env, cwd=home.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def read_log(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def await_word(self, word):
        def poll():
            if self.process.poll() is not None and word not in self.read_log():
                raise AssertionError(f"{self.name} ended: {self.read_log()}")
            return word in self.read_log()
        harness.eventually(poll, f"{word} in the log of {self.name}")
        return self

    def leads(self):
        return self.await_word("master is ready")

    def token(self):
        with open(os.path.join(self.data, "admin.token"), encoding="utf-8") as f:
            return f.read().strip()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self

    def end(self):
        return self.process.wait(timeout=harness.TIMEOUT)


class MastersTestCase(unittest.TestCase):
    """Starts a PostgreSQL without a master."""

    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.close)
        self.masters = []
        self.db = postgres.Postgres(self.home.folder)
        self.db.start()

    def start(self, name, *flags, port=None):
        self.masters.append(Master(self.home, name, self.db.url, *flags, port=port))
        return self.masters[-1]

    def close(self):
        for master in self.masters:
            if master.process.poll() is None:
                master.kill(signal.SIGCONT).kill()
                master.end()
        self.db.stop("immediate")
        self.assertEqual([], self.home.close())
