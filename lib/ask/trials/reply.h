/* reply.h - the reply of a session to a question about its next token (predict/answer.h): the
 * metric, computed from its logits. For the files of this layer and
 * above. */
#pragma once

#include "forward/session_pack.h"
#include "predict/answer_internal.h"
#include "run/run.h"

struct attn_reply {
    double value;  /* value of the metric */
    double kl;     /* KL(p of the base || p) at the position, in nats; NaN without p */
    double total;  /* attn_answer_total: log-sum-exp of the logits at the position */
    int64_t first; /* attn_answer_first: the most probable token; the first one in a tie */
    double right;  /* attn_answer_right; 0 without a target */
};

/* The inputs and outputs of reading the replies of N texts. */
struct attn_reading {
    const float *base;          /* logits of the unchanged run; NULL if this is the unchanged run */
    double base_total;          /* `total` of the unchanged run */
    float *logits;              /* [n, attn_answer_n_logit] receives the logits at the position */
    struct attn_reply *replies; /* [n] */
};

/* Reads the reply of SESSION after it was fed one text. With ATTN_CACHE_ONE_LAYER, the queries of
 * attn_answer_select must have been watched. */
enum attn_status attn_answer_read(const struct attn_answer *answer, struct attn_session *session,
                                  const struct attn_reading *reading, struct attn_error *err);

/* Whether answers to METRIC can be right or wrong. This needs a target; kl and ce have none. */
static inline bool attn_metric_has_right(enum attn_answer_metric metric)
{
    return metric != ATTN_ANSWER_KL && metric != ATTN_ANSWER_CE;
}

/* Returns the cell for RIGHT (attn_answer_right); missing for ties, and for answers that cannot be
 * right or wrong. */
struct attn_cell attn_reply_right(const struct attn_answer *answer, double right);

enum { ATTN_ANSWERS_MOST = 2 };

/* Reads the replies to ANSWERS [n], 1 .. ATTN_ANSWERS_MOST, after SESSION was fed n texts of equal
 * length together. Answer i is about text i. */
enum attn_status attn_answer_read_each(const struct attn_answer *answers, size_t n,
                                       struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err);

/* Returns how many numbers of a row the output layer reads. */
size_t attn_answer_width(const struct attn_answer *answer);

/* For N texts, the data from which their replies can be computed after the session was reset. */
struct attn_kept {
    size_t n;
    float *rows; /* [n, attn_answer_width] input of the output layer at the position */
    double *ce;  /* [n] cross-entropies, if that is the metric */
};

/* Appends the data of the N texts of SESSION to KEPT, which must have room. */
enum attn_status attn_answer_keep(const struct attn_answer *answer, struct attn_session *session,
                                  size_t n, struct attn_kept *kept, struct attn_error *err);

/* Computes the replies of KEPT with the output layer of SESSION, in one matrix product. */
enum attn_status attn_answer_read_kept(const struct attn_answer *answer,
                                       const struct attn_kept *kept, struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err);

/* Selects the positions whose logits ANSWER reads. Only the queries of the selection are used; its
 * site is the embedding, which costs nothing to emit. The caller owns *SELECTION. */
enum attn_status attn_answer_select(const struct attn_answer *answer,
                                    struct attn_selection **selection, struct attn_error *err);
