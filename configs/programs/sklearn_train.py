"""Logistic regression by stochastic gradient descent, on the digits that scikit-learn brings along.

A level is one pass over the training rows. After each the model is saved, then the score is told, so
a trial that was paused, promoted or lost goes on from its last pass, on any machine.
"""
import json
import os
import pickle
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

rate, alpha = float(sys.argv[1]), float(sys.argv[2])
levels = int(os.environ["ASSAY_LEVELS"])
place = os.path.join(os.environ["ASSAY_CHECKPOINT_DIR"], "model.pickle")
x, y = load_digits(return_X_y=True)
x = x / 16
train, held = np.arange(len(x)) % 3 > 0, np.arange(len(x)) % 3 == 0


def tell(level: int, model: SGDClassifier) -> None:
    score = float(model.score(x[held], y[held]))
    print("assay:", json.dumps({"level": level, "accuracy": score}), flush=True)


done = 0
model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=rate, alpha=alpha,
                      random_state=3, shuffle=False)
if os.path.exists(place):
    with open(place, "rb") as f:
        done, model = pickle.load(f)
    tell(done, model)  # a repeat costs nothing, and no level is missed
for level in range(done + 1, levels + 1):
    model.partial_fit(x[train], y[train], classes=np.arange(10))
    with open(place + ".new", "wb") as f:
        pickle.dump((level, model), f)
    os.rename(place + ".new", place)
    tell(level, model)
