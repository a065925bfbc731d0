// why.js - why a head looks at a key, in a dialog of a live page with three tabs. Parts: the score that
// the head gives to the key is a sum over pairs, a part of the model that wrote the query, and one that
// wrote the key; two columns of bars compare this key with the best other one. The numbers are those of
// `attn-cli attribute --score` (live.js). Arithmetic: how the weights of the row come about, as a page
// of --explain shows it (neurons.js). As text: what --explain prints.
'use strict';
globalThis.attnWhy = ({ viewer, t, isPicture, askPairs, showMap, makeArithmetic, makeText }) => {
const { el, written } = attnPage;
const MOST = 10; // bars of a column
const HELP = 'A bar to the right draws the head to this key, more than to the other words that it sees; to the left, away from it. A column adds up to its sum. It says what the score is made of in this text, not whether the head matters.';
const WRITERS = { embed: 'the word', pos: 'its position', attn_bias: 'attention bias {}', mlp: 'MLP {}', norm_bias: 'norm', bias: 'bias',
  position_bias: 'distance', head: 'head {}', source: 'the source', attn_norm_bias: 'norm after attention {}', mlp_norm_bias: 'norm after MLP {}' };

// Returns the name of a part that wrote one SIDE of a pair, "head 1.2", of a translator "head
// cross:1.2"; '' for a side without one.
function writerOf(row, side) {
  const part = row[side + '_part'], stack = row[side + '_stack'], head = row[side + '_head'];
  const layer = (stack ? stack + ':' : '') + row[side + '_layer'];
  if (part === null) return '';
  return t(WRITERS[part] ?? part, head === null ? layer : layer + '.' + head);
}

const nameOf = row => [writerOf(row, 'query'), writerOf(row, 'key')].filter(Boolean).join(' \u00d7 ');

// Returns the rows of the columns TABLES, lists of pairs in the same order: the ten pairs that are
// largest in either table, the rest, and the sum.
function rowsOf(tables) {
  const pairs = new Map();
  tables.forEach(({ rows }, at) => rows.filter(row => row.row_type === 'data').forEach(row => {
    const name = nameOf(row), values = pairs.get(name) ?? tables.map(() => 0);
    values[at] += row.relative;
    pairs.set(name, values);
  }));
  const size = values => Math.max(...values.map(Math.abs));
  const shown = [...pairs].filter(([, values]) => size(values) > 0).sort(([, a], [, b]) => size(b) - size(a)).slice(0, MOST);
  const sums = tables.map(({ rows }) => rows.find(row => row.query_part === 'sum').relative);
  const rest = sums.map((sum, at) => shown.reduce((left, [, values]) => left - values[at], sum));
  return { shown, rest, sums };
}

// Returns a cell with a bar from the middle, to the right if X is positive. MOST fills a half; 0:
// there is no bar.
function cellOf(x, most) {
  const bar = el('i', { class: x < 0 ? 'less' : '' }), share = most && 50 * Math.abs(x) / most;
  Object.assign(bar.style, { width: share + '%', left: (x < 0 ? 50 - share : 50) + '%' });
  return el('td', {}, el('span', most ? { class: 'why-bar' } : {}, bar), el('span', { class: 'number' }, written(viewer.run.numbers.measure, x)));
}

function makeTable(query, keys, { shown, rest, sums }) {
  const longest = Math.max(...[...shown.map(([, values]) => values), rest].flat().map(Math.abs));
  const row = (name, values, most = longest) => el('tr', {}, el('th', { scope: 'row' }, name), ...values.map(x => cellOf(x, most)));
  return el('table', { class: 'why' },
    el('caption', {}, t("Each bar is a pair: one part wrote '{}', the other the key.", query)),
    el('thead', {}, el('tr', {}, el('td', {}), ...keys.map(({ name, weight }) =>
      el('th', { scope: 'col' }, el('bdi', {}, name), ' ' + written(viewer.run.numbers.share, weight))))),
    el('tbody', {}, ...shown.map(([name, values]) => row(name, values)), row(t('rest'), rest)),
    el('tfoot', {}, row(t('sum'), sums, 0)));
}

// Returns the parts of the scores of KEYS, of which the first is the one in question.
async function makeParts(head, q, keys) {
  const found = [];
  for (const { at } of keys) found.push(await askPairs(head, q, at));
  const map = el('div', { class: 'why-map' }), all = el('details', {}, el('summary', {}, t('All pairs as a map')), map);
  all.addEventListener('toggle', () => { if (all.open && !map.hasChildNodes()) showMap(map, head, q, keys[0].at); });
  return [makeTable(viewer.nameAt(q, false), keys, rowsOf(found)), el('p', { class: 'note' }, t(HELP)), all,
    el('p', { class: 'note' }, el('code', {}, found[0].command))];
}

// Shows why head H looks from position Q at position K; below 0: at the key with the largest weight. A
// tab whose question the tool cannot answer has the tool's words.
async function show(h, q, k) {
  const { run } = viewer, head = run.heads[h], weights = await viewer.decode(h, 0), row = weights.subarray(q * head.cols, (q + 1) * head.cols);
  const best = [...row.keys()].filter(i => i !== k && row[i] >= 0).sort((a, b) => row[b] - row[a] || a - b);
  const keys = [...k < 0 ? [] : [k], ...best].slice(0, 2).map(at => ({ at, name: viewer.nameAt(at, head.is_source), weight: row[at] }));
  const tabs = [...isPicture ? [] : [['parts', 'Parts', () => makeParts(head, q, keys)]],
    ['arithmetic', 'Arithmetic', () => makeArithmetic(head, q, keys[0].at)], ['text', 'As text', () => makeText(head, q)]];
  const place = el('div', { id: 'why-body', 'aria-live': 'polite' }), buttons = tabs.map(([id, name]) => el('button', { id: 'why-' + id, type: 'button' }, t(name)));
  let shown = -1;
  const open = async i => {
    shown = i;
    buttons.forEach((button, at) => button.setAttribute('aria-pressed', String(at === i)));
    place.replaceChildren(t('computing') + ' \u2026');
    const parts = await tabs[i][2]().catch(problem => [el('p', { class: 'problem' }, problem.message)]);
    if (shown === i) place.replaceChildren(...parts);
  };
  buttons.forEach((button, i) => button.addEventListener('click', () => open(i)));
  await open(0);
  if (run !== viewer.run) return;
  viewer.openDialog(t("Why '{}' looks at '{}': head {}", viewer.nameAt(q, false), keys[0].name, head.at),
    el('p', { class: 'tabs', role: 'group', 'aria-label': t('Why') }, ...buttons), place);
}

return { show };
};
