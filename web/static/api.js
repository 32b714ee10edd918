// api.js - the REST API and the event stream as this page uses them. Writes carry the CSRF token of the
// session. The stream is read with fetch, not EventSource, because an expired session must be told from
// a broken line; it comes back by itself after the last event it saw.

const BASE = '/api/v1';
let session = null;

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
    this.where = problem.where;
  }
}

async function answer(res) {
  if (res.status === 204) return null;
  const text = await res.text();
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    if (res.ok) throw new ApiError(res.status, { detail: 'the answer was not JSON' });
  }
  if (!res.ok) throw new ApiError(res.status, body);
  return body;
}

export async function get(path, signal) {
  return answer(await fetch(BASE + path, { signal, headers: { Accept: 'application/json' } }));
}

/** Bytes [from, from + length) of a file, fewer where it ends before. */
export async function bytes(path, from, length, signal) {
  const res = await fetch(BASE + path, { signal, headers: { Range: `bytes=${from}-${from + length - 1}` } });
  if (!res.ok) return answer(res);
  const all = await res.arrayBuffer();
  return res.status === 206 ? all : all.slice(from, from + length);
}

export async function start() {
  session = await get('/session');
  return session;
}

export function mayWrite() {
  return session !== null && (session.role === 'user' || session.role === 'admin');
}

export async function send(method, path, body) {
  const headers = { 'X-Assay-CSRF': session?.csrf || '' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return answer(await fetch(BASE + path,
    { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }));
}

/** A spec as people write it: YAML or JSON text. */
export async function sendSpec(path, text) {
  return answer(await fetch(BASE + path,
    { method: 'POST', headers: { 'X-Assay-CSRF': session?.csrf || '', 'Content-Type': 'application/yaml' }, body: text }));
}

/** Splits a byte stream into events: {id, event, data}. */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf('\n\n')) >= 0) {
      const event = { id: null, event: 'message', data: '' };
      for (const line of rest.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        if (colon <= 0) continue;
        event[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
      }
      rest = rest.slice(end + 2);
      yield event;
    }
  }
}

/** Follows events until stopped. onEvent(name, data); onState('on' | 'off' | 'refused'). Returns stop(). A browser has six lines to
 * a server for all its pages, those one may go back to among them: a page that nobody sees gives its own back. */
export function follow(study, onEvent, onState) {
  let line = null, wake = null, isStopped = false, last = null, delay = 500;

  async function once() {
    const headers = last === null ? {} : { 'Last-Event-ID': last };
    const url = BASE + '/events' + (study ? `?study=${encodeURIComponent(study)}` : '');
    line = new AbortController();
    const res = await fetch(url, { signal: line.signal, headers });
    if (!res.ok) throw new ApiError(res.status, {});
    onState('on');
    delay = 500;
    for await (const e of eventsOf(res.body)) {
      if (e.id !== null) last = e.id;
      onEvent(e.event, e.data ? JSON.parse(e.data) : null);
    }
  }

  function seenOrNot() {
    if (document.hidden) line?.abort();
    else wake?.();
  }

  function stop() {
    isStopped = true;
    document.removeEventListener('visibilitychange', seenOrNot);
    line?.abort();
    wake?.();
  }

  (async () => {
    for (;;) {
      if (document.hidden) await new Promise((r) => { wake = r; });
      if (isStopped) return;
      try {
        await once();
      } catch (err) {
        if (isStopped) return;
        if (err.status === 401 || err.status === 403) {
          onState('refused');
          stop();
          return;
        }
      }
      if (document.hidden) continue;
      onState('off');
      await new Promise((r) => { setTimeout(r, delay); });
      delay = Math.min(delay * 2, 10000);
    }
  })();
  document.addEventListener('visibilitychange', seenOrNot);
  return stop;
}

/** Calls f at most once per `ms` and once more at the end; never twice at the same time. */
export function throttled(ms, f) {
  let timer = null, busy = false, again = false, dead = false;

  async function run() {
    timer = null;
    busy = true;
    const from = performance.now();
    try {
      await f();
    } finally {
      busy = false;
      const pause = Math.max(ms, 3 * (performance.now() - from));
      if (again && !dead) timer = setTimeout(run, pause);
      again = false;
    }
  }
  function ask() {
    if (dead) return;
    if (busy) again = true;
    else if (timer === null) timer = setTimeout(run, ms);
  }
  ask.stop = () => { dead = true; clearTimeout(timer); };
  return ask;
}
