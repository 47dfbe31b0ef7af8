"""Random numbers: the same on every device, distributed as asked, and repeatable from a state."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import wgtorch as wt
from wgtorch.nn import functional as F

MANY = 4000


def drawn_on_both(webgpu, draw):
    """What `draw(device)` gives on the cpu and on webgpu, from the same seed."""
    results = []
    for device in ("cpu", webgpu):
        wt.manual_seed(7)
        draw(device)  # a second draw starts where the first ended
        results.append(draw(device).cpu())
    return results


SAME = {
    "rand": lambda d: wt.rand(5, 7, device=d),
    "rand half": lambda d: wt.rand(33, device=d, dtype=wt.float16),
    "rand bfloat16": lambda d: wt.rand(33, device=d, dtype=wt.bfloat16),
    "randint": lambda d: wt.randint(-5, 1000, (9,), device=d),
    "randint wide": lambda d: wt.randint(-(2**40), 2**50, (9,), device=d),
    "randint all": lambda d: wt.randint(-(2**63), 2**63 - 1, (9,), device=d),
    "randint int8": lambda d: wt.randint(-128, 127, (9,), device=d, dtype=wt.int8),
    "randperm": lambda d: wt.randperm(31, device=d),
    "bernoulli": lambda d: wt.bernoulli(wt.linspace(0, 1, 50, device=d)),
    "bernoulli_": lambda d: wt.zeros(50, device=d, dtype=wt.int32).bernoulli_(0.3),
    "random_": lambda d: wt.zeros(50, device=d).random_(),
    "random_ bool": lambda d: wt.zeros(50, device=d, dtype=wt.bool).random_(),
    "multinomial": lambda d: wt.multinomial(wt.tensor([1.0, 0, 3, 2], device=d), 40, True),
    "multinomial one": lambda d: wt.multinomial(wt.tensor([[1.0, 0, 3, 2]] * 9, device=d), 1),
    "poisson": lambda d: wt.poisson(wt.full((20,), 3.5, device=d)),
    "dropout": lambda d: wt.dropout(wt.ones(9, 9, device=d), 0.3, True),
    "channels": lambda d: F.dropout2d(wt.ones(3, 5, 2, 2, device=d), 0.5),
}


@pytest.mark.parametrize("name", SAME)
def test_both_devices_draw_the_same(name, webgpu):
    cpu, gpu = drawn_on_both(webgpu, SAME[name])
    assert gpu.dtype is cpu.dtype
    assert gpu.tolist() == cpu.tolist()


CLOSE = {
    "randn": lambda d: wt.randn(5, 7, device=d),
    "normal": lambda d: wt.normal(wt.arange(9.0, device=d), 0.5),
    "exponential_": lambda d: wt.zeros(50, device=d).exponential_(2),
    "log_normal_": lambda d: wt.zeros(50, device=d).log_normal_(0, 0.5),
    "cauchy_": lambda d: wt.zeros(50, device=d).cauchy_(),
    "uniform_": lambda d: wt.zeros(50, device=d).uniform_(-3, 5),
    "rrelu": lambda d: wt.rrelu(-wt.ones(50, device=d), 0.1, 0.3, True),
    "alpha_dropout": lambda d: wt.alpha_dropout(wt.ones(50, device=d), 0.3, True),
}


@pytest.mark.parametrize("name", CLOSE)
def test_both_devices_draw_almost_the_same(name, webgpu):
    cpu, gpu = drawn_on_both(webgpu, CLOSE[name])
    np.testing.assert_allclose(gpu.numpy(), cpu.numpy(), rtol=3e-6, atol=3e-7)


# Distributions

FITS = {
    "rand": (lambda n: wt.rand(n), stats.uniform()),
    "rand float64": (lambda n: wt.rand(n, dtype=wt.float64), stats.uniform()),
    "randn": (lambda n: wt.randn(n), stats.norm()),
    "normal": (lambda n: wt.normal(2.0, 3.0, (n,)), stats.norm(2, 3)),
    "uniform_": (lambda n: wt.empty(n).uniform_(-3, 5), stats.uniform(-3, 8)),
    "normal_": (lambda n: wt.empty(n).normal_(-1, 0.5), stats.norm(-1, 0.5)),
    "exponential_": (lambda n: wt.empty(n).exponential_(2), stats.expon(scale=0.5)),
    "log_normal_": (lambda n: wt.empty(n).log_normal_(0.5, 0.7),
                    stats.lognorm(0.7, scale=math.exp(0.5))),
    "cauchy_": (lambda n: wt.empty(n).cauchy_(1, 2), stats.cauchy(1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_continuous_distribution(name):
    draw, distribution = FITS[name]
    wt.manual_seed(11)
    assert stats.kstest(draw(MANY).numpy(), distribution.cdf).pvalue > 0.01


COUNTS = {
    "randint": (lambda n: wt.randint(3, 9, (n,)), stats.randint(3, 9)),
    "geometric_": (lambda n: wt.empty(n).geometric_(0.3), stats.geom(0.3)),
    "poisson": (lambda n: wt.poisson(wt.full((n,), 2.5)), stats.poisson(2.5)),
    "poisson of 10": (lambda n: wt.poisson(wt.full((n,), 10.0)), stats.poisson(10)),
    "poisson of 400": (lambda n: wt.poisson(wt.full((n,), 400.0)), stats.poisson(400)),
    "binomial of few": (lambda n: wt.binomial(wt.full((n,), 30.0), wt.tensor(0.2)),
                        stats.binom(30, 0.2)),
    "binomial of many": (lambda n: wt.binomial(wt.full((n,), 1000.0), wt.tensor(0.7)),
                         stats.binom(1000, 0.7)),
    "bernoulli": (lambda n: wt.bernoulli(wt.full((n,), 0.3)), stats.bernoulli(0.3)),
    "one of a row": (lambda n: wt.multinomial(wt.tensor([[1.0, 0, 3, 4]] * n), 1),
                     stats.rv_discrete(values=([0, 2, 3], [1 / 8, 3 / 8, 4 / 8]))),
    "many of a row": (lambda n: wt.multinomial(wt.tensor([1.0, 0, 3, 4]), n, True),
                      stats.rv_discrete(values=([0, 2, 3], [1 / 8, 3 / 8, 4 / 8]))),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_discrete_distribution(name):
    draw, distribution = COUNTS[name]
    wt.manual_seed(12)
    values, counts = np.unique(draw(MANY).numpy(), return_counts=True)
    chances = distribution.pmf(values)
    assert chances.min() > 0
    common = chances * MANY > 5
    observed = [*counts[common], MANY - counts[common].sum()]
    wanted = [*chances[common] * MANY, MANY - (chances[common] * MANY).sum()]
    rest = -1 if wanted[-1] < 1 else None
    assert stats.chisquare(observed[:rest], wanted[:rest], sum_check=False).pvalue > 0.01


def test_binomial_at_its_ends(device):
    count = wt.tensor([0.0, 7, 7, 1e6, 1], device=device).expand(50, 5)
    chance = wt.tensor([0.5, 0, 1, 1, 0], device=device)
    assert (wt.binomial(count, chance) == wt.tensor([0.0, 0, 7, 1e6, 0], device=device)).all()
    assert wt.binomial(count.cpu().double(), wt.tensor(0.5).double()).dtype is wt.float64
    with pytest.raises(ValueError, match="floating-point dtypes for count, got: Long"):
        wt.binomial(count.long(), chance)
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        wt.binomial(count.cpu(), chance.cpu().double())
    with pytest.raises(RuntimeError, match="probabilities have to be from 0 to 1"):
        wt.binomial(count, chance + 0.5).tolist()


def test_poisson_of_every_rate(device):
    """Means and deviations over nine decades; a rate of 0 gives 0."""
    wt.manual_seed(21)
    rates = np.array([0, 0.1, 3, 9.99, 10, 77, 1e4, 1e7, 1e9], np.float32)
    many = wt.tensor(rates, device=device).expand(3000, 9)
    drawn = wt.poisson(many).cpu().numpy().astype(np.float64)
    assert (drawn[:, 0] == 0).all() and (drawn == np.floor(drawn)).all()
    errors = (drawn.mean(0) - rates)[1:] / np.sqrt(rates[1:] / 3000)
    assert np.abs(errors).max() < 4
    np.testing.assert_allclose(drawn.var(0)[1:], rates[1:], rtol=0.12)
    assert wt.poisson(many[:0]).shape == (0, 9)
    assert wt.poisson(many[:2].to(wt.float16)).dtype is wt.float16


def test_poisson_needs_no_host(webgpu):
    before = wt.webgpu.fallbacks()
    rates = wt.linspace(0, 300, 400, device=webgpu).reshape(20, 20).t()
    wt.manual_seed(22)
    gpu = wt.poisson(rates)
    wt.manual_seed(22)
    cpu = wt.poisson(rates.cpu())
    assert (gpu.cpu() != cpu).sum() <= 1  # where rounding decides
    assert wt.webgpu.fallbacks() == before


def test_draws_do_not_repeat_and_are_independent(device):
    wt.manual_seed(13)
    a, b = wt.randn(MANY, device=device).cpu().numpy(), wt.randn(MANY, device=device).cpu().numpy()
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.05
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.05


@pytest.mark.parametrize("dtype", [wt.float16, wt.bfloat16, wt.float32, wt.float64], ids=str)
def test_rand_never_reaches_one(dtype):
    wt.manual_seed(14)
    drawn = wt.rand(20000, dtype=dtype)
    assert drawn.dtype is dtype
    assert float(drawn.min()) >= 0 and float(drawn.max()) < 1
    assert abs(float(drawn.float().mean()) - 0.5) < 0.01


def test_complex_numbers_draw_both_parts(device):
    wt.manual_seed(17)
    x = wt.randn(4000, dtype=wt.complex64, device=device).cpu().numpy()
    assert x.dtype == np.complex64
    assert abs(x.real.var() - 0.5) < 0.04 and abs(x.imag.var() - 0.5) < 0.04
    assert abs(np.corrcoef(x.real, x.imag)[0, 1]) < 0.05
    y = wt.rand_like(wt.zeros(50, dtype=wt.complex64, device=device))
    assert y.real.min() >= 0 and y.imag.max() < 1 and (y.real != y.imag).any()


def test_randperm_is_a_permutation():
    wt.manual_seed(15)
    first, second = wt.randperm(100), wt.randperm(100)
    assert sorted(first.tolist()) == list(range(100))
    assert first.tolist() != second.tolist()
    assert wt.randperm(5, dtype=wt.int32).dtype is wt.int32
    assert wt.randperm(0).tolist() == []


def test_integers_reach_both_ends():
    wt.manual_seed(16)
    assert set(wt.randint(-2, 2, (200,)).tolist()) == {-2, -1, 0, 1}
    signs = set((wt.randint(-(2**63), 2**63 - 1, (50,)) < 0).tolist())
    assert signs == {True, False}
    drawn = wt.zeros(5000, dtype=wt.int8).random_()
    assert (int(drawn.min()), int(drawn.max())) == (0, 127)
    assert set(wt.zeros(50).random_(4, 6).tolist()) == {4.0, 5.0}
    assert float(wt.zeros(200).random_().max()) > 2**23


# Constructors


def test_arguments(device):
    assert wt.rand(2, 3, device=device).shape == (2, 3)
    assert wt.randn((2, 3), device=device).shape == (2, 3)
    assert wt.rand(size=(4,)).shape == (4,)
    assert wt.rand([]).shape == ()
    assert wt.randn(2, requires_grad=True).requires_grad
    assert wt.randint(5, (2,)).dtype is wt.int64
    assert wt.randint(high=5, size=(2,), dtype=wt.float32).dtype is wt.float32
    like = wt.zeros(2, 3, dtype=wt.float16, device=device)
    for made in (wt.rand_like(like), wt.randn_like(like), wt.randint_like(like, 4)):
        assert (made.shape, made.dtype, made.device) == (like.shape, like.dtype, like.device)
    assert wt.randn_like(like, dtype=wt.float32).dtype is wt.float32
    out = wt.zeros(2, 3, device=device)
    assert wt.rand(2, 3, out=out) is out and float(out.sum()) > 0
    assert wt.normal(wt.zeros(2, 1), wt.ones(3)).shape == (2, 3)


def test_an_empty_draw(device):
    assert wt.rand(0, 3, device=device).shape == (0, 3)
    assert wt.randint(4, (0,), device=device).tolist() == []


def test_filling_in_place_is_a_write(device):
    x = wt.zeros(3, 4, device=device)
    before, version = x * 1, x._version
    assert x[1].uniform_(2, 3) is not None
    assert x._version == version + 1
    assert (before == 0).all()
    assert (x[0] == 0).all() and (x[1] >= 2).all() and (x[2] == 0).all()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        wt.ones(2, requires_grad=True).normal_()
    w = wt.ones(2, requires_grad=True)
    y = w * 1
    y.uniform_()
    y.sum().backward()
    assert w.grad.tolist() == [0, 0]


# Generators and state


def test_a_seed_repeats_everything(device):
    assert wt.manual_seed(3) is wt.default_generator

    def some():
        return wt.rand(5, device=device).tolist(), wt.randint(9, (5,), device=device).tolist()

    first = some()
    wt.manual_seed(3)
    assert some() == first
    assert wt.initial_seed() == 3
    wt.manual_seed(4)
    assert wt.rand(5, device=device).tolist() != first[0]


def test_seeds():
    assert wt.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(ValueError, match="Overflow"):
        wt.manual_seed(2**64)
    drawn = {wt.seed(), wt.seed()}
    assert len(drawn) == 2 and wt.initial_seed() in drawn
    wt.manual_seed(1)


def test_generators_are_independent(device):
    one, two = (wt.Generator(device).manual_seed(5) for _ in range(2))
    wt.manual_seed(5)
    a = wt.rand(4, device=device, generator=one)
    b = wt.rand(4, device=device, generator=two)
    assert a.tolist() == b.tolist() == wt.rand(4, device=device).tolist()
    assert wt.rand(4, device=device, generator=one).tolist() != a.tolist()
    assert one.device == wt.device(device)


def test_state_comes_back(device):
    generator = wt.Generator(device).manual_seed(2**63 + 5)
    wt.rand(7, device=device, generator=generator)
    state = generator.get_state()
    assert state.dtype is wt.uint8 and state.device.type == "cpu"
    twin = generator.clone_state()
    want = wt.randn(5, device=device, generator=generator).tolist()
    assert wt.randn(5, device=device, generator=generator).tolist() != want
    generator.set_state(state)
    assert wt.randn(5, device=device, generator=generator).tolist() == want
    assert wt.randn(5, device=device, generator=twin).tolist() == want
    state = wt.get_rng_state(device)
    want = wt.rand(3, device=device).tolist()
    wt.set_rng_state(state, device)
    assert wt.rand(3, device=device).tolist() == want


def test_fork_rng(device):
    wt.manual_seed(8)
    want = wt.rand(3, device=device).tolist()
    wt.manual_seed(8)
    with wt.random.fork_rng():
        wt.manual_seed(99)
        wt.rand(3, device=device)
    assert wt.rand(3, device=device).tolist() == want
    with wt.random.fork_rng(enabled=False):
        wt.manual_seed(99)
    assert wt.initial_seed() == 99


def test_a_wrong_state_is_refused():
    generator = wt.Generator()
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        generator.set_state(wt.zeros(16))
    with pytest.raises(RuntimeError, match="wrong size"):
        generator.set_state(wt.zeros(3, dtype=wt.uint8))
    with pytest.raises(TypeError, match="must be torch.Generator, not int"):
        wt.rand(2, generator=3)


def test_a_generator_belongs_to_a_device(webgpu):
    with pytest.raises(RuntimeError, match="Expected a 'webgpu' device type for generator"):
        wt.rand(2, device=webgpu, generator=wt.Generator())


# Errors

REFUSED = [
    (lambda: wt.dropout(wt.ones(2), 1.5, True), RuntimeError,
     "dropout probability has to be between 0 and 1, but got 1.5"),
    (lambda: F.dropout(wt.ones(2), -0.5), ValueError,
     "dropout probability has to be between 0 and 1, but got -0.5"),
    (lambda: wt.dropout(wt.ones(2, dtype=wt.int64), 0.5, True), RuntimeError,
     "result type Float can't be cast to the desired output type Long"),
    (lambda: wt.feature_dropout(wt.ones(2), 0.5, True), RuntimeError,
     "Feature dropout requires at least 2 dimensions in the input"),
    (lambda: wt.randint(5, 3, (2,)), RuntimeError,
     "random_ expects 'from' to be less than 'to', but got from=5 >= to=3"),
    (lambda: wt.randint(0, 300, (2,), dtype=wt.uint8), RuntimeError,
     "to - 1 is out of bounds for unsigned char"),
    (lambda: wt.randint(-1, 3, (2,), dtype=wt.uint8), RuntimeError,
     "from is out of bounds for unsigned char"),
    (lambda: wt.randint(3), TypeError, "missing 1 required positional argument: 'size'"),
    (lambda: wt.randperm(-1), RuntimeError, "negative dimension -1"),
    (lambda: wt.randperm(300, dtype=wt.uint8), RuntimeError,
     "value cannot be converted to type uint8_t without overflow"),
    (lambda: wt.rand(2, dtype=wt.int32), NotImplementedError,
     "\"check_uniform_bounds\" not implemented for 'Int'"),
    (lambda: wt.randn_like(wt.ones(2, dtype=wt.int64)), NotImplementedError,
     "\"normal_kernel_cpu\" not implemented for 'Long'"),
    (lambda: wt.ones(2).uniform_(3, 1), RuntimeError,
     r"uniform_ expects to return a \[from, to\) range, but found from=3 > to=1"),
    (lambda: wt.ones(2).normal_(0, -1), RuntimeError,
     "normal expects std >= 0.0, but found std -1"),
    (lambda: wt.normal(wt.zeros(2), wt.tensor([1.0, -1])), RuntimeError,
     "normal expects all elements of std >= 0.0"),
    (lambda: wt.ones(2).exponential_(-1), RuntimeError,
     "exponential_ expects lambda > 0.0, but found lambda=-1"),
    (lambda: wt.ones(2, dtype=wt.int32).exponential_(), RuntimeError,
     "dtype must be a floating point but you specified Int"),
    (lambda: wt.ones(2).geometric_(1.0), RuntimeError,
     r"geometric_ expects p to be in \(0, 1\), but got p=1"),
    (lambda: wt.ones(2).cauchy_(0, -1), RuntimeError,
     "cauchy_ expects sigma > 0.0, but found sigma=-1"),
    (lambda: wt.ones(2).log_normal_(0, -1), RuntimeError,
     "log_normal_ expects std > 0.0, but found std=-1"),
    (lambda: wt.ones(2).bernoulli_(1.5), RuntimeError,
     r"bernoulli_ expects p to be in \[0, 1\], but got p=1.5"),
    (lambda: wt.bernoulli(wt.tensor([1.5])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    (lambda: wt.bernoulli(wt.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
    (lambda: wt.multinomial(wt.tensor([1, 2]), 1), RuntimeError,
     "multinomial only supports floating-point dtypes for input, got: Long"),
    (lambda: wt.multinomial(wt.tensor([1.0, 2]), 3), RuntimeError,
     r"cannot sample n_sample > prob_dist.size\(-1\) samples without replacement"),
    (lambda: wt.multinomial(wt.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
    (lambda: wt.multinomial(wt.tensor([1.0, -1]), 1), RuntimeError, "element < 0"),
    (lambda: wt.multinomial(wt.ones(2), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
    (lambda: wt.poisson(wt.tensor([-1.0])), RuntimeError, "invalid Poisson rate"),
    (lambda: wt.rrelu(wt.ones(2), 0.3, 0.1), RuntimeError,
     "Lower bound should be less than or equal to the upper bound"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=[text for _, _, text in REFUSED])
def test_what_is_refused(case):
    call, error, text = case
    with pytest.raises(error, match=text):
        call()
