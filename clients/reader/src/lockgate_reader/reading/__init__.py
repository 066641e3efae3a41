"""The loop of one reader: which records it fetches, which it returns, and what it waits for.
`consumer` uses it. `admission` decides, and the loop in `reader` carries that out.
"""
