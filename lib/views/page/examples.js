// examples.js - the texts on which a head looks most strongly, and texts from each part of the
// distribution below them: above the table of a page of examples. The object that it draws is
// described in questions/examples_page.c. A row of the table that is chosen shows its head.
'use strict';
(() => {
const { examples: data, colormaps } = attnPage.given, place = document.getElementById('examples');
if (!data || !place) return;
const { el, svgEl, clamp, isDark, prefersDark, rampsOf, rampBox, opaque, atOf, short, tintByWeight } = attnPage;
const ramps = rampsOf(colormaps);
const nBin = Math.max(...data.examples.map(example => example.bin));
// the head with the largest mean value
const meanOf = head => data.heads[head].values.reduce((a, b) => a + b, 0) / data.heads[head].values.length;
const state = { head: data.examples.map(({ head }) => head).reduce((a, b) => meanOf(b) > meanOf(a) ? b : a) };
const HEIGHT = 150, LEFT = 44, BOTTOM = 34, TOP = 8; // of the distribution, in pixels

const ofHead = () => data.examples.filter(example => example.head === state.head);
const rampOf = () => ramps[isDark() ? 'viridis' : 'blues'];

// --- The distribution ---------------------------------------------------------------------------

// Draws the values of all texts in ascending order, over the bins, and the shown texts as points.
function drawValues() {
  const { values, n } = data.heads[state.head], shown = ofHead(), width = clamp(plot.clientWidth, 280, 736);
  const low = Math.min(0, values[0]), high = Math.max(values.at(-1), low + 1e-9);
  const x = share => LEFT + share * (width - LEFT - 6);
  const y = value => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const bins = [...Array(nBin).keys()].map(i => i + 1), every = attnPage.everyNth((width - LEFT) / nBin, 22);
  const line = values.map((value, i) => (i ? 'L' : 'M') + x(i / (values.length - 1)).toFixed(1) + ' ' + y(value).toFixed(1)).join('');
  // the share of the texts below a shown one
  const shareOf = example => {
    const above = values.findIndex(value => value >= example.value);
    const share = above <= 0 ? 0 : (above - 1 + (example.value - values[above - 1]) / (values[above] - values[above - 1])) / (values.length - 1);
    return clamp(share, (example.bin - 1) / nBin, example.bin / nBin);
  };
  const svg = svgEl('svg', { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: 'img', class: 'e-values', 'aria-label':
    `${n} texts from the smallest to the largest value, ${short(values[0])} to ${short(values.at(-1))}, in ${nBin} bins` },
  ...bins.map(bin => svgEl('rect', { class: bin % 2 ? 'e-odd' : 'e-even', x: x((bin - 1) / nBin), y: TOP,
    width: (width - LEFT - 6) / nBin, height: HEIGHT - TOP - BOTTOM, 'data-bin': bin })),
  ...bins.filter(bin => bin % every === 0 || bin === nBin && nBin < 3).map(bin => svgEl('text', { x: x((bin - 0.5) / nBin),
    y: HEIGHT - BOTTOM + 14, 'text-anchor': 'middle' }, String(bin))),
  svgEl('text', { x: x(0.5), y: HEIGHT - 4, 'text-anchor': 'middle' }, `bins of the ${n} texts, by their value`),
  ...[low, (low + high) / 2, high].map(value => svgEl('text', { x: LEFT - 6, y: y(value) + 4, 'text-anchor': 'end' }, short(value))),
  svgEl('path', { d: line, class: 'e-line' }),
  ...shown.map(example => svgEl('circle', { class: 'e-point', cx: x(shareOf(example)).toFixed(1), cy: y(example.value).toFixed(1), r: 3.2 })));
  svg.addEventListener('click', event => {
    const box = svg.getBoundingClientRect();
    const bin = clamp(Math.ceil(((event.clientX - box.left) / box.width * width - LEFT) / (width - LEFT - 6) * nBin), 1, nBin);
    document.getElementById('bin-' + bin)?.scrollIntoView({ block: 'start' });
  });
  plot.replaceChildren(svg);
}

// --- One example --------------------------------------------------------------------------------

class Example {
  constructor(example) {
    this.example = example;
    this.text = data.texts[example.text];
    this.row = example.query ?? 0;
    this.queries = this.text.tokens.map(token => el('span', { class: 'token' }, token));
    this.keys = example.is_cross ? (this.text.source ?? []).map(token => el('span', { class: 'token' }, token)) : this.queries;
    this.said = el('span', { class: 'e-said', 'aria-live': 'polite' });
    const line = (tokens, attributes) => el('p', { class: 'e-text', ...attributes }, ...tokens);
    const lines = line(this.queries, { tabindex: '0', role: 'group',
      'aria-label': `text ${this.text.id}: ${this.text.tokens.join('')}. Arrow keys choose the token whose weights are shown` });
    this.node = el('li', { class: 'e-example' },
      el('div', { class: 'e-about' }, el('b', {}, short(example.value)), ` text `, el('bdi', {}, this.text.id), ' ', this.said),
      lines, ...(example.is_cross ? [line(this.keys, {})] : []));
    this.queries.forEach((node, i) => {
      node.addEventListener('pointerenter', event => { if (event.pointerType === 'mouse') this.show(i); });
      node.addEventListener('click', () => this.show(i));
    });
    lines.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse') this.show(example.query ?? 0); });
    lines.addEventListener('keydown', event => {
      const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const end = { Home: 0, End: this.queries.length - 1 }[event.key];
      if (way === undefined && end === undefined) return;
      event.preventDefault();
      this.show(end ?? clamp(this.row + way, 0, this.queries.length - 1), true);
    });
    this.show(this.row);
  }

  // Colors the keys by the weights of row QUERY.
  show(query, isSaid = false) {
    const { example } = this, row = example.rows[query] ?? [], weights = new Map();
    this.row = query;
    this.queries.forEach((node, i) => node.classList.toggle('from', i === query));
    let best = -1;
    for (let i = 0; i < row.length; i += 2) {
      weights.set(row[i], row[i + 1] / 1000);
      if (best < 0 || row[i + 1] > row[best + 1]) best = i;
    }
    this.keys.forEach((node, i) => tintByWeight(node, rampOf(), weights.get(i)));
    const isMarked = query === example.query, key = isMarked ? example.key : row[best];
    const weight = isMarked ? example.weight : weights.get(key);
    const quoted = (node, i) => [el('bdi', { class: 'e-token' }, node?.textContent ?? ''), ' ' + i];
    this.said.setAttribute('aria-live', isSaid ? 'polite' : 'off');
    this.said.replaceChildren(...(key === undefined ? [] : [...quoted(this.queries[query], query), ' looks at ',
      ...quoted(this.keys[key], key), ' with ' + weight.toFixed(3)]));
  }
}

// --- The page -----------------------------------------------------------------------------------

const heads = el('select', { 'aria-label': 'Head' }, ...data.heads.map((head, i) => el('option', { value: i }, atOf(head).replace(':', ' '))));
const step1 = (way, words, sign) => {
  const button = el('button', { 'aria-label': words }, sign);
  button.addEventListener('click', () => choose((state.head + way + data.heads.length) % data.heads.length));
  return button;
};
const plot = el('div', { class: 'e-plot' }), list = el('div', { class: 'e-bins' }), legend = el('div', { class: 'e-legend' });
let shown = [];

function choose(head) {
  state.head = head;
  heads.value = head;
  draw();
}

function drawLegend() {
  const box = rampBox('e-ramp', opaque(rampOf()), [[0, '0'], [0.5, '0.25'], [1, '1']]);
  legend.replaceChildren(el('span', {}, 'weight of the outlined token on each'), box,
    el('span', {}, 'weights below 0.005 are not shown'));
}

function draw() {
  const examples = ofHead(), bins = [...new Set(examples.map(example => example.bin))].sort((a, b) => b - a);
  drawValues();
  drawLegend();
  shown = examples.map(example => new Example(example));
  list.replaceChildren(...bins.map(bin => {
    const those = shown.filter(({ example }) => example.bin === bin).sort((a, b) => a.example.place - b.example.place);
    return el('section', { class: 'e-bin', id: 'bin-' + bin, 'aria-label': 'bin ' + bin },
      el('h2', {}, `Bin ${bin}${bin === nBin ? ', the largest values' : bin === 1 ? ', the smallest values' : ''}`),
      el('ol', {}, ...those.map(({ node }) => node)));
  }));
}

heads.addEventListener('change', () => choose(Number(heads.value)));
place.hidden = false;
place.setAttribute('aria-label', 'Examples');
place.replaceChildren(el('div', { class: 'bar' }, el('div', { class: 'group' }, ...(data.heads.length > 1 ? [step1(-1, 'Previous head', '\u25c0')] : []),
  el('label', {}, 'Head ', heads), ...(data.heads.length > 1 ? [step1(1, 'Next head', '\u25b6')] : [])),
el('span', { class: 'note' }, data.over === 'mean' ? `value: ${data.measure}, mean over the tokens of a text`
  : data.measure === 'weight' ? 'value: the largest weight, without parks and tokens on themselves'
    : `value: ${data.measure}, of the token with the largest`)),
plot, legend, list);
choose(state.head);
document.getElementById('question').addEventListener('attn-choose', ({ detail }) => {
  const head = data.heads.findIndex(of => atOf(of) === atOf(detail));
  if (head >= 0 && head !== state.head) choose(head);
});
prefersDark.addEventListener('change', draw);
addEventListener('resize', drawValues);
new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
})();
