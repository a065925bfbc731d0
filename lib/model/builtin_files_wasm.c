/* builtin_files_wasm.c - a WebAssembly module has no models: whoever loads it hands them in. */
#include "model/builtin_internal.h"

const struct attn_builtin_model attn_builtin_models[] = {{0}};
