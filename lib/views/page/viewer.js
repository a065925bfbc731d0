// viewer.js - the page of --html. It shows `run`, which is in the file, as `state` says, which is
// in the hash of the address. It uses no network, and inserts texts only as text, never as markup.
'use strict';
(() => {
const $ = id => document.getElementById(id);
const { abs, ceil, floor, max, min, round, sqrt } = Math;
const { el, svgEl, svgText, svgNames, clamp, prefersDark, isDark, paint, inkOn, swatch, written, rampBox, opaque, save, csvField } = attnPage;
const { colorOf, paintCells } = AttnMap;
const on = (node, event, action) => node.addEventListener(event, action);

// Sets style lengths of a node in pixels.
const inPixels = (node, lengths) => {
  for (const [name, length] of Object.entries(lengths)) node.style[name] = length + 'px';
};

// --- The run ---

let run, blockOf, heads, groups, columns, byName, isComparison;
let nTaken = 0; // number of shown runs: data decoded for an earlier run are discarded
let plain; // the run as given
let isEncoder; // rows of the encoder are shown
let usualQuery, maxKey, maxPosition; // positions; the query that is selected first
const rowOfQuery = new Map();
const MAX_TABLE = 64, MAX_KEPT = 24, MAX_SHAPED = 6;

const queryAt = row => run.queries ? run.queries[row] : row;

// The matrices of a head that have signs, and all matrices that can be shown.
const signedSets = () => isComparison ? ['difference'] : [];
const shownSets = () => isComparison ? ['chosen', 'exact', 'difference', 'both'] : ['chosen'];

// Makes MADE the shown run. TEXT_OF returns its data blocks by name.
function takeRun(made, textOf) {
  run = made;
  blockOf = textOf;
  heads = run.heads;
  groups = [...new Set(heads.map(h => h.group))];
  columns = [...new Set(heads.map(h => h.head))].sort((a, b) => a - b);
  byName = new Map(heads.map((h, i) => [h.at, i]));
  isComparison = run.sets.length > 1;
  plain = { ...run };
  arrange();
  nTaken++;
}

// Sets the texts of rows and columns: those of the source while a head of an encoder is shown.
function arrange() {
  Object.assign(run, plain);
  if (isEncoder) {
    for (const name of ['tokens', 'texts', 'labels', 'names', 'short', 'gaps']) run[name] = run['source_' + name];
    Object.assign(run, { source_tokens: null, ids: null, queries: null, predictions: null });
  }
  rowOfQuery.clear();
  const { rows } = heads.find(h => h.is_encoder === isEncoder) ?? heads[0];
  for (let row = 0; row < rows; row++) rowOfQuery.set(queryAt(row), row);
  usualQuery = isEncoder ? rows - 1 : run.query;
  maxKey = max(...heads.map(h => h.cols)) - 1;
  maxPosition = max(maxKey, usualQuery);
}

takeRun(JSON.parse($('run').textContent), id => $(id).textContent);

// The kinds of heads, which later runs of a live page do not change.
const types = new Map(heads.map(({ at, kind, strength, park, bar }) => [at, { kind, strength, park, bar, ...run.kinds[kind] }]));
const typeOf = h => types.get(heads[h].at) ?? {};

const headName = h => heads[h].name;

// The run has texts as they are and, where these differ, printable texts.
const heading = () => run.heading ?? run.title;
const tokensOf = isSource => isSource ? run.source_tokens : run.tokens;
const textsOf = isSource => (isSource ? run.source_texts : run.texts) || tokensOf(isSource);

// These return the text of a position: as in a running text; alone; short, for maps. '' if there
// are no tokens.
const labelsOf = isSource => (isSource ? run.source_labels : run.labels) || textsOf(isSource);
const tokenAt = (position, isSource) => labelsOf(isSource)?.[position] ?? '';
const nameAt = (position, isSource) => ((isSource ? run.source_names : run.names) || labelsOf(isSource))?.[position] ?? over?.nameOf(position) ?? '';
const shortText = (position, isSource) => (isSource ? run.source_short : run.short)[position] ?? nameAt(position, isSource);

const isolated = (position, isSource) => '\u2068' + shortText(position, isSource) + '\u2069';

// --- Weights ---

// Decodes a block: base64 of raw deflate.
async function inflate(text) {
  const packed = atob(text.trim()), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Returns weights from levels: level 0 is masked (NaN), 1 is 0, the highest is 1. Values that are
// not finite have no level; the page marks them as infinity.
function weightsOf(bytes, n, planes, first = 0) {
  const weights = new Float32Array(n);
  for (let i = 0; i < n; i++)
    weights[i] = planes === 2 ? weightOf(bytes[first + i] * 256 + bytes[first + n + i], 65534) : weightOfByte[bytes[first + i]];
  return weights;
}

const weightOf = (level, top) => level === 0 ? NaN : ((level - 1) / top) ** 2;
const weightOfByte = Float32Array.from({ length: 256 }, (_, level) => weightOf(level, 254));

// A map that keeps the N most recently used entries.
class Kept {
  constructor(n) { this.n = n; this.map = new Map(); }
  get(key) {
    const value = this.map.get(key);
    if (value !== undefined) { this.map.delete(key); this.map.set(key, value); }
    return value;
  }
  set(key, value) {
    this.map.set(key, value);
    if (this.map.size > this.n) this.map.delete(this.map.keys().next().value);
  }
  clear() { this.map.clear(); }
}

const decoded = new Kept(MAX_KEPT), shapedOnes = new Kept(MAX_SHAPED), waited = new Set();

function eachNotFinite(head, visit) {
  const runs = head.not_finite || [];
  for (let i = 0; i < runs.length; i += 3)
    for (let c = 0; c < runs[i + 2]; c++) visit(runs[i], runs[i + 1] + c);
}

// Returns the cells of a head that is pooled: each pooled cell stands for step x step of them.
function spread(pooled, { step, rows, cols, is_source }) {
  const out = new Float32Array(rows * cols), n = ceil(cols / step), isCausal = !is_source && pooled[n - 1] !== pooled[n - 1];
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < cols; c++)
      out[r * cols + c] = isCausal && c > queryAt(r) ? NaN : pooled[floor(r / step) * n + floor(c / step)];
  return out;
}

async function decode(h, set) {
  const key = [nTaken, set, h].join(':');
  let weights = decoded.get(key);
  if (!weights) {
    const head = heads[h], { rows, cols, step = 1 } = head;
    weights = weightsOf(await inflate(blockOf(head.id + run.sets[set])), ceil(rows / step) * ceil(cols / step), run.bytes);
    if (step > 1) weights = spread(weights, head);
    if (set === 0)
      eachNotFinite(head, (row, column) => { weights[row * cols + column] = Infinity; });
    decoded.set(key, weights);
  }
  return weights;
}

let levels = null; // {of, bytes}: those of all heads of a run
const AT_ONCE = 16; // blocks

// Inflates the blocks of all heads, a few at a time: to begin with all at once takes longer than a few frames.
async function inflateAll() {
  const all = [], blocks = heads.map(head => head.id + run.sets[0]), textOf = blockOf;
  for (let i = 0; i < blocks.length; i += AT_ONCE) all.push(...await Promise.all(blocks.slice(i, i + AT_ONCE).map(id => inflate(textOf(id)))));
  return all;
}

// Returns for each head the key with the largest weight in row ROW, and the weight: [{ key, weight }]. Null if another run is shown
// meanwhile.
async function aimsAt(row) {
  const of = nTaken, { bytes: planes } = run;
  if (levels?.of !== of) levels = { of, bytes: inflateAll() };
  const all = await levels.bytes;
  if (of !== nTaken) return null;
  return heads.map(({ rows, cols, step = 1 }, h) => {
    const n = ceil(cols / step), first = floor(min(row, rows - 1) / step) * n, low = ceil(rows / step) * n;
    const weightAt = i => planes === 2 ? weightOf(all[h][first + i] * 256 + all[h][low + first + i], 65534) : weightOfByte[all[h][first + i]];
    let key = 0, weight = 0;
    for (let i = 0; i < n; i++) if (weightAt(i) > weight) [key, weight] = [i * step, weightAt(i)];
    return { key, weight };
  });
}

// Leaves out the first key, if so selected.
function shape(weights, rows, cols) {
  if (state.first) return weights;
  const out = Float32Array.from(weights);
  for (let i = 0; i < rows; i++) out[i * cols] = NaN;
  return out;
}

function difference(a, b) {
  const out = new Float32Array(a.length);
  for (let i = 0; i < a.length; i++)
    out[i] = a[i] !== a[i] && b[i] !== b[i] ? NaN : (a[i] || 0) - (b[i] || 0);
  return out;
}

async function makeOne(h, set) {
  if (set === 'difference') return difference(await makeOne(h, 0), await makeOne(h, 1));
  return shape(await decode(h, set), heads[h].rows, heads[h].cols);
}

// Returns the mean or the maximum of several heads. A cell that is masked in only some heads counts
// as 0 in these.
async function makeCombined(list, set) {
  let sum, n = 0;
  for (const h of list) {
    const one = await makeOne(h, set);
    if (!sum) sum = Float32Array.from(one);
    else for (let i = 0; i < one.length; i++) {
      if (one[i] !== one[i]) continue;
      const before = sum[i] || 0;
      sum[i] = state.c === 'max' ? max(before, one[i]) : before + one[i];
    }
    n++;
  }
  if (state.c === 'mean') for (let i = 0; i < sum.length; i++) sum[i] /= n;
  return sum;
}

// Returns the matrix of one or more heads; null while it is being decoded, after which the page is
// drawn again.
function matrixOf(list, set) {
  const key = [nTaken, list.join(), set, list.length > 1 ? state.c : '', state.first].join(':');
  const found = shapedOnes.get(key);
  if (found) return found;
  if (!waited.has(key)) {
    const began = nTaken;
    waited.add(key);
    (list.length > 1 ? makeCombined(list, set) : makeOne(list[0], set)).then(weights => {
      waited.delete(key);
      if (began !== nTaken) return draw();
      const { rows, cols, is_source } = heads[list[0]];
      shapedOnes.set(key, { key, weights, rows, cols, isSource: is_source,
        isDifference: isNaN(set) });
      return draw();
    });
  }
  return null;
}

// --- Thumbnails ---

const thumbs = []; // by head and set: planes of weights, and their size

// Reads the thumbnails: BYTES has the planes of each head, OTHERS those of the second run, if there is one.
function readThumbs(bytes, others) {
  const own = { bytes, at: 0 }, other = others ? { bytes: others, at: 0 } : own;
  thumbs.length = 0;
  for (const [h, head] of heads.entries()) {
    const k = head.pooled, rows = ceil(head.rows / k), cols = ceil(head.cols / k), n = rows * cols;
    const sets = run.sets.map((_, set) => {
      const from = set === 0 ? own : other, planes = [];
      for (let p = 0; p < (k > 1 ? 2 : 1); p++, from.at += n) planes.push(weightsOf(from.bytes, n, 1, from.at));
      return planes;
    });
    eachNotFinite(head, (row, column) => {
      for (const plane of sets[0]) plane[floor(row / k) * cols + floor(column / k)] = Infinity;
    });
    thumbs.push({ rows, cols, sets, difference: null });
  }
}

let differences = null; // the promise of readDifferences

// Computes the differences of the thumbnails of two runs.
async function readDifferences() {
  const began = nTaken;
  await Promise.all(heads.map(async (head, h) => {
    const { rows, cols } = head, sets = run.sets.map(set => inflate(blockOf(head.id + set)));
    const [own, other] = (await Promise.all(sets)).map(bytes => weightsOf(bytes, rows * cols, run.bytes));
    if (began !== nTaken) return;
    thumbs[h].difference = poolDifferences({ rows, cols, k: head.pooled }, own, other);
  }));
  thumbsDrawn = '';
  if (began === nTaken) draw();
}

function thumbOf(h, set) {
  const { rows, cols, sets } = thumbs[h];
  if (isNaN(set)) return { rows, cols, weights: thumbs[h][set], isDifference: true, isPooled: heads[h].pooled > 1 };
  const planes = sets[set], isPooled = planes.length > 1;
  const weights = isPooled ? planes[state.first ? 0 : 1] : shape(planes[0], rows, cols);
  return { rows, cols, weights, isPooled };
}

// --- Colors ---

const ramps = attnPage.rampsOf(run.colormaps);
const rampName = () => run.colormap || (isDark() ? 'viridis' : 'blues');
const nothingOf = kind => run.nothing[kind][isDark() ? 'dark' : 'light'];

// Whether a column is left out: the first, or those of sinks.
const isHidden = (m, column) => run.hidden ? m.isSource ? column === 0 || column === m.cols - 1 : run.hidden.includes(column) : column === 0 && !state.first;
const leftOut = run.hidden ? 'sinks left out' : 'first token left out';

// Returns the kind of a cell: a value, or one of three kinds without a value.
function kindOf(m, row, column) {
  const w = m.weights[row * m.cols + column];
  if (isFinite(w)) return 'value';
  if (w === Infinity) return 'not_finite';
  return isHidden(m, column) && !m.isPooled ? 'hidden' : 'masked';
}

const rampOf = isDifference => ramps[!isDifference ? rampName() : isDark() ? 'diverging-dark' : 'diverging'];

// Returns the numbers of the first and the last color: for all matrices, for one, or for a row.
function rangeOf(m, row) {
  const signed = Boolean(m.isDifference);
  if (run.span === 'fixed') return [run.low, run.high];
  if (run.span === 'unit') return [signed ? -1 : 0, 1];
  const key = run.span === 'row' ? row : -1;
  m.ranges ??= new Map();
  if (!m.ranges.has(key))
    m.ranges.set(key, largestOf(key < 0 ? m.weights : rowOf(m, row)));
  const size = m.ranges.get(key) || 1;
  return [signed ? -size : 0, size];
}

function largestOf(cells) {
  let most = 0;
  for (const w of cells) if (isFinite(w)) most = max(most, abs(w));
  return most;
}

const stepper = range => attnPage.stepper(run.scale.curve, range);

const labelOf = (position, isSource) => ({ position, text: shortText(position, isSource), isSought: isSought(position, isSource) });

// Returns a matrix as the cells of a map.
const cellsOf = m => ({ key: [m.key, rampName(), isDark()].join(),
  rows: { n: m.rows, title: 'query: attends', label: r => labelOf(queryAt(r), false) },
  columns: { n: m.cols, title: 'key: attended to', label: c => labelOf(c, m.isSource) },
  ramp: rampOf(m.isDifference), nothing: Object.fromEntries(Object.keys(run.nothing).map(kind => [kind, nothingOf(kind)])),
  value: (r, c) => m.weights[r * m.cols + c], step: r => stepper(rangeOf(m, r)), kind: (r, c) => kindOf(m, r, c),
  values: run.values, text: (r, c) => {
    const w = m.weights[r * m.cols + c];
    return isFinite(w) ? written(run.numbers.cell, w) : null;
  } });

// --- Numbers ---

const number = w => written(run.numbers.weight, w);

// --- State ---

const VIEWS = ['grid', 'matrix', 'tokens'];
const defaults = {
  v: VIEWS.includes(run.figure) ? run.figure : heads.length > 1 ? 'grid' : 'matrix', // the view
  h: run.start, // the head
  q: usualQuery, k: -1, // the cell, by positions; -1: none
  first: run.hides_first ? 0 : 1, // the first key is shown
  d: run.theme || '', // dark, light, or '' for the system's theme
  c: '', // how ticked heads are combined
  t: [], // ticked heads
  p: [], // pinned tokens
  dir: 'from', // tokens: weights from a query, or to a key
  w: 'chosen', // comparison: which matrices are shown
  z: clamp(run.cell, 0, 64), // pixels of a cell; 0: chosen to fit
  a: 0, // the matrix is shown as a table
  on: '', // letters of the switches of picture.js that are on
};
const state = structuredClone(defaults);
let hover = null; // under the pointer: {q, k} by positions, or {h}
let elsewhere; // query, pinned tokens and search of the other stack

// Makes the rows those of head H's stack, if there are two stacks.
function turnTo(h) {
  if (heads[h].is_encoder === isEncoder) return;
  const { q, p } = state, there = elsewhere;
  elsewhere = { q, p, sought };
  isEncoder = heads[h].is_encoder;
  arrange();
  ({ q: state.q, p: state.p, sought } = there ?? { q: usualQuery, p: [], sought: seekNothing() });
  $('stage').dataset.made = '';
}

const listOf = (text, read) => {
  const list = text === '' ? [] : text.split(',').map(read);
  return list.includes(undefined) ? undefined : list;
};
const readNumber = (low, high) => text => {
  const x = /^\d{1,7}$/.test(text) ? Number(text) : -1;
  return x >= low && x <= high ? x : undefined;
};
const readWord = words => text => words.includes(text) ? text : undefined;
const readHead = text => byName.get(text);
const readQuery = text => rowOfQuery.has(readNumber(0, maxPosition)(text)) ? Number(text) : undefined;

// How each part of the hash is parsed. Invalid parts are undefined and ignored.
const readers = {
  v: readWord(VIEWS), h: readHead, q: readQuery, k: text => readNumber(0, maxKey)(text),
  first: readNumber(0, 1),
  d: readWord(['dark', 'light']), c: readWord(['mean', 'max']),
  t: text => listOf(text, readHead), p: text => listOf(text, readNumber(0, maxPosition)),
  dir: readWord(['from', 'to']),
  w: text => readWord(shownSets())(text),
  z: readNumber(0, 64), a: readNumber(0, 1),
  on: text => /^[nst]{1,3}$/.test(text) ? text : undefined,
};

function readHash(hash) {
  const parts = hash.replace(/^#/, '').split('&');
  Object.assign(state, structuredClone(defaults));
  turnTo(state.h);
  [elsewhere, state.q] = [null, usualQuery];
  for (const part of parts) {
    const at = part.indexOf('=');
    const name = part.slice(0, at);
    if (at < 1 || !Object.hasOwn(readers, name)) continue;
    const value = readers[name](part.slice(at + 1));
    if (value === undefined) continue;
    state[name] = value;
    turnTo(state.h);
  }
  if (run.hides_first) state.first = 0; // its weights are not in the file
  if (heads.length === 1 && state.v === 'grid') state.v = 'matrix';
}

let moreOfHash = () => []; // further parts from other scripts

function writeHash() {
  const parts = [];
  for (const [name, value] of Object.entries(state)) {
    if (String(value) === String(name === 'q' ? usualQuery : defaults[name]) && name !== 'v' && name !== 'h')
      continue;
    if (value === -1 || value === '') continue;
    const text = name === 'h' ? heads[value].at : name === 't' ? value.map(h => heads[h].at).join()
      : String(value);
    parts.push(name + '=' + text);
  }
  const hash = '#' + [...parts, ...moreOfHash()].join('&');
  if (hash === location.hash) return;
  try {
    history.replaceState(null, '', hash);
  } catch {
    location.replace(hash);
  }
}

// Changes the state, draws, and writes the hash.
function set(changes) {
  Object.assign(state, changes);
  draw();
  writeHash();
}

// --- What is looked at ---

// Returns true if head H has the same rows and columns as the selected head.
const isLike = h => ['rows', 'cols', 'is_source', 'is_encoder'].every(key => heads[h][key] === heads[state.h][key]);

// Returns the heads that are shown as one matrix: the ticked heads if they are combined, else one.
function shownHeads() {
  const like = state.t.filter(isLike);
  if (state.c && like.length > 0) return like;
  return [hover?.h ?? state.h];
}

const setOf = which => which === 'exact' ? 1 : signedSets().includes(which) ? which : 0;
const thumbSet = () => setOf(state.w === 'both' ? 'difference' : state.w);

function shownName(list) {
  if (list.length === 1) return headName(list[0]);
  return (state.c === 'max' ? 'maximum of ' : 'mean of ') + list.length + ' heads';
}

// Returns the cell under the pointer, or else the selected cell.
function cell() {
  return hover?.q === undefined ? { q: state.q, k: state.k } : hover;
}

const rowOf = (m, row) => m.weights.subarray(row * m.cols, (row + 1) * m.cols);

// Returns the indices of weights, strongest first, without masked ones.
function order(weights) {
  const found = [];
  weights.forEach((w, i) => { if (isFinite(w)) found.push(i); });
  return found.sort((a, b) => abs(weights[b]) - abs(weights[a]) || a - b);
}

const ranked = (m, row) => order(rowOf(m, row));

// Returns the names and numbers of the three strongest weights.
const best = (weights, nameAt) => order(weights).slice(0, 3).flatMap((i, at) =>
  [at ? ', ' : ' ', ...nameAt(i), ' ', el('b', at ? {} : { id: 'value' }, number(weights[i]))]);

// --- The read-out ---

const named = (role, position, isSource) => {
  const text = shortText(position, isSource);
  return [run.picture ? role : role + ' ' + position, ...(text ? [' ', el('bdi', {}, text)] : [])];
};

const say = (...parts) => $('readout').replaceChildren(...parts);

const sayHead = h => say(el('b', {}, headName(h)), ': ' + [[typeOf(h).name], ...run.measures.map(([name, words, unit]) => [words, written(run.numbers.measure, heads[h][name]), unit])]
  .map(parts => parts.filter(Boolean).join(' ')).filter(Boolean).join(', '));

function sayCell(m) {
  const { q, k } = cell();
  const row = rowOfQuery.get(q);
  const others = state.w === 'both' && matrices.length === 3 ? matrices : [];
  if (row === undefined || k < 0 || k >= m.cols) {
    say(el('b', {}, shownName(shownHeads())), ...(row === undefined ? [] : [': ', ...named('query', q)]));
    return;
  }
  const w = m.weights[row * m.cols + k];
  const rank = isFinite(w) ? ranked(m, row).indexOf(k) + 1 : 0;
  const value = kindOf(m, row, k) === 'hidden' ? 'left out' : number(w);
  say(...named('query', q), ' \u2192 ', ...named('key', k, m.isSource), ' ',
    el('b', { id: 'value' }, value), rank ? ', rank ' + rank + ' in the row' : '',
    ...others.flatMap(({ m: other }, i) => [', ' + [run.set_names[1], run.set_names[0], 'difference'][i] + ' ',
      el('b', {}, number(other.weights[row * other.cols + k]))]));
  for (const map of matrices) map.active.textContent = $('readout').textContent;
}

// --- All heads ---

let thumbNodes = [], thumbsDrawn = '';
const roomIn = node => attnPage.isPrinting ? 700 : node.clientWidth; // 700 when printing

function makeThumbs() {
  thumbNodes = heads.map((head, h) => {
    const node = el('div', { class: 'thumb', role: 'gridcell', id: 'thumb-' + h,
      'aria-label': headName(h), title: headName(h) }, el('canvas', { 'aria-hidden': 'true' }));
    on(node, 'pointerenter', () => { hover = { h }; sayHead(h); drawOne(); });
    on(node, 'pointerleave', () => { hover = null; draw(); });
    on(node, 'click', event => {
      hover = null;
      if (event.ctrlKey || event.metaKey || event.shiftKey) tick(h); else set({ h });
    });
    on(node, 'dblclick', () => set({ h, v: 'matrix' }));
    return node;
  });
}

function thumbSize() {
  const room = roomIn($('thumbs')) - 44;
  return clamp(floor(room / columns.length) - 4, 8, state.v === 'grid' ? 128 : 40);
}

// Draws the parts of a thumbnail that do not depend on the selected head.
function drawThumb(h, size, set) {
  const node = thumbNodes[h], m = thumbOf(h, set), canvas = node.firstChild, head = heads[h];
  if (!over?.drawThumb(h, size, canvas)) {
    paintCells(cellsOf(m), canvas);
    const shrink = max(head.rows, head.cols);
    inPixels(canvas, { width: max(3, round(size * head.cols / shrink)), height: max(3, round(size * head.rows / shrink)) });
  }
  while (node.childNodes.length > 1) node.lastChild.remove();
}

const groupTitle = () => run.grouping === 'none' ? '' : run.grouping;

function arrangeThumbs(size) {
  const place = $('thumbs');
  const top = el('div', { class: 'row', role: 'row' },
    el('span', { class: 'row-name', role: 'columnheader' }, groupTitle()),
    ...columns.map(c => el('span', { class: 'column-name', role: 'columnheader' }, String(c))));
  const rows = groups.map((group, i) => [group, ...run.groups[i]]).map(([group, name, kind]) => el('div', { class: 'row', role: 'row' },
    el('span', { class: 'row-name', role: 'rowheader' },
      run.grouping === 'none' ? '' : name, ...kind ? [el('small', {}, ' ' + kind)] : []),
    ...columns.map(c => {
      const h = byName.get(group + '.' + c);
      return h === undefined ? el('span', { role: 'gridcell' }) : thumbNodes[h];
    })));
  place.style.gridTemplateColumns = `auto repeat(${columns.length}, ${size}px)`;
  place.replaceChildren(top, ...rows);
}

function drawThumbs() {
  const place = $('thumbs');
  if (heads.length === 1 || place.offsetParent === null) return;
  const size = thumbSize(), which = thumbSet();
  if (isComparison && thumbs[0].difference === null) differences ??= readDifferences();
  if (which === 'difference' && !thumbs.every(thumb => thumb.difference)) return;
  const drawn = [size, which, rampName(), isDark(), attnPage.isPrinting, state.first, over?.key()].join();
  if (drawn !== thumbsDrawn) {
    for (let h = 0; h < heads.length; h++) drawThumb(h, size, which);
    arrangeThumbs(size);
    thumbsDrawn = drawn;
  }
  thumbNodes.forEach((node, h) => {
    node.setAttribute('aria-selected', h === state.h);
    node.setAttribute('aria-checked', state.t.includes(h));
  });
  place.setAttribute('aria-activedescendant', 'thumb-' + state.h);
  const k = heads[0].pooled;
  $('heads-note').textContent = k > 1 && !over ? `a cell is the ${isNaN(which) ? 'largest' : 'mean row maximum'} of ${k} x ${k}` : '';
}

function tick(h) {
  const t = state.t.includes(h) ? state.t.filter(x => x !== h) : [...state.t, h];
  set({ t: t.sort((a, b) => a - b) });
}

// Goes to the next head in a direction.
function moveHead(down, across) {
  let row = groups.indexOf(heads[state.h].group), column = columns.indexOf(heads[state.h].head);
  for (;;) {
    row += down;
    column += across;
    const h = byName.get(groups[row] + '.' + columns[column]);
    if (h !== undefined) return set({ h });
    if (row < 0 || row >= groups.length || column < 0 || column >= columns.length) return undefined;
  }
}

// --- A matrix ---

// Shows the matrix M in cells that are as large as they fit, of MOST pixels at most.
function showMatrix(map, m, isSmall, most = 44) {
  const width = roomIn(map.node.parentNode), height = attnPage.isPrinting ? 660 : isSmall ? min(width, innerHeight * 0.7) : innerHeight * 0.74;
  let px = state.z || most;
  Object.assign(map, { m, given: cellsOf(m) });
  while (!state.z && px > 1 && (map.measure(px, px).width > width - 2 || map.height > height)) px--;
  inPixels(map.node, { maxHeight: max(height, 240) });
  map.node.setAttribute('aria-label', `Weights of ${shownName(shownHeads())}: queries down, keys across. Arrow keys move the cell.`);
  map.show(map.given, width, px, px);
}

const cellAt = (map, event) => {
  const at = map.at(event);
  return at && { q: queryAt(at[0]), k: at[1] };
};

function makeMatrix(place) {
  const map = new AttnMap('matrix');
  place.append(map.node);
  on(map.frame, 'pointermove', event => { hover = cellAt(map, event); drawCursor(); });
  on(map.frame, 'pointerleave', () => { hover = null; drawCursor(); });
  on(map.frame, 'click', event => {
    const at = cellAt(map, event);
    if (at) { hover = null; set(at); }
  });
  return map;
}

// Marks the row, the column and the cell under the pointer, or else the selected ones.
function markCell() {
  const { q, k } = cell(), r = rowOfQuery.get(q);
  for (const map of matrices) {
    const hasKey = k >= 0 && k < map.m.cols;
    map.mark([...r === undefined ? [] : [['row', r]], ...hasKey ? [['column', null, k]] : [], ...hasKey && r !== undefined ? [['cell', r, k]] : []]);
  }
}

// Scrolls so that the selected cell is visible.
const reveal = () => matrices.forEach(map => map.reveal(rowOfQuery.get(state.q), max(0, state.k)));

let matrices = [];

function makeMatrices(n) {
  const [name, other] = run.set_names, titles = [other, name, `difference: ${name} minus ${other}`];
  const places = [];
  for (let i = 0; i < n; i++)
    places.push(el('div', {}, ...(n > 1 ? [el('h3', {}, titles[i])] : [])));
  $('stage').replaceChildren(n > 1 ? el('div', { class: 'beside' }, ...places) : places[0]);
  matrices = places.map(makeMatrix);
  matrices.forEach(({ node, active }, i) => {
    active.id = 'active-cell' + (i || '');
    node.setAttribute('aria-activedescendant', active.id);
  });
}

function drawMatrix(list) {
  const isBoth = state.w === 'both', sets = isBoth ? [1, 0, 'difference'] : [setOf(state.w)];
  const found = sets.map(set => matrixOf(list, set));
  if (found.includes(null)) return null;
  if (state.a && state.v === 'matrix') {
    matrices = [];
    $('stage').replaceChildren(tableOf(found[0]));
    return found[0];
  }
  if (matrices.length !== sets.length) makeMatrices(sets.length);
  const isSmall = state.v === 'grid' && !isBoth;
  matrices.forEach((map, i) => showMatrix(map, found[i], isSmall));
  const px = min(...matrices.map(map => map.w)); // all matrices have cells of the same size
  matrices.forEach((map, i) => map.w !== px && showMatrix(map, found[i], isSmall, px));
  markCell();
  return found[isBoth ? 1 : 0];
}

// Makes an HTML table of the matrix, if it has up to 64 queries and keys; otherwise of the current
// row.
function tableOf(m) {
  const isWhole = m.rows <= MAX_TABLE && m.cols <= MAX_TABLE;
  const head = el('tr', {}, el('td', {}));
  for (let j = 0; j < m.cols; j++)
    head.append(el('th', { scope: 'col' }, ...named('', j, m.isSource)));
  const body = el('tbody', {});
  for (let i = 0; i < m.rows; i++) {
    if (!isWhole && queryAt(i) !== state.q) continue;
    const row = el('tr', {}, el('th', { scope: 'row' }, ...named('', queryAt(i))));
    for (let j = 0; j < m.cols; j++) {
      const w = m.weights[i * m.cols + j];
      row.append(el('td', {}, w === w ? number(w) : kindOf(m, i, j) === 'hidden' ? '\u2013' : ''));
    }
    body.append(row);
  }
  const note = isWhole ? 'queries down, keys across' : 'the row of query ' + state.q;
  return el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Table' },
    el('table', { class: 'plain' }, el('caption', {}, note), el('thead', {}, head), body));
}

// --- The text ---

// Returns true if a line may break between two tokens. A word and its blank stay together, and so
// do the pieces of a word, except in scripts without blanks.
const mayBreak = (before, text) => /^\s/.test(text) || /[\u2e80-\uffef]/.test(before.slice(-1) + text[0]) ||
  !(/[\p{L}\p{N}\p{M}]$/u.test(before) && /^[\p{L}\p{N}\p{M}]/u.test(text));

let spans = []; // by position, and by row of the source

function makeText(n, isSource, role) {
  const box = el('div', { class: 'text', tabindex: '0', role: 'group', 'aria-label': role });
  const made = [];
  for (let p = 0; p < n; p++) {
    const text = tokenAt(p, isSource) || p + ' ';
    const span = el('bdi', { class: 'token' }, text);
    on(span, 'pointerenter', () => { hover = tokenHover(p, isSource); draw(); });
    on(span, 'pointerleave', () => { hover = null; draw(); });
    on(span, 'click', () => pin(p, isSource));
    made.push(span);
    const gap = (isSource ? run.source_gaps : run.gaps)?.[p];
    if (gap) box.append(gap > 1 ? el('br') : ' ');
    else if (p > 0 && mayBreak(tokenAt(p - 1, isSource), text)) box.append(el('wbr'));
    box.append(span);
  }
  return { box, spans: made };
}

// Returns what the pointer selects on a token: a query if weights from it are shown, else a key.
function tokenHover(p, isSource) {
  if (isSource || state.dir === 'to') return isSource || !isCross() ? { token: p, isSource } : null;
  return { token: p, isSource };
}

const isCross = () => heads[state.h].is_source;

function pin(p, isSource) {
  const wanted = isCross() ? isSource === (state.dir === 'to') : true;
  if (!wanted) return;
  const list = state.p.includes(p) ? state.p.filter(x => x !== p) : [...state.p, p];
  hover = null;
  set(state.dir === 'from' && rowOfQuery.has(p) ? { p: list, q: p } : { p: list });
}

// Returns the tokens whose weights are shown: the pinned ones, or the one under the pointer, or
// that of the selected cell.
function lookedFrom() {
  if (state.p.length > 0) return state.p;
  if (hover?.token !== undefined && (!isCross() || hover.isSource === (state.dir === 'to')))
    return [hover.token];
  return [state.dir === 'from' ? state.q : max(0, state.k)];
}

// Sums over the chosen tokens: weights from them, by key, or weights to them, by query.
function tokenWeights(m) {
  const isFrom = state.dir === 'from', n = isFrom ? m.cols : m.rows;
  const sums = new Float32Array(n).fill(NaN);
  for (const p of lookedFrom()) {
    const line = isFrom ? rowOfQuery.get(p) : p;
    if (line === undefined || line >= (isFrom ? m.rows : m.cols)) continue;
    for (let i = 0; i < n; i++) {
      const w = isFrom ? m.weights[line * m.cols + i] : m.weights[i * m.cols + line];
      if (w === w) sums[i] = (sums[i] || 0) + w;
    }
  }
  return sums;
}

function colorText(m) {
  const isFrom = state.dir === 'from', sums = tokenWeights(m), from = lookedFrom();
  const [own, source] = spans, target = isFrom && m.isSource ? source : own;
  const asked = !isFrom && m.isSource ? source : own;
  const positionOf = i => isFrom ? i : queryAt(i);
  const line = { ...m, weights: sums, rows: 1, cols: sums.length, ranges: null, isPooled: !isFrom }, cells = cellsOf(line);
  spans.forEach((list, at) => list.forEach((span, p) => {
    span.className = isSought(p, at === 1) ? 'token sought' : 'token';
    span.style.backgroundColor = span.style.color = '';
  }));
  for (let i = 0; i < sums.length; i++) {
    const span = target[positionOf(i)], color = colorOf(cells, 0, i);
    // faint, so that visible tokens stand out
    if (!isFinite(sums[i]) && kindOf(line, 0, i) === 'masked') {
      span.classList.add('masked');
      continue;
    }
    span.style.backgroundColor = color;
    span.style.color = isFinite(sums[i]) || !isDark() ? inkOn(color) : '#a0a9b3';
  }
  for (const p of from) if (asked[p]) asked[p].classList.add('from');
  for (const p of state.p) if (asked[p]) asked[p].classList.add('pinned');
  return sums;
}

function sayToken(m, sums) {
  const isFrom = state.dir === 'from', from = lookedFrom();
  const role = isFrom ? 'query' : 'key';
  const who = from.length === 1 ? named(role, from[0], !isFrom && m.isSource)
    : ['sum of ' + from.length + ' pinned ' + (isFrom ? 'queries' : 'keys')];
  if (from.length === 1 && isFrom && !rowOfQuery.has(from[0]))
    return say(...who, ' is not among the queries of this page');
  return say(...who, isFrom ? ' \u2192' : ' \u2190',
    ...best(sums, i => isFrom ? named('', i, m.isSource) : named('', queryAt(i))));
}

const FEW_LETTERS = 600; // letters of a text that may be shown large

function drawTokens(list) {
  const m = matrixOf(list, setOf(state.w));
  if (!m) return null;
  if ($('stage').dataset.made !== 'tokens' + m.isSource) {
    const nOwn = max(usualQuery + 1, m.isSource || run.tokens ? (run.tokens || []).length : m.cols);
    const own = makeText(nOwn, false, m.isSource ? 'Queries' : 'Text');
    const source = m.isSource ? makeText(m.cols, true, 'Keys') : { spans: [] };
    spans = [own.spans, source.spans];
    $('stage').replaceChildren(...m.isSource ? [el('p', { class: 'text-name' }, 'source: keys'), source.box,
      el('p', { class: 'text-name' }, 'queries')] : [], own.box);
    $('stage').dataset.made = 'tokens' + m.isSource;
    $('stage').classList.toggle('short', (run.tokens || []).join('').length < FEW_LETTERS);
  }
  sayToken(m, colorText(m));
  return m;
}

// --- Legend and details ---

const DETAIL_ROOM = 240, DETAIL_SLACK = 60; // pixels for the tables of a query

// Returns the ticks [place, text] of the scale for colors up to SIZE, made from the library's
// ticks [place, number, text].
function ticksOf(isSigned, size) {
  const { fixed, signed, ticks } = run.scale, isFixed = run.span === 'fixed';
  const factor = isFixed ? 1 : size;
  return (isFixed ? fixed : isSigned ? signed : ticks).map(([place, x, text]) =>
    [place, factor === 1 ? text : written(run.numbers.tick, x * factor)]);
}

function drawRamp(m) {
  if (isOver()) return over.ramp();
  return rampBox('ramp', opaque(rampOf(m.isDifference)), run.span === 'row' ? [] : ticksOf(m.isDifference, rangeOf(m, 0)[1]));
}

function drawLegend(m) {
  const spans = { matrix: ', to the largest of this matrix', row: ', to the largest of each row' };
  const kind = (text, ...before) => el('span', { class: 'kind' }, ...before, text);
  if (!m) return $('legend').replaceChildren();
  const parts = [m, ...(matrices.length === 3 ? [matrices[2].m] : [])].flatMap(one => [drawRamp(one),
    kind((!one.isDifference ? run.quantity + ': ' : run.set_names.join(' minus ') + ': signed ') + run.scale.words + (over?.span() ?? spans[run.span] ?? ''))]);
  m.hasMasked ??= m.weights.some((w, i) => w !== w && !isHidden(m, i % m.cols));
  if (m.hasMasked) parts.push(kind('masked', swatch(nothingOf('masked'))));
  if (!state.first) parts.push(kind(leftOut, swatch(nothingOf('hidden'))));
  if (heads[state.h].not_finite) parts.push(kind('not finite', swatch(nothingOf('not_finite'))));
  if (run.renormalizes) parts.push(kind('rows divided by their sum'));
  if (heads[state.h].step) parts.push(kind('pooled: means of row maxima'));
  if (heads[state.h].outside)
    parts.push(kind(heads[state.h].outside + ' weights outside 0 to 1 are shown as 0 or 1'));
  return $('legend').replaceChildren(...parts);
}

function strongestTable(m, q) {
  const { step } = heads[state.h];
  if (step) return el('p', { id: 'strongest' }, `${step} x ${step} cells are pooled: a page of fewer heads has the keys of this one.`);
  const row = rowOfQuery.get(q), body = el('tbody');
  const keys = ranked(m, row).filter((key, at) => at === 0 ||
    abs(m.weights[row * m.cols + key]) >= 5e-5);
  for (const key of keys.slice(0, 8)) {
    const w = m.weights[row * m.cols + key], bar = el('span');
    bar.style.width = 100 * min(1, abs(w)) + '%';
    body.append(el('tr', {}, el('td', { class: 'number' }, String(key)),
      el('td', {}, el('bdi', {}, shortText(key, m.isSource))),
      el('td', { class: 'number' }, number(w)), el('td', { class: 'meter', 'aria-hidden': 'true' }, bar)));
  }
  return el('table', { id: 'strongest' }, el('caption', {}, 'strongest keys of ', ...named('query', q)), body);
}

// If labels of a whole text are predicted, they have a heading.
const predictedAt = (run, q) => (run?.predictions?.top ?? []).filter(p => run.predictions.heading || p.position === q);
const expectedAt = q => el('caption', {}, ...run.predictions.heading ? [run.predictions.heading]
  : named(run.predictions.words, q));

function predictionTable(q) {
  const rows = predictedAt(run, q).map(p => el('tr', {}, el('td', {}, el('bdi', {}, p.label ?? p.token)),
    el('td', { class: 'number' }, written(run.numbers.probability, p.probability))));
  return rows.length ? [el('table', { id: 'predictions' }, expectedAt(q), el('tbody', {}, ...rows))] : [];
}

function drawDetail(m) {
  const at = cell();
  const q = state.v === 'tokens' && state.dir === 'from' ? lookedFrom().at(-1)
    : at.q < 0 ? state.q : at.q;
  if (!m || !rowOfQuery.has(q)) return $('detail').replaceChildren();
  return $('detail').replaceChildren(strongestTable(m, q), ...predictionTable(q));
}

// If there are few heads and the matrix is tall, moves the tables below the heads.
function placeDetail() {
  const ends = id => $(id).getBoundingClientRect().bottom, detail = $('detail');
  const isBelow = state.v === 'grid' && state.w !== 'both' && innerWidth > 900 && !attnPage.isPrinting &&
    $('thumbs').offsetParent !== null &&
    ends('thumbs') + DETAIL_ROOM <= max(ends('legend') + DETAIL_SLACK, innerHeight);
  const home = $(isBelow ? 'heads' : 'body');
  if (detail.parentNode !== home) home.append(detail);
}

// --- Finding ---

const seekNothing = () => ({ own: new Set(), source: new Set(), list: [], at: -1 });
let sought = seekNothing();
const isSought = (p, isSource) => (isSource ? sought.source : sought.own).has(p);

// Returns the head that a text such as "L2H5" or "cross 2.5" names.
function namedHead(text) {
  const found = /^\D*(\d+)\D+(\d+)\s*$/.exec(text);
  return byName.get(text.trim().replace(' ', ':')) ?? (found ? byName.get(found[1] + '.' + found[2]) : undefined);
}

// Searches for tokens that contain a text: first in the text, then in the source.
function seek(text) {
  const h = namedHead(text), list = [], lower = text.toLowerCase();
  if (h !== undefined) {
    sought = seekNothing();
    $('find-note').textContent = headName(h);
    return set({ h });
  }
  for (const isSource of text.trim() ? [false, true] : [])
    (textsOf(isSource) || []).forEach((token, p) => {
      if (token.toLowerCase().includes(lower)) list.push({ p, isSource });
    });
  const places = isSource => new Set(list.filter(x => x.isSource === isSource).map(x => x.p));
  sought = { own: places(false), source: places(true), list, at: -1 };
  $('find-note').textContent = text.trim() && list.length === 0 ? 'not found' : '';
  return list.length ? seekNext() : draw();
}

// Goes to the next match: as query if it has a row, and as key if it has a column.
function seekNext() {
  if (sought.list.length === 0) return;
  sought.at = (sought.at + 1) % sought.list.length;
  const { p, isSource } = sought.list[sought.at], head = heads[state.h], changes = {};
  if (!isSource && rowOfQuery.has(p)) changes.q = p;
  if (Boolean(head.is_source) === isSource && p < head.cols) changes.k = p;
  $('find-note').textContent = sought.at + 1 + ' of ' + sought.list.length;
  hover = null;
  set(changes);
  reveal();
  spans[isSource ? 1 : 0]?.[p]?.scrollIntoView?.({ block: 'nearest' });
}

// --- Drawing ---

let shown = null; // the matrix on the page

function button(id, text, action) {
  const node = el('button', { id }, text);
  on(node, 'click', action);
  return node;
}

function tools() {
  if (state.v === 'matrix')
    return [button('smaller', '\u2212', () => zoom(-1)), button('fit', 'Fit', () => set({ z: 0 })),
      button('larger', '+', () => zoom(1)),
      button('as-table', state.a ? 'As picture' : 'As table', () => set({ a: state.a ? 0 : 1 }))];
  if (state.v === 'tokens')
    return [button('turn', state.dir === 'from' ? 'Weights from a token' : 'Weights to a token', turn),
      ...(state.p.length ? [button('unpin', 'Unpin', () => set({ p: [] }))] : [])];
  return [];
}

const turn = () => set({ dir: state.dir === 'from' ? 'to' : 'from', p: [] });

function zoom(by) {
  if (!matrices[0]) return;
  const sizes = [1, 2, 3, 4, 6, 8, 9, 10, 12, 14, 18, 22, 28, 36, 44, 56, 64], px = matrices[0].w;
  const next = by > 0 ? sizes.find(s => s > px) : sizes.findLast(s => s < px);
  if (next) set({ z: next });
}

// Draws the part of the page for the selected head.
// Returns true if the stage (stage.js) is shown instead: it calls set when it goes away.
const isBehind = () => document.documentElement.classList.contains('on-stage');

function drawOne() {
  const list = shownHeads();
  const view = isOver() ? '' : state.v;
  turnTo(list[0]);
  if (isBehind()) {
    document.documentElement.dataset.ready = state.v;
    return;
  }
  if (view !== 'grid' && view !== 'matrix') matrices = [];
  $('name').textContent = shownName(list);
  shown = !view ? over.draw(list) : view === 'tokens' ? drawTokens(list) : drawMatrix(list);
  if (!shown && waited.size > 0) return;
  if (view === 'grid' || view === 'matrix') $('stage').dataset.made = 'matrix';
  if (shown && (view === 'matrix' || view === 'grid')) {
    if (hover?.h !== undefined) sayHead(hover.h);
    else if (state.v === 'grid' && state.k < 0 && !hover) sayHead(state.h);
    else sayCell(shown);
  }
  drawDetail(shown);
  drawLegend(shown);
  placeDetail();
  document.documentElement.dataset.ready = state.v;
}

// Draws only the parts that follow the pointer.
function drawCursor() {
  markCell();
  if (shown) {
    sayCell(shown);
    drawDetail(shown);
  }
}

let onDrawn = () => {};

function draw() {
  const root = document.documentElement;
  const theme = attnPage.isPrinting ? 'light' : state.d;
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  $('panes').dataset.view = state.v;
  $('panes').classList.toggle('both', state.w === 'both' && (state.v === 'grid' || state.v === 'matrix'));
  for (const button of $('views').children)
    button.setAttribute('aria-pressed', button.dataset.view === state.v);
  for (const [id, name] of CONTROLS) $(id)[$(id).type === 'checkbox' ? 'checked' : 'value'] = state[name];
  $('tick').setAttribute('aria-pressed', state.t.includes(state.h));
  $('first').disabled = run.hides_first;
  $('dark').setAttribute('aria-pressed', isDark());
  $('view-tools').replaceChildren(...tools());
  drawThumbs();
  drawOne();
  onDrawn();
}

// --- Keep ---

const fileName = ending => (run.model || 'attention') + '-' + (state.v === 'grid' ? 'heads'
  : heads[state.h].id + '-' + state.v) + '.' + ending;

function keptTitle(name) {
  const more = (state.first ? '' : ', ' + leftOut) + (run.renormalizes ? ', renormalized' : '');
  return [svgText(10, 20, heading(), { 'font-weight': 'bold', 'font-size': 14 }),
    svgText(10, 38, name + ', ' + run.scale.words + ' of the weight' + more, { fill: paint('--soft') })];
}

function keptSvg(width, height, ...parts) {
  return svgEl('svg', { xmlns: svgNames, width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' },
    svgEl('title', {}, heading()), svgEl('desc', {}, $('about').textContent),
    svgEl('rect', { width, height, fill: paint('--paper') }), ...parts);
}

function keptMatrix() {
  const map = matrices.find(({ m }) => m === shown) ?? new AttnMap('matrix');
  if (!map.m) map.given = cellsOf(shown); // it is shown as a table
  if (!map.m) map.measure(22, 22);
  return keptSvg(max(420, map.width + 12), map.height + 60, ...keptTitle(shownName(shownHeads())),
    svgEl('g', { transform: 'translate(0 48)' }, ...map.svg()));
}

// Returns all heads as they are shown.
function keptGrid(title) {
  const sizes = thumbNodes.map(({ firstChild }) => [firstChild.offsetWidth, firstChild.offsetHeight]);
  const w = max(...sizes.map(size => size[0])) + 8, h = max(...sizes.map(size => size[1])) + 8;
  return keptSvg(68 + columns.length * w, 84 + groups.length * h, ...keptTitle(title),
    ...heads.map((head, i) => svgEl('image', { x: 60 + columns.indexOf(head.head) * w, y: 76 + groups.indexOf(head.group) * h,
      width: sizes[i][0], height: sizes[i][1], href: thumbNodes[i].firstChild.toDataURL(), 'image-rendering': 'pixelated',
      preserveAspectRatio: 'none' }, svgEl('title', {}, headName(i)))),
    ...columns.map((c, i) => svgText(56 + (i + 0.5) * w, 68, String(c), { 'text-anchor': 'middle' })),
    ...run.grouping === 'none' ? [] : groups.map((g, i) => svgText(50, 80 + (i + 0.5) * h, (g === Number(g) ? run.grouping + ' ' : '') + run.groups[i][0],
      { 'text-anchor': 'end', 'font-size': 11 })));
}

function keptTokens() {
  const box = $('stage').getBoundingClientRect(), parts = [];
  for (const span of spans.flat()) {
    const style = getComputedStyle(span), text = span.textContent;
    for (const r of span.getClientRects())
      parts.push(svgEl('rect', { x: r.x - box.x + 10, y: r.y - box.y + 56, width: r.width,
        height: r.height, fill: span.style.backgroundColor || 'none' }));
    const r = span.getClientRects()[0];
    if (r) parts.push(svgText(r.x - box.x + 10, r.y - box.y + 56 + r.height * 0.72, text,
      { fill: style.color, 'font-size': style.fontSize }));
  }
  return keptSvg(ceil(box.width) + 20, ceil(box.height) + 70,
    ...keptTitle(shownName(shownHeads())), ...parts);
}

function kept() {
  if (isOver()) return over.kept();
  if (state.v === 'grid') return keptGrid('all heads');
  if (state.v === 'tokens') return keptTokens();
  return shown && keptMatrix();
}

const svgBlob = svg => new Blob([new XMLSerializer().serializeToString(svg)], { type: 'image/svg+xml' });

function keepSvg() {
  const svg = kept();
  if (svg) save(svgBlob(svg), fileName('svg'));
}

// Saves the SVG as PNG, twice as large.
function keepPng() {
  const svg = kept();
  if (!svg) return;
  const address = URL.createObjectURL(svgBlob(svg));
  const image = new Image();
  image.onload = () => {
    const canvas = el('canvas', { width: 2 * image.width, height: 2 * image.height });
    const context = canvas.getContext('2d');
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    URL.revokeObjectURL(address);
    canvas.toBlob(blob => save(blob, fileName('png')));
  };
  image.src = address;
}

const csvLabel = (p, isSource) => {
  const texts = textsOf(isSource);
  return csvField(texts?.[p] ? p + '|' + texts[p] : String(p));
};
// numpy can read both
const csvWeight = w => w === Infinity ? 'nan' : w === w ? number(w).replace('\u2212', '-') : '';

// Returns what is shown as a table: measures of all heads, the matrix, or sums of tokens.
function csvRows() {
  if (state.v === 'grid')
    return [[run.grouping, 'head', 'type', ...run.measures.map(([name]) => name)],
      ...heads.map((head, h) => [head.group, head.head, typeOf(h).name ?? '', ...run.measures.map(([name]) => head[name] ?? '')])];
  const m = shown, list = [];
  if (state.v === 'tokens') {
    const isFrom = state.dir === 'from';
    tokenWeights(m).forEach((w, i) => list.push([
      isFrom ? csvLabel(i, m.isSource) : csvLabel(queryAt(i)), csvWeight(w)]));
    return [[isFrom ? 'key' : 'query', run.quantity], ...list];
  }
  list.push(['query', ...Array.from({ length: m.cols }, (_, j) => csvLabel(j, m.isSource))]);
  for (let i = 0; i < m.rows; i++)
    list.push([csvLabel(queryAt(i)), ...Array.from(rowOf(m, i), csvWeight)]);
  return list;
}

function keepCsv() {
  if (state.v !== 'grid' && !shown) return;
  const text = csvRows().map(row => row.join()).join('\n') + '\n';
  save(new Blob([text], { type: 'text/csv' }), fileName('csv'));
}

function openDialog(title, ...parts) {
  $('dialog-title').textContent = title;
  $('dialog-body').replaceChildren(...parts);
  $('dialog').showModal();
}

function openKeep() {
  const link = el('input', { type: 'text', readonly: '', id: 'link', 'aria-label': 'Link to this view' });
  link.value = location.href;
  const copy = button('copy', 'Copy the link', () => {
    link.select();
    if (navigator.clipboard) navigator.clipboard.writeText(link.value).catch(() => {});
  });
  openDialog('Save this view', el('p', { class: 'group' }, button('keep-svg', 'SVG', keepSvg),
    button('keep-png', 'PNG', keepPng), button('keep-csv', 'CSV', keepCsv),
    button('keep-print', 'Print', () => { $('dialog').close(); print(); })),
  el('p', { class: 'note' }, 'The link brings this view back, wherever the file is opened.'),
  el('p', {}, link), el('p', {}, copy));
}

const KEYS = [
  ['\u2190 \u2191 \u2192 \u2193', 'move the cell; among all heads, the head'],
  ['Shift + arrows', 'another head'],
  ['Home  End', 'first and last key'],
  ['g  m  t', 'heads, matrix, tokens'],
  ['t', 'in tokens: weights from a token, or to it'],
  ['f', 'leave the first token out, or show it'],
  ['/', 'find a token or a head; Enter: the next one'],
  ['Space  Enter', 'compare the head; open it as a matrix'],
  ['c', 'compared heads: apart, mean, maximum'],
  ['p  Esc', 'pin the token; unpin all'],
  ['\u2212  +  0', 'smaller, larger, fit'],
  ['a', 'matrix as a table'],
  ['w', 'of a comparison: chosen, exact, difference, side by side'],
  ['d', 'dark or light'],
  ['k', 'save this view'],
  ['?', 'these shortcuts'],
];

function openKeys() {
  openDialog('Shortcuts', el('dl', {}, ...KEYS.filter(([key]) => (shownSets()[1] || key !== 'w')).flatMap(([key, text]) =>
    [el('dt', {}, ...key.split('  ').flatMap((k, i) => [i ? ' ' : '', el('kbd', {}, k)])), el('dd', {}, text)])));
}

// --- Keys ---

const next = (list, value) => list[(list.indexOf(value) + 1) % list.length];

function moveCell(down, across) {
  const { rows, cols } = heads[state.h];
  const row = clamp((rowOfQuery.get(state.q) ?? rows - 1) + down, 0, rows - 1);
  const k = state.v === 'tokens' && state.dir === 'from' ? state.k
    : clamp(state.k < 0 ? 0 : state.k + across, 0, cols - 1);
  const q = queryAt(row);
  if (state.v === 'tokens' && state.dir === 'from')
    return set({ q: queryAt(clamp(rowOfQuery.get(state.q) + down + across, 0, rows - 1)) });
  set({ q, k });
  return reveal();
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const actions = {
  g: () => heads.length > 1 && set({ v: 'grid' }),
  m: () => set({ v: 'matrix' }),
  t: () => state.v === 'tokens' ? turn() : set({ v: 'tokens' }),
  f: () => run.hides_first || $('first').parentNode.hidden || set({ first: state.first ? 0 : 1 }),
  c: () => set({ c: next(['', 'mean', 'max'], state.c) }),
  d: () => set({ d: isDark() ? 'light' : 'dark' }),
  a: () => state.v === 'matrix' && set({ a: state.a ? 0 : 1 }),
  w: () => set({ w: next(shownSets(), state.w) }),
  k: openKeep,
  p: () => pin(state.dir === 'from' ? state.q : max(0, state.k), isCross() && state.dir === 'to'),
  '-': () => zoom(-1), '+': () => zoom(1), '0': () => set({ z: 0 }),
  '?': openKeys,
  '/': () => $('find').focus(),
  ' ': () => tick(state.h),
  Enter: () => set({ v: 'matrix' }),
  Escape: () => set({ p: [], k: -1 }),
  Home: () => set({ k: 0 }),
  End: () => set({ k: heads[state.h].cols - 1 }),
};

function onKey(event) {
  const target = event.target, isIn = name => target.closest && target.closest(name);
  if (event.ctrlKey || event.metaKey || event.altKey || $('dialog').open) return;
  if (isIn('select, input, textarea') || (isIn('button') && (event.key === ' ' || event.key === 'Enter'))) return;
  const arrow = ARROWS[event.key];
  hover = null;
  if (arrow) {
    if (event.shiftKey || isIn('#thumbs') || state.v === 'grid') moveHead(...arrow);
    else moveCell(...arrow);
  } else if (Object.hasOwn(actions, event.key)) {
    actions[event.key]();
  } else {
    return;
  }
  event.preventDefault();
}

// --- Start ---

// Heads over a picture (picture.js), if the run had a picture; and whether they are shown.
const { attnPicture } = globalThis;
const lookOver = image => image && attnPicture({ state, run, blockOf, set, draw, inflate, isDark, rampName, rampOf,
  stepper, ticksOf, number, shortText, queryAt, matrixOf, tokenWeights, lookedFrom, say, named, best, sayToken, keptSvg, keptTitle, keptGrid,
  hover: at => { hover = at; draw(); } }, image);
let over;
const isOver = () => over && (state.v === 'grid' || state.v === 'tokens');

// Ids of controls, and the members of `state` that they set.
const CONTROLS = [['head', 'h'], ['combine', 'c'], ['first', 'first'],
  ['which', 'w']];

// Fills the controls that depend on the shown run.
function fillHeads() {
  $('head').replaceChildren(...heads.map((_, h) => el('option', { value: h }, headName(h))));
  const names = isComparison ? [...run.set_names, 'difference', 'side by side'] : ['pattern'];
  $('which').replaceChildren(...shownSets().map((value, i) => el('option', { value }, names[i])));
  $('compared').hidden = !names[1];
  $('app').classList.toggle('alone', heads.length === 1);
}

function listen() {
  const click = (id, action) => on($(id), 'click', action);
  for (const button of $('views').children)
    on(button, 'click', () => set({ v: button.dataset.view }));
  for (const [id, name] of CONTROLS)
    on($(id), 'change', ({ target }) => set({ [name]: target.type === 'checkbox' ? Number(target.checked)
      : name === 'h' ? Number(target.value) : target.value }));
  on($('find'), 'input', event => seek(event.target.value));
  on($('find'), 'keydown', event => {
    if (event.key === 'Enter') { event.preventDefault(); seekNext(); }
    if (event.key === 'Escape') { event.target.value = ''; seek(''); event.target.blur(); }
  });
  for (const [id, by] of [['previous-head', -1], ['next-head', 1]])
    click(id, () => set({ h: clamp(state.h + by, 0, heads.length - 1) }));
  click('tick', () => tick(state.h));
  click('more', () => {
    const isOpen = $('bar').classList.toggle('open');
    $('more').setAttribute('aria-expanded', isOpen);
  });
  click('dark', actions.d);
  click('keep', openKeep);
  click('help', openKeys);
  click('dialog-close', () => $('dialog').close());
  on(document, 'keydown', onKey);
  addEventListener('hashchange', () => { readHash(location.hash); draw(); });
  addEventListener('resize', () => draw());
  on(prefersDark, 'change', () => draw());
  for (const event of ['beforeprint', 'afterprint']) addEventListener(event, () => draw());
}

// --- Another run ---

// Returns the differences of two sets of a head as in its thumbnail: of pooled cells, the one
// farthest from 0.
function poolDifferences({ rows, cols, k }, own, other) {
  const across = ceil(cols / k), all = difference(own, other), pooled = new Float32Array(ceil(rows / k) * across).fill(NaN);
  for (let row = 0, i = 0; row < rows; row++)
    for (let column = 0; column < cols; column++, i++) {
      const at = floor(row / k) * across + floor(column / k);
      if (all[i] === all[i] && !(abs(all[i]) <= abs(pooled[at]))) pooled[at] = all[i];
    }
  return pooled;
}

let nWanted = 0; // number of runs that were requested

// Shows the run MADE instead of the current one, compared with the run OTHER if given. TEXT_OF and
// OTHER_TEXT_OF return their data blocks. The state is kept. The page changes only when everything
// is decoded, and only if no other run was requested in the meantime.
async function show(made, textOf, other, otherTextOf) {
  const number = ++nWanted;
  const names = [state.h, ...state.t].map(h => heads[h].at), { q } = state;
  const isLast = q === usualQuery, wanted = made.heads.filter(h => names.includes(h.at)).slice(0, MAX_KEPT);
  const weights = (run, text) => run && Promise.all(wanted.map(async ({ id, rows, cols }) => weightsOf(await inflate(text(id)), rows * cols, run.bytes)));
  const [own, others, bytes, otherBytes, image] = await Promise.all([weights(made, textOf), weights(other, otherTextOf),
    inflate(textOf('thumbs-data')), other && inflate(otherTextOf('thumbs-data')), made.picture && attnPicture?.load(textOf)]);

  if (number !== nWanted) return;
  if (other) made.sets = ['', '-other'];
  takeRun(made, id => id.endsWith('-other') ? otherTextOf(id.slice(0, -6)) : textOf(id));
  over = lookOver(image);
  for (const cache of [decoded, shapedOnes]) cache.clear();
  wanted.forEach((head, i) => {
    eachNotFinite(head, (row, column) => { own[i][row * head.cols + column] = Infinity; });
    decoded.set([nTaken, 0, heads.indexOf(head)].join(':'), own[i]);
    if (other) decoded.set([nTaken, 1, heads.indexOf(head)].join(':'), others[i]);
  });
  differences = null;
  readThumbs(bytes, otherBytes);
  [hover, shown, thumbsDrawn] = [null, null, ''];
  sought = seekNothing();
  Object.assign(state, { h: byName.get(names[0]) ?? run.start,
    t: names.slice(1).map(name => byName.get(name)).filter(h => h !== undefined),
    q: isLast || !rowOfQuery.has(q) ? usualQuery : q, k: state.k > maxKey ? -1 : state.k,
    p: state.p.filter(p => p <= maxPosition), w: isComparison ? state.w : 'chosen' });
  if (heads.length === 1 && state.v === 'grid') state.v = 'matrix';
  $('stage').dataset.made = '';
  fillHeads();
  makeThumbs();
  draw();
  writeHash();
  await differences;
}

async function start() {
  readThumbs(await inflate(blockOf('thumbs-data')));
  over = lookOver(run.picture && await attnPicture.load(blockOf));
  over?.open();
  fillHeads();
  makeThumbs();
  readHash(location.hash);
  $('static').remove();
  $('app').hidden = false;
  if (run.pooled) $('about').append('; ' + run.pooled);
  listen();
  draw();
}

// Functions for live.js and stage.js.
globalThis.attnViewer = {
  $, inflate, state, set, show, decode, number, openDialog, headName, tokenAt, nameAt, shortText, predictedAt, expectedAt, cell,
  isReady: start(),
  get run() { return run; },
  typeOf, aimsAt,
  get given() { return plain; }, // the run with the rows of the decoder, whichever are shown
  headAt: name => byName.get(name),
  // Shows a head, a query and a key that were chosen elsewhere, and compares two heads if OTHER is given.
  follow({ position, key, other, ...chosen }) {
    const [h, second] = [chosen, other ?? {}].map(head => byName.get(attnPage.atOf(head)));
    if (h !== undefined) turnTo(h);
    set({ ...h === undefined ? {} : { h }, ...second === undefined ? {} : { t: [h, second] },
      ...rowOfQuery.has(position) ? { q: position } : {}, ...key === undefined ? {} : { k: key } });
  },
  look: view => { readHash(view); draw(); writeHash(); },
  cellAt: event => matrices[0]?.frame.contains(event.target) ? cellAt(matrices[0], event) : null,
  boxOf(from, to) { // around two cells and all cells between them, in the frame
    const [map] = matrices, rows = [from.q, to.q].map(q => rowOfQuery.get(q)), keys = [from.k, to.k];
    return { frame: map.frame, left: map.x(min(...keys)), top: map.y(min(...rows)),
      width: map.w * (abs(keys[0] - keys[1]) + 1), height: map.h * (abs(rows[0] - rows[1]) + 1) };
  },
  onDrawn: action => { onDrawn = action; },
  addToHash: parts => { moreOfHash = parts; },
  addKeys: rows => KEYS.push(...rows),
};
})();
