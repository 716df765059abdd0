"""JSON that is read only where it is small, whole and finite."""

import io

import pytest

from twofold.io.safe_json import read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            b'{"a": [1, -2.5e3, true, null], "b": {"c": "\\u00fc"}}',
            {"a": [1, -2500.0, True, None], "b": {"c": "\u00fc"}},
        ),
        ("\u00fc".join('""').encode(), "\u00fc"),
        (b"  7  ", 7),
        (b"1e-999", 0.0),
    ],
)
def test_what_json_holds(text, value):
    assert read_json(io.BytesIO(text), 100) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "Expecting value"),
        (b"[1, 2", "delimiter"),
        (b"{} {}", "Extra data"),
        (b"{'a': 1}", "double quotes"),
        (b'"\x80"', "codec can't decode"),
        (b"NaN", r"\(NaN is not finite\)$"),
        (b"[-Infinity]", r"\(-Infinity is not finite\)$"),
        (b"1e999", r"\(1e999 is not finite\)$"),
        (b"9" * 400 + b".0", r"\(9{20} is not finite\)$"),
        (b"9" * 5000, "digits"),
        (b"[" * 10**5, "maximum recursion"),
        (b'{"a":' * 10**5, "maximum recursion"),
    ],
)
def test_what_is_not_json(text, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        read_json(io.BytesIO(text), 10**6)
    message = str(caught.value)
    assert message.startswith("must be JSON, got what is not (")
    assert "\n" not in message
    assert len(message) < 300


def test_no_more_than_the_largest_is_read():
    assert read_json(io.BytesIO(b"1" * 1000), 1000) == int("1" * 1000)
    endless = io.BytesIO(b"1" * 10**6)
    with pytest.raises(ValueError, match=r"^must be of at most 1,000 bytes, got more$"):
        read_json(endless, 1000)
    assert endless.tell() <= 1001
