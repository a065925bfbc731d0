/* model_internal.h - the fields of an open model, and the table of the built-in ones. */
#pragma once

#include "formats/bundle.h"
#include "formats/opener.h"
#include "kernels/gemm_internal.h"
#include "model/builtin.h"
#include "model/model.h"
#include "model/model_extra.h"
#include "model/weights.h"

#include <stdatomic.h>

/* The parts that a pooled vector may consist of: a row, the largest value of each column, or sums
 * of the rows: their mean, their sum divided by the root of their number, and their mean weighted
 * by 1, 2, 3 ... */
enum attn_pooled {
    ATTN_POOLED_FIRST = 1,
    ATTN_POOLED_MAX = 2,
    ATTN_POOLED_MEAN = 3,
    ATTN_POOLED_SQRT = 4,
    ATTN_POOLED_WEIGHTED = 5,
    ATTN_POOLED_LAST = 6
};

static inline bool attn_pooled_is_sum(enum attn_pooled pool)
{
    return pool >= ATTN_POOLED_MEAN && pool <= ATTN_POOLED_WEIGHTED;
}

/* A module that follows the pooling of a sentence model: y = act(x W + b), or y = normalize(x) w +
 * b, or with neither y = x / |x|. */
struct attn_sentence_step {
    struct attn_linear map;
    struct attn_norm_weights norm;
    bool has_activation;
    enum attn_activation activation;
    struct attn_tensor_files *files; /* owns; map and norm borrow from these files */
};

enum { ATTN_SENTENCE_MOST = 8 };

/* A named text that users can put in front of their texts. */
struct attn_sentence_prompt {
    char *name, *text; /* owned */
};

/* How a sentence model computes the vector of a text (sentence.c). */
struct attn_sentence {
    /* The pooled vectors that are concatenated, each an enum attn_pooled, as hexadecimal digits,
     * the lowest first. 0: the model computes no vector. */
    unsigned pools;
    size_t n_step, most; /* most: the width of the widest intermediate vector */
    struct attn_sentence_step steps[ATTN_SENTENCE_MOST];
    struct attn_sentence_prompt *prompts; /* owns; [n_prompt] */
    size_t n_prompt;
    bool omits_prompt;      /* pools without the tokens of the prompt */
    const char *similarity; /* static: how its users compare vectors, unless by the cosine */
    const struct attn_sentence_prompt *usual; /* the default prompt; NULL: no default */
};

static inline size_t attn_sentence_n_pool(const struct attn_sentence *sentence)
{
    size_t n = 0;

    for (unsigned left = sentence->pools; left > 0; left >>= 4)
        n++;
    return n;
}

/* Returns the factor of row number I in the sum POOL, and what divides the sum of N rows, of which
 * MASK, if any, leaves some out. */
static inline double attn_pooled_weight(enum attn_pooled pool, size_t i)
{
    return pool == ATTN_POOLED_WEIGHTED ? (double)(i + 1) : 1;
}
double attn_pooled_total(enum attn_pooled pool, const int32_t *mask, size_t n);

/* Returns the row that POOL, the first or the last one, takes of N. */
size_t attn_pooled_row(enum attn_pooled pool, const int32_t *mask, size_t n);

struct attn_request_reading;
struct attn_sequence;
struct attn_tokenizer;

/* What reads how a model computes the vector of a text. */
struct attn_sentence_reader {
    /* Reads the modules of SOURCE, if the text model has some, into MODEL, whose weights are bound.
     */
    enum attn_status (*read)(const struct attn_source *source, struct attn_model *model,
                             struct attn_error *err);
    void (*release)(struct attn_sentence *sentence);
    /* Sets *text to the prompt NAME of MODEL, borrowed: of no name to the default one, or NULL; of
     * "off" to NULL, if the model has prompts, but none of that name. Returns ATTN_INVALID, and
     * lists the model's prompts, if there is no such prompt. */
    enum attn_status (*find_prompt)(const struct attn_model *model, const char *name,
                                    const char **text, struct attn_error *err);
    /* Leaves the tokens of the prompt of SEQUENCE, which was encoded, out of its vector. */
    enum attn_status (*omit_prompt)(const struct attn_request_reading *reading,
                                    const struct attn_tokenizer *tokenizer,
                                    struct attn_sequence *sequence, struct attn_error *err);
};

/* NULL: modules are not read, and there are no prompts. In lib/parts.c. */
extern const struct attn_sentence_reader *const attn_sentences;

/* Parts of a source with an adapter: they are read only if they are overrides. */
#define ATTN_ADAPTER_CONFIG "adapter_config.json"
#define ATTN_ADAPTER_WEIGHTS "adapter_model.safetensors"

/* The weights that an adapter changes. They are bound and not packed. */
struct attn_adapter_target {
    struct attn_weights *weights;
    struct attn_config *config;
    bool is_bundle, is_part; /* is_part: of a model with other parts, which are not read */
    struct attn_pool *pool;  /* or NULL */
};

struct attn_adapter;

/* What reads adapters. */
struct attn_adapter_reader {
    /* Opens the adapter of SOURCE, whose file of weights is *path then, borrowed. Sets *adapter to
     * NULL if SOURCE has none. ATTN_UNSUPPORTED, with the name of the field, for an adapter that is
     * not plain LoRA; ATTN_FORMAT if files are malformed. */
    enum attn_status (*open)(const struct attn_source *source, enum attn_load load,
                             struct attn_adapter **adapter, const char **path,
                             struct attn_error *err);
    void (*free)(struct attn_adapter *adapter); /* after the weights */
    /* Applies the changes of ADAPTER that are about TARGET. The weights borrow from ADAPTER. A
     * model with an encoder has two targets. */
    enum attn_status (*apply)(struct attn_adapter *adapter,
                              const struct attn_adapter_target *target, struct attn_error *err);
    /* Returns ATTN_UNSUPPORTED, and names the module, if a change of ADAPTER was not applied,
     * unless it is of the other tower of MODEL, called NAME, or of a part that is not read. */
    enum attn_status (*check_used)(const struct attn_adapter *adapter,
                                   const struct attn_model *model, const char *name,
                                   struct attn_error *err);
};

/* NULL: adapters are refused. In lib/parts.c. */
extern const struct attn_adapter_reader *const attn_adapters;

/* If the config JSON of SOURCE, or a file beside it, says that weights are quantized, opens *files
 * unless that is done, and replaces these weights by float32 tensors, which attn_tensor_files_make
 * decodes. ATTN_UNSUPPORTED, with the name of the method, if they are not read. */
typedef enum attn_status attn_unpack_fn(const struct attn_source *source,
                                        const struct attn_json *json,
                                        const struct attn_config *config, enum attn_load load,
                                        struct attn_tensor_files **files, struct attn_error *err);
extern attn_unpack_fn *const attn_unpack; /* NULL: refused by their types. In lib/parts.c */

/* Gives the tensors of MODEL's files the names that its family knows: leaves out what other
 * programs put in front of them, and the parts of a model that are not read. Notes in OPTIONS what
 * was in front of the names. Returns ATTN_UNSUPPORTED for files with an adapter inside. */
typedef enum attn_status attn_rename_fn(struct attn_model *model,
                                        const struct attn_model_options *options,
                                        struct attn_error *err);
extern attn_rename_fn *const attn_rename_tensors; /* NULL: they have these names. In lib/parts.c */

struct attn_speech;

/* What reads how an encoder hears sound, and how its decoder says when words were spoken. */
struct attn_speech_reader {
    /* Sets `speech` of MODEL's encoder, from SOURCE and the trees of config.json and
     * generation_config.json, which may be NULL. Failures are kept in it until there is sound. */
    enum attn_status (*read)(const struct attn_source *source, struct attn_json *const json[2],
                             struct attn_model *model, struct attn_error *err);
    void (*free)(struct attn_speech *speech);
};

extern const struct attn_speech_reader *const attn_speech_reader; /* NULL: none. lib/parts.c */

struct attn_model {
    struct attn_speech *speech; /* owns: of an encoder; or NULL */
    struct attn_config config;  /* borrows from layers */
    struct attn_sentence sentence;
    struct attn_config_layers layers;
    const struct attn_tensor_files *st; /* the weights borrow from these files */
    struct attn_tensor_files *files;    /* owns: st, if it is safetensors */
    struct attn_bundle *bundle;         /* owns: the GGUF file, if st is part of one */
    struct attn_opened opened;          /* owns: the file of another program that st is part of */
    struct attn_adapter *adapter;       /* owns: what changed the weights, or NULL */
    const struct attn_family *naming;   /* names the tensors in st */
    /* For a decoder beside encoders that are not read: its row, and the number of their tensors. */
    const struct attn_decoder_part *part;
    size_t n_outside;
    char *code; /* owns; the file of own code that config.json names for the model; or NULL */
    struct attn_weights weights;
    struct attn_model *encoder; /* owns: the encoder, which borrows `st`; or NULL */
    struct attn_model *tower;   /* owns: the same for an encoder of the pictures in prompts; in a
                                   GGUF file beside that of the model it has files of its own */
    const struct attn_bundle *projector; /* the file that has the tower, or NULL */
    bool has_found_tower;                /* nobody named that file */
    struct attn_error no_tower;          /* why a GGUF file has none */
    struct attn_model *whole;  /* owns: the decoder whose tower this is, from which it was taken */
    enum attn_compute compute; /* number format in which weights are multiplied */
    char *name;                /* owns */
    char *types;               /* owns: the folder that keeps types of heads; or NULL */
    bool has_engine;           /* attn_model_start_engine has started the engine below */
    struct attn_gemm_engine engine;
    enum attn_gemm gemm;
    enum attn_isa isa;
    atomic_ullong *work; /* owns: the multiply-adds of all its sessions so far */
    float *label_rows;   /* [labels, d_projected] owns the output matrix of a zero-shot classifier,
                            which borrows everything else from another model. Else NULL */
    const char **label_names; /* [labels] owns the array */
};

/* Returns the model that runs before MODEL: its encoder, or its tower; NULL: none. */
static inline const struct attn_model *attn_model_before(const struct attn_model *model)
{
    return model->encoder ? model->encoder : model->tower;
}

/* Starts the matrix product engine once for all sessions of a reused MODEL with GEMM and ISA,
 * because each start tests whether libxsmm's code can be executed. Call it before any session is
 * created. If memory is short, each session tries again. */
void attn_model_start_engine(struct attn_model *model, enum attn_gemm gemm, enum attn_isa isa);

/* Adds WORK, the multiply-adds of a new session, to MODEL's count. Returns the new count. */
double attn_model_add_work(const struct attn_model *model, double work);

/* Checks that IDS [n], at positions from FIRST on, are tokens. Returns ATTN_INVALID, naming the
 * first that is not. */
enum attn_status attn_model_check_ids(const struct attn_model *model, const int32_t *ids, size_t n,
                                      size_t first, struct attn_error *err);

/* Checks that TYPES [n] are token types of the model. */
enum attn_status attn_model_check_types(const struct attn_model *model, const int32_t *types,
                                        size_t n, struct attn_error *err);

/* Reads the embedding rows of a text IDS [n] into X [n, De], with token dropout, which depends on
 * the whole text. */
void attn_model_gather(const struct attn_model *model, const struct attn_kernels *kernels,
                       const int32_t *ids, size_t n, float *x);

struct attn_tensor_files;

/* Returns the directory of the weight files, borrowed. It includes tensors that the model does not
 * use. */
const struct attn_tensor_files *attn_model_files(const struct attn_model *model);

/* Returns the adapter that changed the weights of the model, borrowed; NULL without one. */
const struct attn_adapter *attn_model_adapter(const struct attn_model *model);

/* Returns the GGUF file of the model, borrowed; NULL if its files are safetensors. */
const struct attn_bundle *attn_model_bundle(const struct attn_model *model);

struct attn_builtin_model {
    const char *name;
    const struct attn_blob *blobs; /* [n_blob] */
    size_t n_blob;
};

/* Ends with a row without a name. Defined in builtin_files.S or builtin_files_wasm.c. */
extern const struct attn_builtin_model attn_builtin_models[] __attribute__((visibility("hidden")));

/* Returns the name of built-in model number I, in alphabetical order; NULL after the last. */
const char *attn_builtin_name(size_t i);

/* Reads rows IDS [n] of the embedding as float32, without positions, into X [n, d_embed]. For the
 * text that cross-attention reads (attn_session_set_source), or to change embeddings before
 * attn_session_feed_embeddings. Returns ATTN_INVALID for an id outside 0 to n_vocab-1. */
enum attn_status attn_model_embed(const struct attn_model *model, const int32_t *ids, size_t n,
                                  float *x, struct attn_error *err);

/* Whether ADDRESS lies in the mapped weights. For the SIGBUS handler of a host, after another
 * program truncated a file. Async-signal-safe. */
bool attn_model_owns_address(const struct attn_model *model, const void *address);
