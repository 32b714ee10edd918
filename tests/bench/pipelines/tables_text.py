"""Text: long and short, words, spelling, length, several columns."""
import numpy as np

from table import Cells, binary, numbers, smooth, table, zipf

SYLLABLES = ["ka", "lo", "mi", "ren", "sta", "vo", "ber", "ti", "nu", "pla", "dor", "shi", "gan", "el", "fu", "quo"]


def vocabulary(rng, n):
    words = set()
    while len(words) < n:
        words.add("".join(rng.choice(SYLLABLES, int(rng.integers(2, 5)))))
    return np.array(sorted(words))


@table("text", rows=8000, metric="auc", steps={"review": "text"}, linear=True)
def text(rng, n):
    """A text column of 10 to 60 words of which two hundred matter."""
    x, columns = numbers(rng, n, 2)
    words = vocabulary(rng, 3000)
    w = np.where(rng.random(3000) < 0.07, rng.normal(size=3000) * 1.5, 0)
    rows, logit = [], 0.5 * x[:, 0]
    for i in range(n):
        at = zipf_some(rng, 3000, int(rng.integers(10, 60)))
        rows.append(" ".join(words[at]).capitalize() + ".")
        logit[i] += w[np.unique(at)].sum() * 0.6
    columns["review"] = rows
    return Cells(columns, binary(rng, logit - np.median(logit)))


def zipf_some(rng, levels, n):
    return np.minimum((levels ** rng.random(n)).astype(int), levels - 1)


@table("short-text", rows=8000, steps={"title": "text"}, linear=True)
def short_text(rng, n):
    """Titles of three to seven words: brands, kinds and sizes."""
    x, columns = numbers(rng, n, 2)
    words = vocabulary(rng, 400)
    brand, kind, size = rng.integers(0, 60, n), rng.integers(60, 90, n), rng.integers(0, 5, n)
    rows = []
    for i in range(n):
        more = [words[v] for v in rng.integers(90, 400, int(rng.integers(0, 4)))]
        rows.append(" ".join([words[brand[i]].capitalize(), *more, words[kind[i]], ("", "mini", "large", "pro max", "refurbished")[size[i]]]).strip())
    columns["title"] = rows
    y = rng.normal(size=60)[brand] + rng.normal(size=90)[kind] * 1.5 + np.array([0, -1, 1, 2, -2])[size]
    return Cells(columns, y + 0.5 * x[:, 0] + 0.5 * rng.normal(size=n))


@table("text-length", rows=6000, steps={"comment": "text"})
def text_length(rng, n):
    """The length of a text, its exclamation marks and its capitals matter; its words do not."""
    x, columns = numbers(rng, n, 2)
    words = vocabulary(rng, 800)
    many, loud, shout = rng.integers(1, 40, n), rng.poisson(1, n), rng.random(n) < 0.3
    rows = []
    for i in range(n):
        line = " ".join(words[rng.integers(0, 800, many[i])]) + "!" * int(loud[i])
        rows.append(line.upper() if shout[i] else line)
    columns["comment"] = rows
    return Cells(columns, x[:, 0] + 0.08 * many + 0.6 * loud + 1.5 * shout + 0.6 * rng.normal(size=n))


@table("two-texts", rows=8000, metric="logloss", steps={"subject": "text-short", "body": "text-short"}, linear=True)
def two_texts(rng, n):
    """Tickets of six classes with a subject and a body."""
    _, columns = numbers(rng, n, 1)
    words = vocabulary(rng, 2000)
    topic = [rng.choice(2000, 25, replace=False) for _ in range(6)]
    y = zipf(rng, n, 6, 0.4)

    def line(k, length, share):
        return " ".join(words[rng.choice(topic[k]) if rng.random() < share else v] for v in zipf_some(rng, 2000, length))

    columns["subject"] = [line(k, int(rng.integers(2, 7)), 0.15) for k in y]
    columns["body"] = [line(k, int(rng.integers(10, 40)), 0.05) for k in y]
    return Cells(columns, [("billing", "login", "delivery", "defect", "praise", "other")[k] for k in y])


@table("misspelt", rows=8000, metric="auc", steps={"job": "text-char"}, linear=True)
def misspelt(rng, n):
    """Job titles written by hand: the same title in many spellings."""
    x, columns = numbers(rng, n, 2)
    titles = [f"{a} {b}" for a in ("senior", "junior", "assistant", "chief", "night") for b in
              ("nurse", "driver", "engineer", "teacher", "cook", "welder", "accountant", "gardener")]
    at = rng.integers(0, len(titles), n)
    rows = []
    for v in at:
        t = list(titles[v])
        for _ in range(int(rng.poisson(1.2))):
            k = int(rng.integers(0, len(t)))
            t[k:k + 1] = [] if rng.random() < 0.5 else [t[k], t[k]]
        rows.append("".join(t).upper() if rng.random() < 0.2 else "".join(t))
    columns["job"] = rows
    return Cells(columns, binary(rng, smooth(np.c_[x, x[:, :1]]) * 0.5 + 1.5 * rng.normal(size=len(titles))[at]))
