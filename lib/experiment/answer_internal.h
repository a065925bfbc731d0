/* answer_internal.h - the token that an experiment asks about, found, and what a session replies.
 * For the files of this layer. */
#ifndef ATTN_EXPERIMENT_ANSWER_INTERNAL_H
#define ATTN_EXPERIMENT_ANSWER_INTERNAL_H

#include "experiment/answer.h"
#include "model/session_pack.h"
#include "run/run_internal.h"

/* What is asked for, found in a run. */
struct attn_answer {
    enum attn_answer_metric metric; /* not AUTO */
    bool has_target, has_foil;
    int32_t target, foil;
    size_t position;
    const struct attn_run *run;
};

const char *attn_answer_metric_name(enum attn_answer_metric metric);

/* Finds what ARGS mean. ATTN_INVALID, at the stage of options, for a text of several tokens, a
 * metric without the target that it needs, a foil without a target, a place that is none. */
enum attn_status attn_answer_find(const struct attn_run *run, const struct attn_answer_args *args,
                                  struct attn_answer *answer, struct attn_error *err);

/* What a session replies. */
struct attn_reply {
    double value;  /* of the metric */
    double kl;     /* KL(p of the base || p) at the position, in nats */
    double total;  /* ln sum exp of the logits at the position */
    int32_t first; /* the most probable token; of equal ones the first */
};

/* What LOGITS [n_vocab] at the position reply: of the unchanged run, so that the metric is not kl,
 * nor ce, which needs those of all positions. */
struct attn_reply attn_answer_reply(const struct attn_answer *answer, const float *logits);

/* What is read, of one text or of N, and where it goes. */
struct attn_reading {
    const float *base;          /* logits of the unchanged run; NULL: this is that run */
    double base_total;          /* and their `total` */
    float *logits;              /* [n, n_vocab] those at the position */
    struct attn_reply *replies; /* [n] */
};

/* Reads the reply of SESSION, which was fed one text. With ATTN_CACHE_ONE_LAYER it must have been
 * fed with the queries of attn_answer_select watched. */
enum attn_status attn_answer_read(const struct attn_answer *answer, struct attn_session *session,
                                  const struct attn_reading *reading, struct attn_error *err);

/* What of N texts, fed side by side, outlives their session: enough to find their replies. */
struct attn_kept {
    size_t n;
    float *rows; /* [n, D] what the output layer reads at the position */
    double *ce;  /* [n] the cross-entropies, if that is the metric */
};

/* Keeps the N texts of SESSION as the last ones of KEPT, which has room. */
enum attn_status attn_answer_keep(const struct attn_answer *answer, struct attn_session *session,
                                  size_t n, struct attn_kept *kept, struct attn_error *err);

/* The replies of KEPT, by the output layer of SESSION, in one product. */
enum attn_status attn_answer_read_kept(const struct attn_answer *answer,
                                       const struct attn_kept *kept, struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err);

/* A selection of the positions whose logits ANSWER reads. Its one site is the embedding, which a
 * session has at hand: the queries are what it is for. The caller's. */
enum attn_status attn_answer_select(const struct attn_answer *answer,
                                    struct attn_selection **selection, struct attn_error *err);

#endif
