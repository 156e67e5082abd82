"""A fake master that performs the actions of a scenario when the events that it names occur."""

import json

from fake_master import SERVICE, FakeMaster

HOLD_TIMEOUT = 300  # Seconds; prevents a hang if a rule never occurs.


class ScriptedMaster(FakeMaster):
    """The master of one trial, through all its attempts.

    `events` has the events of the current attempt in order, each report once: "metrics training 3
    sum=66" ("leftover ..." of an earlier attempt), "checkpoint 4", "ack", "early_exit FAILED
    message", "log line".

    A rule has `when`, the beginning of an event ("start": before all), and `do`, which happens
    once:
        preempt             preempts the trial
        lose_responses: N   accepts the next N reports, including this one, and breaks the connection
        be_unavailable: N   does not respond to the next N reports, nor to other calls meanwhile;
                            `always`: until the attempt ends
        hold                delays the responses to all reports until its next action
        refuse: message     rejects all reports from the next one on
    """

    def __init__(self):
        super().__init__()
        self.known = set()  # All reports so far; like the real master, it ignores repeated ones.
        self.checkpoints = {}  # The steps of each registered checkpoint by UUID.
        self.begin(0, [], 1)

    def begin(self, run, rules, slots):
        """Starts attempt `run` with a number of slots."""
        with self.changed:
            self.run, self.events, self.rules = run, [], [dict(rule) for rule in rules]
            self.slots = slots
            self.repeats, self.lost_responses, self.unavailable_calls, self.refusal = 0, 0, 0, None
            self.held = False
            self.preempt.clear()
            self._apply_rules("start")

    def close(self):
        with self.changed:  # Release the calls of an attempt that has ended.
            self.held = False
            self.changed.notify_all()
        super().close()

    def record(self, line):
        with self.changed:
            self.events.append(line)
            self._apply_rules(line)
            self.changed.notify_all()

    def get_events(self, kind):
        """Returns the rest of each event of a kind."""
        with self.changed:
            return [line.partition(" ")[2] for line in self.events if line.split(" ")[0] == kind]

    def get_missing_events(self):
        """Returns the events of rules that have not occurred."""
        return [rule["when"] for rule in self.rules]

    def _apply_rules(self, line):
        due = [rule for rule in self.rules if f"{line} ".startswith(rule["when"] + " ")]
        self.rules = [rule for rule in self.rules if rule not in due]
        for rule in due:
            self._do(rule["do"])

    def _do(self, act):
        self.held = act == "hold"
        if self.held:
            return
        if act == "preempt":
            self.preempt.set()
            return
        [(name, value)] = act.items()
        if name == "lose_responses":
            self.lost_responses = value
        elif name == "be_unavailable":
            self.unavailable_calls = float("inf") if value == "always" else value
        elif name == "refuse":
            self.refusal = value
        else:
            raise ValueError(f"unknown action of a master: {name!r}")

    def answer(self, method, path, body):
        with self.changed:
            if path.startswith(SERVICE):
                self.changed.wait_for(lambda: not self.held, HOLD_TIMEOUT)
            if self.unavailable_calls > 0:
                self.unavailable_calls -= path.startswith(SERVICE)
                return 0, None
        if not path.startswith(SERVICE):
            return super().answer(method, path, body)
        if body.get("allocationId") != f"3.7.{self.run}":
            return 403, {"error": {"code": 7, "error": "another run's token"}}
        return self._report(path[len(SERVICE) :], body)

    def _report(self, call, body):
        with self.changed:
            if self.refusal:
                return 400, {"error": {"code": 3, "error": self.refusal}}
            for line, key in describe_events(call, body, self.run):
                if key in self.known:
                    self.repeats += 1
                    continue
                self.known.update({key} if key else ())
                if call == "ReportCheckpoint":
                    self.checkpoints[body["uuid"]] = body["stepsCompleted"]
                self.record(line)
            if self.lost_responses > 0:
                self.lost_responses -= 1
                return 0, None
        return 200, {"bestSoFar": True} if call == "ReportMetrics" else {}


def describe_events(call, body, run):
    """Yields (event, key) of a call.

    A repeated report has the same key. The key None is never a repetition.
    """
    if call == "ReportMetrics":
        for report in body["reports"]:
            group, steps = report["group"], report["stepsCompleted"]
            metrics = " ".join(
                f"{name}={value}"
                for name, value in sorted(report["metrics"].items())
                if name not in ("batches", "epochs", "records")
            )
            kind = "metrics" if body["trialRunId"] == run else "leftover"
            yield f"{kind} {group} {steps} {metrics}", (body["trialRunId"], group, steps)
    elif call == "ReportCheckpoint":
        if body.get("damage"):
            yield f"damaged {body['stepsCompleted']}", (body["uuid"], "damage")
        else:
            yield f"checkpoint {body['stepsCompleted']}", (body["uuid"],)
    elif call == "AckPreemption":
        yield "ack", None
    elif call == "ReportEarlyExit":
        yield f"early_exit {body['reason']} {body['message']}", None
    elif call != "ReportProgress":
        raise ValueError(f"unknown call {call} {json.dumps(body)}")
