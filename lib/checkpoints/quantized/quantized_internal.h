/* quantized_internal.h - how the files of this room share a folder of quantized weights. */
#ifndef ATTN_QUANTIZED_QUANTIZED_INTERNAL_H
#define ATTN_QUANTIZED_QUANTIZED_INTERNAL_H

#include "base/source.h"
#include "formats/json.h"

/* X(ID, its name to people): the programs whose weights are read. */
#define ATTN_QUANTIZER_MAP(X)                                                                      \
    X(NONE, "")                                                                                    \
    X(MXFP4, "MXFP4") /* gpt-oss: experts stay in blocks (model/weights.c) */                      \
    X(MLX, "MLX")                                                                                  \
    X(FP8, "FP8")                                                                                  \
    X(BNB, "bitsandbytes")                                                                         \
    X(AWQ, "AWQ")                                                                                  \
    X(GPTQ, "GPTQ")                                                                                \
    X(CT, "compressed-tensors")

enum attn_quantizer {
#define ATTN_QUANTIZER_ENUM(id, name) ATTN_QUANTIZER_##id,
    ATTN_QUANTIZER_MAP(ATTN_QUANTIZER_ENUM)
#undef ATTN_QUANTIZER_ENUM
};

/* How the weights of one module are stored. */
struct attn_quant_width {
    size_t bits, group_size; /* group_size 0: it follows from shapes, or the whole row */
    const char *mode;        /* of MLX; borrowed from the JSON, or static */
};

/* What a folder says about its weights. Initialize with = {0}; end with attn_scheme_release. */
struct attn_scheme {
    enum attn_quantizer quantizer;
    struct attn_json *json;         /* owns */
    const struct attn_node *object; /* the object in json */
    struct attn_quant_width common; /* of most modules */
    unsigned widths;                /* of compressed-tensors: bit b is set if a group has b bits */
    size_t block[2];                /* rows and columns of an FP8 factor; 0: no blocks */
    bool is_asymmetric, has_stored_zeros; /* of GPTQ: `sym` is false, `gptq_v2` */
};

/* Reads the scheme of the folder SOURCE: from its config.json, or the file that older programs
 * write beside it. ATTN_UNSUPPORTED, with key and value, for a method that is not read; ATTN_FORMAT
 * for values that are out of range. */
enum attn_status attn_scheme_read(const struct attn_source *source, struct attn_scheme *scheme,
                                  struct attn_error *err);
void attn_scheme_release(struct attn_scheme *scheme);

/* Adds the way out to a refusal. Returns STATUS. */
enum attn_status attn_scheme_hint(enum attn_status status, struct attn_error *err);

#endif
