"""Ask and tell: let Assay search the parameters of a program of your own. One file to copy beside
that program; it needs Python's standard library only.

    import assay
    def objective(trial: assay.Trial) -> float:
        for step in range(1, 28):
            loss = train_one_epoch(trial["lr"], trial["momentum"])
            if trial.report(step, loss):          # True: the scheduler wants no more of it
                raise assay.Pruned
        return loss
    study = assay.Study("http://127.0.0.1:7878", "my-search", levels=27, trials=100, space={
        "lr": assay.log(1e-5, 0.1), "momentum": assay.uniform(0, 1)})
    study.optimize(objective)
    print(study.best)

Any number of processes, on any machines, may run the same lines at once: the first makes the study,
each takes trials until it is over. One that is started again under its client name gets its trials
back. ASSAY_TOKEN holds the token, ASSAY_TLS_CA the authority's file for an https:// address.
"""
from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Type

Objective = Callable[["Trial"], Any]  # its result: a number, or a list of one per direction
Catch = Tuple[Type[BaseException], ...]
When = Optional[Mapping[str, Any]]
Domain = Any  # what a parameter may be: a JSON value, best made by the functions below
PAUSES = (0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, math.inf)  # before a call is repeated; inf: it is not


def _domain(kind: str, value: Any, **more: Any) -> Domain:
    return {kind: value, **{k.rstrip("_"): v for k, v in more.items() if v is not None}}


def uniform(low: float, high: float, *, step: Optional[float] = None, when: When = None,
            default_: Optional[float] = None) -> Domain:
    """A number from low to high, both included; with a step only low, low + step, ..."""
    return _domain("uniform", [low, high], step=step, when=when, default_=default_)


def log(low: float, high: float, *, when: When = None, default_: Optional[float] = None) -> Domain:
    """A number from low to high whose logarithm is uniform."""
    return _domain("log", [low, high], when=when, default_=default_)


def integer(low: int, high: int, *, log: bool = False, step: Optional[int] = None,
            when: When = None, default_: Optional[int] = None) -> Domain:
    """A whole number from low to high, both included."""
    kind = "int_log" if log else "int"
    return _domain(kind, [low, high], step=step, when=when, default_=default_)


def choice(*values: Any, when: When = None, default_: Any = None) -> Domain:
    """One of these texts, numbers, True or False."""
    return _domain("choice", list(values), when=when, default_=default_)


class Error(Exception):
    """The controller refused a call; `status` is its HTTP status and `where` the key at fault."""

    def __init__(self, status: int, text: bytes) -> None:
        problem = json.loads(text) if text[:1] == b"{" else {}
        super().__init__(problem.get("detail", f"status {status}"))
        self.status, self.where = status, problem.get("where", "")


class Pruned(Exception):
    """Raised by an objective to end a trial that the scheduler does not want to go on."""


class Lost(Exception):
    """The trial was given to somebody else, because this client was silent for too long."""


class Client:
    """Calls of the REST API, patient while the controller restarts; one connection a thread."""

    def __init__(self, url: str, token: Optional[str] = None, timeout: float = 30) -> None:
        parts, self._thread = urllib.parse.urlsplit(url), threading.local()
        host, is_tls = parts.hostname or "", parts.scheme == "https"
        token = os.environ.get("ASSAY_TOKEN", "") if token is None else token
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError(f"{url!r} is no address: write http://host:port or https://host:port")
        if (token and not is_tls and not os.environ.get("ASSAY_INSECURE")
                and not re.fullmatch(r"localhost|127(\.\d+){3}|::1", host)):
            raise ValueError(f"the token would be sent to {url} in clear text: use https:// or "
                             "a tunnel, or allow it with ASSAY_INSECURE=1")
        self._open: Any = lambda: http.client.HTTPConnection(host, parts.port, timeout)
        if is_tls:
            trusted = ssl.create_default_context(cafile=os.environ.get("ASSAY_TLS_CA") or None)
            self._open = lambda: http.client.HTTPSConnection(host, parts.port, timeout=timeout,
                                                             context=trusted)
        self._headers = {"Content-Type": "application/json"}
        self._headers.update({"Authorization": "Bearer " + token} if token else {})

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Returns the answer's JSON. Every call here may be repeated without harm."""
        data = None if body is None else json.dumps(body).encode()
        for pause in PAUSES:  # the first failure may be a connection that was idle for too long
            try:
                line = getattr(self._thread, "line", None) or self._open()
                self._thread.line = None  # one that fails is not used again
                line.request(method, "/api/v1" + path, data, self._headers)
                answer = line.getresponse()
                text, self._thread.line = answer.read(), line
                if answer.status < 300:
                    return json.loads(text or b"null")
                if answer.status not in (429, 503) or pause == math.inf:
                    raise Error(answer.status, text)
            except (OSError, http.client.HTTPException) as e:
                if pause == math.inf or isinstance(e, ssl.SSLCertVerificationError):
                    raise
            time.sleep(pause * (1 + os.urandom(1)[0] / 256))


class Trial(Dict[str, Any]):
    """One configuration to try, as a dictionary of its values. A parameter that does not belong to
    it (see `when`) is absent."""

    def __init__(self, study: Study, raw: Mapping[str, Any]) -> None:
        super().__init__(raw["params"])
        self._study, self.params = study, self
        self.id, self.number, self.lease = raw["trial"], raw["number"], raw["lease"]
        self.levels, self.reached = raw["levels"], raw["level"]  # > 0: it may go on from there
        self.verdict = "continue"
        self.next: Any = None  # True asks for the next trial in the report that ends this one

    def _tell(self, path: str, **body: Any) -> str:
        body = {"client": self._study.worker, "lease": self.lease, "ask": bool(self.next), **body}
        answer = self._study.client.call("POST", f"/trials/{self.id}/{path}", body)
        self.verdict, self.next = answer["verdict"], answer.get("next", self.next)
        if self.verdict == "gone":
            raise Lost(f"trial {self.number} was given to another client")
        return self.verdict

    def report(self, level: int, value: float) -> bool:
        """Tells the value reached at this level (1, 2, ... up to the study's `levels`). True: stop
        here. It was pruned, paused (somebody may get it again) or, at the end, completed."""
        return self._tell("reports", level=level, value=float(value)) != "continue"

    def should_prune(self) -> bool:
        """What the last report said."""
        return self.verdict in ("stop", "pause")

    def heartbeat(self) -> None:
        """Says that the trial still runs, where reports are further apart than `lost_after`."""
        self._tell("reports")

    def complete(self, value: float | Sequence[float]) -> None:
        """The result: a number, or one for each objective."""
        self._tell("complete", **_result(value))

    def fail(self, why: str) -> None:
        self._tell("complete", failed=why[:1000])


def _result(value: Any) -> dict[str, Any]:
    numbers = [float(v) for v in (value if isinstance(value, Sequence) else [value])]
    if not all(map(math.isfinite, numbers)):
        return {"failed": f"the value is {value}"}
    return {"values": numbers} if isinstance(value, Sequence) else {"value": numbers[0]}


class Study:
    """A study by its name; `space` makes it where there is none yet. `more` are further keys of the
    spec, such as `enqueue` (see docs/SPEC.md)."""

    def __init__(self, url: str, name: str, *, space: Optional[Mapping[str, Domain]] = None,
                 metric: str = "value", goal: str = "minimize", levels: int = 1, seed: int = 0,
                 trials: Optional[int] = None, time: Optional[str] = None, sampler: Any = "auto",
                 scheduler: Any = "auto", directions: Optional[Sequence[str]] = None,
                 token: Optional[str] = None, client: Optional[str] = None, **more: Any) -> None:
        self.client, self.name, self._since = Client(url, token), name, 0.0
        self._trials: list[Mapping[str, Any]] = []  # optimize() has asked for them together
        self._results: list[dict[str, Any]] = []  # and it will tell these together
        self._lock, self._timer = threading.RLock(), threading.Timer(0, self._flush)
        self.worker = client or f"{socket.gethostname()[:16]}-{os.getpid()}-{os.urandom(3).hex()}"
        if directions:  # the first is of `metric`
            more["objectives"] = [{"metric": f"value_{i}" if i > 1 else metric, "goal": d}
                                  for i, d in enumerate(directions, 1)]
        if space is not None:
            budget = {k: v for k, v in (("trials", trials), ("time", time)) if v is not None}
            self.client.call("POST", "/studies?load_if_exists=true", {
                "name": name, "space": space, "metric": metric, "goal": goal, "levels": levels,
                "budget": budget, "sampler": sampler, "scheduler": scheduler, "seed": seed, **more})

    def _get(self, what: str = "") -> Any:
        return self.client.call("GET", f"/studies/{self.name}{what}")

    @property
    def info(self) -> dict[str, Any]:
        return self._get()

    @property
    def best(self) -> Optional[dict[str, Any]]:
        """The best completed trial: {number, score, config, ...}, or None."""
        return next(iter(self._get("/leaderboard?limit=1")["rows"]), None)

    @property
    def best_trials(self) -> list[dict[str, Any]]:
        """With several `directions`: the trials that none beats in all of them."""
        return self._get("/pareto")["rows"]

    def trials(self) -> Iterator[dict[str, Any]]:
        after: Optional[int] = 0
        while after is not None:
            page = self._get(f"/trials?after={after}&limit=1000")
            yield from page["trials"]
            after = page["next"]

    def ask(self, count: int = 1, wait: bool = True) -> list[Trial]:
        """Up to `count` trials; none: the study is over or, without `wait`, others must report."""
        while True:
            answer = self.client.call("POST", f"/studies/{self.name}/suggest",
                                      {"client": self.worker, "count": count})
            if answer["trials"] or answer["done"] or not wait:
                return [Trial(self, t) for t in answer["trials"]]
            time.sleep(answer["wait_ms"] / 1000)

    def optimize(self, objective: Objective, n_trials: Optional[int] = None,
                 catch: Catch = (Exception,), ahead: float = 0.1) -> None:
        """Runs trials until the study is over, or n_trials of them. An exception of a type in
        `catch` fails its trial; every other one ends the call. Where the sampler does not learn
        from results, short trials are asked for together, as many as take `ahead` seconds, and
        their results are told together: a program that is killed loses those. 0: one by one."""
        left = math.inf if n_trials is None else n_trials
        try:
            while left > 0 and (trial := self._take(left, ahead)) is not None:
                left, result = left - 1, {"released": True}
                trial.next = left > 0 and not self._trials
                try:
                    result = run(trial, objective, catch)
                finally:  # a trial whose exception ends the call is given to another client
                    self._put(trial, result, ahead)
        finally:
            self._flush()

    def _take(self, most: float, ahead: float) -> Optional[Trial]:
        """The next of at most so many trials; None: the study is over."""
        while True:
            with self._lock:
                if not self._trials:
                    pace = len(self._results) / (time.perf_counter() - self._since)
                    want = max(int(min(ahead * pace, most, 256)) - 1, 0)
                    answer = self._tell(count=1, ahead=want)["next"]
                    self._trials, self._since = answer["trials"], time.perf_counter()
                if self._trials:
                    return Trial(self, self._trials.pop(0))
            if answer["done"]:
                return None
            time.sleep(answer["wait_ms"] / 1000)

    def _put(self, trial: Trial, result: Mapping[str, Any], ahead: float) -> None:
        with self._lock:
            if trial.verdict == "continue":
                self._results.append({"trial": trial.id, "lease": trial.lease, **result})
            elif isinstance(trial.next, dict):  # a report has ended it already
                self._trials = trial.next["trials"]
            if self._trials and len(self._results) == 1:  # the next trial may take long
                self._timer = threading.Timer(4 * ahead, self._flush, (Exception,))
                self._timer.start()

    def _tell(self, **asked: int) -> dict[str, Any]:
        self._timer.cancel()
        answer = self.client.call("POST", f"/studies/{self.name}/tell", {
            "client": self.worker, "results": self._results, **asked})
        self._results = [{"trial": t["trial"], "lease": t["lease"], "failed": said["detail"]}
                         for t, said in zip(self._results, answer["results"])
                         if said["verdict"] == "refused" and "failed" not in t]
        return answer

    def _flush(self, *ignored: type[Exception]) -> None:
        """Tells the results, and gives back the trials that were not begun."""
        with self._lock, contextlib.suppress(*ignored):
            self._results += [{"trial": t["trial"], "lease": t["lease"], "released": True}
                              for t in self._trials]
            self._trials = []
            while self._results:
                self._tell()


def run(trial: Trial, objective: Objective, catch: Catch = (Exception,)) -> dict[str, Any]:
    """What is to be told of the trial, unless a report ends it."""
    try:
        return _result(objective(trial))
    except (Lost, Pruned):
        return {"failed": "pruned by the program"}  # of its own accord
    except catch as e:
        return {"failed": f"{type(e).__name__}: {e}"[:1000]}
