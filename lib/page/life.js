// life.js - the life of a word, a tab of the stage: the stream of a position is a line from the word
// up to the answer, with the best token of each layer. From the left, ribbons enter it from the words
// that heads read, from the right what the MLPs add, and the rest in grey. The height of a ribbon is
// what it adds to the logit of the answer, so that all add up to it. A press on a ribbon removes it:
// the head does not look at the word, or the MLP adds nothing at the position. The numbers are those
// of `attn-cli lens` and `attribute` (live.js), the picture that of `--figure life`.
'use strict';
globalThis.attnLife = ({ viewer, t, rowsOf, shown, without, isSame, toggle, tellOf }) => {
const { $, state } = viewer, { el, svgEl, written } = attnPage, still = matchMedia('(prefers-reduced-motion: reduce)');
const N_ANSWER = 6; // answers that are offered
const LEFT = 34, TOP = 16, FOOT = 22, SLANT = 62; // px around the picture; SLANT: below it for slanted words
const PILL = 24, LEAST_BAND = 16; // px of a layer for its token, and for its ribbons beyond their heights
const LEAST_TALL = 20; // px of a layer, if all fit
const MOST_PITCH = 170, LEAST_PITCH = 44; // px between words
const LEAST_SHOWN = 0.6, LEAST_NAMED = 11; // px of ribbons that are drawn, and that have a number
const NEAR = 14, LEAST_HIGH = 8; // px around a ribbon that can be pressed, and of a low one
const LINE = 14; // px between numbers
const MOST_LETTERS = 12;

let isOpen = false, answer = null, foil = null; // ids; null: the model's own answer, none
let found = null, asked = '', number = 0; // the tables that are drawn, what they are of
let ribbons = [], focused = '', painted = null;

const short = text => text.length > MOST_LETTERS ? text.slice(0, MOST_LETTERS - 1) + '\u2026' : text;
const signed = x => (x > 0 ? '+' : '') + written(viewer.run.numbers.measure, x);
const percent = p => written(viewer.run.numbers[p < 0.01 ? 'chance' : 'share'], p);
const nameOf = token => (token ?? '').trim() || JSON.stringify(token ?? '').slice(1, -1).replaceAll(' ', '\u00b7');
const sum = list => list.reduce((all, x) => all + x, 0);

// --- What is asked ------------------------------------------------------------------------------

// The edits that remove what enters the stream at position P, by the list that has them.
const edits = p => [
  ['knockouts', new RegExp(`^${p}>(\\d+)@(\\d+)\\.(\\d+)$`), ([k, layer, head]) => ({ layer, head, key: k })],
  ['rescales', new RegExp(`^pattern:(\\d+)\\.(\\d+)@${p}=0$`), ([layer, head]) => ({ layer, head, key: p })],
  ['rescales', new RegExp(`^mlp_out:(\\d+)@${p}=0$`), ([layer]) => ({ layer })]];

// Returns the ribbons that the changes WHAT remove.
const removedIn = (what, p) => edits(p).flatMap(([list, pattern, read]) => what[list].map(text => [text, pattern.exec(text)]).filter(([, match]) => match)
  .map(([text, match]) => ({ value: 0, ...read(match.slice(1).map(Number)), edit: [list, text], isRemoved: true })));

// Returns the edit that removes a ribbon. A query that sees no other key cannot lose this one.
function editOf({ layer, head, key }, p) {
  if (head === undefined) return ['rescales', `mlp_out:${layer}@${p}=0`];
  const isAlone = found.cells.filter(cell => cell.layer === layer && cell.head === head).length === 1;
  return isAlone ? ['rescales', `pattern:${layer}.${head}@${p}=0`] : ['knockouts', `${p}>${key}@${layer}.${head}`];
}

// Finds the tables for position P and shows them, unless something else is asked in the meantime.
async function find(what, p) {
  const mine = ++number, lensOf = changes => rowsOf('lens', [['queries', p], ['top', N_ANSWER]], changes);
  const lastOf = rows => rows.slice(rows.findLastIndex(row => row.place === 1));
  try {
    const lens = await lensOf(what), plain = isSame(what, without(what)) ? lens : mine === number && await lensOf(without(what));
    if (mine !== number) return;
    const answers = [...new Map([...lastOf(plain), ...lastOf(lens)].map(row => [row.id, row.token ?? String(row.id)]))];
    const target = answer ?? answers[0][0];
    const about = [['target-id', target], ...foil === null || foil === target ? [] : [['foil-id', foil]], ['at', p]];
    const parts = await rowsOf('attribute', about, what);
    const cells = mine === number && await rowsOf('attribute', [...about, ['by', 'token'], ['limit', 1000000]], what);
    if (mine !== number) return;
    found = { p, lens: lens.filter(row => row.place === 1), answers, target, parts, cells, removed: removedIn(what, p) };
    draw();
  } catch (problem) {
    if (mine !== number) return;
    found = { problem };
    tellOf(problem);
    draw();
  }
}

// --- Ribbons ------------------------------------------------------------------------------------

// Returns what enters each layer; rests are what the cells of heads and MLPs leave of it. Layer -1
// is before the first.
function readParts({ parts, cells, removed }) {
  const data = parts.filter(row => !['sum', 'model'].includes(row.part)), n = 1 + Math.max(...cells.map(row => row.layer), ...data.map(row => row.layer ?? 0));
  const isMlp = row => row.part === 'mlp', here = (rows, layer) => rows.filter(row => (row.layer ?? -1) === layer);
  const list = cells.map(({ layer, head, key, value }) => ({ layer, head, key, value }));
  for (const { layer, value } of data.filter(isMlp)) if (!removed.some(one => one.layer === layer && one.head === undefined)) list.push({ layer, value });
  const rests = Array.from({ length: n + 1 }, (_, i) => ({ layer: i - 1, isRest: true,
    value: sum(here(data.filter(row => !isMlp(row)), i - 1).map(row => row.value)) - sum(here(cells, i - 1).map(row => row.value)) }));
  return { n, list: [...list, ...removed], rests };
}

const isLeft = ribbon => ribbon.head !== undefined;
const idOf = ({ layer, head, key, isRest }) => isRest ? 'rest' + layer : [layer, head, key].join();

// Chooses the words that are shown, and gives ribbons their heights: those that would be too low
// join the rest of their layer.
function plan({ p }, { n, list, rests }, width, height) {
  const right = width < 480 ? 92 : 130, room = width - LEFT - right, token = new Map(found.cells.map(row => [row.key, row.token]));
  const most = Math.max(1, Math.floor(room / LEAST_PITCH)), weight = new Map();
  const side = (layer, left) => sum([...list, ...rests].filter(one => one.layer === layer && isLeft(one) === left).map(one => Math.abs(one.value)));
  const sizes = rests.map(({ layer }) => Math.max(side(layer, true), side(layer, false))), foot = room / Math.min(token.size, most) < 74 ? SLANT : FOOT;
  const free = height - TOP - foot - n * (PILL + LEAST_BAND), scale = Math.max(free, n * LEAST_TALL) / (sum(sizes) || 1);
  for (const one of list) if (isLeft(one) && one.key !== p) weight.set(one.key, Math.max(weight.get(one.key) ?? 0, one.isRemoved ? Infinity : Math.abs(one.value)));
  const keys = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a) || a - b);
  const places = keys.filter((k, i) => weight.get(k) === Infinity || i < most && (weight.size <= most || weight.get(k) * scale >= LEAST_SHOWN)).sort((a, b) => a - b);
  const isShown = one => one.isRemoved || Math.abs(one.value) * scale >= LEAST_SHOWN && (!isLeft(one) || one.key === p || places.includes(one.key));
  for (const one of list) if (!isShown(one)) rests[one.layer + 1].value += one.value;
  const pitch = Math.min(MOST_PITCH, room / Math.max(1, places.length)), end = Math.min(width - right, LEFT + pitch * (places.length || 0.6));
  // the upper end of each layer, and its middle
  const ends = [], middles = [];
  for (let y = TOP, layer = n - 1; layer >= 0; layer--) {
    ends[layer] = y;
    middles[layer] = y + (PILL + LEAST_BAND + scale * sizes[layer + 1]) / 2;
    y += PILL + LEAST_BAND + scale * sizes[layer + 1];
    ends[layer - 1] = y;
  }
  const bottom = ends[-1] + scale * sizes[0], layerLow = layer => layer < 0 ? bottom : middles[layer] + scale * sizes[layer + 1] / 2;
  const x = k => k === p ? end : end - (places.length - places.indexOf(k)) * pitch;
  return { n, p, end, places, pitch, foot, scale, layerLow, ends, middles, x, right, height: bottom + foot, shown: [...list.filter(isShown), ...rests] };
}

// Gives each ribbon its corners: from x, y to x2, y2, and its height. Y is that of its upper edge.
function place(plan) {
  const { shown, scale, layerLow, middles, x, end, p } = plan, root = plan.right < 100 ? 22 : 34;
  const order = (a, b) => isLeft(b) - isLeft(a) || (a.isRest ?? 0) - (b.isRest ?? 0) || a.key - b.key || a.head - b.head;
  const tops = new Map();
  return shown.sort((a, b) => a.layer - b.layer || order(a, b)).map(one => {
    const size = Math.abs(one.value) * scale, from = one.layer + ',' + (isLeft(one) ? one.key : ''), side = one.layer + ',' + isLeft(one);
    const begin = isLeft(one) ? middles[one.layer] + shown.filter(other => other.layer === one.layer && isLeft(other) && other.key === one.key)
      .reduce((all, other) => all + Math.abs(other.value) * scale, 0) / 2 : layerLow(one.layer);
    const y = (tops.get(from) ?? begin) - size, y2 = (tops.get(side) ?? layerLow(one.layer)) - size;
    tops.set(from, y);
    tops.set(side, y2);
    const isRoot = !isLeft(one) || one.key === p;
    return { ...one, size, y2, x: isRoot ? end + (isLeft(one) ? -root : root) : x(one.key), y: isRoot ? y2 : y, x2: end };
  });
}

// Returns the words for a ribbon.
function sayRibbon({ layer, head, key, value, isRest, isRemoved }) {
  const word = nameAt(key);
  if (isRest) return t(layer < 0 ? 'the word and its position write {}' : 'the rest of layer {} writes {}', ...layer < 0 ? [] : [layer], signed(value));
  if (isRemoved) return head === undefined ? t('MLP {}, removed', layer) : t('head {} from {}, removed', layer + '.' + head, word);
  return head === undefined ? t('MLP {} writes {}', layer, signed(value)) : t('head {} from {} writes {}', layer + '.' + head, word, signed(value));
}

const nameAt = k => nameOf(found.cells.find(row => row.key === k)?.token ?? viewer.run.tokens[k]);

// --- Drawing ------------------------------------------------------------------------------------

const shapeOf = ({ x, y, x2, y2, size }) => `M${x} ${y.toFixed(2)}L${x2} ${y2.toFixed(2)}L${x2} ${(y2 + size).toFixed(2)}L${x} ${(y + size).toFixed(2)}Z`;

const text = (x, y, kind, words, more) => svgEl('text', { x, y, class: kind, ...more }, words);

const nodes = new Map(); // of ribbons, by id, so that they move

function ribbonNode(one, moves) {
  const id = idOf(one), old = nodes.get(id), d = shapeOf(one);
  const node = old ?? svgEl('path', { id: 'life-' + id.replaceAll(',', '-') });
  const isChosen = one.size > 4 && isLeft(one) && viewer.run.heads[state.h]?.at === one.layer + '.' + one.head;
  const kind = one.isRest ? 'rest' : one.isRemoved ? 'gone' : one.value < 0 ? 'less' : 'more';
  node.setAttribute('class', kind + (isChosen ? ' chosen' : ''));
  if (old && moves && !still.matches && old.getAttribute('d') !== d)
    node.animate?.({ d: [old.getAttribute('d'), d].map(path => `path("${path}")`) }, { duration: 350, easing: 'ease-out' });
  node.setAttribute('d', d);
  Object.assign(node.dataset, { value: one.value, size: one.size });
  node.setAttribute('aria-label', sayRibbon(one));
  if (one.isRest) node.setAttribute('role', 'img');
  else Object.entries({ role: 'button', tabindex: id === focused ? 0 : -1 }).forEach(pair => node.setAttribute(...pair));
  return node;
}

// Writes numbers on ribbons that are high enough, and beside those at the right.
function numbersOf(list) {
  const taken = new Map(), out = [];
  for (const one of list) {
    if (isLeft(one)) {
      if (one.size >= LEAST_NAMED && one.x2 - one.x > 90)
        out.push(text(one.x + 0.3 * (one.x2 - one.x), one.y + 0.3 * (one.y2 - one.y) + one.size / 2 + 4, 'on', `${one.layer}.${one.head} ${signed(one.value)}`));
      continue;
    }
    if (one.isRest && one.size < 0.5) continue;
    const y = Math.min(one.y2 + one.size / 2 + 4, (taken.get(one.layer) ?? Infinity) - LINE);
    taken.set(one.layer, y);
    out.push(text(one.x + 5, y, 'beside', (one.isRest ? t('rest') : 'MLP') + (one.isRemoved ? '' : ' ' + signed(one.value))));
  }
  return out;
}

// Returns the words below the picture, and how many are left out between them.
function wordsOf({ places, p, x, height, foot, pitch }) {
  const shown = [...places, p], y = height - foot + 14;
  return shown.flatMap((k, i) => {
    const left = i === 0 ? Math.min(k, p) : Math.abs(k - shown[i - 1]) - 1, at = x(k);
    const label = text(at, y, k === p ? 'word own' : 'word', short(nameAt(k)), foot === SLANT ? { transform: `rotate(-40 ${at} ${y})`, 'text-anchor': 'end' } : {});
    if (k !== p) label.addEventListener('click', () => viewer.set({ q: k, k: -1 }));
    return [svgEl('line', { x1: at, x2: at, y1: TOP, y2: height - foot, class: k === p ? 'stream' : 'word' }), label,
      ...left > 0 && i > 0 ? [text(at - pitch / 2, height - foot + 14, 'gap', '\u2026' + left)] : []];
  });
}

// Returns the best token of each layer on the stream.
const pillsOf = ({ end, ends, n }) => found.lens.slice(1).map((row, i) => {
  const words = `${short(nameOf(row.token ?? String(row.id)))} ${percent(row.prob)}`, y = ends[i], wide = 14 + 7.2 * words.length;
  return svgEl('g', { class: i === n - 1 ? 'pill last' : 'pill' }, svgEl('rect', { x: end - wide / 2, y: y - 10, width: wide, height: 20, rx: 10 }), text(end, y + 4, '', words));
});

// Fills a list of answers.
function fillSelect(id, entries, value) {
  const isThere = entries.some(([key]) => key === value);
  $(id).replaceChildren(...[...entries, ...isThere ? [] : [[value, '#' + value]]].map(([key, name]) => el('option', { value: key ?? '' }, name)));
  $(id).value = value ?? '';
}

// Writes the sum of the ribbons, and what the model says if that is not the answer.
function drawSum(list) {
  const total = sum(list.map(one => one.value)), last = found.lens.at(-1);
  $('life-sum').replaceChildren(t('All ribbons add up to {}.', written(viewer.run.numbers.measure, total)),
    ...last.id === found.target ? [] : [' ', t('The model now says {}.', nameOf(last.token)), ' '], ' ', t('Press one to remove it.'));
}

// Draws the tables that were found, in the space that is there.
function paint(moves) {
  const place_ = $('life-picture');
  if (found.problem) {
    place_.replaceChildren(el('p', {}, found.problem.message));
    $('life-sum').textContent = '';
    return;
  }
  const made = plan(found, readParts(found), place_.clientWidth, parseFloat(getComputedStyle(place_).minHeight)), hadFocus = place_.contains(document.activeElement);
  ribbons = place(made);
  const buttons = ribbons.filter(one => !one.isRest);
  if (!buttons.some(one => idOf(one) === focused)) focused = buttons.length > 0 ? idOf(buttons.at(-1)) : '';
  const kept = ribbons.map(one => [idOf(one), ribbonNode(one, moves)]), [there, gone] = [false, true].map(isIt => kept.map(pair => pair[1]).filter(node => node.classList.contains('gone') === isIt));
  nodes.clear();
  for (const pair of kept) nodes.set(...pair);
  const svg = svgEl('svg', { width: made.end + made.right, height: made.height, role: 'group', 'aria-label': t('What each layer adds to the answer'), 'data-scale': made.scale },
    ...wordsOf(made), ...there, ...gone,
    ...Array.from({ length: made.n }, (_, i) => text(LEFT - 10, made.middles[i] + 4, 'layer', i)),
    ...pillsOf(made), ...numbersOf(ribbons));
  listen(svg);
  place_.replaceChildren(svg);
  if (hadFocus) nodes.get(focused)?.focus({ preventScroll: true });
  drawSum(ribbons);
  say(hadFocus && ribbons.find(one => idOf(one) === focused));
}

// Shows the numbers of a ribbon, or what the colors mean.
function say(one) {
  for (const node of nodes.values()) node.classList.toggle('near', one && node === nodes.get(idOf(one)));
  $('life-said').replaceChildren(...one ? [sayRibbon(one)] : [['more', 'for the answer'], ['less', 'against it'], ['rest', 'rest']].flatMap(([kind, words]) =>
    [el('i', { class: kind }), t(words), ' ']));
}

// --- Presses ------------------------------------------------------------------------------------

function press(one) {
  if (!one || one.isRest) return;
  focused = idOf(one);
  nodes.get(focused).classList.toggle('gone', !one.isRemoved); // at once; the worker takes longer
  const [list, edit] = one.edit ?? editOf(one, found.p);
  toggle(edit, list);
}

// Returns the ribbon that is nearest to the pointer; of those under it the lowest. Low ones reach
// beyond their edges.
function nearest(event) {
  const box = $('life-picture').firstChild.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const far = one => {
    const [from, to] = [Math.min(one.x, one.x2), Math.max(one.x, one.x2)], share = Math.max(0, Math.min(1, (x - one.x) / (one.x2 - one.x)));
    const top = one.y + share * (one.y2 - one.y), more = Math.max(0, LEAST_HIGH - one.size) / 2;
    return Math.max(0, from - x, x - to, top - y - more, y - top - one.size - more);
  };
  return ribbons.filter(one => !one.isRest).map(one => [far(one), one]).filter(([d]) => d <= NEAR).sort(([a, one], [b, two]) => a - b || one.size - two.size)[0]?.[1];
}

const ribbonAt = node => ribbons.find(one => !one.isRest && nodes.get(idOf(one)) === node);

function listen(svg) {
  svg.addEventListener('pointermove', event => {
    const one = nearest(event);
    svg.style.cursor = one ? 'pointer' : '';
    say(one);
  });
  svg.addEventListener('pointerleave', () => say(null));
  svg.addEventListener('click', event => press(event.detail === 0 ? ribbonAt(event.target) : nearest(event)));
  svg.addEventListener('focusin', event => {
    const one = ribbonAt(event.target);
    if (!one) return;
    nodes.get(focused)?.setAttribute('tabindex', -1);
    focused = idOf(one);
    event.target.setAttribute('tabindex', 0);
    say(one);
  });
  svg.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key], list = ribbons.filter(one => !one.isRest);
    const at = list.findIndex(one => idOf(one) === focused);
    if (event.ctrlKey || event.metaKey || event.altKey || at < 0 || !step && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation(); // not a key for the workbench
    if (step) nodes.get(idOf(list[Math.max(0, Math.min(list.length - 1, at + step))])).focus();
    else press(list[at]);
  });
}

// --- All of it ----------------------------------------------------------------------------------

// Draws the life of the chosen word, if it is open. What is not known yet is asked.
function draw() {
  const what = shown(), isShown = isOpen && what.source === null;
  $('life-tabs').hidden = what.source !== null; // a translator has two stacks of layers
  $('live-stage').classList.toggle('living', isShown);
  for (const [id, isIt] of [['life-words', !isShown], ['life-open', isShown]]) $(id).setAttribute('aria-pressed', String(isIt));
  if (!isShown) return;
  const p = viewer.tokensAt(Math.max(0, state.q), false)[1], key = JSON.stringify([what, p, answer, foil]);
  fillSelect('life-word', viewer.run.tokens.map((_, q) => [q, `${nameOf(viewer.nameAt(q, false))} (${q})`]), Math.max(0, state.q));
  if (key !== asked) {
    asked = key;
    find(what, p);
    return;
  }
  if (!found) return;
  if (found.answers) {
    fillSelect('life-answer', found.answers.map(([id, name]) => [id, nameOf(name)]), found.target);
    fillSelect('life-foil', [[null, t('nothing')], ...found.answers.filter(([id]) => id !== found.target).map(([id, name]) => [id, nameOf(name)])], foil);
  }
  paint(found !== painted);
  painted = found;
}

function open(isIt) {
  isOpen = isIt;
  viewer.set({});
}

// Reads the part of the address, "best" or "1048,1163": answer and foil. Null: not open.
function read(part) {
  isOpen = part !== null;
  [answer = null, foil = null] = (part ?? '').split(',').map(id => /^\d+$/.test(id) ? Number(id) : null);
}

const hashParts = () => isOpen ? ['life=' + [answer ?? 'best', ...foil === null ? [] : [foil]].join()] : [];

function make() {
  const tab = (id, name, isIt) => {
    const node = el('button', { id, type: 'button', 'aria-pressed': String(!isIt) }, t(name));
    node.addEventListener('click', () => open(isIt));
    return node;
  };
  const select = (id, name, take) => {
    const node = el('select', { id });
    node.addEventListener('change', () => { take(node.value === '' ? null : Number(node.value)); viewer.set({}); });
    return el('label', {}, t(name) + ' ', node);
  };
  $('stage-workbench').before(el('span', { id: 'life-tabs', class: 'tabs', role: 'group', 'aria-label': t('Picture') }, tab('life-words', 'Words', false), tab('life-open', 'Life', true)));
  $('stage-sentence').after(el('div', { id: 'stage-life', role: 'group', 'aria-label': t('Life of a word') },
    el('div', { id: 'life-asked' }, select('life-word', 'Life of', q => viewer.set({ q, k: -1 })), select('life-answer', 'up to', id => { answer = id; }),
      select('life-foil', 'instead of', id => { foil = id; })),
    el('div', { id: 'life-picture' }), el('p', { id: 'life-said', 'aria-hidden': 'true' }), el('p', { id: 'life-sum', role: 'status' })));
  new ResizeObserver(() => { if (isOpen && found) paint(); }).observe($('life-picture'));
}

return { make, draw, read, hashParts };
};
