"""`get_storage_manager()`: how portable agents get their storage."""

from local_storage import AzureFileStorageManager

__all__ = ["get_storage_manager"]


def get_storage_manager(share_name=None, **options):
    """A new storage object. Never shared: each holds its own user context and its own memory of what it read."""
    return AzureFileStorageManager(share_name, **options)
