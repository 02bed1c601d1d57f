"""Questions to the host over a real socket, with a thread as the host."""

import json
import multiprocessing
import os
import socket
import struct
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import shim_path  # noqa: F401  (makes the shims importable)

import brainstem
import function_app
import roost_host
from utils.llm import call_llm
from utils.workspace import request_files

COMPLETION = {"id": "c1", "model": "tiny", "choices": [{"message": {"role": "assistant", "content": "hello"}}]}


def read_frame(stream):
    header = stream.read(4)
    if len(header) < 4:
        return None
    return json.loads(stream.read(struct.unpack(">I", header)[0]))


def frame(value):
    body = json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body


class HostTest(unittest.TestCase):
    def serve(self, answer):
        """Answer every question with the bytes that `answer(question)` gives; None closes the connection."""
        ours, theirs = socket.socketpair()
        # As an event loop on the other side would leave it.
        theirs.setblocking(False)
        self.asked = []

        def run():
            with ours, ours.makefile("rb") as stream:
                while (question := read_frame(stream)) is not None:
                    self.asked.append(question)
                    reply = answer(question)
                    if reply is None:
                        return
                    ours.sendall(reply)

        thread = threading.Thread(target=run)
        thread.start()
        roost_host.attach(theirs.detach(), {"file": "/agents/x_agent.py", "stem": "x_agent"}, None)

        # Cleanups run last first: the link is closed, which ends the thread, which is joined.
        self.addCleanup(thread.join, 10)
        self.addCleanup(roost_host.attach, None, None, None)

    def serve_result(self, result):
        self.serve(lambda question: frame({"id": question["id"], "result": result}))


class FileRequests(HostTest):
    def test_the_host_is_told_what_is_wanted(self):
        self.serve_result({"cancelled": True})
        self.assertEqual(request_files("Your list?", "*.csv"), {"cancelled": True})
        self.assertEqual(request_files("Anything?"), {"cancelled": True})
        self.assertEqual(
            [(asked["method"], asked["params"]["patterns"]) for asked in self.asked],
            [("workspace.request_files", ["*.csv"]), ("workspace.request_files", [])],
        )


class ModelCalls(HostTest):
    def test_call_copilot_is_the_raw_completion(self):
        self.serve_result(COMPLETION)
        completion = brainstem.call_copilot([{"role": "user", "content": "hi"}], tools=[{"type": "function"}])
        self.assertEqual(completion["choices"][0]["message"]["content"], "hello")
        self.assertEqual(completion.get("id"), "c1")
        self.assertIn("choices", completion)
        self.assertIsInstance(completion, dict)
        for indent in (None, 2):
            self.assertEqual(json.loads(json.dumps(completion, indent=indent)), COMPLETION)
        self.assertEqual({**completion}, COMPLETION)
        self.assertEqual(dict(completion), COMPLETION)
        self.assertEqual(self.asked[0]["method"], "model.complete")
        self.assertEqual(
            self.asked[0]["params"],
            {"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "function"}]},
        )

    def test_call_copilot_is_a_pair_of_completion_and_model(self):
        self.serve_result(COMPLETION)
        answer = function_app.call_copilot([])
        completion, model = answer
        self.assertEqual((completion, model), (COMPLETION, "tiny"))
        self.assertEqual((answer[0], answer[1]), (COMPLETION, "tiny"))
        self.assertEqual(list(completion), list(COMPLETION))

    def test_call_llm_returns_the_text_of_the_first_choice(self):
        self.serve_result(COMPLETION)
        self.assertEqual(call_llm([{"role": "user", "content": "hi"}], model="tiny"), "hello")
        self.assertEqual(call_llm("hi"), "hello")
        self.assertEqual(self.asked[0]["params"]["model"], "tiny")
        self.assertEqual(self.asked[1]["params"], {"messages": [{"role": "user", "content": "hi"}]})

    def test_an_answer_without_a_choice_is_a_clear_error(self):
        self.serve_result({"choices": []})
        with self.assertRaisesRegex(roost_host.HostCallFailed, "no choice"):
            call_llm("hi")

    def test_the_main_module_offers_call_copilot(self):
        main = types.ModuleType("__main__")
        with mock.patch.dict(sys.modules, {"__main__": main}):
            brainstem.install_main_alias()
        self.assertIs(main.call_copilot, function_app.call_copilot)

    def test_decorators_of_the_function_app_leave_functions_alone(self):
        @function_app.app.route(route="x", methods=["POST"])
        @function_app.app.function_name("x")
        @function_app.app.timer_trigger
        def function():
            return 1

        self.assertEqual(function(), 1)


class Errors(HostTest):
    def test_an_error_of_the_host_is_raised_with_reason_and_next_step(self):
        error = {"reason": "model_unavailable", "message": "no model is set up", "next": "set one up"}
        self.serve(lambda question: frame({"id": question["id"], "error": error}))
        with self.assertRaises(roost_host.HostCallFailed) as caught:
            call_llm("hi")
        self.assertEqual(caught.exception.reason, "model_unavailable")
        self.assertEqual(str(caught.exception), "model.complete: no model is set up; next: set one up")

    def test_an_error_leaves_the_connection_usable(self):
        replies = iter([{"error": {"reason": "busy", "message": "later"}}, {"result": 7}])
        self.serve(lambda question: frame({"id": question["id"], **next(replies)}))
        with self.assertRaises(roost_host.HostCallFailed):
            roost_host.call("x", {})
        self.assertEqual(roost_host.call("x", {}), 7)

    def test_without_a_host_the_reason_is_host_unreachable(self):
        roost_host.attach(None, None, None)
        with self.assertRaises(roost_host.HostCallFailed) as caught:
            roost_host.call("x", {})
        self.assertEqual(caught.exception.reason, "host_unreachable")

    def test_a_closed_connection_is_host_unreachable_now_and_later(self):
        self.serve(lambda question: None)
        for _ in range(2):
            with self.assertRaises(roost_host.HostCallFailed) as caught:
                roost_host.call("x", {})
            self.assertEqual(caught.exception.reason, "host_unreachable")

    def test_answers_outside_the_protocol_are_refused(self):
        for reply in (frame({"id": 99, "result": 1}), frame([1]), struct.pack(">I", 3) + b"{x}", b"\xff\xff\xff\xff"):
            self.serve(lambda question, reply=reply: reply)
            with self.assertRaises(roost_host.HostCallFailed) as caught:
                roost_host.call("x", {})
            self.assertEqual(caught.exception.reason, "protocol_violation")

    def test_parameters_that_are_no_json_never_reach_the_host(self):
        self.serve_result(1)
        with self.assertRaises(roost_host.HostCallFailed) as caught:
            roost_host.call("x", {"bad": object()})
        self.assertEqual(caught.exception.reason, "bad_request")
        self.assertEqual(roost_host.call("x", {}), 1)
        self.assertEqual(len(self.asked), 1)

    def test_a_child_process_is_told_to_ask_elsewhere(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(roost_host.attach, None, None, None)
        roost_host.attach(theirs.detach(), None, None)

        def ask_in_child(pipe):
            try:
                roost_host.call("x", {})
            except roost_host.HostCallFailed as error:
                pipe.send(error.reason)

        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=ask_in_child, args=(sender,))
        child.start()
        self.assertTrue(receiver.poll(30))
        self.assertEqual(receiver.recv(), "host_unreachable")
        child.join(30)


class SeveralAskers(HostTest):
    def test_threads_get_their_own_answers(self):
        self.serve(lambda question: frame({"id": question["id"], "result": question["params"]["number"]}))
        answers = {}

        def ask(number):
            for _ in range(20):
                answers.setdefault(number, set()).add(roost_host.call("echo", {"number": number}))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(answers, {number: {number} for number in range(8)})

    def test_an_interrupted_question_does_not_spoil_the_next(self):
        self.serve(lambda question: frame({"id": question["id"], "result": question["params"]}))
        roost_host.call("x", "warm-up")
        link = roost_host._link
        # Interrupted after half of the answer has arrived, as by a signal handler that raises.
        whole = link._peek

        def half(count):
            whole(2)
            raise KeyboardInterrupt

        link._peek = half
        with self.assertRaises(KeyboardInterrupt):
            roost_host.call("x", "first")
        del link._peek
        self.assertEqual(roost_host.call("x", "second"), "second")

    def test_large_answers_arrive_whole(self):
        text = "x" * 3_000_000
        self.serve_result(text)
        self.assertEqual(roost_host.call("x", {"text": text}), text)


class Identity(unittest.TestCase):
    def test_identity_and_data_folder_are_those_attached(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "deep", "data")
            roost_host.attach(None, {"file": "/a/b_agent.py", "stem": "b_agent"}, data)
            self.addCleanup(roost_host.attach, None, None, None)
            self.assertEqual(roost_host.identity(), {"file": "/a/b_agent.py", "stem": "b_agent"})
            self.assertFalse(os.path.exists(data))
            self.assertEqual(str(roost_host.data_folder()), data)
            self.assertTrue(os.path.isdir(data))

    def test_outside_a_worker_the_data_is_in_the_home_named_by_the_environment(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"ROOST_HOME": folder}):
            roost_host.attach(None, None, None)
            self.assertEqual(str(roost_host.data_folder()), os.path.join(folder, ".brainstem_data"))


if __name__ == "__main__":
    unittest.main()
