"""Graphs of the projected samples: one file for each kind."""
