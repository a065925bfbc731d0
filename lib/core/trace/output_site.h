/* output_site.h - the sites after the layers; a part of the list of sites (site.h). */
#ifndef ATTN_TRACE_OUTPUT_SITE_H
#define ATTN_TRACE_OUTPUT_SITE_H

/* X as in site.h. mlm_head is the input of an encoder's output matrix, pooled that of a
 * classifier's. text_embed and image_embed are one vector of a text or picture, projected and not
 * normalized; sentence_embed is the vector of a sentence. SigLIP makes image_embed by one query
 * that attends to all rows: pool_q to pool_z are those of this attention, with one row for a
 * picture, and keys and values of all positions. `heads` chooses from its heads as from those of
 * the last layer. */
#define ATTN_OUTPUT_SITE_MAP(X)                                                                    \
    X(LN_FINAL, 23, "ln_final", "ln_final.hook_normalized", MODEL, VECTOR, "T D")                  \
    X(POOL_Q, 93, "pool_q", "pool.hook_q", MODEL, QUERY, "1 H E")                                  \
    X(POOL_K, 94, "pool_k", "pool.hook_k", MODEL, KEY, "S G E")                                    \
    X(POOL_V, 95, "pool_v", "pool.hook_v", MODEL, KEY, "S G Ev")                                   \
    X(POOL_QK, 96, "pool_qk", "pool.hook_qk", MODEL, MATRIX, "H 1 S")                              \
    X(POOL_ATTN_SCORES, 97, "pool_attn_scores", "pool.hook_attn_scores", MODEL, MATRIX, "H 1 S")   \
    X(POOL_PATTERN, 98, "pool_pattern", "pool.hook_pattern", MODEL, MATRIX, "H 1 S")               \
    X(POOL_Z, 99, "pool_z", "pool.hook_z", MODEL, QUERY, "1 H Ev")                                 \
    X(MLM_HEAD, 49, "mlm_head", "mlm_head.hook_normalized", MODEL, VECTOR, "T De")                 \
    X(POOLED, 52, "pooled", "head.hook_pooled", MODEL, VECTOR, "T L")                              \
    X(TEXT_EMBED, 50, "text_embed", "text_embed", MODEL, VECTOR, "M")                              \
    X(IMAGE_EMBED, 51, "image_embed", "image_embed", MODEL, VECTOR, "M")                           \
    X(SENTENCE_EMBED, 53, "sentence_embed", "sentence_embed", MODEL, VECTOR, "M")                  \
    X(LOGITS, 24, "logits", "logits", MODEL, VECTOR, "T V")

/* The sites of SigLIP's attention, for ATTN_SITES. */
#define ATTN_POOL_SITES                                                                            \
    ATTN_SITE_POOL_Q, ATTN_SITE_POOL_K, ATTN_SITE_POOL_V, ATTN_SITE_POOL_QK,                       \
        ATTN_SITE_POOL_ATTN_SCORES, ATTN_SITE_POOL_PATTERN, ATTN_SITE_POOL_Z

#endif
