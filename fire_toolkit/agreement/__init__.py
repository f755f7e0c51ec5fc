"""How far annotators agree: Krippendorff's alpha and its relatives, one file each."""

from fire_toolkit.agreement.annotators import annotator_matrix as annotator_matrix
from fire_toolkit.agreement.annotators import leave_one_out as leave_one_out
from fire_toolkit.agreement.captions import caption_disagreement as caption_disagreement
from fire_toolkit.agreement.consistency import self_consistency as self_consistency
from fire_toolkit.agreement.groups import join_columns as join_columns
from fire_toolkit.agreement.intervals import Interval as Interval
from fire_toolkit.agreement.intervals import alpha_interval as alpha_interval
from fire_toolkit.agreement.pages import page_effects as page_effects
from fire_toolkit.agreement.profiles import annotator_profiles as annotator_profiles
from fire_toolkit.agreement.questions import agreement_by_question as agreement_by_question
from fire_toolkit.agreement.registry import STATISTICS as STATISTICS
from fire_toolkit.agreement.summary import AgreementSummary as AgreementSummary
from fire_toolkit.agreement.summary import agreement_summary as agreement_summary
from fire_toolkit.agreement.table import agreement as agreement
from fire_toolkit.agreement.table import agreement_intervals as agreement_intervals
from fire_toolkit.agreement.table import krippendorff_alpha as krippendorff_alpha
from fire_toolkit.agreement.times import add_times as add_times
from fire_toolkit.tables import first_round as first_round
