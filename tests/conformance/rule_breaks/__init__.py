"""Breaks one rule at a time and reports which test notices."""
