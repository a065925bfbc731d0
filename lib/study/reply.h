/* reply.h - the answer of a session to a question about its next token (predict/answer.h): the
 * metric, computed from its logits. For the files of this layer. */
#ifndef ATTN_STUDY_REPLY_H
#define ATTN_STUDY_REPLY_H

#include "forward/session_pack.h"
#include "predict/answer_internal.h"
#include "run/run_internal.h"

/* The reply of a session. */
struct attn_reply {
    double value;  /* of the metric */
    double kl;     /* KL(p of the base || p) at the position, in nats; NaN without p */
    double total;  /* attn_answer_total: ln sum exp of the logits at the position */
    int64_t first; /* attn_answer_first: the most probable token; the first wins a tie */
    double right;  /* attn_answer_right; 0 without a target */
};

/* The inputs and outputs of reading the replies of N texts. */
struct attn_reading {
    const float *base;          /* logits of the unchanged run; NULL: this is that run */
    double base_total;          /* the base's `total` */
    float *logits;              /* [n, attn_answer_n_logit] at the position */
    struct attn_reply *replies; /* [n] */
};

/* Reads the reply of SESSION after a feed of one text. With ATTN_CACHE_ONE_LAYER the feed must have
 * watched the queries of attn_answer_select. */
enum attn_status attn_answer_read(const struct attn_answer *answer, struct attn_session *session,
                                  const struct attn_reading *reading, struct attn_error *err);

/* Whether tables of items judge answers to METRIC: kl and ce need no target. */
static inline bool attn_metric_has_right(enum attn_answer_metric metric)
{
    return metric != ATTN_ANSWER_KL && metric != ATTN_ANSWER_CE;
}

/* The cell of RIGHT (attn_answer_right); missing for ties, and for values, which are neither. */
struct attn_cell attn_reply_right(const struct attn_answer *answer, double right);

enum { ATTN_ANSWERS_MOST = 2 };

/* Reads the replies to ANSWERS [n], 1 .. ATTN_ANSWERS_MOST, after a feed of n texts of one length
 * together: each answer is about one text. */
enum attn_status attn_answer_read_each(const struct attn_answer *answers, size_t n,
                                       struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err);

/* Numbers of a row that the output layer reads. */
size_t attn_answer_width(const struct attn_answer *answer);

/* The data of N texts that is needed to compute their replies after the session is reset. */
struct attn_kept {
    size_t n;
    float *rows; /* [n, attn_answer_width] input of the output layer at the position */
    double *ce;  /* [n] the cross-entropies, if that is the metric */
};

/* Appends the N texts of SESSION to KEPT, which must have room. */
enum attn_status attn_answer_keep(const struct attn_answer *answer, struct attn_session *session,
                                  size_t n, struct attn_kept *kept, struct attn_error *err);

/* Computes the replies of KEPT by the output layer of SESSION, in one product. */
enum attn_status attn_answer_read_kept(const struct attn_answer *answer,
                                       const struct attn_kept *kept, struct attn_session *session,
                                       const struct attn_reading *reading, struct attn_error *err);

/* Selects the positions whose logits ANSWER reads. The selection is used for its queries only; its
 * site is the embedding, which costs nothing. The caller owns *selection. */
enum attn_status attn_answer_select(const struct attn_answer *answer,
                                    struct attn_selection **selection, struct attn_error *err);

#endif
