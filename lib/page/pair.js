// pair.js - a tab of the stage: a second sentence back to back with that of the stage. Arcs of the first
// stand above the words, those of the second below; words that both have stand once. Under them are the
// next words of both. Without a sentence of its own the tab finds one that differs in one word: the
// head looks at the word, and the lens of its embedding finds others like it. Of these the page takes
// the one that changes the next word most.
'use strict';
globalThis.attnPair = ({ viewer, t, seen, likeAt, textWith, nameOf }) => {
const { $ } = viewer, { el, svgEl, svgText, written } = attnPage;
const N_LIKE = 8; // words that are tried
const LEAST = 0.02; // smaller weights have no arc
const WIDEST = 18, MOST_FOOT = 22; // px width of an arc of weight 1, and of all arcs at the word that looks
const SIZES = [38, 32, 27, 23, 20, 17, 14]; // of the words, in px
const MOST_WORDS = 6, N_BEST = 5; // next words, and how many of each sentence are among them
const LEAST_SHARE = 0.01; // a next word has it in one of the sentences
const CAPTION = 48; // px on the left of an arc, for its number

const share = w => written(viewer.run.numbers.share, w), percent = p => written(viewer.run.numbers.probability, p);
const isWord = text => /^\p{L}+$/u.test(text.trim());

// --- The second sentence ------------------------------------------------------------------------

// Returns KL(p || q) in nats.
const divergence = (p, q) => p.reduce((sum, x, i) => x > 0 ? sum + x * Math.log(x / q[i]) : sum, 0);

// Returns true if OTHER can stand in the place of TOKEN.
const isLike = (token, other) => other.trim().toLowerCase() !== token.trim().toLowerCase()
  && other.startsWith(' ') === token.startsWith(' ') && isWord(other) === isWord(token);

// Returns N words that may stand in the place of token K of the text of WHAT, the most alike first.
const wordsLike = async (what, tokens, k, n) => (await likeAt(what, k)).filter(token => isLike(tokens[k], token)).slice(0, n);

// Returns what the page shows without a second sentence: the word that changes, those that may stand in its
// place with what the model sees then, the best first. Null if something else is asked for meanwhile.
async function findPair(what, one, isWanted) {
  const strongest = [...one.row.keys()].filter(k => one.row[k] > 0 && isWord(one.tokens[k])).sort((a, b) => one.row[b] - one.row[a]).slice(0, 3);
  for (const k of strongest) {
    const like = await wordsLike(what, one.tokens, k, N_LIKE), found = [];
    for (const token of like) {
      if (!isWanted()) return null;
      const text = textWith(what.text, one.offsets[k], token), other = await seen({ ...what, text }, one.query - one.tokens.length);
      if (other.tokens.length === one.tokens.length) found.push({ k, token, text, other, kl: divergence(one.next, other.next) });
    }
    if (found.length > 0) return found.sort((a, b) => b.kl - a.kl);
  }
  return [];
}

// --- Picture ------------------------------------------------------------------------------------

// Returns the columns of both sentences: {a, b}, positions, which are undefined where a sentence has no word. What
// stands before the first difference and after the last is in one column.
function columnsOf({ tokens: a }, { tokens: b }) {
  let front = 0, back = 0;
  while (front < Math.min(a.length, b.length) && a[front] === b[front]) front++;
  while (back < Math.min(a.length, b.length) - front && a.at(-1 - back) === b.at(-1 - back)) back++;
  const ends = [a.length - back, b.length - back], n = Math.max(...ends);
  return [...Array.from({ length: n }, (_, i) => ({ a: i < ends[0] ? i : undefined, b: i < ends[1] ? i : undefined })),
    ...Array.from({ length: back }, (_, i) => ({ a: ends[0] + i, b: ends[1] + i }))];
}

// Chooses the size of words, and folds columns away that both sentences hardly look at until the others fit. Gives each its
// place x and returns the size.
function layColumns(columns, texts, room) {
  const widthOf = (column, size) => 0.5 * size + (column.n ? size : 0.6 * size * Math.max(2, ...['a', 'b'].map(s => texts[s][column[s]]?.length ?? 0)));
  const widthAt = (list, size) => list.reduce((sum, column) => sum + widthOf(column, size), 0);
  let size = SIZES.find(one => widthAt(columns, one) <= room), list = columns;
  for (let n = columns.length; !size && n > 0; n--) {
    const kept = new Set([...columns].sort((x, y) => y.weight - x.weight).slice(0, n));
    list = [];
    for (const column of columns)
      if (kept.has(column)) list.push(column);
      else if (list.at(-1)?.n) list.at(-1).n++;
      else list.push({ n: 1 });
    if (widthAt(list, 20) <= room) size = 20;
  }
  const extra = Math.max(0, Math.min(room - widthAt(list, size), 2 * size * list.length)) / list.length;
  let at = (room - widthAt(list, size) - extra * list.length) / 2;
  for (const column of list) {
    column.wide = widthOf(column, size) + extra;
    column.x = at + column.wide / 2;
    at += column.wide;
  }
  return [list, size];
}

// Returns the arcs of a sentence above a line at height Y, or below it if SIGN is 1. Their feet stand side by side at the word
// that looks, the nearest inside.
function arcsOf(arcs, from, y, sign, room) {
  const total = arcs.reduce((sum, arc) => sum + arc.width, 0), scale = Math.min(1, MOST_FOOT / total);
  const sides = [-1, 1].map(side => arcs.filter(arc => Math.sign(arc.x - from) === side).sort((p, q) => side * (q.x - p.x)));
  const order = [...sides[0].reverse(), ...arcs.filter(arc => arc.x === from), ...sides[1]];
  let foot = from - total * scale / 2;
  for (const arc of order) {
    arc.foot = foot + arc.width * scale / 2;
    foot += arc.width * scale;
  }
  return arcs.map(({ x, foot: end, width, weight, key }) => {
    const high = sign * Math.min(room, 26 + Math.abs(x - end) * 0.3) / 0.75;
    const d = x === from ? `M${end - 12} ${y}C${end - 26} ${y + sign * 40} ${end + 26} ${y + sign * 40} ${end + 12} ${y}` : `M${end} ${y}C${end} ${y + high} ${x} ${y + high} ${x} ${y}`;
    return svgEl('path', { class: sign < 0 ? 'a' : 'b', d, 'stroke-width': width.toFixed(2), 'data-key': key, 'data-weight': weight });
  });
}

// Returns the picture of ONE above and OTHER below, in ROOM px.
function picture(one, other, room) {
  const texts = { a: one.tokens.map(nameOf), b: other.tokens.map(nameOf) }, sides = [['a', one, -1], ['b', other, 1]];
  const columns = columnsOf(one, other);
  for (const column of columns) {
    column.differs = one.tokens[column.a] !== other.tokens[column.b];
    column.isFrom = column.a === one.query || column.b === other.query;
    column.weight = column.isFrom || column.differs ? 2 : Math.max(one.row[column.a] || 0, other.row[column.b] || 0);
  }
  const [list, size] = layColumns(columns, texts, room), half = Math.min(150, 60 + 0.3 * room), middle = half + size;
  const arcRoom = half - 40, down = list.some(column => column.differs) ? 0.75 * size : 0, edge = 0.75 * size + down, parts = [];
  for (const [side, { row, query }, sign] of sides) {
    const from = list.find(column => column[side] === query).x, y = middle + sign * edge;
    const arcs = list.filter(column => row[column[side]] >= LEAST).map(column => ({ x: column.x, key: column[side], weight: row[column[side]], width: Math.max(1, WIDEST * row[column[side]]) }));
    parts.push(...arcsOf(arcs, from, y, sign, arcRoom));
    for (const column of list) {
      const p = column[side];
      if (column.n && sign < 0) parts.push(svgText(column.x, middle + size * 0.35, '\u2026', { 'text-anchor': 'middle', 'font-size': size, class: 'folded' }));
      if (p === undefined || !column.differs && sign > 0) continue;
      parts.push(svgText(column.x, middle + size * 0.35 + (column.differs ? sign * down : 0), texts[side][p], { 'text-anchor': 'middle', 'font-size': size, class: column.differs ? side : '' }));
    }
    for (const { x, weight, width } of arcs) {
      const isLeft = x - width / 2 > CAPTION, at = x + (width / 2 + 6) * (isLeft ? -1 : 1);
      parts.push(svgText(at, y + sign * 12 + 4, share(weight), { 'text-anchor': isLeft ? 'end' : 'start', 'font-size': 13, class: 'number ' + side }));
    }
  }
  const high = 2 * middle;
  for (const node of parts) if (node.nodeName === 'text') node.removeAttribute('font-family');
  return svgEl('svg', { class: 'pair', role: 'img', viewBox: `0 0 ${room} ${high}`, width: room, height: high, 'aria-label': sides.map(([side, { row, query, tokens }]) =>
    t('{} looks at: {}', texts[side][query], [...tokens.keys()].filter(k => row[k] >= LEAST).sort((p, q) => row[q] - row[p]).slice(0, 3).map(k => texts[side][k] + ' ' + share(row[k])).join(', '))).join('; ') }, ...parts);
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
  return { text, nodes: [...pair ? [changed(one, pair, press)] : [], picture(one, other, room),
    el('h2', {}, t('Next word'), el('span', { class: 'note' }, key('a', one, at), key('b', other, at), el('span', {}, t('sorted by the difference')))), nextWords(one, other)] };
}

return { draw, wordsLike, isWord };
};
