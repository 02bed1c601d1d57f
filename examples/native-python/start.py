"""Where the program begins: makes the parts in machine code usable, then runs the app.

Python reads its own modules out of the program's file. The system's loader does not, so the few modules in machine code
are written to the app's data folder first, once for each build.
"""

import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import spec_from_file_location

from compiled import BUILD, FILES  # written by build.py: which modules are machine code, and where they are in the zip


class Compiled:
    """Finds the modules in machine code."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name not in FILES:
            return None
        file = os.path.join(self.folder, name)
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))


def unpack(folder):
    archive = __loader__
    os.makedirs(folder, exist_ok=True)
    for name, place in FILES.items():
        file = os.path.join(folder, name)
        if os.path.exists(file):
            continue
        # Under another name first: a start that is cut off leaves no half of a module.
        with open(file + ".new", "wb") as out:
            out.write(archive.get_data(os.path.join(archive.archive, place)))
        os.rename(file + ".new", file)


folder = os.path.join(os.environ["NEBO_APP_DATA"], f"python-{BUILD}")
unpack(folder)
sys.meta_path.insert(0, Compiled(folder))

import app.main  # noqa: E402  only now can grpc be found

app.main.run()
