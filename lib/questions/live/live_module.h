/* live_module.h - finds this tool as a WebAssembly module, which a live page embeds. */
#pragma once

#include "base/status.h"

/* Finds the path of the module; the caller frees it with attn_free. GIVEN, unless NULL or empty, is
 * that path. Otherwise searches for attn.wasm near the file that contains this library, a shared
 * library or a program: in a build tree in the folder `wasm` beside its folder; in an installation
 * in its own folder, then in share/attn-cli. ATTN_IO lists the places where it was expected. */
enum attn_status attn_live_module_find(const char *given, char **path, struct attn_error *err);

/* Finds the module of a library that is in the file CODE, an absolute path. */
enum attn_status attn_live_module_find_near(const char *code, char **path, struct attn_error *err);
