// like.js - a picture of the stage that asks: is it this head? Words of the sentence are exchanged by others like them
// (pair.js), and in each sentence that results each head is switched off: a row for each head, a dot for each sentence, at the change of the next
// word. The worker runs sentence after sentence; Escape stops it. Sentences that make no sense can be struck out.
'use strict';
globalThis.attnLike = ({ viewer, t, seen, wordsLike, isWord, textWith, without, stored, commandFor, figureOf, drawStrip, tellOf }) => {
const { state } = viewer, { el, svgEl, save, written } = attnPage;
const NUMBERS = [12, 36, 100]; // of sentences
const USUAL = 36, FEW = 12, LONG = 64; // their number, and that of texts with more tokens and of many heads, which take longer
const N_WINNER = 4; // other heads in the sentence
const N_RUN = 11, LONG_WORD = 5; // heads that are switched off where there are many; letters of a word that is no particle

// --- The sentences ------------------------------------------------------------------------------

let sentences = [], sentencesOf = ''; // texts, and what they are for
let textOf = null, knownOf = ''; // the text that they are like; null: the numbers in `struck` are those of the address
let places = [], wanted = null; // positions whose words are exchanged, and those that the reader chose
let known = new Map(); // by sentence: the change of the next word without each head
let struck = new Set(), most = 0; // numbers of the sentences that do not count; how many were asked for, 0: the usual number
let isStopped = false;

const numberFor = ({ tokens }) => most || (tokens.length > LONG || viewer.run.heads.length > attnPage.MANY ? FEW : USUAL);

// Returns the positions whose words are exchanged: those that the reader chose, or of the words that are no particles the two
// at which the head looks most, the last word among them if it is one.
function placesOf({ tokens, row, query }) {
  const chosen = wanted?.filter(k => k < tokens.length && isWord(tokens[k])) ?? [];
  if (chosen.length > 0) return chosen;
  const isFull = k => k > 0 && /^\p{Lu}/u.test(tokens[k].trim()) || tokens[k].trim().length >= LONG_WORD;
  const words = [...row.keys()].filter(k => k !== query && row[k] > 0 && isWord(tokens[k])).sort((a, b) => isFull(b) - isFull(a) || row[b] - row[a]);
  const kinds = words.filter((k, i) => words.findIndex(p => tokens[p] === tokens[k]) === i); // a word that occurs twice is one
  return [...kinds.slice(0, 1), ...isWord(tokens[query]) && isFull(query) ? [query] : kinds.slice(1, 2)].sort((a, b) => a - b);
}

// Returns the heads that are switched off, "2.5,3.1": of many the one CHOSEN, and those with the largest stored effects; '' for all.
function headsRun(chosen) {
  if (!stored || viewer.run.heads.length <= attnPage.MANY) return '';
  const others = Object.keys(stored).filter(name => name !== chosen).sort((a, b) => stored[b] - stored[a]);
  return [chosen, ...others.slice(0, N_RUN - 1)].join();
}

// Returns the sentences of the form of WHAT, itself first; null if something else is asked for meanwhile.
async function makeSentences(what, one, isWanted) {
  const number = numberFor(one);
  let list = [new Map()]; // the new words by position
  for (const [i, k] of [...places.entries()].reverse()) {
    const n = Math.max(1, Math.floor((number / list.length) ** (1 / (i + 1)) + 1e-9));
    const words = await wordsLike(what, one, k, n - 1), same = [...one.tokens.keys()].filter(p => one.tokens[p] === one.tokens[k]);
    if (!isWanted()) return null;
    list = list.flatMap(changes => [changes, ...words.filter(word => ![...changes.values()].includes(word)).map(word => new Map([...changes, ...same.map(p => [p, word])]))]);
  }
  // from the last: what stands before keeps its place
  return list.map(changes => [...changes].sort(([a], [b]) => b - a).reduce((text, [p, word]) => textWith(text, one.offsets[p], word), what.text));
}

// Returns the sentences that are known and not struck out.
const counted = () => sentences.filter((text, i) => known.has(text) && !struck.has(i));

// Returns the head without which the next word of TEXT changes most.
const mostIn = text => Object.entries(known.get(text)).reduce((a, b) => b[1] > a[1] ? b : a)[0];

// --- The picture --------------------------------------------------------------------------------

// Returns the picture of TEXTS, which the module draws, and the sentence that says how often the head CHOSEN changes the next word most,
// and which others do.
function pictureOf(texts, chosen, width) {
  const svg = new DOMParser().parseFromString(drawStrip(texts.map(text => known.get(text)), chosen, 0.75 * width, width < 480 ? 10 : 11), 'image/svg+xml').documentElement;
  const winners = texts.map(mostIn), often = name => winners.filter(winner => winner === name).length;
  const others = [...new Set(winners)].filter(name => name !== chosen).sort((a, b) => often(b) - often(a)).slice(0, N_WINNER);
  const list = others.map(name => t('{} in {}', name, often(name)));
  const axis = svg.querySelector('[data-i=axis]');
  axis.textContent = t('KL of the next word without the head, nats');
  if (width < 480) axis.setAttribute('x', svg.viewBox.baseVal.width / 2); // a longer name has room, too
  for (const name of svg.querySelectorAll('text[data-i=others]')) name.textContent = t('{} others', parseInt(name.textContent));
  for (const dot of svg.querySelectorAll('circle[data-i*=","]')) {
    const [name, i] = dot.dataset.i.split(','), kl = known.get(texts[i])[name];
    dot.dataset.kl = kl;
    dot.append(svgEl('title', {}, `${texts[i]}: ${written(viewer.run.numbers.measure, kl)}`));
  }
  const verdict = [t('Head {} changes the next word most in {} of {} sentences', chosen, often(chosen), texts.length), ...list].join(', ') + '.';
  for (const [name, value] of [['class', 'like'], ['role', 'img'], ['aria-label', verdict]]) svg.setAttribute(name, value);
  return { svg, verdict };
}

// --- All of it ----------------------------------------------------------------------------------

const plainButton = (id, name, press) => {
  const node = el('button', { id, type: 'button' }, t(name));
  node.addEventListener('click', press);
  return node;
};

const fileOf = () => counted().map(text => JSON.stringify({ text }) + '\n').join('');

// Makes the nodes of the picture. DRAW fills them with what is known.
function makeNodes(what, one, chosen, width) {
  const figure = el('div', {}), verdict = el('p', { id: 'like-verdict', role: 'status' }), list = el('ol', {});
  const stop = plainButton('like-stop', 'Stop', () => { isStopped = true; });
  const saveFigure = plainButton('like-save', 'Save figure', () => figureOf(what, chosen, fileOf(), headsRun(chosen)).then(bytes => save(new Blob([bytes], { type: 'image/svg+xml' }), 'like.svg')).catch(tellOf));
  const saveTexts = plainButton('like-texts', 'Save sentences', () => save(new Blob([fileOf()], { type: 'application/jsonl' }), 'like.jsonl'));
  const draw = () => {
    const texts = counted(), isDone = isStopped || sentences.length > 0 && sentences.every(text => known.has(text)), n = sentences.length || numberFor(one);
    const isFew = headsRun(chosen) !== '', notRun = isFew ? ' ' + t('{} other heads are not run.', viewer.run.heads.length - N_RUN) : '';
    verdict.setAttribute('aria-busy', String(!isDone));
    const found = texts.length === 0 ? null : pictureOf(texts, chosen, width);
    const progress = isDone ? '' : ' ' + t('computing') + ' \u2026 ' + t('{} of {}', texts.length, n) + '. ' + t('Escape stops.');
    verdict.textContent = ((found?.verdict ?? '') + progress + (found ? notRun : '')).trim();
    figure.replaceChildren(...found === null ? [] : [found.svg]);
    stop.hidden = isDone;
    saveFigure.disabled = saveTexts.disabled = texts.length === 0;
    sentences.forEach((text, i) => {
      const row = list.children[i] ?? list.appendChild(makeRow(text, i, draw));
      row.firstChild.setAttribute('aria-pressed', String(struck.has(i)));
      row.lastChild.textContent = known.has(text) ? mostIn(text) : '';
    });
  };
  return { draw, nodes: [figure, el('div', { id: 'like-says' }, verdict, stop, makeChoice(), saveFigure, saveTexts), makeWords(one),
    el('p', { class: 'note' }, el('code', {}, commandFor(what, chosen, headsRun(chosen)))),
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

// Returns the words of the sentence; a press exchanges one, or keeps it.
function makeWords({ tokens }) {
  const press = k => {
    const list = places.includes(k) ? places.filter(p => p !== k) : [...places, k].sort((a, b) => a - b);
    if (list.length === 0) return; // one is exchanged
    [wanted, struck] = [list, new Set()];
    viewer.set({});
  };
  const words = [...tokens.keys()].filter(k => isWord(tokens[k])).map(k => {
    const node = el('button', { type: 'button', id: 'like-word-' + k, 'aria-pressed': String(places.includes(k)) }, el('bdi', {}, tokens[k].trim()));
    node.addEventListener('click', () => press(k));
    return node;
  });
  return el('p', { id: 'like-words', class: 'note', role: 'group', 'aria-label': t('Words that are exchanged') }, t('Exchanged:') + ' ', ...words);
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

// Makes the sentences of OF, and runs those that are not known yet; draws what is known after each.
async function collect(what, one, chosen, of, isWanted, redraw) {
  if (sentencesOf !== of) {
    const list = await makeSentences(what, one, isWanted);
    if (list === null) return;
    [sentences, sentencesOf] = [list, of];
    known = new Map([...known].filter(([text]) => knownOf === of && list.includes(text)));
    knownOf = of;
  }
  for (const text of sentences) {
    if (!isWanted() || isStopped) break;
    if (!known.has(text)) known.set(text, await without({ ...what, text }, headsRun(chosen)));
    if (isWanted()) redraw();
  }
  if (isWanted()) redraw();
}

// Returns the nodes of the picture for the sentence of WHAT; they are filled while sentences are run. Null if something else is asked for meanwhile.
async function draw(what, width, isWanted) {
  const one = await seen(what, -1), chosen = viewer.run.heads[state.h].at;
  if (!isWanted()) return null;
  if (textOf !== null && textOf !== what.text) [struck, wanted] = [new Set(), null];
  const of = JSON.stringify([what, most, wanted, headsRun(chosen)]);
  if (sentencesOf !== of) [places, sentences] = [placesOf(one), []];
  [isStopped, textOf] = [false, what.text];
  const { draw: redraw, nodes } = makeNodes(what, one, chosen, width);
  redraw();
  collect(what, one, chosen, of, isWanted, redraw).catch(tellOf);
  return { nodes };
}

addEventListener('keydown', event => { if (event.key === 'Escape') isStopped = true; }, true);

// The part of the address: the number of sentences, 0 for the usual one, those that are struck out, and the positions that are
// exchanged, "36,3+7,1+4"; "" if there is nothing to say.
const hashPart = () => [most, [...struck].sort((a, b) => a - b).join('+'), (wanted ?? []).join('+')].join().replace(/,+$/, '').replace(/^0$/, '');

function read(part) {
  const LIST = '((?:\\d+(?:\\+\\d+)*)?)', [, number, list = '', words = ''] = new RegExp(`^(\\d+)(?:,${LIST})?(?:,${LIST})?$`).exec(part) ?? [];
  most = NUMBERS.includes(Number(number)) ? Number(number) : 0;
  const numbersOf = text => text === '' ? [] : text.split('+').map(Number);
  struck = new Set(numbersOf(list));
  wanted = words === '' ? null : numbersOf(words);
}

return { draw, hashPart, read, asked: () => [most, wanted].join() };
};
