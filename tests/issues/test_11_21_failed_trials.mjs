// test_11_21_failed_trials.mjs - failed and cancelled trials did not exist on the page: a study
// with 13 of 20 failed showed seven rows and "completed". Every trial is on the board, with its
// reason, in chips that count states; failure rates stand on the study and on the list; why a study
// waits or ended is said, and how attempts ended (point 24). Run by tests/run.sh.

import {browserTest, fakeChange, fakeRow, fakeStudy} from '../e2e/page_rig.mjs';

const world = {
  study: fakeStudy({ state: 'completed', reason: 'the time was used' }),
  rows: [],
  attempts: {}
};
for (let n = 1; n <= 20; n++) {
  if (n <= 7)
    world.rows.push(fakeRow(n));
  else if (n <= 19)
    world.rows.push(fakeRow(n, {
      state: 'failed',
      reason: 'memory',
      detail: 'it needed 9 GB of 8 GB',
      score: null,
      reported: null,
      artifact: false,
      rank: null
    }));
  else
    world.rows.push(fakeRow(n, {
      family: 'forest',
      state: 'cancelled',
      reason: 'budget',
      score: null,
      reported: null,
      artifact: false,
      rank: null
    }));
}
world.rows[7].reason = 'crashed_alone';
world.rows[7].state = 'failed';
world.attempts[8] = [
  {
    fence: 1,
    runner: 1,
    session: 's',
    device: 'cpu0',
    from: 0,
    to: 3,
    end_reason: 'worker_died',
    started_at: 1,
    ended_at: 2000
  },
  {
    fence: 2,
    runner: 2,
    session: 's',
    device: 'cpu1',
    from: 0,
    to: 3,
    end_reason: 'fail',
    started_at: 3000,
    ended_at: 4000
  }
];

const states = "[...document.querySelectorAll('.board tbody .state')].map((s) => s.dataset.state)";
const chip = (key) => `document.querySelector('[data-chip=${key}]')`;

await browserTest(world, async ({ ok, fake, page }) => {
  await page.go(`${fake.address}/#/`);
  await page.until("document.querySelector('.list tbody a')");
  const row = await page.eval("document.querySelector('.list tbody tr').textContent");
  ok('the list tells how many failed', row.includes('12 failed (60 %)'), row);
  ok('and why the study ended, unless it simply completed', !row.includes('the time was used'),
     row);

  await page.go(`${fake.address}/#/studies/1`);
  await page.until("document.querySelector('#board-count')?.textContent === '20'");
  ok('every trial is counted', true);
  ok('the study tells how many failed',
     (await page.eval("document.querySelector('.facts .failed').textContent")) ===
         '12 failed (60 %)');
  ok('why it ended stands beside its state',
     (await page.eval("document.querySelector('.bar.head').textContent"))
         .includes('the time was used'));
  ok('chips count states',
     (await page.eval(
         "[...document.querySelectorAll('.chip')].filter((c) => !c.hidden).map((c) => c.textContent.trim()).join()")) ===
         'All 20,Completed 7,Failed 12,Cancelled 1',
     await page.eval("document.querySelector('.chip-row').textContent"));

  await page.eval(`${chip('failed')}.focus()`);
  await page.key('Enter');
  await page.until("document.querySelector('#board-count').textContent === '12 of 20'");
  ok('a chip, by keyboard, leaves its state',
     (await page.eval(states)).every((s) => s === 'failed') &&
         await page.eval(`${chip('failed')}.getAttribute('aria-pressed') === 'true'`));
  ok('each with its reason',
     (await page.eval(
          "[...document.querySelectorAll('.board tbody .state')].map((s) => s.textContent)"))
         .every((t) => t.includes('out of memory') || t.includes('crashed')));

  await page.eval("document.querySelector('[data-trial=\"9\"]').click()");
  await page.until("document.querySelector('.trial-why')?.textContent.includes('9 GB of 8 GB')");
  ok('an opened one says it in a sentence, with what the engine said',
     (await page.eval("document.querySelector('.trial-why').textContent"))
         .startsWith('It needed more memory'));
  await page.eval("document.querySelector('[data-trial=\"8\"]').click()");
  const attempts = await page.until("document.querySelector('.attempts')?.textContent");
  ok('and how its attempts ended',
     attempts.includes('worker died') && attempts.includes('cpu1') && attempts.includes('failed'),
     attempts);

  await page.eval(`${chip('cancelled')}.click()`);
  await page.until("document.querySelector('#board-count').textContent === '1 of 20'");
  ok('forests that time cut are there',
     (await page.eval("document.querySelector('.board tbody').textContent")).includes('forest') &&
         (await page.eval("document.querySelector('.board tbody').textContent"))
             .includes('budget used up'));
  await page.eval(`${chip('cancelled')}.click()`);
  await page.until("document.querySelector('#board-count').textContent === '20'");
  ok('a second press shows all again', true);

  world.study = {
    ...world.study,
    state: 'running',
    why: 'no runner is connected that can take this work',
    reason: null
  };
  fakeChange(fake, world, { 1: {} });
  await page.until("document.querySelector('.note') && !document.querySelector('.note').hidden");
  ok('why a study waits is said',
     (await page.eval("document.querySelector('.note').textContent")) ===
         'Waiting: no runner is connected that can take this work',
     await page.eval("document.querySelector('.note').textContent"));
  world.study = {
    ...world.study,
    state: 'failed',
    why: null,
    reason: 'no trial was completed; trial 2 (boost): out of memory'
  };
  fakeChange(fake, world, { 1: {} });
  await page.until("document.querySelector('.note').classList.contains('bad-note')");
  ok('why a study failed is said',
     (await page.eval("document.querySelector('.note').textContent"))
         .includes('trial 2 (boost): out of memory'));
}, { height: 1300 });
