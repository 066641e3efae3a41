"""How watermarks travel: operators with one or several inputs, their timers, and the network
between them.
"""
