"""Read JSON from untrusted files."""

import json
import math
from typing import IO, Any


def read_json(file: IO[bytes], largest: int) -> Any:
    """Read a JSON file of at most ``largest`` bytes, with finite numbers only.

    Any flaw raises a ValueError with a message of one line, which does not name the
    file.
    """
    text = file.read(largest + 1)
    if len(text) > largest:
        raise ValueError(f"must be of at most {largest:,} bytes, got more")
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"must be JSON, got what is not ({error})") from error


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number[:20]} is not finite")
    return value
