"""The peer of nets.c with convolutions: cnn_torch.py DIR MODE EPOCHS BATCH RATE WIDTH[,WIDTH ...]. Trains one network with PyTorch on
one thread; prints one JSON line and leaves the predictions of the test rows in DIR/peer.p.

MODE: contiguous or last (the order of the channels in memory), native (contiguous, without oneDNN), compile or compile_last (of the
forward and the backward pass). Adam is the fused one. Rows are put in order once an epoch, batches are slices."""
import json
import os
import sys
import time

import torch
from torch import nn

from nets_torch import adam, batches, load


def network(side, widths):
    layers, channels, convolves = [], 1, True
    for width in widths:
        if width.startswith("c"):
            layers += [nn.Conv2d(channels, int(width[1:]), 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True)]
            channels, side = int(width[1:]), (side + 1) // 2
            continue
        if convolves:
            layers, channels, convolves = layers + [nn.Flatten()], channels * side * side, False
        layers += [nn.Linear(channels, int(width)), nn.ReLU()]
        channels = int(width)
    return nn.Sequential(*layers, nn.Linear(channels, 10))


def train(net, forward, x, y, epochs, batch, rate):
    optimizer = adam(net.parameters(), rate, "fused")
    for a, b in batches(x, y, epochs, batch, optimizer):
        optimizer.zero_grad(set_to_none=True)
        forward(a, b).backward()
        optimizer.step()


def main():
    folder, mode, epochs, batch, rate, widths = sys.argv[1:]
    batch = int(batch)
    torch.set_num_threads(1)
    torch.manual_seed(int(os.environ.get("SEED", "1")))
    torch.backends.mkldnn.enabled = mode != "native"
    layout = torch.channels_last if mode.endswith("last") else torch.contiguous_format
    x, y = load(folder, "train")
    side = round(x.shape[1] ** .5)

    def images(rows):
        return rows.reshape(-1, 1, side, side).contiguous(memory_format=layout)

    net = network(side, widths.split(",")).to(memory_format=layout)
    loss = nn.CrossEntropyLoss()

    def forward(a, b):
        return loss(net(a), b)

    forward = torch.compile(forward) if mode.startswith("compile") else forward
    start = {k: v.clone() for k, v in net.state_dict().items()}
    x = images(x)
    # What PyTorch loads and compiles at the first steps is not timed.
    train(net, forward, x[:2 * batch], y[:2 * batch], 1, batch, float(rate))
    net.load_state_dict(start)
    wall, cpu = time.monotonic(), time.process_time()
    train(net, forward, x, y, int(epochs), batch, float(rate))
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    with torch.no_grad():
        net(images(load(folder, "test")[0])).softmax(1).numpy().tofile(f"{folder}/peer.p")
    print(json.dumps({"cpu": cpu, "wall": wall}))


if __name__ == "__main__":
    main()
