"""Creates and runs the `module:Class` in the context directory."""
import importlib
import os
import sys

from determined import core

module, _, name = sys.argv[1].partition(":")
sys.path.insert(0, os.getcwd())
with core.init() as context:
    getattr(importlib.import_module(module), name)(context).run()
