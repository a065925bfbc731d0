/* builtin.c - the table of the files in builtin_files.S. */
#include "builtin.h"

#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern const unsigned char builtin_config[] HIDDEN, builtin_vocabulary[] HIDDEN,
    builtin_weights[] HIDDEN;
extern const uint64_t builtin_config_size HIDDEN, builtin_vocabulary_size HIDDEN,
    builtin_weights_size HIDDEN;

void builtin_blobs(struct attn_blob blobs[BUILTIN_N_BLOB])
{
    blobs[0] = (struct attn_blob){"config.json", builtin_config, builtin_config_size};
    blobs[1] = (struct attn_blob){"vocab.json", builtin_vocabulary, builtin_vocabulary_size};
    blobs[2] = (struct attn_blob){"model.safetensors", builtin_weights, builtin_weights_size};
}
