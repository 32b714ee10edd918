"""What a careful user of pandas and scikit-learn does with each column, who has looked at the table and knows what it means.

A step is a function (fit, others, y, kind) -> [matrix of fit, *matrices of others], where fit and others are columns of texts and
statistics come from fit alone."""
import re
import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

warnings.filterwarnings("ignore")


def plain(s):
    return pd.to_numeric(s, errors="coerce").to_numpy(float)[:, None]


def junk(s):
    """Money, per cent, thousands, units and words for missing."""
    return plain(s.str.replace(",", "").str.extract(r"(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)")[0])


def figures(fit, others, y, kind):
    """The numbers of each cell, their differences and product, and what is written around them one-hot."""
    def number(s):
        v = pd.DataFrame(s.str.replace(r"(?<=\d),(?=\d{3})", "", regex=True).str.findall(r"-?\d+(?:\.\d+)?").tolist()).astype(float).to_numpy()
        return np.hstack([v, v[:, :1] - v[:, 1:], v.prod(1, keepdims=True)])

    words = one_hot(fit.str.replace(r"[-\d.,]+", "#", regex=True), [s.str.replace(r"[-\d.,]+", "#", regex=True) for s in others], y, kind)
    return [np.hstack([number(s), w.toarray()]) for s, w in zip((fit, *others), words)]


def account(s):
    return plain(s.str.replace(r"^\((.*)\)$", r"-\1", regex=True).str.replace("\u2212", "-").str.replace(",", ""))


def comma(s):
    return plain(s.str.replace(".", "").str.replace(",", "."))


def flag(s):
    return s.str.lower().str[:1].map({"y": 1.0, "t": 1.0, "n": 0.0, "f": 0.0}).to_numpy(float)[:, None]


def huge(s):
    """Values and signed logarithms: XGBoost's float32 ends at 3e38."""
    v = plain(s)
    return np.sign(v) * np.log10(np.abs(v) + 1e-305) + 305 * np.sign(v)


def when(s, form):
    if form == "epoch":
        return pd.to_datetime(pd.to_numeric(s, errors="coerce"), unit="s")
    if form == "utc":
        return pd.to_datetime(s, utc=True, errors="coerce").dt.tz_localize(None)
    return pd.to_datetime(s, format=form or None, errors="coerce")


def date_parts(s, form):
    t = when(s, form)
    hour = t.dt.hour + t.dt.minute / 60
    days = (t - pd.Timestamp("2000-01-01")).dt.total_seconds() / 86400
    parts = [days, t.dt.year, t.dt.month, t.dt.day, t.dt.dayofweek, t.dt.dayofyear, hour, np.sin(hour / 12 * np.pi), np.cos(hour / 12 * np.pi)]
    return np.column_stack([p.to_numpy(float) for p in parts])


def shape(s):
    """Length, words, capitals and marks of a text."""
    return np.column_stack([s.str.len(), s.str.count(r"\S+"), s.str.count("[A-Z]"), s.str.count(r"[!?]"), s.str.count("[0-9]")]).astype(float)


def row_by_row(fn, *args):
    return lambda fit, others, y, kind: [fn(s, *args) for s in (fit, *others)]


def one_hot(fit, others, y, kind):
    enc = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5).fit(fit.to_frame())
    return [enc.transform(s.to_frame()) for s in (fit, *others)]


def target_encoded(fit, others, y, kind):
    """Target encoding, cross-fitted for the rows that it is fitted on, and the level's frequency."""
    enc = TargetEncoder(target_type={"regression": "continuous"}.get(kind, kind), random_state=0)
    count = fit.value_counts()
    own = enc.fit_transform(fit.to_frame(), y)
    matrices = [own, *(enc.transform(s.to_frame()) for s in others)]
    return [np.column_stack([m, np.log1p(s.map(count).fillna(0))]) for m, s in zip(matrices, (fit, *others))]


def category(fit, others, y, kind):
    return (one_hot if fit.nunique() <= 30 else target_encoded)(fit, others, y, kind)


def side_by_side(*steps):
    def both(fit, others, y, kind):
        made = [step(fit, others, y, kind) for step in steps]
        return [sp.hstack([sp.csr_matrix(m[i]) for m in made]).tocsr() for i in range(1 + len(others))]

    return both


def code(fit, others, y, kind):
    """A structured code: each of its parts as a category."""
    parts = [[s.str.split("-").str[i].fillna("") for s in (fit, *others)] for i in range(3)]
    made = [target_encoded(p[0], p[1:], y, kind) for p in parts]
    return [np.hstack([m[i] for m in made]) for i in range(1 + len(others))]


def places(fit, others, y, kind):
    """Codes of one length: the sign at each place, and the first three together, as categories."""
    cuts = [slice(0, 3)] + [slice(i, i + 1) for i in range(int(fit.str.len().median()))]
    made = [target_encoded(fit.str[c], [s.str[c] for s in others], y, kind) for c in cuts]
    return [np.hstack([m[i] for m in made]) for i in range(1 + len(others))]


def vectorized(vectorizer):
    def words(fit, others, y, kind):
        x = vectorizer().fit(fit)
        return [x.transform(s) for s in (fit, *others)]

    return words


def text(most):
    words = vectorized(lambda: TfidfVectorizer(ngram_range=(1, 2), min_df=3, max_features=most, sublinear_tf=True))
    return side_by_side(words, row_by_row(shape))


def listed(s):
    return [t for t in re.split(r'[|;,]\s*|^\[|\]$', s.replace('"', "")) if t]


STEPS = {
    "num": row_by_row(plain), "junk": row_by_row(junk), "account": row_by_row(account), "comma": row_by_row(comma), "flag": row_by_row(flag),
    "huge": row_by_row(huge), "figures": figures, "places": places, "epoch": row_by_row(date_parts, "epoch"), "cat": category, "te": target_encoded, "code": code,
    "text": text(20000),
    # where boosting of several classes would take half an hour for all the pairs of words
    "text-short": text(3000),
    "text-char": side_by_side(vectorized(lambda: TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3, max_features=20000)), category),
    "list": side_by_side(vectorized(lambda: CountVectorizer(analyzer=listed, min_df=2, binary=True)), row_by_row(lambda s: s.map(listed).map(len).to_numpy(float)[:, None])),
}


def column(frames, name, step, y, kind):
    """The matrices of one column; some steps look at a second column, `pair:b`."""
    cols = [f[name] for f in frames]
    word, _, arg = step.partition(":")
    if word == "date":
        return [date_parts(s, arg) for s in cols]
    if word == "since":
        form = None
        return [np.hstack([date_parts(s, form), ((when(s, form) - when(f[arg], form)).dt.total_seconds() / 86400).to_numpy(float)[:, None]])
                for s, f in zip(cols, frames)]
    if word == "ratio":
        return [np.hstack([plain(s), plain(s) / plain(f[arg])]) for s, f in zip(cols, frames)]
    if word == "pair":
        both = [s + "|" + f[arg] for s, f in zip(cols, frames)]
        made = [target_encoded(c[0], c[1:], y, kind) for c in (cols, both)]
        return [np.hstack(m) for m in zip(*made)]
    return STEPS[word](cols[0], cols[1:], y, kind)


def prepare(steps, others, frames, y, kind):
    """Matrices of all frames, fitted on the first."""
    parts, rotated = [[] for _ in frames], []
    for name in frames[0].columns:
        step = steps.get(name, others)
        if step == "drop":
            continue
        if step == "pca":
            rotated.append(name)
            step = "num"
        for to, m in zip(parts, column(frames, name, step, y, kind)):
            to.append(m)
    if rotated:
        x = [np.hstack([plain(f[c]) for c in rotated]) for f in frames]
        pca = PCA().fit(x[0])
        for to, m in zip(parts, x):
            to.append(pca.transform(m))
    if any(sp.issparse(m) for m in parts[0]):
        return [sp.hstack([sp.csr_matrix(m) for m in p]).tocsr() for p in parts]
    return [np.hstack(p) for p in parts]
