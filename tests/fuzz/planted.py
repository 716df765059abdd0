"""Readers that fail, to see that each failure is found."""

import os
import time

from fuzz.target import Target

EXPECTED = (ValueError,)


def one_file():
    return [b"an undamaged file"]


def target(read):
    return Target("a.bin", read, one_file)


def refuse(path):
    raise ValueError("a line that names the flaw")


def several_lines(path):
    raise ValueError("a line\nand another")


def unexpected(path):
    raise KeyError("not a documented error")


def much_memory(path):
    bytearray(2**30)


def die(path):
    os.abort()


def hang(path):
    time.sleep(1000)


TARGETS = {
    "returns": target(lambda path: None),
    "refuses": target(refuse),
    "several-lines": target(several_lines),
    "unexpected": target(unexpected),
    "much-memory": target(much_memory),
    "dies": target(die),
    "hangs": target(hang),
}
