"""A gallery of captions, the runs' top docs and their labels: tables to the files of a static folder.

Read `pairs` first: the top docs of each run, what became of each pair, the votes on it, and which to look at
again. `files` writes an index and the shards that a page loads when it needs them. The page itself lies in
`site/`, its words in its script.
"""

from fire_toolkit.gallery.files import Beside as Beside
from fire_toolkit.gallery.files import gallery_files as gallery_files
from fire_toolkit.gallery.files import seen_items as seen_items
from fire_toolkit.gallery.files import texts_of as texts_of
from fire_toolkit.gallery.pairs import Shown as Shown
from fire_toolkit.gallery.pairs import shown_pairs as shown_pairs
from fire_toolkit.gallery.pairs import votes_on as votes_on
