/*
 * inspection.h - the contents of a model or of one file of tensors, as tables (tables/table.h).
 *
 *     struct attn_inspection inspection = ATTN_INSPECTION_DEFAULT;
 *     struct attn_table *tensors;
 *     inspection.weights = attn_model_files(model);
 *     attn_inspect(&inspection, ATTN_INSPECTED_TENSORS, &tensors, &err);
 *     attn_table_write(tensors, ATTN_TABLE_ALIGNED, -1, sink, &err);
 *     attn_table_free(tensors);
 *
 * The model is not run. Weights are only read for ATTN_INSPECTED_NON_FINITE. Counts that do not fit
 * an int64_t are INT64_MAX.
 */
#pragma once

#include "base/source.h"
#include "catalog/cost.h"
#include "gguf/gguf.h"

#include <signal.h>

/*
 * X(ID, name of the table, its subject). A table about one thing has one row; units are in
 * the columns.
 *
 * config: n_ctx is missing if nothing limits it. towers: a row per tower of a directory with two,
 * otherwise no rows: tower, model_type, n_layer, n_head, d_model, n_ctx, parameters. attention: a
 * row per layer, kind, is_cross, mask, is_scaled, eps, factor, and columns that only some models
 * fill: window, score_cap, rope_type, rope_theta, rope_factor, d_rotary. layers: the same in words,
 * a row per run of equal layers: part, difference. differences: the fields that differ from a
 * GPT-2 of the same sizes: name, value. parameters: the elements of each part, total. adapter: a
 * row per tensor that an adapter changes: name, shape, rank and scale (missing if the tensor is
 * replaced), norm_ratio (the norm of the change, divided by that of the tensor). tensors:
 * name, dtype ("4 bits" of a quantized one, whose offset and bytes are those of the file), shape,
 * file, offset, bytes. types: a row per dtype, most values first: dtype,
 * n_tensor, n_value, bytes, share of all values. precision: file_type (its name in GGUF, missing if
 * the tensors do not agree; for quantized folders method, bits and groups), bits_per_weight.
 * metadata: the pairs of a GGUF file: key, type, n (items of an array), value (missing for long
 * arrays). conversion: part, difference: how a GGUF file differs from Hugging Face's. tokenizer:
 * kind (word, char, bpe), n_vocab, unicode (the version of its letters, numbers and scripts),
 * chat_template (the file or key that has it). special: id and token of each special token.
 * prompts: of a model of sentences: name, text, is_default. files: name, bytes; files of weights
 * come last. run: n_token, n_source, n_pair. multiply_adds: per part, total. memory: bytes per
 * part. outputs: a row per site, n_layer, shape in one layer (missing if layers differ), bytes of
 * all layers. kinds: exact attention, then other kinds that the model can have, with a width of
 * sqrt(n_token), rounded up: kind, n_pair, multiply_adds, multiply-adds as a share of exact
 * attention. non_finite: a row per tensor with NaN or infinity: name, n_nan, n_infinite, n_value,
 * first.
 */
#define ATTN_INSPECTED_MAP(X)                                                                      \
    X(CONFIG, config, MODEL)                                                                       \
    X(TOWERS, towers, MODEL)                                                                       \
    X(ATTENTION, attention, MODEL)                                                                 \
    X(LAYERS, layers, MODEL)                                                                       \
    X(DIFFERENCES, differences, MODEL)                                                             \
    X(PARAMETERS, parameters, MODEL)                                                               \
    X(ADAPTER, adapter, MODEL)                                                                     \
    X(TENSORS, tensors, WEIGHTS)                                                                   \
    X(TYPES, types, WEIGHTS)                                                                       \
    X(PRECISION, precision, WEIGHTS)                                                               \
    X(METADATA, metadata, GGUF)                                                                    \
    X(CONVERSION, conversion, GGUF_MODEL)                                                          \
    X(TOKENIZER, tokenizer, TOKENIZER)                                                             \
    X(SPECIAL, special, TOKENIZER)                                                                 \
    X(PROMPTS, prompts, MODEL)                                                                     \
    X(FILES, files, WEIGHTS)                                                                       \
    X(RUN, run, COST)                                                                              \
    X(MULTIPLY_ADDS, multiply_adds, COST)                                                          \
    X(MEMORY, memory, COST)                                                                        \
    X(OUTPUTS, outputs, COST)                                                                      \
    X(KINDS, kinds, COST)                                                                          \
    X(NON_FINITE, non_finite, WEIGHTS)

enum attn_inspected {
#define ATTN_INSPECTED_ENUM(id, name, needs) ATTN_INSPECTED_##id,
    ATTN_INSPECTED_MAP(ATTN_INSPECTED_ENUM)
#undef ATTN_INSPECTED_ENUM
        ATTN_N_INSPECTED
};

/* What to inspect. All pointers are borrowed. */
struct attn_inspection {
    size_t size;                             /* size of this struct */
    const struct attn_model *model;          /* NULL: only a file of tensors */
    const struct attn_tensor_files *weights; /* the weights of the model, or the file of tensors */
    const struct attn_tokenizer *tokenizer;  /* NULL if missing */
    const struct attn_source *source; /* location of the model's other files; NULL: unknown */
    const struct attn_cost *cost;     /* cost of a run of the model (attn_cost_find), or NULL */
    /* nonzero: stops with ATTN_CANCELED; NULL: never canceled */
    const volatile sig_atomic_t *cancel;
    const struct attn_bundle *gguf; /* the file of the weights, if it is GGUF; otherwise NULL */
};

#define ATTN_INSPECTION_DEFAULT ((struct attn_inspection){.size = sizeof(struct attn_inspection)})

/* Returns true if GIVEN has what the table of PART is about. */
bool attn_inspection_has(const struct attn_inspection *given, enum attn_inspected part);

/* Creates the table of PART. ATTN_INVALID if GIVEN lacks what the table is about. */
enum attn_status attn_inspect(const struct attn_inspection *given, enum attn_inspected part,
                              struct attn_table **table, struct attn_error *err);
