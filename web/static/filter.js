// filter.js - the language of the filter box above the leaderboard. compile() turns a text into a
// test of a row. A filter that cannot be evaluated throws an Error that names the place in the text
// and says how to write it; it never gives an empty table. The file has no access to elements or
// requests. Examples:
//
//
//   family = boost and (score > 0.9 or predict < 20us) and not state = failed
//   leaves < 64                  a parameter of the configuration
//   family in (boost, forest)    test = none     name ~ part
//   boost 255                    plain words: each must appear in the row

const TIME = {
  ns: 1e-3,
  us: 1,
  µs: 1,
  ms: 1e3,
  s: 1e6,
  sec: 1e6,
  m: 60e6,
  min: 60e6,
  h: 3600e6
};
const SIZE = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1 << 20,
  gib: 1 << 30
};
const scaled = (units, by) =>
    Object.fromEntries(Object.entries(units).map(([k, v]) => [k, v * by]));
const YES = new Map([['yes', true], ['true', true], ['no', false], ['false', false]]);

/**
 * The fields of a row that can be compared: their names in the language, the key in the row, and
 * the kind of value. Messages use the first name. isRead: the value arrives together with the
 * configurations.
 */
const FIELDS = [
  { names: ['rank'], key: 'rank', kind: 'number' },
  { names: ['trial', 'number'], key: 'number', kind: 'number' },
  { names: ['family'], key: 'family', kind: 'text', known: 'families' },
  { names: ['score'], key: 'score', kind: 'number' },
  { names: ['test', 'test_score'], key: 'test_score', kind: 'number', isRead: true },
  { names: ['reported'], key: 'reported', kind: 'number' },
  { names: ['resource', 'level'], key: 'level', kind: 'number' },
  { names: ['max_level'], key: 'max_level', kind: 'number' },
  {
    names: ['fit', 'fit_time', 'fit_us'],
    key: 'fit_us',
    kind: 'time',
    units: TIME,
    example: '20ms'
  },
  {
    names: ['predict', 'predict_time', 'predict_ns_row'],
    key: 'predict_ns_row',
    kind: 'time',
    units: scaled(TIME, 1e3),
    example: '20us'
  },
  { names: ['size', 'model_bytes'], key: 'model_bytes', kind: 'size', units: SIZE, example: '2MB' },
  { names: ['state'], key: 'state', kind: 'text', known: 'states' },
  { names: ['reason'], key: 'reason', kind: 'text' },
  { names: ['cut'], key: 'cut', kind: 'yes or no' },
  { names: ['model', 'artifact'], key: 'artifact', kind: 'yes or no' },
  { names: ['front'], key: 'front', kind: 'yes or no' },
];
const STATES = ['queued', 'running', 'paused', 'completed', 'pruned', 'failed', 'cancelled'];
const byName = new Map(FIELDS.flatMap((f) => f.names.map((n) => [n, f])));

const compareBy = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '~': (a, b) => String(a).includes(String(b)),
};

/** Splits the text into words, quoted texts, operators, brackets and commas. */
function tokensOf(text) {
  const out = [],
        re = /\s*(?:"([^"]*)"|'([^']*)'|(!=|<=|>=|==|<>|=|<|>|~|\(|\)|,)|([^\s"'!=<>~(),]+)|(.))/gy;
  for (let m; re.lastIndex < text.length && (m = re.exec(text)) !== null;) {
    if (m[5] !== undefined && m[5].trim()) {
      throw new Error(
          m[5] === '"' || m[5] === "'" ? `a quotation mark (${m[5]}) is not closed` :
                                         `“${m[5]}” was not expected`);
    }
    if (m[1] !== undefined || m[2] !== undefined)
      out.push({ kind: 'text', text: m[1] ?? m[2] });
    else if (m[3])
      out.push({ kind: 'sign', text: { '==': '=', '<>': '!=' }[m[3]] || m[3] });
    else if (m[4])
      out.push({ kind: 'word', text: m[4] });
  }
  return out;
}

/** Returns the known name that is most similar to a misspelt one, or null if none is similar. */
export function nearestName(name, names) {
  let best = null, least = (name.length < 5 ? 1 : Math.max(2, Math.floor(name.length / 3))) + 1;
  for (const other of names) {
    const row = Array.from({ length: other.length + 1 }, (_, i) => i);
    for (let i = 1; i <= name.length; i++) {
      let diagonal = row[0]++;
      for (let k = 1; k <= other.length; k++) {
        const above = row[k];
        row[k] = Math.min(above + 1, row[k - 1] + 1, diagonal + (name[i - 1] !== other[k - 1]));
        diagonal = above;
      }
    }
    if (row[other.length] < least) best = other, least = row[other.length];
  }
  return best;
}

function fieldNames() {
  return FIELDS.map((f) => f.names[0]);
}

/** Reads a number with an optional unit: {value, unit}, or null if the text is no number. */
function numberOf(text) {
  const m =
      /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([a-zµ%]*)$/i.exec(text.replace(/^#/, ''));
  return m ? { value: Number(m[1]), unit: m[2].toLowerCase() } : null;
}

function quantity(field, op, text) {
  const n = numberOf(text), name = field.names[0];
  if (!n)
    throw new Error(
        `${name} is a ${field.kind}: “${text}” is none, try ${name} ${op} ${field.example || '1'}`);
  if (field.units) {
    if (n.unit === '' && n.value !== 0)
      throw new Error(`${name} needs a unit, such as ${name} ${op} ${field.example}`);
    if (n.unit && field.units[n.unit] === undefined)
      throw new Error(`“${n.unit}” is no unit of ${field.kind}: use ${
          Object.keys(field.units).filter((u) => u.length < 4).join(', ')}`);
    return n.value * (n.unit ? field.units[n.unit] : 1);
  }
  if (n.unit && n.unit !== '%') throw new Error(`${name} has no unit: leave out “${n.unit}”`);
  return n.unit === '%' ? n.value / 100 : n.value;
}

function textValue(field, text, known) {
  const value = text.toLowerCase(), names = field.known ? [...(known[field.known] || [])] : [];
  if (names.length && !names.includes(value)) {
    const near = nearestName(value, names);
    throw new Error(`no ${field.names[0]} is called “${text}”: ${
        near ? `did you mean ${near}?` : `there is ${names.join(', ')}`}`);
  }
  return value;
}

/** Makes a test that compares one field of a row with a value. */
function fieldTest(field, op, text, known) {
  const { key } = field, isText = field.kind === 'text';
  if (text === 'none' && !isText) {
    if (op !== '=' && op !== '!=') throw new Error(`none can only be compared by = and !=`);
    return (row) => ((row[key] ?? null) === null) === (op === '=');
  }
  if ((isText || field.kind === 'yes or no') && !['=', '!=', '~'].includes(op))
    throw new Error(`${field.names[0]} is not a number: use =, != or ~`);
  if (op === '~' && !isText)
    throw new Error(`${field.names[0]} is not a text: use =, <, >, <=, >= or !=`);
  if (isText) {
    const want = op === '~' ? text.toLowerCase() : textValue(field, text, known);
    return (row) => compareBy[op](String(row[key] ?? 'none').toLowerCase(), want);
  }
  if (field.kind === 'yes or no') {
    const want = YES.get(text.toLowerCase());
    if (want === undefined) throw new Error(`${field.names[0]} is yes or no, not “${text}”`);
    return (row) => compareBy[op](Boolean(row[key]), want);
  }
  const want = quantity(field, op, text);
  return (row) => (row[key] ?? null) !== null && compareBy[op](row[key], want);
}

/**
 * Makes a test that compares a parameter of the configuration. The same parameter may be a number
 * in one family and a word in another. Two numbers are compared as numbers, anything else as text.
 * A trial that lacks the parameter does not pass.
 */
function parameterTest(name, op, text) {
  const n = numberOf(text), want = text.toLowerCase();
  if (n && n.unit && n.unit !== '%')
    throw new Error(`“${text}” is no number: parameters have no units`);
  if (!n && !['=', '!=', '~'].includes(op))
    throw new Error(`“${text}” is no number: ${name} can be compared with it by =, != or ~ only`);
  const number = n && n.value / (n.unit === '%' ? 100 : 1);
  return (row) => {
    const have = row.config?.[name];
    if (have === null || have === undefined) return false;
    if (n && op !== '~' && typeof have !== 'boolean' && have !== '' && !Number.isNaN(Number(have)))
      return compareBy[op](Number(have), number);
    if (n && op !== '=' && op !== '!=' && op !== '~') return false;
    return compareBy[op](
        typeof have === 'object' ? JSON.stringify(have).toLowerCase() : String(have).toLowerCase(),
        want);
  };
}

/** Makes a test for a plain word, which must appear somewhere in the row. */
function wordTest(word) {
  const want = word.toLowerCase();
  return (row) => `#${row.number} ${row.family} ${row.state} ${
                      row.reason && row.reason !== 'none' ? row.reason.replaceAll('_', ' ') :
                                                            ''} ${JSON.stringify(row.config || {})}`
                      .toLowerCase()
                      .includes(want);
}

/**
 * Compiles a filter. `known` is what the page has read so far: {families, parameters: the names
 * found in configurations, isWhole: all configurations were read}. Returns {test, needsConfig}. If
 * needsConfig is true, the test gives right answers only after the configurations of all rows were
 * read.
 */
export function compile(text, known = {}) {
  const tokens = tokensOf(text), parameters = [...(known.parameters || [])],
        facts = {...known, states: STATES };
  let at = 0, needsConfig = false;
  const peek = () => tokens[at],
        isWord = (w) => peek()?.kind === 'word' && peek().text.toLowerCase() === w,
        isSign = (c) => peek()?.kind === 'sign' && peek().text === c;

  function operand(name, op) {
    const t = tokens[at++];
    if (!t || t.kind === 'sign')
      throw new Error(`${name} ${op} … what? Something is missing behind “${op}”`);
    const unit = peek();
    if (t.kind === 'word' && unit?.kind === 'word' && /^[-+.\d]+$/.test(t.text) &&
        (TIME[unit.text.toLowerCase()] || SIZE[unit.text.toLowerCase()]))
      at++, t.text += unit.text;
    return t.text;
  }

  function list(name) {
    const out = [];
    if (!isSign('(')) throw new Error(`${name} in … needs a list, such as ${name} in (a, b)`);
    do {
      at++;
      out.push(operand(name, 'in'));
    } while (isSign(','));
    if (!isSign(')')) throw new Error(`the list behind “${name} in” is not closed: add )`);
    at++;
    return out;
  }

  function comparison(name) {
    const op = tokens[at++].text, ops = op.toLowerCase() === 'in' ? '=' : op,
          values = op.toLowerCase() === 'in' ? list(name) : [operand(name, op)];
    const field = byName.get(name.toLowerCase());
    if (field) {
      needsConfig ||= Boolean(field.isRead);  // the value arrives together with the configurations
      const all = values.map((v) => fieldTest(field, ops, v, facts));
      return (row) => all.some((f) => f(row));
    }
    const own = parameters.find((p) => p.toLowerCase() === name.toLowerCase());
    if (!own && known.isWhole !== false) {
      const near = nearestName(name.toLowerCase(), [...byName.keys(), ...parameters]);
      throw new Error(`nothing is called “${name}”: ${
          near ? `did you mean ${near}?` :
                 `there is ${fieldNames().join(', ')}, and the parameters of the configurations`}`);
    }
    needsConfig = true;
    const all = values.map((v) => parameterTest(own || name, ops, v));
    return (row) => all.some((f) => f(row));
  }

  function term() {
    const t = peek();
    if (!t) throw new Error('something is missing at the end');
    if (t.kind === 'word' && t.text.toLowerCase() === 'not') {
      at++;
      const inner = term();
      return (row) => !inner(row);
    }
    if (isSign('(')) {
      at++;
      const inner = either();
      if (!isSign(')')) throw new Error('a bracket is not closed: add )');
      at++;
      return inner;
    }
    if (t.kind === 'sign')
      throw new Error(`“${t.text}” needs something before it, such as score ${
          t.text === '(' ? '>' : t.text} 1`);
    at++;
    const follows = peek();
    if (t.kind === 'word' && follows &&
        ((follows.kind === 'sign' && compareBy[follows.text]) ||
         (follows.kind === 'word' && follows.text.toLowerCase() === 'in')))
      return comparison(t.text);
    if (t.kind === 'word' &&
        (byName.has(t.text.toLowerCase()) ||
         parameters.some((p) => p.toLowerCase() === t.text.toLowerCase())))
      throw new Error(`${t.text} needs a comparison, such as ${t.text} ${
          byName.get(t.text.toLowerCase())?.kind === 'text' ? '= …' : '> …'}`);
    if (t.kind === 'word' && ['and', 'or'].includes(t.text.toLowerCase()))
      throw new Error(`“${t.text}” stands between two conditions`);
    const word = t.text.toLowerCase();
    if (![...STATES, ...(known.families || [])].includes(word) && !word.startsWith('#'))
      needsConfig = true;
    return wordTest(t.text);
  }

  /** Reads conditions that must all hold. The word "and" between them may be left out. */
  function both() {
    const all = [term()];
    while (peek() && !isWord('or') && !isSign(')')) {
      if (isWord('and')) at++;
      all.push(term());
    }
    return all.length === 1 ? all[0] : (row) => all.every((f) => f(row));
  }

  function either() {
    const all = [both()];
    while (isWord('or')) {
      at++;
      all.push(both());
    }
    return all.length === 1 ? all[0] : (row) => all.some((f) => f(row));
  }

  if (!tokens.length) return { test: () => true, needsConfig: false };
  const test = either();
  if (peek()) throw new Error(`“${peek().text}” was not expected`);
  return { test, needsConfig };
}
