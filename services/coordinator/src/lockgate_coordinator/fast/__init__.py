"""The fast parts."""
