"""TensorBoard reads our event files, and `python3 -m det.tensorboard` shows them."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

import harness
from det.core import _report
from det.core._metric_events import MetricEvents
from det.tensorboard import EventWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

TOP = "c/tensorboard/experiment/"


def write(folder, *reports, **options):
    """Writes reports as an attempt of a trial does."""
    events = MetricEvents(pathlib.Path(folder), lambda: None, **options)
    events.add([_report.pack(*report) for report in reports])
    events.close()


class FormatTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def test_tensorboard_reads_reported_metrics(self):
        write(
            self.folder,
            ("training", 4, {"loss": 0.5, "größe": 1e9, "text": "t"}, [{"loss": 2.0}, {"loss": 1}]),
            ("validation", 4, {"loss": 0.25, "valid": float("nan")}),
        )
        [path] = pathlib.Path(self.folder).iterdir()
        events = list(EventFileLoader(str(path)).Load())
        found = [
            (value.tag, event.step, value.tensor.float_val[0])
            for event in events
            for value in event.summary.value
        ]
        self.assertEqual(
            [
                ("Determined/loss", 2, 2.0),
                ("Determined/loss", 3, 1.0),
                ("Determined/größe", 4, 1e9),
                ("Determined/val_loss", 4, 0.25),
            ],
            found[:-1],
        )
        self.assertEqual(("Determined/valid", 4), found[-1][:2])
        for event in events:
            self.assertGreater(event.wall_time, 1.7e9)

    def test_tensorboard_hides_what_an_attempt_repeats(self):
        losses = [("training", step, {"loss": 1.0}) for step in range(1, 6)]
        again = [("training", step, {"loss": 2.0}) for step in range(4, 7)]
        write(self.folder, *losses)
        write(self.folder, *again, resumed_at=3)
        read = EventAccumulator(self.folder).Reload()
        self.assertEqual(
            [(1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 2.0), (6, 2.0)],
            [(point.step, point.value) for point in read.Scalars("Determined/loss")],
        )

    def test_tensorboard_reads_text(self):
        with EventWriter(self.folder) as writer:
            writer.add_text("notes", "good", 3)
        read = EventAccumulator(self.folder).Reload()
        self.assertEqual(b"good", read.Tensors("notes")[0].tensor_proto.string_val[0])


class ServiceTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.process = None

    def start(self, *sources, arguments=()):
        described = {"sources": list(sources), "arguments": list(arguments)}
        (self.folder / "service.json").write_text(json.dumps(described), encoding="utf-8")
        self.port = harness.free_port()
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            command = [sys.executable, "-B", "-m", "det.tensorboard", "--port", str(self.port)]
            self.process = subprocess.Popen(
                [*command, "--base-path", "/proxy/x/"],
                env={**os.environ, "DET_RUN_DIR": str(self.folder)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)

    def get(self, path, **query):
        address = f"http://127.0.0.1:{self.port}/proxy/x/data/{path}?" + urllib.parse.urlencode(
            query
        )
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return json.load(answer)
        except OSError:
            self.assertIsNone(self.process.poll(), self.log.read_text(encoding="utf-8"))
            return None

    def scalars(self, run, tag):
        found = self.get("plugin/scalars/scalars", run=run, tag=tag) or []
        return [(step, value) for _, step, value in found]

    def source(self, experiment, storage="store"):
        config = {"type": "directory", "container_path": str(self.folder / storage)}
        return {"storage": config, "prefix": f"{TOP}{experiment}/", "trials": []}

    def trial(self, experiment, trial, storage="store"):
        return self.folder / storage / f"{TOP}{experiment}/trial/{trial}"

    def test_shows_a_running_trial(self):
        trial, run, tag = self.trial(1, 2), "experiment/1/trial/2", "Determined/loss"
        # Two writers at a time, as a trial's own and that of its reports.
        with EventWriter(trial) as writer, EventWriter(trial) as other:
            other.add_scalar("other", 1.0, 1)
            other.flush()
            writer.add_scalar(tag, 0.5, 1)
            writer.flush()
            self.start(self.source(1))
            harness.eventually(lambda: self.scalars(run, tag) == [(1, 0.5)], "a point")
            writer.add_scalar(tag, 0.25, 2)
            writer.flush()
            points = [(1, 0.5), (2, 0.25)]
            harness.eventually(lambda: self.scalars(run, tag) == points, "the next point")
            other.add_scalar("other", 2.0, 2)
            other.flush()
            harness.eventually(lambda: len(self.scalars(run, "other")) == 2, "the other's point")
        self.assertIn("TensorBoard contains metrics\n", self.log.read_text())
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.process.wait(60))
        self.assertIsNone(self.get_after_the_end())
        self.assertEqual([], list(self.folder.glob("event-files-*")))

    def get_after_the_end(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/proxy/x/", timeout=30)
        except OSError:
            return None

    def test_shows_experiments_of_two_storages(self):
        runs = ["experiment/1/trial/2", "experiment/10/trial/3", "experiment/10/trial/4"]
        write(self.trial(1, 2, "one"), ("training", 1, {"loss": 1.0}))
        for trial in (3, 4):
            write(self.trial(10, trial, "two"), ("training", 1, {"loss": 2.0}))
        self.start(self.source(1, "one"), self.source(10, "two"))
        harness.eventually(lambda: sorted(self.get("runs") or []) == runs, "all runs")

    def test_ends_with_tensorboard(self):
        write(self.trial(1, 2), ("training", 1, {"loss": 1.0}))
        self.start(self.source(1), arguments=["--no_such_argument"])
        self.assertEqual(1, self.process.wait(60))
        log = self.log.read_text()
        self.assertIn("no_such_argument", log)
        self.assertIn("ERROR: TensorBoard has ended with exit code 2\n", log)


if __name__ == "__main__":
    unittest.main()
