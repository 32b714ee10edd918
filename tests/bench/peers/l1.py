"""l1.py FOLDER - the tables that bench_l1 left, with scikit-learn: 20 fits with an L1 penalty, seconds and objectives."""
import pathlib, sys, time, warnings
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, lasso_path

warnings.simplefilter("ignore", ConvergenceWarning)


def objective(x, t, w, b, penalty, classes):
    z = x @ w + b
    loss = np.logaddexp(0, z).sum() - t @ z if classes else 0.5 * ((z - t) ** 2).sum()
    return loss + penalty * np.abs(w).sum()


def fit(x, t, penalty, classes):
    if not classes:
        m = Lasso(alpha=penalty / len(t), tol=1e-6, max_iter=100000).fit(x, t)
        return m.coef_, m.intercept_
    # liblinear punishes the intercept too, so its column is made large
    m = LogisticRegression(l1_ratio=1, C=1 / penalty, solver="liblinear", tol=1e-6, intercept_scaling=100, max_iter=100000).fit(x, t)
    return m.coef_[0], m.intercept_[0]


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.x")):
    classes = path.name.startswith("classes")
    t = np.fromfile(path.with_suffix(".y"))
    x = np.asfortranarray(np.fromfile(path, dtype=np.float32).reshape(len(t), -1), dtype=np.float64)
    points = np.fromfile(path.with_suffix(".w")).reshape(-1, x.shape[1] + 3)
    at, worst = [0.0], 0.0
    for seconds, penalty, *w in points:
        start = time.perf_counter()
        theirs = fit(x, t, penalty, classes)
        at.append(at[-1] + time.perf_counter() - start)
        a, b = objective(x, t, np.array(w[:-1]), w[-1], penalty, classes), objective(x, t, *theirs, penalty, classes)
        worst = max(worst, (a - b) / b)
    n, start, path_s = len(points), time.perf_counter(), ""
    if not classes:
        lasso_path(x - x.mean(0), t - t.mean(), alphas=points[:, 1] / len(t), tol=1e-6, max_iter=100000)
        path_s = f", its path {time.perf_counter() - start:.3f} s"
    print(
        f"{path.stem:18} ours {points[-1, 0]:.4f} s, its fits {at[-1]:.3f} s: {at[-1] / points[-1, 0]:.1f} times; half of the penalties "
        f"{points[n // 2 - 1, 0]:.4f} s, {at[n // 2]:.3f} s: {at[n // 2] / points[n // 2 - 1, 0]:.1f} times{path_s}; "
        f"our objective above its by at most {worst:.1e}"
    )
