// live.js - a page that runs the model again, with another text, with heads switched off, or with
// keys knocked out. A worker (live_worker.js) runs the tool itself with the options that a shell
// would pass, and the viewer (viewer.js) shows the resulting run. The page never uses a network.
'use strict';
(() => {
const viewer = globalThis.attnViewer, { $, state, predictedAt } = viewer, { el, save, written } = attnPage;
const { live, language: words = {}, story: givenStory } = attnPage.given;
for (const option of live.options) if (/^(merge-words|renormalize)$/.test(option[0])) option[1] = '';
// `words` are translations into the page's language, keyed by the English texts
const t = (text, ...values) => (words[text] ?? text).replaceAll('{}', () => values.shift());

// --- What is asked for --------------------------------------------------------------------------

// Options that are changed on the page, and options of the run that are kept.
const CHANGED = ['ablate', 'knockout', 'steer', 'rescale', 'attention', 'mask'];
// kept, since the page cannot change them
const INTERVENTIONS = ['patch'];
const PREDICTED = [['top', '12']];
const NO_MODEL = 'This page holds no model: choose the files of one.';
const MASK = /^\s*(\[MASK\]|<mask>)\s*$/;
const MOST_EXPECTED = 7; // rows of the table of next words
const isOf = names => option => names.includes(option[0]);
const valuesIn = (options, name) => options.filter(isOf([name])).map(option => option[1]);
const kept = live.options.filter(option => !isOf(CHANGED)(option));
// options that say how a text is read
const read = live.reading.filter(option => !isOf(['image', 'label', 'source'])(option));
const given = name => valuesIn(live.options, name);

// Returns the names of the heads that ITEM of a list stands for, such as "0.3", "1.*" or "L2H1".
// Any other item is returned as it is, for the tool to parse.
function headsOf(item) {
  const match = /^L?(\d+)[.H](\d+|\*)$/.exec(item);
  const found = viewer.run.heads.map(head => head.at).filter(name => match &&
    (match[2] === '*' ? name.startsWith(match[1] + '.') : name === match[1] + '.' + match[2]));
  return found.length > 0 ? found : [item];
}

// The changes of a run: `off` maps names of heads to 'zero', 'mean' or 'uniform'; knockouts; steerings
// of a story; factors of tensors; options of the attention.
function noChanges() {
  return { off: {}, knockouts: [], steerings: [], rescales: [], attention: '', mask: '' };
}

// Returns the changes that options make. VALUES_OF returns all values of an option, given its name.
function changesOf(valuesOf) {
  const changes = { ...noChanges(), knockouts: valuesOf('knockout'), steerings: valuesOf('steer'), rescales: valuesOf('rescale'),
    attention: valuesOf('attention')[0] ?? '', mask: valuesOf('mask')[0] ?? '' };
  for (const item of valuesOf('ablate').flatMap(text => text.split(','))) {
    const [, how = 'zero', heads] = /^(?:(zero|mean|uniform):)?(.*)$/s.exec(item.trim());
    for (const name of headsOf(heads)) changes.off[name] = how;
  }
  return changes;
}

// The current input and changes. The input is a text with the second text of its pair and the source
// of a translation (null: none), or the path of a picture (null: the input is a text) with the
// labels that it is compared with.
const [imageName = null] = valuesIn(live.reading, 'image'), [sourceText = null] = valuesIn(live.reading, 'source');
const asked = { text: live.text ?? viewer.run.text ?? '', pair: live.pair, source: sourceText, image: imageName && 'picture-0.npy',
  labels: valuesIn(live.reading, 'label'), ...changesOf(given) };
const first = structuredClone(asked);
const isPicture = asked.image !== null, hasLabels = asked.labels.length > 0;
// identifies the input
const keyOf = ({ text, pair, source, image, labels }) => JSON.stringify([text, pair, source, image, labels]);
const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const isChanged = ({ off, knockouts, steerings, rescales, attention, mask }) =>
  Object.keys(off).length + knockouts.length + steerings.length + rescales.length > 0 || attention !== '' || mask !== '';

// Returns the options for the changes.
function optionsOf({ off, knockouts, steerings, rescales, attention, mask }) {
  const heads = how => Object.keys(off).filter(name => off[name] === how).map(name => how === 'zero' ? name : how + ':' + name);
  const ablated = [...heads('zero'), ...heads('mean'), ...heads('uniform')].join();
  return [...ablated ? [['ablate', ablated]] : [],
    ...knockouts.map(knockout => ['knockout', knockout]), ...steerings.map(steering => ['steer', steering]),
    ...rescales.map(factor => ['rescale', factor]),
    ...attention ? [['attention', attention]] : [], ...mask ? [['mask', mask]] : []];
}

// Returns the options for the input; NAME is the name of the picture.
// An option whose value is a text that may begin as another input does.
const textOption = (name, text) => [name, /^(text|ids|file|image):/.test(text) ? 'text:' + text : text];
const inputOf = ({ pair, source, image, labels }, name) => [...read, ...pair === null ? [] : [textOption('pair', pair)],
  ...source === null ? [] : [textOption('source', source)],
  ...image === null ? [] : [['image', name], ...labels.filter(text => text !== '').map(text => textOption('label', text))]];

// Returns the arguments of COMMAND with OPTIONS on the input WHAT, with the model of the page.
const argsOf = (command, options, what) => [command, '-m', live.model,
  ...options.map(([name, value]) => value === '' && name !== 'foil' ? '--' + name : '--' + name + '=' + value),
  ...inputOf(what, what.image).map(([name, value]) => '--' + name + '=' + value),
  ...what.image === null && what.text !== null ? ['--', what.text] : []];

const quote = text => /^[\w%+,./:=@*-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

// Returns the shell command that prints the same numbers.
function commandOf(command, options, what) {
  const { text, image } = what, input = inputOf(what, pictures.get(image)?.name).flatMap(([name, value]) => ['--' + name, value]);
  const model = live.given === null ? [] : ['-m', live.given];
  return ['attn-cli', command, ...model,
    ...options.flatMap(([name, value]) => value === '' && name !== 'foil' ? ['--' + name] : ['--' + name, value]),
    ...input, ...image !== null || text === null ? [] : text.startsWith('-') ? ['--', text] : [text]].map(quote).join(' ');
}

// --- The engine ---------------------------------------------------------------------------------

const PATIENCE = 400; // ms after which work is stopped that nobody waits for
const QUIET = 100; // ms without a job, after which one that can wait begins

class Superseded extends Error {}

// A worker and its queue of jobs. Of jobs whose results are to be shown, only the last one is kept. One that can wait is stopped for
// any other, and begins anew.
class Engine {
  constructor(files) {
    this.files = files;
    this.waiting = [];
    this.nAsked = 0;
    this.start();
  }

  start() {
    const script = new Blob([$('live-worker').textContent], { type: 'text/javascript' });
    const address = URL.createObjectURL(script);
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.isReady = false;
    this.current = null;
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = event => this.take({ problem: event.message });
    this.worker.postMessage({ module: compiled ?? $('live-module').textContent, files: this.files });
  }

  stop() {
    this.worker.terminate();
    for (const job of [this.current, ...this.waiting]) job?.reject(new Superseded());
    this.waiting = [];
  }

  restart() {
    this.worker.terminate();
    this.start();
  }

  // Queues a command line. IS_SHOWN: its result is to be shown, so forgetShown may drop it.
  ask(args, { wanted, isShown = false, canWait = false } = {}) {
    return new Promise((resolve, reject) => {
      const more = Object.fromEntries([...pictures].filter(([path]) => args.some(arg => arg.includes(path)))
        .map(([path, { bytes }]) => [path, bytes]));
      if (this.current?.canWait) {
        this.waiting.push(this.current);
        this.restart();
      }
      this.waiting.push({ id: ++this.nAsked, args, wanted, more, isShown, canWait, resolve, reject });
      this.next();
    });
  }

  // Rejects the jobs whose results were to be shown.
  forgetShown() {
    for (const job of this.waiting.filter(job => job.isShown)) job.reject(new Superseded());
    this.waiting = this.waiting.filter(job => !job.isShown);
    if (!this.current?.isShown) return;
    this.current.reject(new Superseded());
    if (this.current.canWait || performance.now() - this.begun > PATIENCE) this.restart();
  }

  next(isQuiet = false) {
    clearTimeout(this.timer);
    if (!this.isReady || this.current || this.waiting.length === 0) return;
    const i = this.waiting.findIndex(job => isQuiet || !job.canWait);
    if (i < 0) {
      this.timer = setTimeout(() => this.next(true), QUIET);
      return;
    }
    const [{ id, args, wanted, more }] = [this.current] = this.waiting.splice(i, 1);
    this.begun = performance.now();
    this.worker.postMessage({ id, args, wanted, more });
  }

  take(data) {
    if (data.isReady) this.isReady = true;
    if (data.module) openLayouts(data.module).catch(tellOf);
    else if (data.problem && !this.current) this.onProblem?.(data.problem);
    else if (data.problem) this.current.reject(new Error(data.problem));
    else this.current.resolve(data);
    if (!data.isReady) this.current = null;
    this.next();
  }
}

let compiled, layouts; // the module, and what an instance of it in this thread exports

// Makes the layouts of the module usable in this thread. Before each call, the module looks for an environment and open folders,
// and finds none.
async function openLayouts(module) {
  if (compiled) return;
  compiled = module;
  const imports = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, () => 0]));
  const zero = pointer => new DataView(layouts.memory.buffer).setUint32(pointer, 0);
  imports.fd_prestat_get = () => 8; // BADF
  imports.environ_sizes_get = (number, size) => { zero(number); zero(size); return 0; };
  layouts = (await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports })).exports;
  stage?.draw();
}

// Calls the function NAME of the module (page_layout_wasm.c) with COUNTS and NUMBERS. Returns its N numbers; null before the module
// is here.
function callModule(name, counts, numbers, n) {
  if (!layouts) return null;
  const at = layouts.attn_page_numbers(Math.max(n, numbers.length)), all = () => new Float64Array(layouts.memory.buffer, at);
  all().set(numbers);
  if (!layouts['attn_page_' + name](...counts)) throw new Error('no memory is left');
  return all().slice(0, n);
}

// Returns the SVG of how the next word changes without each head, as `ablate --figure strip` draws it: for each of ROWS, texts, an
// object of the changes by head. CHOSEN has the hue.
function drawStrip(rows, chosen, width, size) {
  const names = Object.keys(rows[0]), heads = names.flatMap(name => name.split('.').map(Number));
  const numbers = [width, size, ...heads, ...rows.flatMap(row => names.map(name => row[name]))];
  const [at, n] = callModule('draw_strip', [names.length, rows.length, names.indexOf(chosen)], numbers, 2);
  return new TextDecoder().decode(new Uint8Array(layouts.memory.buffer, at, n));
}

// Returns the tool's error message, without notes, hints and the tool's name.
const messageOf = err => err.split('\n').filter(line => line !== '' && !/^(attn-cli: note|hint): /.test(line))
  .map(line => line.replace(/^attn-cli: (error: )?/, '')).join(' ');

let engine = null;

function startEngine(files) {
  engine?.stop();
  plain = answer = null;
  engine = new Engine(files);
  engine.onProblem = problem => say(problem, true);
}

// Runs a command line in the engine. Rejects if there is no engine.
async function ask(args, how) {
  if (!engine) throw new Error(NO_MODEL);
  return engine.ask(args, how);
}

// Runs COMMAND on the input and the changes WHAT. Rejects with the tool's message if it fails.
async function answerOf(command, options, what = asked, wanted = undefined) {
  const answer = await ask(argsOf(command, options, what), { wanted });
  if (answer.code !== 0) throw new Error(messageOf(answer.err));
  return answer;
}

const ownFiles = () => live.files.map((path, i) => [path, $('live-file-' + i).textContent]);

// --- Another run --------------------------------------------------------------------------------

// The numbers of the last request, and of the last one that was shown or whose error was reported.
let nFollowed = 0, nShown = 0, timer = 0;
let plain = null; // {key, found, isDone}: the run without changes

// Runs the model on WHAT, with predictions where the first page has them.
function runPage(what) {
  const { predictions } = viewer.given, areAll = new Set(predictions?.top.map(({ position }) => position)).size > 1; // else that would take long
  const options = [...kept, ...optionsOf(what), ...predictions && !isPicture ? PREDICTED : [], ...areAll && !isPicture ? [['queries', 'all']] : [], ['html', 'page.html']];
  return engine.ask(argsOf('run', options, what), { wanted: 'page', isShown: true });
}

function plainRun(what) {
  if (plain?.key !== keyOf(what)) {
    const made = { key: keyOf(what), isDone: false, found: runPage({ ...what, ...noChanges() }) };
    made.found.then(() => { made.isDone = true; }, () => {});
    plain = made;
  }
  return plain.found;
}

let typedOver = null; // ids of the text that was shown when typing began; null: not typing

// Returns the last position that a knockout names by number; -1 if it names words.
const lastNumber = knockout => Math.max(-1, ...knockout.split('@')[0].split(/[>,]/).map(item => {
  const [, from, to] = /^(\d+)(?:-(\d+))?(?:\+\d+)?$/.exec(item.trim()) ?? [];
  return Number(to ?? from ?? -1);
}));

// Typing may have moved tokens, so that positions in knockouts and factors are wrong. Removes such
// changes from CHANGES and from what is asked for; IDS are the ids of the new text. Returns a message about
// it, or ''.
function dropMoved(changes, ids) {
  const isMoved = last => !isSame(...[typedOver, ids].map(list => list.slice(0, last + 1)));
  const notes = [['knockouts', 'knockout', lastNumber], ['rescales', 'factor', factor => Number(/@(\d+)=/.exec(factor)?.[1] ?? -1)]].map(([list, name, lastOf]) => {
    const moved = typedOver ? changes[list].filter(text => isMoved(lastOf(text))) : [];
    if (moved.length === 0) return '';
    asked[list] = changes[list] = changes[list].filter(text => !moved.includes(text));
    return `, without ${name} ${moved.join(', ')}: other tokens stand there now`;
  });
  if (notes.join('') !== '') writeControls();
  return notes.join('');
}

// Runs and shows what is asked for. VIEW, if given, is a hash whose positions are those of the new
// text. If something else is asked for in the meantime, nothing is shown.
async function follow(view) {
  const number = ++nFollowed, changes = structuredClone(asked), key = keyOf(changes);
  stopTimer();
  writeControls();
  try {
    if (!engine) throw new Error(NO_MODEL);
    engine.forgetShown();
    if (!plain?.isDone || plain.key !== key) plain = null;
    say(t('computing') + ' \u2026');
    let before = isChanged(changes) ? await plainRun(changes) : null;
    if (number !== nFollowed) return undefined;
    const note = before?.code === 0 ? dropMoved(changes, before.page.ids) : '';
    if (!isChanged(changes)) before = null;
    const after = before?.code ? before : before ? await runPage(changes) : await plainRun(changes);
    if (number !== nFollowed) return;
    if (after.code !== 0) return say(messageOf(after.err), true);
    const [run, other] = [after, before].map(found => found && attnPage.runOf(found.page));
    if (before) run.set_names = ['changed', 'unchanged'];
    await viewer.show(run, other);
    if (number !== nFollowed) return;
    typedOver = null;
    showTexts(run);
    if (isPicture) showSeen(run.picture?.png);
    showExpected(run, other, changes);
    say(`${sizeOf(run)}, ${Math.round(after.ms + (before?.ms ?? 0))} ms${pictures.get(changes.image)?.note ?? note}`);
  } catch (problem) {
    tellOf(problem);
  } finally {
    nShown = Math.max(nShown, number);
    if (view !== undefined && number === nFollowed) viewer.look(view);
  }
  return undefined;
}

function stopTimer() {
  clearTimeout(timer);
  timer = 0;
}

function followSoon() {
  stopTimer();
  timer = setTimeout(follow, 150);
}

function change(changes, view) {
  if (changes.text !== undefined) typedOver = null;
  Object.assign(asked, changes);
  return follow(view);
}

// --- Controls -----------------------------------------------------------------------------------

// Returns a button that reports errors of ACTION.
function button(id, text, action, more) {
  const node = el('button', { id, ...more }, text);
  node.addEventListener('click', async () => {
    try {
      await action();
    } catch (problem) {
      tellOf(problem);
    }
  });
  return node;
}

// Reports an error, unless its request was superseded.
function tellOf(problem) {
  if (!(problem instanceof Superseded)) say(problem.message, true);
}

const headHere = () => viewer.run.heads[state.h].at;

// Switches heads off; on again, if all of them are off.
function toggleHeads(names) {
  const off = { ...asked.off }, isAnyOn = names.some(name => !off[name]);
  for (const name of names)
    if (isAnyOn) off[name] ??= $('live-how').value; else delete off[name];
  change({ off });
}
const toggleHead = name => toggleHeads([name]);

// Adds a change to a LIST of them, or takes it out again.
function toggle(text, list = 'knockouts') {
  change({ [list]: asked[list].includes(text) ? asked[list].filter(other => other !== text) : [...asked[list], text] });
}

function say(text, isProblem = false) {
  $('live-status').textContent = text;
  $('live-status').classList.toggle('problem', isProblem);
}

function sizeOf({ tokens: { length }, picture }) {
  if (picture) return `${picture.n_row} x ${picture.n_col} patches`;
  return t(isPicture ? length === 1 ? '{} position' : '{} positions' : length === 1 ? '{} token' : '{} tokens', length);
}

function showTexts(run) {
  document.title = run.heading ?? run.title;
  const heading = document.querySelector('h1 bdi');
  if (heading) heading.textContent = run.heading ?? run.title;
  const changes = optionsOf(asked).map(option => option.join(' ')).join(', ');
  $('about').textContent = `${run.model}: ${run.heads.length} heads, ${sizeOf(run)}` + (changes ? ` (${changes})` : '');
  if (!isPicture) $('live-tokens').replaceChildren(...run.ids.map((id, p) =>
    el('bdi', { title: `position ${p}, id ${id}` }, run.labels[p] ?? run.tokens[p])));
}

// --- The next words -----------------------------------------------------------------------------

// The shown run and the run without changes, and the changes between them.
let expected = { after: viewer.given, before: null, changes: structuredClone(asked) };
let expectedDrawn = -1; // the position of the table on the page

function showExpected(after, before, changes) {
  expected = { after, before, changes };
  expectedDrawn = -1;
  stage?.draw();
  if (stage) guess.draw(true);
  drawExpected();
}

function drawExpected() {
  const position = Math.max(0, state.q);
  // the rows may be those of a translator's encoder
  const [after, before] = [expected.after, expected.before].map(run => viewer.run.predictions ? predictedAt(run, position) : []);
  if (expectedDrawn === position) return;
  expectedDrawn = position;
  $('live-expected').replaceChildren(...after.length > 0 ? [expectedTable(position, after, before)] : []);
}

// Returns a row for each token of either list, the most probable first, and what is most probable now among the first two:
// a low telephone has no more.
function rowsOf(after, before, n) {
  const rows = new Map(after.map(p => [p.id, { ...p, after: p.prob }]));
  for (const p of before) rows.set(p.id, { ...p, ...rows.get(p.id), before: p.prob });
  const largest = p => Math.max(p.after ?? 0, p.before ?? 0);
  const list = [...rows.values()].sort((a, b) => largest(b) - largest(a)), best = list.findIndex(p => p.id === after[0]?.id);
  if (best > 1) list.splice(1, 0, ...list.splice(best, 1));
  return list.slice(0, n);
}

// Returns the position of the next word: that of an encoder's mask, or the last one.
function positionOfNext({ tokens }) {
  const mask = tokens.findIndex(token => MASK.test(token));
  return mask >= 0 ? mask : tokens.length - 1;
}

// Returns the next words of the shown run, and whether those of the run without changes are known.
function expectedHere(n) {
  const { after, before } = expected, position = positionOfNext(after), list = predictedAt(before, position);
  return { rows: rowsOf(predictedAt(after, position), list, n), hasBefore: list.length > 0 };
}

// A token that is missing from a list is less probable than the last one in the list.
function expectedTable(position, after, before) {
  const cell = (p, list) => el('td', { class: 'number' },
    (p === undefined ? '< ' : '') + written(viewer.run.numbers.probability, p ?? list.at(-1).prob));
  const bar = (p, name) => {
    const span = el('span', { class: name });
    span.style.width = 100 * (p ?? 0) + '%';
    return span;
  };
  const names = before.length > 0 ? ['unchanged', 'changed'] : ['probability'];
  return el('table', {},
    viewer.expectedAt(position),
    el('thead', {}, el('tr', {}, el('th', {}), ...names.map(name => el('th', { class: 'number', scope: 'col' }, name)), el('th', {}))),
    el('tbody', {}, ...rowsOf(after, before, MOST_EXPECTED).map(p => el('tr', {},
      el('th', { scope: 'row' }, el('bdi', {}, p.label ?? p.token)),
      ...before.length > 0 ? [cell(p.before, before)] : [], cell(p.after, after),
      el('td', { class: 'meter', 'aria-hidden': 'true' }, ...before.length > 0 ? [bar(p.before, 'before')] : [],
        bar(p.after, 'after'))))));
}

// --- More controls ------------------------------------------------------------------------------

// Returns a button for a change, TEXT of VALUE, which removes the change.
const chip = (text, value, label, action) => {
  const node = el('button', { class: 'chip', 'aria-label': t(label, value), 'data-short': value }, t(text, value), ' \u00d7');
  node.addEventListener('click', action);
  return node;
};

function writeControls() {
  const { off, knockouts, steerings, rescales, attention, mask } = asked;
  writePicture();
  for (const name of ['text', 'pair', 'source'])
    if (document.activeElement !== $('live-' + name)) $('live-' + name).value = asked[name] ?? '';
  $('live-second').hidden = asked.pair === null;
  $('live-from').hidden = asked.source === null;
  $('live-called').textContent = t(asked.source === null ? 'Sentence' : 'Translation');
  for (const name of ['aria-label', 'placeholder']) $('live-text').setAttribute(name, $('live-called').textContent);
  $('live-add').hidden = asked.pair !== null || !takesPairs || isPicture;
  $('live-changes').replaceChildren(
    ...Object.entries(off).map(([name, how]) => chip({ zero: 'head {} off', mean: 'head {} to its mean', uniform: 'head {} to equal weights' }[how], name,
      'switch head {} on', () => toggleHead(name))),
    ...knockouts.map(knockout => chip('knockout {}', knockout, 'let them look again: {}', () => toggle(knockout))),
    ...steerings.map(steering => chip('steer {}', steering, 'without {}', () => toggle(steering, 'steerings'))),
    ...rescales.map(factor => chip('factor {}', factor, 'without {}', () => toggle(factor, 'rescales'))),
    ...attention ? [chip('attention {}', attention, 'without {}', () => change({ attention: '' }))] : [], ...mask ? [chip('mask {}', mask, 'without {}', () => change({ mask: '' }))] : []);
  $('live-restore').disabled = !isChanged(asked);
  fitTexts();
}

// Makes the text boxes as high as their texts.
function fitTexts() {
  for (const box of [$('live-text'), $('live-pair'), $('live-source')]) {
    box.style.height = 'auto';
    box.style.height = Math.min(box.scrollHeight + 2, 240) + 'px';
  }
}

// Returns the text box for the input NAME. What is typed is run after a short pause.
function textBox(name, attributes) {
  const box = el('textarea', { id: 'live-' + name, rows: 1, spellcheck: 'false', autocomplete: 'off', ...attributes });
  box.value = asked[name] ?? '';
  box.addEventListener('input', () => {
    typedOver ??= viewer.given.ids;
    asked[name] = box.value;
    fitTexts();
    followSoon();
  });
  return box;
}

async function setPair(pair, box) {
  const done = change({ pair });
  $(box).focus();
  await done;
}

let takesPairs = asked.pair !== null;

// Asks the tokenizer whether the model reads pairs of texts.
async function findPairs() {
  const { code } = await engine.ask(argsOf('tokenize', [], { ...first, text: 'a', pair: 'b' }));
  takesPairs = code === 0;
  writeControls();
}

function makeControls() {
  const option = ([value, name]) => el('option', { value }, name);
  const place = el('section', { id: 'live-controls', 'aria-label': isPicture ? 'Another picture' : 'Another sentence' }, el('div', {},
    makePicture(),
    el('div', { class: 'live-row', id: 'live-from', hidden: '' }, el('label', { for: 'live-source' }, 'Source'),
      textBox('source', { name: 'source', 'aria-label': 'Source', placeholder: 'Source' })),
    el('div', { class: 'live-row', ...isPicture ? { hidden: '' } : {} }, el('label', { for: 'live-text', id: 'live-called' }),
      textBox('text', { name: 'sentence', 'aria-label': 'Sentence' }),
      button('live-add', 'Add a second text', () => setPair('', 'live-pair'), { hidden: '', title: 'The tokenizer puts it after the first, as --pair does' })),
    el('div', { class: 'live-row', id: 'live-second', hidden: '' }, el('label', { for: 'live-pair' }, 'Second'),
      textBox('pair', { name: 'pair', 'aria-label': 'Second text' }),
      button('live-remove', 'Remove', () => setPair(null, 'live-text'), { 'aria-label': 'Remove the second text' })),
    el('p', { id: 'live-tokens', 'aria-label': 'Tokens', ...isPicture ? { hidden: '' } : {} }),
    el('p', { id: 'live-status', role: 'status' }),
    el('div', { class: 'live-row', id: 'live-tools' },
      button('live-knock', 'Knock out cell', () => knockOutCell(),
        { title: 'This query does not look at this key' }),
      el('select', { id: 'live-where', 'aria-label': 'Where a knockout counts' },
        ...[['head', 'in this head'], ['layer', 'in this layer'], ['all', 'in all heads']].map(option)),
      button('live-why', 'Why this cell', whyCell, { title: 'Which parts of the model make this query look at this key. Or press a cell twice', 'aria-haspopup': 'dialog' }),
      el('span', { class: 'group end' }, button('live-command', 'Copy command', copyCommand),
        button('live-files', 'Another model', chooseFiles))),
    el('div', { class: 'live-row', id: 'live-undo' }, el('span', { id: 'live-changes', class: 'group' }),
      button('live-restore', 'Restore all', () => change(noChanges())))),
    el('div', { id: 'live-next' }, el('div', { id: 'live-expected' })));

  $('app').prepend(place);
  $('name').after(el('span', { id: 'live-head', class: 'group' },
    button('live-off', '', () => toggleHead(headHere())),
    el('select', { id: 'live-how', 'aria-label': 'What a head gives that is off' },
      ...[['zero', 'to zero'], ['mean', 'to its mean']].map(option))));
}

// --- A picture ----------------------------------------------------------------------------------

// {name, bytes, note, isKept} by path: a .npy file, and a note to show.
const pictures = new Map();
let nPicture = 0;

// Returns RGB [height, width, 3] as a .npy file.
function npyOf(rgb, height, width) {
  const text = `{'descr': '|u1', 'fortran_order': False, 'shape': (${height}, ${width}, 3), }`;
  const head = new TextEncoder().encode('?NUMPY???\0' + text.padEnd(117) + '\n'), out = new Uint8Array(128 + rgb.length);
  head.set([0x93], 0);
  head.set([1, 0, 118], 6);
  out.set(head);
  out.set(rgb, 128);
  return out;
}

// Reads the picture of the page, and the files that its story needs.
async function readFiles() {
  if (isPicture) pictures.set(first.image, { name: imageName, bytes: npyOf(await viewer.inflate($('live-picture').textContent), live.height, live.width), note: '' });
  for (const [i, [name, height, width]] of live.extras.entries()) {
    const bytes = await viewer.inflate($('live-extra-' + i).textContent);
    pictures.set(name, { name, bytes: height > 0 ? npyOf(bytes, height, width) : bytes, note: '', isKept: true });
  }
}

// Returns the pixels of a file as the tool reads them: rotated as the camera recorded, colors
// unchanged, without alpha. A canvas multiplies by alpha, so the colors of transparent pixels are
// slightly different.
async function decode(file) {
  const bitmap = await createImageBitmap(file, { imageOrientation: 'from-image', colorSpaceConversion: 'none',
    premultiplyAlpha: 'none' });
  const { width, height } = bitmap, canvas = el('canvas', { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height), rgb = new Uint8Array(3 * width * height);
  let isClear = false;
  for (let i = 0, at = 0; i < data.length; i += 4) {
    isClear ||= data[i + 3] < 255;
    rgb[at++] = data[i];
    rgb[at++] = data[i + 1];
    rgb[at++] = data[i + 2];
  }
  bitmap.close();
  return { name: file.name, bytes: npyOf(rgb, height, width), note: isClear ? ', transparent parts have other colors than in a shell' : '' };
}

// Shows a file that the user chose instead of the picture.
async function takePicture(file) {
  if (!file) return;
  const number = ++nPicture, path = `picture-${number}.npy`;
  let made;
  try {
    made = await decode(file);
  } catch {
    say(`'${file.name}' is no picture that this browser reads, expected PNG, JPEG or WebP`, true);
    return;
  }
  if (number !== nPicture) return; // another one was chosen in the meantime
  pictures.set(path, made);
  for (const other of [...pictures.keys()]) if (other !== path && other !== first.image && !pictures.get(other).isKept) pictures.delete(other);
  await change({ image: path });
}

function choosePicture() {
  const input = el('input', { type: 'file', accept: 'image/png,image/jpeg,image/webp', id: 'live-image' });
  input.addEventListener('change', () => {
    $('dialog').close();
    takePicture(input.files[0]).catch(tellOf);
  });
  viewer.openDialog('Another picture', el('p', {}, 'It is read by this page. Nothing leaves this machine.'),
    el('p', {}, el('label', {}, 'A PNG, JPEG or WebP file ', input)));
}

// Shows the picture as the model saw it: PNG is the resized and cropped picture in base64. A run
// whose keys are not patches has none.
function showSeen(png) {
  if (png) $('live-seen').src = 'data:image/png;base64,' + png;
}

function makePicture() {
  if (!isPicture) return '';
  const canTake = event => [...event.dataTransfer.types].includes('Files');
  addEventListener('dragover', event => { if (canTake(event)) event.preventDefault(); });
  addEventListener('drop', event => {
    if (!canTake(event)) return;
    event.preventDefault();
    takePicture(event.dataTransfer.files[0]).catch(tellOf);
  });
  return el('div', {}, el('div', { class: 'live-row' }, el('img', { id: 'live-seen', alt: 'What the model sees' }),
    el('bdi', { id: 'live-name' }), button('live-choose', 'Another picture', choosePicture, { title: 'Or drop one on the page' }),
    button('live-first', 'The first one', () => change({ image: first.image }))),
  el('div', { class: 'live-row', id: 'live-labels', ...hasLabels ? {} : { hidden: '' } }));
}

// Updates the picture and a text box for each label. Existing boxes are reused, so that the one
// with the focus stays.
function writePicture() {
  if (!isPicture) return;
  const place = $('live-labels'), { labels } = asked;
  $('live-name').textContent = (pictures.get(asked.image)?.name ?? imageName).split('/').at(-1);
  $('live-first').hidden = asked.image === first.image;
  if (place.querySelectorAll('input').length !== labels.length || place.childElementCount === 0)
    place.replaceChildren(...labels.map(labelBox), button('live-label', 'Add a label', addLabel));
  place.querySelectorAll('input').forEach((box, i) => {
    if (box !== document.activeElement) box.value = labels[i];
  });
}

function labelBox(_, i) {
  const box = el('input', { class: 'live-input', 'aria-label': 'Label ' + (i + 1), spellcheck: 'false', autocomplete: 'off' });
  box.addEventListener('input', () => {
    asked.labels[i] = box.value;
    followSoon();
  });
  const without = el('button', { 'aria-label': 'Remove label ' + (i + 1) }, '\u00d7');
  without.addEventListener('click', () => change({ labels: asked.labels.filter((text, k) => k !== i) }));
  return el('span', { class: 'group' }, box, without);
}

async function addLabel() {
  const done = change({ labels: [...asked.labels, ''] });
  [...$('live-labels').querySelectorAll('input')].at(-1).focus();
  await done;
}

// --- Heads and cells ----------------------------------------------------------------------------

// Keeps the query of the cell from looking at its key, or lets it look again: in this head, its layer or all heads.
function knockOutCell() {
  const cell = cellHere(), where = { head: '@' + headHere(), layer: '@' + viewer.run.heads[state.h].group + '.*', all: '' }[$('live-where').value];
  if (cell) toggle(cell.q + '>' + cell.k + where);
}

// Returns the chosen cell of the matrix; asks for one if there is none.
function cellHere() {
  const cell = viewer.cell();
  if (cell.k >= 0) return cell;
  say(t('Choose a cell of the matrix first: with a click, or with the arrow keys.'));
  return null;
}

// --- Why a head looks there ---------------------------------------------------------------------

const ALL_PAIRS = '1000000';

// Returns the options that split the score of a head, "2.5", for a query and a key.
const scoreOptions = (head, q, k) => [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(asked),
  ['score', `${q}>${k}@${head.at}`]];

// Returns all pairs of writers of a score, and the command line that prints the largest.
async function askPairs(head, q, k) {
  const options = scoreOptions(head, q, k), { out } = await answerOf('attribute', [...options, ['limit', ALL_PAIRS], ['json', '-']]);
  return { rows: JSON.parse(out).rows, command: commandOf('attribute', options, asked) };
}

// Shows all pairs of a score as the map of a page of `attribute --score`.
async function showPairs(place, head, q, k) {
  const { page } = await answerOf('attribute', [...scoreOptions(head, q, k), ['html', 'page.html']], asked, 'page');
  attnQuestion.show(place, attnPage.tableOf(page));
}

// Returns the picture of a life for the text and the changes WHAT, and the rows that it shows.
async function drawingOf(options, what) {
  const { out, file } = await answerOf('lens', [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ['figure', 'life'], ...options, ['json', '-'], ['svg', 'drawn.svg']], what, 'file');
  // the policy of the page allows no styles of elements; life.css has this one
  return { rows: JSON.parse(out).rows, svg: new TextDecoder().decode(file).replaceAll('style="image-rendering:pixelated"', '') };
}

let answer = null; // {key, found}: the last picture of the parts of an answer, and of what it is

// Returns the options of a question: { at, target, foil }, of which each may be left out.
const questionOptions = ({ at, target, foil }) => [...at === undefined ? [] : [['at', at]], ...target === undefined ? [] : [textOption('target', target)], ...foil === undefined ? [] : [textOption('foil', foil)]];

// Returns the picture of the parts of the answer to QUESTION on the text of WHAT, an SVG.
function drawAnswer(what, width, question = {}) {
  const key = JSON.stringify([what, Math.floor(width), question]);
  if (answer?.key !== key) {
    const found = findAnswer(what, width, question);
    found.catch(() => { if (answer?.key === key) answer = null; });
    answer = { key, found };
  }
  return answer.found;
}

// Returns what the answer to QUESTION loses without each of HEADS.
async function missingOf(what, question, heads) {
  const { out } = await answerOf('ablate', [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ['heads', heads.join()], ['metric', 'logit_diff'], ...questionOptions(question), ['json', '-']], what);
  return Object.fromEntries(JSON.parse(out).rows.filter(row => row.head !== null).map(row => [row.layer + '.' + row.head, -row.change]));
}

async function findAnswer(what, width, question) {
  const style = `figure-width=${Math.floor(0.75 * width)}pt font-size=${width < 480 ? 10.5 : 12}`;
  const { file } = await answerOf('run', [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ...questionOptions(question), ['figure', 'answer'], ['style', style], ['svg', 'drawn.svg']], what, 'file');
  return new DOMParser().parseFromString(new TextDecoder().decode(file), 'image/svg+xml').documentElement;
}

// Returns what the chosen head sees from position QUERY of the text of WHAT, counted from the end, and the next words: tokens
// with their places in the text, the row of weights, the probabilities of all tokens, and the best.
async function seen(what, query) {
  const { out } = await answerOf('run', [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ['heads', headHere()], ['queries', String(query)],
    ['top', '12'], ['sites', 'pattern,logits'], ['json', '-']], what);
  const { tokens, ids, offsets, tensors, predictions } = JSON.parse(out), [logits] = tensors.logits, most = logits.reduce((a, b) => Math.max(a, b)); // 262,144 are too many arguments
  const [row] = Object.entries(tensors).find(([name]) => name.endsWith('pattern'))[1][0], powers = logits.map(x => Math.exp(x - most)), sum = powers.reduce((a, b) => a + b, 0);
  return { tokens, ids, offsets, row, query: query + tokens.length, next: powers.map(x => x / sum), best: predictions.top };
}

// Returns the picture of the chosen head on the sentence of WHAT above and on TEXT below, from position QUERY, counted from the end.
async function drawPair(what, text, query, width) {
  const style = `figure-width=${Math.floor(0.75 * width)}pt font-size=${width < 480 ? 9 : 15}`;
  const answer = await ask([...argsOf('diff', [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ['heads', headHere()], ['queries', String(query)],
    ['figure', 'pair'], ['style', style], ['svg', 'drawn.svg']], what), text], { wanted: 'file' });
  if (answer.code !== 0) throw new Error(messageOf(answer.err));
  return new TextDecoder().decode(answer.file);
}

// Shows in PLACE which parts carry the difference of the last word of the text of WHAT and of TEXT, whose next words are the ANSWERS. A
// press on a head or an edge of it chooses the head on the stage.
async function showCircuit(place, what, text, answers) {
  const options = [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), textOption('clean', what.text), textOption('corrupted', text), ...answers, ['size', '20']];
  const shown = el('div', {}, t('computing') + ' \u2026');
  shown.addEventListener('attn-choose', ({ detail }) => {
    if (detail.isPressed && detail.head !== undefined) viewer.follow({ layer: detail.layer, head: detail.head, stack: detail.stack });
  });
  place.replaceChildren(shown, el('p', { class: 'note' }, el('code', {}, commandOf('circuit', options, { ...what, text: null }))));
  place.scrollIntoView({ block: 'nearest' });
  const { page } = await answerOf('circuit', [...options, ['html', 'page.html']], { ...what, text: null }, 'page');
  attnQuestion.show(shown, attnPage.tableOf(page));
  viewer.lookAt.mark();
}

// Returns the 8,192 tokens that the model finds most likely after position QUERY, or at it for an encoder: [{ id, token }], the most
// likely first.
async function likelyAt(what, query) {
  const { out } = await answerOf('run', [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ['queries', String(query)], ['top', '8192'], ['sites', 'embed'], ['json', '-']], what);
  return JSON.parse(out).predictions.top.map(({ id, token }) => ({ id, token: token ?? '' }));
}

// Returns the embedding of each of IDS. Each is an item of its own: the context may be short.
async function embeddingsOf(what, ids) {
  pictures.set('tokens.jsonl', { name: 'tokens.jsonl', bytes: new TextEncoder().encode(ids.map(id => JSON.stringify({ ids: [id] }) + '\n').join('')), note: '', isKept: true });
  const { out } = await answerOf('run', [['items', 'tokens.jsonl'], ['sites', 'embed'], ['jsonl', '-']], { ...what, text: null, pair: null });
  return out.trim().split('\n').map(line => Object.values(JSON.parse(line).tensors).at(-1)[0]);
}

// Returns TEXT with TOKEN in the place of one, which is given in bytes.
function textWithAt(text, [begin, end], token) {
  const bytes = new TextEncoder().encode(text), decode = (from, to) => new TextDecoder().decode(bytes.slice(from, to));
  return decode(0, begin) + token + decode(end);
}

// Returns the options of a figure of many sentences without each head, of which HEAD has the hue.
const stripOptions = (what, head, heads) => [...effectOptions(what), ...headsOption(heads), ['items', 'like.jsonl'], ['group-by', 'id'], ['figure', 'strip:' + head], ['svg', 'like.svg']];

// Returns that figure for the sentences in the text of a file, JSON Lines.
async function figureOf(what, head, lines, heads) {
  pictures.set('like.jsonl', { name: 'like.jsonl', bytes: new TextEncoder().encode(lines), note: '', isKept: true });
  return (await answerOf('ablate', stripOptions(what, head, heads), { ...what, text: null }, 'file')).file;
}

const life = attnLife({ viewer, t, drawingOf, drawAnswer, missingOf, stored: viewer.lookAt.stored ? { svg: viewer.lookAt.stored, text: first.text } : null, hasModel: () => engine !== null,
  pairWith: nameOf => attnPair({ viewer, t, seen, drawPair, likelyAt, embeddingsOf, textWith: textWithAt, nameOf, showCircuit: (...args) => showCircuit(...args).catch(tellOf) }),
  likeWith: ({ wordsLike, isWord }) => attnLike({ wordsLike, isWord, viewer, t, seen, textWith: textWithAt, without: (what, heads) => withoutHeads(what, {}, heads), stored: live.effects, figureOf, drawStrip, tellOf,
    commandFor: (what, head, heads) => commandOf('ablate', stripOptions(what, head, heads), { ...what, text: null }) }),
  isOff: () => Boolean(asked.off[headHere()]), shown: () => isSame(viewer.given.ids, expected.after.ids) ? expected.changes : null,
  runs: () => [expected.after, expected.before ?? expected.after], toggle, toggleHead, tellOf });

// Returns the options of --explain for a head.
const explainOptions = head => [...kept.filter(([name]) => !/^(layers|heads|sites|merge-words|hide|renormalize)$/.test(name)),
  ...optionsOf(asked), ['heads', head.at], ['explain', '']];

// Returns the arithmetic of the row Q of a head as a page of --explain shows it, and as text.
async function makeArithmetic(head, q, k) {
  const { page } = await answerOf('run', [...explainOptions(head), ['html', 'page.html']], asked, 'page');
  await attnNeurons.show(attnPage.runOf(page), head.at, q, k);
  return [attnNeurons.section];
}
async function makeText(head, q) {
  const options = [...explainOptions(head), ['queries', String(q)]], { out } = await answerOf('run', options);
  return [el('pre', { class: 'live-answer', tabindex: '0' }, out), el('p', { class: 'note' }, el('code', {}, commandOf('run', options, asked)))];
}

const why = attnWhy({ viewer, t, isPicture, askPairs, showMap: (...args) => showPairs(...args).catch(tellOf), makeArithmetic, makeText });
const whyCell = () => why.show(state.h, viewer.cell().q, viewer.cell().k);

function onDrawn() {
  const name = headHere();
  $('live-off').textContent = t(asked.off[name] ? 'Switch head {} on' : 'Switch head {} off', name);
  viewer.run.heads.forEach((head, h) => {
    const node = $('thumb-' + h), name = head.at, isOff = Boolean(asked.off[name]);
    if (!node) return;
    node.classList.toggle('off', isOff);
    if (!node.querySelector('.switch')) {
      const toggle = el('button', { class: 'switch', tabindex: '-1', 'aria-hidden': 'true' });
      toggle.addEventListener('click', event => {
        event.stopPropagation();
        toggleHead(name);
      });
      node.append(toggle);
    }
    node.querySelector('.switch').textContent = isOff ? 'switch on' : 'switch off';
  });
  drawExpected();
  stage?.draw();
  if (stage) guess.draw(false);
}

// --- Keeping ------------------------------------------------------------------------------------

function copyCommand() {
  const command = commandOf('run', [...kept, ...optionsOf(asked), ['html', 'page.html']], asked);
  const box = el('textarea', { readonly: '', rows: 3, id: 'live-line', 'aria-label': 'Command' });
  box.value = command;
  viewer.openDialog('The same in a shell', box,
    el('p', { class: 'note' }, 'The same numbers, to the last bit. --csv, --npz or --json in place of --html give them as tables.'));
  box.select();
  if (navigator.clipboard) navigator.clipboard.writeText(command).catch(() => {});
}

// Returns the parts of the hash in addition to those of the view.
function hashParts() {
  const here = stage?.isOpen() ? ['stage=1', ...life.hashParts(), ...guess.hashParts()] : [];
  if (isSame(asked, first)) return here;
  const texts = isPicture ? hasLabels ? (asked.labels.length > 0 ? asked.labels : ['']).map(text => ['label', text]) : []
    : [['text', asked.text], ...asked.pair === null ? [] : [['pair', asked.pair]], ...asked.source === null ? [] : [['source', asked.source]]];
  const parts = [...texts, ...optionsOf(asked)];
  return [...here, ...(parts.length > 0 ? parts : [['label', '']]).map(([name, value]) => name + '=' + encodeURIComponent(value))];
}

// Returns the input and changes that the hash of the address asks for. Without a text, the text of
// the page; without changes as well, the changes that the page began with. An address cannot
// contain a picture.
function readHash() {
  const parts = [];
  try {
    for (const part of location.hash.replace(/^#/, '').split('&')) {
      const at = part.indexOf('=');
      parts.push([part.slice(0, at), decodeURIComponent(part.slice(at + 1))]);
    }
  } catch {
    return structuredClone(first); // it was cut
  }
  const valuesOf = name => parts.filter(part => part[0] === name).map(part => part[1]);
  const [text] = valuesOf('text'), [pair = null] = valuesOf('pair'), [source = first.source] = valuesOf('source'), labels = valuesOf('label').filter(label => label !== '');
  if (!parts.some(isOf([isPicture ? 'label' : 'text', 'source', ...CHANGED]))) return { ...structuredClone(first), image: asked.image };
  return { text: text ?? (isPicture ? '' : first.text), pair: text === undefined ? first.pair : pair, source, image: asked.image, labels: hasLabels ? labels : [], ...changesOf(valuesOf) };
}

// --- Files --------------------------------------------------------------------------------------

// Saves the patterns as the tool draws them.
async function saveSvg() {
  const { file } = await answerOf('run', [...kept, ...optionsOf(asked), ['svg', 'out.svg']], asked, 'file');
  save(new Blob([file]), live.model.replace(/\.(gguf|json)$/, '') + '.svg');
}
viewer.addToKeep([button('live-svg', 'SVG', saveSvg)]);

// --- Another language ---------------------------------------------------------------------------

const NAMED = ['title', 'aria-label', 'placeholder'];
// translations that were written into a node, which are not translated again
const told = new WeakMap();

// Translates the texts in NODE into the language of the page. Tokens are in <bdi> and not
// translated.
function translate(node) {
  if (node.nodeType === Node.TEXT_NODE) {
    const [, before, text, after] = /^(\s*)(.*?)(\s*)$/s.exec(node.data), found = words[text];
    if (found === undefined || told.get(node) === node.data || node.parentNode?.closest('bdi, script, style, textarea, pre')) return;
    told.set(node, before + found + after);
    node.data = before + found + after;
    return;
  }
  if (node.nodeName === 'SCRIPT') return; // data blocks are long
  for (const name of NAMED) {
    const found = words[node.getAttribute?.(name)];
    if (found !== undefined && !told.get(node)?.includes(found)) {
      told.set(node, [...told.get(node) ?? [], found]);
      node.setAttribute(name, found);
    }
  }
  for (const child of node.childNodes) translate(child);
}

// Translates controls when they appear.
function translateAll() {
  if (!attnPage.given.language) return;
  document.documentElement.lang = words['lang'] ?? '';
  translate(document.body);
  new MutationObserver(records => {
    for (const { target, addedNodes } of records) for (const node of addedNodes.length > 0 ? addedNodes : [target]) translate(node);
  }).observe(document.body, { subtree: true, childList: true, characterData: true, attributeFilter: NAMED });
}

// --- The stage ----------------------------------------------------------------------------------

let stage = null; // stage.js; null for a picture
const N_MORE = 10; // tokens that "Go on" writes
const N_TRANSLATED = 60; // at most, of a translation
const PAUSE = 120; // ms between them

const wantsStage = () => stage !== null && (location.hash.length < 2 || location.hash.slice(1).split('&').includes('stage=1'));

// Returns the text with TOKEN at its end, or instead of an encoder's mask. A translation begins
// without a space.
const textWith = token => viewer.given.predictions.is_in_place ? asked.text.replace(/\[MASK\]|<mask>/, token.trim())
  : asked.source !== null && asked.text === '' ? token.trimStart() : asked.text + token;
const write = token => change({ text: textWith(token) });

const partOfHash = name => location.hash.slice(1).split('&').find(part => part.startsWith(name + '='))?.slice(name.length + 1) ?? null;
const readLife = () => life.read(partOfHash('life'), partOfHash);

// Returns the head that writes most of the answer; undefined where the tool draws none.
async function largestHead(what) {
  try {
    return viewer.headAt(viewer.lookAt.headsOf(await drawAnswer(what, innerWidth))[0]);
  } catch (problem) {
    if (problem instanceof Superseded) throw problem;
    return undefined;
  }
}

// Shows an example, with a head that has something to show there.
async function begin(text) {
  await change({ ...noChanges(), text }, 'h=' + headHere());
  const what = structuredClone(asked), { h } = state, found = await largestHead(what) ?? await firstHead(await effectsOf(what));
  if (isSame(what, asked) && state.h === h) viewer.set({ h: found });
}

// {key, found}: how the next token changes without each head, {"2.5": 0.1457}, KL in nats
let effects = live.effects && { key: JSON.stringify(first), found: Promise.resolve(live.effects) };

// The options of the question how the next token changes without each head, with the changes WHAT.
const effectOptions = what => [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(what), ['metric', 'kl']];

const headsOption = heads => heads ? [['heads', heads]] : [];

// Asks how the next token after the text and the changes WHAT changes without each head, or each of HEADS. Fails with the error of the tool.
async function withoutHeads(what, how, heads) {
  const { code, out, err } = await ask(argsOf('ablate', [...effectOptions(what), ...headsOption(heads), ['json', '-']], what), how);
  if (code !== 0) throw new Error(messageOf(err));
  return Object.fromEntries(JSON.parse(out).rows.filter(row => row.head !== null).map(row => [row.layer + '.' + row.head, row.kl]));
}

// Returns the effects of the heads on the next token after the text and the changes WHAT.
function effectsOf(what) {
  const key = JSON.stringify(what);
  if (effects?.key !== key) {
    // others need not wait for it; where the tool refuses the question there is none
    const found = withoutHeads(what, { isShown: true, canWait: true }).catch(problem => {
      if (problem instanceof Superseded) throw problem;
      return {};
    });
    found.catch(() => { if (effects?.key === key) effects = null; });
    effects = { key, found };
  }
  return effects.found;
}

const NO_EFFECTS = Promise.resolve({});

// The effects for what is shown; null while another run is on its way, or without a model for them. Those of many heads take long: they
// are asked for beside the words alone.
function effectsHere() {
  const isKnown = effects?.key === JSON.stringify(expected.changes);
  if (!isSame(viewer.given.ids, expected.after.ids) || !engine && !isKnown || isPicture || asked.source !== null || !viewer.given.predictions) return null;
  return life.isOfMany() && !isKnown ? NO_EFFECTS : effectsOf(expected.changes);
}

// Returns the head that opens the stage best, by the effects, EFFECTOF (head_mix.h).
async function firstHead(effectOf) {
  const { heads } = viewer.run, aims = await stage.aimsAt(Infinity);
  const ranks = aims && callModule('rank_heads', [heads.length], heads.flatMap(({ at }, h) => [aims[h].look, effectOf[at] ?? NaN]), heads.length);
  return ranks ? ranks.indexOf(Math.max(...ranks)) : state.h; // null: another run is shown
}

// Returns true if the vocabulary has about the words of TEXT, not only its letters.
async function takes(text) {
  const { code, out } = await ask(argsOf('tokenize', [], { ...first, text }));
  return code === 0 && out.split('\n').length - 1 <= 1.5 * text.split(' ').length;
}

let isGoingOn = false;

// Writes the most probable next tokens one by one, as generated by the tool. A second press stops
// it.
async function goOn() {
  if (isGoingOn) {
    isGoingOn = false;
    return;
  }
  const options = [...kept.filter(isOf(INTERVENTIONS)), ...optionsOf(asked), ['tokens', String(asked.source === null ? N_MORE : N_TRANSLATED)], ['json', '-']];
  const { continuation_tokens: tokens } = JSON.parse((await answerOf('generate', options)).out);
  if (tokens.length === 0) say(t('The model ends its text here.'));
  isGoingOn = true;
  for (const token of tokens) {
    if (!isGoingOn || token === null) break;
    const text = textWith(token);
    await write(token);
    if (asked.text !== text) break; // something else was asked for
    await new Promise(done => { setTimeout(done, PAUSE); });
  }
  isGoingOn = false;
}

// Records a node that the stage and the workbench share, its slot on the stage, and a mark of its
// place in the workbench.
function lend(node, slot) {
  const home = document.createComment(slot);
  node.before(home);
  return { node, slot, home };
}

function makeStage() {
  const row = $('live-text').parentNode;
  stage = attnStage({ viewer, asked, t, button, toggleHead, toggleHeads, effectsHere, write, goOn, expectedHere, takes, isIdle: () => Boolean(engine?.isReady && !engine.current),
     begin, life, hasModel: () => engine !== null, openOwn, bytes: live.bytes, model: () => live.model, callModule, covers: guess.covers, tellWhy: (...cell) => why.show(...cell).catch(tellOf),
    lent: [lend($('live-from'), 'stage-text'), lend(row, 'stage-text'), lend($('live-second'), 'stage-text'), lend($('live-undo'), 'stage-chips'), lend($('live-status'), 'stage-undo'),
      lend($('live-story'), 'stage-story')] });
  stage.make();
  life.make();
  guess.make();
  $('live-stage').classList.toggle('told', story.isTold());
}

const guess = attnGuess({ viewer, asked, t, button, expectedHere });

// --- A story ------------------------------------------------------------------------------------

const story = attnStory({ viewer, asked, t, button, change, changesOf, guess, pathOf: name => name === imageName ? first.image : name });

// --- Another model ------------------------------------------------------------------------------

const PARTS = /(^|\/)(config\.json|generation_config\.json|preprocessor_config\.json|special_tokens_map\.json|tokenizer_config\.json|added_tokens\.json|vocab\.json|vocab\.txt|merges\.txt|tokenizer\.json|tokenizer\.model|(source|target)\.spm|target_vocab\.json|spiece\.model|[^/]*\.(safetensors|bin)(\.index\.json)?|[^/]*\.pt|meta\.pkl|[^/]*\.gguf)$/;

// Opens the files of the page's own model: a file, or a folder of them.
function openOwn() {
  const input = el('input', { type: 'file', id: 'stage-input', hidden: '', ...isOneFile() ? {} : { webkitdirectory: '' } });
  $('stage-input')?.remove();
  $('live-stage').append(input);
  input.addEventListener('change', () => takeFiles([...input.files]).catch(tellOf));
  input.click();
}

const isOneFile = () => /\.(gguf|pt|bin)$/.test(live.model);

// Takes the files that are dropped on the page, those of folders too.
function listenToDrops() {
  const canTake = event => [...event.dataTransfer.types].includes('Files');
  const filesOf = entry => new Promise((resolve, reject) => {
    if (entry.isFile) entry.file(file => resolve([file]), reject);
    else entry.createReader().readEntries(list => Promise.all(list.map(filesOf)).then(lists => resolve(lists.flat())), reject);
  });
  addEventListener('dragover', event => { if (canTake(event)) event.preventDefault(); });
  addEventListener('drop', event => {
    if (!canTake(event)) return;
    event.preventDefault();
    Promise.all([...event.dataTransfer.items].map(item => item.webkitGetAsEntry()).filter(Boolean).map(filesOf)).then(lists => takeFiles(lists.flat())).catch(tellOf);
  });
}

function chooseFiles() {
  const input = el('input', { type: 'file', multiple: '', id: 'live-input' });
  const folder = el('input', { type: 'file', webkitdirectory: '', id: 'live-folder' });
  for (const node of [input, folder])
    node.addEventListener('change', () => {
      $('dialog').close();
      takeFiles([...node.files]).catch(tellOf);
    });
  viewer.openDialog('Another model',
    el('p', {}, 'Choose the files of a model as Hugging Face lays them out (config.json, model.safetensors, ' +
      'tokenizer.json or vocab.json and merges.txt), a GGUF file, nanoGPT\'s ckpt.pt with meta.pkl, ' +
      'or llama2.c\'s model.bin with tokenizer.bin. They are read by this page. Nothing leaves this machine.'),
    el('p', {}, el('label', {}, 'A directory ', folder)), el('p', {}, el('label', {}, 'Files ', input)));
}

// Gives the page a source if the model is a translator, and takes it away if not.
async function findSource(files) {
  const text = await files.find(file => file.name === 'config.json')?.text() ?? '{}', { source } = asked;
  const isTranslator = /"is_encoder_decoder":\s*true/.test(text);
  if (isTranslator && source === null) Object.assign(asked, { source: asked.text, text: '' });
  if (!isTranslator && source !== null) Object.assign(asked, { source: null, text: source });
}

// Uses the files that the user chose as the model.
async function takeFiles(chosen) {
  const wanted = chosen.filter(file => PARTS.test(file.name));
  const single = wanted.find(file => file.name.endsWith('.gguf'));
  const checkpoint = !wanted.some(file => file.name === 'config.json') && wanted.find(file => /^(?!tokenizer).*\.(pt|bin)$/.test(file.name));
  const folder = checkpoint ? checkpoint.name : wanted[0]?.webkitRelativePath.split('/').at(-2) || 'model';
  if (wanted.length === 0) return say('Among these files is none of a model, expected config.json or a GGUF file', true);
  const isOwn = live.bytes === (single ? [single] : wanted).reduce((sum, { size }) => sum + size, 0), { text } = asked;
  if (!isOwn) effects = null; // those of another model
  live.model = single ? single.name : folder;
  live.given = live.model;
  kept.length = 0;
  startEngine(single ? [[single.name, single]] : wanted.map(file => [folder + '/' + (file === checkpoint ? 'checkpoint' : file.name), file]));
  Object.assign(asked, noChanges());
  await findSource(wanted);
  await findPairs();
  if (!takesPairs) asked.pair = null;
  Object.assign(first, structuredClone(asked));
  if (isOwn && effects) effects.key = JSON.stringify(asked);
  await follow();
  if (stage && !isOwn && asked.text === text && viewer.given.predictions) await begin(text);
}

// --- Start --------------------------------------------------------------------------------------

function listen() {
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || $('dialog').open) return;
    if (event.target.closest?.('select, input, textarea')) return;
    if (event.key === 'x' && (state.v === 'grid' || stage?.isOpen())) toggleHead(headHere());
    else if (event.key === 'x') knockOutCell();
    else if (event.key === 'y') whyCell().catch(tellOf);
    else if (event.key === 'i' && !isPicture) $('live-text').focus();
    else return;
    event.preventDefault();
  });
  for (const box of [$('live-text'), $('live-pair'), $('live-source')])
    box.addEventListener('keydown', event => {
      if (event.key === 'Escape') event.target.blur();
    });
  addEventListener('hashchange', () => {
    const found = readHash();
    readLife();
    if (stage) guess.read(location.hash);
    if (stage && wantsStage() !== stage.isOpen()) stage.open(wantsStage());
    if (!isSame(found, asked)) change(found, location.hash);
  });
  if (!isPicture) listenToDrops();
  $('stage').addEventListener('dblclick', event => {
    if (viewer.cellAt(event)) whyCell().catch(tellOf);
  });
  // lay out the page for paper before the viewer draws it
  for (const [event, isIt] of [['beforeprint', true], ['afterprint', false]])
    addEventListener(event, () => document.documentElement.classList.toggle('on-paper', isIt), true);
}

// Runs a command line of the tool, for tests and for the console.
globalThis.attnLive = {
  aimsAt: row => stage.aimsAt(row),
  ask: (args, wanted) => engine.ask(args, { wanted }),
  follow: text => change({ text }),
  isReady: () => Boolean(engine?.isReady),
  isDone: () => nShown === nFollowed && !timer && !engine?.current && !engine?.waiting.length,
};

viewer.isReady.then(async () => {
  makeControls();
  viewer.addToHash(hashParts);
  viewer.addKeys([['x', 'knock the cell out; among all heads, switch the head off'], ['y', 'why the head looks at the key of the cell'],
    ...isPicture ? [] : [['i', 'type another sentence']]]);
  viewer.onDrawn(onDrawn);
  listen();
  await readFiles();
  if (live.files.length > 0) startEngine(ownFiles());
  else new Engine([]); // compiles the module
  if (live.files.length === 0) say(NO_MODEL);
  const view = location.hash;
  Object.assign(asked, readHash());
  showTexts(viewer.run);
  if (isPicture) showSeen(attnPage.given.picture?.png);
  story.make(givenStory);
  if (!isPicture) makeStage();
  translateAll();
  readLife();
  if (stage) guess.read(view);
  const opens = wantsStage();
  if (opens) stage.open(true);
  if (!isSame(asked, first)) follow(view); // there are now differences to show
  else if (givenStory) story.tell(0).catch(tellOf);
  else writeControls();
  if (isPicture) viewer.set({}); // it has less space now
  if (engine) plainRun(asked).then(() => stage?.draw(), () => {}); // so that the first answer is as fast as others
  if (engine && !takesPairs && !isPicture && asked.source === null) findPairs().catch(() => {});
  onDrawn();
});
})();
