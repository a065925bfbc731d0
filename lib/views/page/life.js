// life.js - tabs of the stage beside its words: the parts of the answer to the page's question (look.js), with which
// the stage of a model of many heads opens; the life of a word, as lens --figure life draws it, a
// second sentence beside the first (pair.js), and many of its form (like.js). In a life,
// a press on a ribbon removes it: the head does not look at the word, or the MLP adds nothing at the
// position. Its ghost stays, and a press on that brings it back. Ribbons are found by their marks: "2,1,5" is
// what head 1 of layer 2 brings from position 5, "2,," the MLP, "rest2" the rest.
'use strict';
globalThis.attnLife = ({ viewer, t, hasModel, drawingOf, drawAnswer, missingOf, stored, pairWith, likeWith, shown, isOff, runs, toggle, toggleHead, tellOf }) => {
const { $, state, predictedAt } = viewer, { el, written, isDark } = attnPage;
const WIDEST = 900; // px of a life, whose letters have 6 points on paper
const REACH = 14; // px around a ribbon that can be pressed
const WORDS = ['for', 'against', 'rest', 'without the change', 'embedding', 'layer', 'was']; // of the picture; most are the marks of their texts

// The tabs: their names, and those of their pictures.
const TABS = { answer: ['Look', 'What makes the answer'], '': ['Words'], pair: ['Pair', 'Two sentences, one head'], life: ['Life', 'Life of a word'], like: ['Is it this head?', 'Sentences of the same form'] };

let tab = '', second = null; // the open tab; the second sentence, null: that of the stage
let asking = {}, active = 'target'; // what a person asked: target and foil, texts; else the default question. A next word fills the active side
let question = null; // that of the last figure: {at, target, foil}
let found = null, asked = '', number = 0; // the drawing, and what it is of
let numbers = new Map(), focused = ''; // by mark: what each ribbon adds, and without changes

const signed = x => (x > 0 ? '+' : '') + written(viewer.run.numbers.measure, x);
const nameOf = token => (token ?? '').trim() || JSON.stringify(token ?? '').slice(1, -1).replaceAll(' ', '\u00b7');
const idOf = mark => 'life-' + mark.replaceAll(',', '-'), nodeOf = mark => $(idOf(mark));

// Returns the edit that removes a ribbon, and the list that has it. A query that sees no other key
// cannot lose this one.
function editOf(mark) {
  const [layer, head, key] = mark.split(','), { p } = found;
  if (head === '') return [`mlp_out:${layer}@${p}=0`, 'rescales'];
  const isAlone = found.rows.filter(row => row.head !== null && [row.layer, row.head].join() === [layer, head].join()).length === 1;
  return isAlone ? [`pattern:${layer}.${head}@${p}=0`, 'rescales'] : [`${p}>${key}@${layer}.${head}`, 'knockouts'];
}

// Whether there are so many heads that those of the answer are shown first; and whether they can be drawn: without the model for the
// text of the page alone.
const isText = () => viewer.given.predictions?.is_in_place === false;
const isMany = () => viewer.run.heads.length > attnPage.MANY && isText();
const canAnswer = what => isText() && what.source === null && (hasModel() || stored !== null && what.text === stored.text);

const pair = pairWith(nameOf), like = likeWith(pair);

const isRest = mark => mark.startsWith('rest');
const isRemoved = mark => { const [text, list] = editOf(mark); return found.what[list].includes(text); };

// Returns the figure of the answer at position P, whose question the page then asks.
const figureAt = async (what, p, width) => {
  const svg = await (hasModel() ? drawAnswer(what, width, { at: p, ...asking }) : stored.svg);
  question = viewer.lookAt.questionOf(svg);
  return svg;
};

// Returns the options of the question at position P; of a model whose answer is no sum of parts those that a person asked.
async function answersAt(what, p, width) {
  const { target, foil } = await figureAt(what, p, width).then(() => question, () => asking);
  return [...target === undefined ? [] : [['target', target]], ...foil === undefined ? [] : [['foil', foil]]];
}

// Asks another question: makes a side ACTIVE, or fills it with TOKEN and activates the other. Nothing fills the foil.
function ask({ active: side, token }) {
  if (token !== undefined) {
    const filled = token === '' ? 'foil' : active, others = { target: 'foil', foil: 'target' };
    asking = { target: question.target, foil: question.foil, ...asking, [filled]: token };
    if (asking.target === asking.foil) delete asking[others[filled]];
    [active] = [others[filled]];
  } else {
    active = side;
  }
  viewer.set({});
}

// Draws the picture of the tab at position P, unless something else is asked in the meantime.
async function find(what, p, width) {
  const mine = ++number, shownTab = tab;
  const size = width < 480 ? 10 : 11, style = `figure-width=${Math.floor(0.75 * Math.min(width, WIDEST))}pt font-size=${size} colormap=diverging`;
  try {
    const isWanted = () => mine === number;
    const drawing = tab === 'pair' ? await pair.draw(what, p, second, width, isWanted, text => { second = text; viewer.set({}); })
      : tab === 'like' ? await like.draw({ ...what, off: {} }, width, isWanted)
      : tab === 'answer' ? { svg: await figureAt(what, p, width) }
      : await drawingOf([['queries', p], ...await answersAt(what, p, width), ['style', style]], what);
    if (mine === number) found = { tab: shownTab, what, p, ...drawing };
  } catch (problem) {
    if (mine === number) found = { problem };
    tellOf(problem);
  }
  if (mine !== number) return;
  $('life-picture').classList.remove('waits');
  draw();
}

// Adds up the numbers of ribbons. Those that are not drawn belong to the rest of their layer.
function addUp(rows, marks) {
  numbers = new Map();
  for (const { part, layer, head, key, value, unchanged = value } of rows.filter(row => row.part !== 'sum')) {
    const own = [layer, head, key].join(), mark = part !== 'rest' && marks.includes(own) ? own : 'rest' + (layer ?? -1), [now, before] = numbers.get(mark) ?? [0, 0];
    numbers.set(mark, [now + value, before + unchanged]);
  }
}

// Returns the words for a ribbon.
function sayRibbon(mark) {
  const [layer, head, key] = mark.split(','), [value] = numbers.get(mark), at = layer + '.' + head;
  if (isRest(mark)) return mark === 'rest-1' ? t('the word and its position write {}', signed(value)) : t('the rest of layer {} writes {}', mark.slice(4), signed(value));
  if (isRemoved(mark)) return head === '' ? t('MLP {}, removed', layer) : t('head {} from {}, removed', at, nameAt(key));
  return head === '' ? t('MLP {} writes {}', layer, signed(value)) : t('head {} from {} writes {}', at, nameAt(key), signed(value));
}

const nameAt = k => nameOf(viewer.run.tokens[k]);

// Makes ribbons buttons with names, and puts wider invisible ones behind them, which are easier to hit.
function makeButtons(svg) {
  const ribbons = [...svg.querySelectorAll('path[data-i]')], markOf = node => node.dataset.i;
  addUp(found.rows, ribbons.map(markOf));
  const buttons = ribbons.filter(node => !isRest(markOf(node)));
  if (!buttons.some(node => markOf(node) === focused)) focused = buttons.at(-1)?.dataset.i ?? '';
  ribbons[0]?.before(...buttons.map(node => {
    const wide = node.cloneNode();
    for (const [name, value] of [['class', 'wide'], ['stroke', '#000'], ['stroke-width', REACH], ['opacity', 0]]) wide.setAttribute(name, value);
    return wide;
  }));
  for (const node of ribbons) {
    const mark = markOf(node), names = { id: idOf(mark), 'aria-label': sayRibbon(mark), 'data-value': numbers.get(mark)[0],
      ...isRest(mark) ? { role: 'img' } : { role: 'button', class: isRemoved(mark) ? 'gone' : '', tabindex: mark === focused ? 0 : -1 } };
    for (const pair of Object.entries(names)) node.setAttribute(...pair);
  }
}

// Translates the words of the picture, but not its tokens.
function translateWords(svg) {
  const sum = written(viewer.run.numbers.measure, found.rows.find(row => row.part === 'sum').value), what = svg.querySelector('title').textContent.split(' adds to ').at(-1);
  const words = { ...Object.fromEntries(WORDS.map(name => [name, t(name)])), sum: t('All ribbons add up to {} = {}; rest: too thin to draw', what, sum), word: t('Grey words: what the model guesses so far') };
  for (const node of svg.querySelectorAll('text')) {
    const mark = node.dataset.i ?? '';
    node.textContent = words[mark || node.textContent] ?? (/^(rest|\d)/.test(mark) ? node.textContent.replace(/[a-z]+/, word => words[word] ?? word) : node.textContent);
  }
}

// Shows the parts of the answer. A press on a plate chooses its head.
function paintAnswer(place) {
  numbers.clear();
  for (const id of ['life-said', 'life-sum']) $(id).textContent = '';
  const next = predictedAt(viewer.run, found.p), { lookAt } = viewer;
  if (place.of !== found.svg || !$('look')?.isConnected) {
    const { svg, title, list } = lookAt.show(found.svg, hasModel() ? toggleHead : null);
    place.of = found.svg;
    place.replaceChildren(el('h2', {}, title), el('div', { id: 'life-look' }, el('div', {}, svg, list), el('div', { id: 'look-card' })), el('div', { id: 'life-next' }), el('p', { id: 'command' }));
    missingOf(found.what, { at: found.p, ...question }, lookAt.heads()).then(found => { lookAt.addMissing(found); viewer.set({}); }, () => {});
  } else {
    lookAt.mark();
  }
  const canAsk = hasModel() ? ask : null, had = document.activeElement?.dataset ?? {};
  const act = (id, text, action, isOn) => {
    const node = el('button', { id, type: 'button', ...isOn === undefined ? {} : { 'aria-pressed': String(isOn) } }, t(text));
    node.addEventListener('click', action);
    return node;
  };
  $('look-card').replaceChildren(lookAt.cardOf([...canAsk ? [act('look-off', isOff() ? 'off' : 'on', () => toggleHead(viewer.run.heads[state.h].at), isOff())] : [],
    act('look-like', 'In 12 sentences', () => { tab = 'like'; viewer.set({}); }), act('look-matrix', 'Matrix', () => $('stage-workbench').click())], []));
  $('life-next').replaceChildren(...canAsk && next.length > 0 ? [lookAt.nextOf(question, next.slice(0, 10), canAsk), act('look-on', 'Go on', () => $('stage-on').click())] : []);
  $('command').textContent = lookAt.commandOf(viewer.run.model, found.what.text);
  for (const [name, value] of Object.entries(had)) if (name === 'side' || name === 'next') $('stage-life').querySelector(`[data-${name}="${CSS.escape(value)}"]`)?.focus();
}

// Shows the drawing that was found.
function paint() {
  const place = $('life-picture'), hadFocus = place.contains(document.activeElement);
  if (found.problem || found.nodes) {
    numbers.clear();
    for (const id of ['life-said', 'life-sum']) $(id).textContent = '';
  }
  if (found.problem) return place.replaceChildren(el('p', {}, found.problem.message));
  if (found.nodes) {
    if (found.tab === 'pair' && document.activeElement !== $('life-second')) $('life-second').value = found.text;
    if (found.nodes[0].isConnected) return undefined;
    const before = document.activeElement;
    place.replaceChildren(...found.nodes);
    return hadFocus && (before.isConnected ? before : $(before.id))?.focus({ preventScroll: true });
  }
  $('life-line').replaceChildren(...question && ['answer', 'life'].includes(found.tab) ? [viewer.lookAt.lineOf(question, hasModel() ? ask : null, active)] : []);
  if (found.tab === 'answer') return paintAnswer(place);
  const svg = new DOMParser().parseFromString(found.svg, 'image/svg+xml').documentElement, best = predictedAt(runs()[0], found.p)[0];
  svg.setAttribute('role', 'group');
  svg.setAttribute('aria-label', t('What each layer adds to the answer'));
  makeButtons(svg);
  translateWords(svg);
  place.replaceChildren(svg);
  for (const line of svg.querySelectorAll('[data-i=sum], [data-i=word]')) {
    const room = svg.viewBox.baseVal.width - 2 * line.x.baseVal[0].value;
    if (line.getComputedTextLength() > room) line.setAttribute('textLength', room);
  }
  if (hadFocus) nodeOf(focused)?.focus({ preventScroll: true });
  $('life-sum').textContent = best && question && best.token !== question.target ? t('The model now says {}.', nameOf(best.token)) : '';
  return say(hadFocus ? focused : '');
}

// Shows the numbers of a ribbon, or what can be done.
function say(mark) {
  for (const node of $('life-picture').querySelectorAll('path[id]')) node.classList.toggle('near', node.dataset.i === mark);
  $('life-said').textContent = numbers.has(mark) ? sayRibbon(mark) : numbers.size > 0 ? t('Press a ribbon to remove it.') : '';
}

// --- Presses ------------------------------------------------------------------------------------

const markAt = event => event.target.closest('[data-i]')?.dataset.i ?? '';

function press(mark) {
  if (mark.startsWith(',,')) viewer.set({ q: Number(mark.slice(2)), k: -1 }); // a word
  if (!numbers.has(mark) || isRest(mark)) return;
  focused = mark;
  nodeOf(mark).classList.toggle('gone', !isRemoved(mark)); // at once; the worker takes longer
  toggle(...editOf(mark));
}

function listen(place) {
  place.addEventListener('pointermove', event => { if (tab !== 'answer') say(markAt(event)); });
  place.addEventListener('pointerleave', () => { if (tab !== 'answer') say(''); });
  place.addEventListener('click', event => press(markAt(event)));
  place.addEventListener('focusin', event => {
    if (event.target.classList.contains('plate')) return;
    nodeOf(focused)?.setAttribute('tabindex', -1);
    focused = markAt(event);
    event.target.setAttribute('tabindex', 0);
    say(focused);
  });
  place.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key], list = [...place.querySelectorAll('[role="button"]')];
    const at = list.indexOf(event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || at < 0 || !step && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation(); // not a key for the workbench
    if (step) list[Math.max(0, Math.min(list.length - 1, at + step))].focus();
    else press(markAt(event));
  });
}

// --- All of it ----------------------------------------------------------------------------------

// Draws the picture of the chosen word, if a tab is open. What is not known yet is asked.
function draw() {
  const what = shown();
  if (what === null) return; // the run of another text is on its way
  const isShown = tab !== '' && what.source === null && (tab !== 'answer' || canAnswer(what));
  $('life-tabs').hidden = what.source !== null; // a translator has two stacks of layers
  $('live-stage').classList.toggle('living', isShown);
  $('live-stage').classList.toggle('looking', isShown && tab === 'answer');
  if (!isShown) $('life-line').replaceChildren();
  for (const node of $('life-tabs').children) {
    node.disabled = node.value !== '' && !hasModel() && !(node.value === 'answer' && canAnswer(what));
    if (node.value === 'answer') node.hidden = !isText();
    node.title = node.disabled ? t('Open the model first') : '';
  }
  for (const node of $('life-tabs').children) node.setAttribute('aria-pressed', String(node.value === (isShown ? tab : '')));
  $('life-like').hidden = what.source !== null || viewer.given.predictions?.is_in_place !== false || !isOff() && tab !== 'like';
  if (!isShown) return;
  $('stage-life').dataset.tab = tab;
  $('stage-life').setAttribute('aria-label', t(TABS[tab][1]));
  const p = Math.max(0, state.q), width = $('life-picture').clientWidth;
  if (width === 0) return; // on the workbench; it is drawn when the stage opens
  const key = JSON.stringify([tab, what, p, asking, width, tab === 'pair' && second, ['pair', 'like'].includes(tab) && state.h, tab === 'like' && like.asked()]);
  $('life-word').replaceChildren(...viewer.run.tokens.map((_, q) => el('option', { value: q }, `${nameOf(viewer.nameAt(q, false))} (${q})`)));
  $('life-word').value = p;
  $('life-picture').classList.toggle('is-dark', isDark());
  if (key !== asked) {
    asked = key;
    $('life-picture').classList.toggle('waits', tab === 'life');
    find(what, p, width);
  } else if (found) {
    paint();
  }
}

// Reads the part of the address: "pair,the second sentence", or "life"; null: not open. PARTOF returns others: the question.
function read(part, partOf) {
  asking = Object.fromEntries(['target', 'foil'].flatMap(name => partOf(name) === null ? [] : [[name, decodeURIComponent(partOf(name))]]));
  const [, own, text] = /^(pair|like|answer|words)(?:,(.*))?$/s.exec(part ?? '') ?? [];
  tab = own === 'words' ? '' : own ?? (part !== null ? 'life' : isMany() ? 'answer' : '');
  second = tab === 'like' || text === undefined ? null : decodeURIComponent(text);
  if (tab === 'like') like.read(text ?? '');
}

const hashParts = () => [...Object.entries(asking).map(([name, text]) => name + '=' + encodeURIComponent(text)), ...tabParts()];
const tabParts = () => tab === (isMany() ? 'answer' : '') ? [] : tab === '' ? ['life=words'] : tab === 'answer' ? ['life=answer'] : ['life=' + (tab === 'like' ? [tab, ...like.hashPart() === '' ? [] : [like.hashPart()]] : tab === 'pair' ? [tab, ...second === null ? [] : [encodeURIComponent(second)]]
  : ['life']).join()];

function make() {
  const tabs = Object.entries(TABS).map(([value, [name]]) => {
    const node = el('button', { id: 'life-' + ({ life: 'open', answer: 'heads' }[value] ?? (value || 'words')), type: 'button', value }, t(name));
    node.addEventListener('click', () => { tab = value; viewer.set({}); });
    return node;
  });
  const word = el('select', { id: 'life-word' });
  word.addEventListener('change', () => viewer.set({ q: Number(word.value), k: -1 }));
  const picture = el('div', { id: 'life-picture' }), other = el('input', { id: 'life-second', class: 'live-input', dir: 'auto', autocomplete: 'off' });
  other.addEventListener('input', () => { second = other.value; viewer.set({}); });
  $('stage-top').prepend(el('div', { id: 'life-line' }));
  $('stage-menu').before(el('span', { id: 'life-tabs', class: 'tabs', role: 'group', 'aria-label': t('Picture') }, ...tabs));
  $('stage-sentence').after(el('div', { id: 'stage-life', role: 'group' },
    el('div', { id: 'life-asked' }, el('label', {}, t('Word') + ' ', word), el('label', {}, t('Second sentence') + ' ', other)),
    picture, el('p', {}, el('span', { id: 'life-said', 'aria-hidden': 'true' }), ' ', el('span', { id: 'life-sum', role: 'status' }))));
  listen(picture);
  new ResizeObserver(() => { if (tab !== '' && found) draw(); }).observe(picture);
}

return { make, draw, read, hashParts, isOfMany: () => tab !== '' && isMany() };
};
