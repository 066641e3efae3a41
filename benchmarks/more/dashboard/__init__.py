"""The dashboard in a real browser, before made-up readers over a live coordinator: pictures of each
page, and what an open page costs.
"""
