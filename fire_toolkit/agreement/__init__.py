"""How far annotators agree: Krippendorff's alpha and its relatives, one file each."""

from fire_toolkit.agreement.table import Coefficient, agreement, krippendorff_alpha

__all__ = ["Coefficient", "agreement", "krippendorff_alpha"]
