"""`call_llm`: one question to the host's model, one text back."""

from roost_completion import complete, first_text

__all__ = ["call_llm"]


def call_llm(messages, model=None, **options):
    """The text of the model's answer to `messages` (a list of role and content, or one text)."""
    return first_text(complete(messages, model=model, **options))
