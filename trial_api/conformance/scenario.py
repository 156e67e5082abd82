"""A scenario: the consecutive attempts of a trial, and what is expected of each."""

import json
import os
import re

import yaml
from fake_master import CLUSTER
from harness import free_port
from task import BATCH_SIZE, PERIOD, environment, start_and_wait

_SCENARIO = {"about", "programs", "runs"}
_RUN = {"ranks", "environment", "incidents", "master", "expect"}
_EXPECT = {
    "exit",
    "acknowledged",
    "metrics",
    "checkpoints",
    "values",
    "logs",
    "never_logs",
    "first_error",
    "early_exit",
    "repeated",
    "leftover",
    "unregistered",
}


def load(path):
    """Reads a scenario.

    Raises:
        ValueError: It has an unknown field.
    """
    with open(path, encoding="utf-8") as file:
        data = yaml.safe_load(file)
    _check_fields(path, data, _SCENARIO)
    for run in data["runs"]:
        _check_fields(path, run, _RUN)
        _check_fields(path, run["expect"], _EXPECT)
    return data


def _check_fields(path, data, words):
    if set(data) - words:
        raise ValueError(
            f"{path}: unknown fields {sorted(set(data) - words)}; expected {sorted(words)}"
        )


def play(test, data, master, program, cwd, folder):
    """Plays a scenario with assertions of `test`.

    Args:
        test: The test case.
        data: The scenario.
        master: The scripted master.
        program: The command of the entrypoint, and additional environment variables.
        cwd: The working directory of the program.
        folder: A directory for all files.
    """
    command, surroundings = program
    for number, run in enumerate(data["runs"]):
        before = dict(master.checkpoints)
        master.begin(number, run.get("master", []), run.get("ranks", 1))
        env = {
            **environment(master, folder, number, run, [free_port(), free_port()]),
            **surroundings,
        }
        code = start_and_wait(command, master, env, cwd)
        try:
            check(test, run["expect"], master, code, before)
            unregistered = run["expect"].get("unregistered", [])
            check_storage(test, master, os.path.join(folder, "checkpoints"), unregistered)
            test.assertEqual(
                [], master.get_missing_events(), "events that the master waited for and did not see"
            )
        except AssertionError as error:
            events = "\n".join(master.events)
            raise AssertionError(
                f"run {number}: {error}\nevents of the master:\n{events}"
            ) from None


def check(test, expected, master, code, before):
    log = master.get_events("log")
    test.assertEqual(expected["exit"], code, "exit code")
    test.assertEqual(bool(expected.get("acknowledged")), "ack" in master.events, "acknowledged")
    check_metrics(
        test, expand(expected["metrics"]), expected.get("values", {}), master.get_events("metrics")
    )
    saved = [int(steps) for steps in master.get_events("checkpoint")]
    test.assertEqual(expected["checkpoints"], saved, "checkpoints")
    check_metrics(test, expand(expected.get("leftover", [])), {}, master.get_events("leftover"))
    if "leftover" not in expected:
        check_order(test, master.events)
    test.assertEqual(len(saved), len(master.checkpoints) - len(before), "new checkpoints")
    for words in expected.get("logs", []):
        test.assertTrue(
            any(re.search(words, line) for line in log), f"the log does not contain {words}"
        )
    for words in expected.get("never_logs", []):
        test.assertFalse(any(re.search(words, line) for line in log), f"the log contains {words}")
    if "first_error" in expected:
        first = next((line for line in log if re.search("Traceback|ERROR", line)), "")
        test.assertRegex(first, expected["first_error"])
    early = master.get_events("early_exit")
    if "early_exit" in expected:
        test.assertTrue(early, "no early exit")
        for words in early:
            test.assertRegex(words, expected["early_exit"])
    else:
        test.assertEqual([], early, "early exit")
    if expected.get("repeated") != "perhaps":
        test.assertEqual(bool(expected.get("repeated")), master.repeats > 0, "repeated reports")


def expand(listed):
    """Expands ["training 1..2", "validation 2"] to ["training 1", "training 2", "validation 2"]."""
    found = []
    for words in listed:
        group, _, steps = words.partition(" ")
        first, _, last = steps.partition("..")
        found += [f"{group} {n}" for n in range(int(first), int(last or first) + 1)]
    return found


def check_metrics(test, expected, values, events):
    """Checks the order and the values of reports.

    Each is made once, and covers exactly the records trained so far.
    """
    test.assertEqual(expected, [" ".join(line.split(" ")[:2]) for line in events], "metrics")
    for line in events:
        place, _, value = line.partition(" sum=")
        records = int(place.split(" ")[1]) * BATCH_SIZE
        total = values.get(place, records * (records - 1) // 2)
        test.assertEqual(str(float(total)), str(float(value)), f"sum of {place}")


def check_order(test, events):
    """Checks that a checkpoint follows the metrics before it, except those that it contains itself."""
    for at, line in enumerate(events):
        if line.startswith("checkpoint "):
            steps = int(line.split(" ")[1])
            late = [f"metrics training {n} " for n in range(1, steps)]
            if steps % PERIOD == 0:
                late.append(f"metrics validation {steps} ")
            for other in events[at:]:
                test.assertFalse(other.startswith(tuple(late)), f"{line} came before {other}")


def check_storage(test, master, folder, unregistered):
    """Checks that checkpoints are complete or invisible, and known to the master.

    Args:
        test: The test case.
        master: The scripted master.
        folder: The checkpoint storage.
        unregistered: The steps of checkpoints that the master does not know yet.
    """
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = {}
    for name in names:
        if not name.startswith(".") and name != CLUSTER:  # The cluster's directory has event files.
            found[name] = check_complete(test, os.path.join(folder, name))
    unknown = sorted(found[name] for name in found if name not in master.checkpoints)
    test.assertEqual(unregistered, unknown, "checkpoints that the master does not know")
    known = {name: steps for name, steps in found.items() if name in master.checkpoints}
    test.assertEqual(master.checkpoints, known, "checkpoints in the storage")


def check_complete(test, folder):
    """Checks that all files of a checkpoint exist; returns its steps."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        for part in json.load(file)["files"]:
            size = os.path.getsize(os.path.join(folder, part["path"]))
            test.assertEqual(part["size"], size, part["path"])
    with open(os.path.join(folder, "metadata.json"), encoding="utf-8") as file:
        return json.load(file)["steps_completed"]
