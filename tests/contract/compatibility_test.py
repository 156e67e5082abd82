#!/usr/bin/env -S python3 -B
"""Checks that compatibility.md is current (README.md)."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import compatibility  # noqa: E402
import harness  # noqa: E402


class CompatibilityTest(unittest.TestCase):
    maxDiff = 20_000

    def test_page_is_current(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as openapi:
            subprocess.run(["master/gateway/openapi_json"], stdout=openapi, check=True)
            page = compatibility.generate(harness.DET, openapi.name)
        outputs = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
        if outputs:
            with open(outputs + "/compatibility.md", "w", encoding="utf-8") as f:
                f.write(page)
        with open("tests/contract/compatibility.md", encoding="utf-8") as f:
            self.assertMultiLineEqual(f.read(), page, "copy the page from the outputs of the test")

    def test_finds_keys_and_notes(self):
        shape = {"a": {"?": "null|object", "b": "string"}, "c": [{"d": "number"}], "data": {"x": "string"}}
        self.assertEqual({"a.b", "c.d", "data"}, compatibility.read_keys(shape))
        self.assertEqual("yes", compatibility.find_note("a.b", {"x": "no", "a.*": "yes"}))
        self.assertIsNone(compatibility.find_note("a.b", {"x": "no"}))


if __name__ == "__main__":
    harness.main()
