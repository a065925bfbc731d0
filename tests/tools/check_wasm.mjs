// check_wasm.mjs - the WebAssembly module says what the binary says, byte for byte.
//
//   node check_wasm.mjs MODULE.wasm BINARY
//
// Each case is a command line, of which some are mistakes. Both run it, the module with the models and
// fixtures in memory; standard output, standard error, the exit code and the files that were written
// are compared; of a page its document. The module runs twice: with relaxed multiply-adds, and as an engine without them gets it.
// In the end a hundred sentences must leave the process as large as it was.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';

if (process.versions.node < '21') setFlagsFromString('--experimental-wasm-relaxed-simd');
const [modulePath, binary] = process.argv.slice(2);
const { wasiCall, wasiCompile, wasiRelaxedPlaces, wasiWithoutRelaxed } = runInThisContext(
  readFileSync('lib/views/page/wasi.js', 'utf8') + '\n({ wasiCall, wasiCompile, wasiRelaxedPlaces, wasiWithoutRelaxed })');
const bytes = new Uint8Array(readFileSync(modulePath));
const module = await wasiCompile(bytes), portable = await WebAssembly.compile(wasiWithoutRelaxed(bytes));
const environment = { LC_ALL: 'C.UTF-8', ATTN_CLI_MODEL_PATH: 'models', HF_HOME: '/nowhere' };

// Paths of all files in FOLDER.
function list(folder) {
  return readdirSync(folder).flatMap(name => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? list(path) : [path];
  });
}

const texts = [
  'Life is short, eat dessert first', 'The keys to the cabinet', 'Once upon a time', 'x', 'The cat sat. The cat sat.',
  'caf\u00e9 \u732b \ud83d\ude80 \u05e9\u05dc\u05d5\u05dd', 'a\tb', 'What they said of the dog was that it ran away.',
];
const families = ['qwen2', 'qwen3', 'gemma2', 'gemma3-text', 'mistral', 'olmo2', 'phi', 'gpt-neo',
  'gpt-neox-parallel', 'llama-gqa-tied-bf16'];
const cases = [
  ...texts.flatMap(text => [
    ['run', '-m', 'fable', text],
    ['run', '-m', 'fable', '--json', '-', text],
    ['run', '-m', 'fable', '--sites', '*', '--npz', 'out.npz', text],
    ['run', '-m', 'fable', '--top', '5', '--next', ' the', text],
    ['tokenize', '-m', 'fable', text],
  ]),
  ...families.flatMap(name => [
    ['run', '-m', 'tests/fixtures/family-' + name, '--ids', '1,5,2,9,3,3', '--sites', '*', '--npz', 'out.npz'],
    ['run', '-m', 'tests/fixtures/family-' + name, '--ids', '1,5,2,9,3,3', '--csv', 'out'],
  ]),
  ...['window:3', 'strided:2', 'log', 'random:3', 'block:2', 'hybrid:2:3', 'linear'].map(kind =>
    ['run', '-m', 'fable', '--attention', kind, '--tidy', '-', texts[7]]),
  ['run', '-m', 'fable', '--ablate', '2.5,1.*', '--top', '3', texts[1]],
  ['run', '-m', 'fable', '--attention', 'lowrank:3', '--mask', 'none', '--json', '-', texts[7]],
  ['run', '-m', 'fable', '--ablate', 'mean:0.*', '--csv', 'out', texts[1]],
  ['run', '-m', 'fable', '--knockout', '-1>keys', '--top', '3', texts[1]],
  ['run', '-m', 'fable', '--mask', 'none', '--json', '-', texts[0]],
  ['run', '-m', 'fable', '--html', 'page.html', texts[0]],
  ['run', '-m', 'fable', '--html', 'page.html', '--explain', '--heads', '2.5', texts[1]],
  ['ablate', '-m', 'fable', '--target', ' are', '--html', 'page.html', texts[1]],
  ['run', '-m', 'fable', '--svg', '-', '--heads', '2.2', texts[0]],
  ['run', '-m', 'fable', '--heatmap', '--heads', '2.2', texts[0]],
  ['run', '-m', 'fable', '--heads', '2.2', '--queries', '-1', '--explain', texts[1]],
  ['run', '-m', 'fable', '--compute', 'bf16', '--json', '-', texts[0]],
  ['run', '-m', 'tests/fixtures/gguf/tiny.gguf', '--ids', '1,2,3', '--json', '-'],
  ['run', '-m', 'interpreter', '--source', 'The cat sat on the mat', '--top', '3', '\u732b'],
  ['run', '-m', 'interpreter', '--source', 'The cat sat on the mat', '--npz', 'out.npz', '\u732b\u5750'],
  ...['four-heads', 'one-head', 'self-attention'].map(name =>
    ['run', '-m', name, '--sites', '*', '--json', '-', 'Life is short']),
  ...['split-heads', 'slp3-two-heads'].map(name =>
    ['run', '-m', name, '--sites', '*', '--npz', 'out.npz', 'x3 x1 x2']),
  ['run', '-m', 'tiny-gpt2', '--tidy', '-', 'The cat'],
  ['lens', '-m', 'fable', texts[1]],
  ['score', '-m', 'fable', texts[7]],
  ['heads', '-m', 'fable', texts[4]],
  ['heads', '-m', 'fable', '--by', 'pair', texts[4]],
  ['ablate', '-m', 'fable', '--target', ' are', '--foil', ' is', texts[1]],
  ['attribute', '-m', 'fable', '--target', ' are', '--foil', ' is', texts[1]],
  ['attribute', '-m', 'fable', '--method', 'ig', '--target', ' are', '--foil', ' is', texts[1]],
  ['run', '-m', 'fable', '--grad', '--target', ' are', '--foil', ' is', '--npz', 'out.npz', texts[1]],
  ['patch', '-m', 'fable', '--clean', 'The keys to the cabinet', '--corrupted', 'The key to the cabinet',
    '--target', ' are', '--foil', ' is', '--site', 'z'],
  ['diff', '-m', 'fable', 'The cat sat on the mat', 'The dog sat on the mat'],
  ['generate', '-m', 'fable', '-n', '20', 'The old'],
  ['generate', '-m', 'fable', '-n', '20', '--temperature', '1', '--seed', '3', 'The old'],
  ['inspect', 'tests/fixtures/family-qwen3'],
  ['help', 'run'],
];
const mistakes = [
  ['run', '-m', 'fable', '--heads', '9.9', 'x'],
  ['run', '-m', 'models/nowhere', 'x'],
  ['run', '-m', 'fable', '--png', 'x.png', '--frobnicate', 'x'],
  ['ablate', '-m', 'fable', 'x'],
  ['run', '-m', 'fable', ''],
];

const files = Object.fromEntries(
  [...list('models'), ...list('tests/fixtures')]
    .filter(path => /models\/[^/]*\/[^/]*$|family-[^/]*\/[^/]*$|\.gguf$/.test(path))
    .map(path => [path, new Uint8Array(readFileSync(path))]));
const work = mkdtempSync(join(tmpdir(), 'check_wasm.'));
let n_failed = 0;

// The document of a page, which is all that the module writes of it.
const documentOf = bytes => bytes.toString().match(/id="document">\n([^<]*)<\/script>/)?.[1] ?? bytes;
const same = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0;
// What is printed, but for memory that pointers are part of, which are smaller in the module.
const printed = bytes => Buffer.from(bytes).toString('latin1').replace(/^  working memory of .*$/m, '');
for (const name of ['models', 'tests']) execFileSync('ln', ['-s', join(process.cwd(), name), join(work, name)]);
for (const args of [...cases, ...mistakes]) {
  const native = spawnSync(join(process.cwd(), binary), args,
    { cwd: work, env: { ...environment, ATTN_CLI_ISA: 'baseline' }, maxBuffer: 1 << 28 });
  const written = list(work).filter(path => !/^(models|tests)\//.test(path.slice(work.length + 1)));
  const problems = [];

  if ((native.status !== 0) !== mistakes.includes(args)) problems.push(`the binary ends with ${native.status}`);
  for (const one of [module, portable]) {
    const own = wasiCall(one, ['attn-cli', ...args], { files, environment });
    if (own.code !== native.status) problems.push(`exit ${own.code}, expected ${native.status}`);
    if (printed(own.out) !== printed(native.stdout)) problems.push('standard output');
    if (own.err !== native.stderr.toString()) problems.push(`standard error: ${own.err}`);
    for (const path of written) {
      const name = path.slice(work.length + 1);
      if (!own.files.has(name) || !same(own.files.get(name), documentOf(readFileSync(path)))) problems.push(name);
    }
    if (own.files.size !== Object.keys(files).length + written.length) problems.push('the number of files');
  }
  for (const path of written) rmSync(path);
  if (problems.length === 0) continue;
  n_failed++;
  console.log(`attn-cli ${args.join(' ')}: ${problems.join('; ')}`);
}
rmSync(work, { recursive: true });

// What is changed for an engine without them is nothing else: the objects that have them have as many.
let n_expected = 0;
for (const path of list(join(dirname(modulePath), 'lib/core/kernels')).filter(path => path.endsWith('_relaxed.o')))
  n_expected += wasiRelaxedPlaces(readFileSync(path)).length;
const n_place = wasiRelaxedPlaces(bytes).length, name = one =>
  new TextDecoder().decode(wasiCall(one, ['attn-cli', '--version']).out).match(/\((\w+),/)?.[1];
if (n_place !== n_expected || n_place === 0) {
  n_failed++;
  console.log(`the module has ${n_place} relaxed multiply-adds, expected ${n_expected}`);
}
// i32.const 33533 has the three bytes of a relaxed multiply-add: 41 fd 85 02.
const constant = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0,
  10, 9, 1, 7, 0, 0x41, 0xfd, 0x85, 2, 0x1a, 11]);
if (!WebAssembly.validate(constant) || wasiRelaxedPlaces(constant).length !== 0) {
  n_failed++;
  console.log('a constant is taken for a relaxed multiply-add');
}
if (name(portable) !== 'baseline') {
  n_failed++;
  console.log(`without relaxed multiply-adds the module says ${name(portable)}, expected baseline`);
}

// Most bytes that are resident after one of N sentences.
function mostResident(n) {
  let most = 0;
  for (let i = 0; i < n; i++) {
    wasiCall(module, ['attn-cli', 'run', '-m', 'fable', '--json', '-', `${texts[i % texts.length]} ${i}`], { files, environment });
    most = Math.max(most, process.memoryUsage().rss);
  }
  return most;
}
// One call's memory has 5 MiB and more, and the collector of node comes and goes with 17.
const before = mostResident(20), growth = mostResident(100) - before;
if (growth > 64 << 20) {
  n_failed++;
  console.log(`a hundred sentences: ${growth >> 20} MiB more than before, expected less than 64`);
}
console.log(`wasm: ${cases.length + mistakes.length + 4 - n_failed} passed, ${n_failed} failed; with ${name(module)} instructions, and without`);
process.exit(n_failed === 0 ? 0 : 1);
