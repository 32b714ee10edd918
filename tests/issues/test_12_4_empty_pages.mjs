#!/usr/bin/env node
// test_12_4_empty_pages.mjs - what the page shows where there is nothing to show. A study that
// could not be loaded stayed an empty frame that said "Asking…" for ever; its error stayed in the
// corner of every page that was opened afterwards; a new study without any table began with a red
// error; an empty list of studies had a filter.
import {browserTest, fakeStudy} from '../e2e/page_rig.mjs';

const world = {
  study: fakeStudy({ id: 1, name: 'one' }),
  rows: [],
  attempts: {}
};
const toast = "document.querySelector('.toast')";

await browserTest(world, async ({ ok, fake, page }) => {
  const damaged = 'study 1 is damaged: its rows can be exported';
  const answer = fake.answers['GET /studies/1/page'];
  fake.answers['GET /studies/1/page'] = () => ({ status: 409, title: 'Conflict', detail: damaged });
  await page.go(`${fake.address}/#/studies/1`);
  await page.until("document.querySelector('.empty h1')");
  ok('a study that cannot be shown says why, in its place',
     (await page.eval("document.querySelector('main').textContent")).includes(damaged));
  ok('and leaves no frame that waits',
     !(await page.eval("document.body.textContent.includes('Asking')")));

  fake.answers['GET /studies/1/page'] = answer;
  fake.answers['GET /datasets'] = () => ({ datasets: [] });
  fake.answers['GET /searchers'] = () =>
      ({ samplers: [{ name: 'tpe' }], schedulers: [{ name: 'asha' }] });
  await page.eval(
      'document.body.append(Object.assign(document.createElement("div"), ' +
      '{ className: "toast" }))');
  await page.eval("location.hash = '#/new'");
  await page.until("document.querySelector('.told pre')");
  ok('an error of one view does not stay over the next', !(await page.eval(`Boolean(${toast})`)));
  ok('without a table, a new study says how to add one',
     (await page.eval("document.querySelector('.told').textContent")).includes('assay data add'));
  ok('in no red',
     !(await page.eval("Boolean(document.querySelector('.told .bad, [aria-invalid=true]'))")));
  ok('and cannot be started',
     await page.eval("getComputedStyle(document.querySelector('[type=submit]')).opacity < 1"));

  const filter = "document.querySelector('[type=search]')", studies = fake.answers['GET /studies'];
  fake.answers['GET /studies'] = () => ({ studies: [], next: null });
  await page.eval("location.hash = '#/'");
  await page.until("document.querySelector('.empty pre')");
  ok('an empty list of studies has no filter', await page.eval(`${filter}.hidden`));
  fake.answers['GET /studies'] = studies;
  await page.eval("document.querySelector('.check input').click()");
  await page.until("document.querySelector('.list tbody a')");
  ok('a list with a study has one', !(await page.eval(`${filter}.hidden`)));
  page.problems.length = 0;
});
