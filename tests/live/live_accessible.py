"""What Chromium tells a screen reader of a page, and where the Tab key leads."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from live_browser import Browser

TAB = "\ue004"
# What a screen reader announces by its name, and cannot without one.
NAMED = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "image", "img", "dialog",
         "DisclosureTriangle", "navigation", "region", "group", "figure", "table", "heading"}  # fmt: skip
# What can be reached by Tab, in the order of the page: a folded part, what is hidden or inert cannot.
_REACHED = """
const wanted = "a[href], button, input, select, textarea, summary, video[controls], [tabindex]";
return [...document.querySelectorAll(wanted)].filter(node => node.tabIndex >= 0 && !node.disabled &&
    node.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true}) && !node.closest("[inert]"))
  .map(node => (node.dataset.atTab = String(Math.random())));
"""
_FOCUS = """
const node = document.activeElement;
if (!node || node === document.body || node === document.documentElement) return null;
const style = getComputedStyle(node);
const isShown = style.outlineStyle !== "none" || style.boxShadow !== "none";
return [node.dataset.atTab || "", node.outerHTML.slice(0, 120), isShown];
"""


class Node(NamedTuple):
    """A node of the accessibility tree."""

    role: str
    name: str
    level: int
    focusable: bool
    states: dict[str, Any]  # what else is told: pressed, disabled, expanded, live, valuetext …


def nodes_of(browser: Browser) -> list[Node]:
    """Return what a screen reader is told of a page, in its order."""
    browser.cdp("Accessibility.enable")
    found = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    return [_node(each) for each in found if not each["ignored"]]


def _node(each: dict[str, Any]) -> Node:
    facts = {fact["name"]: fact["value"].get("value") for fact in each.get("properties", [])}
    name = str(each.get("name", {}).get("value", "")).strip()
    role = str(each.get("role", {}).get("value", ""))
    return Node(role, name, int(facts.get("level") or 0), bool(facts.get("focusable")), facts)


def nameless(browser: Browser) -> list[Node]:
    """Return the nodes that need a name and have none; groups only where they can have the focus."""
    bare = [node for node in nodes_of(browser) if node.role in NAMED and not node.name]
    return [node for node in bare if node.role not in ("group", "table") or node.focusable]


def headings(browser: Browser) -> list[int]:
    """Return the levels of the headings in their order."""
    return [node.level for node in nodes_of(browser) if node.role == "heading"]


def skips_a_level(levels: list[int]) -> bool:
    """Whether the first heading is not of level 1, or one is two deeper than the one before it."""
    return any(late > early + 1 for early, late in zip([0, *levels], levels, strict=False))


# Tab goes on from what had the focus last, or was scrolled to, even where that is gone.
_TO_START = """
const first = document.createElement("span"); first.tabIndex = -1; document.body.prepend(first);
first.focus(); first.remove(); window.getSelection().removeAllRanges(); scrollTo(0, 0);
"""


def tab_stops(browser: Browser, *, most: int = 400) -> Iterator[tuple[str, str, bool]]:
    """Press Tab from the page's start to its end: mark and HTML of each stop, and whether it is seen."""
    browser.run(_TO_START)
    seen: set[str] = set()
    for _ in range(most):
        browser.press(TAB)
        found = browser.run(_FOCUS)
        if found is None or (found[0] and found[0] in seen):
            return
        seen.add(found[0])
        yield found[0], found[1], found[2]


def check_accessible(browser: Browser, *, tabs: bool = True) -> None:
    """Hold that all has a name, headings skip no level, and Tab reaches all in the order of the page."""
    assert nameless(browser) == [], browser.url
    levels = headings(browser)
    assert not skips_a_level(levels), (browser.url, levels)
    if not tabs:
        return
    wanted = browser.run(_REACHED)
    stops = list(tab_stops(browser, most=len(wanted) + 20))
    reached = [mark for mark, _, _ in stops if mark]
    assert reached == wanted, [html for mark, html, _ in stops if mark not in wanted]
    assert [html for _, html, is_seen in stops if not is_seen] == []
