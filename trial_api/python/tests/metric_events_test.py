import contextlib
import io
import math
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from det.core import _metric_events, _report
from det.core._metric_events import MetricEvents
from det.tensorboard._rank_files import add_rank, is_not_event_file
from event_files import fields, points, records


def report(group, steps, metrics, batch_metrics=None):
    return _report.pack(group, steps, metrics, batch_metrics)


class MetricEventsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name, "events")

    def write(self, *reports, earlier=(), **options):
        """Returns the points of the reports in the order of the files."""
        events = MetricEvents(self.folder, lambda: None, **options)
        if earlier:
            events.add(list(earlier), earlier=True)
        events.add(list(reports))
        events.close()
        return self.points()

    def points(self):
        return [point for path in sorted(self.folder.glob("*")) for point in points(path)]

    def test_writes_numbers_of_training_and_validation(self):
        found = self.write(
            report("training", 1, {"loss": 2.0, "name": "text", "on": True, "list": [1], "n": 3}),
            report("validation", 1, {"loss": 1.5, "validation_error": 0.5, "accuracy": 1}),
            report("other", 1, {"loss": 9.0}),
        )
        self.assertEqual(
            [
                ("Determined/loss", 1, 2.0),
                ("Determined/n", 1, 3.0),
                ("Determined/val_loss", 1, 1.5),
                ("Determined/validation_error", 1, 0.5),
                ("Determined/val_accuracy", 1, 1.0),
            ],
            found,
        )

    def test_writes_batch_metrics_at_the_steps_of_their_batches(self):
        batches = [{"loss": 3.0}, {"loss": 2.0}, {"loss": 1.0}]
        self.assertEqual(
            [
                ("Determined/loss", 7, 3.0),
                ("Determined/loss", 8, 2.0),
                ("Determined/loss", 9, 1.0),
                ("Determined/rate", 10, 0.5),
            ],
            self.write(report("training", 10, {"loss": 2.0, "rate": 0.5}, batches)),
        )

    def test_writes_numbers_that_are_not_finite(self):
        metrics = {"a": math.nan, "b": math.inf, "c": -math.inf}
        for batches in (None, [{"d": 1.0}]):  # Packed in two forms.
            found = self.write(report("training", 1, metrics, batches))
            values = [value for tag, _, value in found[-3:]]
            self.assertTrue(math.isnan(values[0]))
            self.assertEqual([math.inf, -math.inf], values[1:])

    def test_writes_the_time_of_the_report(self):
        with mock.patch("time.time_ns", return_value=1_700_000_000_250_000_000):
            reports = [
                report("training", 1, {"a": 1.0}),
                report("training", 2, {"a": 1.0}, [{"b": 1.0}]),
            ]
        self.write(*reports)
        [path] = self.folder.glob("*")
        times = {dict(fields(event))[1] for event in records(path)[1:]}
        self.assertEqual(1, len(times))

    def test_writes_nothing_twice(self):
        batches = [{"loss": 3.0}]
        once = [
            report("training", 1, {"a": 1.0}),
            report("validation", 1, {"a": 1.0}),
            report("training", 2, {"a": 1.0}, batches),
        ]
        more = report("training", 2, {"a": 1.0, "b": 2.0}, batches)
        found = self.write(*[each for one in once for each in (one, one)], more)
        self.assertEqual(len(set(found)), len(found))
        self.assertEqual(5, len(found))

    def test_hides_what_an_earlier_attempt_wrote_after_the_checkpoint(self):
        late = [report("training", step, {"a": 0.0}) for step in (9, 10, 11)]
        found = self.write(report("training", 11, {"a": 1.0}), earlier=late, resumed_at=10)
        tag = "Determined/a"
        self.assertEqual([(tag, 9, 0.0), (tag, 10, 0.0), (tag, 11, 1.0)], found)
        [path] = self.folder.glob("*")
        starts = [dict(fields(event)) for event in records(path)]
        self.assertEqual([11], [event[2] for event in starts if 7 in event])

    def test_a_new_attempt_writes_a_new_file(self):
        self.write(report("training", 1, {"a": 1.0}))
        self.write(report("training", 2, {"a": 1.0}), resumed_at=1)
        self.assertEqual(2, len(list(self.folder.glob("*"))))

    def test_starts_a_new_file_after_a_size(self):
        passes = []
        with mock.patch.object(_metric_events, "_MAX_FILE_BYTES", 1000):
            with mock.patch.object(_metric_events, "_PERIOD", 0):
                uploaded = threading.Semaphore(0)

                def upload():
                    passes.append(1)
                    uploaded.release()

                events = MetricEvents(self.folder, upload)
                for step in range(40):
                    events.add([report("training", step, {"a": 1.0})])
                    uploaded.acquire()
                events.close()
        self.assertGreater(len(list(self.folder.glob("*"))), 1)
        self.assertEqual(list(range(40)), [step for _, step, _ in self.points()])

    def test_writes_nothing_when_disabled(self):
        events = MetricEvents(self.folder, lambda: None)
        events.enabled = False
        events.add([report("training", 1, {"a": 1.0})])
        events.close()
        self.assertEqual([], self.points())

    def test_uploads_at_most_once_per_period(self):
        begun, passes = threading.Event(), []

        def upload():
            passes.append(len(self.points()))
            begun.set()

        with mock.patch.object(_metric_events, "_PERIOD", 1e6):
            events = MetricEvents(self.folder, upload)
            events.add([report("training", 1, {"a": 1.0})])
            self.assertTrue(begun.wait(30))
            for step in range(2, 100):
                events.add([report("training", step, {"a": 1.0})])
            events.close()  # Does not wait for the end of the period.
        self.assertEqual([1, 99], passes)

    def test_warns_once_when_uploads_fail(self):
        failures = threading.Semaphore(0)

        def upload():
            failures.release()
            raise ValueError("a library's error")

        with contextlib.redirect_stderr(io.StringIO()) as printed:
            with mock.patch.object(_metric_events, "_PERIOD", 0):
                events = MetricEvents(self.folder, upload)
                for step in range(3):
                    events.add([report("training", step, {"a": 1.0})])
                    failures.acquire()
                events.close()
        self.assertEqual(
            "WARNING: cannot store event files: a library's error; training continues\n",
            printed.getvalue(),
        )
        self.assertEqual(3, len(self.points()))

    def test_starts_another_file_after_a_failure(self):
        flush, calls, uploaded = _metric_events.EventWriter.flush, [], threading.Semaphore(0)

        def fails_once(writer):
            calls.append(writer)
            if len(calls) == 2:  # The first writes the file header.
                raise OSError(28, "No space left on device")
            flush(writer)

        with contextlib.redirect_stderr(io.StringIO()) as printed:
            with mock.patch("det.tensorboard.EventWriter.flush", fails_once):
                with mock.patch.object(_metric_events, "_PERIOD", 0):
                    events = MetricEvents(self.folder, uploaded.release)
                    for step in (1, 2):
                        events.add([report("training", step, {"a": 1.0})])
                        uploaded.acquire()
                    events.close()
        self.assertEqual(1, printed.getvalue().count("WARNING: metrics are not written"))
        self.assertEqual(2, len(list(self.folder.glob("*"))))
        self.assertEqual([1, 2], [step for _, step, _ in self.points()])

    def test_close_waits_no_longer_than_the_timeout(self):
        hang = threading.Event()
        self.addCleanup(hang.set)
        events = MetricEvents(self.folder, hang.wait)
        events.add([report("training", 1, {"a": 1.0})])
        events.close(timeout=0.01)


class RankFilesTest(unittest.TestCase):
    def test_adds_the_rank_to_names_of_profiles(self):
        for name, expected in (
            ("host.input_pipeline.pb", "host#3.input_pipeline.pb"),
            ("a.b.memory_profile.json.gz", "a.b#3.memory_profile.json.gz"),
            ("host.tensorflow_stats.pb", "host#3.tensorflow_stats.pb"),
            ("host.xplane.pb", "host#3.xplane.pb"),
            ("host.kernel_stats.pb", "host#3.kernel_stats.pb"),
            ("host.overview_page.pb", "host#3.overview_page.pb"),
            ("host.trace.json", "host#3.trace.json"),
            ("host.trace.json.gz", "host#3.trace.json.gz"),
            ("worker.1619499959628.pt.trace.json", "worker#3.1619499959628.pt.trace.json"),
            ("worker.1619499959628.pt.trace.json.gz", "worker#3.1619499959628.pt.trace.json.gz"),
            ("worker.pt.trace.json", "worker#3.pt.trace.json"),
            ("events.out.tfevents.1.host", "events.out.tfevents.1.host"),
            ("notes.json", "notes.json"),
        ):
            path = pathlib.Path("plugins/profile", name)
            self.assertEqual(path.with_name(expected), add_rank(path, 3))

    def test_finds_event_files(self):
        self.assertFalse(is_not_event_file(pathlib.Path("a/events.out.tfevents.1.host")))
        self.assertTrue(is_not_event_file(pathlib.Path("a.tfevents/host.xplane.pb")))


if __name__ == "__main__":
    unittest.main()
