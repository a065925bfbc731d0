/* gguf_keys.h - reads keys of GGUF files, and writes members of a config.json. The first failure is
 * kept; the rest then has no effect. For the files of this layer. */
#pragma once

#include "base/buffer.h"
#include "base/status_internal.h"
#include "families/gguf_form.h"
#include "gguf/gguf.h"
#include "model/family.h"

struct attn_gguf_writing {
    const struct attn_bundle *gguf;
    const char *prefix; /* of keys: "llama", "clip.vision" */
    const struct attn_family *family;
    const struct attn_gguf_form *form; /* of FAMILY */
    struct attn_buffer *json;
    struct attn_error *err;
    const char *path;        /* quoted, for messages */
    enum attn_status status; /* of the first failure; the rest then has no effect */
    size_t n_layer, n_left_out, d_model, d_mlp, n_head, n_kv_head, d_head, n_ctx;
    size_t d_wide; /* of heads in layers without a window, if they are wider */
    /* [n_layer] key heads and widths of MLPs, if a layer may have none or its own (gguf_layers.h).
     */
    size_t *kv_heads, *mlps;
};

/* The full name of a key in the file, such as "llama.block_count". */
struct attn_gguf_full_key {
    char text[96];
};

struct attn_gguf_full_key attn_gguf_full_key(const struct attn_gguf_writing *w, const char *key);

bool attn_gguf_has_key(const struct attn_gguf_writing *w, const char *key);
bool attn_gguf_has_tensor(const struct attn_gguf_writing *w, const char *name);

/* Fails with STATUS and the message "'KEY' in 'FILE' " and FORMAT. */
ATTN_PRINTF(4, 5)
void attn_gguf_refuse(struct attn_gguf_writing *w, enum attn_status status, const char *key,
                      const char *format, ...);

/* Fails if KEY is missing. */
void attn_gguf_require(struct attn_gguf_writing *w, const char *key);

/* Fails unless N, the value of KEY, divides WHOLE, that of WHOLE_KEY. */
void attn_gguf_check_divides(struct attn_gguf_writing *w, const char *key, size_t n,
                             const char *whole_key, size_t whole);

/* The getters return USUAL if the key is absent. */
size_t attn_gguf_key_count(struct attn_gguf_writing *w, const char *key, size_t usual);
/* Returns a size from 1 to MAX. USUAL 0: the key is required. */
size_t attn_gguf_key_size(struct attn_gguf_writing *w, const char *key, size_t max, size_t usual);
bool attn_gguf_key_bool(struct attn_gguf_writing *w, const char *key, bool usual);
/* Returns a number from LOW to HIGH. */
double attn_gguf_key_real(struct attn_gguf_writing *w, const char *key, double low, double high,
                          double usual);

/* Writes a size. If KEY is NULL, the config has no such key, and nothing is written. */
void attn_gguf_put_size(const struct attn_gguf_writing *w, const char *key, size_t n);
/* Writes the size that attn_gguf_key_size returns as NAME. */
void attn_gguf_copy_size(struct attn_gguf_writing *w, const char *name, const char *key, size_t max,
                         size_t usual);
void attn_gguf_put_bool(const struct attn_gguf_writing *w, const char *key, bool value);
/* Writes a number. A float32 is written as its shortest decimal, 0.1 say, as in a config.json. */
void attn_gguf_put_real(const struct attn_gguf_writing *w, const char *key, double value);

/* Returns a share of WHOLE that gives exactly PART when it is multiplied again. */
double attn_gguf_share_of(size_t part, size_t whole);
