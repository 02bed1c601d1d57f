"""A model: says again what it was told, word by word, and uses a tool when it is told to.

`use TOOL {"key": "value"}` as the last message calls that tool; its result is then said again.
"""

import json
import threading

from app.common import Part
from proto.apps.v0 import gateway_pb2, gateway_pb2_grpc

MODEL = "parrot"

# Answers that are kept for those who poll.
KEPT_MAX = 100


class Gateway(Part, gateway_pb2_grpc.GatewayServiceServicer):
    def __init__(self):
        self.kept = {}
        self.cancelled = set()
        self.changing = threading.Lock()

    def Stream(self, request, context):
        said = []
        for event in events(request):
            with self.changing:
                if request.request_id in self.cancelled:
                    self.cancelled.discard(request.request_id)
                    return
                said.append(event)
                self.kept[request.request_id] = list(said)
                while len(self.kept) > KEPT_MAX:
                    self.kept.pop(next(iter(self.kept)))
            yield event

    def Poll(self, request, context):
        with self.changing:
            events = self.kept.get(request.request_id, [])
        complete = bool(events) and events[-1].type == "done"
        return gateway_pb2.PollResponse(events=events, complete=complete)

    def Cancel(self, request, context):
        with self.changing:
            is_known = request.request_id in self.kept
            if is_known:
                self.cancelled.add(request.request_id)
        return gateway_pb2.CancelResponse(cancelled=is_known)


def events(request):
    def event(kind, content=""):
        return gateway_pb2.GatewayEvent(type=kind, content=content, model=MODEL, request_id=request.request_id)

    last = request.messages[-1] if request.messages else gateway_pb2.GatewayMessage()
    words = last.content.split(maxsplit=2)
    tools = {tool.name for tool in request.tools}
    if last.role == "user" and len(words) == 3 and words[0] == "use" and words[1] in tools:
        call = {"id": "call-1", "name": words[1], "arguments": words[2]}
        yield event("tool_call", json.dumps(call))
    else:
        for number, word in enumerate(last.content.split() or ["(nothing)"]):
            yield event("text", word if number == 0 else f" {word}")
    yield event("done")


def add_to(server):
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(Gateway(), server)
