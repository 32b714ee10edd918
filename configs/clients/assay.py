"""Ask and tell: let Assay search the parameters of a program of your own.

One file, Python's standard library only. Copy it beside your program.

    import assay

    def objective(trial: assay.Trial) -> float:
        lr = trial["lr"]
        for step in range(1, 28):
            loss = train_one_epoch(lr)
            if trial.report(step, loss):          # True: the scheduler wants no more of it
                raise assay.Pruned
        return loss

    study = assay.Study("http://127.0.0.1:7878", "my-search", space={
        "lr": assay.log(1e-5, 1e-1),
        "opt": assay.choice("sgd", "adam"),
        "momentum": assay.uniform(0, 1, when={"opt": "sgd"}),
    }, levels=27, trials=100)
    study.optimize(objective)
    print(study.best)

Any number of processes, on any machines, may run the same lines at once: the first makes the study,
each takes trials until it is over. One that is started again under its client name gets its trial
back. ASSAY_TOKEN holds the token, ASSAY_TLS_CA the authority's file for an https:// address.
"""
from __future__ import annotations

import http.client
import ipaddress
import json
import os
import random
import socket
import ssl
import threading
import time
import traceback
import urllib.parse
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

Objective = Callable[["Trial"], Any]  # its result: a number, or a list of one per direction
Domain = Any  # what a parameter may be: a JSON value, best made by the functions below
RETRIES = 8  # attempts of a call that found no controller: 0.2, 0.4, 0.8 ... seconds apart


def _domain(kind: str, value: Any, **more: Any) -> Domain:
    return {kind: value, **{k.rstrip("_"): v for k, v in more.items() if v is not None}}


def uniform(low: float, high: float, *, step: Optional[float] = None,
            when: Optional[Mapping[str, Any]] = None, default_: Optional[float] = None) -> Domain:
    """A number from low to high, both included; with a step only low, low + step, ..."""
    return _domain("uniform", [low, high], step=step, when=when, default_=default_)


def log(low: float, high: float, *, when: Optional[Mapping[str, Any]] = None,
        default_: Optional[float] = None) -> Domain:
    """A number from low to high whose logarithm is uniform."""
    return _domain("log", [low, high], when=when, default_=default_)


def integer(low: int, high: int, *, log: bool = False, step: Optional[int] = None,
            when: Optional[Mapping[str, Any]] = None, default_: Optional[int] = None) -> Domain:
    """A whole number from low to high, both included."""
    kind = "int_log" if log else "int"
    return _domain(kind, [low, high], step=step, when=when, default_=default_)


def choice(*values: Any, when: Optional[Mapping[str, Any]] = None, default_: Any = None) -> Domain:
    """One of these texts, numbers, True or False."""
    return _domain("choice", list(values), when=when, default_=default_)


class Error(Exception):
    """The controller refused a call; `status` is its HTTP status and `where` the key at fault."""

    def __init__(self, status: int, detail: str, where: str = "") -> None:
        super().__init__(f"{where}: {detail}" if where else detail)
        self.status, self.where = status, where


class Pruned(Exception):
    """Raised by an objective to end a trial that the scheduler does not want to go on."""


class Lost(Exception):
    """The trial was given to somebody else, because this client was silent for too long."""


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Client:
    """Calls of the REST API, with the token and with patience while the controller restarts. Each
    thread keeps a connection of its own."""

    def __init__(self, url: str, token: Optional[str] = None, timeout: float = 30) -> None:
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.timeout = parts.hostname or "", parts.port, timeout
        self.token = token if token is not None else os.environ.get("ASSAY_TOKEN", "")
        self._context = (ssl.create_default_context(cafile=os.environ.get("ASSAY_TLS_CA") or None)
                         if parts.scheme == "https" else None)
        self._of_thread = threading.local()
        if parts.scheme not in ("http", "https") or not self.host:
            raise ValueError(f"{url!r} is no address: write http://host:port or https://host:port")
        if (self.token and not self._context and not os.environ.get("ASSAY_INSECURE")
                and not _is_here(self.host)):
            raise ValueError(f"the token would be sent to {url} in clear text: use https:// or "
                             "a tunnel, or allow it with ASSAY_INSECURE=1")

    def _once(self, method: str, path: str, data: Optional[bytes]) -> tuple[int, bytes]:
        held: Optional[http.client.HTTPConnection] = getattr(self._of_thread, "held", None)
        headers = {"Content-Type": "application/json"} if data is not None else {}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        self._of_thread.held = None  # what fails is not used again
        if held is None and self._context:
            held = http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout,
                                               context=self._context)
        elif held is None:
            held = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        held.request(method, "/api/v1" + path, data, headers)
        answer = held.getresponse()
        body = answer.read()
        self._of_thread.held = held
        return answer.status, body

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Returns the answer's JSON. Every call here may be repeated without harm."""
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(RETRIES):
            is_last = attempt == RETRIES - 1
            try:
                status, text = self._once(method, path, data)
                if status < 300:
                    return json.loads(text or b"null")
                if status not in (429, 503) or is_last:
                    raise _refusal(status, text)
            except ssl.SSLCertVerificationError:
                raise
            except (OSError, http.client.HTTPException):
                if is_last:
                    raise
            if attempt:  # the first failure may be a connection that was idle for too long
                time.sleep(0.1 * 2 ** attempt * (1 + random.random()))


def _refusal(status: int, text: bytes) -> Error:
    try:
        problem = json.loads(text)
        return Error(status, problem.get("detail", f"status {status}"), problem.get("where", ""))
    except (ValueError, AttributeError):
        return Error(status, f"status {status}")


class Trial:
    """One configuration to try. `params` and trial["name"] hold its values; a parameter that does
    not belong to this configuration (see `when`) is absent."""

    def __init__(self, client: Client, name: str, raw: Mapping[str, Any]) -> None:
        self._client, self._name, self._lease = client, name, raw["lease"]
        self.id: int = raw["trial"]
        self.number: int = raw["number"]
        self.params: dict[str, Any] = dict(raw["params"])
        self.reached: int = raw["level"]  # above 0: it was paused there, and may go on from there
        self.levels: int = raw["levels"]
        self.verdict = "continue"
        self.asks = False  # for the next trial, in the call that ends this one
        self.next: Optional[Mapping[str, Any]] = None  # the answer to that

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.params.get(name, default)

    def _tell(self, path: str, **body: Any) -> str:
        body = {"client": self._name, "lease": self._lease, "ask": self.asks, **body}
        answer = self._client.call("POST", f"/trials/{self.id}/{path}", body)
        self.verdict, self.next = answer["verdict"], answer.get("next")
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
        many = isinstance(value, Sequence)
        self._tell("complete", **({"values": list(value)} if many else {"value": float(value)}))

    def fail(self, why: str) -> None:
        self._tell("complete", failed=why[:1000])


class Study:
    """A study by its name; `space` makes it where there is none yet (see docs/SPEC.md)."""

    def __init__(self, url: str, name: str, *, space: Optional[Mapping[str, Domain]] = None,
                 metric: str = "value", goal: str = "minimize", levels: int = 1,
                 trials: Optional[int] = None, time: Optional[str] = None,
                 sampler: Any = "auto", scheduler: Any = "auto", seed: int = 0,
                 enqueue: Optional[Sequence[Mapping[str, Any]]] = None,
                 directions: Optional[Sequence[str]] = None, token: Optional[str] = None,
                 client: Optional[str] = None, **more: Any) -> None:
        self.client, self.name = Client(url, token), name
        self.worker = client or f"{socket.gethostname()[:16]}-{os.getpid()}-{os.urandom(3).hex()}"
        if space is not None:
            budget = {k: v for k, v in (("trials", trials), ("time", time)) if v is not None}
            spec = {"name": name, "space": dict(space), "metric": metric, "goal": goal,
                    "levels": levels, "budget": budget, "sampler": sampler,
                    "scheduler": scheduler, "seed": seed, **more}
            if enqueue:
                spec["enqueue"] = [dict(e) for e in enqueue]
            if directions:  # the first is of `metric`
                spec["objectives"] = [{"metric": f"value_{i}" if i > 1 else metric, "goal": d}
                                      for i, d in enumerate(directions, 1)]
            self.client.call("POST", "/studies?load_if_exists=true", spec)

    @property
    def info(self) -> dict[str, Any]:
        return self.client.call("GET", f"/studies/{self.name}")

    @property
    def best(self) -> Optional[dict[str, Any]]:
        """The best completed trial: {number, score, config, ...}, or None."""
        rows = self.client.call("GET", f"/studies/{self.name}/leaderboard?limit=1")["rows"]
        return rows[0] if rows else None

    @property
    def best_trials(self) -> list[dict[str, Any]]:
        """With several `directions`: the trials that none beats in all of them."""
        return self.client.call("GET", f"/studies/{self.name}/pareto")["rows"]

    def trials(self) -> Iterator[dict[str, Any]]:
        after: Optional[int] = 0
        while after is not None:
            page = self.client.call("GET", f"/studies/{self.name}/trials?after={after}&limit=1000")
            yield from page["trials"]
            after = page["next"]

    def ask(self, count: int = 1, wait: bool = True) -> list[Trial]:
        """Up to `count` trials; none: the study is over (or, without `wait`, others must report)."""
        return self._take(None, count, wait)

    def _take(self, answer: Optional[Mapping[str, Any]], count: int, wait: bool) -> list[Trial]:
        while True:
            if answer is None:
                answer = self.client.call("POST", f"/studies/{self.name}/suggest",
                                          {"client": self.worker, "count": count})
            if answer["trials"] or answer["done"] or not wait:
                return [Trial(self.client, self.worker, t) for t in answer["trials"]]
            time.sleep(answer["wait_ms"] / 1000)
            answer = None

    def optimize(self, objective: Objective, n_trials: Optional[int] = None,
                 catch: tuple[type[BaseException], ...] = (Exception,)) -> None:
        """Runs trials until the study is over, or n_trials of them. An exception of a type in
        `catch` fails its trial; every other one ends the call."""
        done, answer = 0, None
        while n_trials is None or done < n_trials:
            asked = self._take(answer, 1, True)
            if not asked:
                return
            done += 1
            asked[0].asks = done != n_trials
            run(asked[0], objective, catch)
            answer = asked[0].next


def run(trial: Trial, objective: Objective,
        catch: tuple[type[BaseException], ...] = (Exception,)) -> None:
    """Runs one trial and tells its result."""
    try:
        value = objective(trial)
        if trial.verdict == "continue":  # a report at the last level has completed it already
            trial.complete(value)
    except Lost:
        pass
    except Pruned:
        if trial.verdict == "continue":  # of the program's own accord
            trial.fail("pruned by the program")
    except catch as e:
        trial.fail("".join(traceback.format_exception_only(type(e), e)).strip())
