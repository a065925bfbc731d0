// like.js - a picture of the stage that asks: is it this head? Words of the sentence are exchanged by others like them
// (pair.js), and in each sentence that results each head is switched off: a row for each head, a dot for each sentence, at the change of the next
// word. The worker runs sentence after sentence; Escape stops it. Sentences that make no sense can be struck out.
'use strict';
globalThis.attnLike = ({ viewer, t, seen, wordsLike, isWord, textWith, without, commandFor, figureOf, tellOf }) => {
const { state } = viewer, { el, svgEl, save, written } = attnPage;
const NUMBERS = [12, 36, 100]; // of sentences
const USUAL = 36, OF_LONG = 12, LONG = 64; // their number, and that of texts with more tokens, which take longer
const N_ROW = 6; // heads with the largest medians, which have rows of their own
const ROW = 26, LEFT = 92, RIGHT = 14, DOT = 4.5; // px
const TICKS = [0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10], LEAST_TICK = 46; // nats, and px between them
const INK = '#1a1a1a', SOFT = '#5f6670', RULE = '#d5d9de', HUE = '#c8400a', OTHER = '#5a6b80'; // of the file; life.css colors the page

const number = kl => written(viewer.run.numbers.measure, kl);
const median = list => {
  const sorted = [...list].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

// --- The sentences ------------------------------------------------------------------------------

let sentences = [], sentencesOf = ''; // texts, and what they are for
let textOf = null, knownOf = ''; // the text that they are like; null: the numbers in `struck` are those of the address
let places = []; // positions whose words are exchanged
let known = new Map(); // by sentence: the change of the next word without each head
let struck = new Set(), most = 0; // numbers of the sentences that do not count; how many were asked for, 0: the usual number
let isStopped = false;

const numberFor = ({ tokens }) => most || (tokens.length > LONG ? OF_LONG : USUAL);

// Returns the positions whose words are exchanged: that at which the head looks, and the last.
function placesOf({ tokens, row, query }) {
  const words = [...row.keys()].filter(k => k !== query && row[k] > 0 && isWord(tokens[k])).sort((a, b) => row[b] - row[a]);
  return [...words.slice(0, 1), ...isWord(tokens[query]) ? [query] : words.slice(1, 2)].sort((a, b) => a - b);
}

// Returns the sentences of the form of WHAT, itself first; null if something else is asked for meanwhile.
async function makeSentences(what, one, isWanted) {
  const number = numberFor(one);
  let list = [what.text];
  for (const k of [...places].reverse()) { // what stands before keeps its place
    const n = list.length > 1 || places.length < 2 ? Math.floor(number / list.length) : Math.floor(Math.sqrt(number));
    const words = await wordsLike(what, one.tokens, k, n - 1);
    if (!isWanted()) return null;
    list = list.flatMap(text => [text, ...words.map(word => textWith(text, one.offsets[k], word))]);
  }
  return list;
}

// Returns the sentences that are known and not struck out.
const counted = () => sentences.filter((text, i) => known.has(text) && !struck.has(i));

// Returns the head without which the next word of TEXT changes most.
const mostIn = text => Object.entries(known.get(text)).reduce((a, b) => b[1] > a[1] ? b : a)[0];

// --- The picture --------------------------------------------------------------------------------

// Returns the rows: {name, values} of the heads with the largest medians and of CHOSEN, and one of all others.
function rowsOf(texts, chosen) {
  const names = Object.keys(known.get(texts[0])), values = Object.fromEntries(names.map(name => [name, texts.map(text => known.get(text)[name])]));
  const sorted = names.map(name => ({ name, values: values[name], median: median(values[name]) })).sort((a, b) => b.median - a.median);
  const shown = sorted.filter((row, i) => i < N_ROW || row.name === chosen), others = sorted.filter(row => !shown.includes(row));
  return [...shown, ...others.length > 0 ? [{ name: t('{} others', others.length), values: others.map(row => row.median), isRest: true }] : []];
}

const text = (x, y, more, string) => svgEl('text', { x, y, 'font-size': 13, 'font-family': 'Helvetica, Arial, sans-serif', fill: INK, ...more }, string);

function picture(texts, chosen, width, verdict) {
  const rows = rowsOf(texts, chosen), most = Math.max(...rows.flatMap(row => row.values)), high = ROW * rows.length + 34;
  const at = kl => LEFT + (width - LEFT - RIGHT) * Math.sqrt(Math.max(0, kl) / (most || 1));
  const marks = rows.flatMap(({ name, values, median: middle, isRest }, i) => {
    const y = ROW * (i + 0.5), isChosen = name === chosen, kind = isChosen ? 'chosen' : 'other', fill = isChosen ? HUE : OTHER;
    return [svgEl('line', { class: 'rule', x1: LEFT, x2: width - RIGHT, y1: y, y2: y, stroke: RULE }),
      text(LEFT - 12, y + 4.5, { class: isRest ? 'soft' : '', 'text-anchor': 'end', ...isChosen ? { 'font-weight': 700 } : {} }, name),
      ...values.map((kl, s) => svgEl('circle', { class: kind, cx: at(kl).toFixed(1), cy: y, r: isRest ? 3 : DOT, fill, 'fill-opacity': 0.5, 'data-kl': kl },
        ...isRest ? [] : [svgEl('title', {}, `${texts[s]}: ${number(kl)}`)])),
      ...isRest ? [] : [svgEl('line', { class: kind, x1: at(middle), x2: at(middle), y1: y - 10, y2: y + 10, stroke: fill, 'stroke-width': 3 })]];
  });
  let last = -Infinity;
  const ticks = TICKS.filter(kl => kl <= most && (at(kl) - last >= LEAST_TICK || kl === 0) && ((last = at(kl)) || true));
  return svgEl('svg', { class: 'like', role: 'img', viewBox: `0 0 ${width} ${high}`, width, height: high, 'aria-label': [verdict,
    ...rows.filter(row => !row.isRest).map(row => t('head {}: median {}', row.name, number(row.median)))].join(' ') },
  ...marks, ...ticks.map(kl => text(at(kl), high - 18, { class: 'soft', 'text-anchor': 'middle', fill: SOFT, 'font-size': 12 }, String(kl))),
  text(LEFT, high - 3, { class: 'soft', fill: SOFT, 'font-size': 12 }, t('KL of the next word without the head, nats')));
}

// Returns the sentence that says how often the head CHOSEN changes the next word most, and which others do.
function verdictOf(texts, chosen) {
  const counts = new Map();
  for (const name of texts.map(mostIn)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const others = [...counts].filter(([name]) => name !== chosen).sort((a, b) => b[1] - a[1]).map(([name, n]) => t('{} in {}', name, n));
  return [t('Head {} changes the next word most in {} of {} sentences', chosen, counts.get(chosen) ?? 0, texts.length), ...others].join(', ') + '.';
}

// --- All of it ----------------------------------------------------------------------------------

const plainButton = (id, name, press) => {
  const node = el('button', { id, type: 'button' }, t(name));
  node.addEventListener('click', press);
  return node;
};

const fileOf = () => counted().map(text => JSON.stringify({ text }) + '\n').join('');

// Makes the nodes of the picture. DRAW fills them with what is known.
function makeNodes(what, chosen, width) {
  const figure = el('div', {}), verdict = el('p', { id: 'like-verdict', role: 'status' }), list = el('ol', {});
  const stop = plainButton('like-stop', 'Stop', () => { isStopped = true; });
  const saveFigure = plainButton('like-save', 'Save figure', () => figureOf(what, chosen, fileOf()).then(bytes => save(new Blob([bytes], { type: 'image/svg+xml' }), 'like.svg')).catch(tellOf));
  const saveTexts = plainButton('like-texts', 'Save sentences', () => save(new Blob([fileOf()], { type: 'application/jsonl' }), 'like.jsonl'));
  const draw = () => {
    const texts = counted(), isDone = isStopped || known.size === sentences.length;
    verdict.setAttribute('aria-busy', String(!isDone));
    verdict.textContent = texts.length === 0 ? t('computing') + ' \u2026' : verdictOf(texts, chosen) + (isDone ? '' : ' ' + t('Escape stops.'));
    figure.replaceChildren(...texts.length === 0 ? [] : [picture(texts, chosen, width, verdict.textContent)]);
    stop.hidden = isDone;
    saveFigure.disabled = saveTexts.disabled = texts.length === 0;
    sentences.forEach((text, i) => {
      const row = list.children[i] ?? list.appendChild(makeRow(text, i, draw));
      row.firstChild.setAttribute('aria-pressed', String(struck.has(i)));
      row.lastChild.textContent = known.has(text) ? mostIn(text) : '';
    });
  };
  return { draw, nodes: [figure, el('div', { id: 'like-says' }, verdict, stop, makeChoice(), saveFigure, saveTexts),
    el('p', { class: 'note' }, el('code', {}, commandFor(what, chosen))),
    el('details', { id: 'like-list' }, el('summary', {}, t('Show sentences')), el('p', { class: 'note' }, t('A press strikes out a sentence that makes no sense. At the right: the head without which its next word changes most.')), list)] };
}

// Returns the choice of how many sentences are made.
function makeChoice() {
  const node = el('select', { id: 'like-most' }, ...NUMBERS.map(n => el('option', { value: n }, n)));
  node.value = numberFor(viewer.run);
  node.addEventListener('change', () => {
    most = Number(node.value);
    struck = new Set();
    viewer.set({});
  });
  return el('label', {}, t('Sentences') + ' ', node);
}

// Returns a row of the list of sentences, whose press strikes it out.
function makeRow(text, i, draw) {
  const node = el('button', { type: 'button' }, el('bdi', {}, text));
  node.addEventListener('click', () => {
    if (!struck.delete(i)) struck.add(i);
    draw();
    viewer.set({}); // the address has them
  });
  return el('li', {}, node, ' ', el('span', { class: 'number' }));
}

// Runs the sentences that are not known yet, and draws what is known after each.
async function collect(what, isWanted, redraw) {
  for (const text of sentences) {
    if (!isWanted() || isStopped) break;
    if (!known.has(text)) known.set(text, await without({ ...what, text }));
    if (isWanted()) redraw();
  }
  if (isWanted()) redraw();
}

// Returns the nodes of the picture for the sentence of WHAT; they are filled while sentences are run. Null if something else is asked for meanwhile.
async function draw(what, width, isWanted) {
  const one = await seen(what, -1), of = JSON.stringify([what, most]), chosen = viewer.run.heads[state.h].at;
  if (sentencesOf !== of) {
    places = placesOf(one);
    const list = await makeSentences(what, one, isWanted);
    if (list === null) return null;
    if (textOf !== null && textOf !== what.text) struck = new Set();
    [sentences, sentencesOf, textOf] = [list, of, what.text];
    known = new Map([...known].filter(([text]) => knownOf === JSON.stringify(what) && list.includes(text)));
    knownOf = JSON.stringify(what);
  }
  isStopped = false;
  const { draw: redraw, nodes } = makeNodes(what, chosen, width);
  redraw();
  collect(what, isWanted, redraw).catch(tellOf);
  return { nodes };
}

addEventListener('keydown', event => { if (event.key === 'Escape') isStopped = true; }, true);

// The part of the address: the number of sentences, 0 for the usual one, and those that are struck out, "36,3+7"; "" if there is
// nothing to say.
const hashPart = () => most === 0 && struck.size === 0 ? '' : [most, ...struck.size > 0 ? [[...struck].sort((a, b) => a - b).join('+')] : []].join();

function read(part) {
  const [, number, list = ''] = /^(\d+)(?:,(\d+(?:\+\d+)*))?$/.exec(part) ?? [];
  most = NUMBERS.includes(Number(number)) ? Number(number) : 0;
  struck = new Set(list === '' ? [] : list.split('+').map(Number));
}

return { draw, hashPart, read, asked: () => most };
};
