"""Sends runs that were recorded offline: `python3 -m det.sync DIRECTORY`. `det sync` calls it."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

from det._errors import CheckpointError, MasterError
from det.detached import _spool
from det.detached._sender import send_all
from det.experimental._session import Session, connect


def main(arguments: list[str] | None = None) -> int:
    """Sends all runs below a directory; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="det sync", description="Send runs that were recorded offline"
    )
    parser.add_argument(
        "directory",
        nargs="?",
        default=str(_spool.get_default_folder()),
        help="the directory of a run, or of several (default: %(default)s)",
    )
    directory = pathlib.Path(parser.parse_args(arguments).directory)
    if not directory.is_dir():
        print(f"det sync: {directory} is not a directory", file=sys.stderr)
        return 1
    return sync(directory)


def sync(directory: pathlib.Path) -> int:
    """Sends all runs below a directory; returns 1 if one cannot be sent, otherwise 0."""
    failed = False
    sessions: dict[str, Session] = {}
    for folder in _spool.find(directory.resolve()):
        try:
            _send(folder, sessions)
        except BlockingIOError:
            print(f"{folder}: its process is running; it is not sent now", flush=True)
        except FileNotFoundError:
            pass  # Its process, or another `det sync`, has just sent it.
        except (MasterError, CheckpointError, OSError, ValueError, KeyError) as error:
            print(f"det sync: {folder}: {error}", file=sys.stderr, flush=True)
            failed = True
    return 1 if failed else 0


def _send(folder: pathlib.Path, sessions: dict[str, Session]) -> None:
    spool = _spool.Spool(folder)
    try:
        spool.mark_as_sent_by_sync()
        url = os.environ.get("DET_MASTER") or str(spool.run["master"])
        if url not in sessions:
            sessions[url] = connect(url)
        count = send_all(spool, sessions[url], spool.is_last)
    except BaseException:
        spool.close()
        raise
    ids = spool.ids
    print(
        f"run {spool.run_id} rank {spool.rank}: sent {count} records; experiment {ids['experiment_id']}, "
        f"trial {ids['trial_id']}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
