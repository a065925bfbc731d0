/*
 * attention_backward.h - the backward pass of one layer's attention: from the gradient of z to the
 * gradients of q, k and v.
 *
 *     dP_ij = dz_i . v_j
 *     dS_ij = P_ij ((dP_ij - r_i) - sum_j P_ij (dP_ij - r_i)), r_i = dz_i . z_i
 *     dqk   = scale * dS, multiplied by the derivative of the soft cap
 *     dq_i  = sum_j dqk_ij k_j
 *     dk_j  = sum_i dqk_ij q_i
 *     dv_j  = sum_i P_ij dz_i
 *
 *     attn_heads_back_plan(&memory, arena, &sizes);        // when measuring, and once more
 *     attn_heads_back_run(&heads);                         // each layer
 *
 * The sum in dS is 0 but for rounding, which is all that dP_ij - r_i has where P_ij is nearly 1.
 * The pattern is computed again from q and k, 32 queries of a head at a time, so nothing is as
 * large as T x S unless it is watched. A task is one head from its first query to its last: each
 * sum over queries is one chain, whatever the number of threads, and the heads that share a key are
 * added in their order.
 */
#ifndef ATTN_GRADIENT_ATTENTION_BACKWARD_H
#define ATTN_GRADIENT_ATTENTION_BACKWARD_H

#include "attention/heads.h"

/* The rules that replace derivatives when relevance is propagated. */
enum attn_backward_rule {
    ATTN_BACKWARD_PLAIN = 0,   /* nothing: derivatives */
    ATTN_BACKWARD_RELP = 1,    /* norms and activations are constant factors, a gate's two get half
                                  each (2508.21258) */
    ATTN_BACKWARD_ATTNLRP = 2, /* the same, and attention: q and k a quarter, v half (2402.05602) */
};

/*
 * The pattern with other queries, keys or both, and its effect (the repair of AtP for saturated
 * softmaxes, 2403.00745): P' is the softmax with these, P the pass's.
 *
 *     for a query i    sum_j (P'_ij - P_ij) dP_ij
 *     for a key j      sum_i sum_j' (P'_ij' - P_ij') dP_ij', where only key j is replaced
 *
 * Where all heads are normalized together, changing one head scales the others: `own` and `scale`.
 */
struct attn_heads_swap {
    const float *q, *k; /* [n, H E], [n, G E] the replacements, rot_q and rot_k if positions are
                           rotary; NULL: unchanged */
    const float *base_q,
        *base_k;  /* the queries and keys of P; both NULL: the queries and keys of the pass */
    bool is_each; /* each key by itself; otherwise all of a head at once */
    const unsigned char *keys; /* [n] those that are others; NULL: all */
    size_t n_variant; /* 1: heads do not depend on each other. Else the number of heads of q or of
                         k; one is changed in each */
    const float *own, *scale; /* [n_variant][n] factors of the rows of the changed head, and of
                                     the other heads; NULL: 1 */
    double *sums;             /* [n_variant][H][n] are added to */
};

/* Memory of all layers. */
struct attn_heads_back_memory {
    struct attn_kv *kv;     /* [n_kv_head] keys in panels, values as rows, as in the forward pass */
    struct attn_kv *turned; /* [n_kv_head] values in panels, and keys as rows */
    float *dk, *dv;         /* [n_head][E][ld], [n_head][Ev][ld]: sums over queries so far */
    float **scratch;        /* [n_worker] */
    float *watched;         /* [n_watched] matrices on their way to the trace */
    float *swap_keys;       /* [2][n_kv_head] panels: other keys, and those that P is made of */
    int *list;              /* [n_head] */
    size_t n_watched;
    size_t n_blank; /* the first matrices there that have 0 already in all cells after a causal
                       tile's */
};

/* The sizes that determine the memory. */
struct attn_heads_back_sizes {
    struct attn_heads_sizes heads;
    const struct attn_attention *attention; /* [n_layer] */
    size_t n_layer;
    size_t n_watched; /* matrices that are watched of a layer, all heads counted, at most */
    bool has_swap;
};
void attn_heads_back_plan(struct attn_heads_back_memory *memory, struct attn_arena *arena,
                          const struct attn_heads_back_sizes *sizes);

/* One layer. Rows of q, z and their gradients hold all heads, rows of k and v all key/value
 * heads. */
struct attn_heads_back {
    const struct attn_attention *attention;
    const struct attn_head_shape *shape;
    const struct attn_gemm_engine *engine;
    struct attn_heads_back_memory *memory;
    enum attn_backward_rule rule;
    struct attn_pool *pool; /* NULL: the caller's thread */
    int layer;
    size_t n, n_head, n_kv_head; /* n: positions */
    size_t n_key;                /* rows of k and v: N, or those of a source */
    size_t first, end; /* other queries have no gradient: their rows are not read, and their dq is
                          not written */
    const float *q, *k, *v, *z; /* those that scores are made of */
    const float *dz;
    float *dq, *dk, *dv; /* the results */

    /* Matrices that are wanted: gradients of pattern, attn_scores and qk, pattern_x_grad, and the
     * pattern itself, as in the forward pass. They come head by head. */
    attn_site_set watched;
    const struct attn_heads_swap *swap;     /* or NULL */
    const struct attn_selection *selection; /* their heads */
    const int32_t *key_mask; /* [n_key] no query sees a key with 0; NULL: all are seen */
    bool (*is_stopped)(void *context);
    void (*emit)(void *context, const struct attn_trace_event *event);
    void *context;
};

/* Those of LAYER that SELECTION wants: what `watched` is. */
attn_site_set attn_heads_back_watched(const struct attn_selection *selection, int layer);

void attn_heads_back_run(struct attn_heads_back *heads);

#endif
