#!/usr/bin/env -S python3 -B
"""Tests invalid input: one message with file, line and path, exit code 1, nothing stored."""
import json
import os
import subprocess
import unittest

import harness
from harness import job

GOOD = """name: good
entrypoint: "true"
searcher:
  name: single
  metric: loss
resources:
  slots_per_trial: 1
"""


class BadInputTest(harness.ClusterTestCase):
    def refused(self, config, *words, context=None, options=()):
        """Checks that the submission is rejected with a message with all words, and that nothing is
        stored."""
        before = len(self.home.json("experiment", "list")["experiments"])
        path = self.home.write("bad.yaml", config)
        output = self.home.det("experiment", "create", path, context or self.home.context(), *options,
                             code=1)
        self.assertEqual("", output.stdout)
        for word in words:
            self.assertIn(word, output.stderr)
        self.assertTrue(output.stderr.startswith("det: "), output.stderr)
        self.assertEqual(before, len(self.home.json("experiment", "list")["experiments"]))
        return output.stderr

    def test_accepts_the_valid_configuration(self):
        path = self.home.write("good.yaml", GOOD)
        self.home.det("experiment", "create", path, self.home.context(), "--validate-only")

    def test_warns_of_fields_without_effect(self):
        path = self.home.write("image.yaml", GOOD + "environment: {image: ubuntu}\n")
        output = self.home.det("experiment", "create", path, self.home.context(), "--validate-only",
                             "--json")
        self.assertIn("warning: " + path + ":8: environment.image: ignored",
                      output.stderr)
        self.assertEqual("ubuntu", json.loads(output.stdout)["config"]["environment"]["image"]["cpu"])

    def test_overrides_replace_or_append_and_keep_line_numbers(self):
        config = GOOD + "environment: {environment_variables: [A=1]}\nmax_restarts: many\n"
        self.refused(config, "bad.yaml:9: max_restarts", options=("--config", "name=other"))
        path = self.home.write("good.yaml", config)
        for override, variables in (("environment.environment_variables=[B=2]", ["B=2"]),
                                    ("environment.environment_variables+=[B=2]", ["A=1", "B=2"])):
            output = self.home.det("experiment", "create", path, self.home.context(),
                                 "--validate-only", "--json", "--config", override,
                                 "--config", "max_restarts=null")
            config = json.loads(output.stdout)["config"]
            self.assertEqual(variables, config["environment"]["environment_variables"]["cpu"])
            self.assertEqual(5, config["max_restarts"])

    def test_rejects_invalid_yaml(self):
        self.refused("name: x\nsearcher: {name: single\n", "bad.yaml:2: ")

    def test_rejects_an_unknown_key(self):
        self.refused(GOOD + "  slots_per_trail: 2\n", "bad.yaml:8", "slots_per_trail",
                     "slots_per_trial")

    def test_rejects_a_wrong_type(self):
        self.refused(GOOD.replace("slots_per_trial: 1", "slots_per_trial: two"), "bad.yaml:7",
                     "resources.slots_per_trial", "two")

    def test_rejects_a_missing_field(self):
        self.refused(GOOD.replace("  metric: loss\n", ""), "bad.yaml:4: ", "searcher.metric")

    def test_reports_all_problems_together(self):
        output = self.refused(GOOD.replace("slots_per_trial: 1", "slots_per_trial: -1") +
                            "max_restarts: many\n", "resources.slots_per_trial", "max_restarts")
        self.assertIn("bad.yaml:7", output)
        self.assertIn("bad.yaml:8", output)

    def test_rejects_an_override_of_an_unknown_key(self):
        self.refused(GOOD, "nonsense", options=("--config", "nonsense=1"))

    def test_rejects_an_entrypoint_outside_of_the_context(self):
        searcher = {"name": "single", "metric": "loss", "max_length": {"batches": 1}}
        self.refused(job(entrypoint="missing.cc:Trial", searcher=searcher), "missing.cc")

    def test_rejects_a_missing_configuration_file(self):
        output = self.home.det("experiment", "create", "nowhere.yaml", self.home.context(), code=1)
        self.assertIn("nowhere.yaml", output.stderr)

    def test_rejects_a_missing_context_directory(self):
        self.refused(GOOD, "nowhere", context=os.path.join(self.home.folder, "nowhere"))

    def test_rejects_a_link_out_of_the_context(self):
        for name, target in (("out", "../../etc/passwd"), ("absolute", "/etc/passwd")):
            context = self.home.context({"sub/file": "x"})
            os.symlink(target, os.path.join(context, "sub", name))
            self.refused(GOOD, f"sub/{name}", "points outside of it", context=context)

    def test_accepts_an_ignored_link_out_of_the_context(self):
        context = self.home.context({".detignore": "out\n"})
        os.symlink("/etc/passwd", os.path.join(context, "out"))
        self.home.finish(self.home.create(GOOD, context))

    def test_rejects_a_context_over_the_limit(self):
        context = self.home.context({"small": "x"})
        for name, size in (("big.bin", 60 << 20), ("bigger.bin", 70 << 20)):
            with open(os.path.join(context, name), "wb") as f:
                f.truncate(size)
        self.refused(GOOD, "bigger.bin", "130.0 MiB", "95.0 MiB", context=context)

    def test_rejects_ids_that_do_not_exist(self):
        for args in (["experiment", "describe", 999], ["experiment", "kill", 999],
                     ["experiment", "wait", 999], ["trial", "describe", 999],
                     ["trial", "logs", 999], ["checkpoint", "list", 999]):
            output = self.home.det(*args, code=1).stderr
            self.assertIn("999", output, args)
            self.assertEqual(1, len(output.strip().splitlines()), output)
        unknown = "00000000-0000-4000-8000-000000000000"
        self.assertIn(unknown, self.home.det("checkpoint", "download", unknown, code=1).stderr)

    def test_rejects_a_wrong_token(self):
        env = dict(self.home.env)
        try:
            self.home.env["DET_USER_TOKEN"] = "wrong"
            output = self.home.det("experiment", "list", code=1).stderr
        finally:
            self.home.env = env
        self.assertIn("DET_USER_TOKEN", output)


    def test_rejects_input_that_is_not_utf8(self):
        config = os.path.join(self.home.folder, "latin.yaml")
        with open(config, "wb") as f:
            f.write(GOOD.replace("good", "caf\udce9").encode("utf-8", "surrogateescape"))
        self.not_utf8("latin.yaml:1: is not UTF-8; save", config, self.home.context())
        good = self.home.write("good.yaml", GOOD)
        context = self.home.context()
        open(os.path.join(os.fsencode(context), b"caf\xe9.txt"), "wb").close()
        self.not_utf8("caf\\xe9.txt is not UTF-8; rename", good, context)

    def not_utf8(self, expected, *words):
        output = self.home.det("experiment", "create", *words, code=1).stderr
        self.assertIn(expected, output)
        self.assertEqual(1, len(output.strip().splitlines()), output)


class OutputTest(unittest.TestCase):
    """Tests `det` when its output cannot be written."""

    def run_det(self, words, stdout):
        home = harness.Home()
        try:
            return subprocess.run([harness.DET, *words], env=home.env, stdout=stdout,
                                  stderr=subprocess.PIPE, encoding="utf-8", check=False,
                                  timeout=harness.TIMEOUT)
        finally:
            self.assertEqual([], home.close())

    def test_fails_when_the_disk_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (["--help"], ["version"], ["deploy", "local", "--help"]):
                ended = self.run_det(words, full)
                self.assertEqual(1, ended.returncode, words)
                self.assertEqual("det: cannot write to stdout: No space left on device\n",
                                 ended.stderr)

    def test_ends_when_the_reader_has_closed_the_pipe(self):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            ended = self.run_det(["--help"], writing)
        finally:
            os.close(writing)
        self.assertEqual((1, ""), (ended.returncode, ended.stderr))


if __name__ == "__main__":
    harness.main()
