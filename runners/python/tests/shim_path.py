"""Makes the shims and the shipped agents importable for the tests, and gives each test a data folder."""

import pathlib
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
SHIMS = TESTS.parent / "shims"
REPOSITORY = TESTS.parents[2]
SHIPPED_AGENTS = sorted((REPOSITORY / "agents").glob("*_agent.py"))
EXAMPLE_AGENTS = sorted((REPOSITORY / "examples" / "python").glob("*_agent.py"))

sys.path.insert(0, str(SHIMS))

import roost_host  # noqa: E402  (found only with the path above)


class DataFolderTest(unittest.TestCase):
    """A test with an attached, empty data folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.outside = pathlib.Path(folder.name).resolve()
        self.data = self.outside / "data"
        roost_host.attach(None, {"file": "/agents/sample_agent.py", "stem": "sample_agent"}, self.data)
        self.addCleanup(roost_host.attach, None, None, None)
