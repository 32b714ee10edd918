#!/usr/bin/env node
// test_15_output_page.mjs - what a program prints, on the page: an opened trial of a program shows
// it piece by piece while it runs, asks only for what is new, stays where the user scrolled to, and
// shows text as text; a trial of a model asks for nothing of it.
import {browserTest, fakeRow, fakeStudy} from '../e2e/page_rig.mjs';

const world = {
  study: fakeStudy({ id: 1, name: 'mine', metric: 'loss', state: 'running', task: 'own' }),
  rows: [
    fakeRow(
        1, { family: 'own', state: 'running', score: null, config: { family: 'own', lr: 0.1 } }),
    fakeRow(2)
  ],
};
const text = "document.querySelector('.output-box').textContent";

await browserTest(world, async ({ ok, fake, page }) => {
  const pieces = [];
  const asked = { 1001: 0, 1002: 0 };
  let served = 0;
  const add = (t) =>
      pieces.push({ piece: pieces.length + 1, lease: 1, at: 1700000000000, text: t });
  for (const id of [1001, 1002]) {
    fake.answers[`GET /trials/${id}/output`] = (url) => {
      asked[id]++;
      const query = new URLSearchParams(String(url?.search ?? url ?? '').split('?').at(-1));
      const after = Number(query.get('after') ?? 0), news = pieces.filter((p) => p.piece > after);
      served += news.length;
      return {
        trial: id,
        study: 1,
        number: id - 1000,
        state: 'running',
        live: true,
        more: false,
        next: news.at(-1)?.piece ?? after,
        pieces: news
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
  await page.until("document.querySelector('.output')");
  ok('nothing is shown before anything was printed',
     await page.eval("document.querySelector('.output').hidden"));

  add('begin at 0\n<b>bold</b>\n');
  await page.until(`${text}.includes('begin at 0')`);
  ok('text is shown as text', await page.eval(`${text}.includes('<b>bold</b>')`));
  add('assay: {"level": 1}\n');
  await page.until(`${text}.includes('"level": 1')`);
  ok('what comes is added, once', await page.eval(`${text}.split('begin at 0').length === 2`));
  ok('more may come',
     await page.eval("document.querySelector('.output p').textContent")
         .then((t) => t.includes('More may come')));
  add('line\n'.repeat(400));
  await page.until(`${text}.length > 1900`);
  const atEnd = "(() => { const b = document.querySelector('.output-box');" +
      ' return b.scrollTop + b.clientHeight >= b.scrollHeight - 24; })()';
  ok('the end is in sight', await page.eval(atEnd));
  await page.eval("document.querySelector('.output-box').scrollTop = 0");
  add('a last line\n');
  await page.until(`${text}.includes('a last line')`);
  ok('unless the user reads further up',
     await page.eval("document.querySelector('.output-box').scrollTop < 24"));
  ok('no piece was sent twice', served <= pieces.length + 1);

  await open(2);
  ok('a trial of a model asks for no output', asked[1002] === 0);
});
