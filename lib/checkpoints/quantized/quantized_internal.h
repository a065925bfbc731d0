/* quantized_internal.h - how the files of this room share a folder of quantized weights. */
#pragma once

#include "base/pool.h"
#include "base/source.h"
#include "formats/json.h"
#include "formats/tensor_files_internal.h"
#include "model/config_internal.h"

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

/* Whether CONFIG, the config.json of SOURCE, or a file beside it may have a scheme. */
bool attn_scheme_is_given(const struct attn_source *source, const struct attn_json *config);

/* Reads the scheme of the folder SOURCE: from its config.json, or the file that older programs
 * write beside it. ATTN_UNSUPPORTED, with key and value, for a method that is not read; ATTN_FORMAT
 * for values that are out of range. */
enum attn_status attn_scheme_read(const struct attn_source *source, struct attn_scheme *scheme,
                                  struct attn_error *err);
void attn_scheme_release(struct attn_scheme *scheme);

/* Whether MODE of MLX, or NULL: one other than affine, has BITS bits in groups of GROUP_SIZE. */
bool attn_scheme_fits_mlx(const char *mode, size_t bits, size_t group_size);

/* --- Weights ---------------------------------------------------------------------------------- */

/* Where the code of output o and input i lies, a field of `bits` bits. */
enum attn_code_layout {
    ATTN_CODES_IN_ROWS,    /* rows [n_out] of fields */
    ATTN_CODES_IN_COLUMNS, /* columns [n_out] of 32-bit words, read downwards */
    ATTN_CODES_OF_AWQ,     /* rows [n_in] of fields, eight outputs a word in AWQ's order */
    ATTN_CODES_IN_PAIRS,   /* one row of all values, of two in a byte the high half first */
};

/* The number that a code stands for. */
enum attn_code_values {
    ATTN_VALUES_CODE,   /* itself */
    ATTN_VALUES_SIGNED, /* the same less half of its range */
    ATTN_VALUES_INT8,
    ATTN_VALUES_E2M1,
    ATTN_VALUES_E4M3,
    ATTN_VALUES_E5M2,
    ATTN_VALUES_MAP, /* an element of `map` */
};

/* What is subtracted from the number, by group. */
enum attn_code_zeros {
    ATTN_ZEROS_NONE,
    ATTN_ZEROS_GPTQ, /* rows [n_group] of fields of outputs */
    ATTN_ZEROS_AWQ,  /* the same in AWQ's order */
    ATTN_ZEROS_CT,   /* columns [n_group] of words, less half of the range */
    ATTN_ZEROS_INT8, /* where the factor is */
};

/* A quantized weight X [n_out, n_in]: (number - zero) * factor + offset, each rounded to float32.
 * Input i is in group index[i], or i / group. Borrows the tensors. */
struct attn_coded {
    char *text; /* owns; "X.weight", NUL, and its decoded shape */
    size_t n_out, n_in, bits;
    enum attn_code_layout layout;
    const unsigned char *codes;
    size_t n_code_byte, row_size; /* bytes of the codes, and of a row of them */
    enum attn_code_values values;
    struct attn_tensor map; /* [2^bits] */
    struct attn_tensor
        scale; /* factor k of output o is element o / block * step_out + k * step_in */
    size_t block, step_out, step_in, n_group, group;
    struct attn_tensor index;  /* [n_in] I32, or no data */
    struct attn_tensor offset; /* as scale, or no data */
    enum attn_code_zeros zero_form;
    struct attn_tensor zeros;
    bool is_symmetric, has_stored_zeros; /* of GPTQ */
    struct attn_tensor scale_2;          /* [1] multiplies factors, or no data */
    bool is_divisor;                     /* scale_2 divides them */
    /* Double quantization: elements of scale are codes of nested_map, times nested[k / n_nested],
     * plus nested_offset. */
    struct attn_tensor nested_map, nested;
    size_t n_nested;
    float nested_offset, last; /* last: a factor after the others; 0: none */
    bool is_turned;            /* decoded as [n_in, n_out] */
    int shard;
    size_t offset_in_file, n_stored; /* the codes; the bytes of all its tensors */
    float *out;                      /* [n_out, n_in], not owned; NULL: there is no room for it */
};

/* The quantized weights of a directory. */
struct attn_coded_list {
    struct attn_coded *items; /* [n]; owns */
    size_t n, capacity, size; /* size: bytes of all decoded */
};

/* Finds the quantized weights of FILES, checks their tensors, and replaces these in the directory
 * by one float32 tensor for each weight, whose data are not made yet. */
enum attn_status attn_coded_list_fill(const struct attn_scheme *scheme,
                                      const struct attn_config *config,
                                      struct attn_tensor_files *files, struct attn_coded_list *list,
                                      struct attn_error *err);
