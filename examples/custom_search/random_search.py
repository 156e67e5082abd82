#!/usr/bin/env python3
"""Drives a hyperparameter search from outside: random search over plain HTTP.

    export DET_MASTER=http://localhost:8080
    ./random_search.py "$(det experiment create search.yaml . --json | jq .experiment.id)"

Reads the events of the search, creates trials, and shuts the search down when enough trials have
ended. It may be killed and restarted at any time: events are repeated until they are acknowledged,
and a trial that is requested twice is created once. Replace `propose` by Optuna or another library.
"""

import argparse
import json
import os
import pathlib
import random
import urllib.request
from collections.abc import Iterator


class Search:
    """The searcher of an experiment: events to read and operations to post."""

    def __init__(self, master: str, token: str, experiment: int) -> None:
        self.url = f"{master}/api/v1/experiments/{experiment}/searcher"
        self.token = token

    def open(self, path: str, body: dict | None = None):
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.token},
        )
        return urllib.request.urlopen(request)

    def events(self) -> Iterator[tuple[int, dict]]:
        """Yields (id, event) of all events that are not acknowledged, then of new events."""
        with self.open("/events?follow=true") as lines:
            for line in lines:
                event = json.loads(line)["result"]
                yield int(event["id"]), event["event"]

    def post(self, post_id: str, events_read: int, operations: list[dict]) -> None:
        body = {"id": post_id, "eventsRead": events_read, "operations": operations}
        self.open("/operations", body).close()


def propose(number: int) -> dict[str, float]:
    return {"x": random.Random(number).uniform(-5, 5)}


def create(number: int) -> dict:
    return {"createTrial": {"requestId": str(number), "hparams": propose(number)}}


def run(search: Search, trials: int, at_once: int) -> None:
    requested: set[str] = set()
    ended: set[str] = set()
    for number, event in search.events():
        if event["type"] == "trial_created":
            requested.add(event["request"])
        elif event["type"] == "validation":
            print(f"trial {event['request']}: {event['metrics']}")
        elif event["type"] == "trial_exited":
            ended.add(event["request"])
        operations = []
        while len(requested) < trials and len(requested - ended) < at_once:
            operations.append(create(len(requested) + 1))
            requested.add(str(len(requested) + 1))
        if len(ended) == trials:
            operations.append({"shutdown": {}})
        if operations:
            # Acknowledge no events: a restarted program needs them to know which trials it has requested.
            search.post(f"after-{number}", 0, operations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", type=int)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--master", default=os.environ.get("DET_MASTER", "http://localhost:8080"))
    parser.add_argument("--token-file", type=pathlib.Path)
    flags = parser.parse_args()
    token = os.environ.get("DET_USER_TOKEN", "")
    if flags.token_file:
        token = flags.token_file.read_text().strip()
    run(Search(flags.master, token, flags.experiment), flags.trials, flags.at_once)


if __name__ == "__main__":
    main()
