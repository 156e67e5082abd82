#!/usr/bin/env -S python3 -B
"""Tests a database outage: rejected and pending requests, and stopping the master during the outage."""
import signal

import harness
from masters import MastersTestCase

OUTAGE_MESSAGE = "the database is unavailable; changes wait until it is back"


class OutageTest(MastersTestCase):
    def setUp(self):
        super().setUp()
        self.master = self.start("m").leads()
        self.home.env["DET_MASTER"] = self.master.url
        self.home.env["DET_USER_TOKEN"] = self.master.token()

    def states(self):
        return {e["name"]: e["state"] for e in self.home.json("experiment", "list")["experiments"]}

    def stop_database(self):
        """Stops the database while experiment `waiting` is running and `det` waits for a response."""
        experiment = self.home.create(harness.job(name="waiting"))
        self.db.stop("immediate")
        pending = self.home.popen("experiment", "kill", experiment)
        self.addCleanup(pending.kill)
        self.master.await_word(OUTAGE_MESSAGE)
        self.assertIsNone(pending.poll(), "nothing is acknowledged before its commit")
        return pending

    def test_pending_requests_complete_after_a_database_outage(self):
        pending = self.stop_database()
        refused = self.home.det("experiment", "create", self.home.write("more.yaml", harness.job()),
                                self.home.context(), code=1)
        self.assertIn("database", refused.stderr)
        self.db.start()
        with pending:
            output = pending.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(0, pending.returncode, output)
        self.assertEqual({"waiting": "STATE_CANCELED"}, self.states())
        self.assertIsNone(self.master.process.poll(), "the master must not restart")

    def test_master_stops_cleanly_during_a_database_outage(self):
        pending = self.stop_database()
        self.assertEqual(0, self.master.kill(signal.SIGTERM).end(), self.master.read_log())
        with pending:
            output = pending.communicate(timeout=harness.TIMEOUT)
        self.assertNotEqual(0, pending.returncode, output)
        self.db.start()
        self.start("m", port=self.master.port).leads()
        # The request was not acknowledged, and must have had no effect.
        self.assertEqual(["waiting"], list(self.states()))
        self.assertNotIn("CANCELED", self.states()["waiting"])


if __name__ == "__main__":
    harness.main()
