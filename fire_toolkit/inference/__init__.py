"""What corrected labels mean: scores with their bounds and intervals, and differences that hold.

Read in this order; each stands on those before it:

- judged_pairs: runs joined once with every pair that any qrels hold, then labelled as often as needed;
- intervals (on limits, distributions) and resampling: how sure a mean over queries is;
- background: what is known of labels beyond their rows, by which design pairs were judged among it;
- drawn_pairs, two_phase: estimates from pairs or queries that were drawn;
- estimates: what each design can tell of which measure, and what it refuses;
- label_errors: how often labels err, and whether alike; votes, audit: what tells it; corrected: C@k and
  P@k with these errors taken out;
- honest, differences, correction, trust: rows as `score` and `difference` show them;
- orders, leave_out, bounds: other questions of the same join;
- compare: rankings against one another, without qrels.
"""
