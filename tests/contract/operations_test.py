#!/usr/bin/env -S python3 -B
"""No operation that existing clients know leads nowhere (README.md): each has a route of its own, which
serves it or says that this cluster does not."""
import json
import os
import re
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
import replay  # noqa: E402

# Asked last: it ends the session that asks.
LOGOUT = "Logout"


class OperationsTest(harness.ClusterTestCase):
    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def test_each_leads_somewhere(self):
        with open("tests/contract/exchanges.json", encoding="utf-8") as f:
            operations = json.load(f)["operations"]
        self.assertGreater(len(operations), 200)
        nowhere = []
        for name, verb, path in sorted(operations, key=lambda each: each[0] == LOGOUT):
            # Of things that are not there: what is asked of them changes nothing.
            answer = self.admin.send(verb, re.sub(r"\{[^}]*\}", "987654", path),
                                     None if verb == "GET" else {})
            if re.search(r"unknown path |[^ ]+ supports only [A-Z]", answer.text):
                nowhere.append(f"{name}: {verb} {path}: {answer.status} {answer.text[:120]}")
            elif answer.status == 501 and "this cluster" not in answer.text:
                nowhere.append(f"{name}: 501 without saying what to do: {answer.text[:120]}")
        self.assertEqual([], nowhere)

    def test_a_literal_is_not_taken_for_an_id(self):
        for verb, path in (("POST", "/api/v1/trials/profiler/metrics"),
                           ("PATCH", "/api/v1/users/assignments")):
            answer = self.admin.send(verb, path, {})
            self.assertEqual(501, answer.status, answer.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
