/*
 * gguf_projector.h - what reads the pictures of a GGUF model: a file of llama.cpp's architecture
 * `clip` ("mmproj"), or tensors `v.*` and `mm.*` in the model's own file, as Ollama writes Gemma 3.
 *
 *     struct attn_gguf_projector projector = {0};
 *     attn_gguf_projector_find(source, gguf, ATTN_MAP, &projector, &err);
 *     attn_gguf_write_config(gguf, projector.gguf, &json, &err);  // {"model_type": "smolvlm", ...
 *
 * Keys and names are those of gguf-py/gguf/constants.py, and of Ollama's convert_gemma3.go.
 */
#ifndef ATTN_MODEL_GGUF_PROJECTOR_H
#define ATTN_MODEL_GGUF_PROJECTOR_H

#include "base/buffer.h"
#include "base/source.h"
#include "formats/gguf.h"
#include "model/family.h"

struct attn_gguf_projector {
    const struct attn_gguf *gguf; /* has the tensors of the tower; NULL: `why` says why not */
    struct attn_gguf *file;       /* owns: gguf, if it is another file than the model's */
    bool is_found;                /* it lay beside the model and was not named: it may not fit */
    struct attn_error why;
};

/* Whether the file PATH is of the architecture `clip`. */
bool attn_gguf_projector_is_file(const char *path);

/* Whether GGUF is of that architecture. */
bool attn_gguf_projector_is(const struct attn_gguf *gguf);

/* Finds what reads pictures for the model GGUF: the part ATTN_MMPROJ_PART of SOURCE, else the
 * model's own tensors, else the only file of that architecture in its folder. */
enum attn_status attn_gguf_projector_find(const struct attn_source *source,
                                          const struct attn_gguf *gguf, enum attn_load load,
                                          struct attn_gguf_projector *projector,
                                          struct attn_error *err);

/* Writes the config.json of the model GGUF, which sees by PROJECTOR, to JSON, but for its decoder
 * and the last brace. Sets *type to the model_type of the decoder; NULL: that of its family. */
enum attn_status attn_gguf_projector_write(const struct attn_gguf *gguf,
                                           const struct attn_gguf *projector, const char **type,
                                           struct attn_buffer *json, struct attn_error *err);

/* Writes preprocessor_config.json, as the image processor of PROJECTOR's family reads it. */
enum attn_status attn_gguf_projector_write_steps(const struct attn_gguf *projector,
                                                 struct attn_buffer *json, struct attn_error *err);

/* Returns the rules for the names of PROJECTOR's tensors. Its config was written. */
const struct attn_family *attn_gguf_projector_naming(const struct attn_gguf *projector);

#endif
