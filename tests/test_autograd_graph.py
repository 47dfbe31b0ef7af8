"""The graph in the user's hands: nodes, edges, anomaly mode."""

import warnings

import numpy as np
import pytest

import wgtorch as torch
from wgtorch.autograd.graph import GradientEdge, Node, get_gradient_edge, increment_version


def leaf(data, device="cpu"):
    return torch.tensor(data, dtype=torch.float32, device=device, requires_grad=True)


def close(tensor, want, rtol=1e-5):
    np.testing.assert_allclose(tensor.detach().cpu().numpy(), want, rtol=rtol, atol=1e-6)


def test_nodes_tell_their_names_and_edges(device):
    x, c = leaf([1.0, 2.0], device), torch.tensor([1.0, 2.0], device=device)
    h = x * c
    y = h.exp()
    node = h.grad_fn
    assert node.name() == "MulBackward0" and type(node).__name__ == "MulBackward0"
    assert isinstance(node, Node) and "MulBackward0" in repr(node)
    (parent, number), (nothing, zero) = node.next_functions
    assert parent.name() == "AccumulateGrad" and parent.variable is x
    assert (number, nothing, zero) == (0, None, 0)
    assert y.grad_fn.next_functions == ((node, 0),)
    assert y.grad_fn._sequence_nr() > node._sequence_nr()
    node.metadata["mine"] = 1
    assert h.grad_fn.metadata == {"mine": 1}
    assert type(node) is type((x * x).grad_fn) and type(node) is not type(y.grad_fn)


def test_saved_attributes(device):
    x, c = leaf([1.0, 2.0], device), torch.tensor([3.0, 4.0], device=device)
    assert (x * c).grad_fn._saved_self is None and (x * c).grad_fn._saved_other is c
    assert (x * 3.0).grad_fn._saved_other == 3.0
    with pytest.raises(AttributeError, match="saves no 'nothing'"):
        _ = (x * c).grad_fn._saved_nothing
    with pytest.raises(AttributeError):
        _ = (x * c).grad_fn.nothing
    assert x.sum().grad_fn._saved_dim == (0,)


def test_gradient_edges(device):
    x = leaf([1.0, 2.0], device)
    h = x * 2.0
    edge = get_gradient_edge(h)
    assert isinstance(edge, GradientEdge) and edge.node is h.grad_fn and edge.output_nr == 0
    y = (h * h).sum()
    del h
    (g,) = torch.autograd.grad(y, edge, retain_graph=True)
    close(g, [4.0, 8.0])
    y.backward(inputs=[get_gradient_edge(x)])
    close(x.grad, [8.0, 16.0])
    with pytest.raises(RuntimeError, match="does not require gradients"):
        get_gradient_edge(torch.tensor([1.0]))


def test_gradients_may_start_from_edges(device):
    x = leaf([1.0, 2.0], device)
    edge = get_gradient_edge(x * 3.0)
    (g,) = torch.autograd.grad(edge, x, grad_outputs=torch.ones(2, device=device))
    close(g, [3.0, 3.0])


def test_increment_version(device):
    x = torch.tensor([1.0], device=device)
    increment_version(x)
    increment_version([x, x[0:1]])
    assert x._version == 3


def test_anomaly_mode_names_the_node_and_its_call(device):
    x = leaf([-1.0, 2.0], device)

    def square_root_of(t):
        return t.sqrt()

    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly()
    with mode:
        assert torch.autograd.is_anomaly_enabled() and torch.is_anomaly_enabled()
        y = (square_root_of(x) * 0.0).sum()
        with (
            pytest.warns(UserWarning, match="(?s)Error detected in SqrtBackward0.*square_root_of"),
            pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th"),
        ):
            y.backward()
    assert not torch.autograd.is_anomaly_enabled()


def test_anomaly_mode_without_the_nan_check(device):
    x = leaf([-1.0], device)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        assert not torch.autograd.is_anomaly_check_nan_enabled()
        (x.sqrt() * 0.0).sum().backward()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: 1 / 0):
            y = x.exp().sum()
        with (
            pytest.warns(UserWarning, match="Error detected in ExpBackward0"),
            pytest.raises(ZeroDivisionError),
        ):
            y.backward()
    assert np.isnan(x.grad.item())
    assert torch.autograd.is_anomaly_check_nan_enabled()


def test_anomaly_mode_tells_what_induced_a_second_backward(device):
    x = leaf([4.0], device)
    with torch.autograd.set_detect_anomaly(True):
        (g,) = torch.autograd.grad(x.sqrt().sum(), x, create_graph=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(RuntimeError, match="returned nan"):
                torch.autograd.grad(
                    g, x, grad_outputs=torch.full((1,), float("nan"), device=device)
                )
    text = "\n".join(str(w.message) for w in caught)
    assert "Previous calculation was induced by SqrtBackward0" in text


def test_forward_outside_anomaly_mode_is_unknown(device):
    y = leaf([-1.0], device).sqrt().sum()
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        y.backward()


def test_names_are_at_both_paths():
    autograd, graph = torch.autograd, torch.autograd.graph
    for name in (
        "PackHook", "UnpackHook", "saved_tensors_hooks", "disable_saved_tensors_hooks",
        "save_on_cpu", "allow_mutation_on_saved_tensors", "Node",
    ):  # fmt: skip
        assert getattr(autograd, name) is getattr(graph, name)
    assert autograd.is_anomaly_detection_enabled is autograd.is_anomaly_enabled
    with (
        pytest.raises(RuntimeError, match="cannot be nested"),
        graph.allow_mutation_on_saved_tensors(),
        graph.allow_mutation_on_saved_tensors(),
    ):
        pass
