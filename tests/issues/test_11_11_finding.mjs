// test_11_11_finding.mjs - issue 11, point 11. After a crash assayd looks through its database
// (PRAGMA quick_check). What it found stood only in its log. Now /health says "damaged", with a
// sentence, and so does the page.

import {spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, openSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {get} from 'node:http';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

import {chromiumPath, open} from '../e2e/cdp.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const assay = join(root, process.env.B || 'build/gcc', 'assay');
const work = mkdtempSync(join(tmpdir(), 'assay-finding-')), data = join(work, 'data'),
      db = join(data, 'assay.db');
const LEAVES = [10, 13], CELLS_AT = 3,
      FRAGMENTS_AT =
          7;  // of a b-tree page: its type, how many rows, how many bytes are lost between them

let passed = 0, failed = 0, server = null;

function ok(name, is, told = '') {
  if (is)
    passed++;
  else
    failed++;
  console.log(`${is ? 'ok' : 'FAILED'} ${name}${is ? '' : ` (${told})`}`);
}

function serve() {
  server = spawn(
      assay, ['serve', '--data-dir', data, '--listen', '127.0.0.1:0', '--log-level', 'info'], {
        cwd: work,
        stdio: ['ignore', 'pipe', openSync(join(work, 'log'), 'a')],
        env: {...process.env, HOME: work }
      });
  return new Promise((done, not) => {
    let text = '';
    server.stdout.on('data', (part) => {
      text += part;
      if (text.includes('\n')) done(/page: ([^ \n]+)/.exec(text)[1]);
    });
    server.on('exit', () => not(new Error(readFileSync(join(work, 'log'), 'utf8'))));
  });
}

function end(signal) {
  const ended = new Promise((r) => {
    server.on('exit', r);
  });
  server.kill(signal);
  return ended;
}

/** A folder in which something has happened: only such a one is looked through. */
function fill() {
  const spec =
      'name: one\ndataset: train.csv\ntarget: class\nbudget: {trials: 1}\nspace: [{family: linear}]\n';
  writeFileSync(join(work, 'one.yaml'), spec);
  for (const args
           of [['data', 'make', 'twonorm', '--rows', '200', '--seed', '3', '-o', 'train.csv'],
               ['run', 'one.yaml', '--dir', data, '-o', 'one.assay']]) {
    const { status, stderr } =
        spawnSync(assay, args, { cwd: work, env: {...process.env, HOME: work }, timeout: 60000 });
    if (status !== 0) throw new Error(`assay ${args[0]}: ${stderr}`);
  }
}

/**
 * A wrong count in the page of an empty table that nothing here reads or writes: all else works as
 * before.
 */
function damage() {
  const bytes = readFileSync(db), size = bytes.readUInt16BE(16);
  const root =
      spawnSync('sqlite3', [db, "SELECT rootpage FROM sqlite_master WHERE name = 'output'"]);
  const at = (Number(root.stdout) - 1) * size;
  if (!LEAVES.includes(bytes[at]) || bytes.readUInt16BE(at + CELLS_AT) !== 0)
    throw new Error('the table is not empty');
  bytes[at + FRAGMENTS_AT] = 50;
  writeFileSync(db, bytes);
}

function health() {
  return new Promise((done, not) => {
    get({ socketPath: join(data, 'sock'), path: '/health' }, (res) => {
      let text = '';
      res.on('data', (part) => {
        text += part;
      });
      res.on('end', () => done(JSON.parse(text)));
    }).on('error', not);
  });
}

async function healthOnce(is) {
  for (let i = 0; i < 1500; i++) {
    const h = await health();
    if (is(h)) return h;
    await new Promise((r) => {
      setTimeout(r, 20);
    });
  }
  return health();
}

const checked = () => readFileSync(join(work, 'log'), 'utf8').includes('store.checked');

try {
  fill();
  await serve();
  await end('SIGKILL');
  await serve();
  await healthOnce(checked);
  const good = await health();
  ok('a whole database is no finding', good.status === 'ok' && good.finding === null,
     JSON.stringify(good));
  await end('SIGTERM');  // all is in assay.db now
  await serve();
  await end('SIGKILL');
  damage();
  const link = await serve(), bad = await healthOnce((h) => h.status === 'damaged');
  ok('damage shows in /health', bad.status === 'damaged', JSON.stringify(bad));
  ok('with a sentence that says what to do', /restore a backup/.test(bad.finding),
     JSON.stringify(bad));
  if (chromiumPath()) {
    const page = await open();
    try {
      await page.go(link);
      const banner = "document.getElementById('banner')";
      ok('and on the page',
         await page.until(
             `!${banner}.hidden && ${banner}.textContent.includes('restore a backup')`),
         await page.eval(`${banner}.textContent`));
    } finally {
      await page.close();
    }
  } else {
    console.log('the page was not looked at: no Chromium here (package chromium)');
  }
} catch (err) {
  ok('the story ends', false, err.stack);
} finally {
  if (server && server.exitCode === null && server.signalCode === null) await end('SIGTERM');
  rmSync(work, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
