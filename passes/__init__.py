"""The passes: one file, one frozen dataclass, one name each (`fuse_groups.py`, `FuseGroups`, `fuse-groups`). `compiler.py` orders them."""
