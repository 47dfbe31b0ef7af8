"""What the tests of the profiler share: a small step, and how its events are asked for."""


def on(device):
    return "webgpu" if device == "webgpu" else None


def names(events):
    return [event.name for event in events]


def step(x):
    y = (x @ x.t()).tanh().sum()
    y.backward()
    return y
