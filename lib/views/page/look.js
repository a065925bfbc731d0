// look.js - the first view of a page: a question, the parts that make its answer above the words at which they look (figure answer), and
// the card of the chosen head. A narrow page lists the parts. A live page asks other questions (ask), and draws another figure (show).
'use strict';
globalThis.attnLook = ({ $, el, on, inflate, set, state, headAt, nameOf, typeOf, rowAt, t = (text, ...values) => text.replaceAll('{}', () => values.shift()), run }) => {
const LEAST = 0.02, WIDEST = 0.9, DEEP = 3.6; // weight that has an arc; width of an arc of weight 1, and room below the words, times the size of their letters
// The figure that came with the page, or null.
const stored = $('answer-svg') && inflate($('answer-svg').textContent).then(bytes => new DOMParser().parseFromString(new TextDecoder().decode(bytes), 'image/svg+xml').documentElement);

let svg = null, parts = new Map(), question = null; // the figure on the page, its parts by name, and what it asks
let revive = null; // brings a head back that is off; null: it cannot
const has = () => svg !== null;

const signed = x => (Math.abs(x) < 0.05 ? '' : x < 0 ? '\u2212' : '') + Math.abs(x).toFixed(1);
const word = text => attnPage.nameOfToken(text ?? '');
const percent = x => Math.round(100 * x) + ' %';
const isHead = name => /^\d+\.\d+$/.test(name);

// Returns what the figure says, the first sentence of its caption.
const titleOf = figure => /Caption: (.*?[^ ])\. /s.exec(figure.querySelector('desc')?.textContent ?? '')?.[1] ?? '';

// Returns the question of FIGURE, and its parts, the largest first.
function read(figure) {
  const { at, target, foil, value } = figure.querySelector('[data-value]').dataset;
  const list = [...figure.querySelectorAll('g[data-part]')].map(node => ({ node, name: node.dataset.part, ...Object.fromEntries(['writes', 'writesTarget', 'writesFoil', 'missing', 'key', 'weight']
    .map(name => [name, node.dataset[name] === undefined ? null : Number(node.dataset[name])])), isOff: 'ghost' in node.dataset, kind: node.dataset.kind, hue: node.dataset.kind && node.querySelectorAll('rect')[1]?.getAttribute('fill') }));
  return { question: { at: Number(at), target, foil, value: Number(value) }, parts: new Map(list.sort((a, b) => isHead(b.name) - isHead(a.name) || isHead(a.name) && Math.abs(b.writes) - Math.abs(a.writes)).map(part => [part.name, part])) };
}

// --- The question -------------------------------------------------------------------------------

// Returns the line of the question ASKED. With ASK target and foil are buttons, of which that named ACTIVE is framed.
function lineOf({ at, target, foil, value }, ask, active) {
  const name = (side, text) => ask ? el('button', { type: 'button', 'data-side': side, 'aria-pressed': String(active === side) }, el('bdi', {}, text)) : el('b', {}, el('bdi', {}, text));
  const line = el('p', { id: 'question', 'data-at': at, 'data-target': target, 'data-foil': foil, 'data-value': value.toFixed(4), 'aria-live': 'polite' },
    el('bdi', {}, word(run().tokens[at])), ' \u2192 ', name('target', word(target)), ...foil === '' && !ask ? [] : [' ' + t('instead of') + ' ', name('foil', foil === '' ? t('nothing') : word(foil))],
    ' ', el('b', { class: 'value' }, signed(value)), ' ' + t(foil === '' ? 'above the mean logit' : 'logits'));
  if (ask) for (const node of line.querySelectorAll('button')) on(node, 'click', () => ask({ active: node.dataset.side }));
  return line;
}

// Returns the next words as buttons that fill the active side of the question; nothing is the last, and fills the foil.
function nextOf({ target, foil }, list, ask) {
  const button = (token, text, prob) => {
    const node = el('button', { type: 'button', 'data-next': token, class: token === target ? 'target' : token === foil ? 'foil' : '' }, el('bdi', {}, text), ...prob === undefined ? [] : [' ', el('small', {}, (100 * prob).toFixed(1) + ' %')]);
    on(node, 'click', () => ask({ token }));
    return node;
  };
  return el('p', { id: 'next', role: 'group', 'aria-label': t('Next word') }, ...list.map(({ token, prob }) => button(token, word(token), prob)), button('', t('nothing')));
}

// --- The figure ---------------------------------------------------------------------------------

// Makes the plates of the heads in the figure buttons that choose them.
function makeButtons() {
  for (const [name, { node, ...part }] of parts) {
    if (!isHead(name)) continue;
    const frame = node.querySelector('rect').cloneNode(), say = [name, t('writes {}', signed(part.writes)), ...part.key === null ? [] : [t("looks at '{}', {}", word(run().tokens[part.key]), percent(part.weight))]];
    for (const pair of Object.entries({ class: 'plate', role: 'button', tabindex: 0, 'data-head': name, 'aria-label': say.join(', ') })) frame.setAttribute(...pair);
    const choose = () => {
      if (headAt(name) !== undefined) set({ h: headAt(name) });
      if (part.isOff) revive?.(name);
    };
    on(frame, 'click', choose);
    on(frame, 'keydown', event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); event.stopPropagation(); choose(); } });
    node.append(frame);
  }
}

const sizeOf = figure => Number(figure.querySelector('[data-word]').parentNode.getAttribute('font-size'));

// Draws the arcs of the chosen head below the words, from the word of the question to those at which it looks.
async function drawArcs() {
  const name = nameOf(state.h), figure = svg, row = await rowAt(state.h, question.at);
  if (figure !== svg || name !== nameOf(state.h)) return;
  figure.querySelector('.arcs')?.remove();
  const size = sizeOf(figure), places = new Map([...figure.querySelectorAll('[data-word]')].map(node => [Number(node.dataset.word), { x: node.x.baseVal[0].value, y: node.y.baseVal[0].value + 0.5 * size }])), from = places.get(question.at);
  if (!row || !from) return;
  const group = document.createElementNS(figure.namespaceURI, 'g'), weights = [...places].map(([key, place]) => ({ ...place, weight: row[key] })).filter(({ weight, x }) => weight >= LEAST && x !== from.x).sort((a, b) => b.weight - a.weight);
  group.setAttribute('class', 'arcs');
  weights.forEach(({ x, y, weight }, i) => {
    const low = y + Math.min(DEEP * size, 1.2 * size + 0.14 * Math.abs(x - from.x)), path = document.createElementNS(figure.namespaceURI, 'path');
    for (const pair of Object.entries({ d: `M${from.x} ${y}C${from.x} ${low} ${x} ${low} ${x} ${y}`, fill: 'none', stroke: parts.get(name)?.hue ?? '#5a636d', 'stroke-width': Math.max(0.7, WIDEST * size * weight) })) path.setAttribute(...pair);
    group.append(path);
    if (i > 0) return;
    const label = document.createElementNS(figure.namespaceURI, 'text');
    for (const pair of Object.entries({ x: (x + from.x) / 2, y: y + 0.75 * (low - y) + 0.5 * WIDEST * size * weight + 0.8 * size, 'text-anchor': 'middle', 'font-size': 0.75 * size })) label.setAttribute(...pair);
    label.textContent = percent(weight);
    group.append(label);
  });
  figure.querySelector('[data-value]').append(group);
}

// --- The card -----------------------------------------------------------------------------------

// Returns the card of the chosen head: what it does here, the buttons MORE, and the NEXT words.
function cardOf(more, next) {
  const name = nameOf(state.h), part = parts.get(name), { target, foil, value } = question, kind = part?.kind ?? typeOf(state.h).name;
  const row = (title, ...content) => [el('dt', {}, t(title)), el('dd', {}, ...content)], sides = part && part.writesTarget !== null;
  return el('section', { id: 'card', 'aria-label': t('Head') }, el('h2', {}, t('Head {}', name), ...kind ? [' ', el('small', {}, t(kind))] : []),
    ...part && part.key !== null ? [el('p', {}, el('bdi', {}, t("'{}' looks at '{}', {}", word(run().tokens[question.at]), word(run().tokens[part.key]), percent(part.weight))))] : [],
    el('dl', {}, ...part ? [...row('writes', part.isOff ? t('{} before it was off', signed(part.writes)) : t('{} of {} logits', signed(part.writes), signed(value)), ...sides ? [el('br'), el('small', {}, el('bdi', {}, word(target)), ' ' + signed(part.writesTarget) + ', ', el('bdi', {}, word(foil)), ' ' + signed(part.writesFoil))] : []),
      ...part.missing === null || part.isOff ? [] : row('missing', t('{}: without it', signed(part.missing)) + ` ${signed(value)} \u2192 ${signed(value - part.missing)}`)] : row('writes', t('not among the eight heads that write most'))),
    el('p', { class: 'group' }, ...more), ...next.length > 0 ? [el('p', {}, el('small', {}, t('Next word')), ...next.flatMap(({ token, prob }) => [' ', el(token === target ? 'b' : 'span', {}, el('bdi', {}, word(token))), ' ', el('small', {}, (100 * prob).toFixed(1))]))] : []);
}

// Returns the parts as a list, for narrow pages.
function listOf() {
  const body = [...parts].map(([name, part]) => {
    const row = el('tr', { 'data-name': name, ...isHead(name) ? { tabindex: 0, role: 'button' } : {} }, el('th', {}, name), el('td', {}, part.key === null ? '' : el('bdi', {}, word(run().tokens[part.key])), part.key === null ? '' : ', ' + percent(part.weight)),
      el('td', { class: 'number' }, signed(part.writes)), el('td', { class: 'number' }, part.missing === null ? '' : signed(part.missing)));
    if (isHead(name)) {
      row.style.setProperty('--hue', part.hue ?? 'transparent');
      on(row, 'click', () => set({ h: headAt(name) }));
    }
    return row;
  });
  return el('table', { id: 'parts' }, el('thead', {}, el('tr', {}, ...['part', 'looks at', 'writes', 'missing'].map(text => el('th', {}, t(text))))), el('tbody', {}, ...body,
    el('tr', {}, el('th', {}, '='), el('td'), el('td', { class: 'number' }, signed(question.value)), el('td', {}, t('logits')))));
}

// --- All of it ----------------------------------------------------------------------------------

// Takes FIGURE as that of the page. A press on a head that is off calls BRING. Returns the nodes to show.
function show(figure, bring = null) {
  revive = bring;
  svg = document.importNode(figure, true);
  ({ question, parts } = read(svg));
  const title = titleOf(svg), { viewBox } = svg;
  svg.setAttribute('viewBox', `0 0 ${viewBox.baseVal.width} ${viewBox.baseVal.height + DEEP * sizeOf(svg)}`);
  svg.removeAttribute('height');
  svg.setAttribute('role', 'group');
  svg.setAttribute('aria-label', title);
  svg.id = 'look';
  makeButtons();
  mark();
  return { svg, title, list: listOf() };
}

// Marks the plate of the chosen head, and its row.
function mark() {
  const name = nameOf(state.h);
  for (const plate of document.querySelectorAll('.plate')) {
    plate.classList.toggle('near', plate.dataset.head === name);
    plate.setAttribute('aria-pressed', String(plate.dataset.head === name));
  }
  for (const row of document.querySelectorAll('#parts [data-name]')) row.classList.toggle('near', row.dataset.name === name);
  if (has()) drawArcs();
}

const quote = text => "'" + text.replaceAll("'", "'\\''") + "'";

// Returns the command line that draws the figure.
const commandOf = (model, text) => ['attn-cli run', ...model ? ['-m ' + model] : [], '--figure answer --svg FILE', '--target ' + quote(question.target), '--foil ' + quote(question.foil),
  ...question.at === run().tokens.length - 1 ? [] : ['--at ' + question.at], quote(text)].join(' ');

// Takes what is missing without heads, by their names.
function addMissing(found) {
  for (const [name, missing] of Object.entries(found)) {
    const part = parts.get(name);
    if (!part) continue;
    part.missing = missing;
    part.node.dataset.missing = missing.toFixed(4);
  }
  document.getElementById('parts')?.replaceWith(listOf());
}

const headsHere = () => [...parts.keys()].filter(isHead);

return { stored, has, show, mark, lineOf, nextOf, cardOf, commandOf, addMissing, heads: headsHere, headsOf: figure => [...read(figure).parts.keys()].filter(isHead), questionOf: figure => read(figure).question, asks: () => question };
};
