"""Machine judges: annotators of another kind, with a ledger of their own that no stage of people's reads."""

from fire_toolkit.machines.callables import judge_pairs as judge_pairs
from fire_toolkit.machines.check import check_judge as check_judge
