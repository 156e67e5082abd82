#!/usr/bin/env python3
"""Compares the answers of a new master with the recorded ones, call by call.

    recorded.py --port PORT --admin-password PASSWORD [--pending FILE] [GROUP...]

The master needs the configuration `CONFIG` of recorded_test.py.
Prints the differences of the named groups (all without a name) that deliberate.md does not list, and
the counts of each group. With --pending, writes the calls that differ to FILE.
"""
import argparse
import collections
import fnmatch
import os
import sys

import scenario

FOLDER = os.path.dirname(os.path.abspath(__file__))


def read_deliberate(folder=FOLDER):
    """The patterns of calls in the table of deliberate.md, such as "login:*"."""
    patterns = []
    with open(os.path.join(folder, "deliberate.md"), encoding="utf-8") as f:
        for line in f:
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) == 5 and ":" in cells[1] and cells[1].startswith("`"):
                patterns.append(cells[1].strip("`"))
    return patterns


def read_pending(folder=FOLDER):
    with open(os.path.join(folder, "pending.txt"), encoding="utf-8") as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


class Comparison:
    """The differences of one play of the scenario; `observe` is passed to Player.play."""

    def __init__(self, deliberate):
        self.deliberate = deliberate
        self.differences = {}  # "group:name" -> texts, for calls that deliberate.md does not list
        self.listed = set()    # calls that differ and that deliberate.md lists
        self.used = set()      # patterns of deliberate.md that list a difference
        self.names = set()
        self.counts = collections.defaultdict(collections.Counter)

    def observe(self, name, call, shape, answer):
        found = scenario.compare(call, shape, answer)
        self.names.add(name)
        group, ignored = name.partition(":")[0], (call["status"] or 0) >= 500
        self.counts[group]["ignored" if ignored and not found else "different" if found else "equal"] += 1
        if not found:
            return
        patterns = [p for p in self.deliberate if fnmatch.fnmatchcase(name, p)]
        self.used.update(patterns)
        if patterns:
            self.listed.add(name)
        else:
            self.differences[name] = found

    def problems(self, pending):
        """What fails: new differences, and entries of the two lists that differ no longer."""
        unknown = [f"{name}: {'; '.join(found)}" for name, found in self.differences.items()
                   if name not in pending]
        equal = [f"{name} is equal now: remove it from pending.txt" for name in pending
                 if name not in self.differences]
        unused = [f"no call of {pattern} differs: remove it from deliberate.md"
                  for pattern in self.deliberate if pattern not in self.used]
        return unknown + equal + unused

    def summary(self):
        total = sum(self.counts.values(), collections.Counter())
        lines = [f"{group}: {c['equal']} equal, {c['different']} different"
                 for group, c in self.counts.items()]
        return "\n".join(lines + [
            f"{total['equal']} equal, {total['different']} different ({len(self.listed)} deliberate); "
            f"the original service fails in {total['ignored']} other calls"])


def write_pending(path, comparison):
    with open(path, "w", encoding="utf-8") as f:
        f.write("# Calls whose answers differ from the recorded ones and will be made equal (README.md).\n")
        f.writelines(name + "\n" for name in comparison.differences)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--admin-password", required=True)
    parser.add_argument("--pending", metavar="FILE", help="write the calls that differ to FILE")
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    options = parser.parse_args()
    comparison = Comparison(read_deliberate())
    player = scenario.Player(options.port, options.admin_password,
                             scenario.load(os.path.join(FOLDER, "recorded")))
    player.play(comparison.observe)
    for name, found in comparison.differences.items():
        if not options.groups or name.partition(":")[0] in options.groups:
            print(f"{name}: {'; '.join(found)}")
    print(comparison.summary())
    if options.pending:
        write_pending(options.pending, comparison)
    return 0


if __name__ == "__main__":
    sys.exit(main())
