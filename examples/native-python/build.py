"""Makes `binary`: Python, its standard library, grpcio, the stubs of the contract and the app, in one program.

Needs a C compiler and the Python that runs this, with its headers and libpython. `target/packages` is filled from the
Python package index by name and version, unless it is there already.
"""

import hashlib
import importlib.util
import marshal
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / "target"
PACKAGES = BUILD / "packages"
STUBS = BUILD / "stubs"

# What of the standard library the app can do without.
LEFT_OUT = {"test", "tests", "tkinter", "idlelib", "turtledemo", "ensurepip", "lib2to3", "distutils", "pydoc_data", "unittest"}
LEFT_OUT |= {"site-packages", "lib-dynload", "venv", "sqlite3", "curses", "xmlrpc", "wsgiref", "pydoc.py", "turtle.py"}


def fetch():
    if PACKAGES.is_dir():
        return
    staging = BUILD / "packages.new"
    shutil.rmtree(staging, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--only-binary=:all:", "--target", staging, "-r", HERE / "requirements.txt"], check=True)
    staging.rename(PACKAGES)


def contract():
    """The folder that holds proto/: a copy beside this file, or the repository's own."""
    return next(folder for folder in [HERE, *HERE.parents] if (folder / "proto/apps/v0/common.proto").is_file())


def stubs():
    shutil.rmtree(STUBS, ignore_errors=True)
    STUBS.mkdir(parents=True)
    root = contract()
    files = sorted(str(file.relative_to(root)) for file in root.glob("proto/apps/v0/*.proto"))
    words = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root}", f"--python_out={STUBS}", f"--grpc_python_out={STUBS}", *files]
    subprocess.run(words, check=True, cwd=root, env={**os.environ, "PYTHONPATH": str(PACKAGES)})


def launcher():
    program = BUILD / "launcher"
    variable = sysconfig.get_config_var
    library = Path(variable("LIBPL")) / variable("LIBRARY")
    if not library.is_file():
        sys.exit(f"{library} is missing: install the development files of Python")
    words = ["cc", "-O2", "-s", "-o", program, HERE / "launcher.c", f"-I{variable('INCLUDEPY')}"]
    # Everything of libpython, because modules in machine code look for it in the program.
    words += ["-Wl,--whole-archive", library, "-Wl,--no-whole-archive", "-Wl,--export-dynamic"]
    subprocess.run([*words, "-lm", "-ldl", "-lpthread", "-lutil"], check=True)
    return program.read_bytes()


def code(path, source):
    """A module as Python keeps it: its code, so that a start compiles nothing, with a header that says not to look for
    a source."""
    header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    return path + "c", header + marshal.dumps(compile(source, path, "exec", dont_inherit=True))


def python_files(root, left_out=frozenset(), below=""):
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root)
        if not left_out.intersection(path.parts):
            yield code(below + path.as_posix(), file.read_bytes())


def compiled_modules():
    """Modules in machine code by the name under which they are imported."""
    for file in sorted(Path(sysconfig.get_path("platstdlib"), "lib-dynload").glob("*.so")):
        if not file.name.startswith(("_test", "_xx", "xx", "_ctypes_test", "_tkinter")):
            yield file.name.split(".")[0], file.read_bytes()
    # The other packages only build.
    for package in ["grpc", "google"]:
        for file in sorted((PACKAGES / package).rglob("*.so")):
            module = file.relative_to(PACKAGES).with_name(file.name.split(".")[0])
            yield ".".join(module.parts), file.read_bytes()


def contents():
    # Folders without this file are not found in a zip.
    for folder in ["google", "proto", "proto/apps", "proto/apps/v0"]:
        yield code(f"{folder}/__init__.py", b"")
    yield from python_files(Path(sysconfig.get_path("stdlib")), LEFT_OUT)
    yield from python_files(PACKAGES / "grpc", below="grpc/")
    yield from python_files(PACKAGES / "google", below="google/")
    yield code("typing_extensions.py", (PACKAGES / "typing_extensions.py").read_bytes())
    yield from python_files(STUBS)
    yield from python_files(HERE / "app", below="app/")
    yield code("start.py", (HERE / "start.py").read_bytes())
    files, digest = {}, hashlib.sha256()
    for name, content in compiled_modules():
        files[name] = f"compiled-modules/{name}"
        digest.update(name.encode() + content)
        yield files[name], content
    yield code("compiled.py", f"BUILD = {digest.hexdigest()[:16]!r}\nFILES = {files!r}\n".encode())


def main():
    BUILD.mkdir(exist_ok=True)
    fetch()
    stubs()
    new = BUILD / "binary.new"
    new.write_bytes(launcher())
    # Stored as it is: Python's own unpacker is one of the modules that are read from here. The same time for every file,
    # so that the same sources make the same program.
    with zipfile.ZipFile(new, "a", zipfile.ZIP_STORED) as archive:
        for path, content in contents():
            archive.writestr(zipfile.ZipInfo(path), content)
    new.chmod(0o755)
    new.rename(HERE / "binary")


if __name__ == "__main__":
    main()
