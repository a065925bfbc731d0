/* readout.h - what parts of a model write into the residual stream, and along which direction it is
 * read: in double precision, with the scales of norms frozen at their numbers in the run. Private
 * to lib/questions. */
#pragma once

#include "model/weights.h"

/* Returns the scale by which a norm without a mean divides N numbers with this sum of SQUARES. */
double attn_readout_scale_of(const struct attn_config *config, double squares, size_t n);

/* Returns the scale by which NORM divides X [n]. */
double attn_readout_scale(const struct attn_config *config, const struct attn_norm_weights *norm,
                          const double *x, size_t n);

/* Reads N factors of NORM from element FIRST on. */
void attn_readout_factors(const struct attn_config *config, const struct attn_norm_weights *norm,
                          size_t first, size_t n, double *factors);

/* Takes the directions in the columns of MAP [D, n], along which the output of NORM is read, to
 * those along which its input is read. SCALE is that of the norm; FACTORS [D] is scratch. */
void attn_readout_before_norm(const struct attn_config *config,
                              const struct attn_norm_weights *norm, double scale, size_t n,
                              double *factors, double *map);

enum { ATTN_READOUT_PANEL = 16 };

/* Sets MEAN [n_row] to the mean of the columns of UNEMBED: the direction of the mean of logits.
 * PANEL and SUMS [n_row, ATTN_READOUT_PANEL] are scratch. */
void attn_readout_mean(const struct attn_matrix *unembed, float *panel, double *sums, double *mean);

/* Adds Z [Ev] times the W_O of HEAD to Y [D]. */
void attn_readout_add_head(const struct attn_config *config, const struct attn_matrix *out,
                           size_t head, const float *z, double *y);

/* Sets ALONG [Ev] to the W_O of HEAD times U [D]: how much each component of z adds along U. */
void attn_readout_along(const struct attn_config *config, const struct attn_matrix *out,
                        size_t head, const double *u, double *along);

/* Sets OUT [D] to the output of the head AT for Z [Ev], without a bias: times its W_O, times the
 * layer scale. SCRATCH is [2, D]. */
void attn_readout_head(const struct attn_model *model, const struct attn_location *at,
                       const float *z, double *scratch, float *out);
