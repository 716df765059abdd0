"""Text in tables that spreadsheets open, where nothing of it may become a formula."""

import re

# Some spreadsheets take the full-width signs for the plain ones, or trim spaces.
_FORMULA = re.compile("'*(\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n\0])")
"""Beginning of what would be a formula, possibly after apostrophes."""


def to_cell(text: str) -> str:
    """Return text that no spreadsheet takes for a formula.

    An apostrophe is put before text that begins with =, +, -, @, their full-width
    forms, any of these after spaces, a tab, a line break or a null. It is also put
    before text that begins with apostrophes and then so, for ``from_cell`` to be exact.

    Parameters
    ----------
    text : str
        Any text, such as the name of a file.

    Returns
    -------
    str
        Content of the cell.

    Examples
    --------
    >>> to_cell("=1+1.png"), to_cell("'=1"), to_cell("'a'")
    ("'=1+1.png", "''=1", "'a'")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(cell: str) -> str:
    """Return the text of a cell that ``to_cell`` has made.

    Parameters
    ----------
    cell : str
        Content of the cell.

    Returns
    -------
    str
        Text that was given to ``to_cell``.

    Examples
    --------
    >>> from_cell("'=1+1.png"), from_cell("''=1"), from_cell("'a'")
    ('=1+1.png', "'=1", "'a'")
    """
    return cell.removeprefix("'") if _FORMULA.match(cell) else cell
