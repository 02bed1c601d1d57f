"""Starts the program for measuring, and asks it over its own HTTP interface. Python 3 standard library only."""

import http.client
import json
import os
import subprocess
import time


class Server:
    """One running `roost-local-model serve`."""

    def __init__(self, program, model, *arguments):
        self.key = os.urandom(16).hex()
        began = time.monotonic()
        self.process = subprocess.Popen(
            [program, "serve", "--model", model, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"ROOST_LOCAL_MODEL_KEY": self.key},
        )
        for line in self.process.stdout:
            told = json.loads(line)
            if "error" in told:
                raise SystemExit(told["error"])
            if "port" in told:
                self.port = told["port"]
                break
        self.load_seconds = time.monotonic() - began

    def ask(self, **request):
        """One completion; the answer with `seconds` added."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1800)
        began = time.monotonic()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(request), headers)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if "error" in answer:
            raise SystemExit(answer["error"]["message"])
        answer["seconds"] = time.monotonic() - began
        return answer

    def memory_mib(self):
        """Resident memory now and at its highest, and the part of it that is not the model's file."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            fields = dict(line.split(":", 1) for line in status)
        return {name: int(fields[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM", "RssAnon")}

    def stop(self):
        """Closes standard input, which ends the program."""
        self.process.stdin.close()
        return self.process.wait(timeout=20)
