// story.js - the story of a live page: steps with a paragraph, a text, changes, a view, and
// optionally a question. A teacher can write one on the page: "Add this view as a step" records
// what is shown, and "Save" writes the file that --story reads (live_story.c checks it).
'use strict';
globalThis.attnStory = ({ viewer, asked, t, button, change, changesOf, optionsOf, ask, askedNow, guess, pathOf, imageOf, viewParts }) => {
const { $ } = viewer, { el } = attnPage;
const LISTS = ['ablate', 'knockout', 'steer'];
const HIDES = { '': 'nothing', bars: 'the next words', bow: 'where the head looks' };
const LABELS = { title: 'Title', paragraph: 'Paragraph', question: 'Question', answer: 'Answer' }, WORDS = Object.keys(LABELS);
let story = { title: '', steps: [] }, step = 0;

// --- Telling ------------------------------------------------------------------------------------

// Shows step NUMBER: its text, changes, view and question. If a step has no text, the current text
// stays; changes that it doesn't have are undone.
async function tell(number) {
  const told = story.steps[number];
  step = number;
  write();
  guess.tell(told, ...roundOf(number));
  const pair = told.pair ?? (told.text === undefined ? asked.pair : null);
  await change({ text: told.text ?? asked.text, pair, source: told.source ?? asked.source, image: told.image === undefined ? asked.image : pathOf(told.image),
    ...changesOf(name => [told[name] ?? []].flat()) }, told.view);
  if (story.steps[step] === told) await ask(told);
}

// Returns the number of the round that the step NUMBER is, if it hides something, and how many there are.
const roundOf = number => [story.steps.slice(0, number + 1).filter(one => one.hide).length, story.steps.filter(one => one.hide).length];

// Shows the words of the step. The answer to its question is shown on request.
function write() {
  const told = story.steps[step] ?? {};
  $('live-story').hidden = story.steps.length === 0;
  $('live-stage')?.classList.toggle('told', story.steps.length > 0);
  $('live-step').textContent = t('{} of {}', step + 1, story.steps.length);
  $('live-step-title').textContent = told.title ?? story.title ?? '';
  $('live-paragraph').textContent = told.paragraph ?? '';
  $('live-inquiry').hidden = Boolean(told.hide) || !told.question && !told.answer;
  $('live-inquired').textContent = told.question ?? '';
  $('live-reveal').hidden = Boolean(told.hide) || !told.answer;
  $('live-reveal').setAttribute('aria-expanded', 'false');
  $('live-revealed').textContent = '';
  $('live-back').disabled = step === 0;
  $('live-on').disabled = step >= story.steps.length - 1;
}

function reveal() {
  const isShown = $('live-revealed').textContent !== '';
  $('live-revealed').textContent = isShown ? '' : story.steps[step].answer;
  $('live-reveal').setAttribute('aria-expanded', String(!isShown));
  $('live-revealed').scrollIntoView({ block: 'nearest' }); // on a phone there is less space
}

// --- Making -------------------------------------------------------------------------------------

// Returns what is shown as a step, with the texts of the dialog.
function stepNow() {
  const made = {}, options = optionsOf(asked), valuesOf = name => options.filter(option => option[0] === name).map(option => option[1]);
  for (const name of WORDS) {
    const text = $('story-' + name).value.trim();
    if (text) made[name] = text;
  }
  if ($('story-hide').value !== '') made.hide = $('story-hide').value;
  if (asked.image === null) made.text = asked.text;
  else made.image = imageOf(asked.image);
  if (asked.pair !== null) made.pair = asked.pair;
  if (asked.source !== null) made.source = asked.source;
  for (const name of LISTS) if (valuesOf(name).length > 0) made[name] = valuesOf(name).flatMap(text => name === 'ablate' ? text.split(',') : [text]);
  for (const name of ['attention', 'mask']) if (valuesOf(name).length > 0) [made[name]] = valuesOf(name);
  return { ...made, view: viewParts().join('&'), ...askedNow() };
}

function add() {
  story.steps.splice(story.steps.length === 0 ? 0 : step + 1, 0, stepNow());
  step = Math.min(step + 1, story.steps.length - 1);
  for (const name of WORDS) $('story-' + name).value = '';
  write();
  list();
}

function remove(number) {
  story.steps.splice(number, 1);
  step = Math.max(0, Math.min(step, story.steps.length - 1));
  write();
  list();
}

// Lists the steps in the dialog. Each can be shown or removed.
function list() {
  const nameOf = ({ title, text, paragraph }) => title ?? text ?? paragraph ?? '';
  $('story-steps').replaceChildren(...story.steps.map((one, i) => el('li', i === step ? { 'aria-current': 'step' } : {},
    button('', nameOf(one) || t('step {}', i + 1), () => { $('dialog').close(); return tell(i); }),
    button('', '\u00d7', () => remove(i), { 'aria-label': t('Remove step {}', i + 1) }))));
  $('story-save').disabled = story.steps.length === 0;
}

const save = () => attnPage.save(new Blob([JSON.stringify(story, null, 2) + '\n'], { type: 'application/json' }), 'story.json');

// Reads a saved story and shows its first step.
async function open(file) {
  if (!file) return undefined;
  let found;
  try {
    found = JSON.parse(await file.text());
  } catch {
    found = null;
  }
  if (!Array.isArray(found?.steps) || found.steps.length === 0 || found.steps.some(one => one === null || typeof one !== 'object'))
    throw new Error(t("'{}' has no list 'steps', expected a story", file.name));
  story = found;
  guess.begin(true);
  $('dialog').close();
  return tell(0);
}

function makeStory() {
  const row = (name, rows) => el('p', {}, el('label', {}, t(LABELS[name]) + ' ',
    rows ? el('textarea', { id: 'story-' + name, class: 'live-input', rows }) : el('input', { id: 'story-' + name, class: 'live-input' })));
  const input = el('input', { type: 'file', accept: '.json,application/json', id: 'story-open' });
  input.addEventListener('change', () => open(input.files[0]).catch(problem => { $('dialog').close(); throw problem; }));
  viewer.openDialog(t('A story'), el('p', { class: 'note' }, t('Make the page show what a step is about: text, head, word and changes. Then add it.')),
    row('title'), row('paragraph', 3), row('question'), row('answer'),
    el('p', {}, el('label', {}, t('Readers guess:') + ' ', el('select', { id: 'story-hide' }, ...Object.entries(HIDES).map(([value, name]) => el('option', { value }, t(name)))))),
    el('p', { class: 'group' }, button('story-add', t('Add this view as a step'), add), button('story-save', t('Save the story'), save)),
    el('ol', { id: 'story-steps' }), el('p', {}, el('label', {}, t('Open a story') + ' ', input)));
  list();
}

function make(given) {
  story = given ?? story;
  const words = el('div', { id: 'live-told' }, el('p', { id: 'live-paragraph', 'aria-live': 'polite' }),
    el('p', { id: 'live-inquiry', hidden: '' }, el('b', { id: 'live-inquired' }), ' ', el('span', { id: 'live-revealed', 'aria-live': 'polite' })));
  $('app').prepend(el('section', { id: 'live-story', 'aria-label': t('Story'), hidden: '' },
    el('h2', { id: 'live-step-title', 'aria-live': 'polite' }), words,
    el('p', { class: 'group' }, button('live-back', t('Back'), () => tell(step - 1)), el('span', { id: 'live-step' }),
      button('live-on', t('Next'), () => tell(step + 1)),
      button('live-reveal', t('Show the answer'), reveal, { 'aria-expanded': 'false', 'aria-controls': 'live-revealed' }))));
  write();
}

return { make, makeStory, tell, isTold: () => story.steps.length > 0 };
};
