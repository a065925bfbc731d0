/* xielu.h - the activation xIELU (model/config.h), whose numbers each layer has of its own. In
 * double, because exp(x) - 1 - x loses the digits of a float near 0. */
#ifndef ATTN_FORWARD_XIELU_H
#define ATTN_FORWARD_XIELU_H

#include "model/config.h"

/* Applies OF to X [n]. */
void attn_xielu_run(const struct attn_xielu *of, float *x, size_t n);

/* Changes DY [n], the gradient of xIELU of X, to the gradient of X. IS_CONSTANT: the ratio of xIELU
 * to X counts as a constant. */
void attn_xielu_back(const struct attn_xielu *of, const float *x, bool is_constant, size_t n,
                     float *dy);

#endif
