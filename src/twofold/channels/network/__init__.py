"""Channels of photos: features of a trained network, each step in a file.

``features`` has the transformer, ``pictures`` what a network sees, ``sources`` the
networks by name, ``layout`` the maps of what they return, ``cache`` what is kept.
"""

from twofold.channels.network.errors import NetworkError
from twofold.channels.network.features import NetworkFeatures

__all__ = ["NetworkError", "NetworkFeatures"]
