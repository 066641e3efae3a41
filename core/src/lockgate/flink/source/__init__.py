"""The operator that runs a source: its events, its reader, and how alignment holds it back."""
