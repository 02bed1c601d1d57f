"""Three-way merge of JSON values: what one writer changed, on top of what others wrote meanwhile."""

import json

_ABSENT = object()


def merge(base, mine, theirs):
    """Apply the difference from `base` to `mine` onto `theirs`.

    Dicts are merged key by key, at every depth. Anything else is one value: mine if I changed it, else theirs.
    When both sides changed the same value, mine wins; `theirs` was written earlier.
    """
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        return theirs if _same(base, mine) else mine
    if not isinstance(base, dict):
        base = {}
    merged = dict(theirs)
    for key in base:
        if key not in mine:
            merged.pop(key, None)
    for key, value in mine.items():
        before = base.get(key, _ABSENT)
        if key in theirs:
            merged[key] = merge(before, value, theirs[key])
        elif not _same(before, value):
            merged[key] = value
    return merged


def _same(left, right):
    """Equality of JSON values. Python's own would take True for 1."""
    if left is _ABSENT or right is _ABSENT:
        return left is right
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
