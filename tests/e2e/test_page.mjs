// test_page.mjs - the page in a real browser, against a real controller and runner: the one-time
// link signs in, the leaderboard fills live while a study runs, sorts by mouse and keyboard,
// filters, opens a configuration with its curves, downloads the best model, which predicts; a spec
// typed into the page says what is wrong or starts; pages left open take no lines from the next;
// rungs, importance and the Pareto front are those the API tells. Leaves a picture in
// build/leaderboard.png. Run by tests/run.sh.

import {execFileSync, spawn} from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

import {chromiumPath, open} from './cdp.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const assay = join(root, process.env.B || 'build/gcc', 'assay');
const picture = process.env.ASSAY_PICTURE || join(root, 'build', 'leaderboard.png');
const trials = Number(process.env.ASSAY_TRIALS || 14);
if (!chromiumPath()) {
  console.log('skipped: no Chromium here (package chromium)');
  process.exit(77);
}

let passed = 0, failed = 0;
const children = [];
const work = mkdtempSync(join(tmpdir(), 'assay-page-'));
const data = join(work, 'data'), downloads = join(work, 'downloads');

function ok(name, is, told = '') {
  if (is)
    passed++;
  else
    failed++;
  console.log(`${is ? 'ok' : 'FAILED'} ${name}${is ? '' : ` (${told})`}`);
}

function run(...args) {
  return execFileSync(assay, args, {
    cwd: work,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {...process.env, HOME: work }
  });
}

function start(args) {
  const child = spawn(assay, args, {
    cwd: work,
    stdio: ['ignore', 'pipe', openSync(join(work, `${args[0]}.log`), 'w')],
    env: {...process.env, HOME: work }
  });
  children.push(child);
  return child;
}

function firstLine(child) {
  return new Promise((done, failedTo) => {
    let text = '';
    child.stdout.on('data', (part) => {
      text += part;
      if (text.includes('\n')) done(text.split('\n')[0]);
    });
    child.on('exit', () => failedTo(new Error('the controller ended at once')));
  });
}

async function waitFor(what, f, ms = 30000) {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((r) => {
         setTimeout(r, 50);
       })) {
    const value = await f();
    if (value) return value;
  }
  throw new Error(`waited ${ms} ms for ${what}`);
}

const numbers = (column) =>
    `[...document.querySelectorAll('.board tbody tr[aria-rowindex] td:nth-child(${
        column})')].map((td) => td.textContent)`;
const ranked = (column) =>
    `[...document.querySelectorAll('.board tbody tr[aria-rowindex]')].filter((tr) => /\\d/.test(tr.cells[0].textContent)).map((tr) => tr.cells[${
        column - 1}].textContent)`;
const shownRows = "document.querySelectorAll('.board tbody tr[aria-rowindex]').length";

function isSorted(list, sign) {
  return list.length > 3 && list.every((x, i) => i === 0 || sign * (x - list[i - 1]) >= 0);
}

function told(...args) {
  return JSON.parse(run(...args, '--json', '--server', `unix:${data}/sock`));
}

/** Search, importance and trade-off say what the commands say. */
async function analysed(page, study) {
  await page.eval("document.querySelector('.search').scrollIntoView()");  // cards are filled once
                                                                          // they are in sight
  const brackets = told('show', study).brackets.reverse(),
        went = brackets.flatMap((b) => b.rungs.map((r) => r.promoted));
  ok('the sampler stands there with its reason',
     (await page.eval("document.querySelector('.chosen').textContent")).includes('auto'));
  const shown =
      await page.until("document.querySelectorAll('.rungs tbody tr:not(.ladder)').length");
  ok('every rung is a row', shown === went.length, `${shown} of ${went.length}`);
  const rungs =
      "[...document.querySelectorAll('.rungs tbody tr:not(.ladder)')].map((tr) => Number(tr.cells[3].textContent) || 0)";
  await page.until(`${rungs}.join() === '${went.join()}'`).catch(() => {});
  const cells = await page.eval(rungs);
  ok('those who went on are counted',
     went.length > 1 && cells.join() === went.join() && went.some((n) => n > 0),
     `${cells} for ${went}`);
  ok('those who were stopped are listed with what they reached',
     await page.eval(
         "[...document.querySelectorAll('.board tbody tr[aria-rowindex]')].some((tr) => tr.cells[0].textContent === '–' && tr.querySelector('[data-state=pruned]') && tr.querySelector('.reported'))"));
  run('export', study, '-o', 'told.assay', '--server', `unix:${data}/sock`);
  const columns = JSON.parse(run('explain', 'told.assay', '--json')).columns;
  await page.until("document.querySelectorAll('.columns tbody tr').length === 10");
  const worth = await page.until(
      `(() => { const r = document.querySelector('.columns tbody tr'); return r.cells[0].textContent === '${
          columns[0].name}' && r.cells[2].textContent; })()`);
  ok('columns of the best model are those of the command',
     worth === `${(100 * columns[0].importance).toFixed(1)} %`, worth);
  const first = told('importance', study).parameters;
  await page.until(
      `document.querySelectorAll('[aria-labelledby=importance-head] tbody tr').length === ${
          Math.min(10, first.length)}`);
  const share = `${(100 * first[0].importance).toFixed(1)} %`;
  ok('importance is that of the command',
     await page.until(
         `document.querySelector('[aria-labelledby=importance-head] tbody .num').textContent === '${
             share}'`));
  await page.eval(
      "(() => { const s = document.querySelector('[aria-label=Method]'); s.value = 'fanova'; s.dispatchEvent(new Event('change')); })()");
  const forest = told('importance', study, '--method', 'fanova').parameters[0];
  await page.until(
      `document.querySelector('[aria-labelledby=importance-head] tbody .num')?.textContent === '${
          (100 * forest.importance).toFixed(1)} %'`);
  ok('fANOVA comes when it is asked for', true);
  const front =
      told('pareto', study, '--x', 'predict_ns_row').rows.filter((r) => r.family !== 'baseline');
  await page.eval(
      "(() => { const s = document.querySelector('[aria-label=\"Score against\"]'); s.value = 'predict_ns_row'; s.dispatchEvent(new Event('change')); })()");
  await page.until(`document.querySelector('.tall canvas').getAttribute('aria-label').includes('${
      front.length} of ')`);
  const words =
      await page.eval("document.querySelector('.tall canvas').getAttribute('aria-label')");
  const tables =
      ['importance', 'pareto'].map((verb) => run(verb, study, '--server', `unix:${data}/sock`));
  ok('the commands print tables',
     tables[0].includes(first[0].name) && / %/.test(tables[0]) &&
         tables[1].includes('not dominated in'),
     tables.join('\n'));
  ok('the front is that of the command, in words too',
     front.length > 0 && front.every((r) => words.includes(`trial ${r.number},`)), words);
}

async function story(page, link, address, study) {
  ok('without a session the page holds no data',
     (await fetch(`${address}/api/v1/studies`)).status === 401);
  ok('the form to sign in needs none', (await fetch(`${address}/static/signin.js`)).status === 200);
  await page.go(link);
  await page.until("document.querySelector('.list tbody a')");
  ok('the one-time link signs in and shows the study',
     await page.eval("document.querySelector('.list tbody a').textContent === 'waveform'"));
  await page.eval("document.querySelector('.list tbody a').click()");
  await page.until("document.querySelector('#board-head')");
  await page.eval('window.sameDocument = true');
  await page.until("document.querySelector('.note')?.textContent.startsWith('Waiting: ')");
  ok('while no runner takes work nothing is ranked, and the page says why',
     (await page.eval(ranked(1))).length === 0);
  run('runner', 'enable', '1', '--server', `unix:${data}/sock`);
  await page.until(`${shownRows} > 3`, 60000);
  ok('the leaderboard fills live, without a reload',
     await page.eval('window.sameDocument === true && location.hash') === `#/studies/${study}`);
  await page.until(`${ranked(4)}.length > 3`, 60000);
  ok('ranks are in order of the score', isSorted((await page.eval(ranked(4))).map(parseFloat), -1),
     await page.eval(ranked(4)));
  ok('the best score stands above, or that of an ensemble',
     await page.eval(
         "/ensemble of/.test(document.querySelector('.lead').textContent) || parseFloat(document.querySelector('.lead dd').textContent) === parseFloat(document.querySelector('.best .score').textContent)"));

  await page.until("document.querySelector('.head .pill').dataset.state === 'completed'", 120000);
  ok('the study ends while the page is open', true);
  ok('all trials are listed',
     await page.eval("Number(document.querySelector('#board-count').textContent)") === trials);
  const ensemble = told('show', study).result.ensemble;
  const heaviest = ensemble?.ships ? ensemble.members[0] : null;
  ok('a member of the ensemble carries its weight',
     !heaviest ||
         await page.until(`document.querySelector('[data-trial="${
             heaviest.number}"]').closest('tr').querySelector('.weight')`));

  await analysed(page, study);

  const head = (n) => `document.querySelectorAll('.board thead th')[${n}]`;
  await page.eval(`${head(1)}.querySelector('button').click()`);
  ok('a click sorts by trial',
     isSorted((await page.eval(numbers(2))).map((t) => Number(t.slice(1))), 1) &&
         await page.eval(`${head(1)}.getAttribute('aria-sort')`) === 'ascending');
  await page.eval(`${head(1)}.querySelector('button').focus()`);
  await page.key('Enter');
  ok('Enter on the head turns it round',
     isSorted((await page.eval(numbers(2))).map((t) => Number(t.slice(1))), -1) &&
         await page.eval(`${head(1)}.getAttribute('aria-sort')`) === 'descending');
  await page.eval(`${head(0)}.querySelector('button').click()`);

  await page.eval("document.querySelector('#filter').focus()");
  await page.send('Input.insertText', { text: 'family = linear' });
  ok('the filter leaves one family',
     (await page.eval(numbers(3))).every((f) => /^linear( -?\d+ %)?$/.test(f)) &&
         await page.eval(shownRows) > 0);
  await page.eval(
      "(() => { const f = document.querySelector('#filter'); f.value = ''; f.dispatchEvent(new Event('input')); })()");

  await page.eval("document.querySelector('.board tbody .expand').focus()");
  await page.key('Enter');
  await page.until("document.querySelector('.detail .curve[aria-label]')");
  ok('and shows how the trial learned', true);
  ok('a row opens its configuration by keyboard',
     await page.eval(
         "document.querySelector('.board .detail') && document.querySelector('.expand[aria-expanded=true]') === document.activeElement"));
  await page.key('Enter');

  await page.call(
      'Browser.setDownloadBehavior',
      { behavior: 'allow', downloadPath: downloads, eventsEnabled: false });
  await page.eval("document.querySelector('.bar .primary').click()");
  const file =
      await waitFor('the download', () => readdirSync(downloads).find((f) => f.endsWith('.assay')));
  await waitFor('its bytes', () => statSync(join(downloads, file)).size > 0);
  run('predict', join(downloads, file), 'train.csv', '-o', 'out.csv');
  ok('the best model comes by one click, with a good name, and predicts',
     existsSync(join(work, 'out.csv')) && file.includes('waveform'), file);

  await page.screenshot(picture);
  ok('tables have captions, heads a scope, the graph words',
     await page.eval(
         "[...document.querySelectorAll('table')].every((t) => t.caption) && [...document.querySelectorAll('thead th')].every((t) => t.scope === 'col') && document.querySelector('canvas').getAttribute('aria-label').includes('best')"));
  await page.eval("document.querySelector('[data-nav=datasets]').click()");
  await page.until("document.querySelector('.list tbody th')?.textContent.includes('train')");
  await page.eval("document.querySelector('details').open = true");
  await page.until("document.querySelectorAll('.chips li').length === 22");
  ok('datasets show their columns', true);
  await page.eval("document.querySelector('[data-nav=runners]').click()");
  await page.until("document.querySelector('.list tbody li strong')?.textContent === 'cpu0'");
  ok('runners show their devices', true);
  ok('nothing came from elsewhere',
     page.requests.every(
         (u) => u.startsWith(address) || u.startsWith('data:') || u.startsWith('blob:')),
     page.requests.join());
  ok('the browser had nothing to complain of', page.problems.length === 0,
     page.problems.join('; '));
}

/**
 * A spec typed into the page: what is wrong with it and where, what it would do, and the study
 * that it starts.
 */
async function submitted(page, address) {
  const spec = (text) => page.eval(`(() => { const t = document.getElementById('spec'); t.value = ${
      JSON.stringify(text)}; t.dispatchEvent(new Event('input')); })()`);
  const base = 'dataset: train\ntarget: class\nbudget: {trials: 8}\nparallel: 1\n';
  await page.go(`${address}/#/new`);
  await page.until(
      "document.querySelector('.told .list') && document.getElementById('spec').value.includes('dataset: train')");
  ok('a new study begins with a spec that would run',
     await page.eval("!document.querySelector('[type=submit]').disabled"));
  await spec(`${base}scheduler: {kind: hyperband, eta: 1}\n`);
  const wrong = await page.until("document.querySelector('.told .bad')?.textContent");
  ok('a wrong key is named with its line',
     wrong.includes('scheduler.eta') && wrong.includes('line 5') &&
         await page.eval("document.querySelector('[type=submit]').disabled"),
     wrong);
  await spec(
      `${base}objectives: [accuracy, model_bytes]\nspace: [{family: linear}, {family: boost}]\n`);
  await page.until(
      "document.querySelector('.told')?.textContent.includes('2 objectives are searched for together')");
  await page.eval("document.querySelector('[type=submit]').click()");
  const made = /studies\/(\d+)/.exec(
      await page.until("location.hash.startsWith('#/studies/') && location.hash"))[1];
  const asked =
      run('trial', 'enqueue', made, '{family: boost, leaves: 7}', '--server', `unix:${data}/sock`);
  ok('a user may ask for one trial more', /^trial \d+\/\d+ \(id \d+/.test(asked), asked);
  await page.until("document.querySelector('.head .pill')?.dataset.state === 'completed'", 60000);
  ok('the study runs, and its front is marked',
     await page.until("document.querySelectorAll('.board .front').length > 0"));
  ok('it says what it searched for',
     await page.eval("document.querySelector('.about').textContent.includes('small models')"));
}

/** Pages one came from are kept by the browser, with the lines they hold to the server. */
async function leftAndEntered(page, address, study) {
  const whole = {
    new: "document.querySelector('.told .list')",
    [`studies/${study}`]: "document.querySelector('.board .best .score')"
  };
  let late = '';
  for (let i = 0; i < 10 && !late; i++) {
    const view = Object.keys(whole)[i % 2];
    await page.go('about:blank');
    await page.until("location.href === 'about:blank'");
    await page.go(`${address}/#/${view}`);
    await page.until(whole[view]).catch((err) => {
      late = `number ${i}: ${err.message}`;
    });
  }
  ok('however many pages were left open behind it, the next one is whole', !late, late);
}

async function main() {
  mkdirSync(data, { mode: 0o700 });
  mkdirSync(downloads);
  mkdirSync(dirname(picture), { recursive: true });
  run('data', 'make', 'waveform', '--rows', process.env.ASSAY_ROWS || '800', '--seed', '3', '-o',
      'train.csv');
  const line = await firstLine(start(['serve', '--data-dir', data, '--listen', '127.0.0.1:0']));
  const address = /http:\/\/[^ ]+/.exec(line)[0], link = /page: ([^ ]+)/.exec(line)[1];
  const page = await open({ height: 980 });
  try {
    // Networks are left out: a model of theirs does not say what its columns are worth.
    writeFileSync(
        join(work, 'spec.yaml'),
        `name: waveform\ndataset: train\ntarget: class\nmetric: accuracy\ntest: {fraction: 0.25}\nbudget: {trials: ${
            trials}}\nscheduler: asha\nseed: 3\nspace: [{family: linear}, {family: boost}, {family: forest}, {family: extra_trees}]\n`);
    start(['agent', '--controller', `unix:${data}/sock`, '--devices', 'cpu:1']);
    run('data', 'add', 'train.csv', '--name', 'train', '--server', `unix:${data}/sock`);
    run('runner', 'drain', '1', '--server', `unix:${data}/sock`);
    const study = /\d+/.exec(run('submit', 'spec.yaml', '--server', `unix:${data}/sock`))[0];
    await story(page, link, address, study);
    await submitted(page, address);
    await leftAndEntered(page, address, study);
  } finally {
    await page.close();
  }
}

try {
  await main();
} catch (err) {
  ok('the story goes to its end', false, err.stack);
}
for (const child of children.reverse()) {
  const ended = new Promise((r) => {
    child.on('exit', r);
  });
  if (child.exitCode === null && child.kill('SIGTERM')) await ended;
}
if (failed === 0)
  rmSync(work, { recursive: true, force: true });
else
  console.log(`kept: ${work}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
