// where.js - finds the line of a spec that an error refers to by a path such as `space[0].leaves`
// or `budget.trials`. It reads JSON, and YAML in block and flow form, as far as specs use them:
// keys, list items and comments. All functions are pure.

/** Splits a path into its keys, from the outside in: ['space', 0, 'leaves']. */
function partsOf(where) {
  return [...String(where || '').matchAll(/([A-Za-z_][\w-]*)|\[(\d+)\]/g)].map(
      (m) => (m[1] !== undefined ? m[1] : Number(m[2])));
}

const unquoted = (text) => text.trim().replace(/^(["'])(.*)\1$/, '$2');
const indentOf = (line) => /^ */.exec(line)[0].length;
const isNothing = (line) => /^\s*(#.*)?$/.test(line) || line.startsWith('---');

/**
 * Finds a key or an item inside {...} or [...], and returns its place in the text, or -1. `at` is
 * the place after the opening bracket.
 */
function inFlow(text, at, part) {
  let depth = 0, item = 0, isStart = true;
  for (let i = at; i < text.length; i++) {
    const c = text[i];
    if (isStart && /\s/.test(c)) continue;
    if (c === '#' && /\s/.test(text[i - 1] || ' ')) {
      while (i < text.length && text[i] !== '\n') i++;
      continue;
    }
    if (isStart && depth === 0 && c !== '}' && c !== ']') {
      if (part === item) return i;
      const m = /^("[^"]*"|'[^']*'|[^\s:,{}[\]]+)\s*:/.exec(text.slice(i));
      if (typeof part === 'string' && m && unquoted(m[1]) === part) return i;
    }
    isStart = false;
    if (c === '"' || c === "'") {
      for (i++; i < text.length && text[i] !== c; i++)
        if (c === '"' && text[i] === '\\') i++;
    } else if (c === '{' || c === '[')
      depth++;
    else if (c === '}' || c === ']') {
      if (depth-- === 0) return -1;
    } else if (c === ',' && depth === 0)
      item++, isStart = true;
  }
  return -1;
}

/**
 * Returns the line, counted from 1, of the deepest key of the path that the text has, or null if it
 * lacks even the first one.
 */
export function lineOf(text, where) {
  const parts = partsOf(where), lines = text.split('\n'), starts = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  const lineAt = (place) => starts.findLastIndex((s) => s <= place) + 1;
  let line = 0, column = 0, indent = -1, found = null;  // where the value found so far begins

  for (const part of parts) {
    while (line < lines.length && isNothing(lines[line].slice(column))) line++, column = 0;
    if (line >= lines.length) break;
    const open = starts[line] + column + /^\s*/.exec(lines[line].slice(column))[0].length;
    if (text[open] === '{' || text[open] === '[') {
      const place = inFlow(text, open + 1, part);
      if (place < 0) break;
      found = lineAt(place);
      const behind = typeof part === 'string' ? text.indexOf(':', place) + 1 : place;
      line = lineAt(behind) - 1;
      column = behind - starts[line];
      continue;
    }
    const next = blockPart(lines, line, column, indent, part);
    if (!next) break;
    ({ line, column, indent } = next);
    found = line + 1;
  }
  return found;
}

/**
 * Finds a key or an item in block form. The search begins at line `from`, in lines that are
 * indented more than `outer`. Returns the line, the column after the key and its indent, or null.
 */
function blockPart(lines, from, column, outer, part) {
  let own = -1, item = -1;
  for (let i = from; i < lines.length; i++) {
    const isFirst = i === from && column > 0,
          line = isFirst ? ' '.repeat(column) + lines[i].slice(column) : lines[i];
    if (isNothing(line)) continue;
    const indent = indentOf(line), isItem = /^\s*-(\s|$)/.test(line);
    if (own < 0) {
      own = indent;
      if (own < outer || (own === outer && !isItem)) return null;
    }
    if (indent < own) return null;
    if (indent > own) continue;
    if (own === outer && !isItem) return null;  // the next key after a list that is not indented
    if (isItem) {
      item++;
      if (part !== item) continue;
      return { line: i, column: indent + 1, indent: own };
    }
    const m = /^\s*("[^"]*"|'[^']*'|[^\s:#][^:#]*?)\s*:(\s|$)/.exec(line);
    if (m && unquoted(m[1]) === part)
      return {
        line: i,
        column: line.indexOf(':', m.index + m[0].lastIndexOf(':')) + 1,
        indent: own
      };
  }
  return null;
}
