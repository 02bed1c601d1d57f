"""Hooks: answers of the model end with their number of words, and messages that are kept are told to the log."""

import json
import sys

from app.common import Part
from proto.apps.v0 import common_pb2, hooks_pb2, hooks_pb2_grpc

HOOKS = [("message.post_receive", "filter", 20), ("session.message_append", "action", 0)]


class Hooks(Part, hooks_pb2_grpc.HookServiceServicer):
    def ListHooks(self, request, context):
        hooks = [hooks_pb2.HookRegistration(hook=hook, type=kind, priority=priority) for hook, kind, priority in HOOKS]
        return hooks_pb2.HookList(hooks=hooks)

    def ApplyFilter(self, request, context):
        try:
            payload = json.loads(request.payload)
            text = payload["response_text"]
            payload["response_text"] = f"{text}\n({len(text.split())} words)"
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return hooks_pb2.HookResponse(error=f"no text: {error!r}")
        return hooks_pb2.HookResponse(payload=json.dumps(payload).encode())

    def DoAction(self, request, context):
        print(f"{request.hook} {request.payload.decode(errors='replace')}", file=sys.stderr, flush=True)
        return common_pb2.Empty()


def add_to(server):
    hooks_pb2_grpc.add_HookServiceServicer_to_server(Hooks(), server)
