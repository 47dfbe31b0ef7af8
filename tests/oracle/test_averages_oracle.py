"""Averaged models against torch: parameters, buffers and counts along a training."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import wgtorch as wt  # noqa: E402
from tests.oracle.beside import alike, outcome  # noqa: E402

FORMS = {
    "plain": "swa.AveragedModel(m)",
    "swa": "swa.AveragedModel(m, multi_avg_fn=swa.get_swa_multi_avg_fn())",
    "swa, one by one": "swa.AveragedModel(m, avg_fn=swa.get_swa_avg_fn(), use_buffers=True)",
    "ema": "swa.AveragedModel(m, multi_avg_fn=swa.get_ema_multi_avg_fn(0.8), use_buffers=True)",
    "ema, one by one": "swa.AveragedModel(m, d, swa.get_ema_avg_fn(0.7))",
    "own": "swa.AveragedModel(m, d, lambda a, c, n: a * 0.5 + c * n)",
    "own, of buffers": "swa.AveragedModel(m, None, lambda a, c, n: a + c * n, use_buffers=True)",
    "both": "swa.AveragedModel(m, avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=lambda *a: 0)",
    "decay": "swa.get_ema_avg_fn(1.5)",
    "decay of many": "swa.get_ema_multi_avg_fn(-1)",
    "strategy": "swa.SWALR(t.optim.SGD(m.parameters()), 0.1, anneal_strategy='exp')",
    "epochs": "swa.SWALR(t.optim.SGD(m.parameters()), 0.1, -1)",
    "rates": "swa.SWALR(t.optim.SGD(m.parameters()), [0.1, 0.2])",
}


def trained(t, form, device):
    rng = np.random.default_rng(0)

    def drawn(*shape):
        return t.tensor(rng.standard_normal(shape).astype(np.float32), device=device)

    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4)).to(device)
    averaged = eval(form, {"swa": t.optim.swa_utils, "m": model, "d": device, "t": t})
    for _ in range(3):
        with t.no_grad():
            for parameter in model.parameters():
                parameter.copy_(drawn(*parameter.shape))
        model(drawn(5, 3))
        averaged.update_parameters(model)
    state = averaged.state_dict()
    batches = [drawn(5, 3), [drawn(7, 3), drawn(1)]]
    averaged.eval()
    t.optim.swa_utils.update_bn(batches, averaged, device)
    norm = averaged.module[1]
    again = [norm.running_mean, norm.running_var, norm.momentum, norm.training]
    return list(state), [*state.values()], again, averaged(batches[0])


@pytest.mark.parametrize("form", FORMS)
def test_as_torch(form, device):
    got, warned = outcome(wt, lambda t: trained(t, FORMS[form], device))
    wanted, also = outcome(torch, lambda t: trained(t, FORMS[form], "cpu"))
    assert alike(got, wanted), (got, wanted)
    assert warned == also
