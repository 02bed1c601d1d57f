"""What the worker gives an agent: the context, and who is calling; and what it makes of a service."""

import contextlib
import functools
import importlib.util
import inspect
import io
import json
import os
import sys
import tempfile
import unittest

from shim_path import TESTS

sys.path.insert(0, str(TESTS.parent))

import endpoint  # noqa: E402  (found only with the path above)
import loading  # noqa: E402
import worker  # noqa: E402
from basic_agent import BasicAgent  # noqa: E402


class Keeps(BasicAgent):
    def __init__(self, perform):
        super().__init__("Keeps")
        self.perform = perform


def ask(agent, op="perform", context="{}", **question):
    question = {"op": op, "id": 1, "agent": "A", "arguments": {}, "context": context.encode(), **question}
    return json.loads(worker.answer_to(question, {"A": loading.Entry(agent)}, 1 << 20))


def passed_through(function):
    @functools.wraps(function)
    def wrapper(*arguments, **keywords):
        return function(*arguments, **keywords)

    return wrapper


class User(unittest.TestCase):
    def test_a_perform_that_can_take_the_user_gets_it_instead_of_what_the_arguments_say(self):
        def anything(**kwargs):
            return json.dumps(kwargs)

        def by_name(x=1, user_guid="nobody"):
            return json.dumps({"x": x, "user_guid": user_guid})

        def by_keyword_only(*, x=1, user_guid):
            return json.dumps({"x": x, "user_guid": user_guid})

        for perform in (anything, by_name, by_keyword_only, passed_through(by_name)):
            for arguments in ({"x": 1}, {"x": 1, "user_guid": "somebody-else"}):
                with self.subTest(perform=perform.__name__, arguments=arguments):
                    answer = ask(Keeps(perform), arguments=dict(arguments), user_guid="ada-1")
                    self.assertEqual(json.loads(answer["output"]), {"x": 1, "user_guid": "ada-1"})

    def test_a_perform_that_cannot_take_the_user_is_called_without(self):
        def named(x=1):
            return f"x={x}"

        def by_position_only(user_guid="nobody", /, x=1):
            return f"{user_guid} x={x}"

        def anything_by_position(*user_guid):
            return f"{user_guid}"

        for perform, output in (
            (named, "x=1"),
            (by_position_only, "nobody x=1"),
            (anything_by_position, "()"),
            (passed_through(named), "x=1"),
        ):
            with self.subTest(perform.__name__):
                self.assertEqual(ask(Keeps(perform), user_guid="ada-1")["output"], output)

    def test_a_method_is_not_given_the_user_as_itself(self):
        class Odd(BasicAgent):
            def perform(user_guid, **kwargs):
                return json.dumps(kwargs)

        class Odder(BasicAgent):
            def perform(user_guid, x=1):
                return f"x={x}"

        self.assertTrue(loading.accepts_keyword(Odd("Odd").perform, "other"))
        self.assertEqual(ask(Odder("Odder"), user_guid="ada-1")["output"], "x=1")

    def test_the_quick_look_at_a_function_says_what_its_signature_says(self):
        class Shapes:
            def plain(self, k): ...
            def by_position(self, k, /): ...
            def only(self, *, k): ...
            def many(self, *k): ...
            def named(self, **k): ...
            def other(self, a, /, b, *c, d): ...
            def without_self(*arguments, k): ...
            @staticmethod
            def static(k): ...
            @classmethod
            def of_class(cls, k): ...

        for name in [name for name in vars(Shapes) if not name.startswith("__")]:
            function = getattr(Shapes(), name)
            told = inspect.signature(function).parameters.values()
            with self.subTest(name):
                by_name = any(one.name == "k" and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) for one in told)
                accepts = by_name or any(one.kind is one.VAR_KEYWORD for one in told)
                self.assertEqual(loading.accepts_keyword(function, "k"), accepts)

    def test_without_a_user_the_arguments_arrive_as_they_are(self):
        answer = ask(Keeps(lambda **kwargs: json.dumps(kwargs)), arguments={"user_guid": "somebody"})
        self.assertEqual(json.loads(answer["output"]), {"user_guid": "somebody"})

    def test_the_system_prompt_is_made_in_the_context_of_the_turn(self):
        class Prompts(BasicAgent):
            def system_context(self):
                return self.context.get("user_guid")

        agent = Prompts()
        for context, output in (('{"user_guid": "ada-1"}', "ada-1"), ("{}", ""), ('{"user_guid": "bob-2"}', "bob-2")):
            self.assertEqual(ask(agent, "system_context", context)["output"], output)

    def test_a_class_without_the_base_class_knows_the_context_in_its_system_prompt(self):
        class Plain:
            name, metadata = "Plain", {}

            def perform(self):
                return ""

            def system_context(self):
                return self.context.user_guid

        self.assertEqual(ask(Plain(), "system_context", '{"user_guid": "ada-1"}')["output"], "ada-1")


class Module(unittest.TestCase):
    def test_an_agent_file_is_a_module_like_any_other(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "some_agent.py")
            with open(file, "w") as written:
                written.write("def f():\n    return 1\n")
            spec = importlib.util.spec_from_file_location("some", file)
            imported, ours = importlib.util.module_from_spec(spec), loading.empty_module("some", file)
            for name in ("__name__", "__file__", "__package__", "__doc__"):
                self.assertEqual(getattr(ours, name), getattr(imported, name), name)
            for name in ("name", "origin", "has_location", "cached", "parent", "submodule_search_locations"):
                self.assertEqual(getattr(ours.__spec__, name), getattr(imported.__spec__, name), name)
            self.assertIs(type(ours.__loader__), type(imported.__loader__))
            loaded = loading.execute(file, b"def f():\n    return 1\n")
            self.addCleanup(sys.modules.pop, loaded.__name__, None)
            self.assertEqual(inspect.getsource(loaded.f), "def f():\n    return 1\n")


class Service(unittest.TestCase):
    def load(self, source, file="/services/notes_service.py"):
        answer, loaded = loading.load({"file": file, "kind": "service"}, source.encode())
        self.addCleanup(sys.modules.pop, loading.module_name(file), None)
        return answer, loaded

    def test_a_service_is_described_by_its_name_and_first_line(self):
        source = '"""Keeps notes.\n\nMore."""\ndef handle(method, path, body):\n    return {}, 200\n'
        for text, name in ((source, "notes"), (source + "name = 'memo'\n", "memo")):
            answer, loaded = self.load(text)
            (description,) = answer["agents"]
            self.assertEqual((description["name"], description["description"]), (name, "Keeps notes."))
            self.assertEqual(list(loaded), [name])

    def test_a_file_that_is_no_service_says_what_is_missing(self):
        for source in ("x = 1", "handle = 3"):
            answer, loaded = self.load(source)
            self.assertEqual((answer["reason"], loaded), ("no_agent", {}))
            self.assertIn("handle(method, path, body)", answer["next"])
        answer, loaded = self.load("name = 'a/b'\ndef handle(m, p, b): return {}")
        self.assertEqual((answer["failures"][0]["reason"], loaded), ("invalid_name", {}))

    def test_answers_have_one_form(self):
        for returned, status, body in (
            (({"a": 1}, 201), 201, {"json": '{"a": 1}'}),
            ([1], 200, {"json": "[1]"}),
            ((b"x", 200, {}), 200, {"base64": "eA=="}),
            (("\ud800", 200, None), 200, {"text": "?"}),
        ):
            answer = json.loads(endpoint.as_answer(returned))
            self.assertEqual(answer, {"status": status, "headers": [], "body": body})
        for wrong in (None, (), ({},), ({}, "x"), ({}, 99), ({}, 1 << 40), ({}, True), (b"", 200, {"a b": "c"}), (b"", 200, {"a": "\r\n"})):
            with self.subTest(str(wrong)), self.assertRaises(endpoint.NoAnswer):
                endpoint.as_answer(wrong)

    def test_an_error_names_the_line_of_the_file(self):
        _, loaded = self.load("def handle(method, path, body):\n    raise ValueError('no')\n")
        arguments = {"method": "GET", "path": "", "body": {}}
        question = {"op": "perform", "id": 1, "agent": "notes", "arguments": arguments, "context": b"{}"}
        with contextlib.redirect_stderr(io.StringIO()):
            answer = json.loads(worker.answer_to(question, loaded, 1 << 20))
        self.assertEqual((answer["reason"], answer["message"], answer["line"]), ("agent_raised", "no", 2))


if __name__ == "__main__":
    unittest.main()
