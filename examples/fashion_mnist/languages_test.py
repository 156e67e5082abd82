#!/usr/bin/python3 -B
"""The Trials in C++ and Python report the same metrics when they start from the same weights.

Each global batch is the complete training set, because each language shuffles the records in its
own way.
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
TIMEOUT = 600
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

# Arguments: the configuration and the archive of the initial weights.
TRAIN = """
import json, sys
import torch
from det import pytorch
import model_def

config = json.load(open(sys.argv[1]))
given = torch.jit.load(sys.argv[2])
with pytorch.init(hparams=config["hyperparameters"], exp_conf=config) as context:
    trial = model_def.FashionMnistTrial(context)
    result = trial.net.load_state_dict(dict(given.named_parameters()))
    assert not result.missing_keys and not result.unexpected_keys, result
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
            json.dump(CONFIG, file)  # JSON is valid YAML.

    def run_program(self, *command):
        """Returns the printed metrics as {(kind, steps): {name: value}}."""
        paths = os.pathsep.join([PACKAGE, os.path.join(HERE, "python")])
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(
            command,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
            check=False,
            cwd=self.home,
            env=environment,
        )
        self.assertEqual(0, ended.returncode, ended.stdout)
        result = {}
        for kind, steps, text in re.findall(
            r"^(training|validation) steps=(\d+) (.*)$", ended.stdout, re.MULTILINE
        ):
            pairs = (
                json.loads(text) if text.startswith("{") else dict(re.findall(r"(\S+)=(\S+)", text))
            )
            result[kind, int(steps)] = {name: float(value) for name, value in pairs.items()}
        return result

    def in_cpp(self, folder, *arguments):
        return self.run_program(
            os.path.join(HERE, "fashion_mnist"),
            "--config",
            self.config,
            "--checkpoint-dir",
            os.path.join(self.home, folder),
            *arguments,
        )

    def test_metrics_are_equal_when_weights_are_equal(self):
        # One step with a learning rate of 0 saves the initial weights of the seed.
        self.in_cpp("begin", "--hparam", "learning_rate=0.0", "--max-length", "1 batches")
        (weights,) = glob.glob(os.path.join(self.home, "begin/*/model_0.pt"))
        cpp = self.in_cpp("cpp")
        python = self.run_program(sys.executable, "-B", "-c", TRAIN, self.config, weights)

        expected = {("training", step) for step in range(1, BATCHES + 1)}
        expected |= {("validation", step) for step in (10, 20, 30)}
        self.assertEqual(expected, set(cpp))
        self.assertEqual(expected, set(python))
        for report in sorted(expected):
            result = f"{report}: {cpp[report]} in C++, {python[report]} in Python"
            self.assertAlmostEqual(
                cpp[report]["loss"], python[report]["loss"], delta=0.001, msg=result
            )
            if (
                report[0] == "validation"
            ):  # 1 of 500 records, for which two kinds are equally likely.
                self.assertAlmostEqual(
                    cpp[report]["accuracy"], python[report]["accuracy"], delta=0.0021, msg=result
                )
        first, last = cpp["training", 1]["loss"], cpp["training", BATCHES]["loss"]
        self.assertLess(last, 0.75 * first, "the loss has not decreased")


if __name__ == "__main__":
    unittest.main(verbosity=2)
