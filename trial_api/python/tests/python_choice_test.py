import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import venv

from fake_master import SERVICE, fake_master, task_environment

SCRIPT = "import sys\nprint('python', sys.executable)\n"
# What a torch of a few lines must have for the harness to get as far as the class.
NO_CLASS = "module model has no class Net"


class PythonChoiceTest(unittest.TestCase):
    """A Python without torch is first on PATH, as that of conda or pyenv often is."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(os.path.realpath(temporary.name))
        self.conda = self.environment("conda")
        (self.folder / "model.py").write_text("import torch\n")
        (self.folder / "train.py").write_text(SCRIPT)

    def environment(self, name, modules=()):
        """Creates a virtual environment with these modules, which are empty; returns its Python."""
        folder = self.folder / name
        venv.create(folder, with_pip=False, symlinks=True)
        [packages] = folder.glob("lib/python*/site-packages")
        for module in modules:
            (packages / module).mkdir()
            (packages / module / "__init__.py").touch()
        return str(folder / "bin/python3")

    def launch(self, *words, path=(), module="det.launch.torch_distributed", **env):
        """Runs a launcher with the Python without torch. /usr/bin/python3 is not on PATH."""
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(os.path.dirname(each) for each in (self.conda, *path)),
            **env,
        }
        if "DET_PYTHON_EXECUTABLE" not in env:
            environment.pop("DET_PYTHON_EXECUTABLE", None)
        return subprocess.run(
            ["python3", "-B", "-m", module, *words],
            cwd=self.folder,
            env=environment,
            encoding="utf-8",
            capture_output=True,
            timeout=60,
        )

    @contextlib.contextmanager
    def as_task(self):
        with fake_master() as master:
            yield master, task_environment(master, str(self.folder))

    def test_class_runs_with_the_first_python_that_has_torch(self):
        other = self.environment("other", ["torch"])
        result = self.launch("--trial", "model:Net", path=[other])
        self.assertIn(
            f"INFO: {other} is used, because {self.conda} has no module torch", result.stderr
        )
        self.assertIn(NO_CLASS, result.stderr)  # The model was imported with its torch.

    def test_class_fails_once_and_names_each_python_when_none_has_torch(self):
        other = self.environment("other")
        with self.as_task() as (master, env):
            result = self.launch(
                "--trial", "model:Net", path=[other], **env, DET_PYTHON_EXECUTABLE=self.conda
            )
            [report] = master.bodies(SERVICE + "ReportEarlyExit")
        message = (
            f"cannot run model:Net: {self.conda} has no module torch: install it (apt-get install "
            "python3-torch, or pip), or set DET_PYTHON_EXECUTABLE in "
            "environment.environment_variables to a Python that has it"
        )
        self.assertEqual([f"ERROR: {message}"], result.stderr.splitlines())
        self.assertEqual(1, result.returncode)
        # The master does not restart a trial for this reason.
        self.assertEqual(
            {"allocationId": "3.7.1", "reason": "INVALID_CODE", "message": message}, report
        )

    def test_search_names_each_python_once(self):
        other = self.environment("other")
        code = (
            "from det.launch import _python; _python._SYSTEM = 'python3';"
            "print(_python.find_python('torch').describe())"
        )
        path = os.pathsep.join(map(os.path.dirname, (self.conda, other, self.conda)))
        result = subprocess.run(
            [self.conda, "-B", "-c", code],
            env={**os.environ, "PATH": path},
            encoding="utf-8",
            capture_output=True,
            check=True,
        )
        self.assertTrue(
            result.stdout.startswith(f"{self.conda} and {other} have no module torch: install"),
            result.stdout,
        )

    def test_configured_python_is_used_for_classes_and_scripts(self):
        other = self.environment("other", ["torch"])
        result = self.launch("--trial", "model:Net", DET_PYTHON_EXECUTABLE=other)
        self.assertIn(NO_CLASS, result.stderr)
        for module in ("det.launch.torch_distributed", "det.launch.command"):
            result = self.launch("train.py", module=module, DET_PYTHON_EXECUTABLE=other)
            self.assertEqual(f"[rank=0] python {other}\n", result.stdout, result.stderr)

    def test_error_names_a_configured_python_that_does_not_run(self):
        result = self.launch("--trial", "model:Net", DET_PYTHON_EXECUTABLE="/none/python3")
        self.assertIn("/none/python3 (which does not run) has no module torch", result.stderr)

    def test_script_of_torchs_launcher_runs_with_a_python_that_has_torch(self):
        other = self.environment("other", ["torch"])
        result = self.launch("train.py", path=[other])
        self.assertEqual(f"[rank=0] python {other}\n", result.stdout, result.stderr)
        # Other launchers, and commands that name their Python, run as they are written.
        result = self.launch("train.py", path=[other], module="det.launch.command")
        self.assertEqual(f"[rank=0] python {self.conda}\n", result.stdout, result.stderr)
        result = self.launch("python3", "train.py", path=[other])
        self.assertEqual(f"[rank=0] python {self.conda}\n", result.stdout, result.stderr)

    def test_failure_names_the_python_that_has_no_module(self):
        (self.folder / "train.py").write_text("import no_such_module\n")
        for words in (["train.py"], ["python3", "train.py"]):
            with self.as_task() as (master, env):
                self.launch(*words, module="det.launch.command", **env)
                [report] = master.bodies(SERVICE + "ReportEarlyExit")
            self.assertEqual(
                "rank 0 failed: exit code 1: ModuleNotFoundError: No module named "
                f"'no_such_module': it is not installed for {self.conda}, which runs this program",
                report["message"],
            )
            self.assertEqual("FAILED", report["reason"])  # Restarts as configured.

    def test_prints_the_python_of_trial_classes(self):
        other = self.environment("other", ["torch"])
        result = self.launch(module="det.launch._python", DET_PYTHON_EXECUTABLE=other)
        self.assertEqual((0, f"{other} is used\n"), (result.returncode, result.stdout))
        result = self.launch(module="det.launch._python", DET_PYTHON_EXECUTABLE=self.conda)
        self.assertEqual(1, result.returncode)
        self.assertIn(f"{self.conda} has no module torch: install it", result.stdout)

    def test_version_that_the_package_does_not_support_is_skipped(self):
        from det.launch import _python

        old = self.folder / "old"
        old.write_text("#!/bin/sh\necho '[\"/old/python3\", false]'\n")
        old.chmod(0o755)
        self.assertEqual(("/old/python3", False), _python._probe(str(old), "torch"))
        self.assertEqual((sys.executable, True), _python._probe(sys.executable, "json"))


if __name__ == "__main__":
    unittest.main()
