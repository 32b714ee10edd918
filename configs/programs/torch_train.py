"""A small network that tells two spirals apart.

A level is 20 steps of Adam. The checkpoint holds the weights, the optimizer's state and that of the
generator which draws the batches: all that the next step depends on. So a trial that was paused,
promoted or lost goes on, on any machine, as if nothing had been.
"""
import json
import os
import sys

import torch

rate, width, levels = float(sys.argv[1]), int(sys.argv[2]), int(os.environ["ASSAY_LEVELS"])
place = os.path.join(os.environ["ASSAY_CHECKPOINT_DIR"], "state.pt")
torch.manual_seed(5)
torch.set_num_threads(1)  # other numbers of threads add in another order
t = torch.linspace(0.2, 3, 200)
one = torch.stack([t * torch.cos(2 * t), t * torch.sin(2 * t)], 1)
x, y = torch.cat([one, -one]), torch.cat([torch.zeros(200), torch.ones(200)])
net = torch.nn.Sequential(torch.nn.Linear(2, width), torch.nn.Tanh(),
                          torch.nn.Linear(width, width), torch.nn.Tanh(),
                          torch.nn.Linear(width, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=rate)
loss_of = torch.nn.BCEWithLogitsLoss()


def tell(level: int) -> None:
    with torch.no_grad():
        loss = float(loss_of(net(x)[:, 0], y))
    print("assay:", json.dumps({"level": level, "loss": loss}), flush=True)


done = 0
if os.path.exists(place):
    state = torch.load(place, weights_only=True)
    done = state["level"]
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["generator"])
    tell(done)  # a repeat costs nothing, and no level is missed
for level in range(done + 1, levels + 1):
    for _ in range(20):
        rows = torch.randint(0, 400, (64,))
        optimizer.zero_grad()
        loss_of(net(x[rows])[:, 0], y[rows]).backward()
        optimizer.step()
    torch.save({"level": level, "net": net.state_dict(), "optimizer": optimizer.state_dict(),
                "generator": torch.get_rng_state()}, place + ".new")
    os.rename(place + ".new", place)
    tell(level)
