#!/usr/bin/env node
// test_13_epochs_page.mjs - how a network learned, on the page: an opened trial shows a chart for
// each thing that is known of its epochs, live while it trains and whole after it; the numbers
// stand in a table too; a trial without epochs shows nothing of it and asks for nothing.
import {browserTest, fakeChange, fakeRow, fakeStudy} from '../e2e/page_rig.mjs';

const world = {
  study: fakeStudy({ id: 1, name: 'one', metric: 'accuracy', state: 'running' }),
  rows: [
    fakeRow(1, {
      family: 'mlp',
      state: 'running',
      score: null,
      config: { family: 'mlp', layers: 2, epochs: 60, learning_rate: 0.02 }
    }),
    fakeRow(2)
  ],
};

/** A run of n epochs; the first three were trained by the first attempt. */
function run(level, n, more = {}) {
  const epoch = Array.from({ length: n }, (_, i) => i + 1);
  return {
    level,
    folds: level === 1 ? 1 : 5,
    metric: 'logloss',
    larger_is_better: false,
    epoch,
    train_loss: epoch.map((x) => 0.1 + 0.6 / x),
    score: epoch.map((x) => 0.2 + 0.5 / x + 0.004 * Math.max(0, x - 40)),
    learning_rate: epoch.map((x) => 0.01 * (1 + Math.cos(x / 10))),
    gradient_norm: epoch.map(() => null),
    samples_per_s: epoch.map((x) => (x === 2 ? null : 110000 + 900 * (x % 7))),
    fence: epoch.map((x) => (x <= 3 ? 1 : 2)),
    ...more
  };
}

const captions = "[...document.querySelectorAll('.epochs figcaption')].map((e) => e.textContent)";
const label = "document.querySelector('.epochs svg').getAttribute('aria-label')";

await browserTest(world, async ({ ok, fake, page }) => {
  let runs = [], asked = 0;
  const own = fake.answers['GET /trials/1001'];
  fake.answers['GET /trials/1001'] = () => ({...own(), epochs: runs.length > 0 });
  for (const id of [1001, 1002]) {
    fake.answers[`GET /trials/${id}/epochs`] = () => {
      asked++;
      return {
        trial: id,
        study: 1,
        number: id - 1000,
        state: world.rows[0].state,
        live: world.rows[0].state === 'running',
        runs
      };
    };
  }
  const open = async (number) => {
    const row = `document.querySelector('.expand[data-trial="${number}"]')`;
    await page.until(row);
    await page.eval(`${row}.click()`);
    await page.until("document.querySelector('.detail')");
  };
  await page.go(`${fake.address}/#/studies/1`);
  await open(1);
  ok('a trial whose first epoch has not ended shows nothing of epochs',
     await page.eval("document.querySelector('.epochs').hidden"));

  runs = [run(1, 4)];
  await page.until("document.querySelectorAll('.epochs figure').length === 4");
  ok('what is not known has no chart', !(await page.eval(captions)).join().includes('gradient'));
  ok('the score is named after the metric that chooses',
     (await page.eval(captions))[1].startsWith('Log loss on validation rows: best 0.3250'));
  ok('words say where it stands', (await page.eval(label)).includes('to 0.2500 in epoch 4'));
  ok('and where another attempt went on',
     (await page.eval("document.querySelector('.epochs p').textContent"))
         .includes('went on from its checkpoint in epoch 4'));

  await page.eval("document.querySelector('.epochs details').open = true");
  await page.until("document.querySelectorAll('.epochs-box tbody tr').length === 4");
  runs = [run(1, 28), run(4, 60, { fence: Array(60).fill(2) })];
  await page.until("document.querySelectorAll('.epochs-box tbody tr').length === 60");
  ok('an open table stays open while the trial trains',
     await page.eval("document.querySelector('.epochs details').open"));
  ok('lower levels are spoken of',
     (await page.eval("document.querySelector('.epochs p').textContent"))
         .includes('lower levels took 28 epochs on one fold'));
  fakeChange(fake, world, { 1: { state: 'completed', score: 0.91 } });
  await page.until("!document.querySelector('.epochs p').textContent.includes('so far')");
  ok('at its end it is whole', (await page.eval(captions))[1].includes('in epoch 40'));
  ok('the charts fit their place',
     await page.eval(
         "[...document.querySelectorAll('.epochs svg')].every((e) => e.getBoundingClientRect().right" +
         " <= document.querySelector('.scroller').getBoundingClientRect().right + 1)"));
  if (process.env.SHOT) {
    await page.eval("document.querySelector('.epochs').scrollIntoView()");
    await page.screenshot(process.env.SHOT);
  }

  const before = asked;
  await open(2);
  await page.until("document.querySelector('.detail .config')");
  ok('a trial without epochs shows nothing of them',
     await page.eval("document.querySelector('.epochs').hidden"));
  ok('and asks for nothing', asked === before);
}, { width: Number(process.env.WIDTH || 1360), dark: Boolean(process.env.DARK) });
