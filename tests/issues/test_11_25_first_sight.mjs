// test_11_25_first_sight.mjs - everything was loaded twice, and nothing was painted before all of
// it was there. One request paints the study and its first rows; the rest comes once, as columns;
// whole rows only of what is in sight; then only changes. Counted, not timed: the requests that a
// page makes, and what stands on it before they are answered.

import {browserTest, fakeChange, fakeColumns, fakeRow, fakeStudy} from '../e2e/page_rig.mjs';

const N = 12000;
const world = {
  study: fakeStudy(),
  rows: Array.from({ length: N }, (_, i) => fakeRow(i + 1, {
                                    score: 0.9 - (i * 7919 % N) / 100000,
                                    config: { family: 'boost', leaves: i % 50 }
                                  }))
};
const rows = "[...document.querySelectorAll('.board tbody [data-trial]')]",
      count = "document.querySelector('#board-count').textContent";
const of = (fake, what) => fake.asked.filter((a) => a.startsWith(`GET /studies/1${what}`));

await browserTest(world, async ({ ok, fake, page }) => {
  let release = null, released = new Promise((r) => {
                        release = r;
                      });
  fake.answers['GET /studies/1/columns'] = async (url) => {
    await released;
    return fakeColumns(world.rows, url, world.seq);
  };
  await page.go(`${fake.address}/#/studies/1`);
  await page.until(`${rows}.length > 5`);
  ok('the first rows stand there before the rest is answered',
     await page.eval(`${rows}[0].dataset.trial`) === '1');
  ok('so do the header and the counts',
     await page.eval(
         "document.querySelector('.lead dd').textContent.startsWith('0.9') && document.querySelector('[data-chip=completed]').textContent.includes('12,000')"));
  release();
  await page.until(`${count} === '12,000'`);
  ok('then all are there', true);
  ok('the study and its first rows were asked for once',
     of(fake, '/page').length === 1 && of(fake, '?').length === 0 &&
         of(fake, '/leaderboard').length === 0,
     fake.asked.join('\n'));
  ok('every trial came once',
     of(fake, '/columns').join() ===
         'GET /studies/1/columns?after=0&limit=10000,GET /studies/1/columns?after=10000&limit=10000',
     of(fake, '/columns').join());
  ok('nothing was asked for twice', new Set(fake.asked).size === fake.asked.length,
     fake.asked.join('\n'));

  const elements = await page.eval(`${rows}.length`);
  ok('only rows in sight are elements', elements < 60, String(elements));
  ok('rows in sight came whole at once', of(fake, '/rows').length === 0, of(fake, '/rows').join());
  await page.eval("document.querySelector('.scroller').scrollTop = 38 * 7000");
  await page.until(`${rows}.length > 5 && ${rows}[0].dataset.trial !== '1' && ${
      rows}.every((b) => b.closest('tr').querySelector('.se'))`);
  const asked = of(fake, '/rows')
                    .flatMap((a) => /numbers=([\d,]+)/.exec(decodeURIComponent(a))[1].split(','));
  ok('what is scrolled to is asked for, and only that',
     asked.length > 5 && asked.length < 100 && new Set(asked).size === asked.length,
     `${asked.length}`);

  const before = fake.asked.length;
  fakeChange(fake, world, { 5: { score: 0.99, reported: 0.99 } });
  await page.until("document.querySelector('.lead dd').textContent.startsWith('0.99')");
  ok('a change costs one request',
     fake.asked.length - before === 1 &&
         fake.asked[before].startsWith('GET /studies/1/changes?after=1&'),
     fake.asked.slice(before).join());

  await page.eval(
      "(() => { const f = document.querySelector('#filter'); f.value = 'leaves = 7'; f.dispatchEvent(new Event('input')); })()");
  await page.until(`${count} === '240 of 12,000'`);
  ok('a filter of parameters reads the configurations, and answers of all trials',
     of(fake, '/columns').filter((a) => a.includes('config=true')).length === 6);
  await page.eval(
      "(() => { const f = document.querySelector('#filter'); f.value = 'leaves > 47 or leaves = 7 and score > 0.89'; f.dispatchEvent(new Event('input')); })()");
  await page.until(`${count}.includes(' of ') && !${count}.startsWith('240 ')`);
  ok('the next one asks for nothing', of(fake, '/columns').length === 8);
  await page.eval(
      "(() => { const f = document.querySelector('#filter'); f.value = 'leavs = 7'; f.dispatchEvent(new Event('input')); })()");
  const note = await page.until(
      "!document.querySelector('#filter-note').hidden && document.querySelector('#filter-note').textContent");
  ok('a name nobody knows is told, with the nearest one',
     note.includes('did you mean leaves?') &&
         await page.eval(
             "document.querySelector('#filter').getAttribute('aria-invalid') === 'true'"),
     note);

  await page.go('about:blank');
  await page.until("location.href === 'about:blank'");
  fake.asked.length = 0;
  await page.go(`${fake.address}/#/`);
  await page.until(
      "document.querySelector('.list tbody a') && document.querySelector('#link-text').textContent === 'live'");
  ok('the list is asked for once',
     fake.asked.filter((a) => a.startsWith('GET /studies')).length === 1, fake.asked.join('\n'));
});
