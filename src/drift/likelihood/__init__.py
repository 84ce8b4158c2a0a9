"""The fused likelihoods: kernels on plain arrays, and PyTensor operations that wrap them."""
