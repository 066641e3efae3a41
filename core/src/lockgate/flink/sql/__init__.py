"""Watermarks as SQL has them: its strategies, their text form, and the two operators that assign
watermarks in a table plan.
"""
