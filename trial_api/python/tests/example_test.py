"""examples/bring_your_own_script."""

import importlib.util
import json
import os
import tempfile
import unittest

import det
from fake_master import SERVICE, as_task, fake_master

PATH = os.path.join(os.getcwd(), "examples/bring_your_own_script/train.py")


def load():
    spec = importlib.util.spec_from_file_location("train", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ExampleTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def train(self, **info):
        """Returns the reports as (path, body)."""
        os.makedirs(f"{self.folder}/info", exist_ok=True)
        latest = info.pop("latest", None)
        data = {
            "trial_id": 7,
            "experiment_id": 3,
            "trial_run_id": 1,
            "trial_seed": 5,
            "hparams": {"learning_rate": 0.2, "batches": 50},
            "checkpoint_dir": f"{self.folder}/checkpoints",
            "config": {},
            **info,
        }
        with open(f"{self.folder}/info/trial.json", "w", encoding="utf-8") as file:
            json.dump(data, file)
        before = len(self.master.calls)
        with as_task(self.master, self.folder, DET_LATEST_CHECKPOINT=latest):
            with det.core.init() as context:
                load().main(context)
        return [(path.rpartition("/")[2], body) for _, path, body in self.master.calls[before:]]

    def test_last_checkpoint_follows_the_last_report(self):
        data = [path for path, _ in self.train() if path in ("ReportMetrics", "ReportCheckpoint")]
        self.assertEqual("ReportCheckpoint", data[-1])
        reports = self.master.reports()
        self.assertEqual(
            [10, 20, 30, 40, 50], [s for _, group, s in reports if group == "training"]
        )
        self.assertEqual([50], [s for _, group, s in reports if group == "validation"])

    def test_restart_resumes_and_warm_start_starts_from_0(self):
        self.train()
        checkpoints = self.master.bodies(SERVICE + "ReportCheckpoint")
        first = next(c["uuid"] for c in checkpoints if c["stepsCompleted"] == 25)
        for warm, begin in ((False, 30), (True, 10)):
            before = len(self.master.reports())
            self.train(latest=first, warm_start=warm, steps_completed=25)
            self.assertEqual(begin, self.master.reports()[before][2])
