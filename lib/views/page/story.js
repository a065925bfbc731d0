// story.js - the story of a live page: steps with a paragraph, a text, changes, a view, and
// optionally a question with its answer (live_story.c checks the file).
'use strict';
globalThis.attnStory = ({ viewer, asked, t, button, change, changesOf, guess, pathOf }) => {
const { $ } = viewer, { el } = attnPage;
let story = { title: '', steps: [] }, step = 0;

// --- Telling ------------------------------------------------------------------------------------

// Shows step NUMBER: its text, changes and view. If a step has no text, the current text
// stays; changes that it doesn't have are undone.
async function tell(number) {
  const told = story.steps[number];
  step = number;
  write();
  guess.tell(told, ...roundOf(number));
  const pair = told.pair ?? (told.text === undefined ? asked.pair : null);
  await change({ text: told.text ?? asked.text, pair, source: told.source ?? asked.source, image: told.image === undefined ? asked.image : pathOf(told.image),
    ...changesOf(name => [told[name] ?? []].flat()) }, told.view);
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

return { make, tell, isTold: () => story.steps.length > 0 };
};
