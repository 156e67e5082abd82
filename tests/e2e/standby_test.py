#!/usr/bin/env -S python3 -B
"""Two masters on one PostgreSQL: who leads, who takes over, and what becomes of the one that led."""
import signal

import harness
from masters import MastersTestCase


class StandbyTest(MastersTestCase):
    def setUp(self):
        super().setUp()
        self.leader = self.start("a").leads()
        self.home.env["DET_USER_TOKEN"] = self.leader.token()
        self.standby = self.start("b", "--standby").await_word("standing by; the leader at")

    def use(self, *masters):
        self.home.env["DET_MASTER"] = ",".join(m.url for m in masters)

    def names(self):
        return [e["name"] for e in self.home.json("experiment", "list")["experiments"]]

    def create(self, name, code=0):
        path = self.home.write(name + ".yaml", harness.job(name=name))
        return self.home.det("experiment", "create", path, self.home.context(), code=code)

    def test_a_dead_leader_is_replaced_and_nothing_is_lost(self):
        self.use(self.leader, self.standby)
        self.create("before")
        self.leader.kill().end()
        said = self.home.det("experiment", "list", code=1).stderr
        for master in self.masters:
            self.assertIn(master.url, said)
        harness.eventually(lambda: self.create("after", code=None).returncode == 0,
                           "the standby takes a write")
        self.assertEqual({"before", "after"}, set(self.names()))
        self.standby.leads()
        # The one that led comes back as what it is now: another standby.
        again = self.start("a", "--standby").await_word(f"the leader at {self.standby.url}")
        self.assertEqual(0, again.kill(signal.SIGTERM).end(), again.said())

    def test_a_leader_that_was_only_stopped_ends_and_has_written_nothing(self):
        self.leader.kill(signal.SIGSTOP)
        # Its socket takes what its process does not.
        path = self.home.write("late.yaml", harness.job(name="late"))
        late = self.home.popen("-m", self.leader.url, "experiment", "create", path,
                               self.home.context())
        self.addCleanup(late.kill)
        self.standby.leads()
        self.use(self.standby)
        self.create("new")
        self.leader.kill(signal.SIGCONT)
        self.assertEqual(1, self.leader.end(), self.leader.said())
        self.assertIn(f"another master has taken over this database and leads at {self.standby.url}",
                      self.leader.said())
        with late:
            late.communicate(timeout=harness.PATIENCE)
        self.assertNotEqual(0, late.returncode)
        self.assertEqual(["new"], self.names())
        self.assertIsNone(self.standby.process.poll())

    def test_an_outage_of_the_database_changes_nobodys_place(self):
        self.use(self.leader, self.standby)
        self.create("before")
        self.db.stop("immediate")
        self.leader.await_word("lease renewal failed")
        said = self.create("refused", code=None)
        self.assertNotEqual(0, said.returncode)
        self.assertIn("cannot reach the database", said.stderr)
        self.db.start()
        self.leader.await_word("this master leads again")
        harness.eventually(lambda: self.create("after", code=None).returncode == 0,
                           "the leader takes a write")
        self.assertEqual({"before", "after"}, set(self.names()) - {"refused"})
        for master in self.masters:
            self.assertIsNone(master.process.poll(), master.said())
        self.assertNotIn("taking over", self.standby.said())

    def test_a_master_that_is_started_to_lead_leads(self):
        newer = self.start("c").leads()
        self.assertEqual(1, self.leader.end(), self.leader.said())
        self.assertIn("another master has taken over this database", self.leader.said())
        self.standby.await_word(f"the leader at {newer.url}")

    def test_a_master_that_cannot_listen_replaces_nobody(self):
        for flags in (), ("--standby",):
            late = self.start("c", *flags, port=self.leader.port)
            self.assertEqual(1, late.end(), late.said())
            self.assertIn(f"port {self.leader.port} is in use", late.said())
        self.use(self.leader)
        self.create("kept")
        self.assertIsNone(self.leader.process.poll(), self.leader.said())

    def test_det_does_not_wait_for_a_leader_that_was_stopped(self):
        self.leader.kill(signal.SIGSTOP)
        self.standby.leads()
        self.use(self.leader, self.standby)
        self.create("new")
        self.assertEqual(["new"], self.names())


if __name__ == "__main__":
    harness.main()
