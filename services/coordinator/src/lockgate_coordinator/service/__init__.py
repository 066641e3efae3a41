"""The service behind the API, which executes the commands of the protocol.

It commits them to a store, announces changes, and shows groups to operators. The API passes
commands to `coordinator`. The rules are in the core. See the docstrings of `commit_queue` and
`announcer`, and docs/internals/protocol.md.
"""
