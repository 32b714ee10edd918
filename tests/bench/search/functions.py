"""Makes the tables of known outcomes on which searches with noise and failures are judged.

  functions.py FOLDER

Each is a grid in the format of docs/SIMULATE.md. The value is a loss. Noise is not in the tables:
`assay simulate --noise` adds it. Standard library only; the same files on every machine.

  bumps   4 numbers: a narrow deep hole and a wide shallow one
  mixed   3 numbers and 2 choices: where the hole lies depends on a choice
  few     6 numbers of which two matter
  *_fail50, *_fail90   the same, where half or nine tenths of the configurations fail: beyond a
          border near the best configuration
  bumps_chance90       nine tenths fail without any rule
  lure, lure3          two branches; the one that looks good at random holds nothing below .35, and
          the best is in a small part of the other one (2 or 3 numbers a branch)
"""
import array
import itertools
import json
import math
import os
import sys
import zlib


def gauss(x, at, widths):
    return math.exp(-.5 * sum(((a - b) / w) ** 2 for a, b, w in zip(x, at, widths)))


def bumps(x):
    deep = gauss(x, (.72, .31, .6, .25), (.22, .2, .28, .3))
    wide = gauss(x, (.25, .7, .35, .7), (.4, .35, .45, .4))
    return 1 - deep - .62 * wide + .12 * abs(x[3] - .4)


SHIFT = (.15, .4, .65, .85)
BONUS = (.25, 0, .4, .1, .3)


def mixed(x):
    a, b, c, k, m = x
    return 2.2 * (a - SHIFT[k]) ** 2 + (b - .8 + .5 * a) ** 2 + .3 * abs(c - .3) + BONUS[m] + \
        (.2 if k == 0 else .0 if k == 2 else .12)


def few(x):
    return (x[0] - .8) ** 2 + 1.5 * (x[1] - .25 - .3 * x[0]) ** 2 + .05 * abs(x[2] - .5) + \
        .01 * math.sin(9 * x[3])


def ordinal(name, n, **more):
    return {"name": name, "kind": "ordinal", "choices": [i / (n - 1) for i in range(n)], **more}


def choice(name, n):
    return {"name": name, "kind": "categorical", "choices": [chr(97 + i) for i in range(n)]}


def axis(p):
    return p["choices"] if p["kind"] == "ordinal" else range(len(p["choices"]))


def write(folder, name, params, values):
    with open(f"{folder}/{name}.f32", "wb") as f:
        data = array.array("f", values)
        if sys.byteorder == "big":
            data.byteswap()
        data.tofile(f)
    doc = {"name": name, "direction": "minimize", "params": params, "n": len(values), "data": f"{name}.f32"}
    with open(f"{folder}/{name}.table.json", "w", encoding="ascii") as f:
        json.dump(doc, f)


def failing(points, values, share, border):
    """Values with NaN where the border's function is largest, for this share of the points."""
    heights = [border(x) for x in points]
    limit = sorted(heights)[int(len(heights) * (1 - share))]
    return [math.nan if h >= limit else v for h, v in zip(heights, values)]


def plain(folder, name, params, f, border=None):
    points = list(itertools.product(*map(axis, params)))
    values = [f(x) for x in points]
    write(folder, name, params, values)
    for share in (50, 90) if border else ():
        write(folder, f"{name}_fail{share}", params, failing(points, values, share / 100, border))
    if name == "bumps":
        chance = failing(points, values, .9, lambda x: zlib.crc32(repr(x).encode()))
        write(folder, "bumps_chance90", params, chance)


def lure(folder, name, n_params, side):
    """Entries that differ only in the parameters of the other branch are equal."""
    params = [choice("branch", 2)]
    for b, branch in enumerate("ab"):
        params += [ordinal(f"{branch}{i}", side, when={"branch": [branch]}) for i in range(n_params)]
    cells = [i / (side - 1) for i in range(side)]
    points = list(itertools.product(*[cells] * n_params))
    good = [.35 + .5 * sum((v - .4) ** 2 for v in x) for x in points]
    bad = [1.3 - 1.3 * gauss(x, (.8, .7, .2), (.16, .16, .16) if n_params == 2 else (.25, .25, .25)) -
           .1 * x[0] for x in points]
    low = min(bad)
    values = [v for v in good for _ in points]
    values += [v - low for v in bad] * len(points)
    write(folder, name, params, values)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    plain(folder, "bumps", [ordinal(f"x{i}", 15) for i in range(4)], bumps,
          lambda x: abs(x[0] - .6) + abs(x[1] - .45) + .7 * abs(x[2] - .75))
    plain(folder, "mixed", [ordinal(c, 11) for c in "abc"] + [choice("k", 4), choice("m", 5)], mixed,
          lambda x: (0, .35, .7, .35)[x[3]] * x[0] + .8 * x[1] + (.35, .1, .3, .2, 0)[x[4]])
    plain(folder, "few", [ordinal(f"x{i}", 7) for i in range(6)], few)
    lure(folder, "lure", 2, 21)
    lure(folder, "lure3", 3, 9)


if __name__ == "__main__":
    main()
