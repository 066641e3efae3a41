"""Breaks one rule at a time and looks who notices."""
