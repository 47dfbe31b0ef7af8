"""A variational autoencoder of handwritten digits: distributions with gradients, and a picture.

An encoder says for each image where its code probably is, a normal distribution of 8 numbers; a
decoder says of a code which pixels are likely. Both learn to make the images likely and the codes
normal: the bound of Kingma and Welling (2014), whose gradient flows through samples of the code.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from train_digits import TESTED, digits

import wgtorch as torch
from wgtorch import Tensor, nn
from wgtorch.distributions import ContinuousBernoulli, Independent, Normal, kl_divergence
from wgtorch.utils.data import DataLoader, TensorDataset

CODE, SHOWN = 8, 24  # numbers of a code; images in each part of the picture


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 2 * CODE)
        )
        self.decoder = nn.Sequential(nn.Linear(CODE, 256), nn.SiLU(), nn.Linear(256, 64))

    def code(self, images: Tensor) -> Independent:
        loc, log_scale = self.encoder(images).chunk(2, -1)
        return Independent(Normal(loc, log_scale.exp()), 1)

    def image(self, code: Tensor) -> Independent:
        return Independent(ContinuousBernoulli(logits=self.decoder(code)), 1)

    def prior(self, like: Tensor) -> Independent:
        return Independent(Normal(torch.zeros_like(like), torch.ones_like(like)), 1)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """(how likely the images are, how far the codes are from the prior), in nats each."""
        codes = self.code(images)
        drawn = codes.rsample()
        return self.image(drawn).log_prob(images.flatten(1)), kl_divergence(
            codes, self.prior(drawn)
        )


def train(model: Autoencoder, learned: TensorDataset, epochs: int) -> list[tuple[float, float]]:
    """Both terms of the bound, on average over each epoch."""
    loader = DataLoader(learned, 128, shuffle=True, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    history = []
    for _ in range(epochs):
        terms = []
        for images, _ in loader:
            optimizer.zero_grad()
            likely, apart = model(images)
            (apart - likely).mean().backward()
            optimizer.step()
            terms.append(torch.stack([likely.mean(), apart.mean()]).detach())
        likely_mean, apart_mean = torch.stack(terms).mean(0).tolist()  # the one wait of an epoch
        history.append((likely_mean, apart_mean))
    return history


def draw(model: Autoencoder, images: Tensor, path: Path) -> None:
    """Digits that it has not seen, what it makes of them, and digits that never were."""
    try:
        import matplotlib
    except ImportError:
        print("No picture without matplotlib: pip install matplotlib")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    few = images[:SHOWN]
    with torch.no_grad():
        codes = model.code(few).mean
        again = model.image(codes).mean
        made = model.image(model.prior(codes).sample()).mean
    parts = [few.flatten(1), again, made]
    titles = ("digits", "their codes, decoded", "codes of the prior, decoded")
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for axis, title, part in zip(axes, titles, parts, strict=True):
        pixels = part.cpu().numpy().reshape(4, 6, 8, 8)
        axis.imshow(np.pad(pixels, [(0, 0), (0, 0), (0, 1), (0, 1)]).swapaxes(1, 2).reshape(36, 54),
                    cmap="gray_r", vmin=0, vmax=1)  # fmt: skip
        axis.set_title(title)
        axis.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"Picture: {path}")


def main(given: list[str] | None = None) -> tuple[float, float]:
    """The bound, in nats of density, of the first epoch and of images that were held back."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="webgpu" if torch.is_webgpu_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--png", type=Path, default=Path("vae_digits.png"))
    options = parser.parse_args(given)
    torch.manual_seed(0)
    learned, tested = digits(options.device)
    model = Autoencoder().to(options.device)
    start = time.perf_counter()
    history = train(model, learned, options.epochs)
    seconds = time.perf_counter() - start
    print(f"{options.epochs} epochs on {options.device} in {seconds:.1f} s")
    print("epoch   likelihood   divergence   bound")
    for epoch in sorted({0, *np.linspace(0, options.epochs - 1, 5).astype(int).tolist()}):
        likely, apart = history[epoch]
        print(f"{epoch + 1:5} {likely:12.2f} {apart:12.2f} {likely - apart:7.2f}")
    with torch.no_grad():
        likely, apart = (term.mean().item() for term in model(tested.tensors[0]))
    print(f"{TESTED:5} {likely:12.2f} {apart:12.2f} {likely - apart:7.2f}   images held back")
    draw(model, tested.tensors[0], options.png)
    return history[0][0] - history[0][1], likely - apart


if __name__ == "__main__":
    main()
