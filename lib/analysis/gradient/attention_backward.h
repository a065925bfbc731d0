/*
 * attention_backward.h - the backward pass of one layer's attention: from the gradient of z to the
 * gradients of q, k and v.
 *
 *     dP_ij = dz_i . v_j
 *     dS_ij = P_ij ((dP_ij - r_i) - sum_j P_ij (dP_ij - r_i)),  r_i = dz_i . z_i
 *     dqk = scale * dS, multiplied by the derivative of the soft cap
 *     dq_i = sum_j dqk_ij k_j
 *     dk_j = sum_i dqk_ij q_i; with places (attention/tile.h) their factors are added to k_j, q_i
 *     dv_j = sum_i P_ij dz_i
 *
 *     attn_heads_back_plan(&memory, arena, &sizes);  // when measuring, and once more
 *     attn_heads_back_run(&heads);                   // for each layer
 *
 * Without rounding, the sum in dS would be 0. Where P_ij is nearly 1, dP_ij - r_i consists of
 * rounding errors only, so the sum is subtracted. The pattern is recomputed from q and k, 32
 * queries of a head at a time, so nothing is as large as T x S unless it is watched. A task is one
 * head from its first query to its last: each sum over queries is one chain, whatever the number of
 * threads, and heads that share a key are added in order.
 */
#pragma once

#include "attention/heads.h"

/* The rule that replaces derivatives when relevance is propagated. */
enum attn_backward_rule {
    ATTN_BACKWARD_PLAIN = 0, /* ordinary derivatives */
    ATTN_BACKWARD_RELP = 1, /* norms and activations are constant factors; the two factors of a gate
                               get half each (2508.21258) */
    /* As RELP; besides, in attention q and k get a quarter each, v half (2402.05602). */
    ATTN_BACKWARD_ATTNLRP = 2,
};

/*
 * Replaces queries, keys or both, and computes the effect (the repair of AtP for saturated
 * softmaxes, 2403.00745). P' is the pattern with the replacements, P that of the pass.
 *
 *     for a query i   sum_j (P'_ij - P_ij) dP_ij
 *     for a key j     sum_i sum_j' (P'_ij' - P_ij') dP_ij', with only key j replaced
 *
 * If all heads are normalized together, changing one head scales the others: see `own` and `scale`.
 */
struct attn_heads_swap {
    /* [n, H E] and [n, G E], the replacements; rot_q and rot_k if positions are rotary; NULL: not
     * replaced. */
    const float *q, *k;
    const float *base_q, *base_k; /* the queries and keys of P; both NULL: those of the pass */
    bool is_each;                 /* replace one key at a time; otherwise all of a head together */
    const unsigned char *keys;    /* [n] 1 for keys that are replaced; NULL: all */
    size_t n_variant; /* 1 if heads are independent; otherwise the number of heads of q or k: each
                         variant changes one head */
    /* [n_variant][n] factors of the rows of the changed head, and of the other heads; NULL: 1. */
    const float *own, *scale;
    double *sums; /* [n_variant][H][n]; the effects are added to it */
};

/* Memory that all layers share. */
struct attn_heads_back_memory {
    struct attn_kv *kv; /* [n_kv_head] keys in panels and values as rows, as in the forward pass */
    struct attn_kv *turned; /* [n_kv_head] values in panels and keys as rows */
    float *dk, *dv;         /* [n_head][E][ld] and [n_head][Ev][ld]: sums over the queries so far */
    float **scratch;        /* [n_worker] */
    float *watched;         /* [n_watched] matrices to be emitted */
    float *swap_keys;       /* [2][n_kv_head] panels: the replacements, and the keys of P */
    int *list;              /* [n_head] */
    size_t n_watched;
    size_t n_blank; /* number of matrices there, from the first on, whose cells beyond each causal
                       tile are 0 already */
};

/* The sizes on which the memory depends. */
struct attn_heads_back_sizes {
    struct attn_heads_sizes heads;
    const struct attn_attention *attention; /* [n_layer] */
    size_t n_layer;
    size_t n_watched; /* maximum number of watched matrices in a layer, over all heads */
    bool has_swap;
    bool has_edits;
};
void attn_heads_back_plan(struct attn_heads_back_memory *memory, struct attn_arena *arena,
                          const struct attn_heads_back_sizes *sizes);

/* The attention of one layer. Rows of q, z and their gradients contain all heads; rows of k and v
 * contain all key/value heads. */
struct attn_heads_back {
    const struct attn_attention *attention;
    const struct attn_head_shape *shape;
    const struct attn_gemm_engine *engine;
    struct attn_heads_back_memory *memory;
    enum attn_backward_rule rule;
    struct attn_pool *pool; /* NULL: the caller's thread */
    int layer;
    size_t n, n_head, n_kv_head; /* n: positions */
    size_t n_key;                /* rows of k and v: n, or those of the source */
    /* Only these queries have gradients: other rows are not read, and their dq is not written. */
    size_t first, end;
    const float *q, *k, *v, *z;            /* as used for the scores */
    const struct attn_place_terms *places; /* of q and k; or NULL */
    const float *dz;
    float *dq, *dk, *dv; /* the results */

    /* The watched matrices: gradients of pattern, attn_scores and qk, pattern_x_grad, and the
     * pattern itself as in the forward pass. Events come head by head. */
    struct attn_site_set watched;
    const struct attn_heads_swap *swap; /* or NULL */
    /* The edits of the pass, and what they do to gradients (backward_internal.h). Those of qk,
     * attn_scores and pattern are applied here; scores are never set. */
    const struct attn_edit *edits, *back_edits;
    size_t n_edit, n_back;
    const struct attn_selection *selection; /* the heads whose matrices are watched */
    const int32_t *key_mask;                /* [n_key] 0 masks a key; NULL: no key is masked */
    bool (*is_stopped)(void *context);
    void (*emit)(void *context, const struct attn_trace_event *event);
    void *context;
};

/* Returns the number of sites in SET. */
static inline size_t attn_sites_count(struct attn_site_set set)
{
    size_t n = 0;

    for (int i = 0; i < 4; i++)
        n += (size_t)__builtin_popcountll(set.words[i]);
    return n;
}

/* Returns the sites for `watched`: those that SELECTION selects in LAYER. */
struct attn_site_set attn_heads_back_watched(const struct attn_selection *selection, int layer);

void attn_heads_back_run(struct attn_heads_back *heads);
