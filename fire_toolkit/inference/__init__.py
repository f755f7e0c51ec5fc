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

from fire_toolkit.inference.bounds import coverage as coverage
from fire_toolkit.inference.bounds import describe_bounds as describe_bounds
from fire_toolkit.inference.bounds import score_bounds as score_bounds
from fire_toolkit.inference.bounds import why_unbounded as why_unbounded
from fire_toolkit.inference.differences import holm as holm
from fire_toolkit.inference.differences import score_differences as score_differences
from fire_toolkit.inference.honest import scores_with_uncertainty as scores_with_uncertainty
from fire_toolkit.inference.leave_out import contributions as contributions
from fire_toolkit.inference.leave_out import leave_out as leave_out
from fire_toolkit.inference.leave_out import score_changes as score_changes
from fire_toolkit.inference.limits import clopper_pearson as clopper_pearson
from fire_toolkit.inference.limits import wilson as wilson
from fire_toolkit.inference.orders import compare_orders as compare_orders
