"""The program of a TensorBoard task, without TensorBoard. tests/tensorboard/ starts a real one."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
from unittest import mock

from det.tensorboard import __main__ as service
from det.tensorboard._sources import Following, make_fetchers

TOP = "c/tensorboard/experiment/"


class ServiceTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.store = self.folder / "store"

    def source(self, experiment, *trials):
        storage = {"type": "shared_fs", "host_path": str(self.folder), "storage_path": "store"}
        return {"storage": storage, "prefix": f"{TOP}{experiment}/", "trials": list(trials)}

    def add_file(self, experiment, trial, name="events.out.tfevents.1"):
        folder = self.store / f"{TOP}{experiment}/trial/{trial}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("e")

    def main(self, described, **options):
        """Returns the exit code, the output and the errors."""
        (self.folder / "service.json").write_text(json.dumps(described))
        output, errors = io.StringIO(), io.StringIO()
        with mock.patch.dict(os.environ, DET_RUN_DIR=str(self.folder)):
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
                with mock.patch("signal.signal"):
                    code = service.main(["--port", "1", "--base-path", "/proxy/x/"], **options)
        self.assertEqual([], list(self.folder.glob("event-files-*")))
        return code, output.getvalue(), errors.getvalue()

    def with_tensorboard(self, exists=True):
        return mock.patch("importlib.util.find_spec", return_value=exists or None)

    def test_links_the_directories_of_trials(self):
        target = self.folder / "target"
        (self.store / TOP).mkdir(parents=True)
        (self.store / f"{TOP}4").write_text("no directory")
        sources = [self.source(4), self.source(1), self.source(2, 5, 6)]
        [fetcher] = make_fetchers(sources, target)
        with self.assertRaises(NotADirectoryError):
            fetcher.fetch()
        self.assertFalse(fetcher.found)
        (self.store / f"{TOP}4").unlink()
        for experiment, trial in ((1, 3), (2, 5), (2, 7), (12, 1)):
            self.add_file(experiment, trial)
        (self.store / f"{TOP}1/trial/4").mkdir()
        for _ in range(2):
            fetcher.fetch()
        self.assertTrue(fetcher.found)
        found = sorted(str(path.relative_to(target)) for path in target.glob("*/*/*/*"))
        self.assertEqual(
            ["experiment/1/trial/3", "experiment/1/trial/4", "experiment/2/trial/5"], found
        )
        self.assertEqual("e", (target / found[0] / "events.out.tfevents.1").read_text())

    def test_needs_tensorboard(self):
        with self.with_tensorboard(False):
            code, _, errors = self.main({"sources": [self.source(1)]})
        self.assertEqual(1, code)
        self.assertEqual(1, errors.count("\n"))
        self.assertIn(f"ERROR: the Python {sys.executable} has no TensorBoard: run pip", errors)

    def test_needs_a_description(self):
        for described in ({}, {"sources": [{"prefix": "p/"}]}, []):
            with self.with_tensorboard():
                code, _, errors = self.main(described)
            self.assertEqual(1, code)
            self.assertIn(f"ERROR: cannot read {self.folder}/service.json: ", errors)

    def test_refuses_an_unknown_storage(self):
        source = {**self.source(1), "storage": {"type": "ftp"}}
        with self.with_tensorboard():
            code, _, errors = self.main({"sources": [source]})
        self.assertEqual(1, code)
        self.assertIn("unknown checkpoint_storage type 'ftp'", errors)

    def test_ends_when_there_are_no_event_files(self):
        with self.with_tensorboard():
            code, _, errors = self.main({"sources": [self.source(5)]}, timeout=0)
        self.assertEqual(1, code)
        self.assertEqual(
            "ERROR: experiment 5 has no event files: none was stored within 0 s; a trial stores "
            "them when it reports metrics\n",
            errors,
        )
        described = {"sources": [self.source(12), self.source(5, 7), self.source(5, 8)]}
        with self.with_tensorboard():
            _, _, errors = self.main(described, timeout=0)
        self.assertIn("experiments 5, 12 have no event files: ", errors)

    def test_says_that_it_waits(self):
        found = mock.Mock(wait=mock.Mock(side_effect=[False, False, True]))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertTrue(service._wait(found, 1e6))
        self.assertEqual("waiting for metrics\n" * 2, printed.getvalue())
        self.assertEqual([mock.call(10.0)] * 3, found.wait.mock_calls)

    def test_reports_why_a_storage_cannot_be_read(self):
        (self.store / TOP).mkdir(parents=True)
        (self.store / f"{TOP}5").write_text("no directory")
        fetcher = mock.Mock(wraps=make_fetchers([self.source(5)], self.folder)[0])
        fetcher.found, fetcher.period, passes = False, 0.0, threading.Semaphore(0)
        fetch = fetcher.fetch

        def fetch_and_tell():
            passes.release()
            fetch()

        fetcher.fetch = fetch_and_tell
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            following = Following([fetcher], lambda: None)
            for _ in range(3):
                self.assertTrue(passes.acquire(timeout=30))
            following.stop()
        self.assertEqual(1, printed.getvalue().count("WARNING: cannot fetch event files: "))
        self.assertIn("Not a directory", following.problem)
        self.assertIn(
            f"experiment 5 has no event files: {following.problem}",
            service._describe_absence([self.source(5)], following.problem, 600),
        )

    def test_starts_tensorboard_when_there_is_a_file(self):
        self.add_file(1, 3)
        described = {"sources": [self.source(1)], "arguments": ["--samples_per_plugin=images=9"]}
        with self.with_tensorboard(), mock.patch("subprocess.Popen") as popen:
            popen.return_value.__enter__.return_value.wait.return_value = 3
            code, output, errors = self.main(described)
        self.assertEqual(1, code)
        self.assertEqual("TensorBoard contains metrics\n", output)
        self.assertEqual("ERROR: TensorBoard has ended with exit code 3\n", errors)
        [command] = popen.call_args.args
        self.assertEqual([sys.executable, "-m", "tensorboard.main"], command[:3])
        for argument in (
            "--samples_per_plugin=images=9",
            "--host=127.0.0.1",
            "--port=1",
            "--path_prefix=/proxy/x",
            "--load_fast=false",
        ):
            self.assertIn(argument, command)


if __name__ == "__main__":
    unittest.main()
