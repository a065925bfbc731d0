/* gguf_row.c - GGUF files as one row of readers of models (formats/bundle.h). */
#include "formats/bundle.h"
#include "gguf/gguf.h"
#include "gguf/gguf_config.h"
#include "gguf/gguf_naming.h"
#include "gguf/gguf_vocabulary.h"

const struct attn_bundle_reader attn_bundle_of_gguf = {
    ATTN_GGUF_PART,          "GGUF",           ATTN_MMPROJ_PART,        attn_gguf_is_source,
    attn_gguf_take,          attn_gguf_free,   attn_gguf_files,         attn_gguf_write_config,
    attn_gguf_finish_config, attn_gguf_naming, attn_tokenizer_gguf_read};
