// atlas.js - the atlas of heads over many texts: each head as a point by two measures that the
// reader chooses, colored by kind, and the cards of chosen heads. It stands above the map and the
// table of a page of heads. The object that it draws is described in page_question.c; a point is a row
// of the table.
'use strict';
(() => {
const { atlas: data, table, colormaps, nothing } = attnPage.given, place = document.getElementById('atlas');
if (!data || !place) return;
const { el, svgEl, clamp, isDark, prefersDark, rgbOf, rampsOf, short, tintByWeight, barPartsOf, barOf, nameOfToken } = attnPage;
const ramps = rampsOf(colormaps);
const LEFT = 60, BOTTOM = 42, TOP = 30, RIGHT = 14, REACH = 24; // pixels of the plot; how near a press must be
const LETTER = 7; // px width of a letter of a name
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
// Marks of the kinds, and of heads without one: color is never the only sign.
const marks = ['M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z', 'M-5 -5H5V5H-5Z', 'M5 -5H-5L-1 0L-5 5H5L1 0Z', 'M0 -6L6 5H-6Z', 'M-5 -6H5L-5 6H5Z',
  'M0 -7L7 0L0 7L-7 0Z', 'M-6 -5H6L0 6Z', 'M-6 -3H6V3H-6Z', 'M-3 -6H3V6H-3Z', 'M-6 2L0 -5L6 2V6L0 -1L-6 6Z', 'M-6 -4H6V-1H-6ZM-6 1H6V4H-6Z',
  'M-6 -2L-2 -6H2L6 -2V2L2 6H-2L-6 2Z', 'M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z', 'M-6 -1H6V1H-6Z',
  'M-5 -1.5H-1.5V-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5Z'];

// --- Measures -----------------------------------------------------------------------------------

const at = new Map(table.columns.map((column, i) => [column.name, i]));
const measures = table.columns.filter(({ type, role, name }) => !role && ['integer', 'real', 'boolean'].includes(type) &&
  table.rows.some(row => row[at.get(name)] !== null)).map(({ name }) => name);
// Measures that axes call by other words, and what a head does at the low end and at the high one. `beside` is the rest of `park`.
const PLAIN = { beside: ['weight on words, not parked', 'parks on the first token', 'looks at words'], entropy_norm: ['evenness (entropy)', 'one word', 'all words'],
  distance: ['distance back, tokens', 'near', 'far'] };
const columnOf = name => table.columns[at.get(name)] ?? { is_share: true };
const valueOf = (row, name) => name === 'beside' ? 1 - valueOf(row, 'park') : table.rows[row][at.get(name)];
const wordsOf = name => PLAIN[name]?.[0] ?? columnOf(name).title ?? columnOf(name).heading ?? name;
const unitOf = name => columnOf(name).is_share ? 100 : 1;
// the measures of axes, without errors and counts if there are others
const named = [...at.has('park') ? ['beside'] : [], ...measures.filter(name => !/^n_|_(sd|se)$/.test(name))], axes = named.length > 0 ? named : measures;
const saysWhere = name => data.kinds.some(kind => kind.name === name) || ['first', 'far', 'share', 'park', 'beside'].includes(name);
const groups = [['Where a head looks', axes.filter(saysWhere)], ['How it looks', axes.filter(name => !saysWhere(name))]].filter(([, names]) => names.length > 0);
const usual = (names, other) => names.find(name => axes.includes(name)) ?? axes[other] ?? axes[0];
const state = { x: usual(['beside', 'distance'], 0), y: usual(['entropy_norm', 'entropy'], 1), active: -1, open: [] };
const rampOf = () => ramps[isDark() ? 'viridis' : 'blues'];
const kindOf = row => data.heads[row].kind ?? data.kinds.length;
const hueOf = kind => data.kinds[kind]?.hue ?? (isDark() ? '#a0a9b3' : '#5a636d');
const kindWords = row => data.kinds[data.heads[row].kind]?.words;

// Returns round numbers between the ENDS of a measure, and their texts; those of shares are percents.
function ticksOf(name, ends) {
  const unit = unitOf(name), [low, high] = ends.map(x => x * unit), power = Math.floor(Math.log10((high - low) / 4)), distance = [1, 2, 5, 10].map(x => x * 10 ** power).find(x => (high - low) / x <= 6);
  return [...Array(9).keys()].map(i => (Math.ceil(low / distance - 1e-9) + i) * distance).filter(x => x <= high + 1e-9 * distance)
    .map(x => [x / unit, x.toFixed(clamp(-power, 0, 9)).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '').replace('-', '\u2212') + (unit === 100 ? ' %' : '')]);
}

// Returns the ends of a measure, with some room; shares begin at 0.
function endsOf(name) {
  const values = points().map(row => Number(valueOf(row, name)));
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low < 0.4 * high ? 0 : low - room, high + room];
}

const points = () => table.rows.map((_, i) => i).filter(i => data.heads[i] && valueOf(i, state.x) !== null && valueOf(i, state.y) !== null);

// --- The plot -----------------------------------------------------------------------------------

const nodes = new Map(); // the mark of each row
let spots = []; // {row, x, y} in pixels

function drawPlot() {
  const width = clamp(box.clientWidth, 260, 760), height = clamp(Math.round(width * 0.66), 240, 470), shown = points();
  const [x0, x1] = endsOf(state.x), [y0, y1] = endsOf(state.y);
  const x = value => LEFT + (value - x0) / (x1 - x0) * (width - LEFT - RIGHT);
  const y = value => TOP + (1 - (value - y0) / (y1 - y0)) * (height - TOP - BOTTOM);
  const line = (a, b, c, d) => svgEl('line', { class: 'a-grid', x1: a, y1: b, x2: c, y2: d });
  const size = shown.length > 300 ? 0.7 : 1;
  nodes.clear();
  spots = shown.map(row => ({ row, x: x(Number(valueOf(row, state.x))), y: y(Number(valueOf(row, state.y))) }));
  placeNames(width, size);
  const svg = svgEl('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'presentation', class: 'a-svg' },
    ...(shown.length === 0 ? [] : [
      ...ticksOf(state.x, [x0, x1]).flatMap(([tick, text]) => [line(x(tick), TOP, x(tick), height - BOTTOM),
        svgEl('text', { x: x(tick), y: height - BOTTOM + 15, 'text-anchor': 'middle' }, text)]),
      ...ticksOf(state.y, [y0, y1]).flatMap(([tick, text]) => [line(LEFT, y(tick), width - RIGHT, y(tick)),
        svgEl('text', { x: LEFT - 6, y: y(tick) + 4, 'text-anchor': 'end' }, text)])]),
    ...endsOfAxis(state.x, [LEFT, height - 6], [width - RIGHT, height - 6]) ?? [textAt([width - RIGHT, height - 6], 'end', wordsOf(state.x) + ' \u2192')],
    ...endsOfAxis(state.y, [12, height - BOTTOM], [12, TOP], 'rotate(-90)') ?? [textAt([0, 14], 'start', '\u2191 ' + wordsOf(state.y))],
    ...spots.map(spot => {
      const node = svgEl('g', { role: 'option', id: 'a-' + spot.row, class: 'a-point', transform: `translate(${spot.x.toFixed(1)} ${spot.y.toFixed(1)})`,
        'aria-label': tell(spot.row) }, svgEl('path', { d: marks[kindOf(spot.row)], fill: hueOf(data.heads[spot.row].kind), transform: `scale(${size})` }));
      if (spot.name) node.append(nameOf(spot.row, ...spot.name));
      nodes.set(spot.row, node);
      return node;
    }));
  plot.replaceChildren(svg);
  if (!nodes.has(state.active)) state.active = -1;
  drawMarks();
}

const textAt = (place, anchor, words, turn = '') => svgEl('text', { class: 'a-axis', transform: `translate(${place})${turn}`, 'text-anchor': anchor }, words);
// Returns what a head does at the two ends of an axis, if a measure has words for that.
const endsOfAxis = (name, low, high, turn) => PLAIN[name] && [textAt(low, 'start', '\u2190 ' + PLAIN[name][1], turn), textAt(high, 'end', PLAIN[name][2] + ' \u2192', turn)];

const nameOf = (row, x, y, anchor) => svgEl('text', { x, y, 'text-anchor': anchor }, data.heads[row].name);

// Gives points the places of their names, right, left, above or below, where these cover no mark and
// no other name.
function placeNames(width, size) {
  const taken = spots.map(({ x, y }) => [x - 6 * size, y - 6 * size, x + 6 * size, y + 6 * size]);
  for (const spot of spots) {
    const wide = LETTER * data.heads[spot.row].name.length;
    spot.name = [[9, 4, 'start'], [-9, 4, 'end'], [0, -9, 'middle'], [0, 17, 'middle']].find(([x, y, anchor]) => {
      const left = spot.x + x - wide * { start: 0, middle: 0.5, end: 1 }[anchor], box = [left, spot.y + y - 10, left + wide, spot.y + y];
      return left > LEFT && left + wide < width && !taken.some(([x0, y0, x1, y1]) => x0 < box[2] && box[0] < x1 && y0 < box[3] && box[1] < y1) && taken.push(box);
    });
  }
}

// Shows which points are active or have a card.
function drawMarks() {
  for (const { row, x, name } of spots) {
    const isOpen = state.open.includes(row), node = nodes.get(row);
    node.setAttribute('aria-selected', String(isOpen));
    node.classList.toggle('is-open', isOpen);
    node.classList.toggle('is-active', row === state.active);
    if (!name) node.querySelector('text')?.remove();
    if (!isOpen && row !== state.active) continue;
    if (!name) node.append(nameOf(row, ...x > plot.clientWidth - 70 ? [-9, 4, 'end'] : [9, 4, 'start']));
    node.parentNode.append(node); // above the others
  }
  if (state.active >= 0) plot.setAttribute('aria-activedescendant', 'a-' + state.active);
  else plot.removeAttribute('aria-activedescendant');
}

const tell = row => `head ${data.heads[row].name}: ` + [state.x, state.y].map(name => `${wordsOf(name)} ${short(unitOf(name) * valueOf(row, name))}${unitOf(name) === 100 ? ' %' : ''}`).join(', ') +
  (kindWords(row) ? `, looks most at ${kindWords(row)}` : '');

function activate(row) {
  if (row === state.active) return;
  state.active = row;
  said.textContent = row >= 0 ? tell(row) : hint;
  drawMarks();
}

// Returns the point that is nearest to the pointer, if it is near enough.
function pointAt(event) {
  const svg = plot.firstChild, area = svg.getBoundingClientRect(), scale = svg.width.baseVal.value / area.width;
  const px = (event.clientX - area.left) * scale, py = (event.clientY - area.top) * scale;
  const far = spot => Math.hypot(spot.x - px, spot.y - py);
  const nearest = spots.reduce((best, spot) => !best || far(spot) < far(best) ? spot : best, null);
  return nearest && far(nearest) <= REACH ? nearest.row : -1;
}

// Moves to the nearest point in a direction.
function move(dx, dy) {
  const from = spots.find(spot => spot.row === state.active);
  if (!from) { activate(spots.reduce((best, spot) => !best || spot.x < best.x ? spot : best, null)?.row ?? -1); return; }
  const cost = ({ x, y }) => { const along = (x - from.x) * dx + (y - from.y) * dy, aside = Math.abs((x - from.x) * dy) + Math.abs((y - from.y) * dx);
    return along > 0 || along === 0 && aside === 0 ? along + 2 * aside : Infinity; };
  const next = spots.filter(spot => spot.row !== from.row && cost(spot) < Infinity).sort((a, b) => cost(a) - cost(b) || a.row - b.row)[0];
  if (next) activate(next.row);
}

function onKey(event) {
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const byX = [...spots].sort((a, b) => a.x - b.x || a.row - b.row);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (ways[event.key]) move(...ways[event.key]);
  else if (event.key === 'Home') activate(byX[0]?.row ?? -1);
  else if (event.key === 'End') activate(byX.at(-1)?.row ?? -1);
  else if (event.key === 'Enter' || event.key === ' ') { if (state.active >= 0) toggle(state.active); }
  else if (event.key === 'Escape' && state.open.length > 0) close(state.open[0]);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

// --- Cards --------------------------------------------------------------------------------------

function patternOf(head) {
  const canvas = el('canvas', { width: data.side, height: data.side, role: 'img', class: 'a-pattern', 'aria-label':
    `typical pattern of head ${head.name}: mean weights of the first ${data.side} tokens, query down, key across` });
  const context = canvas.getContext('2d'), image = context.createImageData(data.side, data.side), ramp = rampOf();
  const masked = rgbOf(nothing.masked[isDark() ? 'dark' : 'light'][0]);
  [...head.pattern].forEach((letter, i) => {
    const level = Math.round(255 * letters.indexOf(letter) / 63);
    image.data.set(letter === ' ' ? masked : ramp.slice(3 * level, 3 * level + 3), 4 * i);
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function distancesOf(head) {
  const middle = (data.ranges.length - 1) / 2, used = head.distances.map((share, i) => share >= 0.0005 || i === middle ? i : -1).filter(i => i >= 0);
  const first = Math.min(...used), shares = head.distances.slice(first, Math.max(...used) + 1), most = Math.max(...shares, 1e-9);
  const axis = 'distance, % of the weight', pitch = 26, height = 92, width = Math.max(shares.length * pitch, LETTER * axis.length), percent = share => (100 * share).toFixed(0);
  return svgEl('svg', { viewBox: `0 0 ${width} ${height + 36}`, width, height: height + 36, role: 'img', class: 'a-distances', 'aria-label':
    'share of the weight by the distance from key to query: ' + shares.map((share, i) => `${data.ranges[first + i]}: ${percent(share)} %`).join(', ') },
  ...shares.flatMap((share, i) => [
    svgEl('rect', { x: i * pitch + 3, y: 14 + height * 0.84 * (1 - share / most), width: pitch - 6, height: height * 0.84 * share / most }),
    svgEl('text', { x: (i + 0.5) * pitch, y: 10 + height * 0.84 * (1 - share / most), 'text-anchor': 'middle' }, percent(share)),
    svgEl('text', { x: (i + 0.5) * pitch, y: height + 11, 'text-anchor': 'middle' }, data.ranges[first + i])]),
  svgEl('text', { class: 'a-axis', x: 0, y: height + 30 }, axis));
}

const MOST_TOKENS = 60; // of a long text

// Returns the tokens nearest to QUERY and KEY, or to one of them, the other being -1. WEIGHTS are those of the keys among them.
function lineOf(tokens, query, key, weights) {
  const colors = new Map(), shown = new Set(), line = el('p', { class: 'a-text', dir: 'auto' });
  for (let i = 0; i < weights.length; i += 2) colors.set(weights[i], weights[i + 1] / 1000);
  for (let away = 0; away < tokens.length && shown.size < MOST_TOKENS; away++)
    for (const at of [query, key].filter(p => p >= 0).flatMap(p => [p - away, p + away])) if (at in tokens && shown.size < MOST_TOKENS) shown.add(at);
  tokens.forEach((token, i) => {
    if (!shown.has(i)) return i > 0 && !shown.has(i - 1) ? undefined : line.append(el('span', { class: 'a-gap', title: 'tokens are left out' }, '\u2026'));
    const node = el('span', { class: 'token' + (i === query ? ' from' : '') + (i === key ? ' to' : '') }, token);
    tintByWeight(node, rampOf(), colors.get(i));
    return line.append(node);
  });
  return line;
}

function textOf(head, row) {
  const { id, tokens, source = [] } = data.texts[row.text], own = head.is_of_source ? source : tokens, keys = head.is_cross ? source : own;
  return el('li', {}, el('span', { class: 'a-value' }, row.value.toFixed(2)),
    el('span', { class: 'unseen' }, `text ${id}: ${own[row.query].trim()} looks at ${keys[row.key].trim()}; `),
    ...(head.is_cross ? [lineOf(tokens, row.query, -1, []), lineOf(source, -1, row.key, row.weights)]
      : [lineOf(own, row.query, row.key, row.weights)]));
}

// Returns the bar of all weight of a head, and its parts of 5 % or more in words.
function barWithWords(bar) {
  const node = el('div', { class: 'a-bar', 'aria-hidden': 'true' });
  node.style.background = barOf(bar, data.kinds);
  return el('div', {}, node, el('p', { class: 'note' }, barPartsOf(bar, data.kinds).map(({ name, begin, end, isParked }) => [isParked ? 'parked' : name, Math.round(100 * (end - begin))])
    .filter(([, percent]) => percent >= 5).sort((a, b) => b[1] - a[1]).map(([name, percent]) => `${name} ${percent} %`).join(', ')));
}

// The parts of the texts of a card: name, what they are, and what of a head that looks at a source.
const PARTS = [['Strongest', 'the texts with the largest weight on a token where heads do not park',
  'the texts with the largest weight on a token of the source between its first and its last'],
['Middle', 'the texts around the median of this weight'], ['Drawn', 'by chance from the rest']];

function cardOf(row) {
  const head = data.heads[row], id = 'a-card-' + row, closing = el('button', { class: 'a-close', 'aria-label': 'Close the card of head ' + head.name }, '\u2715');
  closing.addEventListener('click', () => { close(row); (cards.querySelector('.a-close') ?? plot).focus(); });
  const change = at.has('change') ? valueOf(row, 'change') : null, error = at.has('change_se') ? valueOf(row, 'change_se') : null;
  const kind = kindWords(row), parts = head.texts.map((rows, i) => rows.length === 0 ? '' : el('section', {},
    el('h4', {}, PARTS[i][0], ' ', el('span', { class: 'note' }, head.is_cross && PARTS[i][2] || PARTS[i][1])),
    el('ol', {}, ...rows.map(text => textOf(head, text)))));
  return el('article', { class: 'a-card', id, 'aria-labelledby': id + '-name' },
    el('header', {}, el('h3', { id: id + '-name' }, 'Head ' + head.name), el('span', { class: 'note' }, kind && !head.is_cross ? 'looks most at ' + kind : ''), closing),
    ...(head.bar && !head.is_cross ? [barWithWords(head.bar)] : []),
    el('div', { class: 'a-top' }, patternOf(head), head.is_cross ? '' : distancesOf(head)),
    ...(change === null ? [] : [el('p', {}, el('b', {}, 'Without it '), `${wordsOf('change')}: ${change < 0 ? '' : '+'}${short(change)}`,
      error === null ? '' : ` (standard error ${short(error)})`)]),
    ...(head.written.length === 0 ? [] : [el('h4', {}, 'Tokens that it writes for its strongest keys'),
      el('dl', { class: 'a-written' }, ...head.written.flatMap(([key, tokens]) => [el('dt', {}, el('bdi', {}, nameOfToken(key))),
        el('dd', {}, ...tokens.flatMap((token, i) => [i > 0 ? ' ' : '', el('bdi', { class: 'a-token' }, nameOfToken(token))]))]))]),
    ...(head.n === 0 ? [el('p', {}, 'No text has a row with another key than parks and the query itself.')] : parts),
    el('details', {}, el('summary', {}, 'All numbers'), el('dl', { class: 'a-numbers' }, ...measures.flatMap(name =>
      [el('dt', {}, name), el('dd', {}, short(valueOf(row, name) === null ? null : Number(valueOf(row, name))))]))));
}

function drawCards() {
  cards.replaceChildren(...state.open.map(cardOf));
  all.hidden = state.open.length < 2;
}

function open(row) {
  if (state.open.includes(row)) return;
  state.open.unshift(row);
  state.active = row;
  cards.prepend(cardOf(row));
  all.hidden = state.open.length < 2;
  drawMarks();
  said.textContent = tell(row);
  live.textContent = `the card of head ${data.heads[row].name} is open`;
  const { stack, layer, head } = Object.fromEntries(['stack', 'layer', 'head'].map(name => [name, at.has(name) ? valueOf(row, name) : undefined]));
  attnQuestion.mark(document.getElementById('question'), { stack, layer, head });
}

function close(row) {
  state.open = state.open.filter(other => other !== row);
  document.getElementById('a-card-' + row)?.remove();
  all.hidden = state.open.length < 2;
  drawMarks();
  live.textContent = `the card of head ${data.heads[row].name} is closed`;
}

const toggle = row => state.open.includes(row) ? close(row) : open(row);

// --- The page -----------------------------------------------------------------------------------

const select = (label, name) => {
  const node = el('select', {}, ...groups.map(([label, names]) => el('optgroup', { label }, ...names.map(value => el('option', { value }, wordsOf(value))))));
  node.value = state[name];
  node.addEventListener('change', () => { state[name] = node.value; drawPlot(); });
  return el('label', {}, label, node);
};
const hint = 'Choose points: press them, or use the arrow keys and Enter.';
const plot = el('div', { class: 'a-plot', tabindex: '0', role: 'listbox', 'aria-multiselectable': 'true',
  'aria-label': 'Heads as points: arrow keys move, Enter opens or closes a card' });
const said = el('p', { class: 'a-said note' }, hint), live = el('p', { class: 'unseen', 'aria-live': 'polite' });
const box = el('div', { class: 'a-box' }), cards = el('div', { class: 'a-cards' });
const all = el('button', { hidden: '' }, 'Close all');
const heads = el('select', {}, el('option', { value: '' }, 'choose'), ...data.heads.map((head, i) => head ? el('option', { value: i }, head.name) : ''));
const counts = [...data.kinds, null].map((_, kind) => data.heads.filter((head, row) => head && kindOf(row) === kind).length);
const legend = el('ul', { class: 'a-legend', 'aria-label': 'Kinds of heads' }, ...counts.flatMap((n, kind) => n === 0 ? [] : [el('li', {},
  svgEl('svg', { viewBox: '-8 -8 16 16', width: 16, height: 16, 'aria-hidden': 'true' }, svgEl('path', { class: 'a-mark', d: marks[kind], 'data-kind': kind })),
  ` ${data.kinds[kind] ? data.kinds[kind].name + ': ' + data.kinds[kind].words : 'no kind'} `, el('span', { class: 'note' }, String(n)))]));

heads.addEventListener('change', () => { if (heads.value !== '') { open(Number(heads.value)); heads.value = ''; } });
all.addEventListener('click', () => { state.open = []; drawCards(); drawMarks(); plot.focus(); });
plot.addEventListener('keydown', onKey);
plot.addEventListener('focus', () => { if (state.active < 0 && plot.matches(':focus-visible')) move(1, 0); });
plot.addEventListener('pointermove', event => { if (event.pointerType === 'mouse') { const row = pointAt(event); if (row >= 0) activate(row); plot.classList.toggle('is-near', row >= 0); } });
plot.addEventListener('click', event => { const row = pointAt(event); if (row >= 0) toggle(row); });

function draw() {
  for (const mark of legend.querySelectorAll('.a-mark')) mark.setAttribute('fill', hueOf(Number(mark.dataset.kind)));
  drawPlot();
  drawCards();
}

place.hidden = false;
place.setAttribute('aria-label', 'Atlas of heads');
box.append(plot, said, legend);
place.replaceChildren(el('div', { class: 'bar' }, el('div', { class: 'group' }, select('Across ', 'x'), select('Up ', 'y')),
  el('div', { class: 'group' }, el('label', {}, 'Card of ', heads), all),
  el('span', { class: 'note' }, `${data.n_text} text${data.n_text === 1 ? '' : 's'}` + (data.has_all ? '' : '; middle and drawn ones of 256 by chance'))),
el('div', { class: 'a-body' }, box, cards), live);
// opens the card of the head with the largest weight in its typical text
const typicalOf = row => (data.heads[row].texts[1][0] ?? data.heads[row].texts[0].at(-1))?.value ?? 0;
state.open = points().sort((a, b) => typicalOf(b) - typicalOf(a)).slice(0, 1);
draw();
document.getElementById('question').addEventListener('attn-choose', ({ detail }) => {
  const row = table.rows.findIndex((_, i) => ['stack', 'layer', 'head'].every(name => !at.has(name) || valueOf(i, name) === detail[name]));
  if (nodes.has(row)) activate(row);
});
prefersDark.addEventListener('change', draw);
addEventListener('resize', drawPlot);
addEventListener('beforeprint', draw);
addEventListener('afterprint', draw);
new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
})();
