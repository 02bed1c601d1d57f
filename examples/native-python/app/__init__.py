"""A native app in Python: one module for each part of the contract."""
