/* model_internal.h - the fields of an open model, and the table of the built-in ones. */
#ifndef ATTN_MODEL_MODEL_INTERNAL_H
#define ATTN_MODEL_MODEL_INTERNAL_H

#include "formats/gguf.h"
#include "kernels/gemm_internal.h"
#include "model/builtin.h"
#include "model/model_extra.h"
#include "model/weights.h"

#include <stdatomic.h>

/* A module after the pooling of a sentence's rows: y = act(x W + b), or without a map y = x / |x|.
 */
struct attn_sentence_step {
    struct attn_linear map;
    bool has_activation;
    enum attn_activation activation;
    struct attn_tensor_files *files; /* owns; the map borrows from it */
};

enum { ATTN_SENTENCE_MOST = 8 };

/* A text that users put in front of theirs. */
struct attn_sentence_prompt {
    char *name, *text; /* own */
};

/* How a vector is made of a text (sentence.c). */
struct attn_sentence {
    /* Hexadecimal digits, the lowest first: the parts that lie side by side. 1 is the first row, 2
     * the largest and 4 the mean of each column, 8 the last row; 0: no vector is made. */
    unsigned pools;
    size_t n_step, most; /* most: the widest vector on the way */
    struct attn_sentence_step steps[ATTN_SENTENCE_MOST];
    struct attn_sentence_prompt *prompts; /* owns; [n_prompt] */
    size_t n_prompt;
    const struct attn_sentence_prompt *usual; /* the default one; NULL: none */
};

static inline size_t attn_sentence_n_pool(const struct attn_sentence *sentence)
{
    size_t n = 0;

    for (unsigned left = sentence->pools; left > 0; left >>= 4)
        n++;
    return n;
}

/* Reads modules.json of SOURCE, if a text model has it, into MODEL, whose weights are bound. */
enum attn_status attn_sentence_read(const struct attn_source *source, struct attn_model *model,
                                    struct attn_error *err);
void attn_sentence_release(struct attn_sentence *sentence);

/* Sets *text to the prompt NAME of MODEL, borrowed. ATTN_INVALID, with its prompts, if it has no
 * such one. */
enum attn_status attn_sentence_find_prompt(const struct attn_model *model, const char *name,
                                           const char **text, struct attn_error *err);

struct attn_model {
    struct attn_config config; /* borrows from layers */
    struct attn_sentence sentence;
    struct attn_config_layers layers;
    const struct attn_tensor_files *st; /* weights borrow from it */
    struct attn_tensor_files *files;    /* owns: st, of safetensors */
    struct attn_gguf *gguf;             /* owns: the other file that st may be of */
    const struct attn_family *naming;   /* index of the tensors in st */
    struct attn_weights weights;
    struct attn_model *encoder; /* owns: the other stack, which borrows `st`; or NULL */
    enum attn_compute compute;  /* in which numbers weights are multiplied */
    char *name;                 /* owns */
    bool has_engine;            /* attn_model_start_engine started the engine below */
    struct attn_gemm_engine engine;
    enum attn_gemm gemm;
    enum attn_isa isa;
    atomic_ullong *work;      /* owns: multiply-adds that its sessions were given */
    float *label_rows;        /* [labels, d_projected] owns, where texts are the labels; all else is
                               borrowed from another model then. Else NULL */
    const char **label_names; /* [labels] owns the list */
};

/* Starts the matrix product engine for sessions with GEMM and ISA on a MODEL that is reused: once,
 * because each start tests whether libxsmm's code can be executed. Before any session is created.
 * Where there is too little memory for it, each session tries by itself. */
void attn_model_start_engine(struct attn_model *model, enum attn_gemm gemm, enum attn_isa isa);

/* Counts WORK, multiply-adds that a session of MODEL begins; returns all so far. */
double attn_model_add_work(const struct attn_model *model, double work);

/* Whether IDS [n], at positions from FIRST on, are tokens; ATTN_INVALID names one that is not. */
enum attn_status attn_model_check_ids(const struct attn_model *model, const int32_t *ids, size_t n,
                                      size_t first, struct attn_error *err);

/* Whether TYPES [n] are types of tokens of the model. */
enum attn_status attn_model_check_types(const struct attn_model *model, const int32_t *types,
                                        size_t n, struct attn_error *err);

/* Row ID of the embedding as float32, scaled and normalized as the model does: X [De]. */
void attn_model_row(const struct attn_model *model, const struct attn_kernels *kernels, int32_t id,
                    float *x);

/* The rows of a text of IDS [n]: X [n, De], with token dropout of the whole text. */
void attn_model_gather(const struct attn_model *model, const struct attn_kernels *kernels,
                       const int32_t *ids, size_t n, float *x);

struct attn_tensor_files;

/* The directory of its weight files, borrowed: also the tensors that the model does not use. */
const struct attn_tensor_files *attn_model_files(const struct attn_model *model);

/* The GGUF file that they are of, borrowed; NULL: they are safetensors. */
const struct attn_gguf *attn_model_gguf(const struct attn_model *model);

/* Texts or pictures that an input is compared with. */
struct attn_zero_shot_labels {
    const char *const *names; /* [n] */
    const float *embeds;      /* [n, d_projected]: text_embed of each */
    size_t n;
    double scale; /* of cosines */
};

/* A classifier: MODEL, a tower or a model of sentences, with logits of LABELS, the scaled cosine of
 * its vector and each embed. Borrows MODEL and the texts of names. */
enum attn_status attn_model_zero_shot(const struct attn_model *model,
                                      const struct attn_zero_shot_labels *labels,
                                      struct attn_model **labelled, struct attn_error *err);

/* exp(logit_scale), by which cosines are multiplied, from MODEL, the tower of texts. */
double attn_model_logit_scale(const struct attn_model *model);

/* The numeric type in which sessions multiply the weights, from attn_model_options. */
enum attn_compute attn_model_compute(const struct attn_model *model);

struct attn_builtin_model {
    const char *name;
    const struct attn_blob *blobs; /* [n_blob] */
    size_t n_blob;
};

/* Ends with a row without a name. Of builtin_files.S, or builtin_files_wasm.c. */
extern const struct attn_builtin_model attn_builtin_models[] __attribute__((visibility("hidden")));

#endif
