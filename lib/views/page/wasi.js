// wasi.js - the host of a WebAssembly module of WASI, preview 1. It provides arguments, an
// environment, standard streams, a clock, and files in memory.
//
//   const module = await wasiCompile(bytes);
//   const call = wasiCall(module, ['attn-cli', 'run', '--json', '-', text], { files });
//   call.code, call.out, call.err, call.files
//
// Each call makes a new instance with its own memory, so that calls do not affect each other.
'use strict';

const wasiErrors = { OK: 0, BADF: 8, EXIST: 20, INVAL: 28, ISDIR: 31, NOENT: 44, NOSYS: 52, NOTDIR: 54 };
const WASI_DIRECTORY = 3, WASI_FILE = 4, WASI_UNKNOWN = 0; // types of files
const WASI_CREATE = 1, WASI_IS_DIRECTORY = 2, WASI_EXCLUSIVE = 4, WASI_TRUNCATE = 8; // open flags
const WASI_ROOT = 3; // descriptor of the root folder

class WasiExit {
  constructor(code) {
    this.code = code;
  }
}

// Bytes that can grow. The bytes of a given file are borrowed until they are written.
class WasiBytes {
  constructor(bytes, isBorrowed) {
    this.bytes = bytes;
    this.size = bytes.length;
    this.isBorrowed = isBorrowed;
  }

  reserve(size) {
    if (size <= this.bytes.length && !this.isBorrowed) return;
    const grown = new Uint8Array(Math.max(size, 2 * this.bytes.length, 1024));
    grown.set(this.bytes.subarray(0, this.size));
    this.bytes = grown;
    this.isBorrowed = false;
  }

  write(offset, part) {
    this.reserve(offset + part.length);
    this.bytes.set(part, offset);
    this.size = Math.max(this.size, offset + part.length);
  }

  resize(size) {
    this.reserve(size);
    if (size < this.size) this.bytes.fill(0, size, this.size);
    this.size = size;
  }

  get all() {
    return this.bytes.subarray(0, this.size);
  }
}

// Returns the path without empty parts and dots: 'a/b'. All paths begin at the root.
function wasiPath(path) {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

// The functions that a module imports, for one call. FILES is a Map from paths to WasiBytes.
class WasiHost {
  constructor(args, environment, files) {
    const encoder = new TextEncoder();
    const terminated = texts => texts.map(text => encoder.encode(text + '\0'));
    this.decoder = new TextDecoder();
    this.args = terminated(args);
    this.environment = terminated(Object.entries(environment).map(([name, value]) => name + '=' + value));
    this.files = files;
    this.folders = new Set(['']);
    for (const path of files.keys()) this.addFolders(path);
    this.out = new WasiBytes(new Uint8Array(0));
    this.err = new WasiBytes(new Uint8Array(0));
    this.open = new Map([
      [0, { type: WASI_UNKNOWN, bytes: new WasiBytes(new Uint8Array(0)), at: 0 }],
      [1, { type: WASI_UNKNOWN, bytes: this.out, isStream: true }],
      [2, { type: WASI_UNKNOWN, bytes: this.err, isStream: true }],
      [WASI_ROOT, { type: WASI_DIRECTORY, path: '' }],
    ]);
  }

  addFolders(path) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
      this.folders.add(path.slice(0, end));
  }

  // --- Memory: numbers are little endian, and pointers 32 bits ---

  get view() {
    return new DataView(this.memory.buffer);
  }

  bytesAt(pointer, size) {
    return new Uint8Array(this.memory.buffer, pointer, size);
  }

  pathAt(descriptor, pointer, size) {
    const folder = this.open.get(descriptor);
    const path = this.decoder.decode(this.bytesAt(pointer, size).slice());
    return wasiPath((folder && folder.path ? folder.path + '/' : '') + path);
  }

  // Calls USE with each of the N pieces of memory that the list at POINTER describes, until USE
  // returns false.
  eachPart(pointer, n, use) {
    const view = this.view;
    for (let i = 0; i < n; i++) {
      const part = this.bytesAt(view.getUint32(pointer + 8 * i, true), view.getUint32(pointer + 8 * i + 4, true));
      if (use(part) === false) return;
    }
  }

  putStat(pointer, path, type, size) {
    const view = this.view;
    this.bytesAt(pointer, 64).fill(0);
    view.setBigUint64(pointer + 8, BigInt(this.numberOf(path)), true);
    view.setUint8(pointer + 16, type);
    view.setBigUint64(pointer + 24, 1n, true);
    view.setBigUint64(pointer + 32, BigInt(size), true);
    return wasiErrors.OK;
  }

  // Returns a number for PATH, used as its inode. It is the same during the whole call.
  numberOf(path) {
    this.numbers ??= new Map();
    if (!this.numbers.has(path)) this.numbers.set(path, this.numbers.size + 1);
    return this.numbers.get(path);
  }

  // --- Arguments and the rest of a process ---

  putTexts(texts, pointers, place) {
    for (const text of texts) {
      this.view.setUint32(pointers, place, true);
      this.bytesAt(place, text.length).set(text);
      pointers += 4;
      place += text.length;
    }
    return wasiErrors.OK;
  }

  putTextSizes(texts, number, size) {
    this.view.setUint32(number, texts.length, true);
    this.view.setUint32(size, texts.reduce((sum, text) => sum + text.length, 0), true);
    return wasiErrors.OK;
  }

  args_get(pointers, place) {
    return this.putTexts(this.args, pointers, place);
  }

  args_sizes_get(number, size) {
    return this.putTextSizes(this.args, number, size);
  }

  environ_get(pointers, place) {
    return this.putTexts(this.environment, pointers, place);
  }

  environ_sizes_get(number, size) {
    return this.putTextSizes(this.environment, number, size);
  }

  clock_time_get(clock, precision, pointer) {
    const now = clock === 0 ? Date.now() : performance.now();
    this.view.setBigUint64(pointer, BigInt(Math.round(now * 1e6)), true);
    return wasiErrors.OK;
  }

  random_get(pointer, size) {
    for (let at = 0; at < size; at += 65536)
      crypto.getRandomValues(this.bytesAt(pointer + at, Math.min(65536, size - at)));
    return wasiErrors.OK;
  }

  proc_exit(code) {
    throw new WasiExit(code);
  }

  poll_oneoff() {
    return wasiErrors.NOSYS;
  }

  // --- Open files ---

  fd_prestat_get(descriptor, pointer) {
    if (descriptor !== WASI_ROOT) return wasiErrors.BADF;
    this.view.setUint32(pointer, 0, true);
    this.view.setUint32(pointer + 4, 1, true);
    return wasiErrors.OK;
  }

  fd_prestat_dir_name(descriptor, pointer) {
    this.bytesAt(pointer, 1)[0] = '/'.charCodeAt(0);
    return wasiErrors.OK;
  }

  fd_fdstat_get(descriptor, pointer) {
    const file = this.open.get(descriptor);
    if (!file) return wasiErrors.BADF;
    this.bytesAt(pointer, 24).fill(0xff); // all rights
    this.view.setUint8(pointer, file.type);
    this.view.setUint16(pointer + 2, 0, true);
    return wasiErrors.OK;
  }

  fd_filestat_get(descriptor, pointer) {
    const file = this.open.get(descriptor);
    if (!file) return wasiErrors.BADF;
    return this.putStat(pointer, file.path ?? '', file.type, file.bytes ? file.bytes.size : 0);
  }

  fd_filestat_set_size(descriptor, size) {
    this.open.get(descriptor).bytes.resize(Number(size));
    return wasiErrors.OK;
  }

  fd_fdstat_set_flags() {
    return wasiErrors.OK;
  }

  fd_sync() {
    return wasiErrors.OK;
  }

  fd_datasync() {
    return wasiErrors.OK;
  }

  fd_close(descriptor) {
    return this.open.delete(descriptor) ? wasiErrors.OK : wasiErrors.BADF;
  }

  fd_seek(descriptor, offset, whence, pointer) {
    const file = this.open.get(descriptor);
    if (!file || !file.bytes || file.isStream) return wasiErrors.INVAL;
    file.at = Number(offset) + [0, file.at, file.bytes.size][whence];
    this.view.setBigUint64(pointer, BigInt(file.at), true);
    return wasiErrors.OK;
  }

  fd_pread(descriptor, parts, n, offset, pointer) {
    const file = this.open.get(descriptor);
    if (!file) return wasiErrors.BADF;
    if (!file.bytes) return wasiErrors.ISDIR;
    let at = Number(offset);
    this.eachPart(parts, n, part => {
      const found = file.bytes.all.subarray(at, at + part.length);
      part.set(found);
      at += found.length;
      return found.length === part.length;
    });
    this.view.setUint32(pointer, at - Number(offset), true);
    return wasiErrors.OK;
  }

  fd_read(descriptor, parts, n, pointer) {
    const file = this.open.get(descriptor);
    if (!file) return wasiErrors.BADF;
    const error = this.fd_pread(descriptor, parts, n, file.at, pointer);
    if (error === wasiErrors.OK) file.at += this.view.getUint32(pointer, true);
    return error;
  }

  fd_pwrite(descriptor, parts, n, offset, pointer) {
    const file = this.open.get(descriptor);
    if (!file || !file.bytes) return wasiErrors.BADF;
    let at = Number(offset);
    this.eachPart(parts, n, part => {
      file.bytes.write(at, part);
      at += part.length;
    });
    this.view.setUint32(pointer, at - Number(offset), true);
    return wasiErrors.OK;
  }

  fd_write(descriptor, parts, n, pointer) {
    const file = this.open.get(descriptor);
    if (!file || !file.bytes) return wasiErrors.BADF;
    const error = this.fd_pwrite(descriptor, parts, n, file.isStream ? file.bytes.size : file.at, pointer);
    if (!file.isStream) file.at += this.view.getUint32(pointer, true);
    return error;
  }

  // Writes directory entries of 24 bytes and a name each, beginning with number COOKIE. The last
  // one may be cut.
  fd_readdir(descriptor, place, size, cookie, pointer) {
    const folder = this.open.get(descriptor).path;
    const prefix = folder === '' ? '' : folder + '/';
    const names = new Set();
    for (const path of [...this.files.keys(), ...this.folders])
      if (path.startsWith(prefix) && path.length > prefix.length) names.add(path.slice(prefix.length).split('/')[0]);
    const rows = [];
    for (const [i, name] of [...names].sort().entries()) {
      const bytes = new TextEncoder().encode(name), row = new Uint8Array(24 + bytes.length);
      const view = new DataView(row.buffer);
      view.setBigUint64(0, BigInt(i + 1), true);
      view.setBigUint64(8, BigInt(this.numberOf(prefix + name)), true);
      view.setUint32(16, bytes.length, true);
      view.setUint8(20, this.folders.has(prefix + name) ? WASI_DIRECTORY : WASI_FILE);
      row.set(bytes, 24);
      if (i >= Number(cookie)) rows.push(row);
    }
    let used = 0;
    for (const row of rows) {
      const part = row.subarray(0, size - used);
      this.bytesAt(place + used, part.length).set(part);
      used += part.length;
    }
    this.view.setUint32(pointer, used, true);
    return wasiErrors.OK;
  }

  // --- Paths ---

  path_open(folder, lookup, place, size, how, rights, inherited, flags, pointer) {
    const path = this.pathAt(folder, place, size), isFolder = this.folders.has(path);
    let descriptor = WASI_ROOT + 1, bytes = this.files.get(path);

    if (isFolder && (how & WASI_CREATE)) return wasiErrors.ISDIR;
    if (bytes && (how & WASI_EXCLUSIVE)) return wasiErrors.EXIST;
    if (bytes && (how & WASI_IS_DIRECTORY)) return wasiErrors.NOTDIR;
    if (!bytes && !isFolder) {
      if (!(how & WASI_CREATE) || !this.folders.has(path.slice(0, Math.max(0, path.lastIndexOf('/')))))
        return wasiErrors.NOENT;
      bytes = new WasiBytes(new Uint8Array(0));
      this.files.set(path, bytes);
    }
    if (bytes && (how & WASI_TRUNCATE)) bytes.resize(0);
    while (this.open.has(descriptor)) descriptor++;
    this.open.set(descriptor, { type: isFolder ? WASI_DIRECTORY : WASI_FILE, path, bytes, at: 0 });
    this.view.setUint32(pointer, descriptor, true);
    return wasiErrors.OK;
  }

  path_filestat_get(folder, flags, place, size, pointer) {
    const path = this.pathAt(folder, place, size), bytes = this.files.get(path);
    if (!bytes && !this.folders.has(path)) return wasiErrors.NOENT;
    return this.putStat(pointer, path, bytes ? WASI_FILE : WASI_DIRECTORY, bytes ? bytes.size : 0);
  }

  path_readlink() {
    return wasiErrors.INVAL; // there are no links
  }

  path_create_directory(folder, place, size) {
    const path = this.pathAt(folder, place, size);
    if (this.folders.has(path) || this.files.has(path)) return wasiErrors.EXIST;
    this.folders.add(path);
    return wasiErrors.OK;
  }

  path_remove_directory(folder, place, size) {
    return this.folders.delete(this.pathAt(folder, place, size)) ? wasiErrors.OK : wasiErrors.NOENT;
  }

  path_unlink_file(folder, place, size) {
    return this.files.delete(this.pathAt(folder, place, size)) ? wasiErrors.OK : wasiErrors.NOENT;
  }

  path_rename(folder, place, size, toFolder, toPlace, toSize) {
    const from = this.pathAt(folder, place, size), bytes = this.files.get(from);
    if (!bytes) return wasiErrors.NOENT;
    this.files.delete(from);
    this.files.set(this.pathAt(toFolder, toPlace, toSize), bytes);
    return wasiErrors.OK;
  }
}

// --- Multiply-adds that may round once: f32x4.relaxed_madd is fd 85 02, f64x2.relaxed_madd fd 87 02 ---

// A module with one function that uses a relaxed instruction. An engine without these instructions
// rejects it.
const wasiRelaxedProbe = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0,
  10, 19, 1, 17, 0, 0x41, 0, 0xfd, 15, 0x41, 0, 0xfd, 15, 0x41, 0, 0xfd, 15, 0xfd, 0x85, 2, 11]);

// Returns the places of relaxed instructions in the code section. Each instruction is read, because
// a constant, an offset or the bytes of a vector may look like one.
function wasiRelaxedPlaces(bytes) {
  const places = [];
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0, more = true; more; shift += 7, more = bytes[at++] >= 0x80) value += (bytes[at] & 0x7f) * 2 ** shift;
    return value;
  };
  const pass = n => { while (n-- > 0) number(); };
  const readVector = place => {
    const opcode = number();
    if (opcode === 0x105 || opcode === 0x107) places.push(place);
    else if (opcode === 12 || opcode === 13) at += 16;
    else if (opcode <= 11 || (opcode >= 84 && opcode <= 93)) pass(2);
    if ((opcode >= 21 && opcode <= 34) || (opcode >= 84 && opcode <= 91)) at++;
  };
  const readInstruction = () => {
    const opcode = bytes[at++];
    if (opcode === 0xfd) readVector(at - 1);
    else if (opcode === 0xfc) pass([8, 10, 12, 14].includes(number()) ? 2 : bytes[at - 1] > 7 ? 1 : 0);
    else if (opcode === 0x0e) pass(number() + 1);
    else if (opcode === 0x1c) pass(number());
    else if (opcode === 0x43 || opcode === 0x44) at += opcode === 0x43 ? 4 : 8;
    else if (opcode === 0x11 || opcode === 0x13 || (opcode >= 0x28 && opcode <= 0x3e)) pass(2);
    else if ([2, 3, 4, 0x0c, 0x0d, 0x10, 0x12, 0xd0, 0xd2].includes(opcode) || (opcode >= 0x20 && opcode <= 0x26) ||
             (opcode >= 0x3f && opcode <= 0x42)) pass(1);
  };

  while (at < bytes.length) {
    const isCode = bytes[at++] === 10, sectionEnd = number() + at;
    for (let n = isCode ? number() : 0; n > 0; n--) {
      const end = number() + at;
      for (let nLocals = number(); nLocals > 0; nLocals--) pass(2);
      while (at < end) readInstruction();
      if (at !== end) throw new Error(`an instruction of the module ends at byte ${at}, expected ${end}`);
    }
    at = sectionEnd;
  }
  return places;
}

// Returns the module in BYTES for an engine without relaxed instructions. Each one is replaced by
// v128.bitselect, which has an opcode of the same length and the same operands. It is never used:
// the module tests the result of a relaxed (1 + e)^2, and if that is wrong, computes in other ways,
// more slowly, with the same bits.
function wasiWithoutRelaxed(bytes) {
  const copy = bytes.slice();
  for (const place of wasiRelaxedPlaces(bytes)) copy.set([0xfd, 0xd2, 0], place);
  return copy;
}

// Compiles the module in BYTES. Returns a promise of a WebAssembly.Module.
function wasiCompile(bytes) {
  return WebAssembly.compile(WebAssembly.validate(wasiRelaxedProbe) ? bytes : wasiWithoutRelaxed(bytes));
}

// Runs the WebAssembly.Module MODULE with ARGS, of which the first is the program's name. FILES is
// an object from paths to bytes. call.files is a Map from paths to the bytes of the files at the
// end.
function wasiCall(module, args, { files = {}, environment = {} } = {}) {
  const held = new Map(Object.entries(files).map(([path, bytes]) => [wasiPath(path), new WasiBytes(bytes, true)]));
  const host = new WasiHost(args, environment, held), imports = {};
  let code = 0;

  for (const { name } of WebAssembly.Module.imports(module)) imports[name] = host[name].bind(host);
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
  host.memory = instance.exports.memory;
  try {
    instance.exports._start();
  } catch (problem) {
    if (!(problem instanceof WasiExit)) throw problem;
    code = problem.code;
  }
  return {
    code,
    out: host.out.all,
    err: new TextDecoder().decode(host.err.all),
    files: new Map([...host.files].map(([path, bytes]) => [path, bytes.all])),
  };
}
