"""How far annotators agree: Krippendorff's alpha and its relatives, one file each."""
