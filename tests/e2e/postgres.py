"""An external PostgreSQL, for tests with several masters."""
import glob
import os
import shutil
import subprocess
import urllib.parse


class Postgres:
    """A server in a directory below `folder` that listens on a Unix socket there. start() starts it."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "postgres")
        self.data = os.path.join(self.folder, "data")
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.url = f"postgresql://resolute@/postgres?host={urllib.parse.quote(self.folder, safe='')}"
        os.makedirs(self.folder)
        self.as_user = {}
        if os.geteuid() == 0:  # root cannot run a server
            shutil.chown(self.folder, "postgres", "postgres")
            self.as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self._run("initdb", "-U", "resolute", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")

    def _run(self, program, *args):
        done = subprocess.run([os.path.join(self.bin, program), "-D", self.data, *args],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", cwd="/", check=False,
                              **self.as_user)
        if done.returncode:
            raise AssertionError(f"{program}: {done.stdout}")

    def start(self):
        # The output goes to the log, because a pipe would stay open as long as the server runs.
        self._run("pg_ctl", "start", "-w", "-s", "-l",
                  os.path.join(self.folder, "log"), "-o",
                  f"-k {self.folder} -c listen_addresses= -c fsync=off -c max_connections=64")

    def stop(self, mode="fast"):
        """Stops the server; `immediate` simulates a crash. No effect if it is not running."""
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            self._run("pg_ctl", "stop", "-w", "-s", "-m", mode)
