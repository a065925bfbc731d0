/* gradient_site.h - the sites that have a gradient; a part of the list of sites (site.h). */
#ifndef ATTN_TRACE_GRADIENT_SITE_H
#define ATTN_TRACE_GRADIENT_SITE_H

/* The sites that have a gradient: X(Y, ID, number, name, archive name, scope, layout, shape). The
 * gradient is the derivative of a number, computed from the logits, with respect to the tensor of
 * site ID. */
#define ATTN_GRADIENT_SITE_MAP(X, Y)                                                               \
    X(Y, EMBED, 27, "embed", "hook_embed", MODEL, VECTOR, "T De")                                  \
    X(Y, RESID_PRE, 28, "resid_pre", "hook_resid_pre", LAYER, VECTOR, "T D")                       \
    X(Y, Q, 29, "q", "attn.hook_q", LAYER, QUERY, "T H E")                                         \
    X(Y, K, 30, "k", "attn.hook_k", LAYER, KEY, "S G E")                                           \
    X(Y, V, 31, "v", "attn.hook_v", LAYER, KEY, "S G Ev")                                          \
    X(Y, ROT_Q, 32, "rot_q", "attn.hook_rot_q", LAYER, QUERY, "T H E")                             \
    X(Y, ROT_K, 33, "rot_k", "attn.hook_rot_k", LAYER, KEY, "S G E")                               \
    X(Y, QK, 34, "qk", "attn.hook_qk", LAYER, MATRIX, "H T S")                                     \
    X(Y, ATTN_SCORES, 35, "attn_scores", "attn.hook_attn_scores", LAYER, MATRIX, "H T S")          \
    X(Y, PATTERN, 36, "pattern", "attn.hook_pattern", LAYER, MATRIX, "H T S")                      \
    X(Y, Z, 37, "z", "attn.hook_z", LAYER, QUERY, "T H Ev")                                        \
    X(Y, ATTN_OUT, 38, "attn_out", "hook_attn_out", LAYER, VECTOR, "T Do")                         \
    X(Y, RESID_MID, 39, "resid_mid", "hook_resid_mid", LAYER, VECTOR, "T D")                       \
    X(Y, NORMALIZED_RESID_MID, 54, "normalized_resid_mid", "hook_normalized_resid_mid", LAYER,     \
      VECTOR, "T D")                                                                               \
    X(Y, MLP_PRE, 40, "mlp_pre", "mlp.hook_pre", LAYER, VECTOR, "T F")                             \
    X(Y, MLP_PRE_LINEAR, 41, "mlp_pre_linear", "mlp.hook_pre_linear", LAYER, VECTOR, "T F")        \
    X(Y, MLP_POST, 42, "mlp_post", "mlp.hook_post", LAYER, VECTOR, "T F")                          \
    X(Y, MLP_OUT, 43, "mlp_out", "hook_mlp_out", LAYER, VECTOR, "T D")                             \
    X(Y, RESID_POST, 44, "resid_post", "hook_resid_post", LAYER, VECTOR, "T D")                    \
    X(Y, NORMALIZED_RESID_POST, 55, "normalized_resid_post", "hook_normalized_resid_post", LAYER,  \
      VECTOR, "T D")                                                                               \
    X(Y, DEEPSTACK, 87, "deepstack", "hook_deepstack", LAYER, VECTOR, "P D")                       \
    X(Y, IMAGE_FEATURES, 72, "image_features", "image_features", MODEL, VECTOR, "P D")             \
    X(Y, PIXEL_VALUES, 73, "pixel_values", "pixel_values", MODEL, VECTOR, "N 3 h w")               \
    X(Y, LN_FINAL, 45, "ln_final", "ln_final.hook_normalized", MODEL, VECTOR, "T D")               \
    X(Y, MLM_HEAD, 56, "mlm_head", "mlm_head.hook_normalized", MODEL, VECTOR, "T De")              \
    X(Y, POOLED, 57, "pooled", "head.hook_pooled", MODEL, VECTOR, "T L")                           \
    X(Y, TEXT_EMBED, 58, "text_embed", "text_embed", MODEL, VECTOR, "M")                           \
    X(Y, IMAGE_EMBED, 59, "image_embed", "image_embed", MODEL, VECTOR, "M")                        \
    X(Y, SENTENCE_EMBED, 60, "sentence_embed", "sentence_embed", MODEL, VECTOR, "M")               \
    X(Y, LOGITS, 46, "logits", "logits", MODEL, VECTOR, "T V")
#define ATTN_GRADIENT_SITE(Y, id, number, name, archive, scope, layout, shape)                     \
    Y(id##_GRAD, number, name "_grad", archive "_grad", GRADIENT_OF_##scope, layout, shape)

#endif
