"""What may not be written to: memory that is read elsewhere in the same call, or twice the same."""

import pytest

import wgtorch as torch

READ = "some elements of the input tensor and the written-to tensor refer to a single memory"
TWICE = "more than one element of the written-to tensor refers to a single memory location"
INDEX = [0, 2]
REFUSED = {
    "in place": lambda x, i: x[:3].add_(x[1:4]),
    "by name": lambda x, i: x[:3].mul_(other=x[1:4]),
    "by operator": lambda x, i: x.__isub__(x[0]),
    "copied": lambda x, i: x[1:].copy_(x[:-1]),
    "assigned": lambda x, i: x.__setitem__(slice(1, None), x[:-1]),
    "transposed": lambda x, i: x[:4].view(2, 2).add_(x[:4].view(2, 2).t()),
    "as another dtype": lambda x, i: x[:3].add_(x.view(torch.int32)[1:4]),
    "out": lambda x, i: torch.add(x[1:4], x[4], out=x[:3]),
    "out of a scan": lambda x, i: torch.cumsum(x[1:4], 0, out=x[:3]),
    "out, among several": lambda x, i: torch.cat([x[4:], x[:1]], out=x[:3]),
    "out, the same": lambda x, i: torch.index_select(x, 0, i, out=x[:2]),
    "scattered": lambda x, i: x.scatter_(0, i, x[:2]),
    "added at an index": lambda x, i: x.index_add_(0, i, x[4:]),
    "put": lambda x, i: x.__setitem__(i, x[4:]),
    "by itself as index": lambda x, i: i.index_fill_(0, i, 7),
}
ALLOWED = {
    "all of itself": (lambda x, i: x[:3].add_(x[:3]), [0, 2, 4, 3, 4, 5]),
    "copied to itself": (lambda x, i: x[:3].copy_(x[:3]), [0, 1, 2, 3, 4, 5]),
    "beside": (lambda x, i: x[:3].add_(x[3:]), [3, 5, 7, 3, 4, 5]),
    "between": (lambda x, i: x[::2].add_(x[1::2]), [1, 1, 5, 3, 9, 5]),
    "out": (lambda x, i: torch.add(x[:3], 1, out=x[:3]), [1, 2, 3, 3, 4, 5]),
    "a number of its own": (lambda x, i: x.masked_fill_(x > 3, x[1]), [0, 1, 2, 3, 1, 1]),
    "chosen by a mask": (lambda x, i: x.__setitem__(x > 3, x[1]), [0, 1, 2, 3, 1, 1]),
    "one number of all": (lambda x, i: x[:1].expand(4).zero_(), [0, 1, 2, 3, 4, 5]),
    "filled": (lambda x, i: x[1:2].expand(4).fill_(9), [0, 9, 2, 3, 4, 5]),
}


@pytest.fixture
def memory(device):
    return torch.arange(6.0, device=device), torch.tensor(INDEX, device=device)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_read_is_not_written_to(memory, name):
    with pytest.raises(RuntimeError, match=READ):
        REFUSED[name](*memory)
    assert memory[0].tolist() == [0, 1, 2, 3, 4, 5] and memory[1].tolist() == INDEX


@pytest.mark.parametrize("name", ALLOWED)
def test_the_same_elements_or_others_may_be(memory, name):
    write, want = ALLOWED[name]
    write(*memory)
    assert memory[0].tolist() == want


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.copy_(torch.ones(3, device=x.device)),
        lambda x: x.__setitem__(slice(None), torch.ones(3, device=x.device)),
        lambda x: torch.add(x, 1, out=x),
        lambda x: x.uniform_(),
        lambda x: x.fill_(torch.tensor(7.0, device=x.device)),
    ],
)
def test_one_place_does_not_take_several_elements(memory, write):
    with pytest.raises(RuntimeError, match=f"^unsupported operation: {TWICE}"):
        write(memory[0][:1].expand(3))
    assert memory[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_number_in_what_was_repeated_has_no_gradient(device):
    x = torch.ones(3, device=device, requires_grad=True)
    y = x * 2
    y[:1].expand(4).fill_(5.0)
    assert y.tolist() == [5, 2, 2]
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 8, 8]
