"""Adaptive softmax: a distribution over all classes, and a loss that sees few of them."""

import wgtorch as torch


def test_a_distribution(device):
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(6, 12, [3, 7], div_value=2.0, device=device)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    x, target = torch.randn(20, 6, device=device), torch.arange(20, device=device) % 12
    every = layer.log_prob(x)
    torch.testing.assert_close(every.exp().sum(1), torch.ones(20, device=device))
    output, loss = layer(x, target)
    torch.testing.assert_close(output, every.gather(1, target.unsqueeze(1)).squeeze(1))
    torch.testing.assert_close(loss, -output.mean())
    assert (layer.tail[1][0].weight.shape, layer.tail[1][1].weight.shape) == ((1, 6), (5, 1))
    shortlist = layer.head(x).argmax(1) < 3  # which predict answers from the head
    assert layer.predict(x)[~shortlist].tolist() == every.argmax(1)[~shortlist].tolist()
