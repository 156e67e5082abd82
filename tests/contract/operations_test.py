#!/usr/bin/env -S python3 -B
"""Checks that each operation that existing clients know has its own route, which serves it or returns
UNIMPLEMENTED with the alternative (README.md)."""
import json
import os
import re
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
import replay  # noqa: E402

# Called last, because it ends the session of the caller.
LOGOUT = "Logout"


class OperationsTest(harness.ClusterTestCase):
    def setUp(self):
        with open(self.home.data + "/admin.token", encoding="utf-8") as f:
            token = f.read().strip()
        self.admin = replay.Client(self.home.port, {"Authorization": "Bearer " + token})

    def test_every_operation_has_a_route(self):
        with open("tests/contract/exchanges.json", encoding="utf-8") as f:
            operations = json.load(f)["operations"]
        self.assertGreater(len(operations), 200)
        missing = []
        for name, verb, path in sorted(operations, key=lambda each: each[0] == LOGOUT):
            # The resources do not exist, so the calls change nothing.
            answer = self.admin.send(verb, re.sub(r"\{[^}]*\}", "987654", path),
                                     None if verb == "GET" else {})
            if re.search(r"unknown path |[^ ]+ supports only [A-Z]", answer.text):
                missing.append(f"{name}: {verb} {path}: {answer.status} {answer.text[:120]}")
            elif answer.status == 501 and "this cluster" not in answer.text:
                missing.append(f"{name}: 501 without an alternative: {answer.text[:120]}")
        self.assertEqual([], missing)

    def test_does_not_parse_a_literal_as_an_id(self):
        for verb, path in (("POST", "/api/v1/trials/profiler/metrics"),
                           ("PATCH", "/api/v1/users/assignments")):
            answer = self.admin.send(verb, path, {})
            self.assertEqual(200, answer.status, answer.text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
