"""`AzureFileStorageManager` at its cloud address; the files are local."""

from local_storage import AzureFileStorageManager

__all__ = ["AzureFileStorageManager"]
