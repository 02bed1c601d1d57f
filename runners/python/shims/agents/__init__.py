"""The package agents import their base class from; the worker adds the agents folder to its path."""
