// plates.js - the figure of the heads that write most of the next word, whose plates choose heads. A page opens with it, a live one if it has many heads.
'use strict';
globalThis.attnPlates = ({ $, el, on, inflate, draw, state, set, byName, nameOf }) => {
// The figure that came with the page; or null.
const stored = $('answer-svg') && inflate($('answer-svg').textContent).then(bytes => {
  const end = '</svg>\n', drawn = new TextDecoder().decode(bytes).split(end); // for a wide window, and for a telephone
  return new DOMParser().parseFromString(drawn[innerWidth < 600 ? 1 : 0] + end, 'image/svg+xml').documentElement;
});

// Returns what the figure SVG says, the first sentence of its caption.
const titleOf = svg => /Caption: (.*?[^ ])\. /s.exec(svg.querySelector('desc')?.textContent ?? '')?.[1] ?? '';

// Makes the plates of the figure SVG, which is on the page, buttons that choose their heads. Returns them.
function make(svg) {
  return attnPage.platesOf(svg).map(({ mark, texts, frame }) => {
    const at = mark.slice(1).split('.', 2).join('.'), plate = frame.cloneNode();
    for (const pair of Object.entries({ class: 'plate', role: 'button', tabindex: 0, 'data-head': at, 'aria-label': texts.map(text => text.textContent).join(', ') })) plate.setAttribute(...pair);
    const choose = () => byName.has(at) && set({ h: byName.get(at) });
    on(plate, 'click', choose);
    on(plate, 'keydown', event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(); } });
    svg.append(plate);
    return plate;
  });
}

// Marks the plate of the chosen head.
function mark() {
  for (const plate of document.querySelectorAll('.plate')) {
    const isChosen = plate.dataset.head === nameOf(state.h);
    plate.classList.toggle('near', isChosen);
    plate.setAttribute('aria-pressed', String(isChosen));
  }
}

// Shows the figure in the place of all heads, which a button brings back.
async function open(nHead) {
  const svg = document.importNode(await stored, true), title = titleOf(svg), place = $('heads');
  svg.setAttribute('role', 'group');
  svg.setAttribute('aria-label', title);
  const tab = (text, isEight) => {
    const node = el('button', { type: 'button', 'aria-pressed': String(isEight) }, text);
    on(node, 'click', () => {
      place.classList.toggle('eight', isEight);
      for (const other of node.parentNode.children) other.setAttribute('aria-pressed', String(other === node));
      draw();
    });
    return node;
  };
  const tabs = el('div', { class: 'tabs', role: 'group', 'aria-label': 'Heads' });
  place.prepend(el('div', { id: 'answer-tabs' }, tabs), el('div', { id: 'answer' }, el('h2', {}, title), svg));
  place.classList.add('eight');
  $('app').hidden = false; // for the sizes of texts
  $('panes').dataset.view = 'grid';
  const { length } = make(svg);
  tabs.append(tab(`${length} heads`, true), tab(length < nHead ? `all ${nHead}` : 'weights', false));
}

return { stored, titleOf, make, mark, open };
};
