/* live_module.h - where this tool is as a WebAssembly module, which a live page holds. */
#ifndef ATTN_LIVE_LIVE_MODULE_H
#define ATTN_LIVE_LIVE_MODULE_H

#include "base/status.h"

/* The path of the module, which the caller frees with attn_free. GIVEN, unless NULL or empty, is
 * that path. Otherwise attn.wasm is looked for near the file that this library is in, a shared
 * library or a program: where that was built, in the folder `wasm` beside its own; elsewhere in its
 * own folder, then in share/attn-cli of its installation. ATTN_IO says where there is none. */
enum attn_status attn_live_module_find(const char *given, char **path, struct attn_error *err);

/* The module of a library in the file CODE, an absolute path. */
enum attn_status attn_live_module_find_near(const char *code, char **path, struct attn_error *err);

#endif
