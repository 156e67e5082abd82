"""Checks the references in documents and comments: links to files and headings of the repository, names
and paths of its files, and the C++ types in docs/glossary.md.

Usage: references.py ROOT
"""

import glob
import os
import re
import sys

import language

TOPS = ("agent", "base", "cli", "deploy", "docs", "examples", "master", "proto", "tests", "third_party",
        "tools", "trial_api", "webui")
# Folders that a build creates.
BUILT = ("webui/dist", "webui/node_modules", "webui/src/api/generated", "webui/webui")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:%s)/[\w./-]+)`" % "|".join(TOPS))
# The name of a source file, perhaps with folders before it.
FILE = re.compile(r"(?<![\w./<*$\-{}])((?:[\w\-]+/)*[A-Za-z_]\w*(?:\.\w+)*"
                  r"\.(?:bzl|cc|h|md|mjs|proto|py|sh|sql|tsx?))\b(?![\w(/*-]|\.\w)")
# Files of users and of other projects, and patterns.
NOT_OURS = {"a.cc", "fashion_mnist.cc", "line.cc", "line.py", "model.py", "my_trial.cc", "name.cc", "script.py",
            "event.proto", "NAME_test.py", "NNN_name.sql", "_test.cc"}
COMMENTS = {".cc": r"(?:^|\s)//.*", ".h": r"(?:^|\s)//.*", ".proto": r"(?:^|\s)//.*", ".py": r"(?:^|\s)#.*",
            ".ts": r"(?:^|\s)//.*|^\s*\*.*", ".tsx": r"(?:^|\s)//.*|^\s*\*.*"}
TABLE_OF_FILES = re.compile(r"^\| *(?:File|Files) *\|.*\n\|[-| :]*\n((?:\|.*\n?)*)", re.M)
DECLARATION = re.compile(r"\b(?:class|struct|enum class|enum|using|message|service) (\w+)")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def anchors(text):
    """The anchors that GitHub creates for the headings of a document."""
    found = set()
    for title in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        found.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return found


def exists(root, path):
    """Whether there is such a file or folder, or such a file with a suffix."""
    full = os.path.join(root, path.rstrip("/."))
    return path.startswith(BUILT) or os.path.exists(full) or bool(glob.glob(full + ".*"))


def check_links(root, path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(root, file)):
            yield f"{path}: the link to {target} has no target"
        elif anchor and file.endswith(".md") and anchor not in anchors(read(root, file)):
            yield f"{path}: {file} has no heading #{anchor}"


def check_paths(root, path, text):
    """Paths may be relative to the root, or to a folder that contains the document."""
    parts = path.split("/")[:-1]
    folders = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
    for target in PATH.findall(FENCE.sub("", text)):
        if not any(exists(root, os.path.join(folder, target)) for folder in folders):
            yield f"{path}: {target} does not exist"


def ends(files):
    """Each path, and each of its ends that begins with a folder's or the file's own name."""
    found = set()
    for path in files:
        parts = path.split("/")
        found.update("/".join(parts[first:]) for first in range(len(parts)))
    return found


def check_names(path, text, known):
    """Names of files in the code spans of a document, or in the comments of a source."""
    suffix = os.path.splitext(path)[1]
    pattern = r"`[^`\n]+`" if suffix == ".md" else COMMENTS[suffix]
    for match in re.finditer(pattern, text, re.M):
        for name in FILE.findall(match.group()):
            if name not in known and os.path.basename(name) not in NOT_OURS:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path}:{line}: there is no file {name}"


def check_tables(root, path, text):
    """The first column of a table of files: `name`, with or without its suffix, in the document's folder."""
    folder = os.path.join(root, os.path.dirname(path))
    for table in TABLE_OF_FILES.findall(text):
        for row in table.splitlines():
            for name in re.findall(r"`([\w./-]+)`", row.split("|")[1]):
                built = os.path.join(os.path.dirname(path), name).startswith(BUILT)
                if not built and not glob.glob(os.path.join(folder, name) + "*"):
                    yield f"{path}: there is no {name} in this folder"


def check_glossary(root, files):
    names = set()
    for path in files:
        if path.endswith((".h", ".proto")):
            names.update(DECLARATION.findall(read(root, path)))
    for line in read(root, "docs/glossary.md").splitlines():
        if not line.startswith("| "):
            continue
        for reference in re.findall(r"`([\w:]+::\w+)`", line.split("|")[3]):
            if not any(part in names for part in reference.split("::")[1:]):
                yield f"docs/glossary.md: there is no type {reference}"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    root = arguments[0]
    files = language.tracked(root)
    documents = [path for path in files if path.endswith(".md")]
    problems = []
    known = ends(files)
    for path in documents:
        text = read(root, path)
        problems += check_links(root, path, text)
        problems += check_paths(root, path, text)
        if os.path.basename(path) == "README.md":
            problems += check_tables(root, path, text)
    for path in files:
        if path.endswith((".md", *COMMENTS)):
            problems += check_names(path, read(root, path), known)
    problems += check_glossary(root, files)
    for problem in problems:
        print(problem)
    print(f"{len(documents)} documents, {len(problems)} broken references")
    return 1 if problems or not documents else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
