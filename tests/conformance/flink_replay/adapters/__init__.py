"""One thin adapter a component: the operations of a trace become calls, what comes out becomes
events.
"""
