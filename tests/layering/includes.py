"""Checks that each C++ file includes the headers of the standard library and of Abseil that it uses.

Usage: includes.py ROOT         prints each file that uses a name without its header
       includes.py --fix ROOT   adds the missing includes

A source may rely on the includes of its own header (foo.h for foo.cc and foo_test.cc), and nothing else:
precompiled headers (tools/precompiled) hide what is missing, and a change of one header must not break
the files that include it.
"""

import os
import re
import sys

import layering

# Header: the names that it declares. Names that several headers declare are left out.
STD = {
    "algorithm": "all_of any_of binary_search clamp copy_if copy_n count_if equal_range find_if max_element "
                 "min_element none_of nth_element partial_sort remove_if reverse sort stable_sort unique "
                 "lower_bound upper_bound transform",
    "array": "array",
    "atomic": "atomic memory_order_relaxed memory_order_acquire memory_order_release",
    "barrier": "barrier",
    "chrono": "chrono",
    "charconv": "from_chars to_chars",
    "cmath": "isfinite isinf isnan lround llround sqrt pow ceil floor log exp",
    "condition_variable": "condition_variable",
    "deque": "deque",
    "exception": "exception_ptr current_exception rethrow_exception",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function",
    "future": "promise future",
    "iostream": "cout cerr cin",
    "iterator": "back_inserter make_move_iterator",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared enable_shared_from_this "
              "static_pointer_cast dynamic_pointer_cast",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once",
    "numeric": "accumulate iota gcd lcm partial_sum inner_product",
    "optional": "optional nullopt make_optional",
    "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 random_device uniform_int_distribution uniform_real_distribution",
    "regex": "regex",
    "set": "set multiset",
    "shared_mutex": "shared_mutex shared_lock",
    "span": "span",
    "sstream": "ostringstream istringstream stringstream",
    "string": "string to_string stoi stol stoul stod getline",
    "string_view": "string_view",
    "thread": "thread jthread this_thread",
    "tuple": "tuple make_tuple tie forward_as_tuple apply",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "pair make_pair exchange swap move forward",
    "variant": "variant visit get_if holds_alternative monostate",
    "vector": "vector",
}
ABSL = {
    "absl/status/status.h": "Status OkStatus InvalidArgumentError NotFoundError InternalError UnavailableError "
                            "FailedPreconditionError",
    "absl/status/statusor.h": "StatusOr",
    "absl/strings/str_cat.h": "StrCat StrAppend",
    "absl/strings/str_format.h": "StrFormat",
    "absl/strings/str_join.h": "StrJoin",
    "absl/strings/str_split.h": "StrSplit",
    "absl/time/time.h": "Time Duration Seconds Milliseconds Hours",
}
# A header that declares the names of others, too.
ALSO = {"absl/status/statusor.h": ("absl/status/status.h",), "iostream": ("string",), "sstream": ("string",),
        "fstream": ("string",), "map": ("utility",), "unordered_map": ("utility",),
        "string": ("string_view",)}

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.M)
# Comments, strings and includes, which name nothing.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|^\s*#\s*include[^\n]*', re.S | re.M)


def names(namespace, table):
    return {f"{namespace}::{name}": header for header, listed in table.items() for name in listed.split()}


NAMES = {**names("std", STD), **names("absl", ABSL)}
NAME = re.compile(r"(?<![\w:])(?:::)?((?:std|absl)::\w+)")


def includes(path, text):
    """What the file includes, and what its own header does."""
    found = set(INCLUDE.findall(text))
    own = re.sub(r"(_test)?\.cc$", ".h", path)
    if own != path and os.path.exists(own):
        with open(own, encoding="utf-8") as file:
            found |= set(INCLUDE.findall(file.read()))
    for header in list(found):
        found.update(ALSO.get(header, ()))
    return found


def missing(path):
    """The headers that the file lacks."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    used = {NAMES[name] for name in NAME.findall(NO_CODE.sub(" ", text)) if name in NAMES}
    return sorted(used - includes(path, text))


def fix(path, headers):
    """Adds includes to the block of their kind, <...> or "...", or as a block of their own."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    own = '"' + re.sub(r"(_test)?\.cc$", ".h", path) + '"'
    for header in headers:
        line = f'#include "{header}"' if "/" in header else f"#include <{header}>"
        block = [i for i, each in enumerate(lines)
                 if re.match(r'#include ".*/' if "/" in header else r"#include <\w+>", each) and own not in each]
        if block:
            lines.insert(next((i for i in block if lines[i] > line), block[-1] + 1), line)
        else:
            # Behind the include guard and the file's own header.
            guard = f"#define {layering.guard_of(path)}"
            last = max((i for i, each in enumerate(lines) if each == guard or own in each), default=-1)
            lines[last + 1:last + 1] = ["", line]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main(arguments):
    fixing = arguments[:1] == ["--fix"]
    if len(arguments) != 1 + fixing:
        print(__doc__)
        return 2
    os.chdir(arguments[-1])
    files = problems = 0
    for path in layering.sources("."):
        path = os.path.normpath(path)
        files += 1
        lacks = missing(path)
        problems += len(lacks)
        if lacks and fixing:
            fix(path, lacks)
        elif lacks:
            print(f"{path}: uses, but does not include {', '.join(lacks)}")
    print(f"{files} files, {problems} missing includes")
    return 0 if files and (fixing or not problems) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
