"""Our own page as the carrier of a campaign: a link for each annotator, answers in the campaign's record.

Read `office` first (who may come in by which link, what each is asked, what was answered), then `desk` (the
order of an annotator's pages) and `server`, which shows them. `answers` turns the page's records into rows as
all carriers write them. `written` is the same page as a file, and what comes back of it. The page itself lies
in `site/`.
"""
