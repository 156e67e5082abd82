#!/usr/bin/env python3
"""Writes compatibility.md: what existing clients know, and its state here.

    compatibility.py DET OPENAPI > compatibility.md

DET is this project's command line, OPENAPI the document of its API (//master/gateway:openapi_json). What
existing clients know is in client_interface.json, exchanges.json and recorded/. A name that is neither
here nor in compatibility_notes.py is an error.
"""
import ast
import concurrent.futures
import fnmatch
import importlib
import inspect
import json
import os
import re
import subprocess
import sys

import compatibility_notes as notes
import recorded
import scenario

# Bazel starts programs through links into the source tree, of which this one reads the docs and the package.
FOLDER = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
NOT_SUPPORTED = re.compile(r"is not supported: (.*?)(?:; see `det [a-z -]* --help`)?$", re.S)


class Unknown(Exception):
    """Names without a state."""


class Table:
    """Rows of name, state, and what differs or what to use instead."""

    def __init__(self, title, about, heads):
        self.lines = [f"## {title}", "", about, "", f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        self.counts = {}

    def add(self, name, state, note=""):
        self.counts[state] = self.counts.get(state, 0) + 1
        text = " ".join(note.split()).replace("|", "\\|")
        self.lines.append(f"| `{name}` | {state} | {text} |")


_used = set()  # Patterns of notes that matched a name.


def find_note(name, table):
    """The note of the first pattern that matches the name; None if there is none."""
    for pattern, note in table.items():
        if fnmatch.fnmatchcase(name, pattern):
            _used.add(pattern)
            return note
    return None


# ---- commands

class CommandLine:
    def __init__(self, program):
        self.program = program
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "NO_COLOR": "1",
                            "DET_MASTER": "http://127.0.0.1:1", "COLUMNS": "1000"}

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], env=self.environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        return done.stdout.strip()

    def describe(self, command, options):
        """The state of a command and a note."""
        text = self.run(*command.split(), "--help")
        refusal = NOT_SUPPORTED.search(text)
        if refusal:
            return "not supported", refusal[1]
        note = find_note(command, notes.COMMANDS)
        if not text.startswith("Usage:"):
            return ("not supported", note) if note else (None, text)
        own = set(re.findall(r"(?:^|[ ,])(--?[A-Za-z][\w-]*)", text.partition("Options")[2]))
        differs = [note] if note else []
        for names in options:
            if not own.issuperset(names):
                differs.append(self.describe_option(command, names))
        if None in differs:
            return None, f"one of its options {[max(names, key=len) for names in options]}"
        differs = [each for each in differs if each]
        return ("differs", "; ".join(differs)) if differs else ("same", "")

    def describe_option(self, command, names):
        """What differs about an option; None if a spelling of it is unknown."""
        shown = f"`{max(names, key=len)}`"
        refusals = set()
        for name in names:
            texts = [self.run(*command.split(), name, *value) for value in (["1"], [])]
            if any("unknown option" in text for text in texts):
                return None
            refusals.update(refusal[1] for refusal in map(NOT_SUPPORTED.search, texts) if refusal)
        note = find_note(f"{command} {max(names, key=len)}", notes.OPTIONS)
        for text in [*([note] if note else []), *sorted(refusals)]:
            return f"{shown}: {text}"
        return ""

    def is_known(self, command):
        """Whether the words name a command or a group, or say what to use instead."""
        text = self.run(*command.split(), "--help")
        return "unknown command" not in text and "ambiguous" not in text


def write_commands(interface, program, unknown):
    table = Table("Commands", "Commands and options of `det`. Options that are not named here are the same.",
                  ("Command", "State", "What differs, or what to use"))
    line = CommandLine(program)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        commands = interface["commands"]
        for name, (state, note) in zip(commands, pool.map(line.describe, commands, commands.values())):
            if state is None:
                unknown.append(f"command {name}: {note}")
            else:
                table.add(f"det {name}", state, note)
        for name, known in zip(interface["aliases"], pool.map(line.is_known, interface["aliases"])):
            if not known:
                unknown.append(f"command {name}")
    return table


# ---- paths of the API

def to_shape(path):
    return re.sub(r"\{[^}]*\}", "{}", path)


def read_differences():
    """What differs, by the method and the path of a call: from deliberate.md and pending.txt."""
    reasons = {}
    with open(os.path.join(FOLDER, "deliberate.md"), encoding="utf-8") as f:
        rows = [[cell.strip() for cell in line.split("|")] for line in f if line.startswith("| `")]
    pending = set(recorded.read_pending(FOLDER))
    for group, table in scenario.load(os.path.join(FOLDER, "recorded")).items():
        for call in table["calls"]:
            name = f"{group}:{call['name']}"
            found = {f"{answer}: {reason}" for _, pattern, answer, reason, _ in rows
                     if fnmatch.fnmatchcase(name, pattern.strip("`"))}
            if name in pending:
                found.add("some answers are not equal yet")
            reasons.setdefault((call["method"], call["path"]), set()).update(found)
    return reasons


def write_paths(openapi, unknown):
    table = Table("API", "Methods and paths; [deliberate.md](deliberate.md) has the calls that differ deliberately.",
                  ("Method and path", "State", "What differs, or what to use"))
    with open(os.path.join(FOLDER, "exchanges.json"), encoding="utf-8") as f:
        operations = json.load(f)["operations"]
    own = {(verb.upper(), to_shape(path)): operation for path, verbs in openapi["paths"].items()
           for verb, operation in verbs.items()}
    differences = read_differences()
    for _, verb, path in operations:
        operation = own.get((verb, to_shape(path)))
        if operation is None:
            unknown.append(f"path {verb} {path}")
            continue
        pattern = re.compile(re.sub(r"\\\{.*?\\\}", "[^/]+", re.escape(path)))
        reasons = sorted({reason for (method, called), found in differences.items()
                          if method == verb and pattern.fullmatch(called) for reason in found})
        if reasons:
            table.add(f"{verb} {path}", "differs", "; ".join(reasons))
        else:
            table.add(f"{verb} {path}", "same")
    return table


# ---- names of the Python package

def read_own_names(name):
    """The names of our module; of packages that need torch, those that its source defines or imports."""
    path = os.path.join(ROOT, "trial_api/python/det", *name.split(".")[1:], "__init__.py")
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)  # an element of __all__, or of a table of lazy imports
    return found


def has_name(module, name):
    """Whether the module has the name; "Class.member" may be an attribute that its methods set."""
    found = module
    for part in name.split("."):
        owner = found
        try:
            found = getattr(found, part, None)
        except ImportError:  # The module says what to write instead of the name.
            return False
        if found is None:
            return inspect.isclass(owner) and bool(re.search(
                rf"\bself\.{part}\b\s*(:[^=\n]*)?=[^=]|^    {part}:", inspect.getsource(owner), re.M))
    return True


def write_names(interface, unknown):
    table = Table("Python", "Public names of the package `determined`.",
                  ("Name", "State", "What differs, or what to use"))
    sys.path.insert(0, os.path.join(ROOT, "trial_api/python"))
    for module_name, names in interface["names"].items():
        try:
            module = importlib.import_module(module_name)
            missing = [name for name in names if not has_name(module, name)]
        except ImportError:
            own = read_own_names(module_name)
            missing = [name for name in names if name not in own]
        for name in names:
            full = f"{module_name}.{name}"
            if name not in missing:
                table.add(full, "same")
            elif name.rpartition(".")[0] in missing:
                continue  # a member of a class that is not there
            elif note := find_note(full, notes.NAMES):
                table.add(full, "not supported", note)
            else:
                unknown.append(f"name {full}")
    return table


# ---- settings

def read_keys(shape, prefix=""):
    """The paths of all members of a recorded configuration."""
    if isinstance(shape, list):
        return {key for each in shape for key in read_keys(each, prefix)}
    if not isinstance(shape, dict):
        return {prefix}
    members = {name: member for name, member in shape.items() if name not in ("?", "[]")}
    if not members or prefix in notes.FREE_FORM:
        return {prefix}
    found = set()
    for name, member in members.items():
        found |= read_keys(member, f"{prefix}.{name}" if prefix else name)
    return found


def read_recorded(group, name, member):
    tables = scenario.load(os.path.join(FOLDER, "recorded"))
    shapes = [tables[group]["shapes"][call["shape"]] for call in tables[group]["calls"]
              if fnmatch.fnmatchcase(call["name"], name) and "shape" in call]
    return set().union(*(read_keys(shape[member]) for shape in shapes if member in shape)) - {""}


def read_documented(page):
    """The fields of a generated page: what its last column says about each."""
    fields = {}
    with open(os.path.join(ROOT, "docs/reference", page), encoding="utf-8") as f:
        for line in f:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
            if len(cells) > 4 and cells[1].startswith("`"):
                fields[cells[1].strip("`").replace("[]", "")] = cells
    return fields


def write_settings(title, about, keys, fields, table_of_notes, unknown):
    table = Table(title, about, ("Setting", "State", "What differs, or what to use"))
    shown = set()
    for key in sorted(keys):
        name, note = key, find_note(key, table_of_notes)
        while name not in fields and "." in name and not note:
            name = name.rpartition(".")[0]
        cells = fields.get(name)
        if name in shown:
            continue  # a part of a setting that is listed already
        shown.add(name)
        text = " ".join(cells) if cells else ""
        ignored = re.search(r"\*?(?:Ignored|Accepted)[^.|]*?: ([^*|]+)", text)
        if note:
            table.add(name, "not supported" if cells is None else "differs", note)
        elif cells is None:
            unknown.append(f"setting {key}")
        elif cells[2] == "refused":
            table.add(name, "not supported", cells[4])
        elif ignored:
            table.add(name, "differs", f"accepted without effect: {ignored[1].rstrip('. ')}")
        else:
            table.add(name, "same")
    return table


def generate(program, openapi_path):
    with open(os.path.join(FOLDER, "client_interface.json"), encoding="utf-8") as f:
        interface = json.load(f)
    with open(openapi_path, encoding="utf-8") as f:
        openapi = json.load(f)
    unknown = []
    tables = [
        write_commands(interface, program, unknown),
        write_paths(openapi, unknown),
        write_names(interface, unknown),
        write_settings("Experiment configuration", "Settings of experiments.",
                       read_recorded("experiments_create", "create*", "config"),
                       read_documented("experiment-config.md"), notes.EXPERIMENT_SETTINGS, unknown),
        write_settings("Master configuration", "Settings of the master.",
                       read_recorded("master", "config", "config"),
                       read_documented("master-config.md"), notes.MASTER_SETTINGS, unknown),
    ]
    for table in (notes.COMMANDS, notes.OPTIONS, notes.NAMES, notes.EXPERIMENT_SETTINGS,
                  notes.MASTER_SETTINGS):
        unknown += [f"note {pattern}: no name needs it; remove it" for pattern in table
                    if pattern not in _used]
    if unknown:
        raise Unknown("add a note in compatibility_notes.py, or the feature:\n" + "\n".join(unknown))
    lines = [
        "# Compatibility with clients of Determined 0.38.1", "",
        "This page is generated by `compatibility.py`; a test checks that it is current. The state is *same* if existing",
        "clients need no change, *differs* if something about it is different, and *not supported* if it is not there.",
        "", "| | same | differs | not supported |", "|---|---|---|---|"]
    for table in tables:
        counts = [str(table.counts.get(state, 0)) for state in ("same", "differs", "not supported")]
        lines.append(f"| {table.lines[0][3:]} | {' | '.join(counts)} |")
    for table in tables:
        lines += ["", *table.lines]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: compatibility.py DET OPENAPI")
    try:
        sys.stdout.write(generate(sys.argv[1], sys.argv[2]))
    except Unknown as error:
        sys.exit(str(error))
