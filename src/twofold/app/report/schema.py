"""Types of the values in a report, with the limits that a file must respect.

Each part of a report is a ``Part``. Reading JSON checks all of its types and limits,
because texts, pictures and links of the file go into the page.
"""

from typing import Annotated

from msgspec import Meta, Struct


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of the parts of a report: immutable, and without unknown fields."""


Count = Annotated[int, Meta(ge=0, le=2**53)]
"""A count, or a position in a list. Larger integers are not exact in JavaScript."""

Number = (
    Annotated[int, Meta(ge=-(2**53), le=2**53)]
    | Annotated[float, Meta(ge=-1e300, le=1e300)]
)
"""A finite number. The limits leave room for differences and sums of two numbers."""

Fraction = Annotated[float, Meta(ge=0, le=1)]
"""A share of a whole."""

Picture = Annotated[
    str, Meta(pattern=r"^data:image/(png|webp|jpeg);base64,[A-Za-z0-9+/]+=*\Z")
]
"""A picture as a data URI."""

Link = Annotated[
    str, Meta(pattern=r"^(\./|file:///([A-Za-z]:/)?)(?!/|.*//)[A-Za-z0-9%/._~-]*\Z")
]
"""A file on this machine. Two slashes in a row could name another machine."""
