// stage.js - the first view of a live page: the sentence in large words, arcs from the word under
// the pointer to the words that the chosen head looks at, the next words as bars, and a strip of
// heads. For a head that looks from a translation at its source: a map between the two lines of
// words. A press on a head switches it off, a press on an arc shows why it is there. Weights, measures and probabilities are those of the
// run that the viewer shows (viewer.js, live.js).
'use strict';
globalThis.attnStage = ({ viewer, asked, t, button, toggleHead, write, goOn, expectedHere, measuresHere, tellWhy, lent }) => {
const { $, state } = viewer, { el, svgEl, written } = attnPage, still = matchMedia('(prefers-reduced-motion: reduce)');

// The kinds of heads, by where they look most. Order and hues are those of attn-cli's map of heads
// (lib/analysis/head_kind.h): five hues of Okabe and Ito.
const KINDS = [['previous', 'p', '#0072b2'], ['first', '1', '#e69f00'], ['self', 's', '#009e73'], ['induction', 'i', '#d55e00'],
  ['far', 'f', '#56b4e9']];
// The kinds of layers of a translator, and where their heads look.
const STACKS = [['cross', 'at the source'], ['decoder', 'in the translation'], ['encoder', 'in the source']];
const SIZES = [80, 69, 60, 52, 45, 39, 34, 30, 26, 23, 20, 18, 16]; // of the words, in px
const LEAST_LINE = 24; // minimum px of words if the sentence is on one line
const WIDEST = 18; // px width of an arc of weight 1
const NUMBER = 24; // px below a large word for its weight
const NEAR = 22; // px width of the place around an arc that can be pressed
const LEAST = 0.02; // smaller weights have no arc
const MOST_WORDS = 6; // maximum number of next words

// Explanations of words on the stage, from the manual's glossary.
const TERMS = {
  token: 'A tokenizer cuts a text into tokens: words, parts of words, marks. Each has a number, its id. Its place in the text is its position, from 0.',
  head: 'A model is a stack of layers. The attention of a layer has several heads, which compute independently and are added. 2.5 is head 5 of layer 2; both count from 0.',
  weight: 'The attention weights of a head, a matrix: a row for each query, a column for each key. The softmax makes each row of scores a row of weights, which add up to 1.',
  'next token': 'The score of a token as the next one, before the softmax that makes probabilities.',
  'switched off': 'Switching a part off, for instance by setting z of a head to 0, to see the change.',
};

const nameOf = h => viewer.run.heads[h].at;
// "cross 2.5"
const shownName = h => nameOf(h).replace(':', ' ');
const isCross = h => Boolean(viewer.run.heads[h].is_source);
// the text of a key of a head
const keyAt = (h, k) => viewer.nameAt(k, isCross(h));
const isOff = h => Boolean(asked.off[nameOf(h)]);
const textAt = p => viewer.nameAt(p, false);

// Returns the kind of a head, that with the largest measure, and the measure. A head is only of
// kind induction with at least two rows of induction.
function kindOf(measures) {
  const value = name => name === 'induction' && !(measures.n_induction >= 2 && measures.induction >= 0.3) ? -1 : measures[name] ?? -1;
  const kind = KINDS.reduce((best, one) => value(one[0]) > value(best[0]) ? one : best);
  return { kind, strength: Math.max(0, value(kind[0])) };
}

// Returns TEMPLATE in the language of the page, with NODES in place of its {}.
const phrase = (template, ...nodes) => t(template, ...nodes.map(() => '{}')).split('{}').flatMap((text, i) => i === 0 ? [text] : [nodes[i - 1] ?? '', text]);

// --- Terms --------------------------------------------------------------------------------------

// Returns a node with TEXT that shows its explanation when it has the pointer or the focus.
function term(name, text) {
  const node = el('button', { class: 'term', type: 'button', 'aria-describedby': 'stage-tip' }, t(text));
  const show = () => {
    const box = node.getBoundingClientRect(), tip = $('stage-tip');
    tip.textContent = t(TERMS[name]);
    tip.hidden = false;
    tip.style.left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = (box.bottom + 6 + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 6 : box.bottom + 6) + 'px';
  };
  const hide = () => { $('stage-tip').hidden = true; };
  for (const event of ['pointerenter', 'focus', 'click']) node.addEventListener(event, show);
  for (const event of ['pointerleave', 'blur']) node.addEventListener(event, hide);
  node.addEventListener('keydown', event => event.key === 'Escape' && hide());
  return node;
}

// --- The sentence -------------------------------------------------------------------------------

let words = []; // nodes, by position
// the chosen head decides it; one under the pointer is not shown if it needs the other kind of picture
const isMap = () => isCross(state.h);
let wordsOf = ''; // the texts that they show
let over = {}; // what the pointer is on: a position q or a head h
let number = 0, grown = '';

const lookedAt = () => ({ q: Math.min(over.q ?? state.q, words.length - 1), h: over.h === undefined || !isLike(over.h) ? state.h : over.h });

// Returns true if a head has the same rows and columns of words as the chosen one.
const isLike = h => ['rows', 'cols', 'is_source', 'is_encoder'].every(key => viewer.run.heads[h][key] === viewer.run.heads[state.h][key]);

// Sets what the pointer is on while it is on NODE, or on an arc that begins there, and redraws the
// arcs.
function follow(node, what) {
  const enter = event => { if (event.pointerType !== 'touch') { over = what; drawArcs(); } };
  node.addEventListener('pointerenter', enter);
  node.addEventListener('pointerleave', leave);
}

function leave({ relatedTarget }) {
  if (relatedTarget?.closest?.('#stage-near')) return;
  over = {};
  drawArcs();
}

// Gives one of NODES_OF() the tab stop. Arrow keys move it; STEP_TO returns the index of the next
// node for a step [down, across].
function rove(place, nodesOf, stepTo) {
  place.addEventListener('keydown', event => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const nodes = nodesOf(), at = nodes.indexOf(document.activeElement);
    if (event.ctrlKey || event.metaKey || event.altKey || at < 0) return;
    // not a key for the workbench
    if (step || event.key === 'Enter' || event.key === ' ') event.stopPropagation();
    if (!step) return;
    event.preventDefault();
    nodes[stepTo(at, step)]?.focus();
  });
}

function makeWord(p) {
  const node = el('button', { class: 'stage-word', type: 'button' }, el('bdi', {}, textAt(p)), el('small', { 'aria-hidden': 'true' }));
  follow(node, { q: p });
  node.addEventListener('focus', () => { if (state.q !== p) viewer.set({ q: p, k: -1 }); });
  node.addEventListener('click', () => viewer.set({ q: p, k: -1 }));
  return node;
}

// Makes the nodes of words anew if their texts have changed. Tokens of one word stay together.
function drawWords() {
  const { run } = viewer, texts = run.tokens.map((_, p) => textAt(p)), key = texts.join('\0');
  $('stage-sentence').classList.toggle('mapped', isMap());
  if (isMap()) {
    makeMap(texts, run.source_tokens.map((_, k) => viewer.nameAt(k, true)));
    wordsOf = '';
    return false;
  }
  if (key === wordsOf) return false;
  wordsOf = key;
  mapOf = '';
  words = run.tokens.map((_, p) => makeWord(p));
  const begins = new Set(state.words || !run.words ? words.keys() : run.words), groups = [];
  words.forEach((node, p) => {
    if (p === 0 || begins.has(p)) groups.push(el('span', { class: 'stage-whole' }));
    groups.at(-1).append(node);
  });
  $('stage-words').replaceChildren(...groups.flatMap(group => [group, ' ']));
  return true;
}

// Chooses the largest size in which the sentence fits its place; on one line, if the words are then
// large enough.
function fitWords() {
  const place = $('stage-sentence'), isFit = size => {
    place.style.fontSize = size + 'px';
    return place.scrollHeight <= place.clientHeight && place.scrollWidth <= place.clientWidth;
  };
  $('stage-arcs').style.height = 0; // arcs of larger words would count as overflow
  const isLine = size => isFit(size) && words[0]?.offsetTop === words.at(-1)?.offsetTop;
  if (!SIZES.some(size => size >= LEAST_LINE && isLine(size))) SIZES.find(isFit);
}

// Returns the place of a word in the sentence: the middle, the top and the bottom of its box.
function boxOf(node, frame) {
  const { left, right, top, bottom } = node.firstChild.getBoundingClientRect();
  return { x: (left + right) / 2 - frame.left, top: top - frame.top, bottom: bottom - frame.top + (bottom - top > NUMBER ? NUMBER : 0) };
}

// Returns a path from one word to another: above both if they are on the same line, otherwise
// between their lines.
function pathBetween(from, to, room) {
  if (from === to) return `M${from.x - 13} ${from.top}c-18 -36 44 -36 26 0`;
  if (Math.abs(from.top - to.top) < 4) {
    const high = Math.min(room, 22 + Math.abs(from.x - to.x) * 0.3) / 0.75; // for a cubic curve
    return `M${from.x} ${from.top}C${from.x} ${from.top - high} ${to.x} ${to.top - high} ${to.x} ${to.top}`;
  }
  const [y0, y1] = from.top > to.top ? [from.top, to.bottom] : [from.bottom, to.top], middle = (y0 + y1) / 2;
  return `M${from.x} ${y0}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${y1}`;
}

// If the sentence is longer than its place, scrolls it to the query and to the marked key.
function bringIntoView(...boxes) {
  const place = $('stage-sentence'), shown = boxes.filter(Boolean);
  const top = Math.min(...shown.map(box => box.top)) - NUMBER, bottom = Math.max(...shown.map(box => box.bottom)) + NUMBER;
  if (bottom > place.scrollTop + place.clientHeight) place.scrollTop = bottom - place.clientHeight;
  if (top < place.scrollTop) place.scrollTop = top;
}

// --- The map of a translation -------------------------------------------------------------------

let mapOf = ''; // the texts that the map shows

// Makes the map of a head between two texts: the words of the source across, those of the
// translation down.
function makeMap(rows, columns) {
  const key = [...rows, '', ...columns].join('\0');
  if (key === mapOf) return;
  mapOf = key;
  words = rows.map((_, p) => makeWord(p));
  const table = el('table', { id: 'stage-map' },
    el('thead', {}, el('tr', {}, el('td', {}), ...columns.map(text => el('th', { scope: 'col' }, el('bdi', {}, text), el('small', { 'aria-hidden': 'true' }))))),
    el('tbody', {}, ...words.map((node, q) => {
      const row = el('tr', {}, el('th', { scope: 'row' }, node), ...columns.map(() => el('td', {}, el('span', { class: 'unseen' }))));
      follow(row, { q });
      return row;
    })));
  $('stage-words').replaceChildren(table);
}

// Fills the map with weights, and marks the row of the query.
function drawMap(h, q, weights) {
  const { rows, cols } = viewer.run.heads[h], percent = w => written(viewer.run.numbers.share, w), table = $('stage-map');
  const row = weights.subarray(q * cols, (q + 1) * cols), room = $('stage-sentence').clientWidth;
  const cell = Math.max(20, Math.min(64, ($('stage-sentence').clientHeight - 110) / rows, (room - 130) / cols - 3));
  table.classList.toggle('narrow', room < 62 * (cols + 2));
  table.style.setProperty('--cell', cell + 'px');
  table.style.fontSize = Math.max(15, Math.min(28, cell * 0.55)) + 'px';
  [...table.tHead.rows[0].cells].slice(1).forEach((cell, k) => {
    cell.lastChild.textContent = row[k] >= 0.005 ? percent(row[k]) : '';
    cell.classList.toggle('picked', q === state.q && h === state.h && k === state.k);
  });
  [...table.tBodies[0].rows].forEach((line, i) => {
    line.classList.toggle('from', i === q);
    [...line.cells].slice(1).forEach((cell, k) => {
      const w = weights[i * cols + k];
      cell.style.setProperty('--share', 100 * w + '%');
      Object.assign(cell.dataset, { weight: w });
      cell.firstChild.textContent = percent(w);
    });
  });
  for (const place of ['stage-arcs', 'stage-near']) $(place).replaceChildren();
  grown = nearTo = '';
}

// Draws the current row of weights: an arc and a number for each key; or all rows, as a map.
async function drawArcs() {
  const mine = ++number, { q, h } = lookedAt(), { run } = viewer, head = run.heads[h];
  const weights = await viewer.decode(h, 0);
  if (mine !== number || run !== viewer.run || weights.length !== head.rows * head.cols) return;
  const row = weights.subarray(q * head.cols, (q + 1) * head.cols), place = $('stage-arcs'), line = $('stage-words');
  markWords(q);
  sayRow(q, h, row);
  if (isMap()) {
    drawMap(h, q, weights);
    return;
  }
  const frame = line.getBoundingClientRect(), boxes = words.map(node => boxOf(node, frame)), key = [wordsOf, h, q].join();
  // the cell that a step of a story marks
  const pick = q === state.q && h === state.h ? state.k : -1;
  const room = Math.max(20, parseFloat(getComputedStyle(line).paddingTop) - 8);
  place.setAttribute('class', (key === grown || still.matches ? 'still' : '') + (isOff(h) ? ' off' : ''));
  if (key !== grown && over.q === undefined) bringIntoView(boxes[q], boxes[pick]);
  grown = key;
  place.style.height = line.scrollHeight + 'px';
  place.replaceChildren(...[...row.keys()].filter(k => row[k] >= LEAST || k === pick).map(k => svgEl('path', {
    d: pathBetween(boxes[q], boxes[k], room), 'stroke-width': Math.max(1, row[k] * WIDEST).toFixed(2), pathLength: 1,
    class: k === pick ? 'picked' : '', 'data-key': k, 'data-weight': row[k] })));
  if (key !== nearTo) makeNear(h, q);
  nearTo = key;
  words.forEach((node, k) => {
    node.lastChild.textContent = row[k] >= 0.005 ? written(run.numbers.share, row[k]) : '';
    node.classList.toggle('picked', k === pick);
  });
}

// Marks the word that looks.
function markWords(q) {
  words.forEach((node, p) => {
    node.classList.toggle('from', p === q);
    node.tabIndex = p === state.q ? 0 : -1;
    node.setAttribute('aria-current', String(p === q));
  });
}

let nearTo = ''; // the arcs that can be pressed

// Makes a wider place around each arc, above it, that can be pressed. The buttons of sayRow do the
// same without a pointer.
function makeNear(h, q) {
  $('stage-near').replaceChildren(...[...$('stage-arcs').children].map(arc => {
    const near = svgEl('path', { d: arc.getAttribute('d'), 'stroke-width': Math.max(NEAR, arc.getAttribute('stroke-width')) });
    near.addEventListener('pointerenter', () => arc.classList.add('near'));
    near.addEventListener('pointerleave', event => {
      arc.classList.remove('near');
      if (!event.relatedTarget?.closest?.('.stage-word')) leave(event);
    });
    near.addEventListener('click', () => tellWhy(h, q, Number(arc.dataset.key)));
    return near;
  }));
}

// Describes the row in words: the three keys with the largest weights. A press on one shows why.
function sayRow(q, h, row) {
  const keys = [...row.keys()].filter(k => row[k] >= LEAST).sort((a, b) => row[b] - row[a] || a - b).slice(0, 3);
  const list = keys.flatMap((k, i) => [i ? ', ' : '', isCross(h) ? el('span', {}, el('bdi', {}, keyAt(h, k)), ' ' + viewer.number(row[k])) : sayKey(h, q, k, viewer.number(row[k]))]);
  const at = [...$('stage-said').querySelectorAll('button')].indexOf(document.activeElement);
  $('stage-said').replaceChildren(...phrase('{} looks at: {}', el('bdi', {}, textAt(q)), el('span', {}, ...list)));
  if (at >= 0) [...$('stage-said').querySelectorAll('button')].at(Math.min(at, keys.length - 1))?.focus();
  $('stage-head').replaceChildren(term('head', 'Head'), ' ' + shownName(h), ...isOff(h) ? [', ', term('switched off', 'switched off')] : []);
}

// Returns a button with a key and its weight.
function sayKey(h, q, k, weight) {
  const node = el('button', { type: 'button', class: 'stage-why', 'aria-haspopup': 'dialog', title: t('Why?') }, el('bdi', {}, textAt(k)), ' ' + weight);
  node.addEventListener('click', () => tellWhy(h, q, k));
  return node;
}

// --- The next words -----------------------------------------------------------------------------

const bars = new Map(); // rows by token id, so that bars can be animated

function makeBar(p) {
  const node = el('button', { class: 'stage-bar', type: 'button' }, el('bdi', {}, (p.label ?? p.token).trim()),
    el('span', { class: 'stage-meter', 'aria-hidden': 'true' }, el('i', { class: 'before' }), el('i', { class: 'after' })),
    el('span', { class: 'number' }));
  node.addEventListener('click', () => write(p.token));
  node.disabled = p.token === null;
  return node;
}

// Draws the next words. Bars move from their last values.
function drawNext() {
  const { rows, hasBefore } = expectedHere(MOST_WORDS), list = $('stage-bars');
  // the longest bar has full length
  const longest = Math.max(...rows.map(p => Math.max(p.before ?? 0, p.after ?? 0)));
  for (const id of [...bars.keys()]) if (!rows.some(p => p.id === id)) bars.delete(id);
  for (const p of rows) if (!bars.has(p.id)) bars.set(p.id, makeBar(p));
  // to restore the focus
  const at = [...list.children].findIndex(row => row.contains(document.activeElement));
  list.replaceChildren(...rows.map(p => el('li', {}, bars.get(p.id))));
  if (at >= 0) (list.children[at] ?? list.lastChild)?.firstChild.focus();
  list.getBoundingClientRect(); // so that bars in new rows start at their old values
  for (const p of rows) {
    const [word, meter, value] = bars.get(p.id).children, percent = x => written(viewer.run.numbers.chance, x);
    meter.firstChild.style.width = 100 * (hasBefore ? p.before ?? 0 : 0) / longest + '%';
    meter.lastChild.style.width = 100 * (p.after ?? 0) / longest + '%';
    value.textContent = (hasBefore ? percent(p.before) + ' \u2192 ' : '') + percent(p.after);
    bars.get(p.id).setAttribute('aria-label', t('write {}', word.textContent) + ', ' + value.textContent);
  }
  $('stage-next').hidden = rows.length === 0;
  $('stage-key').hidden = !hasBefore;
}

// --- The strip of heads -------------------------------------------------------------------------

let cells = [], stripOf = '';

// Selects a head. A cell that a story marks belongs to another head, so the mark is removed.
const choose = h => { if (state.h !== h) viewer.set({ h, k: -1 }); };

function makeCell(head, h) {
  const node = el('button', { class: 'stage-cell', type: 'button', id: 'stage-cell-' + h }, nameOf(h).replace(/.*:/, ''), el('small', {}));
  follow(node, { h });
  node.addEventListener('focus', () => choose(h));
  node.addEventListener('click', () => {
    choose(h);
    toggleHead(nameOf(h));
  });
  return node;
}

// Returns the layers from the top of the strip to its end: of a translator, those that look at the
// source come first.
function layersOf(heads) {
  const groups = [...new Set(heads.map(head => head.group))], place = group => STACKS.findIndex(([stack]) => stack === stackOf(heads, group));
  return groups.sort((a, b) => place(a) - place(b)); // it is stable
}

const stackOf = (heads, group) => heads.find(head => head.group === group).stack;

function makeStrip(heads) {
  cells = heads.map(makeCell);
  let last;
  $('stage-strip').replaceChildren(...layersOf(heads).flatMap(group => {
    const stack = STACKS.find(([name]) => name === stackOf(heads, group));
    const layer = el('span', { class: 'stage-layer', role: 'group', 'aria-label': t('layer {}', String(group).replace(':', ' ')) }, ...cells.filter((_, h) => heads[h].group === group));
    const isNew = stack && stack !== last;
    last = stack;
    return isNew ? [el('span', { class: 'stage-stack' }, t(stack[1])), layer] : [layer];
  }));
}

function drawStrip() {
  const { heads } = viewer.run, names = heads.map((_, h) => nameOf(h)).join(), measures = measuresHere();
  if (names !== stripOf) makeStrip(heads);
  stripOf = names;
  const keysOf = h => heads[h].group + ':' + measures?.get(nameOf(h))?.kv_head;
  const isShared = new Set(heads.map((_, h) => keysOf(h))).size < heads.length;
  heads.forEach((head, h) => {
    const { kind: [name, letter, hue], strength } = kindOf(measures?.get(nameOf(h)) ?? head), node = cells[h];
    // heads that share keys and values stand together
    node.classList.toggle('apart', isShared && heads[h - 1]?.group === head.group && keysOf(h - 1) !== keysOf(h));
    node.style.setProperty('--hue', hue);
    node.style.setProperty('--strength', Math.round(15 + 50 * strength) + '%');
    node.lastChild.textContent = letter;
    Object.assign(node.dataset, { kind: name });
    node.tabIndex = h === state.h ? 0 : -1;
    node.classList.toggle('chosen', h === state.h);
    node.setAttribute('aria-pressed', String(isOff(h)));
    node.setAttribute('aria-label', t('switch off head {}, which looks most at: {}', shownName(h), t(name)));
  });
}

// Returns the next head in a direction; layers may have different numbers of heads.
function stepHead(at, [down, across]) {
  const { heads } = viewer.run;
  if (!down) return at + across;
  const groups = layersOf(heads), group = groups[groups.indexOf(heads[at].group) + down];
  return heads.findIndex(head => head.group === group && head.head === heads[at].head);
}

// --- All of it ----------------------------------------------------------------------------------

let isOpen = false;

function draw() {
  if (!isOpen) return;
  if (drawWords()) fitWords();
  if (isMap()) $('stage-sentence').style.fontSize = '';
  drawStrip();
  drawNext();
  drawArcs();
  $('stage-on').hidden = Boolean(viewer.given.predictions?.is_in_place);
  $('stage-on').textContent = t(asked.source === null ? 'Go on' : 'Translate');
}

// Shows the stage instead of the workbench, or the workbench again. Nodes that both use are moved.
function open(isIt) {
  isOpen = isIt;
  document.documentElement.classList.toggle('on-stage', isIt);
  for (const { node, slot, home } of lent) if (isIt) $(slot).append(node); else home.after(node);
  wordsOf = mapOf = '';
  viewer.set({});
}

function layOut() {
  if (!isOpen) return;
  if (!isMap()) fitWords();
  drawArcs();
}

function make() {
  const kinds = KINDS.map(([name, letter, hue]) => {
    const swatch = el('i', {}, letter);
    swatch.style.setProperty('--hue', hue);
    return el('span', { class: 'stage-kind' }, swatch, ' ' + t(name));
  });
  $('app').prepend(el('section', { id: 'live-stage', 'aria-label': t('Stage') },
    el('div', { id: 'stage-top' }, el('span', { id: 'stage-head' }), el('p', { id: 'stage-said', role: 'status' }),
      button('stage-workbench', t('Workbench'), () => { open(false); $('live-to-stage').focus(); })),
    el('div', { id: 'stage-story' }),
    el('div', { id: 'stage-sentence', role: 'group', 'aria-label': t('Sentence: each word shows where it looks') },
      el('div', { id: 'stage-line' }, el('div', { id: 'stage-words' }), svgEl('svg', { id: 'stage-arcs', 'aria-hidden': 'true' }),
        svgEl('svg', { id: 'stage-near', 'aria-hidden': 'true' }))),
    el('div', { id: 'stage-next' },
      el('h2', {}, term('next token', 'Next word'), el('span', { id: 'stage-key', class: 'note', hidden: '' }, ...phrase(
        '{} before, {} after', el('i', { class: 'before' }), el('i', { class: 'after' })))),
      el('ol', { id: 'stage-bars', 'aria-label': t('Next word') }), button('stage-on', t('Go on'), goOn, { title: t('Writes the ten most probable next tokens') })),
    el('div', { id: 'stage-text' }),
    el('div', { id: 'stage-heads' },
      el('h2', {}, term('head', 'Heads'), el('span', { class: 'note' }, el('span', {}, t('press one to switch it off.')), t('Looks most at:'), ...kinds)),
      el('div', { id: 'stage-strip', role: 'group', 'aria-label': t('Heads') })),
    el('div', { id: 'stage-undo' }), el('div', { id: 'stage-ask' }),
    el('div', { id: 'stage-tip', role: 'tooltip', hidden: '' })));
  $('views').parentNode.prepend(button('live-to-stage', t('Stage'), () => { open(true); $('stage-workbench').focus(); }));
  rove($('stage-words'), () => words, (at, [down, across]) => at + down + across);
  rove($('stage-strip'), () => cells, stepHead);
  // of the keys of the workbench, only i (goes to the sentence) and x (switches the head off) work
  // here, since the others change things that are not visible
  document.documentElement.addEventListener('keydown', event => isOpen && !/^[ix]$/.test(event.key) && event.stopPropagation());
  new ResizeObserver(layOut).observe($('stage-sentence'));
  for (const event of ['beforeprint', 'afterprint']) addEventListener(event, layOut);
}

return { make, open, draw, isOpen: () => isOpen };
};
