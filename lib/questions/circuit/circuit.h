/*
 * circuit.h - circuits: scores of the edges between the parts of a decoder, by which the answer of
 * one text is that of another.
 *
 *     struct attn_circuit_args args = ATTN_CIRCUIT_ARGS_DEFAULT;
 *     args.corrupted.text = "The key to the door", args.corrupted.n_text = 19;
 *     args.answer.target = " are", args.answer.foil = " is";
 *     attn_circuit(host, &clean, &args, &table, &err);
 *
 * An edge leads from a writer (the input, a head, an MLP) to a reader (the query of a head, key or
 * value of a key head, an MLP, the logits; patch.h, `path`). Its score estimates the effect of a
 * patch of this edge alone:
 *
 *     from, to, score                         the largest first
 *
 *     score = sum over positions of (w_source - w_base) g / (m_source - m_base)
 *
 * w is what the writer adds to the stream, g the gradient of the metric m with respect to the
 * stream that the reader reads, before its norm:
 *
 *     eap      g at the base (Syed et al. 2310.10348)
 *     eap-ig   the mean of g at points between the embeddings of both texts, of which each reader
 *              has its own derivative of its norm (Hanna et al. 2403.17806), by Gauss-Legendre
 *              quadrature
 *     eap-ig:riemann  the same at k/N of the way from the corrupted to the clean text, k = 0 ..
 *              N-1, as the program EAP-IG takes them
 *
 * With `n_edge`, of a pair, each edge says where its writer works in the clean text:
 *
 *     from, to, score, own, position, token, type, key, looks_at, weight
 *
 * position has the largest part of own; key is the strongest there beside parks.
 *
 * With `curve` circuits are run: every reader gets the stream of the corrupted run, plus what the
 * writers of its edges in the circuit write now, minus what they write in the corrupted run. Edges
 * on no way from the input to the logits are left out first:
 *
 *     n_edge, n_kept, value, faithfulness, control, control_sd
 *
 * `control` is of as many edges drawn from all. With `evaluate` the only circuit is that of a file.
 *
 * By default the clean text is the base: a score estimates what the answer loses if the edge is
 * corrupted. The scores of the edges of a writer add up to its estimate (patch.h). Over items sums
 * are averaged before they are divided by the mean difference. A curve over items reads them twice:
 * its circuits are those of the mean scores.
 */
#ifndef ATTN_CIRCUIT_CIRCUIT_H
#define ATTN_CIRCUIT_CIRCUIT_H

#include "predict/answer.h"
#include "run/run.h"
#include "tables/table.h"

struct attn_study_args; /* means/study.h */

/* X(ID, number, name) */
#define ATTN_CIRCUIT_METHOD_MAP(X)                                                                 \
    X(EAP_IG, 0, "eap-ig")                                                                         \
    X(EAP, 1, "eap")                                                                               \
    X(EAP_IG_RIEMANN, 2, "eap-ig:riemann")

enum attn_circuit_method {
#define ATTN_CIRCUIT_METHOD_ENUM(id, number, ...) ATTN_CIRCUIT_##id = (number),
    ATTN_CIRCUIT_METHOD_MAP(ATTN_CIRCUIT_METHOD_ENUM)
#undef ATTN_CIRCUIT_METHOD_ENUM
        ATTN_N_CIRCUIT_METHOD = 0 ATTN_CIRCUIT_METHOD_MAP(ATTN_COUNT)
};

struct attn_circuit_args {
    size_t size;                    /* size of this struct */
    struct attn_input corrupted;    /* a text or ids with as many tokens as the clean text */
    struct attn_answer_args answer; /* any metric but kl */
    bool is_to_restore;             /* the corrupted text is the base */
    enum attn_circuit_method method;
    size_t n_point; /* points of both kinds of eap-ig; 0: 5 */
    /* items with clean and corrupted, instead of both inputs; or NULL */
    const struct attn_study_args *study;
    /* sizes of circuits that are run, "10,20,50", or "auto"; NULL: a table of scores instead */
    const char *curve;
    bool is_by_score; /* circuits take the largest scores; else those that end in what they have */
    size_t n_random;  /* number of random circuits of each size; 0: none */
    uint64_t seed;    /* of these */
    /* memory for tensors that are kept instead of recomputed: faster, with equal results */
    size_t kept_bytes;
    /* the table has the edges of the circuit with so many edges; 0: all edges. Without items it is
     * run, and five random ones: facts about the table are `n_edge`, `faithfulness`, `control`,
     * `clean` and `corrupted`, the metric of both texts, `instead`, the token of the corrupted text
     * where the input differs, and `paths`, one a line */
    size_t n_edge;
    /* file with the edges of a circuit that is run, a table as CSV; NULL: none */
    const char *evaluate;
};

#define ATTN_CIRCUIT_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("circuit", attn_circuit_args)

/* The input of REQUEST is the clean text. The caller owns *table. Errors have a stage. The stage of
 * the input with ATTN_INVALID: the texts have different numbers of tokens, or the metrics differ by
 * less than 1e-4. The stage of options with ATTN_INVALID: the model has no edges, or gradients of
 * it are not supported. */
ATTN_API enum attn_status attn_circuit(struct attn_host *host, const struct attn_request *request,
                                       const struct attn_circuit_args *args,
                                       struct attn_table **table, struct attn_error *err);

#endif
