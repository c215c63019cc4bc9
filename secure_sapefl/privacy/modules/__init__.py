"""Records of any `torch.nn.Module` under a budget, one site at a time.

records         the gradient of every record, by Opacus or by `torch.func`; which way clipping takes
ghost           clipped sums without such gradients, where that is shorter
trial           what every way is held against before it is used
bench           what the two ways cost
"""
