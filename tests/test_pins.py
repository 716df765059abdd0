"""Results of fits are those that were pinned, see ``pins.py``."""

import json

import pins
import pytest

PINNED = json.loads(pins.FILE.read_text())


@pytest.mark.parametrize("case", pins.CASES)
def test_results_are_those_that_were_pinned(case):
    assert pins.digests(case) == PINNED[case]


def test_every_pin_has_a_case():
    assert PINNED.keys() == pins.CASES.keys()
