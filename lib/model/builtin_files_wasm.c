/* builtin_files_wasm.c - a WebAssembly module has no models: its host gives them to it as files. */
#include "model/model_internal.h"

const struct attn_builtin_model attn_builtin_models[] = {{0}};
