"""The two ways agents name a file: `(path)` locally, `(directory, name)` in the cloud lineage.

The number of arguments tells them apart. Keyword forms of both lineages are understood too.
"""

_PATH_KEYWORDS = ("file_path", "path")
_DIRECTORY_KEYWORDS = ("directory_name", "directory", "directory_path")
_NAME_KEYWORDS = ("file_name", "filename", "name")
_CONTENT_KEYWORDS = ("content", "file_content", "data")


def path_parts(method, positional, keywords):
    """The one or two parts of a path."""
    parts = list(positional)
    for group in (_PATH_KEYWORDS, _DIRECTORY_KEYWORDS, _NAME_KEYWORDS):
        parts.extend(_take(keywords, group))
    if keywords:
        raise TypeError(f"{method}() does not know the argument {next(iter(keywords))!r}")
    if len(parts) not in (1, 2) or any(part is None for part in parts):
        raise TypeError(f"{method}() takes (path) or (directory, name), not {len(parts)} arguments")
    return parts


def path_parts_and_content(method, positional, keywords):
    """The parts of a path and the content, which comes last."""
    positional = list(positional)
    given = _take(keywords, _CONTENT_KEYWORDS)
    if not given:
        if len(positional) < 2:
            raise TypeError(f"{method}() takes (path, content) or (directory, name, content)")
        given = [positional.pop()]
    return path_parts(method, positional, keywords), given[0]


def _take(keywords, names):
    for name in names:
        if name in keywords:
            return [keywords.pop(name)]
    return []
