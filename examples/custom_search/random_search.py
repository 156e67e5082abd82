#!/usr/bin/env python3
"""Drives a search from outside: random search in sixty lines of plain HTTP.

    export DET_MASTER=http://localhost:8080
    ./random_search.py "$(det experiment create search.yaml . --json | jq .experiment.id)"

Reads the search's events, asks for trials, and shuts the search down when it has seen enough. It
may be killed and started again at any moment: events come again until they are said to be read, and
what is posted twice under one id is done once. Put Optuna or anything else in place of `propose`.
"""

import argparse
import json
import os
import pathlib
import random
import urllib.request


class Search:
    """One experiment's searcher, as events to read and operations to post."""

    def __init__(self, master: str, token: str, experiment: int) -> None:
        self.url = f"{master}/api/v1/experiments/{experiment}/searcher"
        self.token = token

    def call(self, path: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.token},
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def events(self, after: int) -> list[dict]:
        return self.call(f"/events?after={after}&waitSeconds=30")["events"]

    def post(self, post_id: str, events_read: int, operations: list[dict]) -> None:
        body = {"id": post_id, "eventsRead": events_read, "operations": operations}
        self.call("/operations", body)


def propose(number: int) -> dict[str, float]:
    return {"x": random.Random(number).uniform(-5, 5)}


def create(number: int) -> dict:
    return {"createTrial": {"requestId": str(number), "hparams": propose(number)}}


def run(search: Search, trials: int, at_once: int) -> None:
    read = asked = ended = 0
    while ended < trials:
        operations = []
        for event in search.events(read):
            read = int(event["id"])
            kind = event["event"]["kind"]
            if kind == "trial_created":
                asked = max(asked, int(event["event"]["request_id"]))
            elif kind == "validation":
                print(f"trial {event['event']['request_id']}: {event['event']['metrics']}")
            elif kind == "trial_exited":
                ended += 1
        while asked < trials and asked - ended < at_once:
            asked += 1
            operations.append(create(asked))
        if ended == trials:
            operations.append({"shutdown": {}})
        # The same events lead to the same post, whenever it is made.
        search.post(f"after-{read}", read, operations)


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
