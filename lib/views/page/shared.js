// shared.js - functions that all scripts of a page use: for its document (page_internal.h), nodes,
// colors, numbers, legends and files. Labels and ticks come from the library, in the document.
'use strict';
const attnPage = (() => {
const root = document.documentElement, prefersDark = matchMedia('(prefers-color-scheme: dark)');

// Sets attributes of a node and appends children; strings become text.
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
// Returns TEXT isolated, in at most 160 characters, cut between words.
const shortly = text => el('bdi', {}, text.length <= 160 ? text : text.slice(0, 160).replace(/ [^ ]{0,23}$/, '') + '\u2026');
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

// --- The document ---

// Measures of heads: name, words, unit.
const MEASURES = [['first', 'first token', ''], ['previous', 'previous token', ''], ['self', 'the token itself', ''], ['entropy', 'entropy', 'nats'],
  ['far', 'far (none of these)', '']];

// The rules for writing numbers (written). With one byte the square root of a weight has 254 levels, so that
// a weight w is known to about sqrt(w) / 254; it has as many digits as that is worth.
const NUMBERS = { cell: { factor: 100, digits: [0], zero: '.' }, share: { factor: 100, digits: [0], unit: ' %' },
  probability: { factor: 100, digits: [2, 1], below: [1], unit: ' %' }, component: { digits: [4] }, measure: { digits: [2] },
  tick: { figures: 2 } };
const WEIGHTS = [, { digits: [4, 3, 2], below: [1.6129e-4, 1.6129e-2] }, { digits: [4] }].map(rule => ({ ...rule, none: 'masked', infinite: 'not finite' }));

// Returns the rows of a table as objects, without what is missing.
const objectsOf = ({ columns, rows }) => rows.map(row => Object.fromEntries(row.map((value, i) => [columns[i], value]).filter(([, value]) => value !== null)));

// Returns the run of a document: heads have their names, the size of their matrix, and their block of weights.
function runOf(made) {
  const { tensors, grouping, predictions } = made, patterns = Object.values(tensors).filter(({ site }) => site === 'pattern');
  const blocks = patterns.flatMap(({ shape: [, rows, cols], data }) => Object.values(data).map(block => ({ block, rows, cols }))), bytes = patterns[0].form === 'root16' ? 2 : 1;
  const heads = objectsOf(made.heads), hasKinds = !heads[0].stack && [1, undefined].every(is => heads.some(head => head.is_source === is)); // self and cross
  const named = heads.map((head, i) => {
    const { stack, layer, head: number, is_source: isSource } = head, { rows, cols } = blocks[i];
    return { ...head, ...blocks[i], at: atOf(head), group: stack ? stack + ':' + layer : layer, pooled: Math.floor((Math.max(rows, cols) - 1) / 32) + 1, // cells of a thumbnail
      name: (stack ? stack + ' layer ' + layer + ', ' : grouping === 'none' ? '' : grouping + ' ' + layer + ', ') + 'head ' + number + (hasKinds ? isSource ? ' (cross)' : ' (self)' : '') };
  });
  return { ...made, bytes, heads: named, measures: MEASURES, numbers: { ...NUMBERS, weight: WEIGHTS[bytes] },
    predictions: predictions && { ...predictions, top: objectsOf(predictions) } };
}

// Returns the table of a document, with its colors.
const tableOf = ({ table, nothing, colormaps, svg }) => table && { ...table, nothing, colormaps, figure: svg };

// --- Colors ---

let isPrinting = false;
addEventListener('beforeprint', () => { isPrinting = true; });
addEventListener('afterprint', () => { isPrinting = false; });

function isDark() {
  const { theme } = root.dataset;
  return !isPrinting && (theme ? theme === 'dark' : prefersDark.matches);
}

const paint = name => getComputedStyle(root).getPropertyValue(name).trim();
const rampsOf = colormaps => Object.fromEntries(Object.entries(colormaps).map(([name, text]) =>
  [name, Uint8Array.from(atob(text), c => c.charCodeAt(0))]));
const hex = (ramp, i) => '#' + [0, 1, 2].map(c => ramp[3 * i + c].toString(16).padStart(2, '0')).join('');
const rgbOf = color => [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16));

// Returns black or white, whichever has more contrast with a color: at least 4.58:1.
function inkOn(color) {
  const [r, g, b] = rgbOf(color).map(x => {
    const c = x / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
}

// Returns a function that maps a value between LOW and HIGH on CURVE to a step of a ramp, 0 to 255.
function stepper(curve, [low, high]) {
  const bend = x => curve === 'linear' ? x : Math.sign(x) * Math.sqrt(Math.abs(x));
  const from = bend(low), to = bend(high);
  return x => Math.round(255 * clamp((bend(x) - from) / (to - from), 0, 1));
}

function hatchPattern(context, color) {
  const tile = el('canvas', { width: 6, height: 6 }), c = tile.getContext('2d');
  c.strokeStyle = color;
  c.beginPath();
  for (const at of [-6, 0, 6]) { c.moveTo(at - 1, 7); c.lineTo(at + 7, -1); }
  c.stroke();
  return context.createPattern(tile, 'repeat');
}

// Returns a legend entry for a cell without a value; its arguments are the colors of background
// and hatching.
function swatch([ground, color]) {
  const canvas = el('canvas', { width: 16, height: 16 }), context = canvas.getContext('2d');
  for (const fill of [ground, hatchPattern(context, color)]) {
    context.fillStyle = fill;
    context.fillRect(0, 0, 16, 16);
  }
  return canvas;
}

// --- Numbers ---

// Writes a number by a rule of the library (struct attn_page_rule).
function written({ factor = 1, figures, least = 0, digits, below = [], zero, unit = '', none = '\u2013', infinite = none }, x) {
  if (!Number.isFinite(x)) return x === Infinity ? infinite : none;
  const size = Math.abs(x * factor), text = !figures ? size.toFixed(digits[below.filter(end => size >= end).length])
    : size > 0 && size < least ? size.toExponential(figures - 1) : String(Number(size.toPrecision(figures)));
  if (Number(text) === 0) return zero ?? text + unit;
  return (x < 0 ? '\u2212' : '') + text + unit;
}

// Returns N if every Nth label is written, for cells of PX and labels that need ROOM pixels.
const everyNth = (px, room) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find(n => n * px >= room) ?? 5000;

// --- Legends ---

// Returns a legend with the ramp COLORS [n * 4], in rows of 256, and TICKS, [place, text], without those that have no room.
function rampBox(kind, colors, ticks) {
  const height = colors.length / 1024, halfOf = text => 3.5 * text.length + 2; // px
  let end = -Infinity;
  const fitting = ticks.filter(([place, text], i) => {
    const [last, name] = ticks.at(-1), fits = 256 * place - halfOf(text) >= end && (i === ticks.length - 1 || 256 * place + halfOf(text) <= 256 * last - halfOf(name));
    if (fits) end = 256 * place + halfOf(text);
    return fits || i === ticks.length - 1;
  });
  const canvas = el('canvas', { width: 256, height, 'aria-hidden': 'true' });
  canvas.getContext('2d').putImageData(new ImageData(colors, 256, height), 0, 0);
  return el('div', { class: kind }, canvas, ...fitting.map(([place, text]) => {
    const tick = el('span', { class: 'tick' }, text);
    tick.style.left = 100 * place + '%';
    return tick;
  }));
}

const opaque = ramp => Uint8ClampedArray.from({ length: 1024 }, (_, i) => i % 4 === 3 ? 255 : ramp[3 * (i >> 2) + i % 4]);

// --- Heads and tokens ---

// Returns the text of a token without the blanks around it; "blank" or "3 blanks" if it is nothing else, '' if empty.
const nameOfToken = text => text.trim() || (text.length > 1 ? text.length + ' blanks' : text && 'blank');

// Returns the name of a head: "2.5", of a translator "cross:2.5".
const atOf = ({ stack, layer, head }) => (stack ? stack + ':' : '') + layer + '.' + head;

// Returns the parts of the bar of a head (attn_head_bar), [kind, end, ...], with their share.
const barPartsOf = (bar, kinds) => bar.flatMap((end, i) => i % 2 === 0 ? [] : [{ ...kinds[bar[i - 1]], kind: bar[i - 1], begin: i > 1 ? bar[i - 2] : 0, end, isParked: kinds[bar[i - 1]].name === 'parks' }]);
const barColor = ({ hue, isParked }) => isParked ? `color-mix(in oklab, ${hue} 25%, var(--paper))` : hue;
const barOf = (bar, kinds) => bar.length === 0 ? 'none'
  : 'linear-gradient(90deg, ' + barPartsOf(bar, kinds).map(part => `${barColor(part)} ${100 * part.begin}% ${100 * part.end}%`).join(', ') + ')';

// Returns the plates of heads in the figure SVG: their mark, "h2.5...", their texts, and the frame, the last rectangle around these.
function platesOf(svg) {
  const texts = [...svg.querySelectorAll('text[data-i^=h]')], rects = [...svg.querySelectorAll('rect')].reverse(), placeOf = (node, name) => node[name].baseVal.value ?? node[name].baseVal[0].value;
  return [...new Set(texts.map(({ dataset }) => dataset.i))].map(mark => {
    const own = texts.filter(({ dataset }) => dataset.i === mark), isIn = (rect, from, size) => { const x = placeOf(own[0], from) - placeOf(rect, from); return x > 0 && x < placeOf(rect, size); };
    return { mark, texts: own, frame: rects.find(rect => isIn(rect, 'x', 'width') && isIn(rect, 'y', 'height')) };
  });
}

// Gives the node of a token a ground, with black or white letters; '': none.
function tint(node, color) {
  node.style.background = color;
  node.style.color = color && inkOn(color);
}

// Colors the node of a token by its weight with RAMP; without a weight not at all.
const weightStep = stepper('sqrt', [0, 1]);
function tintByWeight(node, ramp, weight) {
  tint(node, weight === undefined ? '' : hex(ramp, weightStep(weight)));
  if (weight === undefined) node.removeAttribute('title'); else node.title = weight.toFixed(3);
}

const MANY = 48; // heads: with more, the eight of the answer are shown first, and what runs the model for each is asked for less

const short = x => x === null ? '\u2013' : String(Number(x.toPrecision(3))).replace('-', '\u2212');

// --- Files ---

function save(blob, name) {
  const link = el('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const csvField = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;

const given = JSON.parse(document.getElementById('document').textContent); // the document of the page
document.getElementById('document').remove();

return { given, runOf, tableOf, NUMBERS, nameOfToken, shortly, el, svgEl, clamp, prefersDark, isDark, paint, rampsOf, hex, rgbOf, inkOn, stepper, hatchPattern, swatch, written,
  atOf, platesOf, barPartsOf, barOf, tint, tintByWeight, MANY, short, rampBox, opaque, save, csvField, everyNth, get isPrinting() { return isPrinting; } };
})();
