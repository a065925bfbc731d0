// live_worker.js - the worker of a live page, loaded after wasi.js. It runs the tool once per message:
//
//   {module, files}         once: the module, or base64 of its bytes as raw deflate, and the model's files, [path, bytes].
//                           Bytes are base64 of raw deflate, even bytes before odd ones, or a File that a person chose
//   {id, args, wanted, more}
//                           a command line. `wanted`: 'page' for the document of a page that is written
//                           to page.html, 'file' for the one file that is written, else undefined. `more`:
//                           files in addition to those of the model, bytes by their paths
//
// It replies with {isReady, module} or {problem}, and with {id, code, out, err, ms, page or file}.

// Decodes base64. There are many bytes, and Uint8Array.from(text, function) would take ten times as
// long.
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const packed = atob(text), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

// Decodes base64 of raw deflate.
async function unpack(text) {
  const stream = new Blob([fromBase64(text.trim())]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Returns the bytes of a file. Those of the page have even bytes first (page_live.c).
async function bytesOf(packed) {
  if (typeof packed !== 'string') return new Uint8Array(await packed.arrayBuffer());
  const halves = await unpack(packed), { length } = halves, bytes = new Uint8Array(length), odd = length - (length >> 1);
  for (let i = 0; i < length; i++) bytes[i] = halves[(i >> 1) + (i & 1) * odd];
  return bytes;
}

let module, files;

async function start(asked) {
  const compiled = typeof asked.module === 'string' ? unpack(asked.module).then(wasiCompile) : asked.module;
  let contents;
  [module, ...contents] = await Promise.all([compiled, ...asked.files.map(([, packed]) => bytesOf(packed))]);
  files = Object.fromEntries(asked.files.map(([path], i) => [path, contents[i]]));
}

function answer({ id, args, wanted, more }) {
  const begun = performance.now(), decoder = new TextDecoder(), given = { ...files, ...more };
  const call = wasiCall(module, ['attn-cli', ...args],
    { files: given, environment: { LC_ALL: 'C.UTF-8', NO_COLOR: '1' } });
  const found = { id, code: call.code, out: decoder.decode(call.out), err: call.err };
  const written = [...call.files].filter(([path]) => !Object.hasOwn(given, path));

  if (wanted === 'page' && call.code === 0) found.page = JSON.parse(decoder.decode(call.files.get('page.html')));
  if (wanted === 'file' && call.code === 0) found.file = written[0][1].slice();
  found.ms = performance.now() - begun;
  return found;
}

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      await start(data);
      postMessage({ isReady: true, module });
    } else {
      postMessage(answer(data));
    }
  } catch (problem) { // for example, out of memory
    postMessage({ id: data.id, problem: String(problem.message ?? problem) });
  }
};
