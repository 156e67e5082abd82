"""Checks each #include of the source tree against a table of allowed dependencies between folders, that
each header's include guard is its path, and that each folder with more than five files has a README.

docs/architecture.md explains the dependencies. A new folder needs an entry in FOLDERS, so that a change
of the architecture is visible in review.

Usage: layering.py ROOT             checks the tree
       layering.py --self-test DIR  checks the table against the cases in DIR
"""

import os
import re
import sys

TOPS = ("agent", "base", "cli", "master", "proto", "trial_api")

PURE_BASE = tuple(
    f"base/{name}.h" for name in ("check", "glob", "id", "rng", "status_macros", "transition"))

# Headers of the standard library for I/O, clocks, threads and random numbers.
NOT_PURE_STD = {
    "atomic", "barrier", "chrono", "condition_variable", "cstdio", "ctime", "filesystem",
    "fstream", "future", "iostream", "latch", "mutex", "random", "semaphore", "shared_mutex",
    "stop_token", "syncstream", "thread",
}
PURE_ABSL = ("absl/algorithm/", "absl/container/", "absl/functional/", "absl/hash/",
             "absl/numeric/", "absl/status/", "absl/strings/", "absl/time/time.h",
             "absl/time/civil_time.h", "absl/types/")

# Maps each folder to the folders and files of this project that it may include besides itself. An entry
# that ends with "/" is a folder without its subfolders, "/**" a folder with its subfolders, ".h" a file.
# Folders that are not pure may also include base.
PURE = "pure"
PROTO = "proto/"
CORE = ["master/core/model/", "master/core/searcher/", "master/core/scheduler/",
        "master/core/experiment/", "master/core/cluster/"]
# The types in rows of the store.
STORED = ["master/core/model/", "master/core/experiment/", "master/core/searcher/operation.h",
          "master/core/cluster/change.h", "master/core/cluster/image.h"]
# The dependencies of all API folders. They use the searcher to preview and simulate searches, and the
# scheduler to show and explain the queue.
API = CORE + ["master/core/scheduler/json/", "master/parse/", "master/engine/",
              "master/store/interfaces/", "master/auth/", "master/webhooks/",
              "master/checkpoint_storage/", PROTO]
CALLS = ["master/live/", "master/api/common/", "master/api/authz/", "master/api/audit/",
         "master/api/idempotency/"]
RESOURCE = API + CALLS + ["master/api/rpc/"]
FOLDERS = {
    "base": [],
    "base/objects": [],
    "proto": [],
    # Only main.cc; its components are in app.
    "master": [],
    "master/core/model": [PURE],
    "master/core/searcher": [PURE, "master/core/model/"],
    "master/core/scheduler": [PURE, "master/core/model/"],
    "master/core/scheduler/json": [PURE, "master/core/model/", "master/core/scheduler/"],
    "master/core/experiment": [PURE, "master/core/model/", "master/core/searcher/"],
    "master/core/cluster": [PURE, "master/core/model/", "master/core/searcher/",
                            "master/core/scheduler/", "master/core/experiment/"],
    # Parses YAML and JSON configurations to values of the model.
    "master/parse": ["master/core/model/"],
    "master/engine": [*CORE, "master/store/interfaces/"],
    # Simulates the cluster in virtual time, and runs one scheduling pass on a file.
    "master/simulate": ["master/core/model/", "master/parse/", "master/core/scheduler/",
                        "master/core/scheduler/json/", "master/core/experiment/",
                        "master/core/cluster/"],
    "master/store/interfaces": STORED + [PROTO],
    "master/store/testing": STORED + ["master/store/interfaces/", PROTO],
    "master/store/postgres": STORED + ["master/parse/", "master/store/interfaces/", PROTO],
    "master/auth": ["master/core/model/", "master/store/interfaces/", PROTO],
    "master/checkpoint_storage": ["master/core/model/"],
    "master/webhooks": ["master/core/model/", "master/core/experiment/", "master/store/interfaces/",
                        "master/engine/sinks.h", "master/auth/"],
    "master/gc": ["master/core/model/", "master/core/experiment/", "master/core/cluster/",
                  "master/engine/", "master/store/interfaces/", "master/checkpoint_storage/"],
    "master/agents": ["master/core/model/", "master/core/experiment/", "master/core/cluster/",
                      "master/engine/", "master/store/interfaces/", "master/auth/",
                      "master/proxy/", PROTO],
    "master/gateway": [PROTO],
    # Finds and authorizes the services of tasks. The gateway carries their bytes.
    "master/proxy": [*CORE, "master/engine/", "master/store/interfaces/", "master/auth/",
                     "master/api/common/", "master/gateway/proxied_service.h"],
    # First the folders that all API folders share, then the layers of every call, then one folder per resource.
    "master/api/common": API,
    "master/live": API + ["master/api/common/"],
    "master/api/authz": API,
    "master/api/idempotency": API + ["master/api/common/"],
    "master/api/audit": API + ["master/api/common/"],
    "master/api/rpc": API + CALLS,
    "master/api/checkpoints": RESOURCE,
    "master/api/cluster": RESOURCE + ["master/api/logs/"],
    "master/api/detached": RESOURCE + ["master/api/experiments/"],
    "master/api/experiments": RESOURCE + ["master/api/policies/", "master/api/queue/"],
    "master/api/logs": RESOURCE,
    "master/api/models": RESOURCE,
    "master/api/policies": RESOURCE,
    "master/api/queue": RESOURCE + ["master/api/policies/"],
    "master/api/resources": RESOURCE,
    "master/api/runtime": RESOURCE + ["master/api/checkpoints/"],
    "master/api/search": RESOURCE + ["master/api/experiments/", "master/api/policies/",
                                     "master/api/trials/"],
    "master/api/tasks": RESOURCE + ["master/api/checkpoints/", "master/api/experiments/",
                                    "master/api/logs/", "master/api/policies/",
                                    "master/proxy/activity.h", "master/proxy/services.h"],
    "master/api/updates": ["master/core/model/", "master/store/interfaces/"],
    "master/api/trials": RESOURCE + ["master/api/experiments/", "master/api/logs/"],
    "master/api/users": RESOURCE,
    "master/api/webhooks": RESOURCE,
    "master/api/workspaces": RESOURCE + ["master/api/experiments/", "master/api/users/"],
    # Creates all services.
    "master/api": ["master/**"],
    "master/app": ["master/**", PROTO],
    "master/tests/authz": ["master/**", PROTO],
    "master/tests/integration": ["master/**", PROTO],
    "master/tests/tunnels": ["master/**", "agent/**", PROTO],
    "master/tests": ["master/**", PROTO],
    "agent": ["agent/**", PROTO],
    "agent/core": [PURE],
    "agent/device": ["agent/core/"],
    "agent/driver": ["agent/core/", "agent/keeper/"],
    # A separate program with few dependencies.
    "agent/keeper": [],
    "agent/link": ["agent/core/", "agent/driver/", PROTO],
    # A separate program, which the agent starts for tasks that are not trials.
    "agent/runner": [],
    "cli": [PROTO],
    "cli/commands": ["cli/", PROTO],
    "trial_api/cpp/storage": ["trial_api/cpp/core/error.h"],
    "trial_api/cpp/core": ["trial_api/cpp/storage/", PROTO],
    "trial_api/cpp/torch": ["trial_api/cpp/core/", "trial_api/cpp/storage/"],
    # The header that users include.
    "trial_api/cpp/torch/det": ["trial_api/cpp/torch/"],
    "trial_api/cpp/launch": ["trial_api/cpp/core/", "trial_api/cpp/storage/"],
    # Written like a user's program: it includes only installed headers.
    "trial_api/conformance/programs": [],
}
# Libraries without I/O, clocks or threads. Sources of pure folders may include them.
PURE_LIBRARIES = (r"nlohmann/", r"eigen3/")
# Files that must be pure although their folder is not.
PURE_FILES = ("agent/keeper/segments.", "master/api/updates/update_protocol.", "master/auth/failed_logins.")

# Libraries: (pattern of the include, folders whose headers may include it, folders whose sources may
# include it). None means any folder that is not pure. The first pattern that matches applies.
RPC = ("proto", "master/app", "master/gateway", "master/api", "master/agents", "agent/link",
       "trial_api/cpp/core")
GENERATED = ("proto", "master/app", "master/auth", "master/store", "master/api", "master/live",
             "master/agents", "master/gateway", "agent", "agent/link", "cli", "cli/commands",
             "trial_api/cpp/core", "trial_api/cpp/launch")
LIBRARIES = (
    (r"grpc(pp)?/|.*\.grpc\.pb\.h$",
     ("proto", "master/gateway", "master/api", "master/agents", "agent/link"), RPC),
    (r"google/|.*\.pb\.h$", GENERATED, GENERATED),
    # A header for checksums, which does not include Asio.
    (r"boost/crc", (), ("trial_api/cpp/core",)),
    (r"boost/", ("base", "master/gateway", "master/api", "master/agents", "agent/link"),
     ("base", "master/gateway", "master/agents", "agent/link", "cli", "cli/commands")),
    # The private header of the OpenAPI document needs JSON.
    (r"nlohmann/", ("master/gateway",), None),
    (r"yaml-cpp/", (), ("master/parse", "agent", "cli", "cli/commands", "trial_api/cpp/core",
                        "trial_api/cpp/launch")),
    (r"re2/", (), ("master/parse", "master/agents", "master/api", "master/webhooks")),
    (r"(libpq-fe|libpq)", (), ("master/store/postgres",)),
    (r"(torch|ATen|c10)/", ("trial_api/cpp/torch",), ("trial_api/cpp/torch",)),
    (r"(gloo|nccl)", (), ("trial_api/cpp/core", "trial_api/cpp/torch")),
    (r"sodium", (), ("master/auth", "cli")),
    (r"prometheus/", ("master/app",), ("master/app",)),
    (r"CLI/", (), ("master/app", "master/simulate", "agent", "cli", "cli/commands", "trial_api/cpp/launch")),
    (r"(archive|archive_entry)\.h$", (), ("master/api", "agent/driver", "cli",
                                          "cli/commands")),
    (r"eigen3/", (), ("master/core/searcher",)),
    (r"(openssl|curl)/", (), None),
    (r"(gtest|gmock|rapidcheck|benchmark)[/.]", (), ()),
)

# A folder with more files than this needs a README that describes them.
MAX_FILES_WITHOUT_README = 5
README_TOPS = TOPS + ("deploy", "docs", "examples", "tests", "third_party", "tools", "webui")
# Folders that need no README, with their subfolders, and the reason.
NO_README = {
    "tests/fuzz/corpus": "inputs of the fuzzers; a README would become an input",
}
# Generated or installed folders, which are not in the repository.
NOT_SOURCES = ("__pycache__", "dist", "generated", "node_modules")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def is_test(path):
    name = os.path.basename(path)
    return (name.endswith(("_test.cc", "_contract.h", "_contract.cc", "_bench.cc"))
            or name.startswith(("fake_", "faulty_"))
            or name in ("testing.h", "testing.cc") or "/testing/" in path)


def folder_of(path):
    """Returns the folder whose entry in the table applies; `testing` belongs to its parent folder."""
    folder = os.path.dirname(path)
    if folder not in FOLDERS and os.path.basename(folder) == "testing":
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
        # A test may include all of its program: fakes, contract suites and other components.
        own_top = path.split("/")[0]
        if include.split("/")[0] in (own_top, "base", "proto"):
            return None
    if include.startswith("base/"):
        if not is_pure(path, folder) or include in PURE_BASE:
            return None
        return f"a pure folder may include only these files of base: {', '.join(PURE_BASE)}"
    if any(allows(entry, include) for entry in FOLDERS[folder] if entry != PURE):
        return None
    return f"{folder} may not include {os.path.dirname(include)}"


def check_pure_system(include):
    if include.startswith("absl/"):
        return None if include.startswith(PURE_ABSL) else "a pure folder may not include this"
    if "." not in include and "/" not in include:
        return "a pure folder may not include this" if include in NOT_PURE_STD else None
    return "a pure folder may not include system headers"


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
        if where is None or any(folder == each or folder.startswith(each + "/") for each in where):
            return None
        kind = "headers" if header else "sources"
        return f"only {kind} of {', '.join(where) or 'no folder'} may include this library"
    if is_pure(path, folder) and not is_test(path):
        return check_pure_system(include)
    return None


def check_include(path, include):
    """Returns why the file may not include the header, or None."""
    folder = folder_of(path)
    if folder is None:
        return "its folder has no entry in the table FOLDERS of tests/layering/layering.py"
    if include.split("/")[0] in TOPS:
        # A header of this project, such as base/log.h, or a generated proto/... header.
        return check_ours(path, folder, include)
    return check_system(path, folder, include)


def sources(root):
    for top in TOPS:
        for directory, subdirectories, names in os.walk(os.path.join(root, top)):
            subdirectories[:] = sorted(d for d in subdirectories if d not in ("node_modules",))
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(directory, name), root)


def guard_of(path):
    """"master/core/model/id.h": MASTER_CORE_MODEL_ID_H_."""
    return re.sub(r"[^A-Z0-9]", "_", path.upper()) + "_"


def has_guard(path, lines):
    return any(line in ("#pragma once", f"#ifndef {guard_of(path)}") for line in lines)


def check_tree(root):
    problems, files = [], 0
    for path in sources(root):
        files += 1
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            why = check_include(path, match.group(2)) if match else None
            if why:
                problems.append(f"{path}:{number}: includes {match.group(2)}: {why}")
        if path.endswith(".h") and not has_guard(path, lines):
            problems.append(f"{path}: the include guard is not {guard_of(path)}")
    return files, problems


def needs_readme(folder, names):
    """Returns whether the folder has too many files and no README."""
    if any(folder == each or folder.startswith(each + "/") for each in NO_README):
        return False
    # The modules of a Python package are described by their docstrings.
    return len(names) > MAX_FILES_WITHOUT_README and not {"README.md", "__init__.py"} & set(names)


def folders_without_readme(root):
    for top in README_TOPS:
        for directory, subdirectories, names in os.walk(os.path.join(root, top)):
            subdirectories[:] = sorted(d for d in subdirectories if d not in NOT_SOURCES)
            names = [name for name in names if not name.startswith(".")]
            folder = os.path.relpath(directory, root)
            if needs_readme(folder, names):
                yield f"{folder}: {len(names)} files and no README.md that describes them"


def self_test_readmes():
    """Returns the number of wrong results of needs_readme()."""
    six = [f"{i}.cc" for i in range(6)]
    cases = (("base", six, True), ("base", six[1:], False), ("base", six + ["README.md"], False),
             ("tests/fuzz/corpus/archive", six, False), ("tests/fuzz/corpus2", six, True))
    wrong = [case for case in cases if needs_readme(*case[:2]) != case[2]]
    for folder, names, needed in wrong:
        print(f"self-test: {folder} with {len(names)} files: a README is "
              f"{'' if needed else 'not '}needed, but needs_readme() returns the opposite")
    return len(wrong)


def self_test(fixtures):
    """Checks the fixtures, whose lines are `good|bad  file  include`."""
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
                          f"but the check returns: {why or 'good'}")
    print(f"self-test: {cases} cases, {failures} wrong")
    return 0 if failures + self_test_readmes() == 0 and cases > 0 else 1


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--self-test":
        return self_test(arguments[1])
    if len(arguments) != 1:
        print(__doc__)
        return 2
    files, problems = check_tree(arguments[0])
    missing = list(folders_without_readme(arguments[0]))
    for problem in problems + missing:
        print(problem)
    print(f"{files} files, {len(problems)} forbidden includes or wrong guards, {len(missing)} folders without README")
    # No files: the path of the root is wrong.
    return 1 if problems or missing or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
