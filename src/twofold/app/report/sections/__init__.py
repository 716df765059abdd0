"""The sections of a report: of each the data (.py) and the HTML (.html.j2)."""
