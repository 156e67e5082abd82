"""Constants that existing scripts import."""

DEFAULT_CHECKPOINT_PATH = "checkpoints"
DEFAULT_DETERMINED_PASSWORD = ""
DEFAULT_DETERMINED_USER = "determined"
# Where the predecessor mounts a shared file system in a container; nothing is mounted there here.
SHARED_FS_CONTAINER_PATH = "/determined_shared_fs"
