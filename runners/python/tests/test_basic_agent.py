"""The base class: construction, tool form, lazy context, and chaining through slush."""

import asyncio
import json
import subprocess
import sys
import unittest

from shim_path import SHIMS

from basic_agent import BasicAgent
from roost_context import Context

LAYERS = {"temporal": {}, "memory": [], "query": {}, "behavioral": {}, "slush": {}}


class EchoAgent(BasicAgent):
    def __init__(self):
        super().__init__("Echo", {"description": "Echoes.", "parameters": {"type": "object", "properties": {}}})

    def perform(self, **kwargs):
        self.seen = kwargs
        return json.dumps({"status": "success", "data_slush": {"mood": "calm"}})


class OneClass(unittest.TestCase):
    def test_all_three_paths_give_the_same_class_whichever_is_imported_first(self):
        paths = ["basic_agent", "agents.basic_agent", "openrappter.agents.basic_agent"]
        for first in paths:
            program = (
                "import importlib, sys\n"
                f"sys.path.insert(0, {str(SHIMS)!r})\n"
                f"found = [importlib.import_module(path).BasicAgent for path in {[first, *paths]!r}]\n"
                "import openrappter\n"
                "found.append(openrappter.BasicAgent)\n"
                "assert len(set(map(id, found))) == 1\n"
            )
            subprocess.run([sys.executable, "-B", "-c", program], check=True, timeout=30)


class Construction(unittest.TestCase):
    def test_values_set_before_the_base_constructor_are_kept(self):
        class Early(BasicAgent):
            def __init__(self):
                self.name = "Early"
                self.metadata = {"name": "Early"}
                super().__init__()

        self.assertEqual((Early().name, Early().metadata), ("Early", {"name": "Early"}))

    def test_nothing_given_means_a_stub_that_still_answers(self):
        agent = BasicAgent()
        self.assertEqual(agent.name, "BasicAgent")
        self.assertEqual(agent.metadata["name"], "BasicAgent")
        self.assertIsInstance(agent.perform(), str)
        self.assertIsNone(agent.system_context())

    def test_tool_form_takes_the_name_of_the_instance_and_fills_gaps(self):
        agent = BasicAgent("Tool", {"name": "Other"})
        self.assertEqual(
            agent.to_tool(),
            {
                "type": "function",
                "function": {"name": "Tool", "description": "", "parameters": {"type": "object", "properties": {}}},
            },
        )


class LazyContextOfAnAgent(unittest.TestCase):
    def test_without_text_every_layer_is_there_and_empty(self):
        context = EchoAgent().context
        self.assertEqual({name: context[name] for name in LAYERS}, LAYERS)
        self.assertEqual(context.temporal, {})

    def test_text_is_parsed_on_first_use_and_only_once(self):
        agent = EchoAgent()
        agent.__dict__["_context_text"] = '{"temporal": {"time_of_day": "morning"}}'
        self.assertNotIn("context", agent.__dict__)
        self.assertEqual(agent.context.temporal.time_of_day, "morning")
        self.assertIs(agent.context, agent.context)

    def test_the_next_call_sees_its_own_context(self):
        agent = EchoAgent()
        for number in (1, 2):
            agent.__dict__["_context_text"] = json.dumps({"query": {"number": number}})
            agent.__dict__.pop("context", None)
            self.assertEqual(agent.context.query.number, number)

    def test_old_and_new_layer_names_are_the_same_object(self):
        agent = EchoAgent()
        agent.__dict__["_context_text"] = json.dumps(
            {"memory_echoes": [{"message": "hi"}], "query": {"is_question": True}, "slush": {"mood": "calm"}}
        )
        context = agent.context
        self.assertIs(context.memory, context.memory_echoes)
        self.assertIs(context.query, context["query_signals"])
        self.assertIs(context.slush, context["upstream_slush"])
        self.assertEqual(context.memory[0].message, "hi")

    def test_an_agent_may_assign_a_context_of_its_own(self):
        agent = EchoAgent()
        agent.context = {"mine": 1}
        self.assertEqual(agent.context, {"mine": 1})

    def test_a_missing_key_is_an_attribute_error_that_names_it(self):
        with self.assertRaisesRegex(AttributeError, "'nothing_here'"):
            EchoAgent().context.nothing_here

    def test_a_context_is_json_and_a_dict(self):
        context = Context.from_text('{"a": {"b": 1}}')
        self.assertIsInstance(context, dict)
        self.assertEqual(json.loads(json.dumps(context))["a"], {"b": 1})
        context.a.c = {"d": 2}
        self.assertEqual(context.a.c.d, 2)

    def test_text_that_is_no_object_is_an_error(self):
        with self.assertRaises(ValueError):
            Context.from_text("[1]")


class Signals(unittest.TestCase):
    def test_a_signal_is_found_by_its_dotted_path_or_the_default_is_given(self):
        agent = EchoAgent()
        agent.__dict__["_context_text"] = '{"temporal": {"quarter": "Q1"}, "flat": 0}'
        self.assertEqual(agent.get_signal("temporal.quarter"), "Q1")
        self.assertEqual(agent.get_signal("flat", 9), 0)
        self.assertEqual(agent.get_signal("temporal.none.deeper", "default"), "default")

    def test_slush_out_names_the_agent_and_carries_the_signals(self):
        agent = EchoAgent()
        agent.__dict__["_context_text"] = '{"orientation": {"confidence": "high", "hints": []}}'
        slush = agent.slush_out(signals={"temp": 3}, city="Oslo")
        self.assertEqual(slush["source_agent"], "Echo")
        self.assertEqual(slush["signals"], {"temp": 3})
        self.assertEqual(slush["city"], "Oslo")
        self.assertEqual(slush["orientation"], {"confidence": "high"})
        json.dumps(slush)

    def test_last_data_slush_reads_text_and_dict_results(self):
        agent = EchoAgent()
        self.assertIsNone(agent.last_data_slush)
        for output, expected in (
            ('{"data_slush": {"a": 1}}', {"a": 1}),
            ({"data_slush": {"b": 2}}, {"b": 2}),
            ("plain words", None),
            ("[1]", None),
            ('{"data_slush": "text"}', None),
        ):
            agent.__dict__["_last_output"] = output
            self.assertEqual(agent.last_data_slush, expected)


class Execute(unittest.TestCase):
    def test_upstream_slush_moves_from_the_arguments_to_the_context(self):
        first, second = EchoAgent(), EchoAgent()
        first.execute(city="Oslo")
        second.execute(city="Rome", upstream_slush=first.last_data_slush)
        self.assertEqual(set(second.seen), {"city", "_context"})
        self.assertEqual(second.context.slush, {"mood": "calm"})
        self.assertEqual(second.context.upstream_slush.mood, "calm")
        self.assertIs(second.seen["_context"], second.context)

    def test_slush_of_an_earlier_call_does_not_leak_into_the_next(self):
        agent = EchoAgent()
        agent.execute(upstream_slush={"secret": 1})
        agent.execute()
        self.assertEqual(agent.context.slush, {})

    def test_an_async_perform_is_awaited_outside_and_inside_a_running_loop(self):
        class Slow(BasicAgent):
            async def perform(self, **kwargs):
                await asyncio.sleep(0)
                return {"data_slush": {"done": True}}

        async def inside():
            return Slow("Slow").execute()

        agent = Slow("Slow")
        self.assertEqual(agent.execute(), {"data_slush": {"done": True}})
        self.assertEqual(agent.last_data_slush, {"done": True})
        self.assertEqual(asyncio.run(inside()), {"data_slush": {"done": True}})

    def test_a_perform_without_room_for_the_context_is_still_called(self):
        class Narrow(BasicAgent):
            def perform(self, city=""):
                return city

        self.assertEqual(Narrow("Narrow").execute(city="Oslo"), "Oslo")


if __name__ == "__main__":
    unittest.main()
