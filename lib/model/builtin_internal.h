/* builtin_internal.h - the table of the models that are part of the library. */
#ifndef ATTN_MODEL_BUILTIN_INTERNAL_H
#define ATTN_MODEL_BUILTIN_INTERNAL_H

#include "model/builtin.h"

struct attn_builtin_model {
    const char *name;
    const struct attn_blob *blobs; /* [n_blob] */
    size_t n_blob;
};

/* Ends with a row without a name. Of builtin_files.S, or builtin_files_wasm.c. */
extern const struct attn_builtin_model attn_builtin_models[] __attribute__((visibility("hidden")));

#endif
