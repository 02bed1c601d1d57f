"""What every part answers alike: how it is, and its settings."""

import os
import threading

from proto.apps.v0 import common_pb2

# One map for the whole app: the host tells it to one of the parts.
settings = {}
changing = threading.Lock()


class Part:
    """Beside the generated class of a service."""

    def HealthCheck(self, request, context):
        name, version = os.environ["NEBO_APP_NAME"], os.environ["NEBO_APP_VERSION"]
        return common_pb2.HealthCheckResponse(healthy=True, version=version, name=name)

    def Configure(self, request, context):
        # The whole map, not a change of it.
        with changing:
            settings.clear()
            settings.update(request.values)
        return common_pb2.Empty()


def setting(key, usual):
    with changing:
        return settings.get(key, usual)


class Mailbox:
    """What waits for whoever listens. A full one forgets the oldest."""

    ROOM = 100

    def __init__(self):
        self.waiting = []
        self.changed = threading.Condition()

    def put(self, message):
        with self.changed:
            self.waiting = self.waiting[-self.ROOM + 1 :] + [message]
            self.changed.notify_all()

    def stream(self, context):
        """Everything that comes, until the one who listens is gone."""
        context.add_callback(self.wake)
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or not context.is_active())
                if not context.is_active():
                    return
                message = self.waiting.pop(0)
            yield message

    def wake(self):
        with self.changed:
            self.changed.notify_all()
