#!/usr/bin/env -S python3 -B
"""Tests the existing client's command line: every command that this server supports.

Each line of COMMANDS is a command, its exit code and words of its output.
"""
import json
import os
import re
import shlex
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", name) for name in ("existing_client", "e2e")]
import existing_client  # noqa: E402
import harness  # noqa: E402

USER, PASSWORD = "boss", "Existing-Passw0rd"

# Saves two checkpoints and reports metrics.
TRAIN = """
import determined as det
with det.core.init() as context:
    for step in (1, 2):
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
        context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state").write_text(f"state {step}")
    print("INFO: trained", flush=True)
"""

# Exit code | arguments of det | words of its output, if any. {name} is a value of the test.
COMMANDS = """
# user
0 | user whoami | logged in as user 'boss'
0 | user list | determined
0 | user list --all | admin
0 | user create ann --password {password} | 
1 | user create ann --password {password} | 
0 | user edit ann --display-name Ann | 
0 | user link-with-agent-user ann --agent-uid 1000 --agent-user ann --agent-gid 1000 --agent-group ann | 
0 | user rename ann beth | 
0 | user deactivate beth | 
0 | user activate beth | 
0 | user edit beth --admin false | 
1 | user edit nobody --display-name X | not found
# token
0 | token create beth --expiration-days 3 --description ci | TokenID
0 | token list --show-inactive | ci
0 | token list --yaml | ci
# workspace and project
0 | workspace create team | Created|team
1 | workspace create team | 
0 | workspace list | team
0 | workspace list --json | "team"
0 | workspace describe team | team
0 | workspace edit team --name group | group
0 | workspace list-pools group | default
0 | project create group first --description d | first
0 | project list group | first
0 | project describe group first | first
0 | project edit group first --new_name second | second
0 | project list-experiments group second | 
0 | workspace list-projects group | second
0 | project archive group second | 
0 | project unarchive group second | 
0 | workspace archive group | 
0 | workspace unarchive group | 
1 | workspace describe absent | not found
1 | project describe group absent | not found
# template
0 | template create tpl template.yaml | Created template|tpl
0 | template set tpl template.yaml | Set template|tpl
0 | template set-value config tpl template.yaml | 
0 | template list | tpl
0 | template list --details | tpl
0 | template describe tpl | max_restarts
# experiment
0 | preview-search config.yaml | Trials
0 | experiment create config.yaml context --template tpl --paused --config entrypoint="sleep 100" | Created experiment
0 | experiment create config.yaml context --project_id 1 --config name=other --config description=x -f | Created experiment
1 | experiment create broken.yaml context | 
0 | experiment list | existing
0 | experiment list --all --csv | existing
0 | experiment list --show_project --limit 5 | Uncategorized
0 | experiment describe {experiment} | existing
0 | experiment describe {experiment} --json | "existing"
0 | experiment describe {experiment} --csv --metrics | loss
0 | experiment config {experiment} | entrypoint
0 | experiment logs {experiment} | trained
0 | experiment logs {experiment} --tail 2 --json | 
0 | experiment wait {experiment} | 
0 | experiment list-trials {experiment} | COMPLETED
0 | experiment list-trials {experiment} --csv | COMPLETED
0 | experiment list-checkpoints {experiment} | {checkpoint}
0 | experiment list-checkpoints {experiment} --best 1 | {checkpoint}
0 | experiment list-checkpoints {experiment} --csv | {checkpoint}
0 | experiment download {experiment} --top-n 1 -o downloaded | {checkpoint}
0 | experiment download-model-def {experiment} --output-dir . | 
0 | experiment label add {experiment} red | 
0 | experiment label remove {experiment} red | 
0 | experiment set name {experiment} renamed | 
0 | experiment set description {experiment} words | 
0 | experiment set gc-policy {experiment} --save-experiment-best 1 --save-trial-best 1 --save-trial-latest 2 --yes | 
0 | experiment set log-retention {experiment} --days 10 | 
0 | experiment set log-retention {experiment} --forever | 
0 | experiment set max-slots {paused} 1 | 
0 | experiment set priority {paused} 30 | 
0 | experiment set weight {paused} 2 | 
0 | experiment move {experiment} group second | 
0 | experiment archive {experiment} | 
0 | experiment unarchive {experiment} | 
0 | experiment activate {paused} | 
0 | experiment pause {paused} | 
0 | experiment activate {paused} | 
0 | experiment kill {paused} | 
1 | experiment wait {paused} | 
0 | experiment continue {paused} --config entrypoint="echo again" --config hyperparameters.lr=2 | 
0 | experiment wait {paused} | 
0 | experiment cancel {paused} | 
0 | experiment kill {paused} | 
0 | experiment delete {paused} --yes | 
1 | experiment describe 9999 | not found
1 | experiment logs 9999 | not found
2 | experiment describe | 
# trial
0 | trial describe {trial} | 
0 | trial describe {trial} --metrics | 
0 | trial describe {trial} --metrics-summary | 
0 | trial describe {trial} --json | "state"
0 | trial logs {trial} | trained
0 | trial logs {trial} -f --level INFO | trained
0 | trial logs {trial} --head 1 --json | 
0 | trial logs {trial} --rank-id 0 --source agent --stdtype stdout | 
0 | trial logs {trial} --timestamp-after 2020-01-01T00:00:00Z | trained
0 | trial download {trial} --latest -o latest | batchMetrics
0 | trial download {trial} --best -q -o best | best
0 | trial set log-retention {trial} --days 10 | 
0 | trial support-bundle {trial} -o . | 
0 | trial kill {trial} | 
1 | trial describe 9999 | not found
# checkpoint
0 | checkpoint describe {checkpoint} | {checkpoint}
0 | checkpoint download {checkpoint} -o direct --mode direct | {checkpoint}
0 | checkpoint download {checkpoint} -o master --mode master | {checkpoint}
0 | checkpoint download {checkpoint} -o auto | {checkpoint}
1 | checkpoint describe 00000000-0000-0000-0000-000000000001 | not found
# model
0 | model create net --description d | net
0 | model list | net
0 | model list --json | "net"
0 | model describe net | net
0 | model register-version net {checkpoint} | {checkpoint}
0 | model list-versions net | {checkpoint}
0 | model describe net --version 1 | net
0 | model move net -w group | 
1 | model describe absent | not found
0 | model delete net | 
# checkpoints' ends
0 | checkpoint rm {checkpoint} --glob **/*state* --yes | 
0 | checkpoint delete {checkpoint} --yes | 
# cluster
0 | agent list | agent-0
0 | agent list --json | "agent-0"
0 | agent list --csv | agent-0
0 | agent disable agent-0 | agent-0
0 | agent enable agent-0 | agent-0
0 | agent disable agent-0 --drain --json | agent-0
0 | agent enable --all | 
0 | slot list | agent-0
0 | slot list --json | "agent-0"
0 | slot disable agent-0 0 | 
0 | slot enable agent-0 0 | 
0 | job list | 
0 | job list --yaml | 
0 | task list | 
0 | task list --json | 
0 | master info | cluster
0 | master info --json | "clusterId"
0 | master config show | port
0 | master config show --json | 
0 | master config set --log.level=DEBUG | 
0 | master config set --log.level=INFO --log.color=off | 
0 | master logs --tail 1 | 
0 | master cluster-message set -m Maintenance | 
0 | master cluster-message get | Maintenance
0 | master cluster-message clear | 
0 | resources raw 2024-01-01T00:00:00Z 2030-01-01T00:00:00Z | 
0 | resources allocations 2024-01-01T00:00:00Z 2030-01-01T00:00:00Z | 
0 | resources aggregated 2024-01-01 2024-01-02 | 
0 | resources aggregated --monthly 2024-01 2024-02 | 
0 | resource-pool bindings list-workspaces default | 
1 | resource-pool bindings add default group | cannot be bound
0 | config-policies set experiment policies.yaml | 
0 | config-policies describe experiment | constraints
0 | config-policies delete experiment | 
0 | config-policies set experiment -w group policies.yaml | 
0 | config-policies describe experiment -w group | constraints
0 | config-policies delete experiment -w group | 
0 | rbac my-permissions | 
0 | rbac list-roles | ClusterAdmin
0 | rbac describe-role Viewer | Viewer
0 | rbac assign-role Viewer -w group -u beth | 
0 | rbac list-users-roles beth | Viewer
0 | rbac unassign-role Viewer -w group -u beth | 
# groups
0 | user-group create crew --add-user beth | crew
0 | user-group list | crew
0 | user-group list --groups-user-belongs-to beth | crew
0 | user-group describe crew | beth
0 | user-group describe crew --json | "beth"
0 | user-group add-user crew determined | 
0 | user-group remove-user crew determined | 
0 | user-group change-name crew team2 | 
0 | rbac assign-role Viewer -w group -g team2 | 
0 | rbac list-groups-roles team2 | Viewer
0 | workspace list-members group | team2
0 | workspace list-members group --json | team2
0 | rbac unassign-role Viewer -w group -g team2 | 
0 | rbac list-roles --exclude-global-roles | Editor
0 | user-group delete team2 --yes | 
1 | user-group describe absent | could not find
# development
0 | dev curl /api/v1/agents | agent-0
0 | dev bindings call get_GetAgents | agent-0
0 | dev bindings list | get_GetAgents
0 | dev auth-token | 
0 | version | 0.38.1
# ends
0 | template remove tpl | 
0 | experiment delete {experiment} --yes | 
0 | project delete group second --yes | 
0 | workspace delete group --yes | 
1 | template describe tpl | not found
0 | user logout | 
"""


def read_commands():
    """Returns (exit code, words of the command, words of its output) of each line."""
    for line in COMMANDS.strip().splitlines():
        if not line.startswith("#"):
            code, words, expected = (part.strip() for part in line.split("|", 2))
            yield int(code), shlex.split(words), expected


@unittest.skipUnless(os.geteuid() == 0, "a private mount for each task needs root")
class CommandLineTest(harness.ClusterTestCase):
    agents, slots = 1, 2

    def setUp(self):
        self.det = existing_client.CommandLine(self.home)
        existing_client.create_administrator(self.home, USER, PASSWORD)
        code, out, err = self.det("user", "login", USER, stdin=PASSWORD + "\n")
        self.assertEqual(0, code, out + err)
        config = harness.job(name="existing", entrypoint="python3 train.py",
                             hyperparameters={"lr": 1},
                             checkpoint_storage={"type": "shared_fs", "save_trial_latest": 2,
                                                 "host_path": self.home.folder + "/checkpoints"})
        self.home.write("config.yaml", config)
        self.home.write("broken.yaml", {**config, "searcher": {"name": "none"}})
        self.home.write("template.yaml", {"max_restarts": 0})
        self.home.write("policies.yaml", {"constraints": {"resources": {"max_slots": 8}}})
        self.home.write("context/train.py", TRAIN)

    def prepare(self):
        """Runs an experiment; returns the values that commands refer to."""
        experiment = self.home.create(json.load(open(self.home.folder + "/config.yaml")),
                                      self.home.folder + "/context")
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        trial = self.home.first_trial(experiment)
        saved = self.home.json("experiment", "list-checkpoints", experiment)["checkpoints"]
        best = max((c for c in saved if c["state"] == "STATE_COMPLETED"),
                   key=lambda c: int(c["metadata"]["steps_completed"]))
        return {"password": PASSWORD, "experiment": str(experiment), "trial": str(trial["id"]),
                "task": trial["taskId"], "checkpoint": best["uuid"]}

    def test_runs_supported_commands(self):
        values = self.prepare()
        failures = []
        for code, words, expected in read_commands():
            filled = [word.format(**values) for word in words]
            got, out, err = self.det(*filled)
            if words[:2] == ["experiment", "create"] and "--paused" in words:
                values["paused"] = re.search(r"experiment (\d+)", out)[1]
            wanted = [part.format(**values) for part in expected.split("|")]
            if got != code or not any(part in out + err for part in wanted):
                told = err if got else out
                failures.append(f"det {' '.join(filled)}: exit code {got}, not {code}, {wanted}:\n"
                                f"{told[-300:]}")
        if failures:
            self.fail(f"{len(failures)} commands failed:\n\n" + "\n".join(failures))


if __name__ == "__main__":
    harness.main()
