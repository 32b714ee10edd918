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
    study.optimize(objective); print(study.best)

Any number of processes, on any machines, may run the same lines at once: the first makes the study,
each takes trials until it is over. One that is started again under its client name gets its trials
back. ASSAY_TOKEN holds the token, ASSAY_TLS_CA the authority's file for an https:// address.
"""
from __future__ import annotations

import contextlib, json, math, os, re, selectors, socket, ssl, threading, time, urllib.parse
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Type

When = Optional[Mapping[str, Any]]
EAR = getattr(selectors, "PollSelector", selectors.SelectSelector)  # says whether one can read
PAUSES = (0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, math.inf)  # before a call is repeated; inf: it is not


def _of(kind: str, value: Any, **more: Any) -> Any:
    return {kind: value, **{k.rstrip("_"): v for k, v in more.items() if v is not None}}


def uniform(low: float, high: float, *, step: Optional[float] = None, when: When = None,
            default_: Optional[float] = None) -> Any:
    """A number from low to high, both included; with a step only low, low + step, ..."""
    return _of("uniform", [low, high], step=step, when=when, default_=default_)


def log(low: float, high: float, *, when: When = None, default_: Optional[float] = None) -> Any:
    """A number from low to high whose logarithm is uniform."""
    return _of("log", [low, high], when=when, default_=default_)


def integer(low: int, high: int, *, log: bool = False, step: Optional[int] = None,
            when: When = None, default_: Optional[int] = None) -> Any:
    """A whole number from low to high, both included."""
    return _of("int_log" if log else "int", [low, high], step=step, when=when, default_=default_)


def choice(*values: Any, when: When = None, default_: Any = None) -> Any:
    """One of these texts, numbers, True or False."""
    return _of("choice", list(values), when=when, default_=default_)


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
        host, port, is_tls = parts.hostname or "", parts.port, parts.scheme == "https"
        token = os.environ.get("ASSAY_TOKEN", "") if token is None else token
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError(f"{url!r} is no address: write http://host:port or https://host:port")
        if (token and not is_tls and not os.environ.get("ASSAY_INSECURE")
                and not re.fullmatch(r"localhost|127(\.\d+){3}|::1", host)):
            raise ValueError(f"the token would be sent to {url} in clear text: use https:// or "
                             "a tunnel, or allow it with ASSAY_INSECURE=1")
        self._open: Any = lambda: HTTPConnection(host, port, timeout)
        if is_tls:
            tls = ssl.create_default_context(cafile=os.environ.get("ASSAY_TLS_CA") or None)
            self._open = lambda: HTTPSConnection(host, port, timeout=timeout, context=tls)
        self._headers = {"Content-Type": "application/json"}
        self._headers.update({"Authorization": "Bearer " + token} if token else {})

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Returns the answer's JSON. Every call here may be repeated without harm."""
        return list(self.steps(method, path, body))[-1]

    def steps(self, method: str, path: str, body: Any = None) -> Iterator[Any]:
        """The same in steps: one whenever the call was sent, and the last one is the answer."""
        for pause in PAUSES:  # the first failure may be a connection that was idle for too long
            try:
                line = getattr(self._thread, "line", None) or self._open()
                self._thread.line, self.sent = None, line  # one that fails is not used again
                line.request(method, "/api/v1" + path, body and json.dumps(body), self._headers)
                yield
                answer = line.getresponse()
                text, self._thread.line = answer.read(), line
                if answer.status < 300:
                    return (yield json.loads(text or b"null"))
                if answer.status not in (429, 503) or pause == math.inf:
                    raise Error(answer.status, text)
            except (OSError, HTTPException) as e:
                if pause == math.inf or isinstance(e, ssl.SSLCertVerificationError):
                    raise
            time.sleep(pause * (1 + os.urandom(1)[0] / 256))


class Trial(Dict[str, Any]):
    """One configuration to try: a dictionary of its values, without those that `when` excludes."""

    def __init__(self, study: Study, raw: Mapping[str, Any]) -> None:
        super().__init__(raw["params"])
        self._study, self.params, self.verdict = study, self, "continue"
        self.id, self.number, self.lease = raw["trial"], raw["number"], raw["lease"]
        self.levels, self.reached = raw["levels"], raw["level"]  # > 0: it may go on from there
        self.next: Any = None  # True asks for the next trial in the report that ends this one

    def _tell(self, path: str, **body: Any) -> str:
        body = {"client": self._study.worker, "lease": self.lease, "ask": bool(self.next), **body}
        answer = self._study.client.call("POST", f"/trials/{self.id}/{path}", body)
        self.verdict, self.next = answer["verdict"], answer.get("next", self.next)
        if self.verdict == "gone":
            raise Lost(f"trial {self.number} was given to another client")
        return self.verdict

    def report(self, level: int, value: float) -> bool:
        """Tells the value at this level (1, 2, ... `levels`). True: stop; `verdict` says why."""
        return self._tell("reports", level=level, value=float(value)) != "continue"

    def should_prune(self) -> bool:
        return self.verdict in ("stop", "pause")  # says the last report

    def heartbeat(self) -> None:
        """Says that the trial still runs, where reports are further apart than `lost_after`."""
        self._tell("reports")

    def complete(self, value: float | Sequence[float]) -> None:
        """The result: a number, or one for each objective."""
        self._tell("complete", **_result(value))

    def fail(self, why: str) -> None:
        self._tell("complete", failed=why[:1000])


def _result(value: Any) -> dict[str, Any]:
    are_many = not isinstance(value, (float, int)) and isinstance(value, Sequence)
    numbers = [float(v) for v in (value if are_many else [value])]
    if not all(map(math.isfinite, numbers)):
        return {"failed": f"the value is {value}"}
    return {"values": numbers} if are_many else {"value": numbers[0]}


class Study:
    """A study by its name; `space` makes it where there is none. `more`: see docs/SPEC.md."""

    def __init__(self, url: str, name: str, *, space: Optional[Mapping[str, Any]] = None,
                 metric: str = "value", goal: str = "minimize", levels: int = 1, seed: int = 0,
                 trials: Optional[int] = None, time: Optional[str] = None, sampler: Any = "auto",
                 scheduler: Any = "auto", directions: Optional[Sequence[str]] = None,
                 token: Optional[str] = None, client: Optional[str] = None, **more: Any) -> None:
        self.client, self.name, self._path = Client(url, token), name, f"/studies/{name}"
        self._trials: list[Mapping[str, Any]] = []  # optimize() has asked for them together
        self._results: list[dict[str, Any]] = []  # and it will tell these together
        self._call: Any = None  # was sent, and its answer is still to be heard
        self._body: Any = None  # what it says
        self._lot, self._held, self._pace, self._busy, self._due = 0, 0, 160., 0., 0.  # a guess
        self._lock, self._is_watched = threading.RLock(), False
        self.worker = client or f"{socket.gethostname()[:16]}-{os.getpid()}-{os.urandom(3).hex()}"
        if directions:  # the first is of `metric`
            more["objectives"] = [{"metric": f"value_{i}" if i > 1 else metric, "goal": d}
                                  for i, d in enumerate(directions, 1)]
        if space is not None:
            self.client.call("POST", "/studies?load_if_exists=true", {
                "name": name, "space": space, "metric": metric, "goal": goal, "levels": levels,
                "budget": {k: v for k, v in (("trials", trials), ("time", time)) if v is not None},
                "sampler": sampler, "scheduler": scheduler, "seed": seed, **more})

    @property
    def info(self) -> dict[str, Any]:
        return self.client.call("GET", self._path)

    @property
    def best(self) -> Optional[dict[str, Any]]:
        """The best completed trial: {number, score, config, ...}, or None."""
        return (self.client.call("GET", f"{self._path}/leaderboard?limit=1")["rows"] or [None])[0]

    @property
    def best_trials(self) -> list[dict[str, Any]]:
        """With several `directions`: the trials that none beats in all of them."""
        return self.client.call("GET", self._path + "/pareto")["rows"]

    def trials(self) -> Iterator[dict[str, Any]]:
        after: Optional[int] = 0
        while after is not None:
            page = self.client.call("GET", f"{self._path}/trials?after={after}&limit=1000")
            yield from page["trials"]
            after = page["next"]

    def ask(self, count: int = 1, wait: bool = True) -> list[Trial]:
        """Up to `count` trials; none: the study is over or, without `wait`, others must report."""
        while True:
            body = {"client": self.worker, "count": count, "wait_ms": 10000 if wait else 0}
            answer = self.client.call("POST", self._path + "/suggest", body)
            if answer["trials"] or answer["done"] or not wait:
                return [Trial(self, t) for t in answer["trials"]]
            time.sleep(answer["wait_ms"] / 1000)

    def optimize(self, objective: Callable[[Trial], Any], n_trials: Optional[int] = None,
                 catch: Tuple[Type[BaseException], ...] = (Exception,), ahead: float = .1) -> None:
        """Runs trials until the study is over, or n_trials of them. An exception in `catch` fails
        its trial, any other ends the call. If the sampler does not learn, short trials come and go
        together: those of `ahead` seconds (0: each alone), which a killed program loses."""
        left = math.inf if n_trials is None else n_trials
        try:
            while left > 0 and (trial := self._take(left, ahead)) is not None:
                left, said, began = left - 1, {"released": True}, time.perf_counter()
                trial.next = left > 0 and not self._trials and not self._call
                try:
                    said = _result(objective(trial))
                except (Lost, Pruned):
                    said = {"failed": "pruned by the program"}  # of its own accord
                except catch as e:
                    said = {"failed": f"{type(e).__name__}: {e}"[:1000]}
                finally:  # a trial whose exception ends the call is given to another client
                    with self._lock:
                        self._busy += time.perf_counter() - began
                        if trial.verdict == "continue":
                            self._results.append({"trial": trial.id, "lease": trial.lease, **said})
                        elif isinstance(trial.next, dict):  # a report has ended it already
                            self._trials = trial.next["trials"]
        finally:
            self._flush()

    def _take(self, most: float, ahead: float) -> Optional[Trial]:
        """The next of at most so many trials; None: the study is over."""
        while True:
            with self._lock:
                if self._call and (not self._trials or self._ear.select(0)):
                    list(self._call)  # hears what was asked for while the last ones were tried
                if not self._call and len(self._trials) * 3 <= self._held * 2:
                    self._call, self._ear = self._tell(most, ahead), EAR()
                    self._ear.register(next(self._call) or self.client.sent.sock, 1)  # to read
                answer = None if self._trials else list(self._call)[-1]
                self._due = time.perf_counter() + ahead * (1 if self._pace == 160 else 4)
                if len(self._trials) > 1 and not self._is_watched:
                    self._is_watched = True
                    threading.Thread(target=self._watch, daemon=True).start()
                if self._trials:
                    return Trial(self, self._trials.pop(0))
            if answer["done"]:
                return None
            time.sleep(answer["wait_ms"] / 1000)

    def _tell(self, most: float = 0, ahead: float = 0) -> Iterator[Any]:
        """Tells the results and asks for trials: the first step sends that, the last one hears."""
        self._pace = len(self._results) / self._busy if self._busy else self._pace
        self._lot = max(int(min(ahead * self._pace, most - 1, 255, 1.25 * self._lot + 12)), 0)
        self._busy, self._body = 0.0, {**self._body, "wait_ms": 0} if self._body else {
            "client": self.worker, "results": self._results[:256], "count": int(most > 0),
            "ahead": self._lot, "holding": [t["trial"] for t in self._trials],
            "wait_ms": 0 if self._trials else 10000}  # (one that was interrupted is repeated)
        try:
            for answer in self.client.steps("POST", self._path + "/tell", self._body):
                yield
        finally:
            self._call = None
        told, self._body = self._body["results"], None
        self._results = self._results[len(told):] + [
            {"trial": t["trial"], "lease": t["lease"], "failed": a["detail"]}
            for t, a in zip(told, answer["results"]) if "detail" in a and "failed" not in t]
        self._trials += answer.get("next", {}).get("trials", ())
        self._held = len(self._trials)
        yield answer.get("next")

    def _watch(self) -> None:
        """Beside a trial that takes long, tells and gives back what would wait for its end."""
        while self._is_watched:
            time.sleep(max(self._due - time.perf_counter(), 0))
            with self._lock:
                if time.perf_counter() > self._due:  # what took long was no wait for an answer
                    self._is_watched = False  # before the lock is free: the next trial looks there
                    with contextlib.suppress(Exception):
                        self._flush()

    def _flush(self) -> None:
        """Tells the results, and gives back the trials that were not begun."""
        with self._lock:
            list(self._call or (self._tell() if self._body else ()))
            self._results += [{"trial": t["trial"], "lease": t["lease"], "released": True}
                              for t in self._trials]
            self._trials = []
            while self._results:
                list(self._tell())
