"""Damage to the bytes of a file, by a seed."""

import re
import struct

EXTREMES = (0, 1, 2, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1)
EXTREMES += (2**40, 2**63 - 1, 2**63, 2**64 - 1)
TEXTS = (b"0", b"-1", b"1e308", b"nan", b"99999999999", b"9" * 400, b"null", b"[" * 999)


def damaged(rng, seeds):
    """Return one of the files of ``seeds`` with up to four kinds of damage."""
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(DAMAGES)(rng, content, seeds)
    return bytes(content)


def position(rng, content):
    """A place in a file; headers, which are at the ends, have a larger part."""
    at = rng.randrange(len(content) + 1)
    near = rng.choice((0, 0, 64, 512))
    if not near:
        return at
    return at % near if rng.random() < 0.7 else len(content) - min(at % near, at)


def flip_bits(rng, content, seeds):
    for _ in range(rng.choice((1, 2, 8))):
        at = min(position(rng, content), len(content) - 1)
        if at >= 0:
            content[at] ^= 1 << rng.randrange(8)


def set_number(rng, content, seeds):
    """Write a number of one to eight bytes that is extreme, or off by little."""
    code = rng.choice("BHIIQ")
    size = struct.calcsize(code)
    at = min(position(rng, content), len(content) - size)
    if at < 0:
        return
    order = rng.choice("<>")
    if rng.random() < 0.3:
        (number,) = struct.unpack_from(order + code, content, at)
        number += rng.choice((-8, -1, 1, 8))
    else:
        number = rng.choice(EXTREMES)
    struct.pack_into(order + code, content, at, number % 256**size)


def set_digits(rng, content, seeds):
    """Replace a number that is written in digits."""
    found = list(re.finditer(rb"\d+", content[:20_000]))
    if found:
        begin, end = rng.choice(found).span()
        content[begin:end] = rng.choice(TEXTS)


def truncate(rng, content, seeds):
    del content[position(rng, content) :]


def remove(rng, content, seeds):
    at = position(rng, content)
    del content[at : at + rng.choice((1, 2, 4, 8, 100))]


def repeat(rng, content, seeds):
    at = position(rng, content)
    part = content[at : at + rng.choice((1, 4, 8, 64, 1000))]
    content[at:at] = part * rng.choice((1, 2, 50))


def insert(rng, content, seeds):
    at = position(rng, content)
    content[at:at] = rng.choice((rng.randbytes(4), bytes(8), *TEXTS))


def splice(rng, content, seeds):
    """Go on with another file, or with another part of this one."""
    other = rng.choice(seeds)
    content[position(rng, content) :] = other[position(rng, other) :]


DAMAGES = (flip_bits, set_number, set_number, set_digits, truncate, remove, repeat)
DAMAGES += (insert, splice)
