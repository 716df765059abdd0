"""Files that only look like a report: refused with a ValueError, or harmless."""

import copy
import json
import re

import pytest
from browsing import page_of, report_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from twofold.app.report import read_report
from twofold.app.report import summary as summary_module
from twofold.app.report.summary import Report

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def places(value, path=()):
    """The way to every value inside."""
    yield path
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:2])
        if isinstance(value, list)
        else ()
    )
    for key, inner in inside:
        yield from places(inner, (*path, key))


def put(summary, path, value):
    for key in path[:-1]:
        summary = summary[key]
    summary[path[-1]] = value


def check_harmless(page, summary, parsed):
    """No script but ours, nothing that could run one, and the data as they were."""
    page.encode()
    elements = parsed(page)
    assert [e.attrs for e in elements if e.tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]
    assert not {"iframe", "object", "embed", "base"} & {e.tag for e in elements}
    for element in elements:
        for name, value in element.attrs.items():
            assert not name.startswith("on")
            if name in ("src", "href"):
                assert value.startswith(("data:image/", "#"))
    (kept,) = [e.text for e in elements if e.attrs.get("id") == "data"]
    assert json.loads(kept, parse_constant=pytest.fail) == summary["items"]


def test_a_summary_passes_after_a_journey_through_json(summary):
    report_of(summary)
    report_of(json.loads(json.dumps(summary)))


@pytest.mark.parametrize("other", [None, [], "x", 3, {}, {"format": "something"}])
def test_other_things_are_no_report(other):
    with pytest.raises(ValueError, match=r"no twofold report|Expected `object`"):
        report_of(other)


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        DEEP,
        b'{"format":' + DEEP + b"}",
        b'{"format":"twofold report","version":' + DEEP + b"}",
        b'{"format":"twofold report","version":' + b"9" * 100_000 + b"}",
        b'{"format":"twofold report","version":1,"x":' + DEEP + b"}",
        b'{"format":"twofold report","version":1,"' + b"a b\xff" * 1000 + b'":1}',
        b'{"format":"twofold report","version":1,"' + b"a\\n" * 1000 + b'":1}',
    ],
)
def test_any_text_is_refused_with_one_short_line(text):
    with pytest.raises(ValueError, match=r"\w") as error:
        read_report(text)
    reason = str(error.value)
    assert 5 < len(reason) <= 300
    assert reason.isprintable()


def test_large_files_are_refused(summary_text, monkeypatch):
    monkeypatch.setattr(summary_module, "LARGEST_REPORT", len(summary_text) - 1)
    with pytest.raises(ValueError, match=r"at most [\d,]+ bytes"):
        read_report(summary_text.encode())


def test_of_duplicate_keys_the_last_is_checked_and_used(summary_text):
    head, tail = summary_text[:-1], summary_text[1:]
    assert read_report(f'{{"title": "first", {tail}'.encode()).title == "a <b>"
    assert read_report(f'{head}, "title": "last"}}'.encode()).title == "last"
    for text in (f'{{"title": 1, {tail}', f'{head}, "title": 1}}'):
        with pytest.raises(ValueError, match="got `int`"):
            read_report(text.encode())


@pytest.mark.parametrize("version", [0, 2, "1", None, [1]])
def test_the_version_is_named(summary, version):
    summary["version"] = version
    with pytest.raises(ValueError, match=re.escape(f"version {version!r}")):
        report_of(summary)


OPTIONAL = [(field.name,) for field in fields(Report) if not field.required]
OPTIONAL.append(("projections", "channels"))
OPTIONAL += [("clusters", i, "confidence") for i in range(3)]
"""Sections, and fields, that older files do not have."""


def test_every_missing_key_is_named(summary):
    known = [
        path
        for path in places(summary)
        if path
        and isinstance(path[-1], str)
        and path[0] != "parameters"
        and path[-1] not in ("format", "version")
        and path not in OPTIONAL
    ]
    assert len(known) > 40
    for path in known:
        spoilt = copy.deepcopy(summary)
        inside = spoilt
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]
        with pytest.raises(ValueError, match=f"missing required field `{path[-1]}`"):
            report_of(spoilt)


HOSTILE_LINKS = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "\tjavascript:alert(1)",
    "./javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "https://example.org/x.png",
    "//example.org/x.png",
    "file://example.org/share/x.png",
    "file:////example.org/share/x.png",
    "./../..//example.org/x.png",
    ".//example.org/x.png",
    "file:///c:/x//y",
    "file:///cc:/x",
    './x" onerror="alert(1)',
    "./x\n",
    "./x?query",
    "./x#hash",
    "./\\\\example.org\\x",
    "x.png",
    "",
    7,
    ["./x"],
    False,
]


@pytest.mark.parametrize("link", HOSTILE_LINKS)
def test_links_lead_to_files_of_this_machine_alone(summary, link):
    summary["items"][0]["link"] = link
    with pytest.raises(ValueError, match=r"at `\$\.items\[0\]\.link`"):
        report_of(summary)


@pytest.mark.parametrize("link", ["./x", "./evil.html", "./a.svg", "file:///x/y"])
def test_links_lead_to_what_is_named_as_an_image(summary, link):
    summary["items"][0]["link"] = link
    with pytest.raises(ValueError, match="not named as an image"):
        report_of(summary)


def test_surplus_keys_are_refused(summary):
    summary["items"][0]["extra"] = 1
    with pytest.raises(ValueError, match=r"unknown field `extra` - at .*items\[0\]"):
        report_of(summary)


@pytest.mark.parametrize(
    "link",
    [None, "./a/b%20c.png", "./../x.png", "file:///x/y.jpg", "file:///C:/x/y.TIF"],
)
def test_such_links_may_be_there(summary, link):
    summary["items"][0]["link"] = link
    report_of(summary)


HOSTILE_PICTURES = [
    'data:image/png;base64,AAAA"); } </style><script>alert(1)</script>',
    "data:image/png;base64,AAAA</style>",
    "data:image/png;base64,AA AA",
    "data:image/png;base64,AAAA\n",
    "data:image/png;base64,",
    "data:image/svg+xml;base64,AAAA",
    "data:text/html;base64,AAAA",
    "data:image/png,AAAA",
    "https://example.org/x.png",
    "DATA:image/png;base64,AAAA",
    "data:image/png;base64,\u0410\u0410\u0410\u0410",  # Cyrillic
    "",
    None,
    1,
]
PICTURES = [
    ("clusters", 0, "centroid"),
    ("projections", "mean"),
    ("projections", "views", 1, "picture"),
    ("sheets", "images", 0),
]


@pytest.mark.parametrize("picture", HOSTILE_PICTURES)
@pytest.mark.parametrize("path", PICTURES, ids=str)
def test_pictures_hold_their_data_and_nothing_else(summary, path, picture):
    put(summary, path, PIXEL)
    report_of(summary)
    put(summary, path, picture)
    with pytest.raises(ValueError, match="Expected `str`"):
        page_of(summary)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("outliers", 0), 60, "does not have"),
        (("outliers", 0), -1, "Expected `int` >= 0"),
        (("duplicates",), [[0, 999]], "does not have"),
        (("clusters", 0, "items"), [], "its clusters"),
        (("clusters", 0, "items", 0), 999, "its clusters"),
        (("items", 0, "cluster"), 77, "its clusters"),
        (("items",), [], "does not have"),
        (("sheets", "places", 0), [0, 0, 0, 1], "`array` of length 5"),
        (("sheets", "places"), [], "thumbnails"),
        (("sheets", "places", 0, 0), 5, "sheets"),
        (("sheets", "places", 0, 0), -1, "`int` >= 0"),
        (("sheets", "side"), 0, "`int` >= 1"),
        (("convergence", "objective"), [], "length >= 1"),
        (("convergence", "objective", 0), float("inf"), "malformed"),
        (("convergence", "objective", 0), float("nan"), "malformed"),
        (("convergence", "max_iter"), True, "got `bool`"),
        (("clusters", 0, "number"), 10**30, "Expected `int` <= "),
        (("clusters", 0, "tightness"), 10**400, "out of range"),
        (("items", 0, "x"), "1", "got `str`"),
        (("items", 0, "name"), "\udc80", "malformed|truncated"),
        (("skipped",), [["only a name"]], "`array` of length 2"),
        (("skipped",), [["a", "b", "c"]], "`array` of length 2"),
        (("parameters", "tol"), ["a"], "parameters"),
        (("parameters", "\ud800"), 1, "malformed|truncated"),
        (("parameters", "tol"), "\ud800", "malformed|truncated"),
        (("projections", "views", 0, "side"), "up", "Invalid enum value 'up'"),
        (("scores", "confusion", "counts"), [[1]], "confusion"),
        (("scores", "confusion", "classes"), ["x"], "confusion"),
        (
            ("scores", "confusion", "counts", 0),
            [5, -5, 0],
            ">= 0 - at .*confusion",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(summary, path, value, message):
    put(summary, path, value)
    with pytest.raises(ValueError, match=message):
        page_of(summary)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**20), 2**53])
    | st.floats()
    | st.text()
    | st.sampled_from(
        [
            "</script><script>alert(1)</script>",
            "</style><script>alert(1)</script>",
            '"><script>alert(1)</script>',
            "' onmouseover='alert(1)",
            "javascript:alert(1)",
            "{{ 7 * 7 }}",
            "<!--<script>",
            "]]>",
            "\ud800",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_anything_anywhere_is_refused_or_shown_and_never_run(
    data, summary_text, parsed
):
    summary = json.loads(summary_text)
    every = [path for path in places(summary) if path]
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(every))
        try:
            put(summary, path, data.draw(anything))
        except (KeyError, IndexError, TypeError):
            continue  # the first change has taken its place away
    try:
        page = page_of(summary)
    except ValueError:
        return
    check_harmless(page, summary, parsed)


HOSTILE_TEXTS = [
    "</script><script>alert(1)</script>",
    "</style></title></textarea><script>alert(1)</script>",
    '"><script>alert(1)</script><img src=x onerror=alert(1)>',
    "'><script>alert(1)</script><iframe src=javascript:alert(1)>",
]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_in_every_place(text, summary_text, parsed):
    shown = 0
    for path in list(places(json.loads(summary_text)))[1:]:
        summary = json.loads(summary_text)
        put(summary, path, text)
        try:
            page = page_of(summary)
        except ValueError:
            continue
        check_harmless(page, summary, parsed)
        shown += 1
    assert shown >= 10
