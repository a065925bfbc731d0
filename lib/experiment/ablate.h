/*
 * ablate.h - does a part of a model matter: the answer with one part after another switched off.
 *
 *     struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     struct attn_ablate_sum sum;
 *     struct attn_table *table;
 *     attn_ablate(host, &request, &args, &table, &sum, &err);
 *
 * (Michel et al. 1905.10650, Voita et al. 1905.09418.) The table has the row `base`, nothing
 * switched off, and a row a part:
 *
 *     part, layer, head      of neurons the column `neuron` instead of head
 *     value, change          the metric then, and its difference from the base's
 *     kl                     KL(p of the base || p) after the position that is asked about, in nats
 *     same_top             whether the most probable token there is still the same
 *     control, control_sd    with controls: mean change for random choices of as many heads, and
 *                            its standard deviation
 *
 * Of `sets` there is a row a set, with the columns `part, set` instead of the first three.
 *
 * Over many texts each counts once: value, change and kl are means, same_top is a share, and the
 * columns value_sd, change_sd, kl_sd and `texts` follow. The answer is the same in all of them.
 *
 * Over items (study.h) the random choices of controls are the same for all, and control, control_sd
 * are over the choices of the mean over items. is_cumulative goes by the mean change of each part
 * over all items, which are read twice, from a file.
 *
 * A run with a change in layer l begins with the stream that the base had there: the bits are those
 * of a run from the start.
 */
#ifndef ATTN_EXPERIMENT_ABLATE_H
#define ATTN_EXPERIMENT_ABLATE_H

#include "base/table.h"
#include "run/answer.h"
#include "run/run.h"

struct attn_study_args; /* experiment/study.h */

/* What is switched off at a time. X(ID, name, name of a row) */
#define ATTN_ABLATE_PARTS_MAP(X)                                                                   \
    X(HEADS, 0, "heads", "head")       /* z of one head */                                         \
    X(ATTN, 1, "attn", "attn")         /* attn_out of a layer */                                   \
    X(MLP, 2, "mlp", "mlp")            /* mlp_out of a layer */                                    \
    X(LAYERS, 3, "layers", "layer")    /* both: the layer passes the stream on */                  \
    X(NEURONS, 4, "neurons", "neuron") /* one component of mlp_post of one layer */

enum attn_ablate_parts {
#define ATTN_ABLATE_PARTS_ENUM(id, number, ...) ATTN_ABLATE_##id = (number),
    ATTN_ABLATE_PARTS_MAP(ATTN_ABLATE_PARTS_ENUM)
#undef ATTN_ABLATE_PARTS_ENUM
};

/* What replaces it. */
enum attn_ablate_with {
    ATTN_ABLATE_WITH_ZERO = 0,
    ATTN_ABLATE_WITH_MEAN = 1, /* its mean over the positions of the text, or of all references */
    /* What it is at the same positions of one reference, drawn among those as long as the text. */
    ATTN_ABLATE_WITH_RESAMPLE = 2,
    /* The same weight for every key that a query sees, instead of the pattern; of HEADS and ATTN.
     * */
    ATTN_ABLATE_WITH_UNIFORM = 3,
};

/* Heads that are switched off together. */
struct attn_ablate_set {
    const char *heads;    /* as in trace/selection.h */
    const char *name;     /* of its row; NULL: its heads, as they are written */
    const void *later[4]; /* NULL: room for fields of later versions */
};

struct attn_ablate_args {
    size_t size; /* of this struct */
    struct attn_answer_args answer;
    enum attn_ablate_parts parts;
    int layer; /* of neurons */
    enum attn_ablate_with with;
    const struct attn_input *references; /* [n_reference] texts or ids */
    size_t n_reference;
    uint64_t seed;      /* which reference is taken, and which heads controls choose */
    bool is_cumulative; /* parts go one after another, that with the smallest change first */
    size_t n_control;   /* random choices; 0: no controls */
    /* [n_text] instead of the request's input, without is_cumulative and controls; or NULL. */
    const struct attn_input *texts;
    size_t n_text;
    /* [n_set] what each row switches off, instead of one head; of HEADS, without is_cumulative. */
    const struct attn_ablate_set *sets;
    size_t n_set;
    const struct attn_study_args *study; /* items instead of both; or NULL */
};

#define ATTN_ABLATE_ARGS_DEFAULT                                                                   \
    ((struct attn_ablate_args){.size = sizeof(struct attn_ablate_args)})

struct attn_ablate_sum {
    size_t n_row;      /* rows that the first part changed */
    const char *sites; /* of these tensors: "z"; constant */
    size_t n_feed;     /* runs, whole or from a later layer */
};

/* The parts are tried side by side on the host's threads. ARGS may be NULL; the caller owns *table.
 * Errors have a stage. */
ATTN_API enum attn_status attn_ablate(struct attn_host *host, const struct attn_request *request,
                                      const struct attn_ablate_args *args,
                                      struct attn_table **table, struct attn_ablate_sum *sum,
                                      struct attn_error *err);

#endif
