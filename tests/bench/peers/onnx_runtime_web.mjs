// onnx_runtime_web.mjs - ONNX Runtime Web under node, by the functions that its module exports.
//
// FOLDER has ort-wasm-simd-threaded.jsep.mjs and .wasm, as the npm package onnxruntime-web has them; of
// the wheels on PyPI that of open-webui holds both (pip download --no-deps open-webui). MODEL is what
// fable_graph.py writes: ids and a mask in, a pattern per layer and logits out.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const FLOAT = 1, INT64 = 7, ON_CPU = 1, ALL_OPTIMIZATIONS = 99;

// A promise of a function that computes N tokens; it returns the pattern of layer 0, [H, N, N].
export async function openOnnxRuntimeWeb(folder, model) {
  const path = ending => join(folder, readdirSync(folder).find(name => /^ort-wasm-simd-threaded/.test(name) && name.endsWith(ending)));
  const { default: start } = await import(pathToFileURL(path('.mjs')));
  const ort = await start({ numThreads: 1, wasmBinary: readFileSync(path('.wasm')) }), bytes = readFileSync(model);
  const fail = () => {
    const place = ort._malloc(8);
    ort._OrtGetLastError(place, place + 4);
    throw new Error(ort.UTF8ToString(ort.getValue(place + 4, '*')));
  };
  const text = value => {
    const size = ort.lengthBytesUTF8(value) + 1, place = ort._malloc(size);
    ort.stringToUTF8(value, place, size);
    return place;
  };
  const list = values => {
    const place = ort._malloc(4 * values.length);
    values.forEach((value, i) => ort.setValue(place + 4 * i, value, '*'));
    return place;
  };
  if (ort._OrtInit(1, 3) !== 0) fail();
  const options = ort._OrtCreateSessionOptions(ALL_OPTIMIZATIONS, 1, 1, 0, 0, 0, text('fable'), 3, 0, 0);
  const place = ort._malloc(bytes.length);
  ort.HEAPU8.set(bytes, place);
  const session = await ort._OrtCreateSession(place, bytes.length, options) || fail();
  const inputs = list(['ids', 'mask'].map(text));
  const outputs = list(['pattern.0', 'pattern.1', 'pattern.2', 'pattern.3', 'logits'].map(text));

  return async n => {
    const ids = ort._malloc(8 * n), mask = ort._malloc(4 * n * n), sizes = list([n, n]);
    new BigInt64Array(ort.HEAPU8.buffer, ids, n).forEach((_, i, all) => all[i] = BigInt(30 + i % 50));
    new Float32Array(ort.HEAPU8.buffer, mask, n * n).forEach((_, i, all) => all[i] = i % n > i / n ? -Infinity : 0);
    const given = [ort._OrtCreateTensor(INT64, ids, 8 * n, sizes, 1, ON_CPU),
      ort._OrtCreateTensor(FLOAT, mask, 4 * n * n, sizes, 2, ON_CPU)];
    const tensors = list(given), found = list([0, 0, 0, 0, 0]), info = list([0, 0, 0, 0]);
    if (await ort._OrtRun(session, inputs, tensors, 2, outputs, 5, found, 0) !== 0) fail();
    const each = [0, 1, 2, 3, 4].map(i => ort.getValue(found + 4 * i, '*'));
    ort._OrtGetTensorData(each[0], info, info + 4, info + 8, info + 12);
    const pattern = new Float32Array(ort.HEAPU8.buffer, ort.getValue(info + 4, '*'), 8 * n * n).slice();
    for (const tensor of [...each, ...given]) ort._OrtReleaseTensor(tensor);
    for (const block of [ids, mask, sizes, tensors, found, info]) ort._free(block);
    return pattern;
  };
}
