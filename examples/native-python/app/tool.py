"""The tool: counts words, and says so in the words of the settings."""

import json

from app.common import Part, setting
from proto.apps.v0 import tool_pb2, tool_pb2_grpc

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to count the words of"}},
    "required": ["text"],
}


class Tool(Part, tool_pb2_grpc.ToolServiceServicer):
    def Name(self, request, context):
        return tool_pb2.NameResponse(name="count_words")

    def Description(self, request, context):
        return tool_pb2.DescriptionResponse(description="Counts the words of a text.")

    def Schema(self, request, context):
        return tool_pb2.SchemaResponse(schema=json.dumps(SCHEMA).encode())

    def RequiresApproval(self, request, context):
        return tool_pb2.ApprovalResponse(requires_approval=False)

    def Execute(self, request, context):
        try:
            text = json.loads(request.input)["text"]
            count = len(text.split())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return tool_pb2.ExecuteResponse(content=f"no text to count: {error!r}", is_error=True)
        return tool_pb2.ExecuteResponse(content=f"{count} {setting('unit', 'words')}")


def add_to(server):
    tool_pb2_grpc.add_ToolServiceServicer_to_server(Tool(), server)
