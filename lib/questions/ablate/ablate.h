/*
 * ablate.h - does a part of a model matter: the answer without each part of the model in turn.
 *
 *     struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
 *     struct attn_table *table;
 *     attn_ablate(host, &request, &args, &table, &sum, &err);
 *
 * (Michel et al. 1905.10650, Voita et al. 1905.09418.) The table has the row `base`, the unchanged
 * model, and a row per part:
 *
 *     part, layer, head      for neurons the column `neuron` instead of head
 *     kind                   attention or mixing. A short convolution is one part, without a head
 *     value, change          the metric without the part, and its difference from the base
 *     kl                     KL(p of the base || p) of the next token at the position, in nats
 *     right                  over items, except for kl and ce: whether the answer is right; a share
 *     control, control_sd    with controls: over random choices of as many heads
 *     control_rank           (1 + number of choices that change it as much) / (1 + number of them)
 *
 * With `sets` the table has a row per set, with the columns `part, set` instead of the first three.
 *
 * Over items (study.h) value, change and kl are means, same_top is a share, and the random choices
 * of controls are the same for all items; control and control_sd are over the choices, of the mean
 * change over items. is_cumulative sorts the parts by their mean change over all items, and reads
 * the items twice, from a file.
 *
 * An estimate is of first order: sum (r - a) g over the rows of the part, where a is its tensor, r
 * what replaces it, and g the gradient of the metric in the unchanged run.
 *
 * A run with a change in layer l starts from the base's residual stream at that layer. The result
 * is bit-identical to a run from the start.
 */
#ifndef ATTN_ABLATE_ABLATE_H
#define ATTN_ABLATE_ABLATE_H

#include "predict/answer.h"
#include "run/run.h"
#include "tables/table.h"
#include "trace/lists.h"

struct attn_study_args; /* means/study.h */

/* The kinds of parts. X(ID, number, name) */
#define ATTN_ABLATE_BY_MAP(X)                                                                      \
    X(HEAD, 0, "head")     /* z of one head, or its part of mixer_z */                             \
    X(ATTN, 1, "attn")     /* attn_out of a layer, or mixer_out */                                 \
    X(MLP, 2, "mlp")       /* mlp_out of a layer */                                                \
    X(LAYER, 3, "layer")   /* both outputs: the stream skips the layer */                          \
    X(NEURON, 4, "neuron") /* one component of mlp_post of one layer */

enum attn_ablate_by {
#define ATTN_ABLATE_BY_ENUM(id, number, ...) ATTN_ABLATE_BY_##id = (number),
    ATTN_ABLATE_BY_MAP(ATTN_ABLATE_BY_ENUM)
#undef ATTN_ABLATE_BY_ENUM
};

/* Parts of a picture beside a text: all of it, each tile, each cell of the whole picture. */
enum attn_ablate_picture { ATTN_ABLATE_PICTURE = 0, ATTN_ABLATE_TILE = 1, ATTN_ABLATE_CELL = 2 };

/* What replaces a part. */
enum attn_replacement {
    ATTN_REPLACEMENT_ZERO = 0,
    ATTN_REPLACEMENT_MEAN = 1, /* its mean over the positions of the text, or of all references */
    /* its rows at the same positions of a randomly drawn reference that is at least as long */
    ATTN_REPLACEMENT_RESAMPLE = 2,
    /* equal weights for all keys that a query sees; for HEADS and ATTN */
    ATTN_REPLACEMENT_UNIFORM = 3,
};

/* Heads that are switched off together. */
struct attn_ablate_set {
    struct attn_head_list heads;
    const char *name;     /* name of its row; NULL: the text of `heads`, which must be given */
    const void *later[2]; /* NULL: reserved for fields of later versions */
};

struct attn_ablate_args {
    size_t size; /* size of this struct */
    struct attn_answer_args answer;
    enum attn_ablate_by by;
    int layer; /* layer of the neurons */
    enum attn_replacement replacement;
    const struct attn_input *references; /* [n_reference] texts or ids */
    size_t n_reference;
    uint64_t seed;      /* seed for drawing the reference and the controls */
    bool is_cumulative; /* each row replaces one more part, in the order of the changes that each
                           causes alone */
    size_t n_control;   /* number of random choices; 0: no controls */
    /* [n_set] sets that replace the single heads; for HEADS, without is_cumulative. */
    const struct attn_ablate_set *sets;
    size_t n_set;
    /* items to use instead of the request's input; or NULL */
    const struct attn_study_args *study;
    bool is_of_encoder; /* `layer` is one of the encoder */
    /* Bits of enum attn_ablate_picture: instead of `by`, the rows of these parts of a picture
     * beside the text become the mean of its rows. 0: parts of the model. */
    unsigned picture_parts;
    /* ATTN_TOWER_IMAGE: the parts are those of the tower that encodes the pictures of the text. */
    enum attn_tower tower;
    /* Estimates the changes by gradients, in about two runs: the column `estimate` instead of
     * change, kl, same_top and right. For HEAD, ATTN, MLP, and NEURON of the text's model; not for
     * UNIFORM, sets, is_cumulative and controls. */
    bool is_estimated;
};

#define ATTN_ABLATE_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("ablate", attn_ablate_args)

struct attn_ablate_sum {
    size_t size;       /* of this struct */
    size_t n_row;      /* number of rows that the first part changed */
    const char *sites; /* names of the tensors of these rows: "z"; a constant string */
    size_t n_feed;     /* number of runs, complete or from a later layer on */
};

/* Sets SUM [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_ablate_sum *attn_ablate_sum_init(struct attn_ablate_sum *sum, size_t size);
#define ATTN_ABLATE_SUM_DEFAULT ATTN_DEFAULT_OF(attn_ablate_sum)

/* Runs the parts in parallel on the host's threads. ARGS may be NULL. The caller owns *table.
 * Errors have a stage. */
ATTN_API enum attn_status attn_ablate(struct attn_host *host, const struct attn_request *request,
                                      const struct attn_ablate_args *args,
                                      struct attn_table **table, struct attn_ablate_sum *sum,
                                      struct attn_error *err);

#endif
