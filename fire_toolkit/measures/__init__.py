"""Measures: one small file for each family, registered by name, over a run joined with qrels.

Read `definition` first: what a measure is, with its source and conventions, and what bounds and intervals
need to know of it. Then `bpref`, a whole measure, and `first_positive`, which has C@k; what they sum are the
`Places` of a ranking. `names` reads `C@10:rel=2`, `registry` lists the files, `defaults` the measures that
commands take, and `depths` notes which measures read deeper than a run.
"""

from fire_toolkit.matching.coded import CodedQrels as CodedQrels
from fire_toolkit.matching.coded import code_qrels as code_qrels
from fire_toolkit.matching.groups import count_missing_members as count_missing_members
from fire_toolkit.matching.groups import restrict_run as restrict_run
from fire_toolkit.matching.groups import restrict_to_groups as restrict_to_groups
from fire_toolkit.matching.judged_ranking import JudgedRanking as JudgedRanking
from fire_toolkit.measures.definition import Definition as Definition
from fire_toolkit.measures.definition import Measure as Measure
from fire_toolkit.measures.definition import Parameter as Parameter
from fire_toolkit.measures.names import list_measures as list_measures
from fire_toolkit.measures.names import parse_measure as parse_measure
from fire_toolkit.measures.names import parse_measures as parse_measures
