"""Checks the references in Markdown documents: links to files and headings of the repository, paths
of its files, and the C++ types in docs/glossary.md.

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
    for path in documents:
        text = read(root, path)
        problems += check_links(root, path, text)
        problems += check_paths(root, path, text)
    problems += check_glossary(root, files)
    for problem in problems:
        print(problem)
    print(f"{len(documents)} documents, {len(problems)} broken references")
    return 1 if problems or not documents else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
