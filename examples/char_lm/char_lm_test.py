#!/usr/bin/env -S python3 -B
"""Tests both programs off the cluster, on text that the test writes.

It covers learning, resuming, and the transfer from one program to the other.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

WORDS = (
    "a an the of file files option options print prints show shows name names line lines".split()
)
TIMEOUT = 600


def write_texts(folder):
    rng = random.Random(1)
    for i in range(80):
        os.makedirs(os.path.join(folder, f"p{i}"))
        with open(os.path.join(folder, f"p{i}", "README"), "w", encoding="utf-8") as file:
            file.write(" ".join(rng.choice(WORDS) for _ in range(400)) + ".\n")


class CharLmTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.texts = os.path.join(self.home.name, "texts")
        write_texts(self.texts)

    def run_program(self, name, config, *arguments, code=0):
        """Runs a program and returns its output."""
        changed = os.path.join(self.home.name, "config.yaml")
        with open(config, encoding="utf-8") as file:
            text = file.read().replace("path: /usr/share", f"path: {self.texts}\n  min_bytes: 1000")
        with open(changed, "w", encoding="utf-8") as file:
            file.write(text + "min_checkpoint_period: {batches: 6}\n")
        command = [
            "./" + name,
            "--config",
            changed,
            "--checkpoint-dir",
            os.path.join(self.home.name, "checkpoints"),
            *arguments,
        ]
        ended = subprocess.run(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
        )
        self.assertEqual(code, ended.returncode, ended.stdout)
        return ended.stdout

    def learn(self, *arguments):
        small = (
            "hidden=32",
            "sequence_length=16",
            "global_batch_size=16",
            "reference_batch_size=16",
            "warmup_batches=2",
        )
        options = [word for one in small for word in ("--hparam", one)]
        return self.run_program(
            "char_lm", "const.yaml", *options, "--max-length", "12 batches", *arguments
        )

    def test_resumed_run_equals_the_uninterrupted_one(self):
        whole = self.learn()
        checkpoints = re.findall(r"checkpoint\b.*", whole)
        self.assertEqual(2, len(checkpoints), whole)
        sixth = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", checkpoints[0])[0]
        resumed = self.learn("--restore", sixth)
        last = [line for line in whole.splitlines() if "validation" in line][-1]
        self.assertIn(last, resumed.splitlines(), f"{whole}\n{resumed}")

    def test_learned_features_classify_sentences(self):
        output = self.learn("--hparam", "learning_rate=0.01")
        uuid = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", output)[-1]
        folder = os.path.join(self.home.name, "checkpoints", uuid)
        for features in ("net", "bytes"):
            output = self.run_program(
                "sentiment",
                "sentiment.yaml",
                "--hparam",
                f"language_model={folder}",
                "--hparam",
                "hidden=32",
                "--hparam",
                f"features={features}",
                "--hparam",
                "learning_rate=0.05",
                "--max-length",
                "20 epochs",
            )
            accuracy = float(re.findall(r"accuracy=([0-9.]+)", output)[-1])
            self.assertGreater(accuracy, 0.6, output)  # Guessing yields 0.5.

    def test_reports_invalid_arguments(self):
        output = self.fail_to_learn("--hparam", "precision=int4")
        self.assertIn("precision is int4: expected float32, bfloat16 or float16", output)
        output = self.run_program("sentiment", "sentiment.yaml", code=1)
        self.assertIn("cannot read the net in language_model: set `language_model`", output)

    def fail_to_learn(self, *arguments):
        return self.run_program("char_lm", "const.yaml", *arguments, code=1)


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(sys.argv[0])))
    unittest.main(verbosity=2)
