"""Measures load time, tokens per second, memory, and what a kept prefix saves: speed.py PROGRAM MODEL [THREADS]."""

import json
import pathlib
import sys

from server import Server

HERE = pathlib.Path(__file__).parent
TEXT = "The river runs past the old mill, where nobody has ground any corn since the war. " * 12


def main():
    program, model, *rest = sys.argv[1:]
    arguments = ["--threads", rest[0]] if rest else []
    server = Server(program, model, *arguments)
    print(f"load: {server.load_seconds:.2f} s, memory {server.memory_mib()}")

    def plain(text, tokens):
        return server.ask(messages=[{"role": "user", "content": text}], max_tokens=tokens, temperature=0)

    plain("Hello.", 4)
    # One token of answer: nearly all of the time is the prompt's.
    read = plain(TEXT + "What stands at the river?", 1)
    fresh = read["usage"]["prompt_tokens"] - read["usage"]["prompt_tokens_details"]["cached_tokens"]
    print(f"prompt: {fresh} tokens in {read['seconds']:.2f} s = {fresh / read['seconds']:.0f} tokens/s")
    again = plain(TEXT + "What stands at the river?", 1)
    kept = again["usage"]["prompt_tokens_details"]["cached_tokens"]
    print(f"same prompt again: {again['seconds']:.3f} s, {kept} kept")
    long = plain(TEXT + "What stands at the river? Tell a long story about it.", 120)
    written = long["usage"]["completion_tokens"]
    one = plain(TEXT + "What stands at the river? Tell a long story about it.", 1)
    print(f"answer: {written} tokens, {(written - 1) / (long['seconds'] - one['seconds']):.1f} tokens/s (about)")

    case = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    for request in case["requests"][:3]:
        messages = [{"role": "user", "content": request["text"]}]
        answer = server.ask(messages=messages, tools=case["tools"], temperature=0)
        usage = answer["usage"]
        kept = usage["prompt_tokens_details"]["cached_tokens"]
        print(
            f"call with {len(case['tools'])} tools: {answer['seconds']:.2f} s, prompt {usage['prompt_tokens']}"
            f" (kept {kept}), answer {usage['completion_tokens']}"
        )
    print(f"memory {server.memory_mib()}, exit {server.stop()}")


if __name__ == "__main__":
    main()
