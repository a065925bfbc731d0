// stage.js - the first view of a live page: the sentence in large words, arcs from the word under
// the pointer to the words that the chosen head looks at, the next words as bars, and all heads as
// tiles, each under the word at which it looks most. Arcs of a sentence with several lines run between the lines and in a margin; on a telephone
// the words are a ladder. For a head that looks from a translation at its source: a map between the
// two lines of words. A press on a head chooses it, the switch beside its name turns it off, and a
// press on an arc shows why it is there. Weights, measures and probabilities are those of the run
// that the viewer shows (viewer.js, live.js).
'use strict';
globalThis.attnStage = ({ viewer, asked, t, button, toggleHead, toggleHeads, effectsHere, write, goOn, expectedHere, isIdle, tellWhy, takes, begin, life, callModule, covers, hasModel, openOwn, bytes, model, lent }) => {
const { $, state } = viewer, { el, svgEl, written, barOf, barPartsOf } = attnPage, still = matchMedia('(prefers-reduced-motion: reduce)');

// The kinds of layers of a translator, and where their heads look.
const STACKS = [['cross', 'at the source'], ['decoder', 'in the translation'], ['encoder', 'in the source']];
const SIZES = [80, 69, 60, 52, 45, 39, 34, 30, 26, 23, 20, 18, 16]; // of the words, in px
const LEAST_LINE = 24; // minimum px of words if the sentence is on one line
const LINE_PARTS = [0.8, 0.95]; // of the place that they take at most, so that they can stand as far apart as their tiles need; if some are folded away
const WIDEST = 18; // px width of an arc of weight 1, and of all that begin on a side of a word
const DIGIT = 7; // px width of a character of a weight
const MARGIN = 40; // px beside a sentence of several lines, for its lanes (stage.css)
const LANE_ROOM = 18; // px above a line, and in the margin, that arcs share
const ABOVE = 2; // px between a word and the end of its arc
const LEG = 5; // px of an arc upward before its lane
const NARROW = 480; // px; in a narrower place the words are a ladder
const RUNGS = [20, 25, 44]; // px heights of a word of a ladder: if nothing else fits, least and largest
const THIN = 16; // px height of a folded run in a ladder
const FOLDED = 30; // px of the words if some of them are folded away
const SHOWN = 0.01; // runs of words with smaller weights fold away
const N_STRONGEST = 3; // keys that never do
const SIDE = 90; // px beside a ladder, for its arcs (stage.css)
const NEAR = 22; // px width of the place around an arc that can be pressed
const LEAST = 0.02; // smaller weights have no arc
const MOST_WORDS = 5; // maximum number of next words
const TILES = [[48, 36], [400, 24], [Infinity, 12]]; // heads, and px of their tiles
const LEAST_FINE = 1100, FINGER = 44, TILE_GAP = 2; // px of a wide screen, of tiles on others, and between tiles
const LEAST_AIM = 0.34; // weight of the strongest key of a head that stands under it
const LEAST_PARKED = 0.5; // weight on sinks of a head that parks, of many
const WORD_GAPS = [8, 96]; // px between words of a line, least and most
const FAINTEST = 25; // percent of the color of a tile without which nothing changes

// Explanations of words on the stage, from the manual's glossary.
const TERMS = {
  head: 'A model is a stack of layers, which work one after the other. The attention of a layer has several heads, which compute independently and are added. 2.5 is head 5 of layer 2; both count from 0.',
  kind: 'The kind of a head is what it does with the weight that it does not park on the first token or another sink. A live page measures it on texts that the model writes itself; that of a translator, on its own sentence.',
  'next token': 'The logits of all tokens, after a softmax: how likely the model holds each as the next one. Together they are 100 %.',
  self: 'A head of this kind looks most at the token itself, from which it looks.',
  previous: 'A head of this kind looks most at the token before.',
  next: 'A head of this kind looks most at the token after.',
  duplicate: 'A head of this kind looks most at earlier places of the same token.',
  induction: 'Looking at the token that followed the same token earlier. A head that does so can repeat earlier text.',
  marks: 'A head of this kind looks most at punctuation.',
  start: 'A head of this kind looks most at the starts of sentences.',
  near: 'A head of this kind looks most at tokens up to four away.',
  sentence: 'A head of this kind looks most at its own sentence.',
  elsewhere: 'A head of this kind looks at single tokens that are farther away.',
  even: 'A head of this kind looks at all tokens alike.',
  broad: 'A head of this kind looks at many tokens.',
  mixed: 'A head without one of these kinds.',
  parks: 'A head of this kind parks nine tenths of its weight, often because it finds nothing to look at.',
};

// Tokens that are not words, and their names on the stage.
const MARKS = [[/^(<\|end_?of_?text\|>|<\/s>|<eos>)$/, 'end of text'], [/^(<\|begin_of_text\|>|<s>|<bos>)$/, 'start of text'], [/^\n+$/, 'new line']];

// Sentences to begin with.
const SENTENCES = ['The keys to the cabinet', 'Tom and Mary went to the store. Tom gave a drink to', 'One red wolf cup table Tom hat One red wolf cup'];

const nameOf = h => viewer.run.heads[h].at;
// "cross 2.5"
const shownName = h => nameOf(h).replace(':', ' ');
const isCross = h => Boolean(viewer.run.heads[h].is_source);
const markOf = token => MARKS.find(([pattern]) => pattern.test(token))?.[1];
// Returns a node with TEXT of a TOKEN.
const shownText = (token, text) => markOf(token) ? el('bdi', { class: 'stage-mark' }, t(markOf(token))) : el('bdi', {}, text);
const shownAt = (p, isSource) => shownText((isSource ? viewer.run.source_tokens : viewer.run.tokens)[p], viewer.nameAt(p, isSource));
const isOff = h => Boolean(asked.off[nameOf(h)]);
const textAt = p => viewer.nameAt(p, false);
const wordAt = p => markOf(viewer.run.tokens[p]) ? t(markOf(viewer.run.tokens[p])) : textAt(p); // as it stands in the sentence
const share = w => written(viewer.run.numbers.share, w);

// Returns TEMPLATE in the language of the page, with NODES in place of its {}.
const phrase = (template, ...nodes) => t(template, ...nodes.map(() => '{}')).split('{}').flatMap((text, i) => i === 0 ? [text] : [nodes[i - 1] ?? '', text]);

// --- Terms --------------------------------------------------------------------------------------

// Returns a button with CHILDREN that shows its explanation when it has the pointer or the focus.
function term(name, ...children) {
  const node = el('button', { class: 'term', type: 'button', 'aria-describedby': 'stage-tip' }, ...children);
  const show = () => {
    const box = node.getBoundingClientRect(), tip = $('stage-tip');
    tip.textContent = t(TERMS[name]);
    tip.hidden = false;
    tip.style.left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = (box.bottom + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight : box.bottom) + 'px';
  };
  for (const event of ['pointerenter', 'focus', 'click']) node.addEventListener(event, show);
  node.addEventListener('pointerleave', event => event.relatedTarget !== $('stage-tip') && hideTip());
  node.addEventListener('blur', hideTip);
  node.addEventListener('keydown', event => event.key === 'Escape' && hideTip());
  return node;
}

const hideTip = () => { $('stage-tip').hidden = true; };

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
  const node = el('button', { class: 'stage-word', type: 'button', 'data-position': p }, isPiece(p) ? el('bdi', { class: 'stage-piece' }) : shownAt(p, false), el('small', { 'aria-hidden': 'true' }));
  follow(node, { q: p });
  node.addEventListener('focus', () => { if (state.q !== p) viewer.set({ q: p, k: -1 }); });
  node.addEventListener('click', () => {
    opened = new Set();
    viewer.set({ q: p, k: -1 });
  });
  return node;
}

// Makes the nodes of words anew if their texts have changed.
function drawWords() {
  const { run } = viewer, texts = run.tokens.map((_, p) => textAt(p)), key = texts.join('\0');
  $('stage-sentence').classList.toggle('mapped', isMap());
  if (isMap()) {
    makeMap(texts, run.source_tokens.map((_, k) => viewer.nameAt(k, true)));
    wordsOf = '';
  } else if (key !== wordsOf) {
    wordsOf = key;
    mapOf = partsOf = fitted = '';
    words = run.tokens.map((_, p) => makeWord(p));
    begins = new Set(run.words ?? words.keys());
    isRtl = /^\P{L}*[\p{sc=Arabic}\p{sc=Hebrew}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}]/u.test(run.text ?? key);
    $('stage-words').dir = isRtl ? 'rtl' : 'ltr';
  }
}

// --- Size and folding ---------------------------------------------------------------------------

// The sentence is a list of parts: words, and runs of words that are folded away because the sentence
// does not fit its place. Sizes and parts are computed from the widths of words, without a layout.
let shape = 'line'; // of the sentence: 'line', 'lanes' (several lines) or 'ladder' (a word a row)
let isRtl = false; // the sentence is written from right to left
let begins = new Set(); // positions at which words begin; their tokens stay together
let parts = [], partsOf = '', partsRun; // [{ from, n, node, whole }], and what they are for
let wholes = []; // words of one or several tokens, [{ from, to, text, node, width, x }]
let opened = new Set(), openedOf = ''; // positions of runs that were unfolded, and for what
let fitted = '', room = [0, 0], isWhole = true; // what the size is for, its place, and if all words fit
const pen = document.createElement('canvas').getContext('2d'); // measures words

const isPiece = p => /^\\x/.test(viewer.run.tokens[p]) && /.\/\d+$/s.test(textAt(p));
const isBegin = p => begins.has(p) || (isPiece(p) && textAt(p).endsWith('/1'));
const nameOfRun = ({ from, n }) => n === 1 ? textAt(from) : '\u2026 ' + t('{} words', n);

// Returns the first item of LIST for which TEST is true, by bisection: it is true for all after it.
function firstOf(list, test) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(list[middle])) high = middle; else low = middle + 1;
  }
  return list[low];
}

// Returns the number of lines that PARTS take at SIZE px in a place of WIDTH px.
function linesOf(list, size, width) {
  let n = 1, at = 0, group = 0;
  const widthOf = text => pen.measureText(text).width;
  pen.font = size + 'px ' + getComputedStyle(document.body).fontFamily;
  const blank = widthOf(' '), end = () => {
    if (at > 0 && at + blank + group > width) { n++; at = 0; }
    at += Math.min(group, width) + (at > 0 ? blank : 0);
    group = 0;
  };
  list.forEach(({ from, n: folded }, i) => {
    const text = folded ? nameOfRun({ from, n: folded }) : wordAt(from);
    if (i > 0 && (folded || list[i - 1].n || isBegin(from))) end();
    group += (folded ? 0.7 : 1) * (isPiece(from) && !folded ? 0.5 * size : widthOf(text)) + 0.16 * size;
  });
  end();
  return n;
}

// Chooses the shape of the sentence and the largest size in which it fits its place; one line, if the
// words are then large enough. Both are kept for the text and the place.
function fitWords() {
  const { clientWidth: width, clientHeight: height } = $('stage-sentence'), key = [wordsOf, width, height].join('\0');
  if (key === fitted) return;
  fitted = key;
  room = [width, height];
  partsOf = '';
  const all = partsWith(new Set(words.keys())), lineSize = lineSizeOf(all, LINE_PARTS[0]);
  const size = lineSize ?? firstOf(SIZES, one => linesOf(all, one, width - MARGIN - 6 - 0.4 * one) * pitchOf(one) <= height);
  setShape(width < NARROW ? 'ladder' : lineSize ? 'line' : 'lanes', size ?? FOLDED);
  isWhole = shape === 'ladder' ? words.length * RUNGS[1] <= height : size !== undefined;
}

// Returns the largest size in which the parts of LIST are one line; undefined if that is too small.
const heightOf = size => 1.6 * size + Math.max(2.5 * size, 44) + 0.7 * size;
const lineSizeOf = (list, part) => firstOf(SIZES.filter(size => size >= LEAST_LINE), size => heightOf(size) <= room[1] && linesOf(list, size, part * room[0]) === 1);

function setShape(kind, size) {
  const { style, classList } = $('stage-sentence');
  shape = kind;
  for (const one of ['line', 'lanes', 'ladder']) classList.toggle(one, one === shape);
  style.fontSize = shape === 'ladder' ? '' : size + 'px';
  style.setProperty('--above', Math.min(2.6 * size, room[1] - heightOf(size) + 1.6 * size) + 'px');
}

// Returns the px height of a line of words of SIZE px with its lanes and weights (stage.css).
const pitchOf = size => 1.25 * size + 50;

// Returns the parts of the sentence if only the words at the positions of SHOWN are not folded away.
function partsWith(shown) {
  const list = [];
  for (const from of words.keys())
    if (shown.has(from)) list.push({ from, n: 0 });
    else if (list.at(-1)?.n) list.at(-1).n++;
    else list.push({ from, n: 1 });
  return list;
}

// Folds away the words with the smallest weights in ROW, so that the others fit. The word at Q, that at
// PICK and the strongest keys always stay.
function foldWords(q, row, pick) {
  const [width, height] = room, of = wordsOf + state.h;
  if (of !== openedOf) opened = new Set();
  openedOf = of;
  const key = isWhole ? fitted : [fitted, state.h, q, pick, ...opened].join('\0');
  if (key === partsOf && (isWhole || partsRun === viewer.run)) return;
  [partsOf, partsRun] = [key, viewer.run];
  const sorted = [...row.keys()].filter(k => row[k] > 0).sort((a, b) => row[b] - row[a] || a - b);
  const first = new Set([q, ...pick < 0 ? [] : [pick], ...sorted.slice(0, N_STRONGEST), ...opened]);
  const more = sorted.filter(k => row[k] >= SHOWN && !first.has(k)), withMore = n => partsWith(new Set([...first, ...more.slice(0, n)]));
  const isFit = list => shape === 'ladder' ? list.reduce((sum, { n }) => sum + (n ? THIN : RUNGS[1]), 0) <= height
    : linesOf(list, FOLDED, width - MARGIN - 6 - 0.4 * FOLDED) * pitchOf(FOLDED) <= height;
  const list = isWhole ? partsWith(new Set(words.keys())) : withMore(firstOf([...Array(more.length + 1).keys()].reverse(), n => isFit(withMore(n))) ?? 0);
  const lineSize = isWhole || shape === 'ladder' ? undefined : lineSizeOf(list, LINE_PARTS[1]); // so few words are left
  if (!isWhole && shape !== 'ladder') setShape(lineSize ? 'line' : 'lanes', lineSize ?? FOLDED);
  const thin = list.filter(({ n }) => n).length;
  $('stage-sentence').style.setProperty('--rung', Math.max(RUNGS[0], Math.min(RUNGS[2], Math.floor((height - thin * THIN) / (list.length - thin)))) + 'px');
  showParts(list);
}

// Shows the parts of LIST. Tokens of one word stay together, with a bracket if they are bytes of one
// character.
function showParts(list) {
  const focused = $('stage-words').contains(document.activeElement) && document.activeElement;
  wholes = [];
  laidOf = '';
  parts = list.map((part, i) => {
    const { from, n } = part, text = n ? nameOfRun(part) : textAt(from), node = n ? makeRun(part) : words[from];
    if (i === 0 || n || list[i - 1].n || isBegin(from)) wholes.push({ from, text: '', node: el('span', { class: 'stage-whole' }) });
    const whole = wholes.at(-1);
    if (!n && isPiece(from)) Object.assign(whole.node.dataset, { pieces: text.replace(/\/\d+$/, '') });
    whole.node.append(node);
    Object.assign(whole, { to: from + Math.max(1, n), text: whole.node.dataset.pieces ?? whole.text + text });
    return { ...part, node, whole };
  });
  $('stage-words').replaceChildren(...wholes.flatMap(({ node }) => [node, ' ']));
  if (focused?.isConnected) focused.focus({ preventScroll: true });
}

// Returns the button of a run of words that is folded away. A press unfolds it.
function makeRun(run) {
  const node = el('button', { class: 'stage-word stage-run', type: 'button', tabindex: '-1', 'aria-expanded': 'false' }, el('bdi', {}, nameOfRun(run)), el('small', { 'aria-hidden': 'true' }));
  node.addEventListener('click', ({ detail }) => {
    for (let p = run.from; p < run.from + run.n; p++) opened.add(p);
    drawArcs().then(() => detail === 0 && words[run.from].focus()); // of a keyboard
  });
  return node;
}

// Returns the place of a part in the sentence: the ends, the middle, the top and the bottom of its
// box. If the sentence is written from right to left, x counts from the right. A word of a line may still move to its place.
function boxOf({ node, whole }, frame) {
  const { left, right, top, bottom } = node.firstChild.getBoundingClientRect();
  const x = (left + right) / 2 - (shape === 'line' ? whole.node.getBoundingClientRect().left - whole.x : frame.left);
  return { x: isRtl ? frame.width - x : x, top: top - frame.top, middle: (top + bottom) / 2 - frame.top };
}

// --- Paths of arcs ------------------------------------------------------------------------------

// Gives ARCS above a line of words their paths, as figures have them (figures/figure_arcs.c), at most HIGH px high.
function layBows(arcs, from, high, place) {
  const at = box => isRtl ? place - box.x : box.x, n = arcs.length;
  const found = callModule('lay_bows', [n], [WIDEST, high, ...arcs.flatMap(({ to, width }) => [at(to) - at(from), width])], 3 * n);
  arcs.forEach((arc, i) => {
    const [foot, rise, width] = found.subarray(3 * i), x = at(from) + foot, y = from.top, top = y - rise / 0.75, end = at(arc.to);
    arc.width = width;
    arc.d = arc.to === from ? `M${x - 13} ${y}c-18 -36 44 -36 26 0` : `M${x} ${y}C${x} ${top} ${end} ${top} ${end} ${arc.to.top}`;
  });
}

// Returns the path of an arc beside a ladder: half an ellipse.
function rungBow(from, to, width, place) {
  const x = SIDE - 4, across = to.middle - from.middle, wide = Math.min(Math.abs(across) / 2, x - width / 2);
  const at = x => isRtl ? place - x : x, sweep = (across < 0) === isRtl ? 0 : 1;
  const loop = 5 + width / 2;
  if (from === to) return `M${at(x)} ${from.middle - loop}A${2 * loop} ${loop} 0 1 ${isRtl ? 1 : 0} ${at(x)} ${from.middle + loop}`;
  return `M${at(x)} ${from.middle}A${wide} ${Math.abs(across) / 2} 0 0 ${sweep} ${at(x)} ${to.middle}`;
}

// Returns a path through POINTS with round corners.
function roundPath(points) {
  return points.map(([x, y], i) => {
    if (i === 0) return `M${x} ${y}`;
    if (i === points.length - 1) return `L${x} ${y}`;
    const ends = [points[i - 1], points[i + 1]].map(([x1, y1]) => {
      const long = Math.hypot(x1 - x, y1 - y) || 1, cut = Math.min(9, long / 2);
      return `${x + (x1 - x) / long * cut} ${y + (y1 - y) / long * cut}`;
    });
    return `L${ends[0]}Q${x} ${y} ${ends[1]}`;
  }).join('');
}

// Puts ARCS side by side into ROOM px, SPACE px apart, and gives each its middle as NAME.
function stack(arcs, name, room, space = 2) {
  const total = arcs.reduce((sum, arc) => sum + arc.width + space, -space), scale = Math.min(1, room / total);
  let at = 0;
  for (const arc of arcs) {
    arc[name] = (at + arc.width / 2) * scale;
    at += arc.width + space;
  }
  return Math.min(total, room);
}

// Gives ARCS, each with `to` and `width`, their paths in a sentence of several lines. An arc leaves
// its query upward, runs above the line into a lane of the margin, and above the line of its key to
// the key. The order of arcs above a line and in the margin is the one in which none crosses another.
function layLanes(arcs, from, boxes, place) {
  let line = -1, last = -Infinity;
  for (const box of boxes) {
    if (box.top - last > 8) line++;
    box.line = line;
    last = box.top;
  }
  const nearest = list => list.sort((a, b) => Math.abs(a.to.x - from.x) - Math.abs(b.to.x - from.x));
  const here = arcs.filter(arc => arc.to.line === from.line), right = nearest(here.filter(arc => arc.to.x > from.x));
  const up = arcs.filter(arc => arc.to.line < from.line).sort((a, b) => b.to.line - a.to.line || a.to.x - b.to.x);
  const down = arcs.filter(arc => arc.to.line > from.line).sort((a, b) => a.to.line - b.to.line || b.to.x - a.to.x);
  const left = [...nearest(here.filter(arc => arc.to.x <= from.x)), ...down, ...[...up].reverse()];
  for (const list of [left, right]) stack(list, 'out', LANE_ROOM);
  for (const list of [up, down]) stack(list, 'lane', MARGIN - 6);
  for (const at of new Set([...up, ...down].map(arc => arc.to.line)))
    stack([...up, ...down].filter(arc => arc.to.line === at).sort((a, b) => a.to.x - b.to.x), 'in', LANE_ROOM);
  const trunk = stack([...left, ...[...right].reverse()], 'begin', LANE_ROOM, 0);
  for (const arc of arcs) {
    const { to } = arc, isSelf = to === from, side = 8 + arc.width / 2;
    const x = isSelf ? from.x + side : from.x + arc.begin - trunk / 2, end = isSelf ? from.x - side : to.x;
    const y0 = from.top - ABOVE, y1 = to.top - ABOVE, over = y0 - LEG - arc.out, lane = MARGIN - arc.lane, into = y1 - LEG - arc.in;
    const points = to.line === from.line ? [[x, y0], [x, over], [end, over], [end, y1]]
      : [[x, y0], [x, over], [lane, over], [lane, into], [end, into], [end, y1]];
    arc.d = roundPath(points.map(([x, y]) => [isRtl ? place - x : x, y]));
  }
}

// Gives ARCS their paths in the sentence, whose width is PLACE.
function layArcs(arcs, from, boxes, place) {
  if (shape === 'lanes') layLanes(arcs, from, boxes, place);
  else if (shape === 'line') layBows(arcs, from, Math.max(60, parseFloat($('stage-sentence').style.getPropertyValue('--above')) - 8), place);
  else for (const arc of arcs) arc.d = rungBow(from, arc.to, arc.width, place);
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
    el('thead', {}, el('tr', {}, el('td', {}), ...columns.map((_, k) => el('th', { scope: 'col' }, shownAt(k, true), el('small', { 'aria-hidden': 'true' }))))),
    el('tbody', {}, ...words.map((node, q) => {
      const row = el('tr', {}, el('th', { scope: 'row' }, node), ...columns.map(() => el('td', {}, el('span', { class: 'unseen' }))));
      follow(row, { q });
      return row;
    })));
  $('stage-words').replaceChildren(table);
}

// Fills the map with weights, and marks the row of the query.
function drawMap(h, q, weights) {
  const { rows, cols } = viewer.run.heads[h], table = $('stage-map');
  const row = weights.subarray(q * cols, (q + 1) * cols), room = $('stage-sentence').clientWidth;
  const cell = Math.max(20, Math.min(64, ($('stage-sentence').clientHeight - 110) / rows, (room - 130) / cols - 3));
  table.classList.toggle('narrow', room < 62 * (cols + 2));
  table.style.setProperty('--cell', cell + 'px');
  table.style.fontSize = Math.max(15, Math.min(28, cell * 0.55)) + 'px';
  [...table.tHead.rows[0].cells].slice(1).forEach((cell, k) => {
    cell.lastChild.textContent = row[k] >= 0.005 ? share(row[k]) : '';
    cell.classList.toggle('picked', q === state.q && h === state.h && k === state.k);
  });
  [...table.tBodies[0].rows].forEach((line, i) => {
    line.classList.toggle('from', i === q);
    [...line.cells].slice(1).forEach((cell, k) => {
      const w = weights[i * cols + k];
      cell.style.setProperty('--share', 100 * w + '%');
      Object.assign(cell.dataset, { weight: w });
      cell.firstChild.textContent = share(w);
    });
  });
  for (const place of ['stage-arcs', 'stage-near']) $(place).replaceChildren();
  grown = nearTo = '';
}

// Draws the current row of weights: an arc and a number for each key; or all rows, as a map. All that is
// read from the page is read before it changes, so that there is one layout. ISAGAIN: tiles have moved the words.
async function drawArcs(isAgain = false) {
  const mine = ++number, { q, h } = lookedAt(), { run } = viewer, head = run.heads[h], own = run.heads[state.h];
  const [weights, chosen] = await Promise.all([viewer.decode(h, 0), viewer.decode(state.h, 0)]);
  if (mine !== number || run !== viewer.run || weights.length !== head.rows * head.cols) return;
  const row = weights.subarray(q * head.cols, (q + 1) * head.cols), place = $('stage-arcs'), line = $('stage-words');
  // the cell that a step of a story marks
  const pick = q === state.q && h === state.h ? state.k : -1;
  if (!isMap()) {
    fitWords();
    foldWords(state.q, chosen.subarray(state.q * own.cols, (state.q + 1) * own.cols), state.k);
    const laid = layTiles(isAgain);
    if (!arePlaced()) await laid;
    if (mine !== number || !arePlaced()) return;
    const frame = line.getBoundingClientRect(), key = [partsOf, h, q].join();
    const keys = parts.map(part => keyOf(part, row, frame)), isAt = k => ({ from, n }) => k >= from && k < from + Math.max(1, n);
    const from = keys.find(isAt(q)).to, arcs = keys.filter(one => one.weight >= LEAST || isAt(pick)(one));
    for (const arc of arcs) arc.width = Math.max(1, arc.weight * WIDEST);
    layArcs(arcs, from, keys.map(({ to }) => to), frame.width);
    place.setAttribute('class', (key === grown || still.matches ? 'still' : '') + (isOff(h) ? ' off' : ''));
    grown = key;
    place.style.height = frame.height + 'px';
    place.replaceChildren(...arcs.map(({ k, d, width, weight }) => svgEl('path', { d, 'stroke-width': width.toFixed(2), pathLength: 1,
      class: k === pick ? 'picked' : '', 'data-key': k, 'data-weight': weight })));
    if (key !== nearTo) makeNear(h, q);
    nearTo = key;
    writeWeights(keys, q, pick);
  } else {
    drawMap(h, q, weights);
    words.forEach((node, p) => markWord(node, p, q));
    layTiles();
  }
  sayRow(q, h, row);
}

// Returns PART of the sentence with its place in FRAME and its weight in ROW. The key of a run is the
// one with the largest weight.
function keyOf(part, row, frame) {
  const { from, n, node } = part;
  let k = from, weight = row[from] || 0;
  for (let p = from + 1; p < from + n; p++) {
    weight += row[p] || 0;
    if (row[p] > (row[k] || 0)) k = p;
  }
  return { from, n, node, k, weight, to: boxOf(part, frame) };
}

// Writes the weights of KEYS below their words, or beside them in a ladder. Without space for two, the
// smaller one is left out: its arc still shows it.
function writeWeights(keys, q, pick) {
  const placed = [];
  for (const { from, n, k, node, weight, to: { x, top } } of [...keys].sort((a, b) => b.weight - a.weight || a.k - b.k)) {
    const text = weight >= 0.005 && !covers('bow') ? share(weight) : '';
    const isCovered = one => Math.abs(one.top - top) < 8 && Math.abs(one.x - x) < 4 + DIGIT * (one.long + text.length) / 2;
    const isShown = text !== '' && (shape === 'ladder' || !placed.some(isCovered));
    if (isShown) placed.push({ x, top, long: text.length });
    node.lastChild.textContent = isShown ? text : '';
    node.style.setProperty('--share', weight);
    node.setAttribute('aria-label', (n ? nameOfRun({ from, n }) : textAt(from)) + (text && ', ' + text));
    if (!n) markWord(node, from, q);
    node.classList.toggle('picked', !n && k === pick);
  }
}

// Marks the word that looks, and gives the chosen one the tab stop.
function markWord(node, p, q) {
  node.classList.toggle('from', p === q);
  node.tabIndex = p === state.q ? 0 : -1;
  node.setAttribute('aria-current', String(p === q));
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
  const list = keys.flatMap((k, i) => [i ? ', ' : '', isCross(h) ? el('span', {}, shownAt(k, true), ' ' + share(row[k])) : sayKey(h, q, k, share(row[k]))]);
  const at = [...$('stage-said').querySelectorAll('button')].indexOf(document.activeElement);
  $('stage-said').replaceChildren(...phrase('{} looks at: {}', shownAt(q, false), el('span', {}, ...list)),
    el('span', { class: 'unseen' }, ' (' + t('head {}', shownName(h)) + ')'));
  if (at >= 0) [...$('stage-said').querySelectorAll('button')].at(Math.min(at, keys.length - 1))?.focus();
  sayHead(h);
}

// Writes the name of the head, and sets its switch.
function sayHead(h) {
  const { group, head } = viewer.run.heads[h];
  $('stage-name').textContent = t('Head {}', shownName(h));
  $('stage-place').textContent = t('layer {}, head {}', String(group).replace(':', ' '), head);
  $('stage-switch').setAttribute('aria-label', $('stage-name').textContent);
  for (const node of $('stage-switch').children) node.setAttribute('aria-pressed', String(isOff(h) === (node.id === 'stage-head-off')));
}

// Returns a part of the switch, which turns the head that is shown on or off.
const makeSwitch = (id, text, turnsOn) => button(id, t(text), () => {
  const { h } = lookedAt();
  if (isOff(h) === turnsOn) toggleHead(nameOf(h));
}, { title: t('The key x does the same') });

// Returns a button with a key and its weight.
function sayKey(h, q, k, weight) {
  const node = el('button', { type: 'button', class: 'stage-why', 'aria-haspopup': 'dialog', title: t('Why?') }, shownAt(k, false), ' ' + weight);
  node.addEventListener('click', () => tellWhy(h, q, k));
  return node;
}

// --- The next words -----------------------------------------------------------------------------

const bars = new Map(); // rows by token id, so that bars can be animated
let nextOf = ''; // what the bars show

function makeBar(p) {
  const node = el('button', { class: 'stage-bar', type: 'button' }, shownText(p.token, (p.label ?? p.token).trim()),
    el('span', { class: 'stage-meter', 'aria-hidden': 'true' }, el('i', { class: 'before' }), el('i', { class: 'after' })),
    el('span', { class: 'number' }));
  node.addEventListener('click', () => write(p.token));
  node.disabled = typeof p.token !== 'string' || !hasModel();
  return node;
}

// Draws the next words. Bars move from their last values.
function drawNext() {
  const { rows, hasBefore } = expectedHere(MOST_WORDS), list = $('stage-bars'), key = JSON.stringify([rows, hasBefore]);
  if (key === nextOf) return;
  nextOf = key;
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
    const [word, meter, value] = bars.get(p.id).children, percent = x => written(viewer.run.numbers.probability, x);
    meter.firstChild.style.width = 100 * (hasBefore ? p.before ?? 0 : 0) / longest + '%';
    meter.lastChild.style.width = 100 * (p.after ?? 0) / longest + '%';
    value.textContent = (hasBefore ? percent(p.before) + ' \u2192 ' : '') + percent(p.after);
    bars.get(p.id).setAttribute('aria-label', t('write {}', word.textContent) + ', ' + value.textContent);
  }
  $('stage-next').hidden = rows.length === 0;
  $('stage-key').hidden = !hasBefore;
  $('stage-hint').hidden = hasBefore;
}

// --- Heads under words --------------------------------------------------------------------------

// Each head is a tile under the word at which it looks most from the chosen word. Tiles are stronger the more the next word
// changes without their heads.
let cells = [], looks = [], kinds = [], tilesOf = '', isCrowded = false;
let aims = [], laidOf = '', laidRun = null; // what each head looks at most, and for what the tiles are laid out
let effects = {}; // KL of the next word without a head, by its name

// Selects a head, and shows it even if the pointer rests on another. A cell that a story marks belongs
// to another head, so the mark is removed.
function choose(h) {
  if (state.h === h) return;
  over = {};
  viewer.set({ h, k: -1 });
}

function makeCell(head, h) {
  const node = el('button', { class: 'stage-cell', type: 'button', role: 'radio', id: 'stage-cell-' + h }, nameOf(h).replace(/.*:/, ''), el('i', { 'aria-hidden': 'true' }), el('small', {}));
  follow(node, { h });
  for (const event of ['focus', 'click']) node.addEventListener(event, () => choose(h));
  return node;
}

// Returns the layers: of a translator, those that look at the source come first.
function layersOf(heads) {
  const groups = [...new Set(heads.map(head => head.group))], place = group => STACKS.findIndex(([stack]) => stack === heads.find(head => head.group === group).stack);
  return groups.sort((a, b) => place(a) - place(b)); // it is stable
}

const stackOf = head => head.stack ?? (head.is_source ? 'cross' : head.is_encoder ? 'encoder' : 'decoder');

function makeTiles(heads) {
  cells = heads.map(makeCell);
  [looks, aims, needed] = [[], [], 0];
  laidOf = '';
  isCrowded = tileSize() < TILES[0][1];
  $('live-stage').classList.toggle('crowded', isCrowded);
  $('stage-strip').replaceChildren(...cells);
  // so that the switch stays in place
  $('stage-name').style.minWidth = 0.78 * Math.max(...heads.map((_, h) => t('Head {}', shownName(h)).length)) + 'ch';
  $('stage-pick').hidden = !isCrowded;
  $('stage-pick').replaceChildren(...isCrowded ? heads.map((_, h) => el('option', { value: h }, shownName(h))) : []);
}

const tileSize = () => TILES.find(([most]) => viewer.run.heads.length <= most)[1];

function drawTiles() {
  const { heads } = viewer.run, names = heads.map((_, h) => nameOf(h)).join(), types = heads.map((_, h) => viewer.typeOf(h));
  if (names !== tilesOf) makeTiles(heads);
  tilesOf = names;
  const largest = Math.max(...Object.values(effects));
  heads.forEach((_, h) => {
    const { name = '', letter = '', brief = '', hue = 'var(--soft)', park = 0, bar = [] } = types[h], node = cells[h], kind = name && t(name);
    const effect = effects[nameOf(h)] ?? 0, strength = Math.round(FAINTEST + (100 - FAINTEST) * Math.sqrt(effect > 0 ? effect / largest : 0));
    const look = [isOff(h), h === state.h, strength, aims[h]?.said].join();
    if (looks[h] === look) return;
    looks[h] = look;
    for (const [kind, isIt] of [['chosen', h === state.h], ['off', isOff(h)], ['most', effect > 0 && effect === largest]]) node.classList.toggle(kind, isIt);
    node.style.setProperty('--hue', hue);
    node.style.setProperty('--strength', strength + '%');
    node.style.setProperty('--bar', barOf(bar, attnPage.given.kinds));
    node.children[0].textContent = letter;
    node.lastChild.textContent = kind === name ? brief : kind;
    Object.assign(node.dataset, { kind: name, name: (shownName(h) + ' ' + kind).trim() + (park >= 0.005 ? ', ' + t('parked {} %', Math.round(100 * park)) : '') });
    node.tabIndex = h === state.h ? 0 : -1;
    node.setAttribute('aria-checked', String(h === state.h));
    node.setAttribute('aria-label', [name === '' ? t('Head {}', shownName(h)) : t('head {}, which looks most at: {}', shownName(h), kind), ...aims[h]?.said ? [aims[h].said] : [], ...isOff(h) ? [t('switched off')] : []].join(', '));
  });
  kinds.forEach((node, i) => { node.hidden = !types.some(({ kind, bar = [] }) => kind === i || barPartsOf(bar, attnPage.given.kinds).some(part => part.kind === i && part.end - part.begin >= 0.02)); });
  const shown = kinds.filter(node => !node.hidden);
  shown.forEach((node, i) => { node.tabIndex = i === 0 ? 0 : -1; }); // arrow keys lead to the others
  $('stage-pick').value = state.h;
}

const AT_ONCE = 16; // blocks: to begin to inflate all at once takes longer than a few frames
let levels = null; // {of, bytes}: those of all heads of a run

async function inflateAll({ heads }) {
  const all = [];
  for (let i = 0; i < heads.length; i += AT_ONCE) all.push(...await Promise.all(heads.slice(i, i + AT_ONCE).map(({ block }) => viewer.inflate(block))));
  return all;
}

// Returns for each head where row ROW looks: its key with the largest weight; what is on sinks, the sink with the largest
// weight and the key with the largest weight beside them; and its largest weight on a word that is neither a sink nor the first, itself or a neighbour (as attn_first_head_look):
// [{ key, weight, parked, park: { key, weight }, other: { key, weight }, look }]. Null if another run is shown meanwhile.
async function aimsAt(row) {
  const { run } = viewer;
  if (levels?.of !== run) levels = { of: run, bytes: inflateAll(run) };
  const all = await levels.bytes;
  if (run !== viewer.run) return null;
  return run.heads.map(({ rows, cols, step = 1, is_source, is_encoder }, h) => {
    const at = Math.min(row, rows - 1), n = Math.ceil(cols / step), first = Math.floor(at / step) * n, weights = viewer.weightsOf(all[h], n, run.bytes, first, Math.ceil(rows / step) * n + first);
    const parks = new Set(is_source || is_encoder ? [] : run.parks), own = viewer.queryAt(at), aim = { key: 0, weight: 0, parked: 0, park: { key: 0, weight: 0 }, other: { key: 0, weight: 0 }, look: 0 };
    for (let i = 0; i < n; i++) {
      const key = i * step, weight = weights[i] || 0, isPark = parks.has(key);
      if (weight > aim.weight) Object.assign(aim, { key, weight });
      const most = isPark ? 'park' : 'other';
      if (isPark) aim.parked += weight;
      if (weight > aim[most].weight) aim[most] = { key, weight };
      if (!isPark && key > 0 && Math.abs(key - own) > 1) aim.look = Math.max(aim.look, weight);
    }
    return aim;
  });
}

let showsParked = false; // the tiles of heads that park, of many
let needed = 0; // the height of the tiles, the most so far

// Of many heads, those that park stand apart, and the others under the word at which they look most beside sinks.
const placedOf = aim => !isCrowded ? aim : { ...aim, ...aim.other, rest: 1 - aim.parked, isParked: aim.parked >= LEAST_PARKED };

// The heads whose tiles are shown: all, or without those that park; the chosen one always.
const shownTiles = () => [...cells.keys()].filter(h => showsParked || !aims[h].isParked || h === state.h);

// Returns the groups of heads: those that look most at each word of the sentence, those that look at no word in particular,
// those that park, and of a translator those of other stacks. AIMS becomes the group of each head.
function groupHeads() {
  const { run } = viewer, isSource = isCross(state.h), texts = isSource ? run.source_tokens : run.tokens;
  const list = isMap() ? texts.map((_, k) => ({ from: k, to: k + 1, node: shownAt(k, isSource) })) : wholes.map(({ from, to, text }) => ({ from, to, node: shownText(run.tokens[from], text) }));
  const groups = [...list, { name: '' }, { isParking: true }, ...STACKS.map(([stack, name]) => ({ stack, name: t(name) }))].map(group => ({ ...group, heads: [] }));
  run.heads.forEach((head, h) => {
    const { key, weight, rest = 1, isParked } = aims[h];
    const g = !isLike(h) ? groups.findIndex(({ stack }) => stack === stackOf(head)) : isParked ? list.length + 1 : weight < LEAST_AIM * rest ? list.length : list.findIndex(({ from, to }) => key >= from && key < to);
    groups[g].heads.push(h);
    Object.assign(aims[h], { group: g, said: g < list.length ? t('{} looks at: {}', textAt(state.q), viewer.nameAt(key, isSource) + ' ' + share(weight)) : '' });
  });
  return { groups, nWord: list.length };
}

// Returns the button above the tiles of a group, or before them in a list; it switches all of its heads.
function makeGroup({ heads: own, name, node, isParking }) {
  if (isParking) return makeParking(own);
  const n = t(own.length === 1 ? '{} head' : '{} heads', own.length), words = name === '' ? t('{} look everywhere', n) : n;
  const all = el('button', { type: 'button', class: 'stage-group', title: t('Switches all of them') }, ...node ?? name ? [node ?? name] : [], el('span', {}, words));
  all.addEventListener('click', () => toggleHeads(own.map(nameOf)));
  all.setAttribute('aria-label', [node?.textContent ?? name, words].filter(Boolean).join(': '));
  return all;
}

// Returns the button after which stand the heads that park: their number, where they park, and whether their tiles are shown.
function makeParking(own) {
  const numbers = new Map(), list = () => [...numbers].sort((a, b) => b[1] - a[1]).map(([key, n]) => wordAt(key) + ' ' + n).join(', ');
  for (const h of own) numbers.set(aims[h].park.key, (numbers.get(aims[h].park.key) ?? 0) + 1);
  const all = el('button', { type: 'button', class: 'stage-group', id: 'stage-parked', 'aria-expanded': String(showsParked), title: t('Heads with half of their weight or more on the first word or another sink') },
    el('span', {}, t('{} heads park ({}): {}', own.length, list(), t(showsParked ? 'hide' : 'show'))));
  all.addEventListener('click', () => {
    showsParked = !showsParked;
    laidOf = '';
    layTiles().then(() => $('stage-parked')?.focus());
  });
  return all;
}

const LABEL = 7; // px width of a character of a label

// Calls the layout of figures (figures/under_layout.h). Returns the places of GROUPS and, if HAS_TILES, of all tiles, in a
// line of words or a list, and the height of all.
function placeUnder(groups, nWord, { room, pitch, high, hasTiles, isList }) {
  const labelOf = ({ label }) => LABEL * label.textContent.length + 16, list = hasTiles ? shownTiles() : [], n = list.length;
  const found = callModule('lay_under', [nWord, groups.length, n, Number(isRtl && !isMap()), Number(isList)],
    [room, pitch, TILE_GAP, ...WORD_GAPS, high, ...groups.flatMap((group, g) => [g < nWord && !isList ? wholes[g].width : 0, labelOf(group)]), ...list.map(h => aims[h].group)],
    2 + 3 * groups.length + 2 * n);
  if (!found) return null;
  const tiles = found.subarray(2 + 3 * groups.length);
  return { isLine: found[0] === 1, bottom: found[1], placeOf: g => ({ x: found[2 + 3 * g], y: found[3 + 3 * g], width: found[4 + 3 * g] }), list, tileOf: i => ({ x: tiles[2 * i], y: tiles[2 * i + 1] }) };
}

const arePlaced = () => shape !== 'line' || wholes[0].x !== undefined;

// Moves the words of a line to their places. Returns true if one moves.
function moveWords({ placeOf }) {
  const moved = wholes.filter((whole, i) => whole.x !== Math.round(placeOf(i).x));
  wholes.forEach((whole, i) => {
    whole.node.classList.toggle('moves', whole.x !== undefined);
    whole.x = Math.round(placeOf(i).x);
    whole.node.style.transform = `translateX(${whole.x}px)`;
  });
  return moved.length > 0;
}

// Places words and tiles: tiles under their words, if they have room there; otherwise group after group, each after its name.
async function layTiles(isAgain = false) {
  const { run } = viewer, place = $('stage-strip'), room = place.clientWidth - 6, isLine = shape === 'line' && !isMap(), key = [state.q, isMap(), shape, partsOf, room, aims[state.h]?.isParked ? state.h : ''].join('\0');
  if (key === laidOf && run === laidRun) return;
  [laidOf, laidRun] = [key, run];
  const found = await aimsAt(state.q), keyOfAim = ({ key: k, weight, rest = 1 }) => weight < LEAST_AIM * rest ? -1 : k;
  if (!found || key !== laidOf || run !== laidRun || found.length !== cells.length) return;
  // those that look elsewhere move there; to animate all of many is slow
  const placed = found.map(placedOf);
  placed.forEach((aim, h) => cells[h].classList.toggle('moves', aims[h] !== undefined && keyOfAim(aim) !== keyOfAim(aims[h])));
  aims = placed;
  const { groups, nWord } = groupHeads(), isFine = innerWidth >= LEAST_FINE, size = isFine || isCrowded ? tileSize() : FINGER, pitch = size + TILE_GAP, high = isFine ? 24 : FINGER;
  for (const group of groups) group.label = makeGroup(group);
  if (isLine) for (const whole of wholes) whole.width ??= whole.node.getBoundingClientRect().width;
  const how = { room, pitch, high, hasTiles: true, isList: !isLine }, laid = placeUnder(groups, nWord, how);
  if (!laid) {
    laidOf = '';
    return;
  }
  const hasMoved = isLine && moveWords(laid.isLine ? laid : placeUnder(groups, nWord, { ...how, hasTiles: false, room: Math.max(room, wholes.reduce((sum, { width }) => sum + width + WORD_GAPS[0], 0)) }));
  const put = (node, { x, y }, top) => {
    node.style.transform = `translate(${Math.round(x)}px, ${Math.round(y + top)}px)`;
    node.classList.toggle('late', x > room / 2);
  };
  const top = laid.isLine ? high : 0;
  cells.forEach((cell, h) => { cell.hidden = !laid.list.includes(h); }); // the focus stays
  laid.list.forEach((h, i) => put(cells[h], laid.tileOf(i), top));
  const labels = groups.flatMap(({ label, heads: own }, g) => {
    const spot = laid.placeOf(g), words = label.lastChild;
    if (own.length === 0) return [];
    if (groups[g].isParking && !laid.list.some(h => aims[h].group === g)) {
      label.style.height = '24px';
      put(label, { x: 0, y: laid.bottom + TILE_GAP }, top);
      return [label];
    }
    if (laid.isLine) label.replaceChildren(g < nWord && spot.width < LABEL * words.textContent.length ? String(own.length) : words);
    label.style.height = (laid.isLine ? high : size) + 'px';
    label.style.width = spot.width + 'px';
    put(label, spot, top - (laid.isLine ? high : 0));
    return [label];
  });
  const isParked = groups.some(({ isParking, heads: own }, g) => isParking && own.length > 0 && !laid.list.some(h => aims[h].group === g)), all = laid.bottom + top + (isParked ? 24 + TILE_GAP : 0);
  needed = Math.max(needed, all); // so that another word does not move the page
  for (const [name, px] of [['--tile', size], ['--high', all], ['--need', needed + 6], ['--most', high + (cells.length + 1) * pitch]]) place.style.setProperty(name, px + 'px');
  for (const old of place.querySelectorAll('.stage-group')) old.remove();
  place.prepend(...labels);
  drawTiles();
  if (hasMoved && !isAgain) drawArcs(true);
}

// Asks how the next word changes without each head, and colors the tiles when it is known.
function drawEffects() {
  const found = effectsHere();
  if (!found) return;
  found.then(list => {
    if (list === effects) return; // the tiles have these
    effects = list;
    drawTiles();
  }, () => {});
}

// Returns the next head in a direction; layers may have different numbers of heads.
function stepHead(at, [down, across]) {
  const { heads } = viewer.run, groups = layersOf(heads);
  const next = h => down ? heads.findIndex(head => head.group === groups[groups.indexOf(heads[h].group) + down] && head.head === heads[h].head) : h + across;
  for (at = next(at); cells[at]?.hidden;) at = next(at);
  return at;
}

// --- The first line -----------------------------------------------------------------------------

let triedOf = null; // the model whose sentences are offered

// Writes what the program does, and how to begin.
function drawIntro() {
  const { predictions } = viewer.given, isMissing = !hasModel();
  $('live-stage').classList.toggle('missing', isMissing);
  $('live-stage').classList.toggle('wordless', !predictions);
  for (const node of [...$('stage-switch').children, $('stage-on')]) {
    node.disabled = isMissing;
    node.title = t(isMissing ? 'Open the model first' : node === $('stage-on') ? 'Writes the ten most probable next tokens' : 'The key x does the same');
  }
  $('stage-does').textContent = !predictions ? '' : t(asked.source !== null ? 'This program translates.' : predictions.is_in_place ? 'This program guesses hidden words.' : 'This program guesses the next word.');
  for (const node of $('stage-try').children) node.setAttribute('aria-pressed', String(node.value === asked.text));
  offer().catch(() => { triedOf = null; });
}

// Offers sentences that the model has words for: that of the page, and others. The built-in model
// has them; others are asked when they have nothing else to do.
async function offer() {
  const { model, predictions } = viewer.given, isFable = model === 'fable';
  if (triedOf === model || !isFable && !isIdle()) return;
  triedOf = model;
  const own = asked.text, found = SENTENCES.includes(own) || own === '' ? [] : [own];
  if (predictions && !predictions.is_in_place && asked.source === null)
    for (const text of SENTENCES) if (found.length < SENTENCES.length && (isFable || await takes(text))) found.push(text);
  if (triedOf !== model) return;
  $('stage-try').replaceChildren(...found.map(text =>
    button('', '', () => begin(text), { class: 'stage-example', type: 'button', value: text, 'aria-pressed': String(text === asked.text) })));
  for (const node of $('stage-try').children) node.append(el('bdi', {}, node.value));
  $('stage-try').hidden = found.length < 2;
}

// --- All of it ----------------------------------------------------------------------------------

let isOpen = false;

function draw() {
  if (!isOpen) return;
  drawWords();
  if (isMap()) $('stage-sentence').style.fontSize = '';
  drawTiles();
  drawEffects();
  drawNext();
  drawIntro();
  drawArcs();
  life.draw();
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
  if (isOpen) drawArcs();
}

// Returns the button that folds the strip away beside a story on a telephone.
function makeFold() {
  const fold = button('stage-fold', t('All heads'), () => fold.setAttribute('aria-expanded', String(fold.ariaExpanded !== 'true')),
    { 'aria-expanded': 'false', 'aria-controls': 'stage-strip' });
  return fold;
}

// Returns the button that opens the workbench; on a telephone a menu that has it, too.
function makeMenu() {
  const more = button('stage-more', '\u22ef', () => show(more.ariaExpanded !== 'true'), { 'aria-label': t('More'), 'aria-expanded': 'false', 'aria-controls': 'stage-tools' });
  const show = isIt => more.setAttribute('aria-expanded', String(isIt)), press = id => () => { show(false); $(id).click(); };
  const menu = el('span', { id: 'stage-menu' }, more, el('span', { id: 'stage-tools', role: 'group', 'aria-label': t('More') },
    button('stage-workbench', t('Workbench'), () => { show(false); open(false); $('live-to-stage').focus(); }), button('stage-save', t('Save'), press('keep')), button('stage-dark', t('Dark'), press('dark')), button('stage-guess-too', t('Guess'), press('guess-begin'))));
  addEventListener('pointerdown', event => menu.contains(event.target) || show(false));
  menu.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || more.ariaExpanded !== 'true') return;
    show(false);
    more.focus();
  });
  return menu;
}

function make() {
  kinds = attnPage.given.kinds.map(({ name, letter, hue }) => {
    const swatch = el('i', { 'aria-hidden': 'true' }, letter);
    swatch.style.setProperty('--hue', hue);
    const node = term(name, swatch, ' ', el('span', {}, t(name)));
    node.classList.add('stage-kind');
    return node;
  });
  $('app').prepend(el('section', { id: 'live-stage', 'aria-label': t('Stage') },
    el('div', { id: 'stage-intro' }, el('h1', {}, t('What a language model looks at')),
      el('p', {}, el('span', { id: 'stage-does' }), ' ', el('span', { class: 'pointed' }, t('Point at a word to see where a head looks.')), el('span', { class: 'tapped' }, t('Tap a word to see where a head looks.'))),
      el('p', { id: 'stage-missing' }, button('stage-open', t('Open {}', model()), openOwn), ' ' + t('({} MB, stays on this machine) to type, and to switch heads off.', Math.round(bytes / 1e6)))),
    el('div', { id: 'stage-top' }, el('span', { id: 'stage-head' }, term('head', el('b', { id: 'stage-name' }, t('Head')), el('small', { id: 'stage-place' })),
      el('span', { id: 'stage-switch', class: 'tabs', role: 'group' }, makeSwitch('stage-head-on', 'on', true), makeSwitch('stage-head-off', 'off', false))), el('span', { id: 'stage-chips' }), el('p', { id: 'stage-said', role: 'status' }),
      makeMenu()),
    el('div', { id: 'stage-story' }),
    el('div', { id: 'stage-sentence', role: 'group', 'aria-label': t('Sentence: each word shows where it looks') },
      el('div', { id: 'stage-line' }, el('div', { id: 'stage-words' }), svgEl('svg', { id: 'stage-arcs', 'aria-hidden': 'true' }),
        svgEl('svg', { id: 'stage-near', 'aria-hidden': 'true' }))),
    el('div', { id: 'stage-next' },
      el('h2', {}, term('next token', t('Next word')), el('span', { id: 'stage-hint', class: 'note' }, t('press one to write it')), el('span', { id: 'stage-key', class: 'note', hidden: '' }, ...phrase(
        '{} before, {} after', el('i', { class: 'before' }), el('i', { class: 'after' })))),
      el('ol', { id: 'stage-bars', 'aria-label': t('Next word') }), button('stage-on', t('Go on'), goOn, { title: t('Writes the ten most probable next tokens') })),
    el('div', { id: 'stage-text' }, el('div', { id: 'stage-try', role: 'group', 'aria-label': t('Sentences to try'), hidden: '' })),
    el('div', { id: 'stage-heads' },
      makeFold(),
      el('div', { id: 'stage-strip', role: 'radiogroup', 'aria-label': t('Heads') }),
      el('h2', {}, term('head', t('Heads')), el('select', { id: 'stage-pick', 'aria-label': t('Head') }), el('span', { class: 'note', id: 'stage-kinds' }, el('span', {}, term('kind', t('Looks most at:'))), ...kinds))),
    el('div', { id: 'stage-undo' }),
    el('div', { id: 'stage-tip', role: 'tooltip', hidden: '' })));
  $('top').prepend(button('live-to-stage', t('Stage'), () => { open(true); ($('stage-more').offsetParent ? $('stage-more') : $('stage-workbench')).focus(); }));
  $('stage-tip').addEventListener('pointerleave', hideTip);
  addEventListener('pointerdown', event => event.target.closest?.('.term, #stage-tip') || hideTip());
  rove($('stage-words'), () => isMap() ? words : parts.map(({ node }) => node), (at, [down, across]) => at + down + across);
  $('stage-pick').addEventListener('change', event => choose(Number(event.target.value)));
  rove($('stage-strip'), () => cells, stepHead);
  rove($('stage-kinds'), () => kinds.filter(node => !node.hidden), (at, [down, across]) => at + down + across);
  // of the keys of the workbench, only i (goes to the sentence) and x (switches the head off) work
  // here, since the others change things that are not visible
  document.documentElement.addEventListener('keydown', event => isOpen && !/^[ix]$/.test(event.key) && event.stopPropagation());
  new ResizeObserver(layOut).observe($('stage-sentence'));
  for (const event of ['beforeprint', 'afterprint']) addEventListener(event, layOut);
}

return { make, open, draw, aimsAt, isOpen: () => isOpen };
};
