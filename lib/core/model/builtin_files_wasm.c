/* builtin_files_wasm.c - an empty list: a WebAssembly module contains no models; its host provides
 * them as files. */
#include "model/model_internal.h"

const struct attn_builtin_model attn_builtin_models[] = {{0}};
