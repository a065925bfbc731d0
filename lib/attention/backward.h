/*
 * backward.h - attention of one layer backwards: from the gradient of z to those of q, k and v.
 *
 *     dP_ij = dz_i . v_j
 *     dS_ij = P_ij (dP_ij - r_i), r_i = dz_i . z_i
 *     dqk   = scale * what the soft cap makes of dS
 *     dq_i  = sum_j dqk_ij k_j
 *     dk_j  = sum_i dqk_ij q_i
 *     dv_j  = sum_i P_ij dz_i
 *
 *     attn_heads_back_plan(&memory, arena, &sizes);        // when measuring, and once more
 *     attn_heads_back_run(&heads);                         // each layer
 *
 * The pattern is made again from q and k, 32 queries of a head at a time, so nothing is as large as
 * T x S unless it is watched. A task is one head from its first query to its last: each sum over
 * queries is one chain, whatever the number of threads, and the heads that share a key are added
 * in their order.
 */
#ifndef ATTN_ATTENTION_BACKWARD_H
#define ATTN_ATTENTION_BACKWARD_H

#include "attention/heads.h"

/* What is replaced to pass relevance on. */
enum attn_backward_rule {
    ATTN_BACKWARD_PLAIN = 0,   /* nothing: derivatives */
    ATTN_BACKWARD_RELP = 1,    /* norms and activations are constant factors, a gate's two get half
                                  each (2508.21258) */
    ATTN_BACKWARD_ATTNLRP = 2, /* the same, and attention: q and k a quarter, v half (2402.05602) */
};

/* Memory of all layers. */
struct attn_heads_back_memory {
    struct attn_kv *kv;     /* [n_kv_head] keys in panels, and values as rows: as forwards */
    struct attn_kv *turned; /* [n_kv_head] values in panels, and keys as rows */
    float *dk, *dv;         /* [n_head][E][ld], [n_head][Ev][ld]: sums over queries so far */
    float **scratch;        /* [n_worker] */
    float *watched;         /* [n_watched] matrices on their way to the trace */
    int *list;              /* [n_head] */
    size_t n_watched;
};

/* What decides the memory. */
struct attn_heads_back_sizes {
    struct attn_heads_sizes heads;          /* n_query = n_key: the positions */
    const struct attn_attention *attention; /* [n_layer] */
    size_t n_layer;
    size_t n_watched; /* matrices that are watched of a layer, all heads counted, at most */
};
void attn_heads_back_plan(struct attn_heads_back_memory *memory, struct attn_arena *arena,
                          const struct attn_heads_back_sizes *sizes);

/* One layer. Rows of q, z and their gradients hold all heads side by side, those of k and v all
 * key/value heads. */
struct attn_heads_back {
    const struct attn_attention *attention;
    const struct attn_head_shape *shape;
    const struct attn_gemm_engine *engine;
    struct attn_heads_back_memory *memory;
    enum attn_backward_rule rule;
    struct attn_pool *pool; /* NULL: the caller's thread */
    int layer;
    size_t n, n_head, n_kv_head; /* n: positions */
    const float *q, *k, *v, *z;  /* those that scores are made of */
    const float *dz;
    float *dq, *dk, *dv; /* what comes of it */

    /* Matrices that are wanted: gradients of pattern, attn_scores and qk, pattern_x_grad, and the
     * pattern, as forwards. They come head by head. */
    attn_site_set watched;
    const struct attn_selection *selection; /* their heads */
    bool (*is_stopped)(void *context);
    void (*emit)(void *context, const struct attn_trace_event *event);
    void *context;
};

/* Those of LAYER that SELECTION wants: what `watched` is. */
attn_site_set attn_heads_back_watched(const struct attn_selection *selection, int layer);

void attn_heads_back_run(struct attn_heads_back *heads);

#endif
