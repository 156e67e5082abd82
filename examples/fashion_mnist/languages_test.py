#!/usr/bin/python3 -B
"""The Trial in C++ and the one in Python learn the same: from the same weights, the same metrics.

Each global batch is all of the training, so that the order of the records, which each language shuffles
in its own way, does not matter.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
PACKAGE = os.path.join(HERE, "../../trial_api/python/package")
PATIENCE = 600
RECORDS, BATCHES = 256, 30
CONFIG = {
    "name": "languages",
    "entrypoint": "fashion_mnist.cc:FashionMnistTrial",
    "data": {"train_records": RECORDS, "validation_records": 500},
    "hyperparameters": {
        "global_batch_size": RECORDS,
        "learning_rate": 0.003,
        "width": 8,
        "epochs": BATCHES,
    },
    "searcher": {
        "name": "single",
        "metric": "accuracy",
        "smaller_is_better": False,
        "max_length": {"batches": BATCHES},
    },
    "scheduling_unit": 1,
    "min_validation_period": {"batches": 10},
    "reproducibility": {"experiment_seed": 5},
}

# Arguments: the configuration and the archive of the weights to begin with.
TRAIN = """
import json, sys
import torch
from det import pytorch
import model_def

config = json.load(open(sys.argv[1]))
given = torch.jit.load(sys.argv[2])
with pytorch.init(hparams=config["hyperparameters"], exp_conf=config) as context:
    trial = model_def.FashionMnistTrial(context)
    told = trial.net.load_state_dict(dict(given.named_parameters()))
    assert not told.missing_keys and not told.unexpected_keys, told
    pytorch.Trainer(trial, context).fit(
        max_length=pytorch.Batch(config["searcher"]["max_length"]["batches"]),
        validation_period=pytorch.Batch(10),
        reporting_period=pytorch.Batch(1),
    )
"""


class LanguagesTest(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = home.name
        self.config = os.path.join(self.home, "config.json")
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(CONFIG, file)  # YAML has JSON in it.

    def run_program(self, *command):
        """The lines that tell metrics, as {(kind, steps): {name: value}}."""
        paths = os.pathsep.join([PACKAGE, os.path.join(HERE, "python")])
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
            cwd=self.home,
            env=environment,
        )
        self.assertEqual(0, ended.returncode, ended.stdout)
        told = {}
        for kind, steps, text in re.findall(
            r"^(training|validation) steps=(\d+) (.*)$", ended.stdout, re.MULTILINE
        ):
            pairs = (
                json.loads(text) if text.startswith("{") else dict(re.findall(r"(\S+)=(\S+)", text))
            )
            told[kind, int(steps)] = {name: float(value) for name, value in pairs.items()}
        return told

    def in_cpp(self, folder, *arguments):
        return self.run_program(
            os.path.join(HERE, "fashion_mnist"),
            "--config",
            self.config,
            "--checkpoint-dir",
            os.path.join(self.home, folder),
            *arguments,
        )

    def test_the_same_weights_learn_the_same(self):
        # One step that changes nothing leaves the weights that the seed gives.
        self.in_cpp("begin", "--hparam", "learning_rate=0.0", "--max-length", "1 batches")
        (weights,) = glob.glob(os.path.join(self.home, "begin/*/model_0.pt"))
        cpp = self.in_cpp("cpp")
        python = self.run_program(sys.executable, "-B", "-c", TRAIN, self.config, weights)

        expected = {("training", step) for step in range(1, BATCHES + 1)}
        expected |= {("validation", step) for step in (10, 20, 30)}
        self.assertEqual(expected, set(cpp))
        self.assertEqual(expected, set(python))
        for report in sorted(expected):
            told = f"{report}: {cpp[report]} in C++, {python[report]} in Python"
            self.assertAlmostEqual(
                cpp[report]["loss"], python[report]["loss"], delta=0.001, msg=told
            )
            if report[0] == "validation":  # 1 of 500 records, where two kinds are as likely.
                self.assertAlmostEqual(
                    cpp[report]["accuracy"], python[report]["accuracy"], delta=0.0021, msg=told
                )
        first, last = cpp["training", 1]["loss"], cpp["training", BATCHES]["loss"]
        self.assertLess(last, 0.75 * first, "it has not learned")


if __name__ == "__main__":
    unittest.main(verbosity=2)
