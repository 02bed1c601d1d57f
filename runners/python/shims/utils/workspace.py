"""`workspace_dir()`: a folder for the calling agent's own files."""

import pathlib

import roost_host
from roost_confined_path import confine

__all__ = ["workspace_dir"]


def workspace_dir():
    """`<data>/workspaces/<file stem>` as a `pathlib.Path`, created.

    The agent's identity comes from the host. It is never taken from the calling code, which could claim any.
    """
    stem = roost_host.identity().get("stem")
    if not stem:
        raise roost_host.HostCallFailed(
            "host_unreachable", "no agent runs in this process, so there is no workspace", "run the agent with `roost run`"
        )
    folder = pathlib.Path(confine(roost_host.data_folder(), "workspaces", stem))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
