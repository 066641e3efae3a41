"""Who may do what, and how often: tokens, roles, groups. It knows no store, no rule of alignment,
and no framework.
"""
