"""Dates and times in several forms, and tables whose rows are not independent: groups, time, duplicates."""
import numpy as np

from table import Cells, binary, numbers, show, smooth, table, whole


def stamps(rng, n, years=2, start="2022-01-01"):
    """Seconds since 1970, the hour, the weekday (0 = Monday) and the month (0 = January) of random moments."""
    t = int(np.datetime64(start, "s").astype(int)) + rng.integers(0, years * 365 * 86400, n)
    months = t.astype("datetime64[s]").astype("datetime64[M]").astype(int) % 12
    return t, t // 3600 % 24, (t // 86400 + 3) % 7, months


def written(t, form):
    """form: a strftime format of few letters."""
    import datetime
    return [datetime.datetime.fromtimestamp(int(v), datetime.timezone.utc).strftime(form) for v in t]


@table("stamps", metric="auc", steps={"at": "date:"})
def iso_stamps(rng, n):
    """Time stamps whose hour and weekday matter."""
    x, columns = numbers(rng, n, 3)
    t, hour, day, _ = stamps(rng, n)
    columns["at"] = written(t, "%Y-%m-%d %H:%M:%S")
    return Cells(columns, binary(rng, 0.6 * smooth(x) + 2 * ((hour >= 8) & (hour < 18)) + 1.5 * (day >= 5) * (hour > 11) - 1.5))


@table("us-dates", steps={"day": "date:%m/%d/%Y"})
def us_dates(rng, n):
    """Dates in US order: the month and the weekday matter, and the years drift."""
    x, columns = numbers(rng, n, 3)
    t, _, day, month = stamps(rng, n, 5)
    columns["day"] = written(t, "%m/%d/%Y")
    y = smooth(x) + 1.5 * np.sin(month / 6 * np.pi) + (day >= 5) + (t - t.min()) / 1e8 * 2
    return Cells(columns, y + 0.6 * rng.normal(size=n))


@table("european-dates", steps={"datum": "date:%d.%m.%Y %H:%M"})
def european_dates(rng, n):
    """Days, months and years with points, and a time of the day."""
    x, columns = numbers(rng, n, 3)
    t, hour, _, month = stamps(rng, n, 3)
    columns["datum"] = written(t, "%d.%m.%Y %H:%M")
    return Cells(columns, smooth(x) + 1.5 * np.cos(month / 6 * np.pi) + 1.2 * np.sin(hour / 12 * np.pi) + 0.6 * rng.normal(size=n))


@table("month-names", steps={"date": "date:%d-%b-%Y"})
def month_names(rng, n):
    """`05-Mar-2021`, with missing ones."""
    x, columns = numbers(rng, n, 3)
    t, _, day, month = stamps(rng, n, 4)
    columns["date"] = ["" if u < 0.05 else v for u, v in zip(rng.random(n), written(t, "%d-%b-%Y"))]
    return Cells(columns, smooth(x) + 1.3 * np.sin(month / 6 * np.pi) + 1.2 * (day == 0) + 0.6 * rng.normal(size=n))


@table("epoch-seconds", metric="auc", steps={"ts": "epoch"})
def epoch_seconds(rng, n):
    """Seconds since 1970, of which the hour and the weekday matter."""
    x, columns = numbers(rng, n, 3)
    t, hour, day, _ = stamps(rng, n)
    columns["ts"] = whole(t)
    return Cells(columns, binary(rng, 0.6 * smooth(x) + 1.5 * np.cos(hour / 12 * np.pi) + 1.2 * (day >= 5)))


@table("zones", metric="auc", steps={"sent": "date:utc"})
def zones(rng, n):
    """ISO 8601 with zones of several offsets; the hour in UTC matters."""
    x, columns = numbers(rng, n, 3)
    t, hour, _, _ = stamps(rng, n)
    offset = rng.choice([-8, -5, 0, 1, 2, 9], n)
    columns["sent"] = [f"{a}{'Z' if o == 0 else f'{o:+03d}:00'}" for a, o in zip(written(t + offset * 3600, "%Y-%m-%dT%H:%M:%S"), offset)]
    return Cells(columns, binary(rng, 0.6 * smooth(x) + 2 * np.cos(hour / 12 * np.pi)))


@table("two-dates", steps={"ordered": "date:%Y-%m-%d", "shipped": "since:ordered"})
def two_dates(rng, n):
    """The days between two dates matter."""
    x, columns = numbers(rng, n, 3)
    t, _, _, _ = stamps(rng, n, 4)
    days = rng.poisson(8, n) + (rng.random(n) < 0.1) * rng.integers(10, 60, n)
    columns["ordered"], columns["shipped"] = written(t, "%Y-%m-%d"), written(t + days * 86400, "%Y-%m-%d")
    return Cells(columns, smooth(x) + 0.3 * np.minimum(days, 25) + 0.6 * rng.normal(size=n))


@table("clock-times", steps={"departs": "date:%I:%M %p"})
def clock_times(rng, n):
    """Times of the day with AM and PM."""
    x, columns = numbers(rng, n, 3)
    t, hour, _, _ = stamps(rng, n)
    columns["departs"] = written(t, "%I:%M %p")
    return Cells(columns, smooth(x) + 2 * np.sin((t % 86400) / 43200 * np.pi) + (hour == 8) + 0.6 * rng.normal(size=n))


@table("flights", rows=20000, metric="auc", steps={"carrier": "cat", "from": "te", "to": "te", "date": "date:%Y-%m-%d", "departs": "num"})
def flights(rng, n):
    """A twin of flight delays: carriers, airports, a date and a departure time as hhmm."""
    t, hour, day, month = stamps(rng, n, 2)
    carrier, a, b = rng.integers(0, 20, n), rng.integers(0, 280, n), rng.integers(0, 280, n)
    logit = (-1.5 + rng.normal(size=20)[carrier] * 0.5 + rng.normal(size=280)[a] * 0.5 + rng.normal(size=280)[b] * 0.3 + hour / 10 +
             0.5 * np.cos(month / 6 * np.pi) + 0.4 * (day == 4))
    code = [f"{chr(65 + v % 26)}{chr(65 + v // 26)}{chr(65 + v * 7 % 26)}" for v in range(280)]
    columns = {"date": written(t, "%Y-%m-%d"), "departs": whole(hour * 100 + t // 60 % 60), "carrier": [f"{chr(65 + v)}X" for v in carrier],
               "from": [code[v] for v in a], "to": [code[v] for v in b], "miles": show(rng.gamma(2, 400, n))}
    return Cells(columns, binary(rng, logit, "Y", "N"))


@table("groups", rows=6000, steps={"patient": "drop"}, valid="groups:patient", options=("--groups", "patient"))
def groups(rng, n):
    """Rows of one patient in training only, or in the test only; columns that name the patient mislead."""
    count = n // 20
    who = np.repeat(np.arange(count), 20)
    base = rng.normal(size=(count, 3))
    effect = rng.normal(size=count) * 2
    x, columns = numbers(rng, n, 3)
    columns["patient"] = [f"p{v}" for v in who]
    for i in range(3):
        columns[f"b{i}"] = show(base[who, i] + 0.01 * rng.normal(size=n))
    return Cells(columns, smooth(x) + effect[who] + 0.4 * base[who, 0] + 0.5 * rng.normal(size=n))


@table("time-order", rows=6000, steps={"day": "date:%Y-%m-%d"}, valid="time:day", options=("--time-column", "day"))
def time_order(rng, n):
    """The level wanders with time and the test is later: rows near in time look alike in training only."""
    x, columns = numbers(rng, n, 3)
    t = np.arange(n) * 86400 // 8 + int(np.datetime64("2015-01-01", "s").astype(int))
    walk = np.cumsum(rng.normal(size=n)) * 0.04
    columns["day"] = written(t, "%Y-%m-%d")
    columns["reading"] = show(walk + 0.5 * rng.normal(size=n))
    return Cells(columns, smooth(x) + walk + 0.6 * rng.normal(size=n))


@table("duplicates", rows=6000, metric="auc")
def duplicates(rng, n):
    """Each row stands there one to eight times with its label; the test rows are new."""
    late = n - 4000  # the first of the test rows
    own = rng.integers(0, late // 4, late)
    at = np.concatenate([own, np.arange(late, n)])
    x = rng.normal(size=(n, 8))
    y = np.array(binary(rng, 0.8 * smooth(x) + 0.5 * x[:, 4]))
    return Cells({f"x{i}": show(x[at, i]) for i in range(8)}, list(y[at]))
