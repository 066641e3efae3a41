"""A process's part in a group: calls and news, the session that its queries share, and each query's
membership in it.
"""
