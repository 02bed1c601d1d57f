"""`DynamicsStorageManager`: the third storage name of the kernels, with the same local files behind it."""

from local_storage import AzureFileStorageManager

__all__ = ["DynamicsStorageManager"]


class DynamicsStorageManager(AzureFileStorageManager):
    """Storage for agents written against Dynamics; it behaves as the others do."""
