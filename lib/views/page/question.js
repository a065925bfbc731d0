// question.js - shows the table of a question as a map and as a table, which are linked. Both
// are drawn from one object, which page_internal.h describes:
//
//     attnQuestion.show(container, data);
//
// Again with other data it draws that instead: what the reader chose stays where it still means
// something, and no listener of the first time is left. A row that is chosen is told to the
// container as an event, 'attn-choose', whose detail is {stack, layer, head, position, key}
// as far as the row has them; other is {stack, layer, head} of a pair;
// attnQuestion.mark(container, place) marks a head that was chosen elsewhere: { stack, layer,
// head }.
'use strict';
const attnQuestion = (() => {
// Roles of the columns whose values a cell's name contains.
const NAMED = ['layer', 'head', 'kv_head', 'position', 'key', 'query', 'number', 'other_number',
  'other_layer', 'other_head'];
const FIRST_ROWS = 100, MOST_TIP = 10, PAPER = 700; // pixels across a printed page

const { el, clamp, prefersDark, isDark, hex, swatch, written, rampBox, opaque, save, csvField, atOf, tint, nameOfToken } = attnPage;
const shown = new WeakMap(); // the view of each container
let nView = 0;

// --- Numbers ------------------------------------------------------------------------------------

const numberOf = value => typeof value === 'boolean' ? Number(value)
  : typeof value === 'number' ? value : NaN;

// Returns the name of line I of a map: "layer 2", "position 3 cat", "mlp".
const lineName = ({ title, positions, texts, n_main: nMain }, i) => [positions || i < nMain ? (title ?? '').split(':')[0] : '', positions?.[i] ?? '',
  (texts?.[i] ?? '').replace(/^ +/, '')].filter(text => text !== '').join(' ');

// Returns the label of line I of a map.
const lineLabel = ({ positions, texts }, i) => ({ position: positions?.[i] ?? '', text: nameOfToken(texts?.[i] ?? '') });

// Returns a number with DIGITS decimals, or by its magnitude if these are too few; without DIGITS as it is.
function plain(x, digits) {
  const size = Math.abs(x), text = digits === undefined || size === 0 ? String(size)
    : size < 0.5 * 10 ** -digits || size >= 1e5 ? size.toExponential(1).replace(/([+-])(\d)$/, '$10$2') : size.toFixed(digits);
  return (x < 0 ? '\u2212' : '') + text;
}

// --- One container ------------------------------------------------------------------------------

class View {
  constructor(container, data, kept) {
    this.container = container;
    this.data = data;
    this.id = 'x' + ++nView;
    this.controller = new AbortController();
    this.isAlone = container.classList.contains('alone');
    this.columns = data.columns;
    this.at = new Map(data.columns.map((column, i) => [column.name, i]));
    // index of the first column of each role
    this.of = new Map(data.columns.map((column, i) => [column.role, i]).reverse());
    this.ramps = attnPage.rampsOf(data.colormaps);
    this.readGroups();
    this.drawn = this.columns.filter((column, i) => i >= data.n_label && !column.role &&
      ['integer', 'real', 'boolean'].includes(column.type) && data.rows.some(row => row[i] !== null))
      .map(column => column.name);
    this.usualSort = data.map.is_ranked && this.drawn.includes(data.value) ? data.value : '';
    this.state = { value: data.value, sort: this.usualSort, way: 'size', find: '', row: -1, group: 0, isLong: false,
      ...(kept || {}) };
    if (!this.drawn.includes(this.state.value)) this.state.value = this.drawn[0] ?? data.value;
    if (!this.at.has(this.state.sort)) this.state.sort = '';
    if (this.state.row >= data.rows.length) this.state.row = -1;
    if (this.state.group >= this.groups.length) this.state.group = 0;
    this.readCells();
  }

  value(row, name) { return this.data.rows[row]?.[this.at.get(name)] ?? null; }

  valueOf(row, role) { return this.data.rows[row]?.[this.of.get(role)] ?? null; }

  // Returns the head of ROW: the columns of its layer and head, and its stack, in the column before, if there are two stacks; of
  // an edge the head that writes it.
  headOf(row) {
    const writer = /^(\d+)\.(\d+)$/.exec(this.valueOf(row, 'writer') ?? '');
    if (writer) return { layer: Number(writer[1]), head: Number(writer[2]) };
    const [layer, head] = ['layer', 'head'].map(role => this.valueOf(row, role) ?? undefined), at = this.of.get('layer') - 1;
    return { stack: this.data.columns[at]?.role === 'stack' ? this.data.rows[row][at] ?? undefined : undefined, layer, head };
  }

  listen(node, type, action, options) {
    node.addEventListener(type, action, { signal: this.controller.signal, ...options });
  }

  // --- What is where

  // Finds the groups: the values of the columns that name a group, in order of appearance.
  readGroups() {
    const { rows, n_label } = this.data, names = new Map();
    this.groupOf = rows.map(row => {
      const name = row.slice(0, n_label).map(value => value ?? '').join(', ');
      if (!names.has(name)) names.set(name, names.size);
      return names.get(name);
    });
    this.groups = [...names.keys()];
    // if each row is a group of its own, the groups are what is compared, and shown together
    if (this.data.map.kind !== 'grid' || this.groups.length > rows.length / 2) {
      this.groups = [''];
      this.groupOf = rows.map(() => 0);
    }
  }

  // Finds the rows of the table that belong to each cell of the shown group.
  readCells() {
    const { map } = this.data;
    this.cells = new Map();
    this.nRow = map.rows?.n ?? 0;
    this.nColumn = map.columns?.n ?? 0;
    if (map.at === null) return;
    for (let i = 0; i < this.data.rows.length; i++) {
      if (this.groupOf[i] !== this.state.group) continue;
      const r = map.at[2 * i], c = map.at[2 * i + 1];
      if (r < 0) continue;
      for (const at of map.is_pairs && r !== c ? [[r, c], [c, r]] : [[r, c]]) {
        const key = at[0] * this.nColumn + at[1], found = this.cells.get(key);
        if (found) found.push(i); else this.cells.set(key, [i]);
      }
    }
  }

  rowsAt(r, c) { return this.cells.get(r * this.nColumn + c) || []; }

  // Returns the row of a cell whose drawn number is not missing; otherwise its first row, or -1.
  rowAt(r, c) {
    const rows = this.rowsAt(r, c);
    return rows.find(row => this.value(row, this.state.value) !== null) ?? rows[0] ?? -1;
  }

  numberAt(r, c) {
    const row = this.rowAt(r, c);
    if (row >= 0) return numberOf(this.value(row, this.state.value));
    return this.data.map.is_pairs && r === c ? 0 : NaN;
  }

  cellOf(row) {
    const { at } = this.data.map;
    return row >= 0 && at && at[2 * row] >= 0 ? [at[2 * row], at[2 * row + 1]] : null;
  }

  column(name) { return this.columns[this.at.get(name)]; }

  // Returns the text of column I in ROW, as the tool prints it.
  textOf(row, i) {
    const value = this.data.rows[row][i];
    return typeof value === 'number' ? plain(value, this.columns[i].digits) : typeof value === 'boolean' ? value ? 'yes' : 'no' : value ?? '\u2013';
  }

  shownText(row) { return this.textOf(row, this.at.get(this.state.value)); }

  // Returns the name of a cell: "layer 2, head 5", "3.0 and 3.6", "layer 2, position 3 cat".
  cellName(r, c) {
    const { rows, columns, is_pairs, kind } = this.data.map, text = columns.texts?.[c], position = this.valueOf(this.rowAt(r, c), 'position');
    if (kind === 'tokens') return (position === null ? '' : 'position ' + position + ' ') + nameOfToken(text);
    return [rows && lineName(rows, r), lineName(columns, c)].filter(Boolean).join(is_pairs ? ' and ' : ', ');
  }

  // Returns the name of a row: that of its cell, otherwise "2.5, query 6, key 3 cat", "mlp", "row 7".
  rowName(row) {
    const at = this.cellOf(row), part = (role, before) => [null, undefined].includes(this.valueOf(row, role)) ? '' : before + String(this.valueOf(row, role)).replace(/^ (?=.)/, '');
    if (at) return this.cellName(...at);
    if (part('query', '')) return part('layer', part('head', '') ? '' : 'MLP ') + part('head', '.') + part('query', ', query ') + part('key', ', key ') + part('token', ' ');
    return ['part', 'set', 'token'].map(role => part(role, '')).concat(this.data.rows[row].slice(0, this.data.n_label)).find(text => text !== '' && text !== null) ?? 'row ' + row;
  }

  // --- Colors

  prepareColors() {
    const { scale } = this.column(this.state.value), { colormap: asked } = this.data;
    this.step = attnPage.stepper(scale.curve, [scale.low, scale.high]);
    this.ramp = this.ramps[scale.is_signed ? (isDark() ? 'diverging-dark' : 'diverging')
      : asked && !asked.startsWith('diverging') ? asked : isDark() ? 'viridis' : 'blues'];
    this.nothing = this.data.nothing.masked[isDark() ? 'dark' : 'light'];
  }

  color(x) { return hex(this.ramp, this.step(x)); }

  // --- The page

  make() {
    const { container, data } = this;
    container.hidden = false;
    container.setAttribute('aria-label', 'Question');
    this.bar = el('div', { class: 'x-bar group' });
    this.figure = el('div', { class: 'x-figure' });
    this.rows = el('div', { class: 'x-rows' });
    this.tip = el('div', { class: 'x-tip', role: 'tooltip', id: this.id + '-tip', hidden: '' });
    this.said = el('p', { class: 'unseen', 'aria-live': 'polite' });
    this.dialog = el('dialog', { 'aria-labelledby': this.id + '-title' });
    this.makeBar();
    this.makeFigure();
    this.makeTable();
    const hasLines = this.parts.length > 0 && data.figure; // of a live page, which makes it as wide as it is
    const body = el('div', { class: 'x-body' + (data.map.cell || hasLines ? ' is-wide' : '') }, this.figure, this.rows);
    container.replaceChildren(...hasLines && innerWidth <= 700 ? [body, this.bar] : [this.bar, body], this.tip, this.said, this.dialog);
    if (this.container.id === 'question') // the question of the page, next to the viewer
      document.body.classList.toggle('beside', !this.isAlone && (this.parts.length > 0 ||
        this.isNarrow() && data.map.kind === 'grid' && !data.map.cell));
    this.listen(window, 'resize', () => this.draw());
    this.listen(prefersDark, 'change', () => this.draw());
    this.listen(window, 'beforeprint', () => this.print(true));
    this.listen(window, 'afterprint', () => this.print(false));
    this.listen(this.isAlone ? document : container, 'keydown', event => this.onKey(event));
    this.draw();
  }

  isNarrow() { return this.nColumn <= 34; }

  print(isOn) {
    const root = document.documentElement;
    if (isOn) this.themeBefore = root.dataset.theme;
    if (isOn) root.dataset.theme = 'light';
    else if (this.themeBefore) root.dataset.theme = this.themeBefore;
    else delete root.dataset.theme;
    this.draw();
    this.fitPaper(isOn);
  }

  // Leaves out the last columns of the table that have no room on paper, and names them.
  fitPaper(isOn) {
    const { style } = this.body.parentNode, show = (at, isShown) => [this.heads[at], ...[...this.body.rows].map(row => row.cells[at])].forEach(cell => { cell.hidden = !isShown; });
    this.heads.forEach((_, at) => show(at, true));
    style.minWidth = 0;
    const widths = this.heads.map(head => head.offsetWidth), isKept = at => [this.state.value, this.state.sort].includes(this.listed[at].column.name);
    style.minWidth = '';
    let room = widths.reduce((left, width, at) => left - (isKept(at) ? width : 0), PAPER);
    const out = isOn ? this.listed.filter((_, at) => !isKept(at) && (room -= widths[at]) < 0) : [];
    for (const one of out) show(this.listed.indexOf(one), false);
    this.left.hidden = out.length === 0;
    this.left.textContent = 'without ' + out.map(({ column }) => column.name).join(', ');
  }

  button(text, action, attributes) {
    const node = el('button', attributes || {}, text);
    this.listen(node, 'click', action);
    return node;
  }

  makeBar() {
    const option = (value, text) => el('option', { value }, text);
    const wordsOf = name => this.column(name).title ?? name;
    this.show = el('select', { class: 'x-show' }, ...this.drawn.map(name => option(name, wordsOf(name))));
    this.listen(this.show, 'change', () => this.set({ value: this.show.value }));
    this.group = el('select', { class: 'x-group' }, ...this.groups.map((name, i) => option(i, name)));
    this.listen(this.group, 'change', () => this.set({ group: Number(this.group.value) }));
    // the page has one search box
    const shared = this.isAlone ? null : document.getElementById('find');
    this.find = shared ?? el('input', { type: 'search', class: 'x-find', placeholder: 'Find token, head',
      'aria-label': 'Find rows by a token, a head or a name' });
    this.find.value = this.state.find;
    this.listen(this.find, 'input', () => this.set({ find: this.find.value }));
    this.listen(this.find, 'keydown', event => {
      if (event.key === 'Enter') { event.preventDefault(); this.seekNext(); }
      if (event.key === 'Escape') { this.find.value = ''; this.set({ find: '' }); this.find.blur(); }
      if (!shared) event.stopPropagation();
    });
    this.note = el('output', { class: 'x-note', 'aria-live': 'polite' });
    const labels = this.columns.slice(0, this.data.n_label).map(c => c.name).join(', ');
    this.bar.append(
      ...(this.drawn.length > 1 ? [el('label', {}, 'Show ', this.show)] : []),
      ...(this.groups.length > 1 ? [el('label', {}, labels + ' ', this.group)] : []),
      el('div', { class: 'group' }, ...(!shared ? [this.find] : this.container.id === 'question'
        ? [shared.parentNode] : []), this.note),
      el('div', { class: 'group end' },
        ...(this.isAlone ? [this.button('Dark', () => this.turnDark(), { class: 'x-dark' })] : []),
        this.button(this.isAlone ? 'Save' : 'Save table', () => this.openSave(),
          { class: 'x-save', 'aria-haspopup': 'dialog' }),
        ...(this.isAlone ? [this.button('Shortcuts', () => this.openKeys(),
          { class: 'x-keys', 'aria-haspopup': 'dialog' })] : [])));
  }

  makeFigure() {
    const { map } = this.data;
    this.legend = el('div', { class: 'x-legend' });
    this.figure.replaceChildren();
    [this.parts, this.headParts, this.spans] = [[], [], []];
    if (map.kind === 'figure') {
      const svg = this.plot ??= this.data.figure ? new DOMParser().parseFromString(this.data.figure, 'image/svg+xml')
        .documentElement : document.querySelector('#static > svg');
      if (!svg) return;
      this.makeParts(svg);
      const hasParts = this.parts.length > 0;
      this.figure.append(el('div', hasParts ? { class: 'x-plot has-parts', tabindex: '0', role: 'group', 'aria-label':
        (this.data.title ?? 'Figure') + ': arrow keys choose a line' + (this.headParts.length > 0 ? ', up and down a head' : '') + ', Enter presses it' } : { class: 'x-plot' }, svg));
      return;
    }
    if (map.kind === 'tokens') this.makeTokens(); else this.makeMap();
    if (map.kind === 'grid') this.makeSteps();
    this.figure.append(this.legend);
  }

  // Makes the parts of a figure that stand for rows of the table (data-i="3") show their numbers and
  // select their row. Above each lies a wider invisible part, which is easier to hit.
  makeParts(svg) {
    const near = document.createElementNS(svg.namespaceURI, 'g');
    svg.querySelector('.x-near')?.remove();
    this.parts = [...svg.querySelectorAll('[data-i]')].filter(part => /^\d+$/.test(part.dataset.i));
    const widen = part => {
      const wide = part.cloneNode(true);
      wide.removeAttribute('data-i');
      for (const [name, value] of [['stroke', '#000'], ['stroke-width', 14], ['opacity', 0]]) wide.setAttribute(name, value);
      near.append(wide);
      return wide;
    };
    for (const part of this.parts) {
      const row = Number(part.dataset.i), wide = widen(part);
      this.listen(wide, 'pointerenter', () => { this.light(row); this.announce(row, false); });
      this.listen(wide, 'pointermove', event => this.tell([row], this.rowName(row), event.clientX, event.clientY));
      this.listen(wide, 'pointerleave', () => { this.light(this.state.row); this.hideTip(); });
      this.listen(wide, 'click', () => this.choose(row, true, wide));
    }
    // heads of a circuit: layer, head, position, key head
    this.headParts = attnPage.platesOf(svg).map(({ mark, frame }) => {
      const [layer, head, position, kvHead] = mark.slice(1).split('.').map(Number), plate = frame.cloneNode();
      const names = [layer + '.' + head, `${layer}.${head}.q`, `${layer}.${kvHead}.k`, `${layer}.${kvHead}.v`];
      const has = row => ['writer', 'reader'].some(role => names.includes(this.valueOf(row, role))), hasPart = ({ dataset }) => has(Number(dataset.i));
      const press = () => this.container.dispatchEvent(new CustomEvent('attn-choose',
        { bubbles: true, detail: { isPressed: true, layer, head, ...position < 0 ? {} : { position } } }));
      for (const pair of [['class', 'plate'], ['data-head', names[0]]]) plate.setAttribute(...pair);
      near.append(plate);
      this.listen(plate, 'pointerenter', () => this.light(-1, hasPart));
      this.listen(plate, 'pointerleave', () => this.light(this.state.row));
      this.listen(plate, 'click', press);
      return { name: names[0], place: { layer, head }, frame, has, hasPart, press };
    });
    near.setAttribute('class', 'x-near');
    svg.append(near);
  }

  // Fades all parts except for those of ROW.
  light(row, isOf = part => Number(part.dataset.i) === row) {
    const isFound = this.parts.some(isOf);
    for (const part of this.parts) part.style.opacity = isFound && !isOf(part) ? 0.2 : '';
  }

  draw() {
    this.figure.classList.toggle('is-dark', isDark());
    this.light(this.state.row);
    this.show.value = this.state.value;
    this.group.value = this.state.group;
    this.prepareColors();
    if (this.data.map.kind === 'grid') this.drawMap();
    this.drawTokens();
    if (this.data.map.kind !== 'figure') this.drawLegend();
    this.drawTable();
    this.bar.querySelector('.x-dark')?.setAttribute('aria-pressed', String(isDark()));
    if (this.isAlone) {
      this.writeHash();
      document.documentElement.dataset.ready = 'question';
    }
  }

  set(changes) {
    Object.assign(this.state, changes);
    if ('group' in changes) this.readCells();
    this.draw();
  }

  // --- Finding

  words(row) {
    this.texts ??= [];
    return this.texts[row] ??= this.columns.map((column, i) => column.type === 'text' && column.role !== 'row_type'
      ? this.data.rows[row][i] ?? '' : '').concat(this.rowName(row)).join('\n').toLowerCase();
  }

  isFound(row) {
    const text = this.state.find.trim();
    if (!text) return true;
    const head = /^\D*(\d+)\D+(\d+)$/.exec(text), stack = /encoder|decoder|cross/i.exec(text)?.[0].toLowerCase() ?? '';
    if (head && this.of.has('head')) {
      const is = (layer, of) => this.valueOf(row, layer) === Number(head[1]) &&
        this.valueOf(row, of) === Number(head[2]) && (!stack || this.stackOf(row, layer) === stack);
      return is('layer', 'head') || is('other_layer', 'other_head');
    }
    return this.words(row).includes(this.state.find.toLowerCase());
  }

  seekNext() {
    const order = this.order.filter(row => this.cellOf(row) !== null);
    if (order.length === 0) return;
    this.choose(order[(order.indexOf(this.state.row) + 1) % order.length]);
  }

  // --- Choosing

  choose(row, isPressed = false, part = null) {
    if (row < 0) return;
    this.set({ row, ...(this.groupOf[row] === this.state.group ? {} : { group: this.groupOf[row] }) });
    this.reveal(row);
    this.said.textContent = this.rowName(row) + ': ' + this.state.value + ' ' + this.shownText(row);
    this.announce(row, isPressed, part);
  }

  // Returns the head that reads the edge ROW; if several do, the one to whose plate the line PART leads.
  readerOf(row, part) {
    const end = part?.getPointAtLength?.(1e9) ?? { x: 0, y: 0 }, middle = (frame, from, size) => frame[from].baseVal.value + frame[size].baseVal.value / 2;
    const farOf = ({ frame }) => Math.hypot(middle(frame, 'x', 'width') - end.x, middle(frame, 'y', 'height') - end.y);
    return this.headParts.filter(({ has }) => has(row)).sort((a, b) => farOf(a) - farOf(b))[0]?.place;
  }

  // Makes the page show the head and position of ROW: of an edge the head that writes it, or else one that reads it. The row was
  // chosen, or PART of the figure that stands for it was pressed (IS_PRESSED) or is under the pointer.
  announce(row, isPressed, part) {
    const place = role => typeof this.valueOf(row, role) === 'number' ? this.valueOf(row, role) : undefined, own = this.headOf(row);
    this.container.dispatchEvent(new CustomEvent('attn-choose', { bubbles: true, detail: { isPressed,
      ...own.head === undefined ? this.readerOf(row, part) : own,
      position: place('position') ?? place('query'), key: place('key') } }));
  }

  // Marks a head that was chosen elsewhere on the page.
  mark(place) {
    const is = row => atOf(this.headOf(row)) === atOf(place);
    if (!this.of.has('head') || this.data.map.is_pairs || this.parts.length > 0 || (this.state.row >= 0 && is(this.state.row))) return;
    const row = this.data.rows.findIndex((_, i) => is(i) && this.groupOf[i] === this.state.group);
    if (row < 0 || this.state.row === row) return;
    this.state.row = row;
    this.draw();
  }

  // --- The tooltip

  tipTable(rows) {
    const isOne = rows.length === 1;
    const shownColumns = this.columns.map((column, i) => ({ column, i })).filter(({ column, i }) =>
      column.role !== 'row_type' && rows.some(row => this.data.rows[row][i] !== null) && (isOne ? !NAMED.includes(column.role)
        : rows.some(row => this.data.rows[row][i] !== this.data.rows[rows[0]][i])));
    const cell = (row, { column, i }) => {
      const value = this.data.rows[row][i], isText = column.type === 'text';
      return el('td', { class: isText ? 'is-text' : column.name === this.state.value ? 'is-shown' : '' },
        isText ? el('bdi', {}, value ?? '\u2013') : this.textOf(row, i));
    };
    if (isOne)
      return el('table', {}, ...shownColumns.map(x => el('tr', {},
        el('th', { class: x.column.name === this.state.value ? 'is-shown' : '' }, x.column.heading), cell(rows[0], x))));
    return el('table', {}, el('tr', {}, ...shownColumns.map(x => el('th', {}, x.column.name))),
      ...rows.slice(0, MOST_TIP).map(row => el('tr', {}, ...shownColumns.map(x => cell(row, x)))));
  }

  showTip(r, c, x, y) {
    const rows = this.rowsAt(r, c);
    return rows.length === 0 ? this.hideTip() : this.tell(rows, this.cellName(r, c), x, y);
  }

  // Shows the numbers of ROWS next to a point. NAME is the name of the cell.
  tell(rows, name, x, y) {
    const key = rows + ',' + this.state.value;
    if (this.tipKey !== key || this.tip.hidden) {
      this.tip.replaceChildren(el('b', {}, el('bdi', {}, name)), this.tipTable(rows));
      this.tipKey = key;
      this.tip.hidden = false;
    }
    const { width, height } = this.tip.getBoundingClientRect();
    this.tip.style.left = clamp(x + 14, 4, Math.max(4, innerWidth - width - 4)) + 'px';
    this.tip.style.top = (y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18) + 'px';
  }

  hideTip() { this.tip.hidden = true; }

  // --- The map

  makeMap() {
    const { title } = this.data;
    this.map = new AttnMap('x-map', this.controller.signal);
    const { node, frame, active } = this.map;
    active.id = this.id + '-cell';
    node.setAttribute('aria-label', (title ?? 'Map') + ': arrow keys move, the table has the numbers');
    node.setAttribute('aria-activedescendant', active.id);
    this.figure.append(node);
    this.listen(node, 'scroll', () => this.point(null));
    this.listen(frame, 'pointermove', event => this.point(event));
    this.listen(frame, 'pointerleave', () => this.point(null));
    this.listen(frame, 'click', event => {
      const at = this.map.at(event);
      if (!at) return;
      this.choose(this.rowAt(...at));
      this.point(event);
    });
  }

  // Returns the cells of the map.
  cellsOf() {
    const { map } = this.data, { value, group, find } = this.state, { cell, is_share: isShare } = this.column(value), form = isShare ? { factor: 100, digits: [0] } : { digits: [cell] };
    const axis = axis => ({ ...axis, label: i => lineLabel(axis, i) });
    return { rows: axis(map.rows), columns: axis(map.columns), ramp: this.ramp, nothing: { masked: this.nothing },
      key: [value, group, isDark()].join('\n'), value: (r, c) => this.numberAt(r, c), step: () => this.step,
      kind: (r, c) => c >= (map.columns.n_main || Infinity) && this.rowsAt(r, c).length === 0 ? null : 'masked',
      isText: map.cell !== null, text: (r, c) => {
        const row = this.rowAt(r, c), number = this.numberAt(r, c);
        if (row < 0 || map.cell === null && number !== number) return null;
        return map.cell === null ? written(form, number) : nameOfToken(this.value(row, map.cell) ?? ' ');
      },
      isFaded: find.trim() ? (r, c) => !this.rowsAt(r, c).some(row => this.isFound(row)) : null };
  }

  drawMap() {
    const { map: { cell, columns } } = this.data, { map, nRow, nColumn } = this, width = attnPage.isPrinting ? PAPER : this.container.clientWidth;
    const room = Math.floor(width * (width >= 900 && !cell && !document.body.classList.contains('beside') ? 0.62 : 1));
    map.given = this.cellsOf();
    map.measure(1e3, 1e3);
    const fits = Math.floor((room - map.left - map.gap - 6) / nColumn);
    let w = clamp(fits, attnPage.isPrinting ? 30 : 62, 110), h = 26;
    if (!cell) {
      const tall = Math.max(Math.floor((innerHeight * 0.62) / nRow), 14);
      w = h = clamp(Math.min(fits, tall), columns.texts ? 15 : 8, 46);
      if (nRow * h < 90 && nRow < 4) h = Math.min(46, Math.max(h, 30));
    }
    map.node.style.maxHeight = attnPage.isPrinting ? 'none' : Math.max(280, Math.round(innerHeight * 0.74)) + 'px';
    this.figure.style.width = Math.max(Math.min(map.left + map.gap + nColumn * w + 18, room), Math.min(room, 300)) + 'px';
    map.show(map.given, room, w, h);
    const at = this.cellOf(this.state.row);
    map.active.textContent = at ? this.cellName(...at) + ' ' + this.shownText(this.state.row) : '';
    this.markCells();
  }

  // Marks the cell of the chosen row, and the one under the pointer.
  markCells(hovered) {
    const at = this.groupOf[this.state.row] === this.state.group ? this.cellOf(this.state.row) : null;
    const chosen = !at ? [] : this.data.map.is_pairs ? [at, [at[1], at[0]]] : [at];
    this.map.mark([...chosen.map(cell => ['chosen', ...cell]), ...hovered ? [['hover', ...hovered]] : []]);
  }

  // Shows the numbers of the cell under the pointer.
  point(event) {
    const at = event && this.map.at(event), isThere = at && this.rowsAt(...at).length > 0;
    this.markCells(isThere ? at : null);
    if (isThere) this.showTip(...at, event.clientX, event.clientY); else this.hideTip();
  }

  // Scrolls the map and the table so that the row is visible.
  reveal(row) {
    const at = this.cellOf(row);
    if (at && this.data.map.kind === 'grid') this.map.reveal(...at);
    const line = this.body.querySelector('tr[data-row="' + row + '"]'), box = this.scroller;
    if (!line) return;
    const top = line.offsetTop, head = this.head.offsetHeight;
    box.scrollTop = clamp(box.scrollTop, top + line.offsetHeight - box.clientHeight, top - head);
  }

  move(down, across) {
    if (down !== 0 && this.headParts.length > 0) { // to the next head of a circuit
      this.part = this.headParts[clamp(this.headParts.indexOf(this.part) + down, 0, this.headParts.length - 1)];
      this.light(-1, this.part.hasPart);
      this.said.textContent = 'head ' + this.part.name;
      return;
    }
    if (this.data.map.kind === 'figure') { // to the next row of the table
      this.part = null;
      this.choose(this.order[clamp(this.order.indexOf(this.state.row) + down + across, 0, this.order.length - 1)] ?? -1);
      return;
    }
    let [r, c] = this.cellOf(this.state.row) ?? [down > 0 ? -1 : 0, across > 0 ? -1 : 0];
    if (this.data.map.kind === 'tokens') { across += down; down = 0; r = 0; }
    for (;;) {
      r += down;
      c += across;
      if (r < 0 || c < 0 || r >= this.nRow || c >= this.nColumn) return;
      if (this.rowsAt(r, c).length > 0) break;
    }
    this.choose(this.rowAt(r, c));
  }

  // --- The text

  // Adds the text of the cell [r, c] to a line, as a token with the color and the numbers of the cell.
  addToken(line, text, r, c) {
    const span = el('bdi', { class: 'token' }, text);
    line.append(span);
    this.spans.push([span, r, c]);
    this.listen(span, 'pointermove', event => this.showTip(r, c, event.clientX, event.clientY));
    this.listen(span, 'pointerleave', () => this.hideTip());
    this.listen(span, 'click', () => this.choose(this.rowAt(r, c)));
  }

  makeTokens() {
    const { texts } = this.data.map.columns;
    const box = el('div', { class: 'x-text', tabindex: '0', role: 'group', 'aria-label': this.data.title ?? 'Text' });
    texts.forEach((text, c) => {
      if (c > 0 && /^ ./s.test(text)) box.append(' '); // the gap is not part of the colored word
      else if (c > 0 && /^[\u2e80-\uffef]/.test(text)) box.append(el('wbr'));
      this.addToken(box, text.replace(/^ (?=.)/s, ''), 0, c);
    });
    this.figure.append(box);
  }

  // Makes the text that the steps of the map write, if the table has it in a column `next`. Each
  // row of the map has the text once, in the colors of its steps.
  makeSteps() {
    const next = this.at.get('next'), { rows, columns } = this.data.map;
    if (next === undefined || !columns.positions) return;
    for (let r = 0; r < this.nRow; r++) {
      const line = el('p', { class: 'x-text x-step' }, el('bdi', { class: 'x-written' }, rows.texts?.[r] ?? ''));
      for (let c = 0; c < this.nColumn; c++) {
        const text = this.data.rows[this.rowAt(r, c)]?.[next];
        if (typeof text !== 'string') continue;
        if (/^\s/.test(text)) line.append(' '); // the gap is not part of the colored word
        this.addToken(line, text.trimStart(), r, c);
      }
      if (this.spans.length > 0) this.figure.append(line);
    }
  }

  drawTokens() {
    const at = this.cellOf(this.state.row), isText = this.data.map.kind === 'tokens', isSeeking = isText && this.state.find.trim() !== '';
    if (isText) this.figure.style.flex = this.container.clientWidth >= 900 ? '1 1 50%' : '1 1 100%';
    for (const [span, r, c] of this.spans) {
      const number = this.numberAt(r, c), isThere = number === number;
      const isSought = isSeeking && this.rowsAt(r, c).some(row => this.isFound(row));
      span.className = 'token' + (isThere || !isText ? '' : ' masked') + (at && at[0] === r && at[1] === c ? ' chosen' : '') +
        (isSought ? ' sought' : isSeeking ? ' faded' : '');
      tint(span, isThere ? this.color(number) : '');
    }
  }

  // --- The legend

  drawLegend() {
    const { name, title, scale } = this.column(this.state.value);
    const parts = [rampBox('x-ramp', opaque(this.ramp), scale.ticks.map(([place, , text]) => [place, text])),
      el('span', { class: 'kind' }, (title ?? name) + (scale.curve === 'sqrt' ? ', square root' : ''))];
    if (this.hasEmpty()) parts.push(el('span', { class: 'kind' }, swatch(this.nothing), 'no value'));
    this.legend.replaceChildren(...parts);
  }

  hasEmpty() {
    if (this.data.map.kind !== 'grid') return false;
    this.empties ??= new Map();
    const key = this.state.value + '\n' + this.state.group;
    if (!this.empties.has(key)) this.empties.set(key, this.findEmpty());
    return this.empties.get(key);
  }

  findEmpty() {
    const n = this.data.map.columns.n_main || this.nColumn;
    for (let r = 0; r < this.nRow; r++)
      for (let c = 0; c < n; c++) if (Number.isNaN(this.numberAt(r, c))) return true;
    return false;
  }

  // --- The table

  makeTable() {
    const { data } = this;
    this.listed = this.columns.map((column, i) => ({ column, i })).filter(({ column, i }) =>
      data.rows.some(row => row[i] !== (column.role === 'row_type' ? 'data' : null)));
    this.head = el('thead');
    this.body = el('tbody');
    this.heads = this.listed.map(({ column }) => {
      const isText = column.type === 'text';
      const button = this.button(column.name, () => this.sortBy(column.name),
        { title: column.title ?? 'sort by ' + column.name });
      return el('th', { scope: 'col', class: isText ? 'is-text' : '' }, button);
    });
    this.head.append(el('tr', {}, ...this.heads));
    this.scroller = el('div', { class: 'x-table', tabindex: '0', role: 'region', 'aria-label': 'Table' },
      el('table', {}, this.head, this.body));
    this.more = this.button('', () => this.set({ isLong: true }));
    this.moreLine = el('p', { class: 'x-more', hidden: '' }, this.more);
    this.left = el('p', { class: 'note', hidden: '' });
    this.rows.append(this.scroller, this.left, this.moreLine);
    this.listen(this.body, 'click', event => {
      const line = event.target.closest('tr');
      if (line) this.choose(Number(line.dataset.row));
    });
  }

  // Switches to the next order: by magnitude, descending, ascending, and as in the table.
  sortBy(name) {
    const isText = this.column(name).type === 'text';
    const ways = isText ? ['up', 'down'] : ['size', 'up', 'down'];
    if (this.state.sort !== name) return this.set({ sort: name, way: ways[0] });
    const next = ways[ways.indexOf(this.state.way) + 1];
    return this.set(next ? { way: next } : { sort: '', way: 'size' });
  }

  sorted() {
    const list = this.data.rows.map((_, i) => i), { sort, way } = this.state, i = this.at.get(sort);
    if (!sort && this.data.map.cell) { // the last reading comes first
      const placeOf = row => this.data.map.at[2 * row] * this.nColumn + this.data.map.at[2 * row + 1];
      return list.sort((a, b) => placeOf(b) - placeOf(a) || a - b);
    }
    if (!sort) return list;
    const keyOf = row => {
      const value = this.data.rows[row][i];
      return typeof value === 'string' || value === null ? value : way === 'size' ? Math.abs(numberOf(value)) : numberOf(value);
    };
    const sign = way === 'up' ? 1 : -1;
    return list.sort((a, b) => {
      const x = keyOf(a), y = keyOf(b);
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return sign * (x < y ? -1 : x > y ? 1 : 0) || a - b;
    });
  }

  drawTable() {
    const { find, sort, way, value: drawn, isLong } = this.state, key = [sort, way, find].join('\n');
    const look = [key, drawn, isLong, isDark()].join('\n');
    if (key !== this.orderKey) this.order = this.sorted().filter(row => this.isFound(row));
    this.orderKey = key;
    if (look === this.tableLook) return this.markLine();
    this.tableLook = look;
    const n = this.state.isLong ? this.order.length : Math.min(this.order.length, FIRST_ROWS);
    this.heads.forEach((th, at) => {
      if (this.listed[at].column.name === sort)
        th.setAttribute('aria-sort', way === 'up' ? 'ascending' : 'descending');
      else th.removeAttribute('aria-sort');
      th.firstChild.textContent = this.listed[at].column.name + (this.listed[at].column.name === sort
        ? { size: ' \u25bc', down: ' \u25be', up: ' \u25b4' }[way] : '');
      if (this.listed[at].column.name === sort && way === 'size' && this.column(sort).is_signed)
        th.firstChild.textContent = sort + ' |\u25bc|';
    });
    const lines = [];
    for (const row of this.order.slice(0, n)) {
      const line = el('tr', { 'data-row': row, 'aria-selected': String(row === this.state.row) });
      for (const { column, i } of this.listed) {
        const value = this.data.rows[row][i], isText = column.type === 'text';
        const td = el('td', isText ? { class: 'is-text' } : {});
        if (isText) td.append(el('bdi', {}, value ?? '\u2013'));
        else td.textContent = this.textOf(row, i);
        const isDrawn = column.name === this.state.value && value !== null &&
          (this.cellOf(row) !== null || this.data.map.kind === 'figure');
        if (isDrawn) tint(td, this.color(numberOf(value)));
        line.append(td);
      }
      lines.push(line);
    }
    this.body.replaceChildren(...lines);
    this.moreLine.hidden = n === this.order.length;
    this.more.textContent = 'Show all ' + this.order.length + ' rows';
    this.note.textContent = find.trim() ? this.order.length === 0 ? 'not found'
      : this.order.length + ' of ' + this.data.rows.length + ' rows' : '';
    return undefined;
  }

  // Selects the answer first: the cell of the last layer and the last position.
  begin() {
    const end = [this.nRow - 1, this.nColumn - 1], row = this.rowAt(...end);
    if (row < 0) return;
    this.set({ row });
    this.reveal(row);
  }

  markLine() {
    for (const line of this.body.querySelectorAll('tr[aria-selected="true"]')) line.setAttribute('aria-selected', 'false');
    this.body.querySelector('tr[data-row="' + this.state.row + '"]')?.setAttribute('aria-selected', 'true');
  }

  // --- Saving

  fileName(ending) { return [this.data.model ?? 'attention', this.data.kind, this.state.value].join('-') + '.' + ending; }

  // JavaScript writes numbers so that they read back as the same. Missing values are empty.
  csv() {
    const field = value => csvField(value === null ? '' : String(typeof value === 'boolean' ? Number(value) : value));
    return [this.columns.map(c => c.name), ...this.order.map(row => this.data.rows[row])]
      .map(line => line.map(field).join()).join('\n') + '\n';
  }

  openDialog(title, ...parts) {
    this.dialog.replaceChildren(el('h2', { id: this.id + '-title' }, title), ...parts,
      el('p', {}, this.button('Close', () => this.dialog.close(), { class: 'x-close' })));
    this.dialog.showModal();
  }

  openSave() {
    const svg = this.plot ?? document.querySelector('#static > svg') ?? this.svg, isFigures = this.state.value === this.data.value;
    const buttons = [this.button('CSV', () => save(new Blob([this.csv()], { type: 'text/csv' }), this.fileName('csv')),
      { class: 'x-csv' })];
    if (svg && isFigures)
      buttons.push(this.button('SVG', () => save(new Blob([new XMLSerializer().serializeToString(svg)],
        { type: 'image/svg+xml' }), this.fileName('svg')), { class: 'x-svg' }));
    if (this.map)
      buttons.push(this.button('PNG', () => this.map.canvas.toBlob(blob => save(blob, this.fileName('png'))), { class: 'x-png' }));
    buttons.push(this.button('Print', () => { this.dialog.close(); print(); }));
    this.openDialog('Save', el('p', { class: 'group' }, ...buttons),
      el('p', { class: 'note' }, 'CSV has the rows of the table as they are sorted and found' +
        (svg && isFigures ? '; SVG is the figure that --svg draws' : '') + (this.map ? '; PNG is the map as it is seen' : '') + '.'));
  }

  // --- Keys

  keys() {
    return [['\u2190 \u2191 \u2192 \u2193', 'move in the map or the text'], ['/', 'find a token, a head or a part; Enter: the next one'],
      ['v', 'show another column'], ['s', 'sort by that column: by size, up, down, not at all'],
      ...(this.isAlone ? [['d', 'dark or light']] : []), ...this.parts.length > 0 ? [['Enter', 'press the chosen line or head']] : [], ['k', 'save'], ['Esc', 'choose nothing'], ['?', 'these shortcuts']];
  }

  openKeys() {
    this.openDialog('Shortcuts', el('dl', {}, ...this.keys().flatMap(([key, text]) =>
      [el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)])));
  }

  turnDark() {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    this.draw();
  }

  onKey(event) {
    const { target } = event, arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.ctrlKey || event.metaKey || event.altKey || this.dialog.open) return;
    if (target.closest && target.closest('select, input')) return;
    if (target.closest && target.closest('button') && (event.key === ' ' || event.key === 'Enter')) return;
    const actions = {
      '/': () => this.find.focus(), s: () => this.sortBy(this.state.value), k: () => this.openSave(),
      '?': () => this.openKeys(), Escape: () => { this.hideTip(); this.set({ row: -1 }); },
      v: () => this.set({ value: this.drawn[(this.drawn.indexOf(this.state.value) + 1) % this.drawn.length] }),
      ...this.isAlone ? { d: () => this.turnDark() } : {},
      ...this.parts.length > 0 ? { Enter: () => this.part ? this.part.press() : this.choose(this.state.row, true) } : {} };
    if (arrows[event.key] && !(target.closest && target.closest('.x-table'))) this.move(...arrows[event.key]);
    else if (Object.hasOwn(actions, event.key)) actions[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // --- The address: what is shown, of a page that is nothing else

  writeHash() {
    const { value, sort, way, row, group, find } = this.state, theme = document.documentElement.dataset.theme;
    const isUsual = sort === this.usualSort && way === 'size';
    const parts = [['x', value === this.data.value ? '' : value], ['sort', isUsual ? '' : sort ? sort + ':' + way : 'none'],
      ['row', row < 0 ? '' : row], ['group', group || ''], ['find', find], ['d', attnPage.isPrinting ? this.themeBefore : theme]];
    const hash = '#' + parts.filter(([, text]) => text !== '' && text !== undefined)
      .map(([name, text]) => name + '=' + encodeURIComponent(text)).join('&');
    if (hash === (location.hash || '#') || attnPage.isPrinting || location.protocol === 'about:') return;
    try { history.replaceState(null, '', hash); } catch { location.replace(hash); }
  }

  readHash() {
    const read = {}, theme = document.documentElement;
    for (const part of location.hash.slice(1).split('&')) {
      const at = part.indexOf('=');
      try { read[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1)); } catch { continue; }
    }
    const [sort, way] = (read.sort ?? '').split(':');
    if (this.drawn.includes(read.x)) this.state.value = read.x;
    if (sort === 'none') this.state.sort = '';
    if (this.at.has(sort) && ['size', 'up', 'down'].includes(way)) Object.assign(this.state, { sort, way });
    if (/^\d{1,7}$/.test(read.row) && read.row < this.data.rows.length) this.state.row = Number(read.row);
    if (/^\d{1,4}$/.test(read.group) && read.group < this.groups.length) this.state.group = Number(read.group);
    if (read.find) this.state.find = read.find.slice(0, 200);
    if (read.d === 'dark' || read.d === 'light') theme.dataset.theme = read.d;
    this.readCells();
  }
}

function show(container, data) {
  const before = shown.get(container);
  before?.controller.abort();
  const view = new View(container, data, before?.state);
  view.svg = before?.svg ?? document.querySelector('#static > svg');
  view.plot = data.figure ? undefined : before?.plot;
  shown.set(container, view);
  if (view.isAlone && !before) view.readHash();
  view.make();
  if (!before && data.map.cell && view.state.row < 0) view.begin();
}

const mark = (container, place) => shown.get(container)?.mark(place);
const redraw = container => shown.get(container)?.draw();

return { show, mark, redraw };
})();

// The question of the page itself. The viewer may be below it, which follows the hash of the
// address.
(() => {
  const data = attnPage.tableOf(attnPage.given), place = document.getElementById('question');
  if (!data || !place) return;
  const root = document.documentElement, isAlone = place.classList.contains('alone');

  const { model, texts, note } = data, { shortly } = attnPage;
  document.getElementById('about').replaceChildren(...[...model ? [[shortly(model)]] : [],
    ...texts.filter(({ text }) => text).map(({ name, text }) => [...name ? [name + ': '] : [], shortly(text)]), ...note ? [[note]] : [],
    ...!isAlone && texts.length > 1 ? [['the patterns are those of the first ' + (attnPage.given.picture ? 'picture' : 'text')]] : []]
    .flatMap((nodes, i) => i === 0 ? nodes : ['; ', ...nodes]));
  attnQuestion.show(place, data);
  if (isAlone) {
    document.getElementById('static').remove();
    return;
  }
  place.addEventListener('attn-choose', event => globalThis.attnViewer?.follow(event.detail));
  let theme = root.dataset.theme;
  new MutationObserver(() => {
    const chosen = globalThis.attnViewer?.run.heads[document.getElementById('head').value];
    if (theme !== root.dataset.theme) attnQuestion.redraw(place);
    theme = root.dataset.theme;
    if (chosen) attnQuestion.mark(place, chosen);
  }).observe(root, { attributes: true, attributeFilter: ['data-ready', 'data-theme'] });
})();
