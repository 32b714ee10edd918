// test_11_26_patched.mjs - live rows moved under the pointer: clicks, selections and the focus were
// lost. While somebody reads nothing moves, what is new is counted and comes at a press; rows that
// change are patched in place. Run by tests/run.sh.

import {browserTest, fakeChange, fakeRow, fakeStudy} from '../e2e/page_rig.mjs';

const world = {
  study: fakeStudy(),
  rows: Array.from({ length: 40 }, (_, i) => fakeRow(i + 1))
};
for (const n of [38, 39, 40])
  Object.assign(
      world.rows[n - 1],
      { state: 'running', score: null, reported: null, artifact: false, ended_at: 0 });

const shownNumbers =
    "[...document.querySelectorAll('.board tbody [data-trial]')].map((b) => b.dataset.trial).join()";
const news =
    "(document.querySelector('.news').hidden ? '' : document.querySelector('.news').textContent)";

await browserTest(world, async ({ ok, fake, page }) => {
  await page.go(`${fake.address}/#/studies/1`);
  await page.until(`${shownNumbers}.startsWith('1,2,3')`);
  await page.until("document.querySelector('#link-text').textContent === 'live'");

  fakeChange(fake, world, { 41: { score: 0.95, reported: 0.95 } });
  await page.until(`${shownNumbers}.startsWith('41,1,2,3')`);
  ok('a better trial moves up while nobody reads', true);

  await page.pointer('.board [data-trial="3"]');
  await page.eval(
      "window.kept = document.querySelector('.board [data-trial=\"3\"]').closest('tr')");
  const before = await page.eval(shownNumbers);
  for (let k = 0; k < 6; k++) {
    fakeChange(fake, world, { [42 + k]: { score: 0.96 + k / 1000, reported: 0.96 } });
    await page.until(`${news}.startsWith('${k + 1} new')`);
    await page.pointer(`.board [data-trial="${k + 1}"]`, true);
    ok(`click ${k + 1} hits the row that it was meant for`,
       await page.until(`document.querySelector('[data-trial="${
           k + 1}"]').getAttribute('aria-expanded') === 'true'`));
    await page.pointer(`.board [data-trial="${k + 1}"]`, true);
    await page.until(`document.querySelector('[data-trial="${
        k + 1}"]').getAttribute('aria-expanded') === 'false'`);
  }
  ok('nothing moved under the pointer', await page.eval(shownNumbers) === before,
     `${before} became ${await page.eval(shownNumbers)}`);
  ok('what waits is counted', await page.eval(news) === '6 new results', await page.eval(news));

  await page.eval(
      "(() => { const r = document.createRange(); r.selectNodeContents(window.kept.cells[2]); getSelection().removeAllRanges(); getSelection().addRange(r); })()");
  await page.eval("document.querySelector('[data-trial=\"5\"]').focus()");
  fakeChange(fake, world, { 3: { fit_us: 77e6 }, 48: { score: 0.97, reported: 0.97 } });
  await page.until("window.kept.cells[6].textContent === '1m 17s'");
  ok('a row in sight is patched: the same element says the new value',
     await page.eval(
         "window.kept.isConnected && window.kept.contains(document.querySelector('[data-trial=\"3\"]'))"));
  ok('a selection stays', await page.eval("String(getSelection())") === 'boost',
     await page.eval("String(getSelection())"));
  ok('the focus stays', await page.eval("document.activeElement.dataset.trial") === '5');

  await page.pointer('.news', true);
  await page.until(`${shownNumbers}.startsWith('48,47,46') && ${news} === ''`);
  ok('a press shows what waited, in its place', true);
  ok('and rows that moved are still the same elements',
     await page.eval("window.kept.isConnected || !document.querySelector('[data-trial=\"3\"]')"));

  await page.eval("getSelection().removeAllRanges(); document.activeElement.blur()");
  await page.pointer('h1');
  fakeChange(fake, world, { 49: { score: 0.99, reported: 0.99 } });
  await page.until(`${shownNumbers}.startsWith('49,48')`);
  ok('when the reader has left, rows move again', true);

  fakeChange(fake, world, {
    40: { state: 'completed', score: 0.5, reported: 0.5 },
    39: { state: 'failed', reason: 'memory' }
  });
  await page.until("!document.querySelector('[data-chip=failed]').hidden");
  await page.eval("document.querySelector('.scroller').scrollTop = 300");
  await page.until("document.querySelector('.space').offsetHeight >= 0");
  const top = await page.eval(`${shownNumbers}`);
  fakeChange(fake, world, { 50: { score: 0.991, reported: 0.991 } });
  await page.until(`${news}.startsWith('1 new')`);
  ok('a reader who has scrolled is not moved', await page.eval(shownNumbers) === top);
}, { height: 1400 });
