"""ManageMemory: remembers a fact, preference, insight or task for later conversations.

Memories live in the RAPP memory file, shared or per user, so other hosts and agents can read them. Recalling
them is the work of ContextMemory.
"""

import uuid
from datetime import datetime

from agents.basic_agent import BasicAgent
from utils.storage_factory import get_storage_manager

__manifest__ = {
    "schema": "rapp-agent/1.0",
    "name": "@roost/manage_memory",
    "version": "1.0.0",
    "display_name": "ManageMemory",
    "description": "Remembers facts, preferences, insights and tasks, shared or per user.",
    "author": "Roost",
    "tags": ["core", "memory"],
    "category": "core",
    "quality_tier": "community",
    "requires_env": [],
    "dependencies": ["@rapp/basic_agent"],
    "example_call": {"memory_type": "preference", "content": "Prefers short answers."},
}


class ManageMemoryAgent(BasicAgent):
    """Stores one memory per call."""

    def __init__(self):
        self.name = "ManageMemory"
        self.metadata = {
            "name": self.name,
            "description": "Stores something worth remembering in later conversations. Use it when the user states a "
            "fact, a preference or a task, or asks you to remember something.",
            "parameters": {
                "type": "object",
                "properties": {
                    "memory_type": {
                        "type": "string",
                        "enum": ["fact", "preference", "insight", "task"],
                        "description": "What kind of memory this is.",
                    },
                    "content": {"type": "string", "description": "What to remember, as one complete sentence."},
                    "importance": {"type": "integer", "minimum": 1, "maximum": 5, "description": "1 (low) to 5 (high)."},
                    "tags": {"type": "array", "items": {"type": "string"}, "description": "Words to group memories by."},
                    "user_guid": {"type": "string", "description": "Whose memory it is; left out for shared memory."},
                },
                "required": ["memory_type", "content"],
            },
        }
        super().__init__(name=self.name, metadata=self.metadata)

    def perform(self, **kwargs):
        """Store `content`; the answer says where it went."""
        content = str(kwargs.get("content") or "").strip()
        if not content:
            return "Error: there is no content to remember. Say in one sentence what should be remembered."
        memory_type = str(kwargs.get("memory_type") or "fact")
        storage = get_storage_manager()
        guid_is_valid = storage.set_memory_context(kwargs.get("user_guid"))
        memories = storage.read_json()
        if not isinstance(memories, dict):
            return "Error: the memory file does not hold an object, so nothing was stored. Move that file away first."
        memories[str(uuid.uuid4())] = _record(content, memory_type, storage.current_guid)
        # Merged by the storage with what others stored since the read, so simultaneous calls lose nothing.
        storage.write_json(memories)
        place = f"for user {storage.current_guid}" if storage.current_guid else "in shared memory"
        note = "" if guid_is_valid else " The user_guid is not valid and was not used."
        return f'Stored this {memory_type} {place}: "{content}".{note}'


def _record(content, memory_type, guid):
    """A memory in the form all RAPP hosts share. Importance and tags have no place in it."""
    now = datetime.now()
    return {
        "conversation_id": guid or "current",
        "session_id": "current",
        "message": content,
        "mood": "neutral",
        "theme": memory_type,
        "date": now.strftime("%Y-%m-%d"),
        "time": now.strftime("%H:%M:%S"),
    }
