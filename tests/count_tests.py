#!/usr/bin/env python3
"""Counts the test cases of a `bazel test` run and prints "N passed, N failed" as its last line.

Usage: count_tests.py EVENTS      EVENTS: what --build_event_json_file wrote
A target without a readable report counts as one case, so a test that crashes or does not build
counts as failed. Failed cases are listed before. Exit code 1 if one failed or none ran.
"""
import json
import sys
import urllib.parse
import xml.etree.ElementTree


def read_events(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def report_of(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml" and output.get("uri", "").startswith("file://"):
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return None


def cases_of(path):
    """(name, verdict) of each case; verdict is "passed", "failed" or "skipped"."""
    root = xml.etree.ElementTree.parse(path).getroot()
    cases = []
    for case in root.iter("testcase"):
        name = ".".join(x for x in (case.get("classname"), case.get("name")) if x)
        verdict = "passed"
        if case.find("failure") is not None or case.find("error") is not None:
            verdict = "failed"
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            verdict = "skipped"
        cases.append((name, verdict))
    return cases


def cases_of_result(label, result):
    passed = result.get("status") in ("PASSED", "FLAKY")
    path = report_of(result)
    try:
        cases = cases_of(path) if path else []
    except (OSError, xml.etree.ElementTree.ParseError):
        cases = []
    verdicts = [verdict for _, verdict in cases]
    # A test can fail after its last case, and the report can be older than the failure.
    if not cases or (not passed and "failed" not in verdicts):
        cases.append((result.get("status", "?"), "passed" if passed else "failed"))
    return [(f"{label} {name}", verdict) for name, verdict in cases]


def collect(events):
    results, expected, broken = {}, set(), []
    for event in events:
        event_id = event.get("id", {})
        if "testResult" in event_id:
            key = event_id["testResult"]
            # The last attempt of a shard counts.
            results[(key["label"], key.get("run"), key.get("shard"))] = event.get("testResult", {})
        elif "testSummary" in event_id:
            expected.add(event_id["testSummary"]["label"])
        elif "targetCompleted" in event_id and not event.get("completed", {}).get("success"):
            broken.append(event_id["targetCompleted"]["label"])
    cases = []
    for (label, _, _), result in sorted(results.items(), key=lambda item: item[0][0]):
        cases += cases_of_result(label, result)
    ran = {label for label, _, _ in results}
    for label in sorted((expected | set(broken)) - ran):
        cases.append((f"{label} (did not build or run)", "failed"))
    return cases


def main(path):
    cases = collect(read_events(path))
    count = {v: sum(1 for _, verdict in cases if verdict == v)
             for v in ("passed", "failed", "skipped")}
    for name, verdict in cases:
        if verdict != "passed":
            print(f"{verdict}: {name}")
    if count["skipped"]:
        print(f"{count['skipped']} skipped")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
