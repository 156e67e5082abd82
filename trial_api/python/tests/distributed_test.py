import os
import socket
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from det._ports import free_ports
from det.core import DistributedContext, _star


def run_ranks(body, size, per_node=None):
    """Runs body(context) on a thread for each rank; returns the results in the order of ranks."""
    (port,), per_node = free_ports(1), per_node or size

    def run(rank):
        context = DistributedContext(
            rank=rank,
            size=size,
            local_rank=rank % per_node,
            local_size=per_node,
            cross_rank=rank // per_node,
            cross_size=size // per_node,
            port=port,
        )
        try:
            return body(context)
        finally:
            context.close()

    with mock.patch.dict(os.environ, DET_RANK_KEY="key"), ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))


class DistributedTest(unittest.TestCase):
    def test_ranks_exchange_objects(self):
        def body(context):
            return (
                context.gather({"rank": context.rank}),
                context.allgather(context.rank),
                context.broadcast(f"of {context.rank}"),
            )

        results = run_ranks(body, 3)
        gathered = [{"rank": 0}, {"rank": 1}, {"rank": 2}]
        self.assertEqual([gathered, None, None], [result[0] for result in results])
        self.assertEqual([[0, 1, 2]] * 3, [result[1] for result in results])
        self.assertEqual(["of 0"] * 3, [result[2] for result in results])

    def test_local_calls_stay_within_a_node(self):
        def body(context):
            return (
                context.gather_local(context.rank),
                context.allgather_local(context.rank),
                context.broadcast_local(context.rank),
            )

        self.assertEqual(
            [([0, 1], [0, 1], 0), (None, [0, 1], 0), ([2, 3], [2, 3], 2), (None, [2, 3], 2)],
            run_ranks(body, 4, per_node=2),
        )

    def test_fork_works_on_another_thread(self):
        def body(context):
            fork = context.fork()
            with ThreadPoolExecutor(1) as pool:
                beside = pool.submit(lambda: [fork.allgather(i) for i in range(50)])
                mine = [context.allgather(("mine", i)) for i in range(50)]
            fork.close()
            return mine, beside.result()

        for mine, beside in run_ranks(body, 2):
            self.assertEqual([[("mine", i)] * 2 for i in range(50)], mine)
            self.assertEqual([[i, i] for i in range(50)], beside)

    def test_error_names_the_lost_rank(self):
        def body(context):
            if context.rank == 1:
                return None
            with self.assertRaisesRegex(ConnectionError, "rank 1 was lost"):
                context.gather(0)
            return "told"

        self.assertEqual(["told", None], run_ranks(body, 2))

    def test_rejects_clients_without_the_secret(self):
        chief = _star.Chief("127.0.0.1", 0)
        with ThreadPoolExecutor(1) as pool:
            peers = pool.submit(chief.accept, 2, b"key", 30.0)
            with self.assertRaisesRegex(ConnectionError, "secret"):
                _star.join(("127.0.0.1", chief.port), 1, b"guess", 30.0)
            with socket.create_connection(("127.0.0.1", chief.port)) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n" * 10)
            mine = _star.join(("127.0.0.1", chief.port), 1, b"key", 30.0)
            mine.send(_star.pack("hello"))
            self.assertEqual("hello", _star.unpack(peers.result()[0].receive()))
        mine.close()
        peers.result()[0].close()
        chief.close()

    def test_joins_the_next_context_when_one_is_closing(self):
        old = _star.Chief("127.0.0.1", 0)
        port, met = old.port, threading.Event()

        def connect(address, timeout):
            connection = connected(address, timeout=timeout)
            met.set()
            return connection

        connected = socket.create_connection
        with (
            mock.patch.object(_star.socket, "create_connection", connect),
            ThreadPoolExecutor(1) as pool,
        ):
            joined = pool.submit(_star.join, ("127.0.0.1", port), 1, b"key", 30.0)
            met.wait()
            old.close()  # The listener closes while that connection is in its queue.
            chief = _star.Chief("127.0.0.1", port)
            (peer,) = chief.accept(2, b"key", 30.0)
            mine = joined.result()
        for one in (peer, mine, chief):
            one.close()

    def test_error_names_the_missing_ranks(self):
        chief = _star.Chief("127.0.0.1", 0)
        with self.assertRaisesRegex(ConnectionError, r"ranks \[1, 2\] did not connect"):
            chief.accept(3, b"key", 0.01)
        chief.close()

    def test_secret_of_the_user_is_created_once(self):
        import tempfile

        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, HOME=home):
            for name in ("DET_RANK_KEY", "DET_SESSION_TOKEN"):
                os.environ.pop(name, None)
            with ThreadPoolExecutor(4) as pool:
                secrets = set(pool.map(lambda _: _star.get_secret(), range(8)))
            self.assertEqual(1, len(secrets))
            path = os.path.join(home, ".cache", "resolute", "rank_key")
            self.assertEqual(0o600, os.stat(path).st_mode & 0o777)

    def test_reads_environments_of_launchers(self):
        torch = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        with mock.patch.dict(os.environ, torch):
            self.assertEqual(1, DistributedContext.from_torch_distributed().size)
            self.assertEqual(1, DistributedContext.from_deepspeed().size)
        horovod = {
            f"HOROVOD_{name}": value
            for name, value in {
                "RANK": "0",
                "SIZE": "1",
                "LOCAL_RANK": "0",
                "LOCAL_SIZE": "1",
                "CROSS_RANK": "0",
                "CROSS_SIZE": "1",
            }.items()
        }
        with mock.patch.dict(os.environ, horovod):
            self.assertEqual(0, DistributedContext.from_horovod().rank)
        with mock.patch.dict(os.environ, TF_CONFIG=""):
            self.assertEqual(1, DistributedContext.from_tf_config().size)
        with self.assertRaisesRegex(ValueError, "RANK.* launcher"):
            with mock.patch.dict(os.environ):
                os.environ.pop("RANK", None)
                os.environ.update(WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
                DistributedContext.from_torch_distributed()

    def test_refuses_contradicting_numbers(self):
        with self.assertRaisesRegex(ValueError, "rank is 2"):
            DistributedContext(rank=2, size=2)
        with self.assertRaisesRegex(ValueError, "fewer than local_size"):
            DistributedContext(rank=0, size=2, local_rank=0, local_size=4)
