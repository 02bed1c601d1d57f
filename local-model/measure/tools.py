"""Measures the choice of tools and the filling of their arguments on `cases.json`, over the program's HTTP interface.

tools.py PROGRAM MODEL chooses|advised|required|fills|fills-with-examples [THREADS]

chooses: tool_choice auto, all tools. advised: the same with ADVICE as the system message. required: a call is demanded.
fills: the right tool is named, as a router does.
fills-with-examples: the same, with the requests' own neighbours as two earlier turns of the conversation.
An argument is right if the wanted text occurs in it (letters in any case, spaces in expressions left out), numbers and
booleans if they are equal; of a list, one must be right. Arguments that were not wanted are not judged.
"""

import json
import pathlib
import sys

from server import Server

HERE = pathlib.Path(__file__).parent
ADVICE = (
    "You are a helpful assistant. Call a function only when the user asks for something that it does. "
    "For greetings, thanks, jokes, explanations and general knowledge, answer in plain text. "
    "When you have the result of a function, answer the user in words and do not call it again."
)


def same(want, got):
    if isinstance(want, list):
        return any(same(one, got) for one in want)
    if isinstance(want, str):
        strip = lambda text: str(text).lower().replace(" ", "")
        return strip(want) in strip(got)
    return want == got


def plain(want):
    """The wanted arguments as a call has them: the first where several would do."""
    return {key: value[0] if isinstance(value, list) else value for key, value in want.items()}


def example(request, number):
    """A request with the call that answers it, as two messages and the tool's word that it is done."""
    call = {
        "id": f"example_{number}",
        "type": "function",
        "function": {"name": request["tool"], "arguments": json.dumps(plain(request["want"]))},
    }
    return [
        {"role": "user", "content": request["text"]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "done"},
        {"role": "assistant", "content": "Done."},
    ]


def main():
    program, model, mode, *rest = sys.argv[1:]
    cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    server = Server(program, model, *(["--threads", rest[0]] if rest else []))
    system = [{"role": "system", "content": ADVICE}] if mode == "advised" else []
    called = chosen = filled = 0
    seconds = []
    requests = cases["requests"]
    for number, request in enumerate(requests):
        messages = [{"role": "user", "content": request["text"]}]
        choice = "auto"
        if mode == "required":
            choice = "required"
        if mode.startswith("fills"):
            choice = {"type": "function", "function": {"name": request["tool"]}}
        if mode == "fills-with-examples":
            # The other request for the same tool, and one for another: never the one that is asked.
            neighbours = [(number + 4) % len(requests), number ^ 1]
            messages = sum((example(requests[at], at) for at in neighbours), []) + messages
        answer = server.ask(
            messages=system + messages, tools=cases["tools"], tool_choice=choice, temperature=0, max_tokens=200
        )
        seconds.append(answer["seconds"])
        message = answer["choices"][0]["message"]
        calls = message.get("tool_calls", [])
        verdict = f"no call: {message['content']!r}"
        if calls:
            called += 1
            name, text = calls[0]["function"]["name"], calls[0]["function"]["arguments"]
            try:
                arguments = json.loads(text)
            except ValueError:  # Cut off at the limit of tokens.
                arguments = {}
            right = name == request["tool"]
            good = right and all(same(want, arguments.get(key)) for key, want in request["want"].items())
            chosen += right
            filled += good
            verdict = f"{'ok   ' if good else 'ARGS ' if right else 'TOOL '}{name} {text[:160]} ({len(calls)} calls)"
        print(f"{answer['seconds']:6.2f} s  {request['text'][:50]:50}  {verdict}", flush=True)
    total = len(requests)
    print(f"{mode}: called {called}/{total}, right tool {chosen}/{total}, tool and arguments {filled}/{total}")
    print(f"seconds: first {seconds[0]:.2f}, median of the rest {sorted(seconds[1:])[len(seconds) // 2 - 1]:.2f}")
    if mode in ("chooses", "advised"):
        silent = 0
        for text in cases["without_tool"]:
            answer = server.ask(
                messages=system + [{"role": "user", "content": text}], tools=cases["tools"], temperature=0, max_tokens=60
            )
            message = answer["choices"][0]["message"]
            silent += "tool_calls" not in message
            print(f"  {text[:45]:45} {json.dumps(message.get('tool_calls') or message['content'])[:110]}", flush=True)
        print(f"without a tool: {silent}/{len(cases['without_tool'])} answered in text")
    print(f"memory {server.memory_mib()}, exit {server.stop()}")


if __name__ == "__main__":
    main()
