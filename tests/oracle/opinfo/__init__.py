"""PyTorch's own database of ops and sample inputs, run by wgtorch beside torch."""
