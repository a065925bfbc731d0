// pair.js - a tab of the stage: a second sentence back to back with that of the stage. Arcs of the first
// stand above the words, those of the second below; words that both have stand once. Under them are the
// next words of both. Without a sentence of its own the tab finds one that differs in one word: the
// head looks at the word, the model finds others likely there, and some of these have embeddings like its
// own. The page takes the one that changes the next word most; with many heads, the most likely.
'use strict';
globalThis.attnPair = ({ viewer, t, seen, drawPair, likelyAt, embeddingsOf, textWith, nameOf, showCircuit }) => {
const { el, written } = attnPage;
const N_LIKE = 8; // words that are tried, but with many heads one
const MOST_LIKELY = 512; // words whose embeddings are compared
const LEAST = 0.02; // smaller weights have no arc
const MOST_WORDS = 6, N_BEST = 5; // next words, and how many of each sentence are among them
const LEAST_SHARE = 0.01; // a next word has it in one of the sentences

const share = w => written(viewer.run.numbers.share, w), percent = p => written(viewer.run.numbers.probability, p);
const isWord = text => /^\p{L}+$/u.test(text.trim());

// --- The second sentence ------------------------------------------------------------------------

// Returns KL(p || q) in nats.
const divergence = (p, q) => p.reduce((sum, x, i) => x > 0 ? sum + x * Math.log(x / q[i]) : sum, 0);

const startsUpper = text => /^\p{Lu}/u.test(text.trim());

// Returns true if OTHER can stand in the place of TOKEN.
const isLike = (token, other) => other.trim().toLowerCase() !== token.trim().toLowerCase() && startsUpper(other) === startsUpper(token)
  && other.startsWith(' ') === token.startsWith(' ') && isWord(other) === isWord(token);

// Returns the cosine of the vectors A and B.
function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b) || 1);
}

// Returns what the model finds likely at the place of token K of the text of WHAT. Before the first word it has read nothing: it
// predicts what begins a line.
function likelyFor(what, { offsets }, k) {
  if (viewer.given.predictions?.is_in_place) return likelyAt(what, k);
  return k > 0 ? likelyAt(what, k - 1) : likelyAt({ ...what, text: textWith(what.text, offsets.at(-1), '\n') }, -1);
}

// Returns N words that may stand in the place of token K of the text of WHAT, which ONE has seen: of the words that the model finds
// likely there, 3 N have the embeddings that are most alike, and of these the most likely; in front the N most alike.
async function wordsLike(what, one, k, n) {
  const { tokens, ids } = one, likely = (await likelyFor(what, one, k)).filter(({ token }) => isLike(tokens[k], token) && !tokens.includes(token)).slice(0, MOST_LIKELY);
  const [own, ...rows] = await embeddingsOf(what, [ids[k], ...likely.map(({ id }) => id)]);
  const like = likely.map(({ token }, i) => ({ token, i, cosine: cosine(own, rows[i]) })).sort((a, b) => b.cosine - a.cosine);
  return (k > 0 ? like.slice(0, 3 * n).sort((a, b) => a.i - b.i) : like).slice(0, n).map(({ token }) => token);
}

// Returns what the page shows without a second sentence: the word that changes, those that may stand in its
// place with what the model sees then, the best first. Null if something else is asked for meanwhile.
async function findPair(what, one, isWanted) {
  const strongest = [...one.row.keys()].filter(k => one.row[k] > 0 && isWord(one.tokens[k])).sort((a, b) => one.row[b] - one.row[a]).slice(0, 3);
  for (const k of strongest) {
    const like = await wordsLike(what, one, k, N_LIKE), found = [];
    for (const token of like) {
      if (!isWanted()) return null;
      const text = textWith(what.text, one.offsets[k], token);
      if (found.length > 0 && viewer.run.heads.length > attnPage.MANY) {
        found.push({ k, token, text, kl: -found.length }); // in its order
        continue;
      }
      const other = await seen({ ...what, text }, one.query - one.tokens.length);
      if (other.tokens.length === one.tokens.length) found.push({ k, token, text, other, kl: divergence(one.next, other.next) });
    }
    if (found.length > 0) return found.sort((a, b) => b.kl - a.kl);
  }
  return [];
}

// --- Picture ------------------------------------------------------------------------------------

// Returns the picture DRAWN of ONE above and OTHER below, without its next words.
function picture(drawn, one, other) {
  const svg = document.importNode(new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement, true), next = [...svg.querySelectorAll('[data-i=next]')];
  const { width } = svg.viewBox.baseVal, high = Math.min(svg.viewBox.baseVal.height, ...next.filter(node => node.nodeName === 'text').map(node => node.y.baseVal[0].value - 12));
  for (const node of next) node.remove();
  const names = { class: 'pair', role: 'img', viewBox: `0 0 ${width} ${high}`, height: svg.height.baseVal.value * high / svg.viewBox.baseVal.height, 'aria-label': [one, other].map(({ row, query, tokens }) =>
    t('{} looks at: {}', nameOf(tokens[query]), [...tokens.keys()].filter(k => row[k] >= LEAST).sort((p, q) => row[q] - row[p]).slice(0, 3).map(k => nameOf(tokens[k]) + ' ' + share(row[k])).join(', '))).join('; ') };
  for (const each of Object.entries(names)) svg.setAttribute(...each);
  return svg;
}

// --- The next words -----------------------------------------------------------------------------

// Returns a row for each next word whose probability differs: a dot for each sentence, and their numbers.
function nextWords(one, other) {
  const ids = [...new Set([one, other].flatMap(({ best }) => best.slice(0, N_BEST).map(({ id }) => id)))].filter(id => Math.max(one.next[id], other.next[id]) >= LEAST_SHARE);
  const names = new Map([one, other].flatMap(({ best }) => best.map(({ id, token }) => [id, token ?? String(id)])));
  const list = ids.sort((p, q) => Math.abs(other.next[q] - one.next[q]) - Math.abs(other.next[p] - one.next[p])).slice(0, MOST_WORDS);
  const most = Math.max(...list.flatMap(id => [one.next[id], other.next[id]]));
  return el('ol', { id: 'pair-next', 'aria-label': t('Next word') }, ...list.map(id => {
    const [p, q] = [one.next[id], other.next[id]], name = nameOf(names.get(id)), marks = ['line', 'a', 'b'].map(kind => el('i', { class: kind }));
    marks[0].style.left = 100 * Math.min(p, q) / most + '%';
    marks[0].style.width = 100 * Math.abs(p - q) / most + '%';
    [p, q].forEach((value, i) => { marks[i + 1].style.left = 100 * value / most + '%'; });
    return el('li', { 'data-id': id }, el('bdi', {}, name), el('span', { class: 'track', 'aria-hidden': 'true' }, ...marks), el('span', { class: 'number' }, percent(p) + ' \u2192 ' + percent(q)));
  }));
}

// Returns the words of a SIDE up to the first that differs, as a legend.
const key = (side, { tokens }, at) => el('span', { class: 'key' }, el('i', { class: side, 'aria-hidden': 'true' }),
  el('bdi', {}, (at > 1 ? '.. ' : '') + tokens.slice(Math.max(0, at - 1), at + 1).join('').trim() + ' ..'));

// --- All of it ----------------------------------------------------------------------------------

let found = null, foundOf = ''; // what findPair found, and for what

// Returns what differs, as words and buttons; PRESS shows another sentence.
function changed(one, { k, token }, press) {
  const others = found.filter(pair => pair.k === k && pair.token !== token).map(pair => {
    const node = el('button', { type: 'button' }, el('bdi', {}, nameOf(pair.token)));
    node.addEventListener('click', () => press(pair.text));
    return node;
  });
  return el('p', { id: 'pair-changed' }, t('changed:') + ' ', el('bdi', { class: 'a' }, nameOf(one.tokens[k])), ' \u2192 ', el('bdi', { class: 'b' }, nameOf(token)),
    ...others.length > 0 ? [' ' + t('or:') + ' ', ...others] : []);
}

// Returns the id of the most probable name of the sentence ONE beside the token ID: a word with a capital that does not begin it;
// undefined if no other name is there.
const otherName = ({ tokens, ids, next }, id) => ids.filter((other, k) => k > 0 && other !== id && isWord(tokens[k]) && startsUpper(tokens[k]))
  .reduce((best, other) => best === undefined || next[other] > next[best] ? other : best, undefined);

let circuit = null, circuitOfTexts = ''; // the section of the last circuit, and for which texts it is

// Returns a button for the parts of the model that carry the difference, and the circuit that it showed; none if a circuit cannot be
// asked for.
function circuitOf(what, one, other) {
  const target = one.best[0].id, foil = otherName(one, target) ?? other.best[0].id, of = JSON.stringify([what, other.text]);
  if (one.query < one.tokens.length - 1 || one.tokens.length !== other.tokens.length || what.source !== null || viewer.given.predictions?.is_in_place !== false) return [];
  const node = el('button', { id: 'pair-circuit', type: 'button', title: t('Which parts of the model carry the difference') }, t('Circuit'));
  if (circuitOfTexts !== of) [circuit, circuitOfTexts] = [el('section', { id: 'live-circuit' }), of];
  const place = circuit;
  node.addEventListener('click', () => showCircuit(place, what, other.text, [['target', 'ids:' + target], ...target === foil ? [] : [['foil', 'ids:' + foil]]]));
  return [node, place];
}

// Returns the nodes of the tab for the sentence of WHAT from its word QUERY, and the SECOND sentence or null, and that sentence;
// null if something else is asked for meanwhile.
async function draw(what, query, second, room, isWanted, press) {
  const n = viewer.run.tokens.length, one = await seen(what, query - n), of = JSON.stringify([what, query]);
  if (foundOf !== of) {
    const list = await findPair(what, one, isWanted);
    if (list === null) return null;
    [found, foundOf] = [list, of];
  }
  const text = second ?? found[0]?.text ?? what.text, pair = found.find(each => each.text === text);
  if (text === what.text) return { text, nodes: [el('p', {}, t('Both sentences are the same. Change a word.'))] };
  const other = pair?.other ?? await seen({ ...what, text }, query - n);
  const at = one.tokens.findIndex((token, i) => token !== other.tokens[i]);
  return { text, nodes: [...pair ? [changed(one, pair, press)] : [], picture(await drawPair(what, text, query - n, room), one, other),
    el('h2', {}, t('Next word'), el('span', { class: 'note' }, key('a', one, at), key('b', other, at), el('span', {}, t('sorted by the difference')))), nextWords(one, other), ...circuitOf(what, one, { ...other, text })] };
}

return { draw, wordsLike, isWord };
};
