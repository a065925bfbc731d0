// picture.js - draws heads over the picture that a model read, on a page with a picture. The patch
// under the pointer is the query, and the maps of all heads follow it. Positions before the
// patches, [CLS] and registers, are buttons next to the picture. It is a part of the viewer.
'use strict';
globalThis.attnPicture = (viewer, image) => {
const { state, run } = viewer, { el, svgEl, svgText, rgbOf, tint, rampBox } = attnPage;
const $ = id => document.getElementById(id);
const { n_front: nFront, n_row: nRow, n_col: nCol, width, height } = run.picture;
const MOST_BYTES = 1 << 27; // maximum bytes of weights that are kept for all heads together
const { heads } = run;
// smallest end of the color range: ten times an even weight
const LEAST_END = Math.min(1, 10 / (nFront + nRow * nCol));
const nCell = nRow * nCol, canFollow = run.bytes * run.sets.length * heads.reduce((n, h) => n + h.rows * h.cols, 0) <= MOST_BYTES;

const nothingOf = kind => run.nothing[kind][viewer.isDark() ? 'dark' : 'light'][0];
const rowOfQuery = new Map(Array.from({ length: heads[0].rows }, (_, row) => [viewer.queryAt(row), row]));
const isShown = () => state.v === 'grid' || state.v === 'tokens';

// --- The picture --------------------------------------------------------------------------------

const grounds = {};

// The darkest and the lightest grey of the picture in grey: pale in light mode, dim in dark mode.
const greys = () => viewer.isDark() ? [8, 130] : [120, 255];

function ground() {
  const [from, to] = greys();
  if (grounds[from]) return grounds[from];
  const canvas = el('canvas', { width, height }), context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, width, height), { data } = pixels;
  for (let i = 0; i < data.length; i += 4) {
    const grey = 0.299 * data[i] + 0.587 * data[i + 1] + 0.114 * data[i + 2];
    data[i] = data[i + 1] = data[i + 2] = from + (to - from) * grey / 255;
  }
  context.putImageData(pixels, 0, 0);
  return grounds[from] = canvas;
}

// The same in other sizes, of which the last few are kept.
const sized = new Map();
function groundOf(w, h) {
  const key = [greys()[0], w, h].join();
  if (!sized.has(key)) {
    const canvas = el('canvas', { width: w, height: h }), context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(ground(), 0, 0, w, h);
    sized.set(key, canvas);
    if (sized.size > 8) sized.delete(sized.keys().next().value);
  }
  return sized.get(key);
}

// --- Colors ------------------------------------------------------------------------------------

const veilsOf = new Map();

// Returns for each step of a ramp its color and how much of the picture it hides, as in figures: a
// weight of 0 hides nothing, and a ramp that begins with white is used as it is.
function veils(isSigned) {
  const key = [viewer.rampName(), viewer.isDark(), isSigned].join();
  if (veilsOf.has(key)) return veilsOf.get(key);
  const ramp = viewer.rampOf(isSigned), made = new Uint8ClampedArray(1024);
  const beginsWhite = !isSigned && ramp[0] === 255 && ramp[1] === 255 && ramp[2] === 255;
  for (let i = 0; i < 256; i++) {
    const share = isSigned ? Math.abs(2 * i / 255 - 1) : i / 255;
    const at = 3 * (isSigned || beginsWhite ? i : 96 + Math.floor(i * 159 / 255));
    const least = Math.min(ramp[at], ramp[at + 1], ramp[at + 2]);
    for (let c = 0; c < 3; c++)
      made[4 * i + c] = !beginsWhite ? ramp[at + c]
        : least === 255 ? 255 : (ramp[at + c] - least) * 255 / (255 - least);
    made[4 * i + 3] = beginsWhite ? 255 - least : 255 * 0.95 * share ** 0.7;
  }
  veilsOf.set(key, made);
  return made;
}

const kindOf = w => w === Infinity ? 'not_finite' : 'masked';

// Returns the color of a weight over a picture of this grey, as "#rrggbb".
function colorOn(grey, w, stepOf, isSigned) {
  if (!isFinite(w)) return nothingOf(kindOf(w));
  const veil = veils(isSigned), at = 4 * stepOf(w), share = veil[at + 3] / 255;
  return '#' + [0, 1, 2].map(c => Math.round(veil[at + c] * share + grey * (1 - share))
    .toString(16).padStart(2, '0')).join('');
}

const cells = el('canvas', { width: nCol, height: nRow }), cellContext = cells.getContext('2d');
const cellImage = cellContext.createImageData(nCol, nRow);

// Paints the picture, and WEIGHTS, indexed by position, over it.
function paintMap(context, w, h, weights, stepOf, isSigned) {
  const veil = veils(isSigned), { data } = cellImage;
  for (let i = 0; i < nCell; i++) {
    const weight = weights[nFront + i];
    if (isFinite(weight)) {
      const at = 4 * stepOf(weight);
      data[4 * i] = veil[at];
      data[4 * i + 1] = veil[at + 1];
      data[4 * i + 2] = veil[at + 2];
      data[4 * i + 3] = veil[at + 3];
    } else {
      data.set([...rgbOf(nothingOf(kindOf(weight))), 150], 4 * i);
    }
  }
  cellContext.putImageData(cellImage, 0, 0);
  context.drawImage(groundOf(w, h), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, 0, 0, w, h);
}

// Paints a frame around patch P.
function paintMark(context, w, h, p, isLarge) {
  if (p < nFront || p >= nFront + nCell) return;
  const i = p - nFront, side = [w / nCol, h / nRow];
  for (const [color, line] of isLarge ? [['#000000', 4], ['#ff7a1a', 2]] : [['#ff7a1a', 1]]) {
    context.strokeStyle = color;
    context.lineWidth = line;
    context.strokeRect(i % nCol * side[0], Math.floor(i / nCol) * side[1], ...side);
  }
}

// --- Weights ------------------------------------------------------------------------------------

const levels = run.sets.map(() => []); // by set and head, when all are read
let isFollowing = false;

async function readLevels() {
  await Promise.all(run.sets.map((name, set) => Promise.all(heads.map(async (head, h) => {
    levels[set][h] = await viewer.inflate(viewer.blockOf(head.id + name));
  }))));
  isFollowing = true;
}

const top = run.bytes === 2 ? 65534 : 254, weightOf = [];
for (let level = 0; run.bytes === 1 && level < 256; level++)
  weightOf[level] = level === 0 ? NaN : ((level - 1) / top) ** 2;

function weightAt(bytes, i, n) {
  if (run.bytes === 1) return weightOf[bytes[i]];
  const level = bytes[i] * 256 + bytes[n + i];
  return level === 0 ? NaN : ((level - 1) / top) ** 2;
}

// Returns the weights of head H from the chosen queries to each position, or from each position to
// the chosen keys.
function lineOf(h, set) {
  if (set === 'difference') {
    const [own, other] = [lineOf(h, 0), lineOf(h, 1)];
    return own.map((w, i) => w - other[i]);
  }
  const { rows, cols } = heads[h], bytes = levels[set][h], n = rows * cols;
  const isFrom = state.dir === 'from', out = new Float32Array(nFront + nCell).fill(NaN);
  const add = (p, row, column) => {
    if (column === 0 && !state.first) return;
    const w = weightAt(bytes, row * cols + column, n);
    if (w !== w) return;
    out[p] = (out[p] === out[p] ? out[p] : 0) + w;
  };
  for (const from of viewer.lookedFrom()) {
    const row = rowOfQuery.get(from);
    if (isFrom && row !== undefined) for (let j = 0; j < cols; j++) add(j, row, j);
    if (!isFrom && from < cols) for (let i = 0; i < rows; i++) add(viewer.queryAt(i), i, from);
  }
  return out;
}

const largestOf = weights => weights.subarray(nFront).reduce((most, w) =>
  isFinite(w) ? Math.max(most, Math.abs(w)) : most, 0);

// the weights of all heads for the current queries or keys
let lines = { key: '', of: [], largest: 0 };

function linesOf(set) {
  const key = [set, state.dir, state.first, viewer.lookedFrom()].join();
  if (lines.key === key) return lines;
  const of = heads.map((_, h) => lineOf(h, set));
  lines = { key, of, largest: Math.max(...of.map(largestOf)) };
  return lines;
}

const setOf = which => which === 'exact' ? 1 : which === 'difference' ? 'difference' : 0;

// Returns the largest weight on a patch over all heads; of this map until all heads are read.
const largestNow = (weights, set) => isFollowing ? linesOf(set).largest : largestOf(weights);

// Returns the numbers of the first and the last color of a map.
function rangeOf(weights, set) {
  const isSigned = set === 'difference';
  if (run.span === 'fixed') return [run.low, run.high];
  const largest = run.span === 'unit' ? 1 : run.span === 'patches' ? Math.max(largestNow(weights, set), LEAST_END)
    : largestOf(weights) || 1;
  return [isSigned ? -largest : 0, largest];
}

// --- All heads ----------------------------------------------------------------------------------

function drawThumb(h, size, canvas) {
  if (!canFollow) return false;
  const set = state.w === 'both' ? 'difference' : setOf(state.w);
  const ratio = devicePixelRatio || 1, longest = Math.max(width, height);
  const w = Math.max(3, Math.round(size * width / longest)), tall = Math.max(3, Math.round(size * height / longest));
  const context = canvas.getContext('2d'), weights = isFollowing ? linesOf(set).of[h] : new Float32Array(nFront + nCell);
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(tall * ratio);
  canvas.style.width = w + 'px';
  canvas.style.height = tall + 'px';
  paintMap(context, canvas.width, canvas.height, weights, viewer.stepper(rangeOf(weights, set)), set === 'difference');
  if (size >= 40) for (const p of viewer.lookedFrom()) paintMark(context, canvas.width, canvas.height, p, false);
  return true;
}

// Identifies what the maps of all heads depend on, in addition to what matrices depend on.
const key = () => [isFollowing, state.dir, viewer.lookedFrom()].join();

// --- One head -----------------------------------------------------------------------------------

let canvas, place, active, chips = [], painted = null;

let pointed = null; // the patch under the pointer

const point = p => {
  pointed = p;
  viewer.hover(p === null ? null : state.dir === 'from' ? { token: p, q: p, k: -1 } : { token: p, q: state.q, k: p });
};
const choose = p => {
  point(null);
  viewer.set(state.dir === 'from' ? rowOfQuery.get(p) === undefined ? {} : { q: p, p: [] } : { k: p, p: [] });
};
const pinOne = p => {
  point(null);
  viewer.set({ p: state.p.includes(p) ? state.p.filter(x => x !== p) : [...state.p, p] });
};

function patchAt(event) {
  const box = canvas.getBoundingClientRect();
  const c = Math.floor((event.clientX - box.left) / box.width * nCol), r = Math.floor((event.clientY - box.top) / box.height * nRow);
  return c < 0 || r < 0 || c >= nCol || r >= nRow ? null : nFront + r * nCol + c;
}

function make() {
  canvas = el('canvas', { 'aria-hidden': 'true' });
  active = el('div', { class: 'unseen', role: 'gridcell', id: 'active-patch' });
  place = el('div', { class: 'picture', role: 'grid', tabindex: '0', 'aria-activedescendant': 'active-patch',
    'aria-label': `The picture in ${nRow} x ${nCol} patches. Arrow keys move the patch that is looked from.` },
  canvas, el('div', { role: 'row' }, active));
  canvas.addEventListener('pointermove', event => {
    const p = patchAt(event);
    if (p !== pointed) point(p);
  });
  canvas.addEventListener('pointerleave', () => point(null));
  canvas.addEventListener('click', event => {
    const p = patchAt(event);
    if (p === null) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) pinOne(p); else choose(p);
  });
  chips = Array.from({ length: nFront }, (_, p) => {
    const chip = el('button', { class: 'chip' });
    chip.addEventListener('pointerenter', () => point(p));
    chip.addEventListener('pointerleave', () => point(null));
    chip.addEventListener('click', event => event.shiftKey || event.ctrlKey || event.metaKey ? pinOne(p) : choose(p));
    return chip;
  });
  $('stage').replaceChildren(el('div', { class: 'chips', role: 'group', 'aria-label': 'Not in the picture' }, ...chips), place);
  $('stage').dataset.made = 'picture';
}

// Makes the picture as large as possible, with patches of whole pixels.
function fit() {
  const room = $('stage').clientWidth - 2, tall = innerHeight * (innerWidth > 900 ? 0.66 : 0.6);
  const px = Math.max(1, Math.floor(Math.min(room / nCol, tall * width / height / nCol)));
  const ratio = devicePixelRatio || 1, w = px * nCol, h = Math.round(w * height / width);
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  canvas.style.width = w + 'px';
  canvas.style.height = h + 'px';
}

function drawChips(weights, stepOf, isSigned, from) {
  const paper = viewer.isDark() ? 16 : 255;
  chips.forEach((chip, p) => {
    const color = colorOn(paper, weights[p], stepOf, isSigned);
    chip.textContent = viewer.shortText(p) + ' ' + viewer.number(weights[p]);
    tint(chip, color);
    chip.classList.toggle('from', from.includes(p));
  });
}

// Draws the heads of LIST over the picture; returns null while they are being read.
function draw(list) {
  const set = setOf(state.w), m = viewer.matrixOf(list, set);
  if (!m) return null;
  if ($('stage').dataset.made !== 'picture') make();
  const sums = viewer.tokenWeights(m), from = viewer.lookedFrom(), weights = new Float32Array(nFront + nCell).fill(NaN);
  sums.forEach((w, i) => { weights[state.dir === 'from' ? i : viewer.queryAt(i)] = w; });
  const range = rangeOf(weights, set), stepOf = viewer.stepper(range), isSigned = set === 'difference';
  fit();
  const context = canvas.getContext('2d');
  paintMap(context, canvas.width, canvas.height, weights, stepOf, isSigned);
  for (const p of from) paintMark(context, canvas.width, canvas.height, p, true);
  drawChips(weights, stepOf, isSigned, from);
  viewer.sayToken(m, sums);
  if ($('turn')) $('turn').textContent = state.dir === 'from' ? 'Weights from a patch' : 'Weights to a patch';
  active.textContent = $('readout').textContent;
  painted = { range, isSigned, isEven: largestNow(weights, set) < LEAST_END };
  return m;
}

// --- Legend, keys, files ------------------------------------------------------------------------


// Returns a legend: the colors over the lightest and over the darkest part of the picture, with
// their numbers.
function ramp() {
  const { range: [, high], isSigned } = painted;
  const colors = new Uint8ClampedArray(2048).fill(255), veil = veils(isSigned), [from, to] = greys();
  for (let i = 0; i < 512; i++) {
    const at = 4 * (i % 256), share = veil[at + 3] / 255, grey = i < 256 ? to : from;
    colors.set([0, 1, 2].map(c => veil[at + c] * share + grey * (1 - share)), 4 * i);
  }
  return rampBox('ramp', colors, viewer.ticksOf(isSigned, high));
}

// Describes the end of the color range; undefined if the viewer's description fits.
function span() {
  if (!isShown()) return run.span === 'patches' ? ', to the largest of this matrix' : undefined;
  return { patches: painted.isEven ? ', to ten times an even weight' : ', to the largest weight on a patch', matrix: ', to the largest of this map',
    row: ', to the largest of this map' }[run.span];
}

// Moves the current query or key by patches. Above the first row are [CLS] and registers.
function move(down, across) {
  const p = state.dir === 'from' ? state.q : Math.max(0, state.k);
  const i = p - nFront, column = Math.max(0, i) % nCol, row = Math.floor(i / nCol);
  let next = p;
  if (i < 0) next = down > 0 ? nFront : Math.min(nFront - 1, Math.max(0, p + across));
  else if (row + down < 0) next = nFront > 0 ? 0 : p;
  else next = nFront + Math.min(nRow - 1, row + down) * nCol + Math.min(nCol - 1, Math.max(0, column + across));
  choose(next);
}

// Returns an SVG of the picture as shown, or of the maps of all heads.
function kept() {
  if (state.v !== 'grid') {
    const w = parseInt(canvas.style.width, 10), h = parseInt(canvas.style.height, 10);
    const front = chips.map(chip => chip.textContent).join('   ');
    return viewer.keptSvg(Math.max(420, w + 20), h + 90, ...viewer.keptTitle($('name').textContent + ', ' + $('readout').textContent),
      svgEl('image', { x: 10, y: 52, width: w, height: h, href: canvas.toDataURL() }), svgText(10, h + 72, front));
  }
  return viewer.keptGrid('all heads, ' + viewer.shortText(viewer.lookedFrom()[0]));
}

// --- Start --------------------------------------------------------------------------------------

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// The arrow keys move the patch if the picture has the focus, and the head in the grid of heads.
function onKey(event) {
  const isIn = selector => event.target.closest && event.target.closest(selector);
  if (!Object.hasOwn(ARROWS, event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (!isShown() || isIn('select, input, textarea, #thumbs') || $('dialog').open) return;
  if (state.v === 'grid' && !isIn('#stage')) return;
  move(...ARROWS[event.key]);
  event.preventDefault();
  event.stopPropagation();
}

// Renames the controls that have other names for pictures. Called once.
function open() {
  $('view-tokens').textContent = 'Picture';
  $('view-matrix').before($('view-tokens'));
  $('view-lines').hidden = heads[0].rows > 128;
  $('first').nextSibling.data = ' [CLS]';
  $('panes').classList.add('over-picture');
  addEventListener('keydown', event => attnPicture.onKey(event), true);
}

attnPicture.onKey = onKey;
if (canFollow) readLevels().then(viewer.draw);
return { open, drawThumb, key, draw, ramp, span, kept };
};

// Loads the picture of a run; TEXT_OF returns its data blocks by name.
attnPicture.load = textOf => new Promise(resolve => {
  const image = new Image();
  image.addEventListener('load', () => resolve(image));
  image.src = 'data:image/png;base64,' + textOf('picture-data').trim();
});
