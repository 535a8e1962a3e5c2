"""The passes: one file, one class, one name each (`fuse_groups.py`, `FuseGroups`, `fuse-groups`).

`compiler.py` puts them in order.
"""
