// signin.js - the form for signing in with a token, and the user's name in the frame. The one-time
// link needs no form; api.js reads its key.

import * as api from './api.js';
import {h, replace, setText} from './dom.js';

/** Shows the form in `root` in place of a view. onDone() is called after signing in. */
export function signInView(root, onDone) {
  const token = h('input', {
    id: 'sign-in-token',
    type: 'password',
    name: 'token',
    autocomplete: 'current-password',
    required: '',
    spellcheck: 'false',
    size: '40'
  });
  const problem = h('p', { class: 'bad', role: 'alert' }),
        button = h('button', { type: 'submit' }, 'Sign in');

  function done() {
    window.removeEventListener('storage', inAnotherTab);
    onDone();
  }

  function inAnotherTab() {
    api.start().then(done, () => {});
  }

  async function submit(e) {
    e.preventDefault();
    button.disabled = true;
    setText(problem, '');
    try {
      await api.signIn(token.value.trim());
      done();
    } catch (err) {
      setText(
          problem,
          err.status === 401 ? 'This token is not known here, or it was revoked.' : err.message);
      button.disabled = false;
      token.select();
    }
  }

  window.addEventListener('storage', inAnotherTab);
  document.title = 'Sign in · Assay';
  document.querySelector('.who')?.remove();
  replace(
      root,
      h('section', { class: 'empty' }, h('h1', {}, 'Signed out'),
        h('p', {}, 'Nobody is signed in here, or the session has ended. ',
          'Paste an access token, or open the one-time link that ', h('code', {}, 'assay serve'),
          ' prints when it starts.'),
        h('form', { class: 'sign-in', onsubmit: submit },
          h('label',
            { for: 'sign-in-token'
            },
            'Access token'),
          ' ', token, ' ', button, problem),
        h('p', { class: 'quiet' }, 'The administrator\'s token is in the file ',
          h('code', {}, 'admin-token'), ' of the data folder; ',
          h('code', {}, 'assay token add NAME ROLE'), ' makes others.')));
  token.focus();
}

/**
 * Shows the user's name, role and "Sign out" in the frame. Nothing is shown if the user is
 * authorised by anything but a session.
 */
export function showWho() {
  const who = api.who();
  document.querySelector('.who')?.remove();
  if (!who?.session) return;
  document.querySelector('header.top')
      .append(
          h('p', { class: 'who quiet' }, `${who.name} (${who.role}) `,
            h('button', {
              type: 'button',
              class: 'plain',
              onclick: () => api.signOut().catch(() => location.reload())
            },
              'Sign out')));
}
