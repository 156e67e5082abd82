#!/usr/bin/env -S python3 -B
"""Plays the recorded scenario against a new master without agents (README.md)."""
import os
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", folder) for folder in ("contract", "e2e")]
import answer_shapes  # noqa: E402
import harness  # noqa: E402
import recorded  # noqa: E402
import required_fields  # noqa: E402
import scenario  # noqa: E402
from masters import Master  # noqa: E402

FOLDER = "tests/contract"
PASSWORD = "Recorded.pw.1"
# The recorded service had no roles, and delivered webhooks to any address.
CONFIG = {"security": {"authz": {"type": "basic"}}, "webhooks": {"allow_private": True}}


class ShapesTest(unittest.TestCase):
    """The comparison itself."""

    def differences(self, expected, actual):
        return answer_shapes.differences(answer_shapes.shape_of(expected), answer_shapes.shape_of(actual))

    def test_finds_nothing_when_only_values_and_additional_members_differ(self):
        self.assertEqual([], self.differences({"a": [{"b": 1}]}, {"a": [{"b": 2}, {"b": 3}], "c": 1}))

    def test_finds_members_types_and_null(self):
        self.assertEqual(["left out: .b"], self.differences({"a": 1, "b": {"c": 1}}, {"a": 1}))
        self.assertEqual([".a is string, not number"], self.differences({"a": 1}, {"a": "1"}))
        self.assertEqual([".a is object, not null"], self.differences({"a": None}, {"a": {}}))
        self.assertEqual(["left out: .a[]"], self.differences({"a": [1]}, {"a": []}))

    def test_finds_enumerations_unless_a_task_passes_through_them(self):
        self.assertEqual([".a has STATE_PAUSED, not STATE_ACTIVE"],
                         self.differences({"a": "STATE_ACTIVE"}, {"a": "STATE_PAUSED"}))
        self.assertEqual([], self.differences({"a": "STATE_QUEUED"}, {"a": "STATE_PULLING"}))

    def test_compares_numbers_and_reasons_of_errors_but_not_texts(self):
        self.assertEqual([".error.code is 5, not 3"], self.differences(
            {"error": {"code": 3, "error": "a"}}, {"error": {"code": 5, "error": "b"}}))

    def test_compares_a_path_that_the_recording_removed_as_a_text(self):
        self.assertEqual([], self.differences({"a": "MACHINE_PATH"}, {"a": "/data"}))

    def test_reads_a_written_shape_as_it_was(self):
        value = {"a": None, "b": [{"c": "STATE_X"}, None, []], "00000000-0000-0000-0000-000000000001": {},
                 "error": {"code": 1}}
        self.assertEqual([], self.differences(value, value))


class RequiredFieldsTest(unittest.TestCase):
    """The check of required fields itself."""

    def problems(self, path, answer):
        return required_fields.RequiredFields(FOLDER).problems("GET", path, answer)

    def test_finds_absent_members_and_null_objects(self):
        self.assertEqual([".project is missing"], self.problems("/api/v1/projects/{proj:1}", {}))
        self.assertEqual([".project is null"], self.problems("/api/v1/projects/1", {"project": None}))
        self.assertIn(".project.name is missing", self.problems("/api/v1/projects/1", {"project": {}}))

    def test_checks_each_object_of_lists_and_streams(self):
        self.assertIn(".workspaces[].id is missing",
                      self.problems("/api/v1/workspaces", {"workspaces": [{}]}))
        self.assertIn(".message is missing", self.problems("/api/v1/trials/1/logs", [{"result": {}}]))


class RecordedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        master = None
        try:
            config = cls.home.write("master.yaml", CONFIG)
            master = Master(cls.home, "data", None, "--config", config,
                            "--admin-password", PASSWORD).leads()
            cls.required = required_fields.RequiredFields(FOLDER)
            cls.lacking, cls.checked = [], 0
            cls.comparison = recorded.Comparison(recorded.read_deliberate(FOLDER))
            player = scenario.Player(master.port, PASSWORD, scenario.load(FOLDER + "/recorded"))
            player.play(cls.observe)
            cls.keep_outputs()
        finally:
            if master:
                master.kill(15).end()
            cls.home.close()

    @classmethod
    def observe(cls, name, call, shape, answer):
        cls.comparison.observe(name, call, shape, answer)
        if call["method"] == "GET" and answer.status == 200:
            found = cls.required.problems("GET", call["path"], answer.whole)
            cls.checked += 1
            if found:
                cls.lacking.append(f"{name}: {'; '.join(found)}")

    @classmethod
    def keep_outputs(cls):
        print(cls.comparison.summary())
        folder = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
        if folder:
            recorded.write_pending(folder + "/pending.txt", cls.comparison)

    def test_answers_as_recorded(self):
        problems = self.comparison.problems(recorded.read_pending(FOLDER))
        self.assertEqual("", "\n".join(problems))

    def test_answers_have_what_clients_read_without_looking(self):
        self.assertGreater(self.checked, 500)
        self.assertEqual("", "\n".join(self.lacking))


if __name__ == "__main__":
    harness.main()
