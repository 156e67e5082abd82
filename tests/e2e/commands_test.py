#!/usr/bin/env -S python3 -B
"""Tests commands: run, follow, context, list, kill, restarts of master and agent."""
import json
import os
import re
import signal

import harness

LAUNCHED = re.compile(r"Launched command \(id: (\S+), name: (.+)\)\.")


class CommandTest(harness.ClusterTestCase):
    def run_detached(self, *words):
        return self.home.det("command", "run", "--detach", *words).stdout.strip()

    def command(self, command):
        return self.home.json("command", "describe", command)["command"]

    def log(self, command):
        return self.home.det("command", "logs", command).stdout

    def await_log(self, command, word):
        harness.eventually(lambda: word in self.log(command), f"{word} in the log")

    def await_end(self, command):
        def poll():
            described = self.command(command)
            return described if described["state"] == "STATE_TERMINATED" else None
        return harness.eventually(poll, "the end of the command")

    def test_run_follows_the_log_and_exits_as_the_command(self):
        good = self.home.det("command", "run", "echo one; echo two >&2")
        self.assertRegex(good.stdout + good.stderr, LAUNCHED)
        self.assertIn("one", good.stdout)
        self.assertIn("two", good.stdout)
        self.assertIn("resources exited successfully with a zero exit code", good.stdout)
        bad = self.home.det("command", "run", "exit 7", code=1)
        self.assertRegex(bad.stdout, "resources failed with non-zero exit code: .*7")

    def test_one_word_is_run_by_a_shell_and_several_are_not(self):
        self.assertIn("a b", self.home.det("command", "run", "echo a   b").stdout)
        self.assertIn("$HOME", self.home.det("command", "run", "echo", "$HOME").stdout)
        self.assertIn("-n x", self.home.det("command", "run", "printf", "%s %s", "-n", "x").stdout)

    def test_command_has_context_environment_and_the_owners_token(self):
        context = self.home.context({"sub/hello.txt": "hello", ".detignore": "secret\n",
                                     "secret": "x"})
        os.symlink("sub/hello.txt", os.path.join(context, "link"))
        run = self.home.det(
            "command", "run", "--context", context, "--config",
            "environment.environment_variables=[A=B]", "--config", "resources.slots=0",
            "cat link; ls; echo a=$A type=$DET_TASK_TYPE slots=$DET_SLOT_IDS; det user whoami")
        self.assertIn("hello", run.stdout)
        self.assertNotIn("secret", run.stdout)
        self.assertIn("a=B type=COMMAND slots=[]", run.stdout)
        self.assertRegex(run.stdout, r"user +admin")

    def test_startup_hook_sets_variables_of_the_command(self):
        context = self.home.context({"startup-hook.sh": "export FROM_HOOK=yes\n"})
        run = self.home.det("command", "run", "-c", context, "echo hook=$FROM_HOOK")
        self.assertIn("hook=yes", run.stdout)
        context = self.home.context({"startup-hook.sh": "false\n"})
        run = self.home.det("command", "run", "-c", context, "echo not reached", code=1)
        self.assertNotRegex(run.stdout, r"(?m)^.*\bnot reached$")

    def test_lists_describes_and_kills(self):
        command = self.run_detached("echo begun; sleep 600")
        self.await_log(command, "begun")
        listed = self.home.json("command", "list")["commands"]
        self.assertIn(command, [c["id"] for c in listed])
        described = self.command(command[:8])
        self.assertEqual("STATE_RUNNING", described["state"])
        self.assertIn(command, self.home.det("job", "list").stdout + json.dumps(
            self.home.json("job", "list")))
        self.assertIn("entrypoint", self.home.det("command", "config", command).stdout)
        self.home.det("command", "kill", command)
        ended = self.await_end(command)
        self.assertNotEqual("", ended["exitStatus"])
        self.assertEqual([], [p for p in harness.processes_below(self.home.data)
                              if "sleep 600" in p[1]])
        self.home.det("command", "kill", command)

    def test_ctrl_c_leaves_the_command_running(self):
        with self.home.popen("command", "run", "echo begun; sleep 600") as follow:
            for line in follow.stdout:
                if "begun" in line:
                    break
            follow.send_signal(signal.SIGINT)
            _, err = follow.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(3, follow.returncode)
        self.assertIn("still running", err)
        running = [c["id"] for c in self.home.json("command", "list")["commands"]
                   if c["state"] == "STATE_RUNNING"]
        for command in running:
            self.home.det("command", "kill", command)
            self.await_end(command)

    def test_waits_for_slots_and_says_why(self):
        first = self.run_detached("--config", "resources.slots=2", "sleep 600")
        harness.eventually(lambda: self.command(first)["state"] == "STATE_RUNNING", "its start")
        second = self.run_detached("--config", "resources.slots=2", "echo second")
        self.assertEqual("STATE_QUEUED", self.command(second)["state"])
        self.home.det("command", "kill", first)
        self.await_end(second)
        self.assertIn("second", self.log(second))

    def test_bad_input_is_refused_in_one_sentence(self):
        for words, reason in [
            (("--config", "resources.slots=10485", "true"), "request unfulfillable"),
            (("--config", "resources.slotz=1", "true"), "slotz"),
            (("--template", "absent", "true"), "template 'absent' not found"),
            (("-w", "absent", "true"), "absent"),
        ]:
            refused = self.home.det("command", "run", *words, code=1)
            self.assertIn(reason, refused.stderr)
            self.assertNotIn("Launched", refused.stdout)
        self.assertIn("absent", self.home.det("command", "describe", "absent", code=1).stderr)


class CommandRecoveryTest(harness.ClusterTestCase):
    agents, slots = 1, 1

    def state(self, command):
        return self.home.json("command", "describe", command)["command"]["state"]

    def test_running_and_waiting_commands_survive_killed_master_and_agent(self):
        script = "echo begun; while [ ! -e $FLAG ]; do sleep 0.1; done; echo ended"
        flag = os.path.join(self.home.folder, "flag")
        running = self.home.det("command", "run", "--detach", "--config",
                                f"environment.environment_variables=[FLAG={flag}]",
                                script).stdout.strip()
        waiting = self.home.det("command", "run", "--detach", "echo waited").stdout.strip()
        log = lambda command: self.home.det("command", "logs", command).stdout
        harness.eventually(lambda: "begun" in log(running), "its begin")
        for name in ("master", "agent-0"):
            self.home.kill(name)
            self.home.up(self.agents, self.slots)
            self.assertEqual("STATE_RUNNING", self.state(running))
            self.assertEqual("STATE_QUEUED", self.state(waiting))
        self.home.write("flag", "")
        harness.eventually(lambda: self.state(waiting) == "STATE_TERMINATED", "the end of both")
        self.assertEqual(1, log(running).count("begun"))
        self.assertEqual(1, log(running).count("ended"))
        self.assertEqual(1, log(waiting).count("waited"))


if __name__ == "__main__":
    harness.main()
