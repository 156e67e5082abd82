"""Existing scripts, with the names that they import, on the cluster and off it."""

import contextlib
import io
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import determined as det
from det.core import DistributedContext, SearcherMode, TrainContext
from det.core._searcher import SearcherContext
from determined.experimental import Determined, client
from fake_master import SERVICE, as_task, fake_master

SCRIPT = """
    import logging
    import sys

    import determined as det
    from determined import core


    def train(context, latest):
        started = 0
        if latest is not None:
            with context.checkpoint.restore_path(latest, selector=lambda p: p == "state") as path:
                started = int((path / "state").read_text())
        for op in context.searcher.operations(searcher_mode=core.SearcherMode.WorkersAskChief):
            for step in range(started + 1, op.length + 1):
                context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
                if context.distributed.rank == 0:
                    op.report_progress(step)
            context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 0.5})
            if context.distributed.rank == 0:
                with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                    (path / "state").write_text(str(step))
                op.report_completed(0.5)
            context.preempt.should_preempt()


    if __name__ == "__main__":
        logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
        info = det.get_cluster_info()
        latest = info.latest_checkpoint if info is not None else None
        try:
            with core.init(distributed=core.DistributedContext.from_torch_distributed()) as context:
                train(context, latest)
        except (det.errors.MasterError, det.errors.CheckpointError) as error:
            logging.error(f"the master refused: {error}")
            sys.exit(1)
        logging.info("done")
    """


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def master(self, **changes):
        """Runs as a task of the master."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        fake = stack.enter_context(fake_master())
        stack.enter_context(as_task(fake, self.folder, **changes))
        return fake

    def run_python(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", *arguments],
            encoding="utf-8",
            timeout=60,
            cwd=self.folder,
            capture_output=True,
        )

    def run_script(self, slots):
        path = pathlib.Path(self.folder, "train.py")
        path.write_text(textwrap.dedent(SCRIPT))
        result = self.run_python(
            "-m", "determined.launch.torch_distributed", "--slots", str(slots), str(path)
        )
        self.assertEqual(0, result.returncode, result.stderr)
        return result


class ScriptTest(Case):
    def test_trains_one_unit_off_the_cluster(self):
        result = self.run_script(2)
        self.assertIn("[rank=0] training steps=1 ", result.stdout)
        self.assertNotIn("steps=2", result.stdout)
        self.assertIn("[rank=1] INFO: root: done", result.stderr)

    def test_trains_as_configured_and_resumes_on_the_cluster(self):
        master = self.master()
        self.run_script(1)
        self.assertEqual(
            [(1, "training", step) for step in range(1, 11)] + [(1, "validation", 10)],
            master.reports(),
        )
        progress = master.bodies(SERVICE + "ReportProgress")[-1]["progress"]
        self.assertEqual(1.0, progress)
        [saved] = master.bodies(SERVICE + "ReportCheckpoint")
        self.assertEqual(10, saved["stepsCompleted"])

    def test_error_names_the_request_that_the_master_rejected(self):
        master = self.master()
        master.answers[SERVICE + "ReportMetrics"] = lambda *_: (
            400,
            {"error": {"code": 3, "error": "no such trial"}},
        )
        path = pathlib.Path(self.folder, "train.py")
        path.write_text(textwrap.dedent(SCRIPT))
        result = self.run_python("-m", "determined.launch.torch_distributed", str(path))
        self.assertEqual(1, result.returncode)
        self.assertIn("ERROR: root: the master refused: ", result.stderr)


class NamesTest(unittest.TestCase):
    def test_both_names_are_the_same_module(self):
        import det as ours
        import determined.errors
        import determined.experimental.client

        self.assertIs(ours.errors, det.errors)
        self.assertIs(ours.errors, determined.errors)
        self.assertIs(ours.InvalidHP, det.errors.InvalidHP)
        self.assertIs(ours.LOG_FORMAT, det.LOG_FORMAT)
        self.assertIs(client, determined.experimental.client)
        self.assertIs(client.Determined, Determined)
        self.assertIs(ours.core.SearcherMode, det.core.SearcherMode)

    def test_log_format_starts_with_the_level(self):
        result = io.StringIO()
        handler = logging.StreamHandler(result)
        handler.setFormatter(logging.Formatter(det.LOG_FORMAT))
        handler.handle(
            logging.makeLogRecord({"name": "mine", "msg": "careful", "levelname": "WARNING"})
        )
        self.assertEqual("WARNING: mine: careful\n", result.getvalue())

    def test_import_does_not_load_the_sdk(self):
        result = subprocess.run(
            [
                sys.executable,
                "-B",
                "-c",
                "import sys, determined; "
                "print([name for name in sys.modules if 'experimental' in name])",
            ],
            encoding="utf-8",
            timeout=60,
            stdout=subprocess.PIPE,
            check=True,
        )
        self.assertEqual("[]\n", result.stdout)


class Progress(TrainContext):
    def __init__(self):
        self.result = []

    def report_progress(self, progress):
        self.result.append(progress)


class SearcherTest(unittest.TestCase):
    def searcher(self, rank=0, length=None):
        ranks, train = DistributedContext.single(), Progress()
        ranks.rank = rank
        config = {"searcher": {"max_length": {"epochs": 4} if length is None else length}}
        return SearcherContext(config, ranks, [], train), train

    def test_progress_is_relative_to_the_length(self):
        searcher, train = self.searcher()
        [operation] = searcher.operations(SearcherMode.ChiefOnly)
        for length in (0, 1, 4, 5):
            operation.report_progress(length)
        self.assertEqual([0, 0.25, 1, 1], train.result)

    def test_only_the_chief_polls_when_mode_is_chief_only(self):
        searcher, _ = self.searcher(rank=1)
        with self.assertRaisesRegex(RuntimeError, "ChiefOnly.*rank 1"):
            searcher.operations(searcher_mode=SearcherMode.ChiefOnly)
        [operation] = searcher.operations(searcher_mode=SearcherMode.WorkersAskChief, auto_ack=True)
        for call in (operation.report_completed, lambda: operation.report_progress(1)):
            with self.assertRaisesRegex(RuntimeError, "only rank 0"):
                call()
        with self.assertRaises(ValueError):
            searcher.operations("chief")

    def test_operation_has_length_1_off_the_cluster(self):
        with tempfile.TemporaryDirectory() as folder:
            with det.core.init(checkpoint_storage=folder) as context:
                [operation] = context.searcher.operations()
                operation.report_progress(1)
                operation.report_completed()
                self.assertEqual(
                    (1, "epochs", True), (operation.length, operation.unit, operation.completed)
                )
                self.assertEqual("epochs", context.searcher.get_configured_units())

    def test_raises_when_no_length_is_configured(self):
        searcher, _ = self.searcher(length={})
        with self.assertRaisesRegex(RuntimeError, "max_length"):
            searcher.operations()


class WrapRankTest(Case):
    def wrap(self, *words):
        return self.run_python("-m", "determined.launch.wrap_rank", *words)

    def test_prefixes_lines_and_returns_the_exit_code(self):
        code = "import sys; print('one\\ntwo'); print('three', file=sys.stderr); sys.exit(5)"
        result = self.wrap("3", sys.executable, "-c", code)
        self.assertEqual(
            (5, "[rank=3] one\n[rank=3] two\n", "[rank=3] three\n"),
            (result.returncode, result.stdout, result.stderr),
        )

    def test_reads_the_rank_from_a_variable(self):
        env = {"SECOND": "7"}
        with mock.patch.dict(os.environ, env):
            result = self.wrap("FIRST,SECOND", "--", "echo", "hello")
        self.assertEqual("[rank=7] hello\n", result.stdout, result.stderr)

    def test_refuses_invalid_usage(self):
        for words, problem in (
            ((), "usage:"),
            (("3",), "no command to run"),
            (("ABSENT", "echo"), "not a valid rank"),
            (("0", "/no/such/program"), "No such file"),
        ):
            result = self.wrap(*words)
            self.assertNotEqual(0, result.returncode)
            self.assertIn(problem, result.stderr)
            self.assertNotIn("Traceback", result.stderr)


class FilesTest(Case):
    def test_provides_only_the_selected_files(self):
        with det.core.init(checkpoint_storage=self.folder) as context:
            with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
                (path / "sub").mkdir()
                (path / "sub" / "state").write_text("mine")
                (path / "big").write_text("x")
            with context.checkpoint.restore_path(uuid, selector=lambda p: "state" in p) as path:
                self.assertEqual(
                    ["sub", "sub/state"],
                    sorted(found.relative_to(path).as_posix() for found in path.rglob("*")),
                )
                self.assertEqual("mine", (path / "sub" / "state").read_text())
            self.assertFalse(path.exists())
            with context.checkpoint.restore_path(uuid) as path:
                self.assertEqual("x", (path / "big").read_text())

    def uploaded(self):
        top = pathlib.Path(self.folder, "checkpoints/c/tensorboard/experiment/3/trial/7")
        return {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()}

    def test_selects_and_renames_event_files(self):
        self.master()
        with det.core.init(tensorboard_mode=det.core.TensorboardMode.MANUAL) as context:
            folder = context.train.get_tensorboard_path()
            (folder / "trace").mkdir()
            (folder / "trace" / "a.json").write_text("a")
            (folder / "events.out.tfevents.1").write_text("e")
            context.train.upload_tensorboard_files(
                lambda path: not path.match("*tfevents*"),
                lambda path, rank: path.with_name(f"{path.stem}#{rank}{path.suffix}"),
            )
            self.assertEqual({"trace/a#0.json"}, self.uploaded())
            with self.assertRaisesRegex(ValueError, "mangler"):
                context.train.upload_tensorboard_files(
                    mangler=lambda path, _: pathlib.Path("..", path)
                )
            context.train.upload_tensorboard_files()
        self.assertEqual(
            {"trace/a#0.json", "trace/a.json", "events.out.tfevents.1"}, self.uploaded()
        )


if __name__ == "__main__":
    unittest.main()
