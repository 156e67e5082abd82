"""det.util, and the Core API as functions of a module."""

import os
import pathlib
import sys
import tempfile
import unittest

import det
from det import util
from det.experimental import core_v2
from fake_master import as_task, fake_master


class UtilTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def code(self, name, value):
        folder = self.folder / name
        folder.mkdir()
        (folder / "of_a_model.py").write_text(f"value = {value}\n")
        return folder

    def test_imports_modules_of_one_name_from_two_folders(self):
        import_of = {}
        for name in ("one", "two"):
            with det.import_from_path(self.code(name, repr(name))):
                import of_a_model

                import_of[name] = of_a_model.value
        self.assertEqual({"one": "one", "two": "two"}, import_of)
        self.assertNotIn("of_a_model", sys.modules)
        self.assertFalse([path for path in sys.path if str(self.folder) in path])

    def test_restores_hidden_modules(self):
        with det.import_from_path(self.code("one", 1)):
            import of_a_model as first
        sys.modules["of_a_model"] = first
        self.addCleanup(sys.modules.pop, "of_a_model")
        with self.assertRaises(KeyError):
            with det.import_from_path(self.code("two", 2)):
                import of_a_model

                self.assertEqual(2, of_a_model.value)
                raise KeyError
        self.assertIs(first, sys.modules["of_a_model"])
        with self.assertRaisesRegex(ValueError, "not a directory"):
            with det.import_from_path(self.folder / "absent"):
                pass

    def test_detects_overrides_and_formats_sizes(self):
        class Above:
            def mine(self):
                pass

        class Below(Above):
            def mine(self):
                pass

        self.assertTrue(util.is_overridden(Below().mine, Above))
        self.assertFalse(util.is_overridden(Above().mine, Above))
        self.assertEqual(
            ["0.0 B", "1.5 KiB", "3.0 GiB"], [util.sizeof_fmt(size) for size in (0, 1536, 3 << 30)]
        )
        link = self.folder / "link"
        for target in ("a", "b"):
            util.force_create_symlink(self.folder / target, link)
            self.assertEqual(str(self.folder / target), os.readlink(link))


class CoreV2Test(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.addCleanup(core_v2.close)

    def test_has_members_while_a_context_is_open(self):
        with self.assertRaisesRegex(RuntimeError, "core_v2.init"):
            core_v2.train
        with self.assertRaises(AttributeError):
            core_v2.absent

    def test_uses_the_context_of_the_trial_in_a_task(self):
        with (
            fake_master() as master,
            as_task(master, self.folder),
        ):
            with core_v2.init_context(config=core_v2.Config(name="ignored")) as context:
                self.assertIs(context.train, core_v2.train)
                core_v2.train.report_validation_metrics(steps_completed=3, metrics={"loss": 1.0})
            self.assertEqual([(1, "validation", 3)], master.reports())
            self.assertEqual([], master.bodies("/api/v1/trials"), "no other experiment is created")


if __name__ == "__main__":
    unittest.main()
