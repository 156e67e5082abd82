"""Checks every #include of the source tree against one table: who may include whom; and that each
folder with more than five files has a README.

docs/architecture.md says why. A new folder needs a line in FOLDERS: the architecture is reviewed
where it changes. Usage: layering.py ROOT (checks), layering.py --self-test DIR (checks itself).
"""

import os
import re
import sys

TOPS = ("agent", "base", "cli", "master", "proto", "trial_api")

PURE_BASE = tuple(
    f"base/{name}.h" for name in ("check", "glob", "id", "rng", "status_macros", "transition"))

# Of the standard library: what does I/O, reads clocks, starts threads, rolls dice.
NOT_PURE_STD = {
    "atomic", "barrier", "chrono", "condition_variable", "cstdio", "ctime", "filesystem",
    "fstream", "future", "iostream", "latch", "mutex", "random", "semaphore", "shared_mutex",
    "stop_token", "syncstream", "thread",
}
PURE_ABSL = ("absl/algorithm/", "absl/container/", "absl/functional/", "absl/hash/",
             "absl/numeric/", "absl/status/", "absl/strings/", "absl/time/time.h",
             "absl/time/civil_time.h", "absl/types/")

# Folder: what of ours it may include besides itself. An entry that ends with "/" is a folder (and
# no folder below it), one that ends with ".h" a file. Folders that are not pure may include base.
PURE = "pure"
PROTO = "proto/"
FOLDERS = {
    "base": [],
    "base/objects": [],
    "proto": [],
    "master": ["master/**", PROTO],
    "master/model": [PURE],
    "master/model/parse": ["master/model/"],
    "master/auth": ["master/model/", "master/store/"],
    "master/searcher": [PURE, "master/model/"],
    "master/scheduler": [PURE, "master/model/"],
    "master/scheduler/json": [PURE, "master/model/", "master/scheduler/"],
    "master/experiment": [PURE, "master/model/", "master/searcher/"],
    "master/cluster": [PURE, "master/model/", "master/searcher/", "master/scheduler/",
                       "master/experiment/"],
    "master/engine": ["master/model/", "master/searcher/", "master/scheduler/",
                      "master/experiment/", "master/cluster/", "master/store/"],
    # The cluster in virtual time, and one pass of the scheduler on a file.
    "master/simulate": ["master/model/", "master/model/parse/", "master/scheduler/",
                        "master/scheduler/json/", "master/experiment/", "master/cluster/"],
    "master/store": ["master/model/", "master/experiment/", "master/searcher/operation.h",
                     "master/cluster/change.h", "master/cluster/image.h", PROTO],
    "master/store/postgres": ["master/model/", "master/model/parse/", "master/experiment/",
                              "master/searcher/operation.h", "master/cluster/change.h",
                              "master/cluster/image.h", "master/store/", PROTO],
    # The searcher: to preview and to simulate searches that nobody runs. The scheduler: to show
    # and to explain the queue.
    "master/service": ["master/model/", "master/model/parse/", "master/searcher/",
                       "master/scheduler/", "master/scheduler/json/",
                       "master/experiment/", "master/cluster/", "master/engine/",
                       "master/store/", "master/auth/", "master/webhooks/", "master/buckets/", PROTO],
    "master/agents": ["master/model/", "master/experiment/", "master/cluster/",
                      "master/engine/", "master/store/", "master/auth/", PROTO],
    "master/webhooks": ["master/model/", "master/experiment/", "master/store/",
                        "master/engine/sinks.h", "master/auth/"],
    "master/buckets": ["master/model/"],
    "master/sweep": ["master/model/", "master/experiment/", "master/cluster/", "master/engine/",
                     "master/store/", "master/buckets/"],
    "master/gateway": [PROTO],
    "agent": ["agent/**", PROTO],
    "agent/core": [PURE],
    "agent/device": ["agent/core/"],
    "agent/driver": ["agent/core/", "agent/keeper/"],
    # A small program of its own.
    "agent/keeper": [],
    "agent/link": ["agent/core/", "agent/driver/", PROTO],
    # Which methods make something, so that doing it twice makes two.
    "cli": ["master/auth/permissions.h", PROTO],
    "cli/commands": ["cli/", PROTO],
    "trial_api/cpp/storage": ["trial_api/cpp/core/error.h"],
    "trial_api/cpp/core": ["trial_api/cpp/storage/", PROTO],
    "trial_api/cpp/torch": ["trial_api/cpp/core/", "trial_api/cpp/storage/"],
    # The umbrella header users include.
    "trial_api/cpp/torch/det": ["trial_api/cpp/torch/"],
    "trial_api/cpp/launch": ["trial_api/cpp/core/", "trial_api/cpp/storage/"],
    # As users write: what is installed, and nothing of ours.
    "trial_api/conformance/programs": [],
}
# Libraries that compute and nothing else: sources of pure folders may have them.
PURE_LIBRARIES = (r"nlohmann/", r"eigen3/")
# Single files under a stricter rule than their folder's.
PURE_FILES = ("agent/keeper/segments.", "master/auth/failed_logins.", "master/auth/permissions.")

# Libraries: (pattern of the include, folders whose headers may have it, folders whose sources
# may). None: any folder that is not pure. The first pattern that matches counts.
RPC = ("master", "master/gateway", "master/service", "master/agents", "agent/link",
       "trial_api/cpp/core")
GENERATED = ("proto", "master", "master/store", "master/store/postgres", "master/service",
             "master/agents", "master/gateway", "agent", "agent/link", "cli", "cli/commands",
             "trial_api/cpp/core", "trial_api/cpp/launch")
LIBRARIES = (
    (r"grpc(pp)?/|.*\.grpc\.pb\.h$",
     ("master/gateway", "master/service", "master/agents", "agent/link"), RPC),
    (r"google/|.*\.pb\.h$", GENERATED, GENERATED),
    # A checksum, in a header of its own: nothing of Asio.
    (r"boost/crc", (), ("trial_api/cpp/core",)),
    (r"boost/", ("base", "master/gateway", "master/service", "master/agents", "agent/link"),
     ("base", "master/gateway", "master/agents", "agent/link", "cli", "cli/commands")),
    # The private header of the OpenAPI document, which is JSON.
    (r"nlohmann/", ("master/gateway",), None),
    (r"yaml-cpp/", (), ("master/model/parse", "cli", "cli/commands", "trial_api/cpp/core",
                        "trial_api/cpp/launch")),
    (r"re2/", (), ("master/model/parse", "master/agents", "master/service", "master/webhooks")),
    (r"(libpq-fe|libpq)", (), ("master/store/postgres",)),
    (r"(torch|ATen|c10)/", ("trial_api/cpp/torch",), ("trial_api/cpp/torch",)),
    (r"(gloo|nccl)", (), ("trial_api/cpp/core", "trial_api/cpp/torch")),
    (r"sodium", (), ("master/auth", "cli")),
    (r"prometheus/", (), ("master", "master/gateway")),
    (r"CLI/", (), ("master", "master/simulate", "agent", "cli", "cli/commands", "trial_api/cpp/launch")),
    (r"(archive|archive_entry)\.h$", (), ("master/service", "agent/driver", "cli",
                                          "cli/commands")),
    (r"eigen3/", (), ("master/searcher",)),
    (r"(openssl|curl)/", (), None),
    (r"(gtest|gmock|rapidcheck|benchmark)[/.]", (), ()),
)

# Folders with more than so many files say in a README what these are.
MAX_UNEXPLAINED = 5
README_TOPS = TOPS + ("deploy", "docs", "examples", "tests", "third_party", "tools", "webui")
# Folder and all below it: why it needs none.
NO_README = {
    "tests/fuzz/corpus": "inputs of the fuzzers; a README would be one",
}
# What is made or installed, and not in the repository.
NOT_SOURCES = ("__pycache__", "dist", "generated", "node_modules")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
MAX_LINES = {".h": 150, ".cc": 400}


def is_test(path):
    name = os.path.basename(path)
    return (name.endswith(("_test.cc", "_contract.h", "_contract.cc", "_bench.cc"))
            or name.startswith(("fake_", "faulty_"))
            or name in ("testing.h", "testing.cc") or "/testing/" in path)


def folder_of(path):
    """The folder whose line in the table counts; `testing` belongs to the folder around it."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) == "testing":
        folder = os.path.dirname(folder)
    return folder if folder in FOLDERS else None


def is_pure(path, folder):
    return PURE in FOLDERS[folder] or path.startswith(PURE_FILES)


def allows(entry, include):
    if entry.endswith("/**"):
        return include.startswith(entry[:-2])
    if entry.endswith("/"):
        return os.path.dirname(include) + "/" == entry
    return include == entry


def check_ours(path, folder, include):
    if os.path.dirname(include) == folder:
        return None
    if is_test(path):
        # A test may use its whole program: fakes, contracts, the neighbours it is played against.
        own_top = path.split("/")[0]
        if include.split("/")[0] in (own_top, "base", "proto"):
            return None
    if include.startswith("base/"):
        if not is_pure(path, folder) or include in PURE_BASE:
            return None
        return f"a pure folder may include of base only {', '.join(PURE_BASE)}"
    if any(allows(entry, include) for entry in FOLDERS[folder] if entry != PURE):
        return None
    return f"{folder} may not include {os.path.dirname(include)}"


def check_pure_system(include):
    if include.startswith("absl/"):
        return None if include.startswith(PURE_ABSL) else "a pure folder may not include this"
    if "." not in include and "/" not in include:
        return "a pure folder may not include this" if include in NOT_PURE_STD else None
    return "a pure folder may not include the system's headers"


def check_system(path, folder, include):
    header = path.endswith(".h")
    for pattern, headers, sources in LIBRARIES:
        if not re.match(pattern, include):
            continue
        if is_test(path):
            return None
        if is_pure(path, folder) and (header or pattern not in PURE_LIBRARIES):
            return "a pure folder may not include this library"
        where = headers if header else sources
        if where is None or folder in where:
            return None
        kind = "headers" if header else "sources"
        return f"only {kind} of {', '.join(where) or 'no folder'} may include this library"
    if is_pure(path, folder) and not is_test(path):
        return check_pure_system(include)
    return None


def check_include(path, include):
    """Why the file may not include it, or None."""
    folder = folder_of(path)
    if folder is None:
        return "its folder has no line in the table FOLDERS of tests/layering/layering.py"
    if include.split("/")[0] in TOPS:
        # base/log.h, but also a generated proto/... header.
        return check_ours(path, folder, include)
    return check_system(path, folder, include)


def sources(root):
    for top in TOPS:
        for directory, subdirectories, names in os.walk(os.path.join(root, top)):
            subdirectories[:] = sorted(d for d in subdirectories if d not in ("node_modules",))
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(directory, name), root)


def check_tree(root):
    problems, warnings, files = [], [], 0
    for path in sources(root):
        files += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            why = check_include(path, match.group(2)) if match else None
            if why:
                problems.append(f"{path}:{number}: includes {match.group(2)}: {why}")
        limit = MAX_LINES[os.path.splitext(path)[1]]
        if len(lines) > limit and not is_test(path):
            warnings.append(f"{path}: {len(lines)} lines; {limit} are enough")
    return files, problems, warnings


def needs_readme(folder, names):
    """Whether these files in the folder ask for a README that is not among them."""
    if any(folder == each or folder.startswith(each + "/") for each in NO_README):
        return False
    return len(names) > MAX_UNEXPLAINED and "README.md" not in names


def unexplained(root):
    for top in README_TOPS:
        for directory, subdirectories, names in os.walk(os.path.join(root, top)):
            subdirectories[:] = sorted(d for d in subdirectories if d not in NOT_SOURCES)
            names = [name for name in names if not name.startswith(".")]
            folder = os.path.relpath(directory, root)
            if needs_readme(folder, names):
                yield f"{folder}: {len(names)} files and no README.md, which says what they are"


def self_test_readmes():
    """How many of these cases come out wrong."""
    six = [f"{i}.cc" for i in range(6)]
    cases = (("base", six, True), ("base", six[1:], False), ("base", six + ["README.md"], False),
             ("tests/fuzz/corpus/archive", six, False), ("tests/fuzz/corpus2", six, True))
    wrong = [case for case in cases if needs_readme(*case[:2]) != case[2]]
    for folder, names, needed in wrong:
        print(f"self-test: {folder} with {len(names)} files: a README is "
              f"{'' if needed else 'not '}needed, but the rule says otherwise")
    return len(wrong)


def self_test(fixtures):
    """Each line of a fixture: `good|bad  file  include`."""
    failures, cases = 0, 0
    for name in sorted(os.listdir(fixtures)):
        with open(os.path.join(fixtures, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                words = line.split("#")[0].split()
                if not words:
                    continue
                verdict, path, include = words
                why = check_include(path, include)
                cases += 1
                if (verdict == "bad") != bool(why):
                    failures += 1
                    print(f"{name}:{number}: {path} including {include} is {verdict}, "
                          f"but the table says: {why or 'good'}")
    print(f"self-test: {cases} cases, {failures} wrong")
    return 0 if failures + self_test_readmes() == 0 and cases > 0 else 1


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--self-test":
        return self_test(arguments[1])
    if len(arguments) != 1:
        print(__doc__)
        return 2
    files, problems, warnings = check_tree(arguments[0])
    for warning in warnings:
        print("warning:", warning)
    silent = list(unexplained(arguments[0]))
    for problem in problems + silent:
        print(problem)
    print(f"{files} files, {len(problems)} forbidden includes, {len(warnings)} long files, "
          f"{len(silent)} folders without README")
    # No files: looked in the wrong place.
    return 1 if problems or silent or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
