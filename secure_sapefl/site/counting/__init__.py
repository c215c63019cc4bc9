"""A site's half of a round of counts: of a Table 1, or before the first round of training."""
