// gradients.js - gradients of the weights on a page that has some: how fast the metric changes with
// each weight (pattern_grad), and the weight times that (pattern_x_grad). It is a part of the
// viewer, which gives it what it needs, and to which it gives shares of the largest of all heads.
'use strict';
globalThis.attnGradients = async viewer => {
const { run, thumbs, state } = viewer;
const { heads } = run;
const mostOf = new Map(run.gradients.map(g => [g.site, g.most || 1]));
const rules = Object.fromEntries(run.gradients.map(g => [g.site, g.number]));

// Numbers of N_BYTE planes: their float32s' first bytes, their second ones, and so on.
function numbersOf(bytes, nByte) {
  const n = bytes.length / nByte, bits = new Uint32Array(n);
  for (let plane = 0; plane < nByte; plane++)
    for (let i = 0; i < n; i++) bits[i] |= bytes[plane * n + i] << 24 - 8 * plane;
  return new Float32Array(bits.buffer);
}

const read = async (id, nByte, unit) =>
  numbersOf(await viewer.inflate(viewer.blockOf(id)), nByte).map(x => x / unit);

// Between words the gradient is the mean of the cells; what weights times gradients are adds up.
const joined = { pattern_grad: (sum, nRow, n) => sum / n, pattern_x_grad: sum => sum };

// The matrix of a head.
async function matrix(h, site) {
  const values = await read(heads[h].id + '-' + site, 2 * run.bytes, mostOf.get(site));
  return viewer.areMerged() ? viewer.betweenWords(values, h, joined[site]) : values;
}

// Thumbnails, and as a measure of each head its largest cell.
for (const { site } of run.gradients) {
  const all = await read('thumbs-' + site, 4, mostOf.get(site));
  let at = 0;
  heads.forEach((head, h) => {
    const n = thumbs[h].rows * thumbs[h].cols;
    thumbs[h][site] = all.subarray(at, at += n);
    head[site] = viewer.largestOf(thumbs[h][site]);
  });
}

// The largest of what is shown; undefined where that is the weights.
const unit = () => mostOf.get(state.w);

// How a share is written; undefined likewise.
const rule = () => rules[state.w];

return { matrix, unit, rule, note: '; numbers in cells: % of the largest of all heads' };
};
