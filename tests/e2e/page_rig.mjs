// page_rig.mjs - what the tests and the benchmark of the page share: a real controller with a
// runner in a folder of its own, a finished study whose rows can be multiplied in its database, and
// a fake controller whose answers a test changes as it goes. Everything listens on loopback, on a
// free port, and ends with the test.

import {execFileSync, spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {dirname, extname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

import {chromiumPath, open} from './cdp.mjs';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml'
};

export function needChromium() {
  if (chromiumPath()) return;
  console.log('skipped: no Chromium here (package chromium)');
  process.exit(77);
}

export async function waitFor(what, f, ms = 30000) {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((r) => {
         setTimeout(r, 40);
       })) {
    const value = await f();
    if (value) return value;
  }
  throw new Error(`waited ${ms} ms for ${what}`);
}

/**
 * A real controller: {dir, address, link, run(...), start(), stop(), multiply()}. program: the
 * built one by default.
 */
export function makeRig({program = join(root, process.env.B || 'build/gcc', 'assay')} = {}) {
  const work = mkdtempSync(join(tmpdir(), 'assay-page-')), dir = join(work, 'data'), children = [];
  const env = {...process.env, HOME: work };
  mkdirSync(dir, { mode: 0o700 });

  function run(...args) {
    return execFileSync(
        program, args, { cwd: work, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env });
  }

  function spawned(...args) {
    const child = spawn(
        program, args,
        { cwd: work, stdio: ['ignore', 'pipe', openSync(join(work, `${args[0]}.log`), 'a')], env });
    children.push(child);
    return child;
  }

  const rig = {
    dir,
    work,
    run,
    address: null,
    link: null,
    server: ['--server', `unix:${dir}/sock`],
    async start(port = 0) {
      const child = spawned('serve', '--data-dir', dir, '--listen', `127.0.0.1:${port}`);
      const line = await new Promise((done, failed) => {
        let text = '';
        child.stdout.on('data', (part) => {
          text += part;
          if (text.includes('\n')) done(text.split('\n')[0]);
        });
        child.on(
            'exit',
            () => failed(new Error(`the controller ended at once: ${
                readFileSync(join(work, 'serve.log'), 'utf8').slice(-500)}`)));
      });
      rig.address = /http:\/\/[^ ]+/.exec(line)[0];
      rig.link = /page: ([^ ]+)/.exec(line)[1];
      return rig;
    },
    agent: () => spawned('agent', '--controller', `unix:${dir}/sock`, '--devices', 'cpu:1'),
    async stop() {
      for (const child of children.splice(0).reverse()) {
        const ended = new Promise((r) => {
          child.on('exit', r);
        });
        if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM'))
          await ended;
      }
    },
    async end(isKept = false) {
      await rig.stop();
      if (isKept)
        console.log(`kept: ${work}`);
      else
        rmSync(work, { recursive: true, force: true });
    },
    /** A table and a study over it that ran to its end; its id. */
    study(spec, rows = 300) {
      run('data', 'make', 'waveform', '--rows', String(rows), '--seed', '3', '-o', 'train.csv');
      run('data', 'add', 'train.csv', '--name', 'train', ...rig.server);
      return rig.submit('waveform', spec);
    },
    /** Another study over that table. */
    submit(name, spec) {
      writeFileSync(
          join(work, 'spec.yaml'), `name: ${name}\ndataset: train\ntarget: class\n${spec}`);
      return /\d+/.exec(run('submit', 'spec.yaml', ...rig.server))[0];
    },
    async over(id, ms = 60000) {
      await waitFor(
          'the end of the study',
          () => ['completed', 'stopped', 'failed'].includes(
              JSON.parse(run('show', id, '--json', ...rig.server)).state),
          ms);
    },
    sql(text) {
      return execFileSync(
          'sqlite3', ['-batch', join(dir, 'assay.db')], { input: text, encoding: 'utf8' });
    },
    /**
     * While the controller is stopped: gives the study `total` trials by repeating those it has,
     * with scores of their own. Of a hundred, `failed` have failed and `cancelled` were cancelled.
     * The rows are inserted in the order of their numbers, because the controller refuses a study
     * in which a later trial has a smaller id: it creates a study's trials one after another.
     */
    multiply(id, total, { failed = 0, cancelled = 0 } = {}) {
      const columns = rig.sql("SELECT name FROM pragma_table_info('trial') WHERE name <> 'id'")
                          .trim()
                          .split('\n');
      const own = {
        number: 'k',
        artifact: 'NULL',
        checkpoint: 'NULL',
        fence: '1',
        retry_of: 'NULL',
        state: `CASE WHEN k % 100 < ${failed} THEN 'failed' WHEN k % 100 < ${
            failed + cancelled} THEN 'cancelled' ELSE t.state END`,
        reason: `CASE WHEN k % 100 < ${failed} THEN 'memory' WHEN k % 100 < ${
            failed + cancelled} THEN 'budget' ELSE t.reason END`,
        score: `CASE WHEN k % 100 < ${
            failed +
            cancelled} THEN NULL ELSE t.score - 0.3 * abs(k * 2654435761 % 100003) / 100003.0 END`,
      };
      rig.sql(`WITH RECURSIVE n(k) AS (SELECT (SELECT max(number) + 1 FROM trial WHERE study = ${
          id}) UNION ALL SELECT k + 1 FROM n WHERE k < ${total}),
        base AS (SELECT *, row_number() OVER (ORDER BY number) - 1 AS nth, count(*) OVER () AS many FROM trial WHERE study = ${
          id} AND state = 'completed')
        INSERT INTO trial(${columns.join(', ')}) SELECT ${
          columns.map((c) => own[c] || `t.${c}`)
              .join(', ')} FROM n JOIN base t ON t.nth = n.k % t.many ORDER BY n.k;`);
    },
  };
  return rig;
}

/**
 * A fake controller: serves the page's files and what `answers` says: a map from "GET /path"
 * (below /api/v1, without the query) to a function (url, body) => object, or {status, ...problem}.
 * `tell(event, data)` sends to the streams.
 */
export async function makeFake(answers) {
  const streams = new Set(), asked = [];
  const session = { role: 'user', name: 'test', csrf: 'x' };
  let port = 0, server = null, sockets = new Set();

  async function serve(req, res) {
    const url = new URL(req.url, 'http://x');
    if (!url.pathname.startsWith('/api/v1')) {
      const file = url.pathname === '/' ? 'index.html' : url.pathname.replace('/static/', '');
      try {
        const text = readFileSync(join(root, 'web/static', file));
        res.writeHead(200, {
             'Content-Type': types[extname(file)] || 'text/plain',
             'Cache-Control': 'no-cache'
           })
            .end(text);
      } catch {
        res.writeHead(404).end();
      }
      return;
    }
    const path = url.pathname.slice('/api/v1'.length), key = `${req.method} ${path}`;
    let body = '';
    for await (const part of req) body += part;
    asked.push(`${key}${url.search}`);
    if (path === '/events' && !answers['GET /events']) {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' });
      res.write(`event: hello\nid: ${fake.seq}\ndata: {"seq":${fake.seq}}\n\n`);
      streams.add(res);
      res.on('close', () => streams.delete(res));
      return;
    }
    const always = { '/session': () => session, '/health': () => ({ status: 'ok' }) };
    const f = answers[key] || always[path];
    const answer = f ? await f(url, body) :
                       { status: 404, title: 'Not found', detail: `the fake has no ${key}` };
    const status = Number.isInteger(answer?.status) ? answer.status : 200;
    res.writeHead(
           status,
           { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json' })
        .end(JSON.stringify(answer));
  }

  const fake = {
    seq: 1,
    asked,
    answers,
    get address() {
      return `http://127.0.0.1:${port}`;
    },
    tell(event, data) {
      for (const res of streams)
        res.write(`event: ${event}\nid: ${data.seq}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    async listen() {
      server = createServer((req, res) => {
        serve(req, res).catch((err) => {
          console.error(err);
          res.destroy();
        });
      });
      server.on('connection', (s) => {
        sockets.add(s);
        s.on('close', () => sockets.delete(s));
      });
      await new Promise((r) => {
        server.listen(port, '127.0.0.1', r);
      });
      port = server.address().port;
      return fake;
    },
    /** Away, connections and all; listen() comes back on the same port. */
    async away() {
      for (const s of sockets) s.destroy();
      await new Promise((r) => {
        server.close(r);
      });
    },
  };
  return fake.listen();
}

/** A study and its trials as the API tells them, for the fake. */
export function fakeStudy(more = {}) {
  return {
    id: 1,
    name: 'one',
    state: 'running',
    reason: null,
    why: null,
    dataset_name: 'train',
    target: 'y',
    task: 'binary',
    metric: 'auc',
    larger_is_better: true,
    objectives: ['score'],
    budget: { time_ms: 0, trials: 0 },
    used_ms: 60000,
    created_at: Date.now() - 90000,
    started_at: Date.now() - 80000,
    ended_at: 0,
    archived: false,
    trials: {
      total: 0,
      queued: 0,
      running: 0,
      paused: 0,
      completed: 0,
      pruned: 0,
      failed: 0,
      cancelled: 0
    },
    best: null,
    artifact: null,
    result: null,
    sampler: 'random',
    scheduler: 'none',
    sampler_why: null,
    scheduler_why: null,
    resource: 'auto',
    brackets: null,
    data: null,
    spec: {},
    ...more
  };
}

export function fakeRow(number, more = {}) {
  return {
    trial: 1000 + number,
    number,
    family: 'boost',
    state: 'completed',
    reason: 'none',
    detail: null,
    source: 'sampler',
    score: 0.9 - number / 1000,
    se: 0.002,
    reported: 0.9 - number / 1000,
    test_score: null,
    test_se: null,
    level: 3,
    max_level: 3,
    fit_us: 50000,
    predict_ns_row: 900,
    model_bytes: 12000,
    cut: false,
    artifact: false,
    rank: 1,
    started_at: 1,
    ended_at: 2,
    config: { family: 'boost', leaves: 31, learning_rate: 0.1 },
    ...more
  };
}

/** The columns of trials (rows of fakeRow, by number), as the API tells them. */
export function fakeColumns(rows, url, seq) {
  const after = Number(url.searchParams.get('after')),
        limit = Number(url.searchParams.get('limit')), part = rows.slice(after, after + limit),
        to = after + part.length;
  const families = [...new Set(rows.map((r) => r.family))],
        states =
            ['none', 'queued', 'running', 'paused', 'completed', 'pruned', 'failed', 'cancelled'];
  const reasons = [...new Set(['none', ...rows.map((r) => r.reason)])], pick = (f) => part.map(f);
  return {
    seq,
    from: after + 1,
    count: part.length,
    next: to < rows.length ? to : null,
    total: rows.length,
    families,
    states,
    reasons,
    trial: pick((r) => r.trial),
    state: pick((r) => states.indexOf(r.state)),
    reason: pick((r) => reasons.indexOf(r.reason)),
    family: pick((r) => families.indexOf(r.family)),
    score: pick((r) => r.score ?? r.reported),
    level: pick((r) => r.level),
    max_level: pick((r) => r.max_level),
    fit_us: pick((r) => r.fit_us || 0),
    predict_ns_row: pick((r) => r.predict_ns_row || 0),
    model_bytes: pick((r) => r.model_bytes || 0),
    ended_at: pick((r) => r.ended_at),
    flags: pick((r) => (Number.isFinite(r.score) ? 1 : 0) | (r.artifact ? 2 : 0) | (r.cut ? 4 : 0)),
    ...(url.searchParams.get('config') === 'true' &&
        { config: pick((r) => r.config), test_score: pick((r) => r.test_score) })
  };
}

/**
 * The answers of a study with these trials: what a fake controller says until a test changes
 * `world`. world.changed: numbers of trials that changed after a journal number: [[seq, number],
 * ...].
 */
export function fakeAnswers(world) {
  const best =
      () => [...world.rows].sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
  const count = () => {
    const trials = {
      total: world.rows.length,
      queued: 0,
      running: 0,
      paused: 0,
      completed: 0,
      pruned: 0,
      failed: 0,
      cancelled: 0
    };
    for (const r of world.rows) trials[r.state]++;
    const [top] = best();
    return {...world.study, trials, best: Number.isFinite(top?.score) ? top : null };
  };
  world.seq ??= 1;
  world.changed ??= [];
  return {
    'GET /studies': () => ({ studies: [count()], next: null }),
    'GET /studies/1': count,
    'GET /studies/1/page': (url) => ({
      seq: world.seq,
      study: count(),
      rows: best().slice(0, Number(url.searchParams.get('limit')))
    }),
    'GET /studies/1/columns': (url) => fakeColumns(world.rows, url, world.seq),
    'GET /studies/1/rows': (url) => ({
      seq: world.seq,
      rows: url.searchParams.get('numbers').split(',').map((n) => world.rows[n - 1])
    }),
    'GET /studies/1/changes': (url) => {
      const after = Number(url.searchParams.get('after')),
            numbers = new Set(world.changed.filter(([s]) => s > after).map(([, n]) => n));
      return {
        seq: world.seq,
        more: false,
        reset: false,
        study: count(),
        rows: [...numbers].map((n) => world.rows[n - 1])
      };
    },
    'GET /studies/1/importance': () => ({
      study: 1,
      method: 'ped_anova',
      state: 'too_few',
      trials: 0,
      parameters: [],
      main_effects: null
    }),
    'GET /studies/1/pareto': () =>
        ({ study: 1, metric: 'auc', state: 'ready', rows: [], compared: 0, total: 0 }),
    ...Object.fromEntries(world.rows.map(
        (r) => [`GET /trials/${r.trial}`, () => ({
                                            ...world.rows[r.number - 1],
                                            id: r.trial,
                                            reports: [],
                                            attempts: world.attempts?.[r.number] || [],
                                            info: {}
                                          })])),
  };
}

/**
 * Changes trials of the world and tells the page: changes = {number: {field: value}}; a number
 * beyond the last is a new trial.
 */
export function fakeChange(fake, world, changes) {
  for (const [number, more] of Object.entries(changes)) {
    world.seq++;
    world.rows[number - 1] = {...(world.rows[number - 1] || fakeRow(Number(number))), ...more };
    world.changed.push([world.seq, Number(number)]);
  }
  fake.seq = world.seq;
  fake.tell('changed', { seq: world.seq, studies: [1] });
}

/**
 * Runs a story of cases in a browser against a fake controller, and ends the process as
 * tests/run.sh expects.
 */
export async function browserTest(world, story, size = {}) {
  needChromium();
  let passed = 0, failed = 0;
  const ok = (name, is, told = '') => {
    if (is)
      passed++;
    else
      failed++;
    console.log(`${is ? 'ok' : 'FAILED'} ${name}${is ? '' : ` (${told})`}`);
  };
  const fake = await makeFake(fakeAnswers(world)), page = await open(size);
  try {
    await story({ ok, fake, page });
    ok('the browser had nothing to complain of', page.problems.length === 0,
       page.problems.join('; '));
  } catch (err) {
    ok('the story goes to its end', false, err.stack);
  }
  await page.close();
  await fake.away().catch(() => {});
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
