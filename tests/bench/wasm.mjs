// wasm.mjs - attn.wasm under node beside the binary without fused multiply-add, as ratios.
//
//   node wasm.mjs MODULE BINARY [ROUNDS]
//
// Each round is a process of its own, because V8 keeps what it has compiled: it inflates, compiles and
// starts the module, then computes sentences in turn with the binary, which starts anew for each and
// has one thread. Times are medians over the rounds; a ratio is that of times of the same round.
//
// ORT_WEB=FOLDER ORT_MODEL=FILE adds ONNX Runtime Web with fable as a graph (peers/onnx_runtime_web.mjs,
// peers/fable_graph.py), in processes of its own, in turn with ours. It gets ids and gives matrices in
// memory; ours reads the model and the text each time and writes a file.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { openOnnxRuntimeWeb } from './peers/onnx_runtime_web.mjs';

const [modulePath, binaryPath, rounds = '7', part] = process.argv.slice(2);
const binary = resolve(binaryPath);
if (process.versions.node < '21') setFlagsFromString('--experimental-wasm-relaxed-simd');
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const words = ' The old man sat by the fire and told the children a story about'.split(' ').slice(1);
const text = n => Array.from({ length: n }, (_, i) => words[i % words.length]).join(' ');
const sentences = { '12 tokens': [text(12), 15], '200 tokens': [text(200), 3] };

const median = values => [...values].sort((a, b) => a - b)[values.length >> 1];
function timed(work) {
  const begin = performance.now(), value = work();
  return [performance.now() - begin, value];
}

// Milliseconds of each step, in a process that has done nothing before.
function measure() {
  const bytes = readFileSync(modulePath), packed = deflateRawSync(bytes, { level: 9 }).toString('base64');
  const folder = join(root, 'models', 'fable'), files = {}, found = {};
  const work = mkdtempSync(join(tmpdir(), 'bench_wasm.'));
  const { wasiCall, wasiWithoutRelaxed } = runInThisContext(
    readFileSync(join(root, 'lib/views/page/wasi.js'), 'utf8') + '\n({ wasiCall, wasiWithoutRelaxed })');
  const args = n => ['run', '-m', folder, '-t', '1', '--npz', 'out.npz', '--top', '5', sentences[n][0]];
  let module, inflated, portable;

  for (const name of readdirSync(folder).filter(name => name.includes('.')))
    files[join(folder, name)] = new Uint8Array(readFileSync(join(folder, name)));
  const environment = { LC_ALL: 'C.UTF-8', ATTN_CLI_ISA: 'baseline' };
  const own = (one, n) => timed(() => wasiCall(one, ['attn-cli', ...args(n)], { files, environment: { LC_ALL: 'C.UTF-8' } }));
  const native = n => timed(() => spawnSync(binary, args(n), { cwd: work, env: environment }));

  [found.inflate, inflated] = timed(() => inflateRawSync(Buffer.from(packed, 'base64')));
  [found.compile, module] = timed(() => new WebAssembly.Module(inflated));
  [found.start] = timed(() => wasiCall(module, ['attn-cli', '--version']));
  [found.first] = own(module, '12 tokens');
  portable = new WebAssembly.Module(wasiWithoutRelaxed(inflated));
  [found['native start']] = timed(() => spawnSync(binary, ['--version']));
  for (const [n, [, repeats]] of Object.entries(sentences)) {
    const times = { own: [], portable: [], native: [] };
    for (let i = 0; i < repeats; i++) {
      const [ms, call] = own(module, n), [slower] = own(portable, n), [theirs, process] = native(n);
      if (call.code !== 0 || process.status !== 0) throw new Error(call.err + process.stderr);
      if (Buffer.compare(call.files.get('out.npz'), readFileSync(join(work, 'out.npz'))) !== 0)
        throw new Error(`${n}: not the same bytes`);
      times.own.push(ms);
      times.portable.push(slower);
      times.native.push(theirs);
    }
    found[n] = median(times.own);
    found['portable ' + n] = median(times.portable);
    found['native ' + n] = median(times.native);
  }
  rmSync(work, { recursive: true });
  return found;
}

// The same of ONNX Runtime Web.
async function measurePeer() {
  const found = {}, begin = performance.now(), compute = await openOnnxRuntimeWeb(process.env.ORT_WEB, process.env.ORT_MODEL);

  found['ort ready'] = performance.now() - begin;
  for (const [name, n, repeats] of [['ort first', 12, 1], ['ort 12 tokens', 12, 30], ['ort 200 tokens', 200, 7]]) {
    const times = [];
    for (let i = 0; i < repeats; i++) {
      const start = performance.now(), pattern = await compute(n);
      times.push(performance.now() - start);
      if (pattern[0] !== 1 || pattern[1] !== 0) throw new Error(`pattern 0.0 begins with ${pattern.slice(0, 2)}, expected 1, 0`);
    }
    found[name] = median(times);
  }
  return found;
}

function show(all) {
  const of = name => median(all.map(found => found[name]));
  const row = (name, ms, ratio) => console.log(name.padEnd(34) + ms.toFixed(1).padStart(9) + ratio.padStart(9));
  const beside = (name, other) => median(all.map(found => found[name] / found[other])).toFixed(2);

  console.log(`node ${process.version}, V8 ${process.versions.v8}, ${all.length} rounds, one thread each`);
  console.log('step'.padEnd(34) + '       ms    ratio');
  row('inflate', of('inflate'), '');
  row('compile', of('compile'), '');
  row('start, --version', of('start'), '');
  row('first sentence, 12 tokens', of('first'), beside('first', 'native 12 tokens'));
  for (const n of Object.keys(sentences)) row(`each later one, ${n}`, of(n), beside(n, 'native ' + n));
  for (const n of Object.keys(sentences))
    row(`without relaxed SIMD, ${n}`, of('portable ' + n), beside('portable ' + n, 'native ' + n));
  row('native: start', of('native start'), '');
  for (const n of Object.keys(sentences)) row(`native: ${n}`, of('native ' + n), '');
  if (!process.env.ORT_WEB) return;
  console.log('\nONNX Runtime Web'.padEnd(35) + '       ms     ours/theirs');
  row('ready', of('ort ready'), median(all.map(found => (found.inflate + found.compile) / found['ort ready'])).toFixed(2));
  row('first sentence, 12 tokens', of('ort first'), beside('first', 'ort first'));
  for (const n of Object.keys(sentences)) row(`each later one, ${n}`, of('ort ' + n), beside(n, 'ort ' + n));
}

const child = part => JSON.parse(execFileSync(process.execPath,
  [fileURLToPath(import.meta.url), modulePath, binary, rounds, part], { maxBuffer: 1 << 24 }));
if (part) {
  console.log(JSON.stringify(part === 'ort' ? await measurePeer() : measure()));
} else {
  show(Array.from({ length: Number(rounds) }, () => ({ ...child('own'), ...(process.env.ORT_WEB ? child('ort') : {}) })));
}
