// bench_page.mjs - how soon the page shows a study and what it costs: first rows, header, all
// trials there, bytes and requests, longest task of the page's thread; then live minutes while
// trials end. Studies of 10,000 and 100,000 trials are made from one that really ran, by repeating
// its rows in the database; the controller is real, the browser headless.
//   node tests/bench/bench_page.mjs [PROGRAM ...]     programs to compare, side by side (default:
//   build/gcc/assay) SIZES=10000,100000   LIVE_S=60 (0: none)   ROUNDS=3
// The bars of docs/SPEC.md: 10,000 trials usable in 1.5 s, 100,000 in 4 s, 30 minutes live under 10
// MB.

import {resolve} from 'node:path';

import {open} from '../e2e/cdp.mjs';
import {makeRig, needChromium, root} from '../e2e/page_rig.mjs';

needChromium();
const sizes = (process.env.SIZES || '10000,100000').split(',').map(Number),
      liveSeconds = Number(process.env.LIVE_S || 60), rounds = Number(process.env.ROUNDS || 3);
const programs = process.argv.length > 2 ? process.argv.slice(2).map((p) => resolve(p)) :
                                           [resolve(root, process.env.B || 'build/gcc', 'assay')];
const sleep = (ms) => new Promise((r) => {
  setTimeout(r, ms);
});
const rows = "document.querySelectorAll('.board tbody [data-trial]').length";
const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** Bytes on the line and requests since it was made. */
function meter(page) {
  const m = { bytes: 0, requests: 0 };
  page.on((msg) => {
    if (msg.method === 'Network.dataReceived') m.bytes += msg.params.encodedDataLength;
    if (msg.method === 'Network.requestWillBeSent' && msg.params.request.url.includes('/api/v1/'))
      m.requests++;
  });
  return m;
}

/**
 * One opening of a study in a browser that has seen the page before: milliseconds until each thing
 * stands there.
 */
async function opening(page, m, address, id, total) {
  await page.go('about:blank');
  await page.until("location.href === 'about:blank'");
  m.bytes = m.requests = 0;
  const from = Date.now(), at = {};
  await page.go(`${address}/#/studies/${id}`);
  const steps = [
    ['rows', `${rows} > 5`],
    [
      'usable',
      `${rows} > 5 && /\\d/.test(document.querySelector('.lead dd').textContent) && document.querySelector('.board .best')`
    ],
    [
      'whole',
      `Number(document.querySelector('#board-count').textContent.replaceAll(',', '').split(' ').pop()) >= ${
          total}`
    ]
  ];
  await page
      .eval(
          "window.longest = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) window.longest = Math.max(window.longest, e.duration); }).observe({ type: 'longtask', buffered: true })")
      .catch(() => {});
  for (const [name, test] of steps) {
    await page.until(test, 180000);
    at[name] = Date.now() - from;
  }
  await sleep(1500);
  return {
    ...at,
    longest: Math.round(await page.eval('window.longest')),
    bytes: m.bytes,
    requests: m.requests
  };
}

async function measure(program) {
  const rig = makeRig({ program });
  console.log(`\n${program}`);
  try {
    await rig.start();
    rig.agent();
    const spec = 'metric: accuracy\nscheduler: none\nseed: 3\n',
          short = `${spec}budget: {trials: 40}\n`;
    await rig.over(rig.study(short));
    const ids = sizes.map((n) => rig.submit(`of-${n}`, short));
    for (const id of ids) await rig.over(id);
    await rig.stop();
    sizes.forEach((n, i) => rig.multiply(ids[i], n, { failed: 3, cancelled: 1 }));
    await rig.start();
    const page = await open({ height: 1000 }), m = meter(page);
    await page.go(rig.link);
    await page.until("document.querySelector('.list tbody a')");
    for (const [i, n] of sizes.entries()) {
      const scored = Number(rig.sql(`SELECT count(*) FROM trial WHERE study = ${ids[i]}${
          (await page.eval("document.querySelector('#banner') !== null")) ?
              '' :
              " AND state = 'completed' AND score IS NOT NULL"}`));
      const all = [];
      for (let k = 0; k < rounds; k++)
        all.push(await opening(page, m, rig.address, ids[i], scored));
      const mid = (key) => middle(all.map((a) => a[key]));
      console.log(`${String(n).padStart(7)} trials: first rows ${mid('rows')} ms, usable ${
          mid('usable')} ms, all there ${mid('whole')} ms, longest task ${mid('longest')} ms, ${
          (mid('bytes') / 1e6).toFixed(2)} MB in ${
          mid('requests')} requests (first opening usable ${all[0].usable} ms)`);
    }
    if (liveSeconds) {
      rig.agent();
      const id = rig.submit('live', `${spec}budget: {trials: 100000}\n`);
      await page.go(`${rig.address}/#/studies/${id}`);
      await page.until(`${rows} > 5`, 60000);
      const count = () => JSON.parse(rig.run('show', 'live', '--json', ...rig.server)).trials.total;
      const before = count();
      m.bytes = m.requests = 0;
      await sleep(liveSeconds * 1000);
      console.log(`live: ${count() - before} trials in ${liveSeconds} s, ${
          (m.bytes / 1e6).toFixed(2)} MB, ${m.requests} requests; 30 minutes of it: ${
          (m.bytes * 1800 / liveSeconds / 1e6).toFixed(1)} MB`);
    }
    await page.close();
  } finally {
    await rig.end();
  }
}

for (const program of programs) await measure(program);
