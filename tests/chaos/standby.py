"""A leader and a standby with an external PostgreSQL, to which each connects through a proxy."""

import pathlib
import sys

from cluster import Cluster
from proxy import CuttingProxy

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from harness import eventually, free_port  # noqa: E402
from postgres import Postgres  # noqa: E402

MASTERS = ("master-a", "master-b")


class StandbyCluster(Cluster):
    def prepare(self) -> None:
        self.data.mkdir(exist_ok=True)
        self._ports = dict(zip(MASTERS, (self.port, free_port()), strict=True))
        self._database = Postgres(str(self.folder))
        self._database.start()
        socket = str(pathlib.Path(self._database.folder) / ".s.PGSQL.5432")
        self.database_proxies = {name: CuttingProxy(socket) for name in MASTERS}

    def ports(self) -> list[int]:
        return list(self._ports.values())

    def token_dir(self) -> pathlib.Path:
        return self.folder / MASTERS[0]

    def start_master(self) -> None:
        """Starts each master that is not running. The first one leads; later ones become standbys."""
        for name in MASTERS:
            if name in self._daemons and self.is_running(name):
                continue
            database = f"postgresql://resolute@127.0.0.1:{self.database_proxies[name].port}"
            self._start(
                name,
                [str(self.root / "master/resolute-master"), "--config", "/dev/null", "--standby",
                 "--data-dir", str(self.folder / name), "--port", str(self._ports[name]),
                 "--db-url", f"{database}/postgres",
                 "--checkpoint-dir", str(self.folder / "checkpoints")],
            )  # fmt: skip
            eventually(self.leader, "a leader")

    def leader(self) -> str | None:
        """The master that accepts connections; only the leader does."""
        for name, port in self._ports.items():
            if name in self._daemons and self.is_running(name) and self.responds(port):
                return name
        return None

    def is_leader(self, name: str) -> bool:
        return self.responds(self._ports[name])

    def stop_database(self) -> None:
        self._database.stop("immediate")

    def continue_database(self) -> None:
        self._database.start()

    def close(self, keep: bool = False) -> None:
        super().close(keep)  # Also kills the database.
        for proxy in self.database_proxies.values():
            proxy.close()
