"""Shows the event files of trials with TensorBoard, the service of a TensorBoard task.

python3 -m det.tensorboard --port 8123 --base-path /proxy/ID

$DET_RUN_DIR/service.json says what to show: `sources` (see _sources.Source) and `arguments`, further
arguments of TensorBoard. The event files are brought into a temporary directory, which is kept up
to date until TensorBoard ends. TensorBoard starts as soon as there is a file, so that its port
answers only if it has something to show.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence

from det.tensorboard._sources import Following, Source, get_experiment_id, make_fetchers

_TIMEOUT = 600.0  # Seconds to wait for the first file.
_MESSAGE_PERIOD = 10.0
_RELOAD_SECONDS = 5


class _Stopped(Exception):
    """A signal has asked this process to end."""


def main(arguments: Sequence[str] | None = None, timeout: float = _TIMEOUT) -> int:
    """Runs until TensorBoard ends; returns the exit code.

    Args:
        arguments: The command line; None: this process's.
        timeout: The seconds to wait for the first file.
    """
    parser = argparse.ArgumentParser("det.tensorboard", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, required=True, help="the port on 127.0.0.1")
    parser.add_argument("--base-path", default="", help="the path before TensorBoard's own paths")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("tensorboard") is None:
        return _fail(
            f"the Python {sys.executable} has no TensorBoard: run pip install tensorboard in it, or "
            "choose a Python or an image that has it"
        )
    run_dir = os.environ.get("DET_RUN_DIR") or "."
    try:
        service = json.loads(pathlib.Path(run_dir, "service.json").read_text(encoding="utf-8"))
        sources: list[Source] = [
            {
                "storage": source["storage"],
                "prefix": source["prefix"],
                "trials": [int(trial) for trial in source.get("trials") or ()],
            }
            for source in service["sources"]
        ]
        further = [str(argument) for argument in service.get("arguments") or ()]
    except (OSError, ValueError, LookupError, TypeError) as error:
        return _fail(f"cannot read {run_dir}/service.json: {error!r}")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="event-files-", dir=run_dir))
    try:
        return _show(sources, folder, _make_command(options, folder / "files", further), timeout)
    except _Stopped:
        return 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _show(
    sources: Sequence[Source], folder: pathlib.Path, command: Sequence[str], timeout: float
) -> int:
    (folder / "files").mkdir()
    found = threading.Event()
    try:
        following = Following(make_fetchers(sources, folder / "files"), found.set)
    except ValueError as error:
        return _fail(str(error))
    try:
        if not _wait(found, timeout):
            return _fail(_describe_absence(sources, following.problem, timeout))
        print("TensorBoard contains metrics", flush=True)
        code = _run(command)
        return _fail(f"TensorBoard has ended with exit code {code}")
    finally:
        following.stop()


def _make_command(
    options: argparse.Namespace, files: pathlib.Path, further: Sequence[str]
) -> list[str]:
    """Returns TensorBoard's command line; the user's arguments replace defaults only."""
    command = [sys.executable, "-m", "tensorboard.main"]
    # Its fast loader follows neither links nor several files of a run.
    command += ["--load_fast=false", "--reload_multifile=true"]
    command += [f"--reload_interval={_RELOAD_SECONDS}", *further]
    command += [f"--logdir={files}", "--host=127.0.0.1", f"--port={options.port}"]
    return [*command, f"--path_prefix={options.base_path.rstrip('/')}"]


def _wait(found: threading.Event, timeout: float) -> bool:
    until = time.monotonic() + timeout
    while not found.wait(max(min(_MESSAGE_PERIOD, until - time.monotonic()), 0)):
        if time.monotonic() >= until:
            return False
        print("waiting for metrics", flush=True)
    return True


def _run(command: Sequence[str]) -> int:
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    with subprocess.Popen(command, env=environment) as process:
        try:
            return process.wait()
        except _Stopped:
            process.terminate()
            raise


def _describe_absence(sources: Sequence[Source], problem: str, timeout: float) -> str:
    ids = sorted({get_experiment_id(source) for source in sources}, key=lambda text: text.zfill(20))
    which = f"experiment {ids[0]} has" if len(ids) == 1 else f"experiments {', '.join(ids)} have"
    why = (
        problem
        or f"none was stored within {timeout:g} s; a trial stores them when it reports metrics"
    )
    return f"{which} no event files: {why}"


def _fail(sentence: str) -> int:
    print(f"ERROR: {sentence}", file=sys.stderr, flush=True)
    return 1


def _stop(*_: object) -> None:
    raise _Stopped


if __name__ == "__main__":
    sys.exit(main())
