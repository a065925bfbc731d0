// picture.js - draws heads over the picture that a model read, on a page with a picture. The picture
// has its own colors where a head looks, and is pale where not, as in figures (figure_map.c). The patch
// under the pointer is the query, and the maps of all heads follow it. Positions before the
// patches, [CLS] and registers, are buttons next to the picture. For a picture beside a text, the
// buttons are its words, and the one under the pointer is the query; a cell under the pointer marks
// the words that look at it. It is a part of the viewer.
'use strict';
globalThis.attnPicture = (viewer, image) => {
const { state, run } = viewer, { el, rgbOf, tint, rampBox, written } = attnPage;
const $ = id => document.getElementById(id);
const { picture } = run, { n_front: nFront, width, height, tiles } = picture, isInText = Boolean(tiles);
const MOST_BYTES = 1 << 27; // maximum bytes of weights that are kept for all heads together
const { heads } = run, nKey = heads[0].cols;
// smallest end of the color range: ten times an even weight
const LEAST_END = Math.min(1, 10 / (nFront + picture.n_row * picture.n_col));
// the groups of positions that are buttons, in their order
const GROUPS = isInText ? ['question', 'answer', 'other'].map(name => [name, picture[name]])
  : [['Not in the picture', Array.from({ length: nFront }, (_, p) => p)]];
const words = GROUPS.flatMap(group => group[1]), NOUN = isInText ? 'cell' : 'patch', FROM = isInText ? 'word' : 'patch';
const runs = run.other ? [run, run.other] : [run];
const canFollow = run.bytes * runs.length * heads.reduce((n, h) => n + h.rows * h.cols, 0) <= MOST_BYTES;

const nothingOf = kind => run.nothing[kind][viewer.isDark() ? 'dark' : 'light'][0];
const rowOfQuery = new Map(Array.from({ length: heads[0].rows }, (_, row) => [viewer.queryAt(row), row]));
const isShown = () => state.v === 'grid' || state.v === 'tokens';

// --- Cells --------------------------------------------------------------------------------------

// Switches: letter, words, whether it is on at first, and whether the page has what it needs. Letters
// in `state.on` are switched over.
const { neutral } = picture;
const SWITCHES = [['n', `${picture.is_ratio ? 'divided by' : 'minus'} \u201c${neutral}\u201d`, true, neutral],
  ['s', 'without sinks', true, picture.drops_sinks]].filter(row => row[3]);
// The layers of cells, [whether it is that of the tiles, its name], and whether tiles are shown at first.
// The letter t in `state.on` stands for the other layer.
let usesTiles = false;
const LAYERS = tiles?.length ? [[true, 'tiles'], [false, 'whole']] : [];
const isOfTiles = () => LAYERS.length > 0 && usesTiles !== state.on.includes('t');
const isOn = letter => SWITCHES.some(([own, , isUsual]) => own === letter && isUsual !== state.on.includes(letter));

const cells = el('canvas'), cellContext = cells.getContext('2d');
let laid, nRow, nCol, cellImage, places, cellOf; // places: the positions of the cells, row by row

// Returns the positions of the cells of the whole picture, or of all its tiles, row by row.
function makePlaces(areTiles) {
  const firsts = areTiles ? tiles : [nFront], across = areTiles ? picture.tile_cols : 1;
  const { n_row: rows, n_col: cols } = picture, w = cols * across;
  return Array.from({ length: rows * cols * firsts.length }, (_, i) => {
    const [r, c] = [Math.floor(i / w), i % w];
    return firsts[Math.floor(r / rows) * across + Math.floor(c / cols)] + r % rows * cols + c % cols;
  });
}

const PLACES = new Map([...LAYERS.map(([areTiles]) => areTiles), false].map(areTiles => [areTiles, makePlaces(areTiles)]));
const ALL_PLACES = [...PLACES.values()].flat(); // those of tiles first
// The groups of positions whose shares are written, that of all cells first.
const SHARES = [['picture', ALL_PLACES], ...GROUPS];

// Lays out the cells: those of the picture, or of all its tiles.
function layOut() {
  if (laid === isOfTiles()) return;
  laid = isOfTiles();
  places = PLACES.get(laid);
  nCol = picture.n_col * (laid ? picture.tile_cols : 1);
  nRow = places.length / nCol;
  cellOf = new Map(places.map((p, i) => [p, i]));
  [cells.width, cells.height] = [nCol, nRow];
  cellImage = cellContext.createImageData(nCol, nRow);
}

// --- The picture --------------------------------------------------------------------------------

const grounds = {};

// Whether the picture has its own colors, the stronger the larger a weight. Other colors stand for
// signs, or were asked for.
const isLit = isSigned => !isSigned && !run.colormap;
const paper = () => viewer.isDark() ? 0x12 : 0xff; // its red, green and blue, as in figures

// The darkest and the lightest grey of the picture in grey: pale in light mode, dim in dark mode.
const greys = () => viewer.isDark() ? [8, 130] : [120, 255];

function ground(isOwn) {
  if (isOwn) return image;
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
function groundOf(w, h, isOwn) {
  const key = [isOwn || greys()[0], w, h].join();
  if (!sized.has(key)) {
    const canvas = el('canvas', { width: w, height: h }), context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(ground(isOwn), 0, 0, w, h);
    sized.set(key, canvas);
    if (sized.size > 8) sized.delete(sized.keys().next().value);
  }
  return sized.get(key);
}

// --- Colors ------------------------------------------------------------------------------------

const veilsOf = new Map(), PALEST = 0.86;

// Returns for each step of a ramp its color and how much of the picture it hides, as in figures: a
// weight of 0 hides nothing, and a ramp that begins with white is used as it is. If IS_OWN, these are
// paper, through which the picture shines.
function veils(isSigned, isOwn) {
  const key = [viewer.rampName(), viewer.isDark(), isSigned, isOwn].join();
  if (veilsOf.has(key)) return veilsOf.get(key);
  const ramp = viewer.rampOf(isSigned), made = new Uint8ClampedArray(1024), strongest = isSigned ? 0.65 : 0.95;
  const beginsWhite = !isSigned && ramp[0] === 255 && ramp[1] === 255 && ramp[2] === 255;
  for (let i = 0; i < 256; i++) {
    const share = isSigned ? Math.abs(2 * i / 255 - 1) : i / 255;
    const at = 3 * (isSigned || beginsWhite ? i : 96 + Math.floor(i * 159 / 255));
    const least = Math.min(ramp[at], ramp[at + 1], ramp[at + 2]);
    for (let c = 0; c < 3; c++)
      made[4 * i + c] = !beginsWhite ? ramp[at + c]
        : least === 255 ? 255 : (ramp[at + c] - least) * 255 / (255 - least);
    made[4 * i + 3] = beginsWhite ? 255 - least : 255 * strongest * share ** 0.7;
    if (isOwn) made.set([paper(), paper(), paper(), 255 * PALEST * (1 - share)], 4 * i);
  }
  veilsOf.set(key, made);
  return made;
}

const kindOf = w => w === Infinity ? 'not_finite' : 'masked';

// Returns the color of a weight over a picture of this grey, as "#rrggbb".
function colorOn(grey, w, stepOf, isSigned) {
  if (!isFinite(w)) return nothingOf(kindOf(w));
  const veil = veils(isSigned, false), at = 4 * stepOf(w), share = veil[at + 3] / 255;
  return '#' + [0, 1, 2].map(c => Math.round(veil[at + c] * share + grey * (1 - share))
    .toString(16).padStart(2, '0')).join('');
}

// Paints the picture, and WEIGHTS, indexed by position, over it.
function paintMap(context, w, h, weights, stepOf, isSigned) {
  const isOwn = isLit(isSigned), veil = veils(isSigned, isOwn), { data } = cellImage;
  for (let i = 0; i < places.length; i++) {
    const weight = weights[places[i]];
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
  context.drawImage(groundOf(w, h, isOwn), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(cells, 0, 0, w, h);
}

const FRAME = '#ff7a1a'; // of the query

// Paints a frame around the cell I, of lines of COLOR and WIDTH, one upon the other.
function paintFrame(context, w, h, i, lines) {
  const side = [w / nCol, h / nRow];
  for (const [color, width] of lines) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.strokeRect(i % nCol * side[0], Math.floor(i / nCol) * side[1], ...side);
  }
}

// Paints a frame around patch P.
function paintMark(context, w, h, p, isLarge) {
  if (cellOf.has(p)) paintFrame(context, w, h, cellOf.get(p), isLarge ? [['#000000', 4], [FRAME, 2]] : [[FRAME, 1]]);
}

const MOST_FRAMES = 5, N_SHARE = 5; // N_SHARE: numbers beside the cells in a map of a text

// Returns the cells with the largest weights: at least 10 %, and three times an even weight.
function strongOf(weights) {
  const least = Math.max(0.1, 3 / (isInText ? places.length + N_SHARE : nKey));
  return places.map((_, i) => i).filter(i => weights[places[i]] >= least && isFinite(weights[places[i]]))
    .sort((a, b) => weights[places[b]] - weights[places[a]]).slice(0, MOST_FRAMES);
}

// Writes WEIGHT on a plate in the corner of the cell I, or above it if it is small.
function paintPlate(context, w, h, i, weight) {
  const ratio = devicePixelRatio || 1, size = 12 * ratio, pad = 3 * ratio, text = written(run.numbers.share, weight);
  context.font = `${size}px system-ui, sans-serif`;
  const width = context.measureText(text).width + 2 * pad, isSmall = w / nCol < 3 * width;
  const x = Math.min(i % nCol * w / nCol + ratio, w - width), top = Math.floor(i / nCol) * h / nRow;
  const y = isSmall ? Math.max(0, top - size - pad) : top + ratio;
  context.fillStyle = viewer.isDark() ? '#121212' : '#ffffff';
  context.fillRect(x, y, width, size + pad);
  context.fillStyle = viewer.isDark() ? '#e8e8e8' : '#000000';
  context.fillText(text, x + pad, y + size);
}

// Frames the cells with the largest weights, and in a large map writes these.
function paintStrong(context, w, h, weights, isSigned, isLarge) {
  if (!isLit(isSigned) || isRelative()) return;
  const color = viewer.isDark() ? FRAME : '#c8400a', edge = viewer.isDark() ? '#121212' : '#ffffff';
  for (const i of strongOf(weights).reverse()) {
    paintFrame(context, w, h, i, isLarge ? [[edge, 4], [color, 2]] : [[color, 1]]);
    if (isLarge) paintPlate(context, w, h, i, weights[places[i]]);
  }
}

// --- Weights ------------------------------------------------------------------------------------

const levels = runs.map(() => []); // by run and head, when all are read
let isFollowing = false, taken = null; // taken: by head and cell, what is taken away; below 0 for a sink

async function readTaken() {
  if (!neutral && !picture.drops_sinks) return;
  taken = new Float32Array((await viewer.inflate(run.maps)).buffer);
}

const isSink = w => w < 0 || Object.is(w, -0);
const isRelative = () => isOn('n') && state.dir === 'from';
const isSignedSet = set => set === 'difference' || isRelative() && !picture.is_ratio;

// Returns WEIGHTS without the cells, of tiles and of the whole picture, that are sinks of head H.
function withoutSinks(h, weights) {
  const out = Float32Array.from(weights), n = taken ? taken.length / heads.length : 0;
  if (isOn('s')) ALL_PLACES.forEach((p, i) => { if (i < n && isSink(taken[h * n + i])) out[p] = NaN; });
  return out;
}

// Takes the neutral question and sinks away from WEIGHTS of head H.
function takeAway(h, weights) {
  const n = taken ? taken.length / heads.length : 0, first = isOfTiles() ? 0 : n - picture.n_row * picture.n_col;
  for (let i = 0; n && state.dir === 'from' && i < places.length; i++) {
    const usual = taken[h * n + first + i], p = places[i];
    if (isOn('s') && isSink(usual)) weights[p] = NaN;
    else if (isRelative()) weights[p] = picture.is_ratio ? weights[p] / Math.abs(usual) : weights[p] - Math.abs(usual);
  }
  return weights;
}

async function readLevels() {
  await Promise.all([readTaken(), ...runs.map((run, set) => Promise.all(run.heads.map(async ({ block }, h) => {
    levels[set][h] = await viewer.inflate(block);
  })))]);
  chooseLayer();
  isFollowing = true;
}

const shareOf = (weights, list) => list.reduce((sum, p) => isFinite(weights[p]) ? sum + weights[p] : sum, 0);

// Shows at first the layer of cells with more weight from the first query, for all heads together.
function chooseLayer() {
  const row = rowOfQuery.get(run.query) ?? 0, sums = [0, 0];
  for (const h of LAYERS.length ? heads.keys() : []) {
    const { rows, cols } = heads[h], own = Float32Array.from({ length: nKey }, (_, p) => weightAt(levels[0][h], row * cols + p, rows * cols));
    const weights = withoutSinks([h], own);
    LAYERS.forEach(([areTiles], i) => { sums[i] += shareOf(weights, PLACES.get(areTiles)); });
  }
  usesTiles = sums[0] > sums[1];
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
  const isFrom = state.dir === 'from', out = new Float32Array(nKey).fill(NaN);
  const add = (p, row, column) => {
    if (column === 0 && !state.first) return;
    const w = weightAt(bytes, row * cols + column, n);
    if (w === w) out[p] = w;
  };
  const from = viewer.lookedFrom(), row = rowOfQuery.get(from);
  if (isFrom && row !== undefined) for (let j = 0; j < cols; j++) add(j, row, j);
  if (!isFrom && from < cols) for (let i = 0; i < rows; i++) add(viewer.queryAt(i), i, from);
  return set === 0 ? takeAway(h, out) : out;
}

const largestOf = weights => places.reduce((most, p) => isFinite(weights[p]) ? Math.max(most, Math.abs(weights[p])) : most, 0);

// the weights of all heads for the current queries or keys
let lines = { key: '', of: [], largest: 0 };

function linesOf(set) {
  const key = [set, state.dir, state.first, state.on, viewer.lookedFrom()].join();
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
  const isSigned = isSignedSet(set);
  const largest = run.span === 'unit' ? 1 : run.span === 'patches' ? Math.max(largestNow(weights, set), LEAST_END)
    : largestOf(weights) || 1;
  return [isSigned ? -largest : 0, largest];
}

// --- All heads ----------------------------------------------------------------------------------

function drawThumb(h, size, canvas) {
  if (!canFollow) return false;
  layOut();
  const set = setOf(state.w);
  const ratio = devicePixelRatio || 1, longest = Math.max(width, height);
  const w = Math.max(3, Math.round(size * width / longest)), tall = Math.max(3, Math.round(size * height / longest));
  const context = canvas.getContext('2d'), weights = isFollowing ? linesOf(set).of[h] : new Float32Array(nKey);
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(tall * ratio);
  canvas.style.width = w + 'px';
  canvas.style.height = tall + 'px';
  paintMap(context, canvas.width, canvas.height, weights, viewer.stepper(rangeOf(weights, set)), isSignedSet(set));
  if (size >= 40) paintStrong(context, canvas.width, canvas.height, weights, isSignedSet(set), false);
  if (size >= 40) paintMark(context, canvas.width, canvas.height, viewer.lookedFrom(), false);
  return true;
}

// Identifies what the maps of all heads depend on, in addition to what matrices depend on.
const key = () => [isFollowing, state.dir, state.on, viewer.lookedFrom()].join();

// --- One head -----------------------------------------------------------------------------------

let canvas, place, active, foot, chips = [], painted = null;

let pointed = null; // the patch under the pointer

const isCellOfText = p => isInText && state.dir === 'from' && cellOf.has(p);

const point = p => {
  pointed = p;
  viewer.hover(p === null || isCellOfText(p) ? null : state.dir === 'from' ? { token: p, q: p, k: -1 } : { token: p, q: state.q, k: p });
};
const choose = p => {
  point(null);
  if (isCellOfText(p)) viewer.set({ k: p });
  else viewer.set(state.dir === 'from' ? rowOfQuery.get(p) === undefined ? {} : { q: p } : { k: p });
};
function patchAt(event) {
  const box = canvas.getBoundingClientRect();
  const c = Math.floor((event.clientX - box.left) / box.width * nCol), r = Math.floor((event.clientY - box.top) / box.height * nRow);
  return c < 0 || r < 0 || c >= nCol || r >= nRow ? null : places[r * nCol + c];
}

// Moves the focus to the next word that is a query.
function moveWord(by, hasFocus) {
  const list = words.filter(p => rowOfQuery.has(p)), i = list.indexOf(state.q);
  choose(list[Math.min(list.length - 1, Math.max(0, i + by))]);
  if (hasFocus) chips[words.indexOf(state.q)]?.focus();
}

const switched = letter => state.on.includes(letter) ? state.on.replace(letter, '') : state.on + letter;

function make() {
  canvas = el('canvas', { 'aria-hidden': 'true' });
  active = el('div', { class: 'unseen', role: 'gridcell', id: 'active-patch' });
  place = el('div', { class: 'picture', role: 'grid', tabindex: '0', 'aria-activedescendant': 'active-patch',
    'aria-label': isInText ? 'The picture in cells. Arrow keys move the cell whose words are marked.'
      : `The picture in ${nRow} x ${nCol} patches. Arrow keys move the patch that is looked from.` },
  canvas, el('div', { role: 'row' }, active));
  canvas.addEventListener('pointermove', event => {
    const p = patchAt(event);
    if (p !== pointed) point(p);
  });
  canvas.addEventListener('pointerleave', () => point(null));
  canvas.addEventListener('click', event => {
    const p = patchAt(event);
    if (p !== null) choose(p);
  });
  chips = words.map(p => {
    const chip = el('button', { class: 'chip' });
    chip.addEventListener('pointerenter', () => point(p));
    chip.addEventListener('pointerleave', () => point(null));
    chip.addEventListener('click', () => choose(p));
    return chip;
  });
  const switches = SWITCHES.map(([letter, text]) => {
    const box = el('input', { type: 'checkbox', 'data-letter': letter });
    box.addEventListener('change', () => viewer.set({ on: switched(letter) }));
    return el('label', {}, box, text);
  });
  const layers = LAYERS.map(([areTiles, name]) => {
    const button = el('input', { type: 'radio', name: 'layer', value: name });
    button.addEventListener('change', () => { if (areTiles !== isOfTiles()) viewer.set({ k: -1, on: switched('t') }); });
    return el('label', {}, button, el('span', {}, name));
  });
  const groups = GROUPS.filter(group => group[1].length || !isInText).map(([name, list]) =>
    el('div', { class: isInText ? 'chips ' + name : 'chips', role: 'group', 'aria-label': name }, ...isInText ? [el('span', { class: 'note' }, name)] : [],
      ...list.map(p => chips[words.indexOf(p)])));
  foot = el('p', { class: 'note shares' });
  const below = isInText ? [foot, ...groups.splice(-1)] : [];
  $('stage').replaceChildren(...groups, ...layers.length + switches.length ? [el('p', { class: 'group' }, ...layers, ...switches)] : [], place, ...below);
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
  chips.forEach((chip, i) => {
    const p = words[i], name = viewer.nameAt(p), number = viewer.number(weights[p]);
    const isSeen = !isInText || isFinite(weights[p]);
    chip.textContent = isInText ? name : name + ' ' + number;
    if (isInText) {
      chip.title = name + (isSeen ? ' ' + number : '');
      chip.setAttribute('aria-label', chip.title);
      chip.tabIndex = p === state.q ? 0 : -1;
    }
    tint(chip, isSeen ? colorOn(paper, weights[p], stepOf, isSigned) : '');
    chip.classList.toggle('from', p === from);
  });
}

// Marks the words of a text that look at the cell P, by their weights in M.
function markWords(m, p, stepOf) {
  const to = new Float32Array(nKey).fill(NaN);
  for (const word of words) if (rowOfQuery.has(word)) to[word] = m.weights[rowOfQuery.get(word) * m.cols + p];
  drawChips(to, stepOf, false, viewer.lookedFrom());
  viewer.say(...viewer.named('cell', p), ' \u2190', ...viewer.best(to, word => viewer.named('', word)));
}

// Shows which layer of cells is on, and behind the name of each what NOTE_OF returns.
function drawLayers(noteOf) {
  document.querySelectorAll('#stage input[name=layer]').forEach((button, i) => {
    button.checked = LAYERS[i][0] === isOfTiles();
    button.nextSibling.textContent = LAYERS[i][1] + noteOf(LAYERS[i][0]);
  });
}

// Writes below the picture the shares of the picture and of the words in WEIGHTS, and beside the layers theirs.
function drawShares(weights) {
  const sumOf = list => shareOf(weights, list);
  foot.textContent = SHARES.map(([name, list]) => `${name} ${(100 * sumOf(list)).toFixed(1)} %`).join(', ');
  drawLayers(areTiles => ' ' + written({ factor: 100, figures: 2, unit: ' %' }, sumOf(PLACES.get(areTiles))));
}

// Draws head H over the picture; returns null while it is being read.
function draw(h) {
  const set = setOf(state.w), m = viewer.matrixOf(h, set);
  if (!m) return null;
  layOut();
  if ($('stage').dataset.made !== 'picture') make();
  const sums = viewer.tokenWeights(m), from = viewer.lookedFrom(), weights = new Float32Array(nKey).fill(NaN);
  sums.forEach((w, i) => { weights[state.dir === 'from' ? i : viewer.queryAt(i)] = w; });
  foot.hidden = set === 'difference' || state.dir !== 'from';
  if (isInText && !foot.hidden) drawShares(set === 0 ? withoutSinks(h, weights) : weights);
  else drawLayers(() => '');
  const ofWords = Float32Array.from(weights), stepOfWords = viewer.stepper([0, Math.max(largestOf(ofWords), LEAST_END)]);
  if (set === 0) takeAway(h, weights);
  const range = rangeOf(weights, set), stepOf = viewer.stepper(range), isSigned = isSignedSet(set), isTaken = isInText && set === 0 && isRelative();
  fit();
  const context = canvas.getContext('2d');
  paintMap(context, canvas.width, canvas.height, weights, stepOf, isSigned);
  paintStrong(context, canvas.width, canvas.height, weights, isSigned, true);
  const cell = [pointed, state.k].find(isCellOfText);
  for (const p of cell === undefined ? [from] : [from, cell]) paintMark(context, canvas.width, canvas.height, p, true);
  if (cell === undefined || pointed !== null && pointed !== cell) {
    drawChips(isTaken ? ofWords : weights, isTaken ? stepOfWords : stepOf, isSigned && !isTaken, from);
    viewer.sayToken(m, sums);
  } else markWords(m, cell, isTaken ? stepOfWords : stepOf);
  for (const box of document.querySelectorAll('#stage input[data-letter]')) box.checked = isOn(box.dataset.letter);
  if ($('turn')) $('turn').textContent = `Weights ${state.dir} a ${FROM}`;
  active.textContent = cell === undefined ? $('readout').textContent
    : `cell row ${Math.floor(cellOf.get(cell) / nCol)}, column ${cellOf.get(cell) % nCol}, ${written({ factor: 100, figures: 2, unit: ' %' }, weights[cell])}`;
  painted = { range, isSigned, isEven: largestNow(weights, set) < LEAST_END, isBlank: !largestOf(weights) };
  return m;
}

// --- Legend, keys, files ------------------------------------------------------------------------


// Returns a legend: the colors over the lightest and over the darkest part of the picture, or paper
// over grey, with their numbers.
function ramp() {
  const { range: [, high], isSigned } = painted, isOwn = isLit(isSigned), faint = viewer.isDark() ? 0xa0 : 0x59;
  const colors = new Uint8ClampedArray(2048).fill(255), veil = veils(isSigned, isOwn), [from, to] = isOwn ? [faint, faint] : greys();
  for (let i = 0; i < 512; i++) {
    const at = 4 * (i % 256), share = veil[at + 3] / 255, grey = i < 256 ? to : from;
    colors.set([0, 1, 2].map(c => veil[at + c] * share + grey * (1 - share)), 4 * i);
  }
  return rampBox('ramp', colors, viewer.ticksOf(isSigned, high));
}

// Describes the end of the color range; undefined if the viewer's description fits.
function span() {
  if (!isShown()) return run.span === 'patches' ? ', to the largest of this matrix' : undefined;
  const end = { patches: painted.isEven ? ', to ten times an even weight' : `, to the largest weight on a ${NOUN}`, matrix: ', to the largest of this map',
    row: ', to the largest of this map' }[run.span];
  if (painted.isBlank) return `: no ${NOUN} has weight`;
  return SWITCHES.filter(([letter]) => isOn(letter)).map(row => ', ' + row[1]).join('') + (end ?? '');
}

// Moves the current query or key by patches; in a text, the cell whose words are marked. Above the
// first row are [CLS] and registers.
function move(down, across) {
  const p = state.dir === 'from' && !isInText ? state.q : Math.max(0, state.k);
  const i = cellOf.get(p) ?? -1, column = Math.max(0, i) % nCol, row = Math.floor(i / nCol);
  let next = p;
  if (i < 0) next = down > 0 || isInText ? places[0] : Math.min(nFront - 1, Math.max(0, p + across));
  else if (row + down < 0) next = nFront > 0 && !isInText ? 0 : p;
  else next = places[Math.min(nRow - 1, row + down) * nCol + Math.min(nCol - 1, Math.max(0, column + across))];
  choose(next);
}

// --- Start --------------------------------------------------------------------------------------

const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// The arrow keys move the patch if the picture has the focus, the word if words have it, and the
// head in the grid of heads.
function onKey(event) {
  const isIn = selector => event.target.closest && event.target.closest(selector);
  if (!Object.hasOwn(ARROWS, event.key) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (!isShown() || isIn('select, input, textarea, #thumbs') || $('dialog').open) return;
  if (state.v === 'grid' && !isIn('#stage')) return;
  const [down, across] = ARROWS[event.key];
  if (isInText && !isIn('.picture')) moveWord(down + across, isIn('.chip')); else move(down, across);
  event.preventDefault();
  event.stopPropagation();
}

// Renames the controls that have other names for pictures. Called once.
function open() {
  $('view-matrix').before($('view-tokens'));
  if (!isInText) $('first').nextSibling.data = ' [CLS]';
  $('first').parentNode.hidden = !isInText && nFront === 0;
  $('panes').classList.add('over-picture');
  addEventListener('keydown', event => attnPicture.onKey(event), true);
}

attnPicture.onKey = onKey;
(canFollow ? readLevels() : readTaken()).then(viewer.draw);
// Returns the name of a patch without a token: "3,4".
const nameOf = p => `${Math.floor((p - nFront) / picture.n_col)},${(p - nFront) % picture.n_col}`;

return { open, nameOf, drawThumb, key, draw, ramp, span };
};

// Loads the picture of a run.
attnPicture.load = ({ picture }) => new Promise(resolve => {
  const image = new Image();
  image.addEventListener('load', () => resolve(image));
  image.src = 'data:image/png;base64,' + picture.png;
});
