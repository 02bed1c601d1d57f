"""Messages between agents of one host: what is sent to a topic comes back to whoever subscribed to it.

What is sent to somebody else is kept in `carried.jsonl` in the data folder, and a text in the setting `incoming_agent`
arrives as a message of another agent when the host connects: there is no network of agents behind this.
"""

import json
import os
import threading
import time
import uuid

from app.common import Mailbox, Part, setting
from proto.apps.v0 import comm_pb2, comm_pb2_grpc


class Comm(Part, comm_pb2_grpc.CommServiceServicer):
    def __init__(self):
        self.inbox = Mailbox()
        self.topics = set()
        self.agent = ""
        self.is_connected = False
        self.changing = threading.Lock()

    def Name(self, request, context):
        return comm_pb2.CommNameResponse(name="loop")

    def Version(self, request, context):
        return comm_pb2.CommVersionResponse(version="1.0.0")

    def Connect(self, request, context):
        self.is_connected = True
        text = request.config.get("incoming_agent") or setting("incoming_agent", "")
        if text:
            self.inbox.put(incoming(text))
        return comm_pb2.CommConnectResponse()

    def Disconnect(self, request, context):
        self.is_connected = False
        return comm_pb2.CommDisconnectResponse()

    def IsConnected(self, request, context):
        return comm_pb2.CommIsConnectedResponse(connected=self.is_connected)

    def Subscribe(self, request, context):
        with self.changing:
            self.topics.add(request.topic)
        return comm_pb2.CommSubscribeResponse()

    def Unsubscribe(self, request, context):
        with self.changing:
            self.topics.discard(request.topic)
        return comm_pb2.CommUnsubscribeResponse()

    def Register(self, request, context):
        self.agent = request.agent_id
        return comm_pb2.CommRegisterResponse()

    def Deregister(self, request, context):
        self.agent = ""
        return comm_pb2.CommDeregisterResponse()

    def Send(self, request, context):
        if not self.is_connected:
            return comm_pb2.CommSendResponse(error="not connected")
        message = request.message
        with self.changing:
            is_wanted = message.topic in self.topics or (self.agent and message.to == self.agent)
        if is_wanted:
            self.inbox.put(message)
        else:
            line = {"to": message.to, "content": message.content, "reply_to": message.metadata.get("reply_to", "")}
            with open(os.path.join(os.environ["NEBO_APP_DATA"], "carried.jsonl"), "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return comm_pb2.CommSendResponse()

    def Receive(self, request, context):
        yield from self.inbox.stream(context)


def incoming(text):
    # `from` is a word of Python.
    sender = {"from": "somebody"}
    return comm_pb2.CommMessage(id=str(uuid.uuid4()), type="message", content=text, timestamp=int(time.time()), **sender)


def add_to(server):
    comm_pb2_grpc.add_CommServiceServicer_to_server(Comm(), server)
