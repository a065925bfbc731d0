// map.js - a map of labelled cells on a canvas: the matrix of a head, and the map of a question. The
// page gives the cells and reads where the pointer is; marks of rows, columns and cells lie over the
// canvas, so that they move without painting.
//
//     const map = new AttnMap('matrix', signal);   map.node: a grid with the name of its active cell
//     map.show(given, room, w, h);                 cells of w x h pixels in a place of this width
//
// GIVEN: rows and columns {n, title, label, n_main}, where label(i) returns {position, text, isSought}
// and the columns from n_main on stand apart; ramp; nothing {kind: [ground, hatch]}; value(r, c);
// step(r), which returns a function from values to steps of the ramp; kind(r, c) of a cell without a
// value, or null if nothing is there; text(r, c) or null; isText for
// words instead of numbers; isFaded(r, c); and key, which names all that colors depend on.
'use strict';
const AttnMap = (() => {
const { el, clamp, paint, hex, rgbOf, inkOn, hatchPattern, everyNth } = attnPage, { ceil, floor, max, min, round } = Math;
const GAP = 10; // px before the columns that stand apart
const LEAST_LABEL = 9, MOST_LABEL = 210; // px of a cell whose label has a text, and of that text
const SANS = '12px system-ui, sans-serif', MONO = 'px ' + paint('--mono');
const ruler = el('canvas').getContext('2d'), isolate = text => '\u2068' + text + '\u2069';

let measured = ''; // the font of the ruler, which is slow to set
const textWidth = (text, font = 12 + MONO) => {
  if (font !== measured) ruler.font = measured = font;
  return ruler.measureText(text).width;
};

function fitted(text, width, font) {
  const letters = Array.from(text);
  if (textWidth(text, font) <= width) return text;
  while (letters.length > 1 && textWidth(letters.join('') + '\u2026', font) > width) letters.pop();
  return letters.join('') + '\u2026';
}

// Paints cells [r0, r1) x [c0, c1), one pixel each.
function paintCells(cells, canvas, r0 = 0, r1 = cells.rows.n, c0 = 0, c1 = cells.columns.n) {
  canvas.width = c1 - c0;
  canvas.height = r1 - r0;
  const context = canvas.getContext('2d'), image = context.createImageData(canvas.width, canvas.height), { data } = image;
  const { ramp } = cells, nothing = Object.fromEntries(Object.entries(cells.nothing).map(([kind, [ground]]) => [kind, rgbOf(ground)]));
  let at = 0;
  for (let r = r0; r < r1; r++) {
    const stepOf = cells.step(r);
    for (let c = c0; c < c1; c++, at += 4) {
      const value = cells.value(r, c);
      if (isFinite(value)) {
        const i = 3 * stepOf(value);
        data[at] = ramp[i];
        data[at + 1] = ramp[i + 1];
        data[at + 2] = ramp[i + 2];
      } else {
        const kind = cells.kind(r, c);
        if (kind === null) continue;
        data.set(nothing[kind], at);
      }
      data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

function colorOf(cells, r, c) {
  const value = cells.value(r, c);
  return isFinite(value) ? hex(cells.ramp, cells.step(r)(value)) : cells.nothing[cells.kind(r, c)]?.[0];
}

class AttnMap {
  constructor(kind, signal) {
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.over = el('div', { 'aria-hidden': 'true' });
    this.frame = el('div', { class: 'frame' }, this.canvas, this.over);
    this.size = el('div', {}, this.frame);
    this.active = el('div', { class: 'unseen', role: 'gridcell' });
    this.node = el('div', { class: 'map ' + kind, role: 'grid', tabindex: '0' }, this.size, el('div', { role: 'row' }, this.active));
    this.cells = el('canvas');
    this.marks = [];
    this.node.addEventListener('scroll', () => this.paint(), { signal });
  }

  // Finds the look of the labels along an axis of cells of PX pixels: narrow cells have positions alone.
  look(axis, px) {
    const hasText = px >= LEAST_LABEL, font = hasText ? clamp(px - 1, 8, 12) : 12;
    const widthOf = i => this.partsOf(axis, i, { hasText }).reduce((sum, [text], k) => sum + textWidth((k ? ' ' : '') + text), 0);
    axis.widths ??= {};
    axis.widths[hasText] ??= Array.from({ length: axis.n }, (_, i) => widthOf(i)).reduce((a, b) => max(a, b), 0);
    return { hasText, font, width: ceil(axis.widths[hasText] * font / 12) };
  }

  // Lays out cells of W x H pixels.
  measure(w, h) {
    const { rows, columns } = this.given, room = text => ceil(textWidth(text ?? '', SANS));
    const row = this.row = this.look(rows, h), column = this.column = this.look(columns, w);
    [this.w, this.h] = [w, h];
    this.isTurned = column.hasText && column.width > w - 8 && (columns.n_main > 0 || Boolean(columns.label(0).text));
    row.every = row.hasText ? 1 : everyNth(h, 26);
    column.every = this.isTurned ? 1 : everyNth(w, column.hasText ? column.width + 4 : 26);
    this.left = max(row.width, room(rows.title)) + 14;
    this.top = (this.isTurned ? column.width + 8 : 18) + 20;
    this.gap = columns.n_main > 0 ? GAP : 0;
    this.width = this.left + max(columns.n * w + this.gap, room(columns.title)) + 2;
    this.height = this.top + rows.n * h + 2;
    return this;
  }

  show(given, room, w, h) {
    this.given = given;
    this.measure(w, h);
    Object.assign(this.size.style, { width: this.width + 'px', height: this.height + 'px' });
    this.node.style.zoom = attnPage.isPrinting ? min(1, room / this.width) : 1;
    this.node.setAttribute('aria-rowcount', given.rows.n);
    this.node.setAttribute('aria-colcount', given.columns.n);
    // the place of the cells, for scripts that test the page
    this.node.dataset.cells = [this.left, this.top, this.w, this.h].join(' ');
    this.paint();
  }

  isApart(c) { return c >= (this.given.columns.n_main || Infinity); }

  // The corner of a cell in the frame, whatever is scrolled.
  x(c) { return this.left + c * this.w + (this.isApart(c) ? GAP : 0) - this.dx; }
  y(r) { return this.top + r * this.h - this.dy; }

  // Paints the visible part; all of it when printing.
  paint() {
    const { node, canvas, given, w, h } = this, more = attnPage.isPrinting * 1e5, ratio = devicePixelRatio || 1;
    const width = min(node.clientWidth + more, this.width), height = min(node.clientHeight + more, this.height);
    [this.dx, this.dy] = attnPage.isPrinting ? [0, 0] : [node.scrollLeft, node.scrollTop]; // read once, because it causes a layout
    const r0 = clamp(floor(this.dy / h), 0, given.rows.n - 1), c0 = clamp(floor((this.dx - GAP) / w), 0, given.columns.n - 1);
    // at least one cell, even if there is no room for it
    this.seen = { r0, r1: clamp(ceil((this.dy + height - this.top) / h) + 1, r0 + 1, given.rows.n),
      c0, c1: clamp(ceil((this.dx + width - this.left) / w) + 1, c0 + 1, given.columns.n) };
    for (const one of [this.frame, canvas]) Object.assign(one.style, { width: width + 'px', height: height + 'px' });
    canvas.width = round(width * ratio);
    canvas.height = round(height * ratio);
    this.paints = Object.fromEntries(['--ink', '--soft', '--rule', '--paper', '--accent'].map(name => [name, paint(name)]));
    const context = canvas.getContext('2d'), within = (x, y, action) => {
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
      action();
      context.restore();
    };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = 'middle';
    within(this.left - 1, this.top - 1, () => { this.paintCells(context); this.paintTexts(context); });
    within(0, this.top - 1, () => this.paintRows(context));
    within(this.left - 1, 0, () => this.paintColumns(context));
    context.font = SANS;
    context.fillStyle = this.paints['--soft'];
    context.fillText(given.columns.title ?? '', this.left, 8);
    context.textAlign = 'right';
    context.fillText(given.rows.title ?? '', this.left - 8, this.top - 11);
    this.placeMarks();
  }

  paintCells(context) {
    const { given, w, h } = this, { r0, r1, c0, c1 } = this.seen, main = clamp(given.columns.n_main || c1, c0, c1);
    const painted = [given.key, r0, r1, c0, c1].join();
    if (painted !== this.painted) paintCells(given, this.cells, r0, r1, c0, c1);
    this.painted = painted;
    context.imageSmoothingEnabled = false;
    for (const [from, to] of [[c0, main], [main, c1]])
      if (from < to) context.drawImage(this.cells, from - c0, 0, to - from, r1 - r0, this.x(from), this.y(r0), (to - from) * w, (r1 - r0) * h);
    if (min(w, h) >= 6) this.paintRules(context);
    if (!given.isFaded) return;
    context.globalAlpha = 0.78;
    context.fillStyle = this.paints['--paper'];
    for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) if (given.isFaded(r, c)) context.fillRect(this.x(c), this.y(r), w, h);
    context.globalAlpha = 1;
  }

  // Draws lines between cells, and hatches those without a value.
  paintRules(context) {
    const { given, w, h, seen } = this, rule = this.paints['--rule'], hatches = {};
    for (const kind in given.nothing) hatches[kind] = hatchPattern(context, given.nothing[kind][1]);
    const kindOf = (r, c) => isFinite(given.value(r, c)) ? '' : given.kind(r, c);
    for (let r = seen.r0; r < seen.r1; r++)
      for (let c = seen.c0, end; c < seen.c1; c = end) { // cells of one kind together
        const kind = kindOf(r, c), x = this.x(c), y = this.y(r);
        for (end = c + 1; end < seen.c1 && this.isApart(end) === this.isApart(c) && kindOf(r, end) === kind;) end++;
        if (kind === null) continue;
        context.fillStyle = hatches[kind] ?? rule;
        if (kind) context.fillRect(x, y, (end - c) * w, h);
        else for (let i = 1; i <= end - c; i++) context.fillRect(x + i * w - 1, y, 1, h);
        if (!kind) context.fillRect(x, y + h - 1, (end - c) * w, 1);
      }
  }

  // Writes words into the cells, or numbers if all of them fit.
  paintTexts(context) {
    const { given, seen, w, h } = this, list = [];
    if (w < 22 || h < 14) return;
    const fonts = given.isText ? [12 + MONO]
      : [13, 12, 11, 10].filter(size => size <= max(10, h * 0.4)).map(size => size + 'px system-ui, sans-serif');
    for (let r = seen.r0; r < seen.r1; r++)
      for (let c = seen.c0; c < seen.c1; c++) {
        const text = given.text(r, c);
        if (text !== null) list.push([given.isText ? fitted(text, w - 8, fonts[0]) : text, r, c]);
      }
    const longest = list.reduce((most, [text]) => text.length > most.length ? text : most, '');
    const font = fonts.find(name => given.isText || textWidth(longest, name) <= w * 0.88);
    if (!font) return;
    context.font = font;
    context.textAlign = 'center';
    for (const [text, r, c] of list) {
      context.fillStyle = inkOn(colorOf(given, r, c));
      context.fillText(given.isText ? isolate(text) : text, this.x(c) + w / 2, this.y(r) + h / 2);
    }
  }

  // Returns the texts of a label, with their colors.
  partsOf(axis, i, { hasText }) {
    const { position, text } = axis.label(i), parts = position === '' ? [] : [[String(position), '--soft']];
    if (text && (hasText || position === '')) parts.push([isolate(fitted(text, MOST_LABEL)), '--ink']);
    return parts;
  }

  // Returns the width of a label, and how it is written from X.
  label(context, axis, i, look) {
    const font = look.font + MONO, parts = this.partsOf(axis, i, look), blank = textWidth(' ', font);
    const widths = parts.map(([text]) => textWidth(text, font)), width = widths.reduce((a, b) => a + b, (parts.length - 1) * blank);
    return { width, draw: (x, y) => {
      const { isSought } = axis.label(i);
      context.font = font;
      context.fillStyle = this.paints['--accent'];
      if (isSought) context.fillRect(x, y + look.font * 0.6, width, 2);
      parts.forEach(([text, color], k) => {
        context.fillStyle = this.paints[color];
        context.fillText(text, x, y);
        x += widths[k] + blank;
      });
    } };
  }

  paintRows(context) {
    const { given: { rows }, row, seen, h } = this;
    for (let r = ceil(seen.r0 / row.every) * row.every; r < seen.r1; r += row.every) {
      const label = this.label(context, rows, r, row);
      label.draw(this.left - 8 - label.width, this.y(r) + h / 2);
    }
  }

  paintColumns(context) {
    const { given: { columns }, column, seen, w } = this;
    for (let c = ceil(seen.c0 / column.every) * column.every; c < seen.c1; c += column.every) {
      const label = this.label(context, columns, c, column), x = this.x(c) + w / 2;
      if (!this.isTurned || c < columns.n_main) {
        label.draw(min(x - label.width / 2, this.width - this.dx - label.width - 1), this.top - 11);
        continue;
      }
      context.save();
      context.translate(x, this.top - 6);
      context.rotate(-Math.PI / 2);
      label.draw(0, 0);
      context.restore();
    }
  }

  // Marks rows, columns and cells, [name, r, c]: without r a column with its label, without c a row.
  mark(marks) {
    if (marks.join() === this.marks.join()) return;
    this.marks = marks;
    while (this.over.childElementCount < marks.length) this.over.append(el('div'));
    this.placeMarks();
  }

  placeMarks() {
    const { w, h, left, top, given } = this;
    [...this.over.children].forEach((node, i) => {
      const [name, r = null, c = null] = this.marks[i] ?? [], x = c === null ? 0 : this.x(c), y = r === null ? 16 : this.y(r);
      node.className = name ?? '';
      node.hidden = !name || c !== null && x < left - w / 2 || r !== null && y < top - h / 2;
      Object.assign(node.style, { left: x + 'px', top: y + 'px', width: (c === null ? this.x(given.columns.n - 1) : 0) + w - 1 + 'px',
        height: (r === null ? this.y(given.rows.n - 1) - y : 0) + h - 1 + 'px' });
    });
  }

  // Returns the row and column under the pointer, or null.
  at(event) {
    const box = this.frame.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const { w, h, left, top, given } = this, r = floor((y + this.dy - top) / h);
    let c = floor((x + this.dx - left) / w);
    if (this.isApart(c)) c = max(given.columns.n_main, floor((x + this.dx - left - GAP) / w)); // left of it is the gap
    return x < left || y < top || r >= given.rows.n || c >= given.columns.n || x < this.x(c) ? null : [r, c];
  }

  // Scrolls so that a cell is visible.
  reveal(r, c) {
    const { node, w, h, left, top, dx, dy } = this, x = this.x(c) + dx, y = this.y(r) + dy;
    node.scrollLeft = clamp(node.scrollLeft, x + w - node.clientWidth, x - left);
    node.scrollTop = clamp(node.scrollTop, y + h - node.clientHeight, y - top);
  }
}

return Object.assign(AttnMap, { paintCells, colorOf });
})();
