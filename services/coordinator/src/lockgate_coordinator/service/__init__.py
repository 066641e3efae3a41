"""The commands of the protocol over a store: commits, announcements of changes, and inspection.
The API calls `coordinator`, which uses all other modules. The rules are in the core.
Theory: the docstrings of `commit_queue` and `announcer`; docs/internals/protocol.md.
"""
