"""Runs an `async def perform` to its end from code that is not async itself."""


def finish(result):
    """The result itself, or, when it is awaitable, what it gives once it has ended."""
    if not hasattr(result, "__await__"):
        return result
    # Imported here: asyncio is large and few agents are async.
    import asyncio

    async def wait():
        return await result

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(wait())
    return _finish_beside_running_loop(wait)


def _finish_beside_running_loop(wait):
    """A loop cannot be nested in a running one, so the second one gets a thread of its own."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(lambda: asyncio.run(wait())).result()
