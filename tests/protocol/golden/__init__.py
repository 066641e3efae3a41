"""Real exchanges between readers and the service, as files. `python -m tests.protocol.golden`
records them anew.
"""
