"""Function transforms: vmap and forward-mode derivatives, as devices whose values hold tensors."""
