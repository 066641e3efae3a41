"""The coordinator under load, beside bare servers that do only what cannot be left out."""
