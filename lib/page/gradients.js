// gradients.js - gradients of the weights, on a page that has them: how fast the metric changes
// with each weight (pattern_grad), and that gradient times the weight (pattern_x_grad). It is a
// part of the viewer. Numbers are returned as shares of the largest number of all heads.
'use strict';
globalThis.attnGradients = async viewer => {
const { run, thumbs, state } = viewer;
const { heads } = run;
const mostOf = new Map(run.gradients.map(g => [g.site, g.most || 1]));
const rules = Object.fromEntries(run.gradients.map(g => [g.site, g.number]));

// Returns the float32 numbers that are stored as N_BYTE planes: the first bytes of all numbers,
// then their second bytes, and so on.
function numbersOf(bytes, nByte) {
  const n = bytes.length / nByte, bits = new Uint32Array(n);
  for (let plane = 0; plane < nByte; plane++)
    for (let i = 0; i < n; i++) bits[i] |= bytes[plane * n + i] << 24 - 8 * plane;
  return new Float32Array(bits.buffer);
}

const read = async (id, nByte, unit) =>
  numbersOf(await viewer.inflate(viewer.blockOf(id)), nByte).map(x => x / unit);

// Between words, gradients are averaged over the cells, and gradients times weights are summed.
const joined = { pattern_grad: (sum, nRow, n) => sum / n, pattern_x_grad: sum => sum };

// Returns the matrix of a head.
async function matrix(h, site) {
  const values = await read(heads[h].id + '-' + site, 2 * run.bytes, mostOf.get(site));
  return viewer.areMerged() ? viewer.betweenWords(values, h, joined[site]) : values;
}

// Reads the thumbnails. The measure of a head is its largest cell.
for (const { site } of run.gradients) {
  const all = await read('thumbs-' + site, 4, mostOf.get(site));
  let at = 0;
  heads.forEach((head, h) => {
    const n = thumbs[h].rows * thumbs[h].cols;
    thumbs[h][site] = all.subarray(at, at += n);
    head[site] = viewer.largestOf(thumbs[h][site]);
  });
}

// Returns the largest number of the shown gradients; undefined if weights are shown.
const unit = () => mostOf.get(state.w);

// Returns the rule by which a share is written; undefined if weights are shown.
const rule = () => rules[state.w];

return { matrix, unit, rule, note: '; numbers in cells: % of the largest of all heads' };
};
