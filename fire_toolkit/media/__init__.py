"""Media files of a collection: can a browser play them, make those that it cannot, serve them.

An annotation page says nothing when a video does not play: these parts find it out before people do.
"""

from fire_toolkit.media.check import check_media
from fire_toolkit.media.playable import MediaFacts, Verdict, judge_media
from fire_toolkit.media.probe import probe_file

__all__ = ["MediaFacts", "Verdict", "check_media", "judge_media", "probe_file"]
