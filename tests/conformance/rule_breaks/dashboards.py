"""Rules of the dashboard: who may see what, what the page may do, and what it tells."""

from functools import partial

from rule_breaks.breaking import Break

_Break = partial(Break, package="lockgate_coordinator")

FILES = ("test_dashboard_files.py",)
ERRANDS = ("test_dashboard_errands.py",)
CENSUS = ("test_census.py",)
PAGES = "dashboard/pages.py"

DASHBOARDS: tuple[Break, ...] = (
    _Break(
        "no script or style of the dashboard is inline",
        PAGES,
        "script-src 'self';",
        "script-src 'self' 'unsafe-inline';",
        FILES,
    ),
    _Break(
        "no other page may frame the dashboard",
        PAGES,
        '    "X-Frame-Options": "DENY",\n',
        "",
        FILES,
    ),
    _Break(
        "a file of the dashboard that has changed is sent anew",
        PAGES,
        'if request.headers.get("if-none-match") == file.tag:',
        'if "if-none-match" in request.headers:',
        FILES,
    ),
    _Break(
        "only looking at the dashboard's files needs no token",
        "access/guard.py",
        'for method in ("GET", "HEAD")}',
        'for method in ("GET", "HEAD", "POST")}',
        FILES,
    ),
    _Break(
        "without the dashboard there are no files",
        "app.py",
        "pages = Pages() if settings.dashboard else None",
        "pages = Pages()",
        FILES,
    ),
    _Break(
        "names are texts on the dashboard, never HTML",
        "dashboard/static/dom.js",
        "element.append(child instanceof Node ? child : document.createTextNode(String(child)));",
        'child instanceof Node ? element.append(child) : element.insertAdjacentHTML("beforeend", String(child));',
        FILES,
    ),
    _Break(
        "the dashboard shows acts to an admin alone",
        "dashboard/static/api.js",
        'return this.caller?.role === "admin";',
        "return true;",
        ERRANDS,
    ),
    _Break(
        "the dashboard overwrites no configuration that it has not seen",
        "dashboard/static/acts.js",
        '...(etag ? { "If-Match": etag } : {})',
        "",
        ERRANDS,
    ),
    _Break(
        "a page whose coordinator has died connects again",
        "dashboard/static/api.js",
        '        if (failed(error) === "stop") return;\n',
        "        failed(error);\n        return;\n",
        ERRANDS,
    ),
    _Break(
        "a lost reader is a group's worst health",
        "service/census.py",
        'if counted.states.get("lost"):',
        "if False:",
        CENSUS,
    ),
)
