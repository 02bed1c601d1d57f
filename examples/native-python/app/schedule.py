"""Schedules, kept in the data folder. Their time is not looked at: they fire when they are triggered.

Reading an expression with six fields is another library's work; what is shown here is the contract.
"""

import json
import os
import threading
import time
import uuid

from app.common import Mailbox, Part
from proto.apps.v0 import schedule_pb2, schedule_pb2_grpc

HISTORY_MAX = 100


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Scheduler(Part, schedule_pb2_grpc.ScheduleServiceServicer):
    def __init__(self):
        self.file = os.path.join(os.environ["NEBO_APP_DATA"], "schedules.json")
        self.fired = Mailbox()
        self.changing = threading.Lock()
        try:
            with open(self.file, encoding="utf-8") as file:
                kept = json.load(file)
        except FileNotFoundError:
            kept = {"schedules": {}, "history": []}
        self.schedules, self.history = kept["schedules"], kept["history"]

    def keep(self):
        with open(self.file + ".new", "w", encoding="utf-8") as file:
            json.dump({"schedules": self.schedules, "history": self.history}, file)
        os.rename(self.file + ".new", self.file)

    def changed(self, name, change):
        """One schedule after a change, or that there is none."""
        with self.changing:
            schedule = self.schedules.get(name)
            if schedule is None:
                return schedule_pb2.ScheduleResponse(error=f"there is no schedule {name}")
            change(schedule)
            self.keep()
            return schedule_pb2.ScheduleResponse(schedule=schedule_pb2.Schedule(**schedule))

    def Create(self, request, context):
        with self.changing:
            if not request.name or request.name in self.schedules:
                return schedule_pb2.ScheduleResponse(error=f"{request.name!r} is no name, or taken")
        schedule = {**fields(request), "id": str(uuid.uuid4()), "enabled": True, "created_at": now(), "run_count": 0}
        with self.changing:
            self.schedules[request.name] = schedule
        return self.changed(request.name, lambda schedule: None)

    def Get(self, request, context):
        return self.changed(request.name, lambda schedule: None)

    def List(self, request, context):
        with self.changing:
            found = [one for one in self.schedules.values() if one["enabled"] or not request.enabled_only]
        page = found[request.offset :][: request.limit or len(found)]
        schedules = [schedule_pb2.Schedule(**one) for one in page]
        return schedule_pb2.ListSchedulesResponse(schedules=schedules, total=len(found))

    def Update(self, request, context):
        return self.changed(request.name, lambda schedule: schedule.update(fields(request)))

    def Enable(self, request, context):
        return self.changed(request.name, lambda schedule: schedule.update(enabled=True))

    def Disable(self, request, context):
        return self.changed(request.name, lambda schedule: schedule.update(enabled=False))

    def Delete(self, request, context):
        with self.changing:
            is_known = self.schedules.pop(request.name, None) is not None
            self.keep()
        error = "" if is_known else f"there is no schedule {request.name}"
        return schedule_pb2.DeleteScheduleResponse(success=is_known, error=error)

    def Trigger(self, request, context):
        at = now()

        def fire(schedule):
            schedule.update(last_run=at, run_count=schedule["run_count"] + 1)
            entry = {"id": str(uuid.uuid4()), "schedule_name": request.name, "started_at": at, "finished_at": at, "success": True}
            self.history = self.history[-HISTORY_MAX + 1 :] + [entry]
            sent = {key: schedule[key] for key in ("name", "task_type", "command", "message", "deliver", "metadata")}
            self.fired.put(schedule_pb2.ScheduleTrigger(schedule_id=schedule["id"], fired_at=at, **sent))

        answer = self.changed(request.name, fire)
        return schedule_pb2.TriggerResponse(success=not answer.error, error=answer.error)

    def History(self, request, context):
        with self.changing:
            found = [one for one in reversed(self.history) if one["schedule_name"] == request.name]
        page = found[request.offset :][: request.limit or len(found)]
        entries = [schedule_pb2.ScheduleHistoryEntry(**one) for one in page]
        return schedule_pb2.ScheduleHistoryResponse(entries=entries, total=len(found))

    def Triggers(self, request, context):
        yield from self.fired.stream(context)


def fields(request):
    names = ("name", "expression", "task_type", "command", "message", "deliver")
    return {**{name: getattr(request, name) for name in names}, "metadata": dict(request.metadata)}


def add_to(server):
    schedule_pb2_grpc.add_ScheduleServiceServicer_to_server(Scheduler(), server)
