"""A channel to nowhere: what the host sends is kept in a file, and a line in another file is what somebody wrote.

`outbox.jsonl` in the data folder grows by what was sent. A text in the setting `incoming` arrives as a message when the
host connects, so that a conversation can be tried without any service elsewhere.
"""

import json
import os
import time
import uuid

from app.common import Mailbox, Part, setting
from proto.apps.v0 import channel_pb2, channel_pb2_grpc


class Channel(Part, channel_pb2_grpc.ChannelServiceServicer):
    def __init__(self):
        self.inbox = Mailbox()
        self.is_connected = False

    def ID(self, request, context):
        return channel_pb2.IDResponse(id="file")

    def Connect(self, request, context):
        self.is_connected = True
        text = request.config.get("incoming") or setting("incoming", "")
        if text:
            self.inbox.put(incoming(text))
        return channel_pb2.ChannelConnectResponse()

    def Disconnect(self, request, context):
        self.is_connected = False
        return channel_pb2.ChannelDisconnectResponse()

    def Send(self, request, context):
        if not self.is_connected:
            return channel_pb2.ChannelSendResponse(error="not connected")
        name = request.message_id or str(uuid.uuid4())
        line = {"channel_id": request.channel_id, "text": request.text, "message_id": name, "reply_to": request.reply_to}
        with open(os.path.join(os.environ["NEBO_APP_DATA"], "outbox.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return channel_pb2.ChannelSendResponse(message_id=name)

    def Receive(self, request, context):
        yield from self.inbox.stream(context)


def incoming(text):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sender = channel_pb2.MessageSender(name="Somebody", role="user")
    return channel_pb2.InboundMessage(
        channel_id="file:1", user_id="1", text=text, message_id=str(uuid.uuid4()), sender=sender, timestamp=now
    )


def add_to(server):
    channel_pb2_grpc.add_ChannelServiceServicer_to_server(Channel(), server)
