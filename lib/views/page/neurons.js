// neurons.js - shows how a row of a pattern is computed, on a page with vectors: q, each key's k,
// their product by component, score, weight and v. It follows the head and the query of the viewer.
// A live page loads the vectors of one head at a time (attnNeurons).
'use strict';
(() => {
const $ = id => document.getElementById(id);
const isThere = Boolean(attnPage.given.vectors);
let run = attnPage.given; // later a run of the viewer
const MOST_KEYS = 64, MOST_KEPT = 64;
const root = document.documentElement, { el, isDark } = attnPage, ramps = attnPage.rampsOf(run.colormaps);
let drawn = '', wanted = '';

// --- The vectors --------------------------------------------------------------------------------

const kept = new Map(); // decoded blocks, the least recently used first

// Returns the rows of the tensor SITE as arrays of numbers: those of the head NUMBER in the layer of another head.
async function rowsOf(site, { stack, layer }, number) {
  const tensor = Object.values(run.tensors).find(found => found.site === site && found.stack === stack && found.layer === layer), block = tensor.data[number];
  let rows = kept.get(block);
  if (!rows) {
    const view = new DataView((await attnViewer.inflate(block)).buffer), [, n, width] = tensor.shape;
    rows = Array.from({ length: n }, (_, r) => Float32Array.from({ length: width },
      (_, c) => view.getFloat32(4 * (r * width + c), true)));
  }
  kept.delete(block);
  kept.set(block, rows);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return rows;
}

// Returns all numbers of one row of HEAD: its query, and those of each visible key.
async function arithmetic(head, row) {
  const { query, key, n_head: nHead, n_kv_head: nKvHead } = run.vectors, group = Math.floor(head.head * nKvHead / nHead);
  const [q, k, v, scores] = await Promise.all([rowsOf(query, head, head.head), rowsOf(key, head, group), rowsOf('v', head, group),
    rowsOf('attn_scores', head, head.head)]);
  const keys = [];
  let most = -Infinity, sum = 0;
  for (let j = 0; j < head.cols; j++) {
    const score = scores[row][j];
    if (!isFinite(score)) continue;
    const product = q[row].map((x, i) => x * k[j][i]);
    keys.push({ j, k: k[j], v: v[j], product, score, fit: product.reduce((s, x) => s + x, 0) });
    most = Math.max(most, score);
  }
  for (const key of keys) sum += key.weight = Math.exp(key.score - most);
  for (const key of keys) key.weight /= sum;
  const z = new Float32Array(v[0].length).map((_, i) => keys.reduce((s, key) => s + key.weight * key.v[i], 0));
  return { q: q[row], keys, z, factor: factorOf(keys) };
}

// Returns the factor between q.k and the score; undefined if the score is more than a multiple of
// q.k.
function factorOf(keys) {
  const some = keys.filter(key => Math.abs(key.fit) > 1e-2);
  if (some.length === 0) return undefined;
  const factor = some[0].score / some[0].fit;
  return some.every(key => Math.abs(key.score - factor * key.fit) < 1e-3 * Math.max(1, Math.abs(key.score)))
    ? factor : undefined;
}

// --- Drawing ------------------------------------------------------------------------------------

const number = x => attnPage.written(attnPage.NUMBERS.component, x);
const largest = lists => lists.reduce((most, list) => list.reduce((m, x) => Math.max(m, Math.abs(x)), most), 0) || 1;

const label = (position, isSource) => [position + ' ', el('bdi', {}, attnViewer.nameAt(position, isSource))];

// Draws a vector as cells; MOST is the number with the last color. KIND names the vectors in which
// the same component is marked.
function strip(vector, most, kind, say) {
  const canvas = el('canvas', { width: vector.length, height: 1, 'aria-hidden': 'true' });
  const context = canvas.getContext('2d'), image = context.createImageData(vector.length, 1);
  const ramp = ramps[isDark() ? 'diverging-dark' : 'diverging'];
  vector.forEach((x, i) => {
    const c = 3 * Math.round(127.5 * (1 + Math.max(-1, Math.min(1, x / most))));
    image.data.set([ramp[c], ramp[c + 1], ramp[c + 2], 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  const node = el('span', { class: 'n-strip', 'data-kind': kind }, canvas);
  node.addEventListener('pointermove', event => {
    const box = node.getBoundingClientRect(), n = vector.length;
    const i = Math.max(0, Math.min(n - 1, Math.floor((event.clientX - box.left) / box.width * n)));
    table.style.setProperty('--at', 100 * i / n + '%');
    table.style.setProperty('--one', 100 / n + '%');
    table.className = 'at-' + kind;
    said.textContent = say(i);
  });
  node.addEventListener('pointerleave', () => { table.className = ''; });
  return node;
}

const name = el('h2'), said = el('p', { class: 'n-said', 'aria-live': 'polite' }), note = el('p', { class: 'note' });
const table = el('table');
const section = el('section', { id: 'neurons', 'aria-label': 'Arithmetic of a row' }, name, note, said,
  el('div', { class: 'n-wrap', tabindex: '0', role: 'region', 'aria-label': 'Vectors, scores and weights' }, table));

function keyLine(key, q, most, head, chosen) {
  const of = ' of key ' + key.j;
  const bar = el('span');
  bar.style.width = 100 * key.weight + '%';
  const line = el('tr', { 'data-k': key.j, class: key.j === chosen ? 'here' : '' },
    el('th', { scope: 'row' }, ...label(key.j, head.is_source)),
    el('td', {}, strip(key.k, most.k, 'key', i => 'component ' + i + of + ': k ' + number(key.k[i]))),
    el('td', {}, strip(key.product, most.product, 'key', i => 'component ' + i + of + ': q ' + number(q[i]) +
      ' \u00d7 k ' + number(key.k[i]) + ' = ' + number(key.product[i]))),
    el('td', { class: 'number' }, number(key.fit)), el('td', { class: 'number' }, number(key.score)),
    el('td', { class: 'number' }, number(key.weight)), el('td', { class: 'meter', 'aria-hidden': 'true' }, bar),
    el('td', {}, strip(key.v, most.v, 'value', i => 'component ' + i + of + ': weight ' + number(key.weight) +
      ' \u00d7 v ' + number(key.v[i]) + ' = ' + number(key.weight * key.v[i]))));
  if (isThere) line.addEventListener('click', () => attnViewer.set({ k: key.j }));
  return line;
}

function fill(head, q, found, chosen) {
  const { keys, z } = found;
  const shown = keys.length <= MOST_KEYS ? keys
    : [...keys].sort((a, b) => b.weight - a.weight).slice(0, MOST_KEYS).sort((a, b) => a.j - b.j);
  const most = { q: largest([found.q]), k: largest(shown.map(key => key.k)), product: largest(shown.map(key => key.product)),
    v: largest([z, ...shown.map(key => key.v)]) };
  const empty = n => Array.from({ length: n }, () => el('td'));
  table.replaceChildren(
    el('thead', {}, el('tr', {}, ...['key', 'k', 'q \u00d7 k, by component', 'q\u00b7k', 'score', 'weight', '', 'v']
      .map(text => el('th', { scope: 'col', class: ['q\u00b7k', 'score', 'weight'].includes(text) ? 'number' : '' }, text)))),
    el('tbody', {},
      el('tr', { class: 'query' }, el('th', { scope: 'row' }, 'q of ', ...label(q, false)),
        el('td', {}, strip(found.q, most.q, 'key', i => 'component ' + i + ': q ' + number(found.q[i]))), ...empty(6)),
      ...shown.map(key => keyLine(key, found.q, most, head, chosen)),
      el('tr', { class: 'sum' }, el('th', { scope: 'row' }, 'sum of weight \u00d7 v: z'), ...empty(6),
        el('td', {}, strip(z, most.v, 'value', i => 'component ' + i + ': z ' + number(z[i]))))));
  const turned = run.vectors.query === 'rot_q' ? ' q and k are turned by their positions.' : '';
  note.textContent = (found.factor === undefined ? 'The score is made of q\u00b7k' : 'score = q\u00b7k \u00d7 ' +
    number(found.factor)) + '; weights are the softmax of the scores.' + turned +
    (shown.length < keys.length ? ' Of ' + keys.length + ' keys these are the ' + MOST_KEYS + ' with the largest weights.' : '') +
    ' Blue is below 0, orange above.';
}

// --- What the viewer shows ----------------------------------------------------------------------

// Shows the row of the query Q in HEAD, and marks the key K. Without the row there is nothing to show.
async function showRow(head, q, k) {
  const row = run.queries ? run.queries.indexOf(q) : q, key = wanted = [head?.at, q, k, isDark()].join();
  section.hidden = !head || row < 0 || row >= head.rows;
  if (section.hidden || wanted === drawn) return;
  const found = await arithmetic(head, row);
  if (key !== wanted) return; // another row was chosen in the meantime
  drawn = key;
  name.replaceChildren(head.name + ', query ', ...label(q, false), ': q, k and v');
  said.textContent = '';
  fill(head, q, found, k);
  // the drawn row, for scripts that test the page
  section.dataset.row = [head.at, q].join();
}

function draw() {
  const { state } = attnViewer;
  run = attnViewer.run; // its rows are those of the shown stack
  return showRow(run.heads[state.h], state.q, state.k);
}

// For a live page: `show` draws a row of the head AT of the run MADE.
globalThis.attnNeurons = {
  section,
  show(made, at, q, k) {
    [run, drawn] = [made, ''];
    kept.clear();
    return showRow(run.heads.find(head => head.at === at), q, k);
  },
};

if (!isThere) return;
$('app').after(section);
new MutationObserver(draw).observe(root, { attributes: true, attributeFilter: ['data-ready', 'data-theme'] });
})();
