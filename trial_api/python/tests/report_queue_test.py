import io
import json
import os
import tempfile
import threading
import unittest
from contextlib import redirect_stderr
from unittest import mock

import harness
from det._errors import MasterError, RunIsOver
from det._master import Master
from det.core._outbox import Outbox
from det.core._report_queue import CHECKPOINT, METRICS, VALIDATION, ReportQueue
from fake_master import SERVICE, fake_master, refusal


def report(steps, group="training"):
    return json.dumps({"group": group, "stepsCompleted": steps, "metrics": {"loss": 0.5}}).encode()


class ReportQueueTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        context = fake_master()
        self.master = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def queue(self, run=1, **options):
        return ReportQueue(
            Master([self.master.url], {}, task=True), "3.7.1", 7, self.folder, run, **options
        )

    def test_sends_reports_once_in_order_and_in_batches(self):
        queue = self.queue()
        for step in range(3000):
            queue.add(METRICS, report(step))
        queue.close(wait=True)
        self.assertEqual([(1, "training", step) for step in range(3000)], self.master.reports())
        self.assertLess(len(self.master.calls), 300)
        self.assertEqual([], os.listdir(self.folder))

    def test_checkpoint_keeps_its_position(self):
        queue = self.queue()
        queue.add(METRICS, report(1))
        queue.add(CHECKPOINT, b'{"uuid": "u"}')
        queue.add(METRICS, report(2))
        queue.close(wait=True)
        self.assertEqual(
            ["ReportMetrics", "ReportCheckpoint", "ReportMetrics"],
            [path.rpartition("/")[2] for _, path, _ in self.master.calls],
        )
        self.assertEqual(
            [{"allocationId": "3.7.1", "trialId": 7, "uuid": "u"}],
            self.master.bodies(SERVICE + "ReportCheckpoint"),
        )

    def test_sends_reports_later_when_the_master_is_unavailable(self):
        self.master.unavailable = True
        queue = self.queue()
        queue.add(METRICS, report(1))
        self.assertTrue(queue.best(queue.add(VALIDATION, report(1, "validation"))))
        self.assertEqual([], self.master.reports())
        self.master.unavailable = False
        queue.close(wait=True)
        self.assertEqual([(1, "training", 1), (1, "validation", 1)], self.master.reports())

    def test_sends_again_when_the_response_is_lost(self):
        self.master.dropped_responses = 1
        queue = self.queue()
        queue.add(METRICS, report(1))
        queue.close(wait=True)
        # The master ignores reports that it already has; see ReportMetrics in trial.proto.
        self.assertEqual([(1, "training", 1)] * 2, self.master.reports())

    def test_best_returns_the_response_of_the_master(self):
        self.master.answers[SERVICE + "ReportMetrics"] = lambda _, body: (
            200,
            {"bestSoFar": body["reports"][-1]["stepsCompleted"] == 1},
        )
        queue = self.queue()
        self.assertTrue(queue.best(queue.add(VALIDATION, report(1, "validation"))))
        self.assertFalse(queue.best(queue.add(VALIDATION, report(2, "validation"))))
        queue.close(wait=True)

    def test_sends_reports_of_an_earlier_attempt_first(self):
        earlier = Outbox(os.path.join(self.folder, "0"))
        earlier.add(METRICS + report(1))
        earlier.add(METRICS + report(2))
        earlier.close()
        heard = []
        queue = self.queue(on_sent=lambda reports, earlier: heard.append((reports, earlier)))
        queue.add(METRICS, report(3))
        queue.close(wait=True)
        self.assertEqual(
            [(0, "training", 1), (0, "training", 2), (1, "training", 3)], self.master.reports()
        )
        self.assertEqual([([report(1), report(2)], True), ([report(3)], False)], heard)

    def test_keeps_unsent_reports_for_the_next_attempt(self):
        self.master.unavailable = True
        queue = self.queue(close_timeout=0.01)
        queue.add(METRICS, report(1))
        queue.close(wait=False)
        self.master.unavailable = False
        self.queue(run=2).close(wait=True)
        self.assertEqual([(1, "training", 1)], self.master.reports())

    def test_close_does_not_wait_for_a_hanging_connect(self):
        connecting, hang = threading.Event(), threading.Event()

        def connect(_):
            connecting.set()
            hang.wait()
            raise OSError("timed out")

        with mock.patch("http.client.HTTPConnection.connect", connect):
            queue = self.queue(close_timeout=0.01)
            self.addCleanup(queue._thread.join)
            self.addCleanup(hang.set)
            queue.add(METRICS, report(1))
            self.assertTrue(connecting.wait(30))
            queue.close(wait=False)
            self.assertTrue(queue._thread.is_alive())
        self.queue(run=2).close(wait=True)
        self.assertEqual([(1, "training", 1)], self.master.reports())

    def test_next_call_raises_when_a_report_is_rejected(self):
        self.master.answers[SERVICE + "ReportMetrics"] = refusal(400, 3, "steps are negative")
        queue = self.queue()
        queue.add(METRICS, report(1))
        with self.assertRaisesRegex(MasterError, "steps are negative"):
            queue.flush()
        with self.assertRaisesRegex(MasterError, "steps are negative"):
            queue.add(METRICS, report(2))
        with self.assertRaises(MasterError):
            queue.close(wait=True)

    def test_sends_later_reports_when_a_report_is_refused(self):
        def answer(_, body):
            refused = any(each["stepsCompleted"] == 1 for each in body["reports"])
            return refusal(400, 3, "conflicting key: loss")(_, body) if refused else (200, {})

        self.master.answers[SERVICE + "ReportMetrics"] = answer
        queue = self.queue()
        queue.add(VALIDATION, report(1, "validation"))
        with self.assertRaisesRegex(MasterError, "conflicting key: loss"):
            queue.flush()
        with self.assertRaises(MasterError):
            queue.close(wait=True)
        left = Outbox(os.path.join(self.folder, "1"))
        self.assertEqual(0, len(left), "the refused report is not sent again")
        left.add(VALIDATION + report(1, "validation"))
        left.add(METRICS + report(2))
        left.close()
        with redirect_stderr(io.StringIO()) as printed:
            self.queue(run=2).close(wait=True)
        self.assertIn("refused a report of run 1", printed.getvalue())
        self.assertEqual((1, "training", 2), self.master.reports()[-1])

    def refuse(self, *refused):
        """Lets the master refuse every request with one of these steps, and store none of it."""

        def answer(_, body):
            if any(each["stepsCompleted"] in refused for each in body["reports"]):
                return refusal(400, 3, "steps are invalid")(_, body)
            stored.extend(each["stepsCompleted"] for each in body["reports"])
            return 200, {}

        stored = []
        self.master.answers[SERVICE + "ReportMetrics"] = answer
        return stored

    def leave(self, run, *records):
        outbox = Outbox(os.path.join(self.folder, str(run)))
        for record in records:
            outbox.add(record)
        outbox.close()

    def test_sends_the_others_one_by_one_when_a_batch_is_refused(self):
        stored, heard = self.refuse(2, 4), []
        # One batch, which is complete before the queue starts.
        self.leave(1, *(METRICS + report(step) for step in range(6)), CHECKPOINT + b'{"uuid": "u"}')
        queue = self.queue(on_sent=lambda reports, _: heard.extend(reports))
        with self.assertRaisesRegex(MasterError, "steps are invalid"):
            queue.flush(30)
        self.assertEqual([0, 1, 3, 5], stored)
        self.assertEqual([report(step) for step in (0, 1, 3, 5)], heard)
        self.assertEqual(1, len(self.master.bodies(SERVICE + "ReportCheckpoint")))
        with self.assertRaises(MasterError):
            queue.close(wait=True)
        self.assertEqual([], os.listdir(self.folder))

    def test_sends_the_others_when_a_batch_of_an_earlier_attempt_is_refused(self):
        stored = self.refuse(2)
        self.leave(1, *(METRICS + report(step) for step in range(4)))
        with redirect_stderr(io.StringIO()) as printed:
            self.queue(run=2).close(wait=True)
        self.assertEqual([0, 1, 3], stored)
        self.assertEqual(1, printed.getvalue().count("WARNING: the master refused a report of run"))
        self.assertIn("INFO: sent 3 reports of run 1", printed.getvalue())

    def test_sends_reports_after_a_refused_checkpoint(self):
        self.master.answers[SERVICE + "ReportCheckpoint"] = refusal(400, 3, "not its checkpoint")
        self.leave(1, CHECKPOINT + b'{"uuid": "u"}', METRICS + report(1))
        queue = self.queue()
        with self.assertRaisesRegex(MasterError, "not its checkpoint"):
            queue.flush(30)
        self.assertEqual([(1, "training", 1)], self.master.reports())
        with self.assertRaises(MasterError):
            queue.close(wait=True)

    def test_sends_again_when_a_proxy_refuses(self):
        answers = [(400, b"<html>Bad Request</html>"), (400, {"message": "no"}), (200, {})]
        self.master.answers[SERVICE + "ReportMetrics"] = lambda *_: answers.pop(0)
        queue = self.queue()
        queue.add(METRICS, report(1))
        queue.close(wait=True)
        self.assertEqual([(1, "training", 1)] * 3, self.master.reports())

    def test_keeps_reports_of_an_earlier_attempt_when_only_a_proxy_answers(self):
        for status in (400, 503):
            self.master.answers[SERVICE + "ReportMetrics"] = lambda *_, s=status: (s, b"<html>")
            self.leave(1, METRICS + report(1))
            master = Master([self.master.url], {}, retry_timeout=0, task=True)
            queue = ReportQueue(master, "3.7.1", 7, self.folder, 2)
            with self.assertRaisesRegex(MasterError, "does not answer"):
                queue.close(wait=True)
            left = Outbox(os.path.join(self.folder, "1"))
            self.assertEqual(1, len(left))
            left.remove_front(1)
            left.close()

    def test_any_error_of_the_sender_is_raised(self):
        queue = self.queue()
        with mock.patch.object(queue._outbox, "remove_front", side_effect=OSError(9, "broken")):
            queue.add(METRICS, report(1))
            with self.assertRaisesRegex(MasterError, "cannot send reports: OSError.*broken"):
                queue.flush(30)
        with self.assertRaises(MasterError):
            queue.close(wait=True)

    def test_rejects_response_without_json(self):
        self.master.answers[SERVICE + "ReportMetrics"] = lambda *_: (200, b"<html>")
        queue = self.queue()
        queue.add(METRICS, report(1))
        with self.assertRaisesRegex(MasterError, "did not answer .* with a JSON object"):
            queue.flush(30)
        with self.assertRaises(MasterError):
            queue.close(wait=True)

    def test_calls_on_over_when_the_attempt_has_ended(self):
        self.master.answers[SERVICE + "ReportMetrics"] = refusal(400, 9, "allocation has ended")
        result = []
        heard = threading.Event()
        queue = self.queue(on_over=lambda why: (result.append(why), heard.set()))
        queue.add(METRICS, report(1))
        self.assertTrue(heard.wait(30))
        self.assertIsInstance(result[0], RunIsOver)
        self.assertEqual([], os.listdir(self.folder))
        with self.assertRaises(RunIsOver):
            queue.close(wait=True)

    def test_add_waits_when_the_outbox_is_full(self):
        self.master.unavailable = True
        queue = self.queue(limit=2000)
        done = threading.Event()

        def add_many():
            for step in range(100):
                queue.add(METRICS, report(step))
            done.set()

        adding = threading.Thread(target=add_many)
        adding.start()
        harness.eventually(lambda: len(queue._outbox) >= 20, "a full outbox")
        self.assertFalse(done.is_set())
        self.master.unavailable = False
        adding.join()
        queue.close(wait=True)
        self.assertEqual([(1, "training", step) for step in range(100)], self.master.reports())

    def test_sends_only_the_latest_progress(self):
        queue = self.queue()
        queue.set_progress(0.25)
        queue.set_progress(0.5)
        queue.close(wait=True)
        self.assertEqual(0.5, self.master.bodies(SERVICE + "ReportProgress")[-1]["progress"])
