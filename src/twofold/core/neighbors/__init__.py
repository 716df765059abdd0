"""Nearest neighbours: exact search, certified lists, approximate search."""
