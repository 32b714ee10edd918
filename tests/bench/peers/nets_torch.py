"""The peer of nets.c: nets_torch.py DIR MODE GROUP EPOCHS BATCH RATE WIDTH[,WIDTH ...]. Trains a group of networks with PyTorch on
one thread; prints one JSON line and leaves the predictions of the test rows by the first network, with ALL=1 by every one of them in
turn, in DIR/peer.p.

MODE: plain, foreach or fused (the form of Adam's step), compile (with fused Adam): one network after another; vmap: all of the
group in one call (torch.func), Adam over the stacked parameters; same: one after another, with one output, beta2 .95 and
our rates (of weights RATE / sqrt(fan-in), because ours are divided by it where they are used; of biases .3 RATE). Rows are put in order once an epoch, batches are slices."""
import copy
import json
import math
import os
import sys
import time

import numpy as np
import torch
from torch import nn

SEED = int(os.environ.get("SEED", "1"))


def load(folder, part):
    with open(f"{folder}/meta.json", encoding="ascii") as f:
        columns = json.load(f)["columns"]
    return (torch.from_numpy(np.fromfile(f"{folder}/{part}.x", np.float32).reshape(-1, columns)),
            torch.from_numpy(np.fromfile(f"{folder}/{part}.y", np.float32).astype(np.int64)))


def network(inputs, widths):
    layers = []
    for width in widths:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 2))


def adam_as_ours(net, rate):
    groups = []
    for m in net:
        if isinstance(m, nn.Linear):
            groups += [{"params": [m.weight], "lr": rate * m.in_features ** -.5}, {"params": [m.bias], "lr": .3 * rate}]
    return torch.optim.Adam(groups, betas=(.9, .95), fused=True)


def adam(parameters, rate, mode):
    how = {"foreach": {"foreach": True}, "plain": {"foreach": False}}.get(mode, {"fused": True})
    return torch.optim.Adam(parameters, lr=rate, **how)


def batches(x, y, epochs, batch, optimizer):
    """The learning rates fall to 0 along a cosine."""
    step, steps, first = 0, epochs * math.ceil(len(x) / batch), [g["lr"] for g in optimizer.param_groups]
    for _ in range(epochs):
        order = torch.randperm(len(x))
        xs, ys = x[order], y[order]
        for at in range(0, len(x), batch):
            for g, begun in zip(optimizer.param_groups, first):
                g["lr"] = begun * .5 * (1 + math.cos(math.pi * step / steps))
            step += 1
            yield xs[at:at + batch], ys[at:at + batch]


def train_one(net, x, y, mode, epochs, batch, rate):
    if mode == "same":
        net[-1] = nn.Linear(net[-1].in_features, 1)
        y = y.to(torch.float32)
    optimizer = adam_as_ours(net, rate) if mode == "same" else adam(net.parameters(), rate, mode)
    loss = nn.BCEWithLogitsLoss() if mode == "same" else nn.CrossEntropyLoss()

    def forward(a, b):
        return loss(net(a)[:, 0] if mode == "same" else net(a), b)

    forward = torch.compile(forward) if mode == "compile" else forward
    for a, b in batches(x, y, epochs, batch, optimizer):
        optimizer.zero_grad(set_to_none=True)
        forward(a, b).backward()
        optimizer.step()


def train_group(nets, x, y, epochs, batch, rate):
    from torch.func import functional_call, grad, stack_module_state, vmap

    parameters, _ = stack_module_state(nets)
    parameters = {k: v.detach().requires_grad_() for k, v in parameters.items()}
    optimizer, loss = adam(parameters.values(), rate, "fused"), nn.CrossEntropyLoss()

    def one(p, a, b):
        return loss(functional_call(nets[0], p, (a,)), b)

    gradients = vmap(grad(one), in_dims=(0, None, None))
    for a, b in batches(x, y, epochs, batch, optimizer):
        for k, g in gradients({k: v.detach() for k, v in parameters.items()}, a, b).items():
            parameters[k].grad = g
        optimizer.step()
    with torch.no_grad():
        for k, v in nets[0].named_parameters():
            v.copy_(parameters[k][0])


def main():
    folder, mode, group, epochs, batch, rate, widths = sys.argv[1:]
    group, epochs, batch, rate = int(group), int(epochs), int(batch), float(rate)
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    x, y = load(folder, "train")
    nets = [network(x.shape[1], list(map(int, widths.split(",")))) for _ in range(group)]

    def train(some, a, b, n):
        if mode == "vmap":
            train_group(some, a, b, n, batch, rate)
        else:
            for net in some:
                train_one(net, a, b, mode, n, batch, rate)

    # What PyTorch loads and compiles at the first step is not timed: with Adam, more than a second.
    train(copy.deepcopy(nets[:2]), x[:2 * batch], y[:2 * batch], 1)
    wall, cpu = time.monotonic(), time.process_time()
    train(nets, x, y, epochs)
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    rows = load(folder, "test")[0]
    with torch.no_grad(), open(f"{folder}/peer.p", "wb") as f:
        for net in nets if os.environ.get("ALL") else nets[:1]:
            z = net(rows)
            (z.sigmoid()[:, 0] if mode == "same" else z.softmax(1)[:, 1]).numpy().tofile(f)
    print(json.dumps({"cpu": cpu, "wall": wall}))


if __name__ == "__main__":
    main()
