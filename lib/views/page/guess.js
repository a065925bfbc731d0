// guess.js - a game of the stage: the bars of the next words or the arcs of a head are covered, and the reader presses a word.
// It earns its probability, or its weight, in points of 100. The steps of a story that have `hide` are the rounds of a game;
// the button Guess covers both of any sentence. Nothing is sent: a card at the end shows the points as a code.
'use strict';
globalThis.attnGuess = ({ viewer, asked, t, button, expectedHere }) => {
const { $, state } = viewer, { el, written } = attnPage;
const N_CHOICE = 5; // next words to choose from
const MOST_EXPECTED = 1000; // more than a run lists
const ALMOST = 0.25; // of the largest share
const KINDS = ['bars', 'bow'];

let covered = []; // of KINDS, in the order in which they are asked
let shares = new Map(), best = new Map(); // by round: what was earned, and what could have been
let isStory = false; // its steps are the rounds of the game
let told = null; // the step of the story that asks: { number, of, question, answer }
let wish = null; // the guess that did not come first, and the words of its sentence: { word, words }
let choicesOf = ''; // what can be pressed
let code = ''; // of a game that has ended, as it stands in the address

const percent = x => written(viewer.run.numbers.probability, x);
const wordOf = ({ label, token }) => (label ?? token).trim();
const isFirst = kind => covered[0] === kind;
const expected = () => expectedHere(MOST_EXPECTED).rows.filter(row => row.after !== undefined && row.token !== null).sort((a, b) => b.after - a.after);

// --- A question ---------------------------------------------------------------------------------

// Covers what KINDS names, and asks for the first. ROUND is the step of a story, or null.
function cover(kinds, round) {
  [covered, told, wish] = [kinds, round, null];
  $('guess-said').textContent = '';
  ask();
}

// Begins a game: of a story, or of the sentence that is shown.
function begin(isIt) {
  [isStory, shares, best, code] = [isIt, new Map(), new Map(), ''];
}

// Writes the question, and covers what it asks for and what follows.
function ask() {
  const isAsked = covered.length > 0;
  for (const kind of KINDS) $('live-stage').classList.toggle('covers-' + kind, covered.includes(kind));
  $('stage-guess').hidden = !isAsked && $('guess-said').textContent === '';
  $('guess-ask').textContent = !isAsked ? '' : (told ? t('Round {} of {}', told.number, told.of) + ': ' : '') + (told?.question ?? (isFirst('bars') ? t('Which word comes next?')
    : t("From '{}': at which word does head {} look? Press it.", viewer.nameAt(state.q, false), viewer.run.heads[state.h].at)));
  $('guess-show').hidden = !isAsked;
  $('guess-choices').hidden = !isFirst('bars');
  if (isFirst('bars')) drawChoices();
}

// Lists the next words in the order of the alphabet, and a place for another.
function drawChoices() {
  const names = expected().slice(0, N_CHOICE).map(wordOf).sort((a, b) => a.localeCompare(b)), key = JSON.stringify(names);
  if (key === choicesOf) return; // somebody may be typing
  choicesOf = key;
  const field = el('input', { id: 'guess-word', class: 'live-input', 'aria-label': t('another word'), placeholder: t('another word') });
  field.addEventListener('keydown', event => event.key === 'Enter' && field.value.trim() !== '' && guessWord(field.value.trim()));
  $('guess-choices').replaceChildren(...names.map(name => button('', el('bdi', {}, name), () => guessWord(name), { class: 'stage-bar' })), field);
}

// --- An answer ----------------------------------------------------------------------------------

const guessWord = word => {
  const rows = expected(), found = rows.find(row => wordOf(row) === word);
  settle({ word, share: found?.after ?? 0, least: found ? null : rows.at(-1)?.after, top: wordOf(rows[0]), most: rows[0].after });
  if (word !== wordOf(rows[0])) wish = { word, words: asked.text.split(/\s+/) };
};

async function guessKey(k) {
  const { h, q } = state, { cols } = viewer.run.heads[h], weights = await viewer.decode(h, 0);
  if (!isFirst('bow')) return;
  const row = weights.slice(q * cols, (q + 1) * cols).map(w => w || 0), top = row.indexOf(Math.max(...row)); // a masked cell is no number
  settle({ word: k === null ? null : viewer.nameAt(k, false), share: row[k] ?? 0, top: viewer.nameAt(top, false), most: row[top] });
}

// Counts a guess of WORD, null for none, and uncovers what was asked.
function settle({ word, share, least = null, top, most }) {
  const kind = covered.shift(), id = told?.number ?? kind, mine = least === null ? percent(share) : '< ' + percent(least);
  shares.set(id, share);
  best.set(id, most);
  const isBest = word === top || share === most, hint = kind === 'bars' && !isBest && word !== null ? t("Change a word of the sentence so that '{}' comes first.", word) : '';
  $('guess-said').textContent = [word === null ? t("'{}': {}.", top, percent(most)) : isBest ? t("Yes: '{}' has {}.", word, mine)
    : t(share >= ALMOST * most ? "Almost: '{}' has {}, '{}' {}." : "No: '{}' has {}, '{}' {}.", word, mine, top, percent(most)), told?.answer, hint, points()].filter(Boolean).join(' ');
  ask();
  if (told ? shares.size === told.of : covered.length === 0) end();
}

const sum = list => [...list].reduce((a, b) => a + b, 0);
const points = () => t('{} points of {}.', Math.round(100 * sum(shares.values())), Math.round(100 * sum(best.values())));

// Says whether the word that was guessed comes first when one word of its sentence is another.
function judge() {
  const words = asked.text.split(/\s+/), rows = expected();
  if (wish === null || rows.length === 0 || words.length !== wish.words.length || words.filter((word, i) => word !== wish.words[i]).length !== 1) return;
  const found = rows.find(row => wordOf(row) === wish.word), isIt = wordOf(rows[0]) === wish.word;
  $('guess-said').textContent = t(isIt ? "Now '{}' comes first, with {}." : "Now '{}' has {}.", wish.word, found ? percent(found.after) : '< ' + percent(rows.at(-1).after));
}

// --- The end ------------------------------------------------------------------------------------

// Ends a game of a story: its code is in the address, and a card shows it.
function end() {
  if (!told) return;
  code = [...Array(told.of).keys()].map(i => Math.min(9, Math.floor(10 * shares.get(i + 1) + 1e-6))).join('-');
  viewer.set({}); // writes the address
  showCard(points());
}

// Shows a dot for each round, the stronger the more it earned.
function showCard(...more) {
  const dots = code.split('-').map((digit, i) => {
    const dot = el('i', { class: 'guess-dot', role: 'img', 'aria-label': t('Round {}: {} of 10', i + 1, digit) });
    dot.style.setProperty('--share', (Number(digit) + 1) / 10);
    return dot;
  });
  viewer.openDialog(t('Your guesses'), el('p', {}, ...dots), ...more.map(text => el('p', {}, text)), el('p', {}, t('Code:') + ' ', el('b', { id: 'guess-code' }, code)),
    el('p', { class: 'note' }, t('The address of this page has the code and nothing else about you.')));
}

// Shows the card of an address.
function read(hash) {
  const found = /(?:^#|&)guess=(\d(?:-\d)*)(?:&|$)/.exec(hash);
  if (!found || found[1] === code) return;
  code = found[1];
  showCard();
}

// --- All of it ----------------------------------------------------------------------------------

// Shows the round of a step that hides something, number NUMBER of OF. A round that was answered is not asked again.
function tell({ hide, question, answer }, number, of) {
  if (!$('stage-guess')) return; // the page reads a picture
  if (!isStory) begin(true);
  const isAsked = hide && !shares.has(number);
  cover(isAsked ? [hide] : [], isAsked ? { number, of, question, answer } : null);
}

// Draws what is asked; ISRUN if there are new next words.
function draw(isRun) {
  if (covered.length > 0) ask();
  else if (isRun) judge();
}

// Of a word that is pressed to answer, the stage hears nothing; what it would show on the way is covered, too.
function intercept(event) {
  const node = event.target.closest?.('.stage-word');
  if (!covered.includes('bow') || !node || node.classList.contains('stage-run')) return;
  event.stopPropagation();
  if (event.type === 'click' && isFirst('bow')) guessKey(Number(node.dataset.position));
}

function make() {
  $('stage-said').after(el('p', { id: 'stage-guess', hidden: '' }, el('b', { id: 'guess-ask' }), ' ', el('span', { id: 'guess-said', role: 'status' }), ' ',
    button('guess-show', t('Show the answer'), () => isFirst('bow') ? guessKey(null) : settle({ word: null, share: 0, top: wordOf(expected()[0]), most: expected()[0].after }))));
  $('stage-bars').after(el('div', { id: 'guess-choices', role: 'group', 'aria-label': t('Which word comes next?'), hidden: '' }));
  $('stage-on').after(button('guess-begin', t('Guess'), () => {
    begin(false);
    cover(viewer.run.heads[state.h].is_source ? ['bars'] : [...KINDS], null);
  }, { title: t('Covers the next words and the arcs') }));
  for (const type of ['click', 'focus', 'pointerenter']) $('stage-words').addEventListener(type, intercept, true);
}

return { make, draw, tell, read, begin, covers: kind => covered.includes(kind), hashParts: () => code === '' ? [] : ['guess=' + code] };
};
