/*
 * vector.h - the functions of one instruction set, before they are put into its table.
 *
 * Every vector*.c is compiled once for each; see struct attn_kernels for what the functions do.
 */
#ifndef ATTN_KERNELS_VECTOR_H
#define ATTN_KERNELS_VECTOR_H

#include "kernels/kernels.h"
#include "kernels/lanes.h"

void ATTN_FOR_ISA(attn_vector_gemm)(const struct attn_gemm_shape *shape, const float *a,
                                    const float *b, float *c, size_t count);
void ATTN_FOR_ISA(attn_vector_gemm_ahead)(const struct attn_gemm_shape *shape, const float *a,
                                          const float *b, float *c, const float *next);
void ATTN_FOR_ISA(attn_vector_gemm_bf16)(const struct attn_gemm_shape *shape, const uint16_t *a,
                                         const uint16_t *b, float *c);
void ATTN_FOR_ISA(attn_vector_round_bf16)(const float *x, size_t n, uint16_t *y);
void ATTN_FOR_ISA(attn_vector_pair_bf16)(const float *x0, const float *x1, size_t n, uint16_t *y);
void ATTN_FOR_ISA(attn_vector_split_bf16)(const float *x, size_t n, float *high, float *low);
void ATTN_FOR_ISA(attn_vector_pack_panel)(const struct attn_matrix *matrix, size_t first, size_t m,
                                          size_t width, float *panel);
void ATTN_FOR_ISA(attn_vector_convert)(const void *src, enum attn_dtype dtype, size_t n, float *y);
void ATTN_FOR_ISA(attn_vector_decode)(const void *blocks, enum attn_dtype dtype, size_t n,
                                      float *y);
void ATTN_FOR_ISA(attn_vector_pack_keys)(const float *x, size_t ldx, size_t rows, size_t n,
                                         size_t first, float *panels);
void ATTN_FOR_ISA(attn_vector_add)(const float *a, const float *b, size_t n, float *y);
void ATTN_FOR_ISA(attn_vector_scale)(const float *a, float factor, size_t n, float *y);
void ATTN_FOR_ISA(attn_vector_stream)(const float *x, size_t n, float fill, size_t n_total,
                                      float *y);
void ATTN_FOR_ISA(attn_vector_drain)(void);
void ATTN_FOR_ISA(attn_vector_activate)(enum attn_activation which, float *x, size_t n);
void ATTN_FOR_ISA(attn_vector_gate)(enum attn_activation which, float *x, const float *y, size_t n);
void ATTN_FOR_ISA(attn_vector_soft_cap)(float *x, size_t n, float cap);
bool ATTN_FOR_ISA(attn_vector_finish)(const struct attn_finish *finish, float *y, size_t n_row,
                                      size_t n_col);
void ATTN_FOR_ISA(attn_vector_elu_plus_one)(const float *x, size_t n, float *y);
void ATTN_FOR_ISA(attn_vector_relu_plus_tiny)(const float *x, size_t n, float *y);
void ATTN_FOR_ISA(attn_vector_exp)(const float *x, size_t n, float *y);
void ATTN_FOR_ISA(attn_vector_layer_norm)(const float *x, const float *w, const float *b, size_t n,
                                          float eps, float *y);
void ATTN_FOR_ISA(attn_vector_rms_norm)(const float *x, const float *w, size_t n, float eps,
                                        float *y);
void ATTN_FOR_ISA(attn_vector_turn)(const float *angles, size_t n, float factor, float *cosines,
                                    float *sines);
void ATTN_FOR_ISA(attn_vector_rotate)(float *x, const float *cosines, const float *sines, size_t n);
void ATTN_FOR_ISA(attn_vector_softmax)(float *x, size_t n_valid, size_t n, float scale);
float ATTN_FOR_ISA(attn_vector_softmax_block)(float *x, size_t n_valid, size_t n, float scale,
                                              struct attn_running_softmax *running);
void ATTN_FOR_ISA(attn_vector_add_outer)(const float *a, size_t n_a, const float *b, size_t n_b,
                                         float *s);
void ATTN_FOR_ISA(attn_vector_multiply_row)(const float *x, size_t n_row, const float *s,
                                            size_t n_col, float *y);
float ATTN_FOR_ISA(attn_vector_sum)(const float *x, size_t n);
bool ATTN_FOR_ISA(attn_vector_is_finite)(const float *x, size_t n);
double ATTN_FOR_ISA(attn_vector_log_sum_exp)(const float *x, size_t n);
void ATTN_FOR_ISA(attn_vector_encipher)(const struct attn_cipher *cipher, uint32_t *numbers,
                                        size_t n);
void ATTN_FOR_ISA(attn_vector_decipher)(const struct attn_cipher *cipher, uint32_t *numbers,
                                        size_t n);
double ATTN_FOR_ISA(attn_vector_entropy)(const float *p, size_t n);
double ATTN_FOR_ISA(attn_vector_divergence)(const float *x, double x_total, const float *y,
                                            double y_total, size_t n);

double ATTN_FOR_ISA(attn_vector_spin)(size_t n_round);

extern const struct attn_kernels ATTN_FOR_ISA(attn_kernels);

#endif
