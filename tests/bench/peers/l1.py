"""l1.py FOLDER - the tables that bench_l1 left, with scikit-learn: 20 fits with an L1 penalty, processor seconds and objectives.

Every setting is timed that may be its fastest: numbers with and without a Gram matrix, one fit each or its own path; two classes with
liblinear, the faster one of its solvers that know an L1 penalty (saga takes ten times as long), at two tolerances."""
import pathlib, sys, time, warnings
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, lasso_path

warnings.simplefilter("ignore", ConvergenceWarning)


def objective(x, t, w, b, penalty, classes):
    z = x @ w + b
    loss = np.logaddexp(0, z).sum() - t @ z if classes else 0.5 * ((z - t) ** 2).sum()
    return loss + penalty * np.abs(w).sum()


def lasso(gram):
    def fit(x, t, penalties):
        for penalty in penalties:
            m = Lasso(alpha=penalty / len(t), tol=1e-6, max_iter=100000, precompute=gram).fit(x, t)
            yield m.coef_, m.intercept_

    return fit


def path(gram):
    def fit(x, t, penalties):
        middle = x.mean(0)
        weights = lasso_path(x - middle, t - t.mean(), alphas=penalties / len(t), tol=1e-6, max_iter=100000, precompute=gram)[1].T
        yield from ((w, t.mean() - middle @ w) for w in weights)

    return fit


def liblinear(tol):
    def fit(x, t, penalties):
        for penalty in penalties:
            # it punishes the intercept too, so its column is made large
            m = LogisticRegression(l1_ratio=1, C=1 / penalty, solver="liblinear", tol=tol, intercept_scaling=100, max_iter=100000).fit(x, t)
            yield m.coef_[0], m.intercept_[0]

    return fit


NUMBERS = {"fits": lasso(False), "fits, Gram": lasso(True), "path": path(False), "path, Gram": path(True)}
CLASSES = {"liblinear 1e-6": liblinear(1e-6), "liblinear 1e-4": liblinear(1e-4)}

for file in sorted(pathlib.Path(sys.argv[1]).glob("*.x")):
    classes = file.name.startswith("classes")
    t = np.fromfile(file.with_suffix(".y"))
    x = np.asfortranarray(np.fromfile(file, dtype=np.float32).reshape(len(t), -1), dtype=np.float64)
    points = np.fromfile(file.with_suffix(".w")).reshape(-1, x.shape[1] + 3)
    seconds, penalties = points[-1, 0], points[:, 1]
    ours = np.array([objective(x, t, p[2:-1], p[-1], p[1], classes) for p in points])
    print(f"{file.stem}: ours {seconds:.4f} s, half of the penalties {points[len(points) // 2 - 1, 0]:.4f} s")
    for name, fit in (CLASSES if classes else NUMBERS).items():
        start = time.process_time()
        found = list(fit(x, t, penalties))
        took = time.process_time() - start
        theirs = np.array([objective(x, t, w, b, penalty, classes) for (w, b), penalty in zip(found, penalties)])
        print(
            f"  {name:14} {took:.3f} s: {took / seconds:.1f} times; our objective above its by at most {(ours / theirs - 1).max():.1e}, "
            f"its above ours by {(theirs / ours - 1).max():.1e}",
            flush=True,
        )
