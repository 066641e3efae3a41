"""The site of these pages: `make docs` builds it into build/site, `make docs-serve` shows it while
you write.

`pages` says which files are pages and where each one is on the site. `markdown` makes of a page for
a forge a page for the site: links, lists, comments. `sources` makes pages of the source files that
pages link to. `stage` writes all of them into build/pages, from where Zensical builds. `reference`
has the pages that are made from the code itself.
"""
