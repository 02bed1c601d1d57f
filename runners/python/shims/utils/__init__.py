"""The package under which the kernels offer storage, model calls and workspaces to agents."""
