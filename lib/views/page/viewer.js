// viewer.js - the page of --html. It shows `run`, which is in the file, as `state` says, which is
// in the hash of the address. It uses no network, and inserts texts only as text, never as markup.
'use strict';
(() => {
const $ = id => document.getElementById(id);
const { abs, ceil, floor, max, min, round } = Math;
const { el, clamp, prefersDark, isDark, swatch, written, rampBox, opaque, save, csvField } = attnPage;
const { paintCells } = AttnMap;
const on = (node, event, action) => node.addEventListener(event, action);

// Sets style lengths of a node in pixels.
const inPixels = (node, lengths) => {
  for (const [name, length] of Object.entries(lengths)) node.style[name] = length + 'px';
};

// --- The run ---

let run, heads, groups, columns, byName, isComparison;
let nTaken = 0; // number of shown runs: data decoded for an earlier run are discarded
let plain; // the run as given
let isEncoder; // rows of the encoder are shown
let usualQuery, maxKey, maxPosition; // positions; the query that is selected first
const rowOfQuery = new Map();
const MAX_KEPT = 24, MAX_SHAPED = 6;

const queryAt = row => run.queries ? run.queries[row] : row;

// The matrices of a head that have signs, and all matrices that can be shown.
const signedSets = () => isComparison ? ['difference'] : [];
const shownSets = () => isComparison ? ['chosen', 'exact', 'difference'] : ['chosen'];

// Makes MADE the shown run, compared with run.other, if there is one.
function takeRun(made) {
  run = made;
  heads = run.heads;
  groups = [...new Set(heads.map(h => h.group))];
  // of layers with two kinds of attention, to the text and to a source, whose stacks have no names
  run.groups = groups.map(group => [String(group).replace(':', ' '), / .(self|cross).$/.exec(heads.find(head => head.group === group).name)?.[1] ?? '']);
  columns = [...new Set(heads.map(h => h.head))].sort((a, b) => a - b);
  byName = new Map(heads.map((h, i) => [h.at, i]));
  run.set_names ??= ['chosen', 'exact'];
  isComparison = Boolean(run.other);
  plain = { ...run };
  arrange();
  nTaken++;
}

// Sets the texts of rows and columns: those of the source while a head of an encoder is shown.
function arrange() {
  Object.assign(run, plain);
  if (isEncoder) {
    for (const name of ['tokens', 'labels']) run[name] = run['source_' + name];
    Object.assign(run, { source_tokens: null, ids: null, queries: null, predictions: null });
  }
  rowOfQuery.clear();
  const { rows } = heads.find(h => h.is_encoder === isEncoder) ?? heads[0];
  for (let row = 0; row < rows; row++) rowOfQuery.set(queryAt(row), row);
  usualQuery = isEncoder ? rows - 1 : run.query;
  maxKey = max(...heads.map(h => h.cols)) - 1;
  maxPosition = max(maxKey, usualQuery);
}

takeRun(attnPage.runOf(attnPage.given));

// The kinds of heads, which later runs of a live page do not change.
const types = new Map(heads.map(({ at, kind, strength, park, bar }) => [at, { kind, strength, park, bar, ...run.kinds[kind] }]));
const typeOf = h => types.get(heads[h].at) ?? {};

const headName = h => heads[h].name;

const tokensOf = isSource => isSource ? run.source_tokens : run.tokens;

// These return the text of a position: for readers; without blanks around it. '' if there are no tokens.
const labelAt = (position, isSource) => (isSource ? run.source_labels : run.labels)?.[position] ?? tokensOf(isSource)?.[position] ?? '';
const nameAt = (position, isSource) => {
  const name = attnPage.nameOfToken(labelAt(position, isSource)) || (over?.nameOf(position) ?? '');
  return run.picture ? name.replace(/^(t?)(\d+),(\d+)$/, (_, tile, row, column) => `${tile && 'tile '}row ${row}, column ${column}`) : name;
};

// --- Weights ---

// Decodes a block: base64 of raw deflate.
async function inflate(text) {
  const packed = atob(text.trim()), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Returns weights from N levels, whose planes begin at FIRST and SECOND: level 0 is masked (NaN), 1 is 0, the highest is 1.
// Values that are not finite have no level; the page marks them as infinity.
function weightsOf(bytes, n, planes, first = 0, second = n) {
  const weights = new Float32Array(n);
  for (let i = 0; i < n; i++)
    weights[i] = planes === 2 ? weightOf(bytes[first + i] * 256 + bytes[second + i], 65534) : weightOfByte[bytes[first + i]];
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
    weights = weightsOf(await inflate((set === 0 ? head : run.other.heads[h]).block), ceil(rows / step) * ceil(cols / step), run.bytes);
    if (step > 1) weights = spread(weights, head);
    if (set === 0)
      eachNotFinite(head, (row, column) => { weights[row * cols + column] = Infinity; });
    decoded.set(key, weights);
  }
  return weights;
}

// Returns the weights of head H from the position QUERY; undefined if it has no row.
async function rowAt(h, query) {
  const { cols } = heads[h], row = rowOfQuery.get(query), began = nTaken, weights = await decode(h, 0);
  return row === undefined || began !== nTaken ? undefined : weights.subarray(row * cols, (row + 1) * cols);
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

// Returns the matrix of a head; null while it is being decoded, after which the page is drawn again.
function matrixOf(h, set) {
  const key = [nTaken, h, set, state.first].join(':');
  const found = shapedOnes.get(key);
  if (found) return found;
  if (!waited.has(key)) {
    const began = nTaken;
    waited.add(key);
    makeOne(h, set).then(weights => {
      waited.delete(key);
      if (began !== nTaken) return draw();
      const { rows, cols, is_source } = heads[h];
      shapedOnes.set(key, { key, weights, rows, cols, isSource: is_source,
        isDifference: isNaN(set) });
      return draw();
    });
  }
  return null;
}

// --- Thumbnails ---

const AT_ONCE = 16; // blocks: to begin to inflate all at once takes longer than a few frames
let thumbs = null; // by head and set: planes of weights, and their size; null: not read yet

// Returns the cells of a thumbnail, k x k of a head each, from its LEVELS: the mean over its rows of the largest weight of a row.
// Columns before FIRST are left out; else a row with a single key, whose weight is 1, of cells with later rows.
function poolMeans(levels, { rows, cols, step = 1, pooled: k }, planes, first) {
  const down = ceil(rows / step), n = ceil(cols / step), size = down * n, across = ceil(cols / k), cellOf = i => floor(i * step / k), top = planes === 2 ? 65534 : 254;
  const means = new Float32Array(ceil(rows / k) * across), counts = new Uint32Array(means.length), most = new Uint16Array(across), cells = Uint16Array.from({ length: n }, (_, c) => cellOf(c));
  for (let r = 0; r < down; r++) {
    let nSeen = 0;
    most.fill(0);
    for (let c = first, i = r * n + first; c < n; c++, i++) {
      const level = planes === 2 ? levels[i] * 256 + levels[size + i] : levels[i];
      if (level > 0) nSeen++;
      if (level > most[cells[c]]) most[cells[c]] = level;
    }
    if (first === 0 && step === 1 && nSeen === 1 && r + 1 < down && cellOf(r + 1) === cellOf(r)) continue;
    for (let c = 0, at = cellOf(r) * across; c < across; c++, at++)
      if (most[c] > 0) { means[at] += weightOf(most[c], top); counts[at]++; }
  }
  return means.map((sum, i) => sum / counts[i]);
}

// Returns the thumbnails of the run MADE, with those of the run OTHER and the differences, if it is given.
async function readThumbs({ heads: made, bytes: planes }, other) {
  const found = [];
  for (let i = 0; i < made.length; i += AT_ONCE) found.push(...await Promise.all(made.slice(i, i + AT_ONCE).map(async (head, at) => {
    const { block, rows, cols, step = 1, pooled: k } = head, across = ceil(cols / k), n = ceil(rows / step) * ceil(cols / step);
    const all = await Promise.all([block, ...other ? [other.heads[i + at].block] : []].map(inflate)), weights = () => all.map(levels => weightsOf(levels, n, planes));
    const sets = k === 1 ? weights().map(cells => [cells]) : all.map(levels => [0, 1].map(first => poolMeans(levels, head, planes, first)));
    eachNotFinite(head, (row, column) => {
      for (const plane of sets[0]) plane[floor(row / k) * across + floor(column / k)] = Infinity;
    });
    return { rows: ceil(rows / k), cols: across, sets, difference: other && poolDifferences({ rows, cols, k }, ...weights()) };
  })));
  return found;
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
const leftOut = run.hidden ? 'parks left out' : 'first token left out';

// Returns the kind of a cell: a value, or one of three kinds without a value.
function kindOf(m, row, column) {
  const w = m.weights[row * m.cols + column];
  if (isFinite(w)) return 'value';
  if (w === Infinity) return 'not_finite';
  return isHidden(m, column) && !m.isPooled ? 'hidden' : 'masked';
}

const rampOf = isDifference => ramps[!isDifference ? rampName() : isDark() ? 'diverging-dark' : 'diverging'];

// Returns the numbers of the first and the last color.
function rangeOf(m) {
  const signed = Boolean(m.isDifference);
  if (run.span === 'unit') return [signed ? -1 : 0, 1];
  m.largest ??= largestOf(m.weights);
  const size = m.largest || 1;
  return [signed ? -size : 0, size];
}

function largestOf(cells) {
  let most = 0;
  for (const w of cells) if (isFinite(w)) most = max(most, abs(w));
  return most;
}

const stepper = range => attnPage.stepper('sqrt', range);

const labelOf = (position, isSource) => ({ position, text: nameAt(position, isSource), isSought: isSought(position, isSource) });

// Returns a matrix as the cells of a map.
const cellsOf = m => ({ key: [m.key, rampName(), isDark()].join(),
  rows: { n: m.rows, title: 'query: attends', label: r => labelOf(queryAt(r), false) },
  columns: { n: m.cols, title: 'key: attended to', label: c => labelOf(c, m.isSource) },
  ramp: rampOf(m.isDifference), nothing: Object.fromEntries(Object.keys(run.nothing).map(kind => [kind, nothingOf(kind)])),
  value: (r, c) => m.weights[r * m.cols + c], step: () => stepper(rangeOf(m)), kind: (r, c) => kindOf(m, r, c),
  text: (r, c) => {
    const w = m.weights[r * m.cols + c];
    return isFinite(w) ? written(run.numbers.cell, w) : null;
  } });

// --- Numbers ---

const number = w => written(run.numbers.weight, w);

// --- State ---

const VIEWS = ['grid', 'matrix', ...run.picture ? ['tokens'] : []]; // tokens: over the picture
const defaults = {
  v: VIEWS.includes(run.figure) ? run.figure : heads.length > 1 ? 'grid' : 'matrix', // the view
  h: run.start, // the head
  q: usualQuery, k: -1, // the cell, by positions; -1: none
  first: run.hides_first ? 0 : 1, // the first key is shown
  d: run.theme || '', // dark, light, or '' for the system's theme
  dir: 'from', // tokens: weights from a query, or to a key
  w: 'chosen', // comparison: which matrices are shown
  on: '', // letters of the switches of picture.js that are on
};
const state = structuredClone(defaults);
let hover = null; // under the pointer: {q, k} by positions, or {h}
let elsewhere; // query and search of the other stack

// Makes the rows those of head H's stack, if there are two stacks.
function turnTo(h) {
  if (heads[h].is_encoder === isEncoder) return;
  const { q } = state, there = elsewhere;
  elsewhere = { q, sought };
  isEncoder = heads[h].is_encoder;
  arrange();
  ({ q: state.q, sought } = there ?? { q: usualQuery, sought: seekNothing() });
  $('stage').dataset.made = '';
}

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
  d: readWord(['dark', 'light']),
  dir: readWord(['from', 'to']),
  w: text => readWord(shownSets())(text),
  on: text => /^[nst]{1,3}$/.test(text) ? text : undefined,
};

function readHash(hash) {
  const parts = hash.replace(/^#/, '').split('&');
  Object.assign(state, structuredClone(defaults));
  if (!heads[state.h]) state.h = run.start; // another model has fewer
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
    const text = name === 'h' ? heads[value].at : String(value);
    parts.push(name + '=' + text);
  }
  const hash = '#' + [...parts, ...moreOfHash()].join('&');
  if (hash === location.hash || location.protocol === 'about:') return; // within another page there is no address
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

// Returns the head that is shown.
const shownHead = () => hover?.h ?? state.h;

const setOf = which => which === 'exact' ? 1 : signedSets().includes(which) ? which : 0;

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
  const text = nameAt(position, isSource);
  const isLast = run.picture?.tiles && role === 'query' && position === run.tokens.length - 1;
  return [run.picture ? isLast ? 'from the last word' : role : role + ' ' + position, ...(text ? [' ', el('bdi', {}, text)] : [])];
};

const say = (...parts) => $('readout').replaceChildren(...parts);

const sayHead = h => say(el('b', {}, headName(h)), ': ' + [[typeOf(h).name], ...run.measures.map(([name, words, unit]) => [words, written(run.numbers.measure, heads[h][name]), unit])]
  .map(parts => parts.filter(Boolean).join(' ')).filter(Boolean).join(', '));

function sayCell(m) {
  const { q, k } = cell();
  const row = rowOfQuery.get(q);
  if (row === undefined || k < 0 || k >= m.cols) {
    say(el('b', {}, headName(shownHead())), ...(row === undefined ? [] : [': ', ...named('query', q)]));
    return;
  }
  const w = m.weights[row * m.cols + k];
  const rank = isFinite(w) ? ranked(m, row).indexOf(k) + 1 : 0;
  const value = kindOf(m, row, k) === 'hidden' ? 'left out' : number(w);
  say(...named('query', q), ' \u2192 ', ...named('key', k, m.isSource), ' ',
    el('b', { id: 'value' }, value), rank ? ', rank ' + rank + ' in the row' : '');
  if (matrix) matrix.active.textContent = $('readout').textContent;
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
    on(node, 'click', () => { hover = null; set({ h }); });
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
  const size = thumbSize(), which = setOf(state.w);
  if (thumbs === null) {
    const of = nTaken;
    thumbs = [];
    readThumbs(run, run.other).then(found => { if (of === nTaken) { thumbs = found; draw(); } });
  }
  if (thumbs.length === 0) return; // they are read
  const drawn = [size, which, rampName(), isDark(), attnPage.isPrinting, state.first, over?.key()].join();
  if (drawn !== thumbsDrawn) {
    for (let h = 0; h < heads.length; h++) drawThumb(h, size, which);
    arrangeThumbs(size);
    thumbsDrawn = drawn;
  }
  thumbNodes.forEach((node, h) => node.setAttribute('aria-selected', h === state.h));
  place.setAttribute('aria-activedescendant', 'thumb-' + state.h);
  const k = heads[0].pooled;
  $('heads-note').textContent = k > 1 && !over ? `a cell is the ${isNaN(which) ? 'largest' : 'mean row maximum'} of ${k} x ${k}` : '';
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

// Shows the matrix M in cells that are as large as they fit.
function showMatrix(map, m, isSmall) {
  const width = roomIn(map.node.parentNode), height = attnPage.isPrinting ? 660 : isSmall ? min(width, innerHeight * 0.7) : innerHeight * 0.74;
  let px = 44;
  Object.assign(map, { m, given: cellsOf(m) });
  while (px > 1 && (map.measure(px, px).width > width - 2 || map.height > height)) px--;
  inPixels(map.node, { maxHeight: max(height, 240) });
  map.node.setAttribute('aria-label', `Weights of ${headName(shownHead())}: queries down, keys across. Arrow keys move the cell.`);
  map.show(map.given, width, px, px);
}

const cellAt = (map, event) => {
  const at = map.at(event);
  return at && { q: queryAt(at[0]), k: at[1] };
};

let matrix = null; // the map of the shown matrix

function makeMatrix() {
  const map = matrix = new AttnMap('matrix');
  map.active.id = 'active-cell';
  map.node.setAttribute('aria-activedescendant', map.active.id);
  $('stage').replaceChildren(el('div', {}, map.node));
  on(map.frame, 'pointermove', event => { hover = cellAt(map, event); drawCursor(); });
  on(map.frame, 'pointerleave', () => { hover = null; drawCursor(); });
  on(map.frame, 'click', event => {
    const at = cellAt(map, event);
    if (at) { hover = null; set(at); }
  });
}

// Marks the row, the column and the cell under the pointer, or else the selected ones.
function markCell() {
  const { q, k } = cell(), r = rowOfQuery.get(q), hasKey = matrix && k >= 0 && k < matrix.m.cols;
  matrix?.mark([...r === undefined ? [] : [['row', r]], ...hasKey ? [['column', null, k]] : [], ...hasKey && r !== undefined ? [['cell', r, k]] : []]);
}

// Scrolls so that the selected cell is visible.
const reveal = () => matrix?.reveal(rowOfQuery.get(state.q), max(0, state.k));

function drawMatrix(h) {
  const found = matrixOf(h, setOf(state.w));
  if (found === null) return null;
  if (!matrix) makeMatrix();
  showMatrix(matrix, found, state.v === 'grid');
  markCell();
  return found;
}

// --- Over a picture ---

// Returns the position whose weights are shown: the one under the pointer, or that of the selected cell.
const lookedFrom = () => hover?.token ?? (state.dir === 'from' ? state.q : max(0, state.k));

// Returns the weights from the chosen position, by key, or those to it, by query.
function tokenWeights(m) {
  const isFrom = state.dir === 'from', p = lookedFrom(), line = isFrom ? rowOfQuery.get(p) : p;
  const weights = new Float32Array(isFrom ? m.cols : m.rows).fill(NaN);
  if (line === undefined || line >= (isFrom ? m.rows : m.cols)) return weights;
  return weights.map((_, i) => isFrom ? m.weights[line * m.cols + i] : m.weights[i * m.cols + line]);
}

function sayToken(m, weights) {
  const isFrom = state.dir === 'from', p = lookedFrom(), who = named(isFrom ? 'query' : 'key', p, !isFrom && m.isSource);
  if (isFrom && !rowOfQuery.has(p)) return say(...who, ' is not among the queries of this page');
  return say(...who, isFrom ? ' \u2192' : ' \u2190',
    ...best(weights, i => isFrom ? named('', i, m.isSource) : named('', queryAt(i))));
}

// --- Legend and details ---

// Returns the ticks [place, text] of the scale for colors up to SIZE, made from the library's
// ticks [place, number, text].
function ticksOf(isSigned, size) {
  const { signed, ticks } = run.scale;
  return (isSigned ? signed : ticks).map(([place, x, text]) => [place, size === 1 ? text : written(run.numbers.tick, x * size)]);
}

function drawRamp(m) {
  if (isOver()) return over.ramp();
  return rampBox('ramp', opaque(rampOf(m.isDifference)), ticksOf(m.isDifference, rangeOf(m)[1]));
}

function drawLegend(m) {
  const spans = { matrix: ', to the largest of this matrix', row: ', to the largest of each row' };
  const kind = (text, ...before) => el('span', { class: 'kind' }, ...before, text);
  if (!m) return $('legend').replaceChildren();
  const parts = [drawRamp(m), kind((!m.isDifference ? 'weight: ' : run.set_names.join(' minus ') + ': signed ') + 'square root' + (over?.span() ?? spans[run.span] ?? ''))];
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
      el('td', {}, el('bdi', {}, nameAt(key, m.isSource))),
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
    el('td', { class: 'number' }, written(run.numbers.probability, p.prob))));
  return rows.length ? [el('table', { id: 'predictions' }, expectedAt(q), el('tbody', {}, ...rows))] : [];
}

function drawDetail(m) {
  const at = cell();
  const q = state.v === 'tokens' && state.dir === 'from' ? lookedFrom() : at.q < 0 ? state.q : at.q;
  if (!m || !rowOfQuery.has(q)) return $('detail').replaceChildren();
  return $('detail').replaceChildren(strongestTable(m, q), ...predictionTable(q));
}

// Places the tables below the heads or the matrix, whichever ends higher.
function placeDetail() {
  const ends = node => node.getBoundingClientRect().bottom, detail = $('detail'), all = $('thumbs');
  const isBelow = state.v === 'grid' && innerWidth > 900 && !attnPage.isPrinting && all.offsetParent && ends(all) < ends($('legend'));
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
    (tokensOf(isSource) || []).forEach((_, p) => {
      if (labelAt(p, isSource).toLowerCase().includes(lower)) list.push({ p, isSource });
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
}

// --- Drawing ---

let shown = null; // the matrix on the page

function button(id, text, action) {
  const node = el('button', { id }, text);
  on(node, 'click', action);
  return node;
}

const tools = () => state.v === 'tokens' ? [button('turn', '', turn)] : []; // picture.js names it

const turn = () => set({ dir: state.dir === 'from' ? 'to' : 'from' });

// Draws the part of the page for the selected head.
// Returns true if the stage (stage.js) is shown instead: it calls set when it goes away.
const isBehind = () => document.documentElement.classList.contains('on-stage');

function drawOne() {
  const h = shownHead(), isPicture = isOver();
  turnTo(h);
  if (isBehind() || isLooking()) {
    document.documentElement.dataset.ready = state.v;
    return;
  }
  if (isPicture) matrix = null;
  $('name').textContent = headName(h);
  shown = isPicture ? over.draw(h) : drawMatrix(h);
  if (!shown && waited.size > 0) return;
  if (!isPicture) $('stage').dataset.made = 'matrix';
  if (shown && !isPicture) {
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
  for (const button of $('views').children)
    button.setAttribute('aria-pressed', button.dataset.view === state.v);
  for (const [id, name] of CONTROLS) $(id)[$(id).type === 'checkbox' ? 'checked' : 'value'] = state[name];
  $('first').disabled = run.hides_first;
  $('dark').setAttribute('aria-pressed', isDark());
  $('view-tools').replaceChildren(...tools());
  drawThumbs();
  drawOne();
  document.documentElement.dataset.view = state.v;
  $('answer')?.classList.toggle('is-dark', isDark());
  look?.mark();
  if (isLooking()) $('look-card').replaceChildren(look.cardOf([button('look-matrix', 'Matrix', () => set({ v: 'matrix' }))], predictedAt(run, look.asks().at).slice(0, 5)));
  onDrawn();
}

// --- Keep ---

const idOf = ({ stack, layer, head }) => (stack ? stack + '-' : '') + 'L' + layer + 'H' + head;
const fileName = ending => (run.model || 'attention') + '-' + (state.v === 'grid' ? 'heads'
  : idOf(heads[state.h]) + '-' + state.v) + '.' + ending;

const csvLabel = (p, isSource) => {
  const text = labelAt(p, isSource);
  return csvField(text ? p + '|' + text : String(p));
};
// numpy can read both
const csvWeight = w => w === Infinity ? 'nan' : w === w ? number(w).replace('\u2212', '-') : '';

// Returns what is shown as a table: measures of all heads, the matrix, or weights of a position of a picture.
function csvRows() {
  if (state.v === 'grid')
    return [[run.grouping, 'head', 'type', ...run.measures.map(([name]) => name)],
      ...heads.map((head, h) => [head.group, head.head, typeOf(h).name ?? '', ...run.measures.map(([name]) => head[name] ?? '')])];
  const m = shown, list = [];
  if (state.v === 'tokens') {
    const isFrom = state.dir === 'from';
    tokenWeights(m).forEach((w, i) => list.push([csvLabel(isFrom ? i : queryAt(i), isFrom && m.isSource), csvWeight(w)]));
    return [[isFrom ? 'key' : 'query', 'weight'], ...list];
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

let moreToKeep = []; // buttons of live.js

function openKeep() {
  const link = el('input', { type: 'text', readonly: '', id: 'link', 'aria-label': 'Link to this view' });
  link.value = location.href;
  const copy = button('copy', 'Copy the link', () => {
    link.select();
    if (navigator.clipboard) navigator.clipboard.writeText(link.value).catch(() => {});
  });
  const isOfModel = run.grouping === 'layer', place = state.v === 'grid' || !isOfModel ? '' : ' --heads ' + heads[state.h].at;
  openDialog('Save this view', el('p', { class: 'group' }, button('keep-csv', 'CSV', keepCsv), ...moreToKeep,
    button('keep-print', 'Print', () => { $('dialog').close(); print(); })),
  el('p', { class: 'note' }, 'As a picture: ', el('code', {}, `attn-cli ${isOfModel ? 'run' : 'attend'}${place} --svg FILE`)),
  el('p', { class: 'note' }, 'The link brings this view back, wherever the file is opened.'),
  el('p', {}, link), el('p', {}, copy));
}

const KEYS = [
  ['\u2190 \u2191 \u2192 \u2193', 'move the cell; among all heads, the head'],
  ['Shift + arrows', 'another head'],
  ['Home  End', 'first and last key'],
  ['g  m', 'heads, matrix'],
  ...run.picture ? [['t', 'over the picture: weights from a position, or to it']] : [],
  ['f', 'leave the first token out, or show it'],
  ['/', 'find a token or a head; Enter: the next one'],
  ['Enter  Esc', 'open the head as a matrix; no cell'],
  ['w', 'of a comparison: chosen, exact, difference'],
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
  const k = clamp(state.k < 0 ? 0 : state.k + across, 0, cols - 1);
  const q = queryAt(row);
  set({ q, k });
  reveal();
}

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const actions = {
  g: () => heads.length > 1 && set({ v: 'grid' }),
  m: () => set({ v: 'matrix' }),
  t: () => over && (state.v === 'tokens' ? turn() : set({ v: 'tokens' })),
  f: () => run.hides_first || $('first').parentNode.hidden || set({ first: state.first ? 0 : 1 }),
  d: () => set({ d: isDark() ? 'light' : 'dark' }),
  w: () => set({ w: next(shownSets(), state.w) }),
  k: openKeep,
  '?': openKeys,
  '/': () => $('find').focus(),
  Enter: () => set({ v: 'matrix' }),
  Escape: () => set({ k: -1 }),
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
const { attnPicture, attnLook } = globalThis;
const look = attnLook?.({ $, el, on, inflate, set, state, typeOf: h => h === undefined ? undefined : typeOf(h), rowAt, headAt: name => byName.get(name), nameOf: h => heads[h].at, run: () => run });
// Whether the page shows the parts of an answer (look.js), in place of the workbench.
const isLooking = () => Boolean(look?.has()) && !attnPage.given.live && state.v === 'grid';
const lookOver = image => image && attnPicture({ state, run, set, draw, inflate, isDark, rampName, rampOf,
  stepper, ticksOf, number, nameAt, queryAt, matrixOf, tokenWeights, lookedFrom, say, named, best, sayToken,
  hover: at => { hover = at; draw(); } }, image);
let over;
const isOver = () => over && (state.v === 'grid' || state.v === 'tokens');

// Ids of controls, and the members of `state` that they set.
const CONTROLS = [['head', 'h'], ['first', 'first'], ['which', 'w']];

// Fills the controls that depend on the shown run.
function fillHeads() {
  $('head').replaceChildren(...heads.map((_, h) => el('option', { value: h }, headName(h))));
  const names = isComparison ? [...run.set_names, 'difference'] : ['pattern'];
  $('which').replaceChildren(...shownSets().map((value, i) => el('option', { value }, names[i])));
  $('compared').hidden = !names[1];
  $('app').classList.toggle('alone', heads.length === 1);
  $('view-tokens').hidden = !run.picture;
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

// Shows the run MADE instead of the current one, compared with the run OTHER if given. The state is
// kept. The page changes only when everything is decoded, and only if no other run was requested in
// the meantime.
async function show(made, other) {
  const number = ++nWanted;
  const name = heads[state.h].at, { q } = state;
  const isLast = q === usualQuery, wanted = made.heads.filter(h => h.at === name);
  const weights = run => run && Promise.all(run.heads.filter(h => h.at === name).map(async ({ block, rows, cols }) => weightsOf(await inflate(block), rows * cols, run.bytes)));
  const isSeen = heads.length > 1 && $('thumbs').offsetParent !== null;
  const [own, others, small, image] = await Promise.all([weights(made), weights(other), isSeen ? readThumbs(made, other) : null, made.picture && attnPicture?.load(made)]);

  if (number !== nWanted) return;
  if (other) made.other = other;
  takeRun(made);
  over = lookOver(image);
  for (const cache of [decoded, shapedOnes]) cache.clear();
  wanted.forEach((head, i) => {
    eachNotFinite(head, (row, column) => { own[i][row * head.cols + column] = Infinity; });
    decoded.set([nTaken, 0, heads.indexOf(head)].join(':'), own[i]);
    if (other) decoded.set([nTaken, 1, heads.indexOf(head)].join(':'), others[i]);
  });
  thumbs = small;
  [hover, shown, thumbsDrawn] = [null, null, ''];
  sought = seekNothing();
  Object.assign(state, { h: byName.get(name) ?? run.start,
    q: isLast || !rowOfQuery.has(q) ? usualQuery : q, k: state.k > maxKey ? -1 : state.k,
    w: isComparison ? state.w : 'chosen' });
  if (heads.length === 1 && state.v === 'grid') state.v = 'matrix';
  $('stage').dataset.made = '';
  fillHeads();
  makeThumbs();
  draw();
  writeHash();
}

// Returns the line below the title: what the page shows, its sizes, the text, and the options that affect the run.
function aboutRun() {
  const { model, title, text, source_tokens: source, picture, options } = run, [{ name, rows, cols }] = heads, isOfModel = run.grouping === 'layer';
  const count = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`, names = Object.entries(options);
  const isNamed = Boolean(text) && (title === text || title.endsWith('\u2026') && text.startsWith(title.slice(0, -1))); // by its text
  const front = picture?.n_front > 1 ? '[CLS], ' + count(picture.n_front - 1, 'register') : '[CLS]';
  const sizes = !isOfModel ? count(rows, 'query', 'queries') + ', ' + count(cols, 'key') : !picture || picture.tiles
    ? count(run.ids?.length ?? rows, 'token') : (picture.n_front ? front + ' and ' : '') + `${picture.n_row} x ${picture.n_col} patches`;
  return [(isNamed && model ? model + ': ' : '') + (heads.length === 1 ? name + ': ' : '') + (isNamed ? 'pattern; ' : '') + count(heads.length, 'head') + ', ' + sizes,
    ...isOfModel && text && !(isNamed && title === text) ? [': ', attnPage.shortly(text)] : [],
    ...source ? ['; source: ', attnPage.shortly(source.join(source.slice(1).some(token => token.startsWith(' ')) ? '' : ' '))] : [],
    ...names.length > 0 ? [' ', el('span', { class: 'options' }, '(' + names.map(option => option.join(' ')).join(', ') + ')')] : []];
}

// Opens the page with the parts of the answer: the question, what they do, the figure and the card of a head.
async function openLook() {
  const { svg, title, list } = look.show(await look.stored), place = $('heads'), heading = document.querySelector('h1 bdi');
  const tab = (text, isAll) => button('look-' + (isAll ? 'all' : 'eight'), text, () => {
    place.classList.toggle('eight', !isAll);
    for (const node of $('answer-tabs').children) node.setAttribute('aria-pressed', String((node.id === 'look-all') === isAll));
    draw();
  });
  document.documentElement.classList.add('looks');
  $('top').prepend(look.lineOf(look.asks()));
  if (heading) heading.textContent = title;
  place.prepend(el('div', { id: 'answer-tabs', class: 'tabs', role: 'group', 'aria-label': 'Heads' }, tab('8 heads', false), tab('all ' + heads.length, true)), el('div', { id: 'answer' }, svg, list));
  place.append(el('p', { id: 'command' }, look.commandOf(run.model, run.text ?? '')));
  place.classList.add('eight');
  $('look-eight').setAttribute('aria-pressed', 'true');
  $('panes').append(el('div', { id: 'look-card' }));
  $('view-grid').textContent = 'Look';
}

async function start() {
  if (!attnPage.given.live && look) await openLook();
  else if (!attnPage.given.live && heads.length > 1) thumbs = await readThumbs(run);
  over = lookOver(run.picture && await attnPicture.load(run));
  over?.open();
  fillHeads();
  makeThumbs();
  readHash(location.hash);
  $('static').remove();
  $('app').hidden = false;
  if (!$('about').firstChild) $('about').replaceChildren(...aboutRun()); // it is not that of a table
  if (run.pooled) $('about').append('; ' + run.pooled);
  listen();
  draw();
}

// Functions for live.js and stage.js.
globalThis.attnViewer = {
  $, inflate, state, set, show, decode, number, openDialog, headName, nameAt, labelAt, predictedAt, expectedAt, cell,
  isReady: start(),
  get run() { return run; },
  typeOf, queryAt, weightsOf, rowAt, lookAt: look, thumbOf: h => thumbOf(h, setOf(state.w)),
  get given() { return plain; }, // the run with the rows of the decoder, whichever are shown
  headAt: name => byName.get(name),
  // Shows a head, a query and a key that were chosen elsewhere.
  follow({ position, key, ...chosen }) {
    const h = byName.get(attnPage.atOf(chosen));
    if (h !== undefined) turnTo(h);
    set({ ...h === undefined ? {} : { h },
      ...rowOfQuery.has(position) ? { q: position } : {}, ...key === undefined ? {} : { k: key } });
  },
  look: view => { readHash(view); draw(); writeHash(); },
  onDrawn: action => { onDrawn = action; },
  addToHash: parts => { moreOfHash = parts; },
  addKeys: rows => KEYS.push(...rows),
  addToKeep: buttons => { moreToKeep = buttons; },
};
})();
