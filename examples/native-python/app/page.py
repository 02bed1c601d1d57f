"""What the app's page asks: counting, over HTTP."""

import json

from app.common import Part
from proto.apps.v0 import ui_pb2, ui_pb2_grpc


class Page(Part, ui_pb2_grpc.UIServiceServicer):
    def HandleRequest(self, request, context):
        if (request.method, request.path) == ("POST", "/count"):
            count = len(request.body.decode(errors="replace").split())
            return answer(200, {"words": count})
        if (request.method, request.path) == ("GET", "/"):
            return answer(200, {"ask": "POST /count with a text"})
        return answer(404, {"error": "there is nothing here"})


def answer(status, value):
    headers = {"content-type": "application/json"}
    return ui_pb2.HttpResponse(status_code=status, headers=headers, body=json.dumps(value).encode())


def add_to(server):
    ui_pb2_grpc.add_UIServiceServicer_to_server(Page(), server)
