"""The report of a build as one page for a browser: what `build --format html` prints.

In: the reports of a build, its findings, and the sources. Out: text that is HTML and XML alike, in ASCII, so that it
means the same in whatever encoding it is saved. The page holds all that it shows: no scripts, no fonts, no network.
"""

from phobos_core.report.html.page import build_html

__all__ = ["build_html"]
