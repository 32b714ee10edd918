// app.js - the frame of the page. It shows the view that the address names, opens one event stream
// for it, and tells the user when the server does not answer or the session is over. A view is a
// function (root, params, showError) => { refresh?(), onEvent?(name, data), stop?() }.

import * as api from './api.js';
import {h, replace, setText} from './dom.js';
import {newView} from './new.js';
import {showWho, signInView} from './signin.js';
import {studiesView} from './studies.js';
import {studyView} from './study.js';
import {datasetsView, runnersView} from './tables.js';

const routes = [
  [/^#?\/?$/, 'studies', studiesView],
  [/^#\/new$/, 'studies', newView],
  [/^#\/studies\/([^/]+)$/, 'studies', studyView],
  [/^#\/datasets$/, 'datasets', datasetsView],
  [/^#\/runners$/, 'runners', runnersView],
];
const PATIENCE_MS = 1500, HEALTH_EVERY_MS = 30000;

const main = document.getElementById('main'), banner = document.getElementById('banner');
let view = null, stopEvents = null, offSince = null, bannerTimer = null, finding = null;

function linkState(state) {
  const texts = { on: 'live', off: 'offline', refused: 'signed out' };
  document.getElementById('link-state').dataset.state = state;
  setText(document.getElementById('link-text'), texts[state]);
  if (state === 'off' && offSince === null) {
    offSince = Date.now();
    bannerTimer = setTimeout(sayOffline, PATIENCE_MS);  // not shown if short
  }
  if (state === 'on') {
    const wasOff = offSince !== null;
    online();
    askHealth();
    if (wasOff) view?.refresh?.();
  }
}

function sayOffline() {
  const since = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }).format(offSince);
  banner.hidden = false;
  setText(
      banner,
      view ? `The controller has not answered since ${since}. What you see is what it said last; ` +
              'this page goes on by itself when it is back.' :
             'The controller does not answer. This page opens by itself when it is back.');
}

function online() {
  clearTimeout(bannerTimer);
  offSince = null;
  banner.hidden = !finding;
  setText(banner, finding ? `The controller needs help: ${finding}.` : '');
}

/**
 * Asks the controller for its own state. After a crash it checks its database in the background,
 * and it reports damage here.
 */
async function askHealth() {
  if (!api.who() || offSince !== null) return;
  try {
    finding = (await api.get('/health')).finding || null;
  } catch {
    return;  // the event stream notices a controller that is away
  }
  if (offSince === null) online();
}

export function showError(err) {
  if (err.status === 401) return;  // the sign-in form is already shown
  document.querySelector('.toast')?.remove();
  const box =
      h('div', { class: 'toast', role: 'alert' }, h('p', {}, err.message),
        h('button',
          { type: 'button', class: 'plain', 'aria-label': 'Dismiss', onclick: () => box.remove() },
          '×'));
  document.body.append(box);
}

function leave() {
  document.querySelector('.toast')
      ?.remove();  // an error message belongs to the view that is being left
  view?.stop?.();
  stopEvents?.();
  view = stopEvents = null;
}

/** Shows the sign-in form in place of the view. After signing in, the same view is opened again. */
function signedOut() {
  leave();
  online();
  linkState('refused');
  signInView(main, () => {
    showWho();
    open();
  });
}

function open() {
  if (!api.who()) return;  // the sign-in form stays until somebody is signed in
  const hash = location.hash || '#/';
  const found = routes.map(([re, nav, make]) => [re.exec(hash), nav, make]).find(([m]) => m);
  leave();
  for (const a of document.querySelectorAll('[data-nav]')) {
    if (found && a.dataset.nav === found[1])
      a.setAttribute('aria-current', 'page');
    else
      a.removeAttribute('aria-current');
  }
  if (!found) {
    document.title = 'Assay';
    replace(
        main,
        h('section', { class: 'empty' }, h('h1', {}, 'Nothing here'),
          h('p', {}, h('a', { href: '#/' }, 'All studies'))));
    return;
  }
  const params = found[0].slice(1).map(decodeURIComponent);
  replace(main);
  main.dataset.view = found[1];
  view = found[2](main, params, showError);
  stopEvents = api.follow(
      view.study || null, (name, data) => view?.onEvent?.(name, data), linkState, { brief: true });
}

window.addEventListener('hashchange', () => {
  open();
  window.scrollTo(0, 0);
  main.focus({ preventScroll: true });
});
api.onSignedOut(signedOut);
api.serveDownloads(showError);
await api.startPatiently(() => linkState('off'));
online();
setInterval(askHealth, HEALTH_EVERY_MS);
if (api.who()) {
  showWho();
  open();
} else {
  signedOut();
}
