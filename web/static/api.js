// api.js - the REST API and the event stream as this page uses them. The session has a secret, and
// every request carries it in a header. The cookie alone gives no access, because browsers send a
// cookie to every port of a host. The secret is kept in this origin's local storage, so that all
// tabs are signed in, also after a restart of the browser or the controller. The event stream is
// read with fetch, because EventSource cannot send the header. A stream that breaks is opened again
// and continues after the last event that the page received.

const BASE = '/api/v1', KEY = 'assay-key';
let session = null, signedOut = () => {};

/** The status is 0 when no answer came at all. */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
    this.where = problem.where;
  }
}

/**
 * The one-time link leads to #key=SECRET. The secret is stored, and it is removed from the address.
 */
function takeKey() {
  const found = /^#key=([0-9a-f]{64})$/.exec(location.hash);
  if (!found) return;
  localStorage.setItem(KEY, found[1]);
  history.replaceState(null, '', `${location.pathname}#/`);
}

async function request(path, init = {}) {
  const key = localStorage.getItem(KEY);
  let res;
  try {
    res = await fetch(
        BASE + path, {...init, headers: {...init.headers, ...(key && { 'X-Assay-CSRF': key }) } });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new ApiError(0, {
      detail: 'The controller does not answer: it may be restarting, or the network is down. ' +
          'This page goes on when it is back.'
    });
  }
  if (res.status === 401 && session) {
    session = null;
    signedOut();
  }
  return res;
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
  return answer(await request(path, { signal, headers: { Accept: 'application/json' } }));
}

/** Reads the bytes [from, from + length) of a file, or fewer if the file ends earlier. */
export async function bytes(path, from, length, signal) {
  const res =
      await request(path, { signal, headers: { Range: `bytes=${from}-${from + length - 1}` } });
  if (!res.ok) return answer(res);
  const all = await res.arrayBuffer();
  return res.status === 206 ? all : all.slice(from, from + length);
}

/** Asks which user is signed in. Throws an ApiError with status 401 when nobody is. */
export async function start() {
  takeKey();
  session = await get('/session');
  return session;
}

/**
 * The same for a page that is being opened. It asks again until the controller answers, and returns
 * null, instead of throwing an error, when nobody is signed in.
 */
export async function startPatiently(onWait) {
  for (let delay = 500;; delay = Math.min(delay * 2, 10000)) {
    try {
      return await start();
    } catch (err) {
      if (err.status === 401 || err.status === 403) return null;
      onWait();
      await new Promise((r) => {
        setTimeout(r, delay);
      });
    }
  }
}

/** Returns {role, name, session}, or null when nobody is signed in. */
export function who() {
  return session;
}

/** Sets the function that is called once, when the session that `start` found has ended. */
export function onSignedOut(f) {
  signedOut = f;
}

export async function signIn(token) {
  const answered = await send('POST', '/session', { token });
  localStorage.setItem(KEY, answered.secret);
  return start();
}

export async function signOut() {
  session = null;  // answers with status 401 are expected from here on
  await send('DELETE', '/session');
  localStorage.removeItem(KEY);
  signedOut();
}

/**
 * A link to a file cannot send the header. When it is clicked, the page asks for a ticket that is
 * valid for one request, and puts it into the address.
 */
async function download(link) {
  const { ticket } = await send('POST', '/tickets', { path: link.pathname });
  const once = document.createElement('a');
  once.href = `${link.pathname}?ticket=${ticket}`;
  once.download = link.download;
  once.click();
}

/**
 * Makes every <a download> that leads to the API work, also those that are added to the page later.
 * onError(err) shows an error.
 */
export function serveDownloads(onError) {
  document.addEventListener('click', (e) => {
    const link = e.target.closest?.('a[download]');
    if (!link || !link.isConnected || link.origin !== location.origin ||
        !link.pathname.startsWith(`${BASE}/`))
      return;
    e.preventDefault();
    download(link).catch(onError);
  });
}

export function mayWrite() {
  return session !== null && (session.role === 'user' || session.role === 'admin');
}

export async function send(method, path, body) {
  const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return answer(await request(
      path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }));
}

/** Sends a spec as text, either YAML or JSON. */
export async function sendSpec(path, text) {
  return answer(await request(
      path, { method: 'POST', headers: { 'Content-Type': 'application/yaml' }, body: text }));
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

/**
 * Follows the events of one study, or of all studies if `study` is null, until stop() is called;
 * this function returns stop. Calls onEvent(name, data) for each event, and onState with 'on',
 * 'off' or 'refused' when the connection changes. With `brief` the controller sends at most one
 * `changed` event a second instead of every event.
 *
 * A browser opens at most six connections to one server for all its pages, and it counts pages in
 * the history that it may go back to. A page that is hidden therefore closes its connection.
 */
export function follow(study, onEvent, onState, {brief = false} = {}) {
  let line = null, wake = null, isStopped = false, last = null, delay = 500;

  async function once() {
    const headers = last === null ? {} : { 'Last-Event-ID': last };
    line = new AbortController();
    const query = [
      study ? `study=${encodeURIComponent(study)}` : '', brief ? 'brief=true' : ''
    ].filter(Boolean).join('&');
    const res = await request('/events' + (query && `?${query}`), { signal: line.signal, headers });
    if (!res.ok) throw new ApiError(res.status, {});
    onState('on');
    delay = 500;
    for await (const e of eventsOf(res.body)) {
      if (e.id !== null) last = e.id;
      onEvent(e.event, e.data ? JSON.parse(e.data) : null);
    }
  }

  function seenOrNot() {
    if (document.hidden)
      line?.abort();
    else
      wake?.();
  }

  function stop() {
    isStopped = true;
    document.removeEventListener('visibilitychange', seenOrNot);
    line?.abort();
    wake?.();
  }

  (async () => {
    for (;;) {
      if (document.hidden)
        await new Promise((r) => {
          wake = r;
        });
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
      await new Promise((r) => {
        setTimeout(r, delay);
      });
      delay = Math.min(delay * 2, 10000);
    }
  })();
  document.addEventListener('visibilitychange', seenOrNot);
  return stop;
}

/**
 * Calls f at most once per `ms`, and once more after the last request. Two calls never overlap, and
 * the pause after a call is at least three times as long as the call took.
 */
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
    if (busy)
      again = true;
    else if (timer === null)
      timer = setTimeout(run, ms);
  }
  ask.stop = () => {
    dead = true;
    clearTimeout(timer);
  };
  return ask;
}
