"""HTTP: paths, bodies and status codes, one file for each subject. No rule is made here."""
