// why.js - explains the state of a trial or a study in words. REASONS has the reasons of the API
// (proto/trial.c), each with a short word and a sentence. All functions are pure.

const REASONS = {
  diverged: [
    'diverged', 'Its loss grew without bound: a configuration that cannot be trained on this table.'
  ],
  memory: ['out of memory', 'It needed more memory than a trial may have.'],
  time: ['too slow', 'It reached the time limit of a trial without a result.'],
  crashed_alone: ['crashed', 'Its worker process ended twice while it ran alone.'],
  invalid: ['invalid', 'The configuration is not possible for this table.'],
  worker_died:
      ['worker died', 'Its worker process ended. The trial is not to blame and is tried again.'],
  runner_lost: [
    'runner lost',
    'Its runner was not heard of any more. The trial is not to blame and is tried again.'
  ],
  device: ['device failed', 'Its device failed. The trial is not to blame and is tried again.'],
  data: [
    'table unreadable',
    'The file of its table could not be read. The trial is not to blame and is tried again.'
  ],
  drained: ['drained', 'Its runner was drained; another one takes the trial.'],
  budget: ['budget used up', 'The budget of the study was used up before this trial had a result.'],
  user: ['by a user', 'A user ended it.'],
  stopped: ['stopped early', 'Its scheduler stopped it: others were better at the same cost.'],
};

const STATE_WORDS = {
  queued: 'It waits for a device.',
  running: 'It runs.',
  paused: 'It waits at a rung until its scheduler lets it go on.',
};

const isNone = (reason) => !reason || reason === 'none';

/** Returns one or two words that follow the state, or ''. */
export function reasonWord(row) {
  return isNone(row.reason) ? '' : REASONS[row.reason]?.[0] || row.reason.replaceAll('_', ' ');
}

/**
 * Returns sentences that explain the state of a trial, or ''. The message of the engine or the
 * runner comes last.
 */
export function reasonText(row) {
  const text = isNone(row.reason) ? STATE_WORDS[row.state] || '' :
                                    REASONS[row.reason]?.[1] || reasonWord(row);
  return [text, row.detail && row.detail !== text ? String(row.detail) : ''].filter(Boolean).join(
      ' ');
}

/** Returns a word for the reason why an attempt ended. */
export function attemptText(reason) {
  return {
    complete: 'completed',
    pause: 'paused',
    prune: 'stopped by its scheduler',
    fail: 'failed',
    cancel: 'cancelled',
    lost: 'its runner was lost'
  }[reason] ||
      REASONS[reason]?.[0] || (reason || '').replaceAll('_', ' ');
}

const isOver = (state) => ['completed', 'stopped', 'failed'].includes(state);
const lead = {
  paused: 'Paused',
  finishing: 'Finishing',
  completed: 'Completed',
  stopped: 'Stopped',
  failed: 'Failed',
  damaged: 'Damaged'
};

/**
 * Explains why a study waits, is paused or has ended: {text, isBad, isEnd: it was completed or
 * stopped, said: the text without its lead}, or null if there is nothing to explain.
 */
export function studyWhy(study) {
  const said = isOver(study.state) || !study.why ? study.reason : study.why;
  if (!said) return null;
  const text = String(said),
        isWaiting = text === study.why && !isOver(study.state) &&
      !['paused', 'finishing'].includes(study.state);
  const head = isWaiting ? 'Waiting' : lead[study.state] || '';
  return {
    text: head && !text.toLowerCase().startsWith(head.toLowerCase()) ?
        `${head}: ${text}` :
        text[0].toUpperCase() + text.slice(1),
    isBad: study.state === 'failed' || study.state === 'damaged',
    isEnd: ['completed', 'stopped'].includes(study.state),
    said: text
  };
}
