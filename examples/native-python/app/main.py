"""Listens where the host says, with everything that the manifest offers, until it is asked to end."""

import os
import signal
import sys
import threading
from concurrent import futures

import grpc

from app import channel, comm, gateway, hooks, page, schedule, tool

# Streams stay open and hold a thread each; this leaves enough for questions.
THREADS_MAX = 16


def run():
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=THREADS_MAX))
    for part in (tool, page, hooks, gateway, channel, comm, schedule):
        part.add_to(server)
    socket = os.environ["NEBO_APP_SOCK"]
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    print(f"[{os.environ['NEBO_APP_NAME']}] listening on {socket}", file=sys.stderr, flush=True)
    ended.wait()
    server.stop(grace=1).wait()
