"""What an operator sees of a running coordinator: a line for each change of state, metrics, traces.
The rules know nothing of it.
"""
