"""A gallery of captions, the runs' top docs and their labels: tables to the files of a static folder."""

from fire_toolkit.gallery.doubts import Finding as Finding
from fire_toolkit.gallery.files import Beside as Beside
from fire_toolkit.gallery.files import gallery_files as gallery_files
from fire_toolkit.gallery.pairs import SPLIT as SPLIT
from fire_toolkit.gallery.pairs import STATES as STATES
from fire_toolkit.gallery.pairs import Shown as Shown
from fire_toolkit.gallery.pairs import shown_pairs as shown_pairs
from fire_toolkit.gallery.votes import Votes as Votes
from fire_toolkit.gallery.votes import votes_on as votes_on
