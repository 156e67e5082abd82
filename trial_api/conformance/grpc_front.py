"""A gRPC server in front of the scripted master, for trials in C++."""

import concurrent.futures
import threading

import grpc
from fake_master import SERVICE, TOKEN
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_THREADS = 32  # A waiting call occupies a thread.


class GrpcFront:
    """Translates gRPC calls to calls of the master, and its HTTP statuses to gRPC codes.

    Args:
        master: The master. If it does not respond, the call fails with UNAVAILABLE.
        descriptors: A file with the FileDescriptorSet of trial.proto.
    """

    def __init__(self, master, descriptors):
        self.master = master
        self._gathered, self._changed = {}, threading.Condition()
        self._service = _service(descriptors)
        self._threads = concurrent.futures.ThreadPoolExecutor(_THREADS)
        self._server = grpc.server(self._threads, options=[("grpc.so_reuseport", 0)])
        handlers = {method.name: self._handler(method) for method in self._service.methods}
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(self._service.full_name, handlers)]
        )
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.url = f"http://127.0.0.1:{port}"
        self._server.start()

    def close(self):
        """Cancels waiting calls."""
        self._server.stop(None).wait()
        with self._changed:
            self._changed.notify_all()
        self._threads.shutdown()

    def _handler(self, method):
        request_type, response_type = (
            message_factory.MessageFactory(self._service.file.pool).GetPrototype(kind)
            for kind in (method.input_type, method.output_type)
        )

        def to_body(request):
            return json_format.MessageToDict(request, including_default_value_fields=True)

        def to_message(answer):
            return json_format.ParseDict(answer, response_type())

        def once(request, context):
            self._check_token(context)
            if method.name == "AllGather":
                return response_type(data=self._gather(request, context))
            status, answer = self.master.answer("POST", SERVICE + method.name, to_body(request))
            if status != 200:
                _abort(context, answer)
            return to_message(answer)

        def stream(_request, context):
            self._check_token(context)
            return map(to_message, self._updates(context))

        coding = {
            "request_deserializer": request_type.FromString,
            "response_serializer": response_type.SerializeToString,
        }
        if method.name == "WatchAllocation":
            return grpc.unary_stream_rpc_method_handler(stream, **coding)
        return grpc.unary_unary_rpc_method_handler(once, **coding)

    def _check_token(self, context):
        token = dict(context.invocation_metadata()).get("authorization")
        if token != f"Bearer {TOKEN}":
            context.abort(
                grpc.StatusCode.UNAUTHENTICATED, f"not the token of this attempt: {token}"
            )

    def _updates(self, context):
        """Yields the rendezvous of the attempt immediately, and the preemption when it is requested."""
        node = {"agentId": "agent-0", "address": "127.0.0.1", "slots": self.master.slots}
        yield {"rendezvous": {"nodes": [node]}}
        changed = self.master.changed
        if not context.add_callback(lambda: _wake(changed)):
            return
        with changed:
            changed.wait_for(lambda: self.master.preempt.is_set() or not context.is_active())
        if context.is_active():
            yield {"preemption": {"reason": "requested by the scenario"}}
            with changed:
                changed.wait_for(lambda: not context.is_active())

    def _gather(self, request, context):
        context.add_callback(lambda: _wake(self._changed))
        place = (request.allocation_id, request.key)
        with self._changed:
            parts = self._gathered.setdefault(place, {})
            parts[request.rank] = request.data
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: len(parts) == request.num_peers or not context.is_active()
            )
        return [parts[rank] for rank in sorted(parts)]


def _wake(changed):
    with changed:
        changed.notify_all()


def _abort(context, answer):
    if answer is None:
        context.abort(grpc.StatusCode.UNAVAILABLE, "the master is unavailable")
    context.abort(_CODES[answer["error"]["code"]], answer["error"]["error"])


def _service(path):
    files = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as file:
        files.ParseFromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool.FindServiceByName(SERVICE.strip("/"))
