/* reply.h - what a session replies to a question about its next token (run/answer.h): the metric,
 * read from its logits. For the files of this layer. */
#ifndef ATTN_EXPERIMENT_REPLY_H
#define ATTN_EXPERIMENT_REPLY_H

#include "model/session_pack.h"
#include "run/answer_internal.h"
#include "run/run_internal.h"

/* What a session replies. */
struct attn_reply {
    double value;  /* of the metric */
    double kl;     /* KL(p of the base || p) at the position, in nats */
    double total;  /* ln sum exp of the logits at the position */
    int32_t first; /* the most probable token; of equal ones the first */
};

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

enum { ATTN_ANSWERS_MOST = 2 };

/* The same of ANSWERS [n], 1 .. ATTN_ANSWERS_MOST, each about its own text: texts of one length,
 * fed side by side. */
enum attn_status attn_answer_read_each(const struct attn_answer *answers, size_t n,
                                       struct attn_session *session,
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
