#!/usr/bin/env -S python3 -B
"""Sends requests that schemathesis generates from the OpenAPI document to a new master: no answer may be a
failure of the server, or differ from its schema."""
import os
import subprocess
import sys
import unittest
import urllib.request

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import harness  # noqa: E402
from masters import Master  # noqa: E402

SEED = os.environ.get("SCHEMATHESIS_SEED", "1")
EXAMPLES = "4"  # Requests of each operation.
ENVIRONMENT = harness.find_environment("schemathesis")

# Operations that would end the session of the test, or that wait.
EXCLUDED = ("AuthService_Login", "AuthService_Logout", "UserService_PatchUser",
            "UserService_PatchUsers", "UserService_SetUserPassword", "TokenService_PatchAccessToken",
            "OverviewService_GetOverview")
# UNIMPLEMENTED (501) is the answer of operations that this service does not have.
CONFIG = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 501]
"""


class SchemathesisTest(unittest.TestCase):
    def test_answers_generated_requests_as_documented(self):
        home = harness.Home()
        self.addCleanup(home.close)
        master = Master(home, "data", None).leads()
        self.addCleanup(lambda: master.kill(15).end())
        with urllib.request.urlopen(master.url + "/api/v1/openapi.json") as answer:
            document = home.write("openapi.json", answer.read().decode())
        config = home.write("schemathesis.toml", CONFIG)
        checks = "not_a_server_error,status_code_conformance,content_type_conformance," \
                 "response_schema_conformance"
        command = [ENVIRONMENT + "/bin/schemathesis", "--config-file", config, "--no-color", "run",
                   document, "--url", master.url, "--header", f"Authorization: Bearer {master.token()}",
                   "--phases", "fuzzing", "--checks", checks, "--max-examples", EXAMPLES,
                   "--seed", SEED, "--no-shrink", "--continue-on-failure", "--workers", "1",
                   "--request-timeout", str(harness.TIMEOUT), "--suppress-health-check", "all",
                   *[f"--exclude-operation-id={name}" for name in EXCLUDED]]
        run = subprocess.run(command, cwd=home.folder, env=home.env, text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(0, run.returncode, f"seed {SEED}\n{run.stdout}\n{home.logs()}")
        print(f"seed {SEED}: {run.stdout.partition('SUMMARY')[2]}")


if __name__ == "__main__":
    harness.main()
