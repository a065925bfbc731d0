// gradients.js - gradients of the weights on a page that has some: how fast the metric changes with
// each weight (pattern_grad), and the weight times that (pattern_x_grad). It is a part of the
// viewer, which gives it what it needs, and to which it gives shares of the largest of all heads.
'use strict';
globalThis.attnGradients = async viewer => {
const { run, thumbs, state } = viewer;
const { heads } = run, sizes = heads.map(head => [head.rows, head.cols]);
const mostOf = new Map(run.gradients.map(g => [g.site, g.most || 1]));

// Numbers of N_BYTE planes: their float32s' first bytes, their second ones, and so on.
function numbersOf(bytes, nByte) {
  const n = bytes.length / nByte, bits = new Uint32Array(n);
  for (let plane = 0; plane < nByte; plane++)
    for (let i = 0; i < n; i++) bits[i] |= bytes[plane * n + i] << 24 - 8 * plane;
  return new Float32Array(bits.buffer);
}

const read = async (id, nByte, unit) =>
  numbersOf(await viewer.inflate(viewer.blockOf(id)), nByte).map(x => x / unit);

// Gradients between words: the mean of the cells; weights times gradients add up.
function joinWords(values, h, isSum) {
  const { own: rows, source } = viewer.words(), columns = heads[h].is_source && source || rows;
  const out = new Float32Array(rows.length * columns.length).fill(NaN);
  rows.forEach(([r0, r1], i) => columns.forEach(([c0, c1], j) => {
    let sum = 0, n = 0;
    for (let r = r0; r <= r1; r++)
      for (let c = c0; c <= c1; c++) {
        const x = values[r * sizes[h][1] + c];
        if (x === x) [sum, n] = [sum + x, n + 1];
      }
    if (n > 0) out[i * columns.length + j] = isSum ? sum : sum / n;
  }));
  return out;
}

// The matrix of a head.
async function matrix(h, site) {
  const values = await read(heads[h].id + '-' + site, 2 * run.bytes, mostOf.get(site));
  const joined = viewer.words() ? joinWords(values, h, site === 'pattern_x_grad') : values;
  if (!state.first) for (let i = 0; i < joined.length; i += heads[h].cols) joined[i] = NaN;
  return joined;
}

// Thumbnails, and as a measure of each head its largest cell.
for (const { site } of run.gradients) {
  const all = await read('thumbs-' + site, 4, mostOf.get(site));
  let at = 0;
  heads.forEach((head, h) => {
    const n = thumbs[h].rows * thumbs[h].cols;
    thumbs[h][site] = all.subarray(at, at += n);
    head[site] = thumbs[h][site].reduce((most, x) => isFinite(x) ? Math.max(most, Math.abs(x)) : most, 0);
  });
}

// The largest of what is shown; undefined where that is the weights.
const unit = () => mostOf.get(state.w);

function number(share) {
  const x = share * unit(), text = x !== 0 && Math.abs(x) < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(3)));
  return text.replace(/^-/, '\u2212');
}

return { matrix, unit, number, note: '; numbers in cells: % of the largest of all heads' };
};
