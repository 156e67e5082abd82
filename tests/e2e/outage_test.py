#!/usr/bin/env -S python3 -B
"""A database that goes away: what is refused, what waits for it, and a master that is told to stop."""
import signal

import harness
from masters import MastersTestCase

HOLDS = "the database is away; holding everything until it answers"


class OutageTest(MastersTestCase):
    def setUp(self):
        super().setUp()
        self.master = self.start("m").leads()
        self.home.env["DET_MASTER"] = self.master.url
        self.home.env["DET_USER_TOKEN"] = self.master.token()

    def states(self):
        return {e["name"]: e["state"] for e in self.home.json("experiment", "list")["experiments"]}

    def held(self):
        """`waiting` runs, the database is gone, and `det` waits for an answer to what it asked."""
        made = self.home.create(harness.job(name="waiting"))
        self.db.stop("immediate")
        asked = self.home.popen("experiment", "kill", made)
        self.addCleanup(asked.kill)
        self.master.await_word(HOLDS)
        self.assertIsNone(asked.poll(), "nothing is acknowledged before its commit")
        return asked

    def test_pending_requests_complete_after_a_database_outage(self):
        asked = self.held()
        refused = self.home.det("experiment", "create", self.home.write("more.yaml", harness.job()),
                                self.home.context(), code=1)
        self.assertIn("database", refused.stderr)
        self.db.start()
        with asked:
            output = asked.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(0, asked.returncode, output)
        self.assertEqual({"waiting": "STATE_CANCELED"}, self.states())
        self.assertIsNone(self.master.process.poll(), "without a restart of its own")

    def test_master_stops_cleanly_during_a_database_outage(self):
        asked = self.held()
        self.assertEqual(0, self.master.kill(signal.SIGTERM).end(), self.master.read_log())
        with asked:
            output = asked.communicate(timeout=harness.TIMEOUT)
        self.assertNotEqual(0, asked.returncode, output)
        self.db.start()
        self.start("m", port=self.master.port).leads()
        # What nobody was promised has not been done.
        self.assertEqual(["waiting"], list(self.states()))
        self.assertNotIn("CANCELED", self.states()["waiting"])


if __name__ == "__main__":
    harness.main()
