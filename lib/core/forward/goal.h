/* goal.h - the number that a backward pass differentiates (gradient/backward.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The number m to differentiate: the logits it depends on, and its derivative. */
struct attn_backward_goal {
    size_t first, n;   /* rows of logits; classifiers have one row, number 0 */
    bool reads_logits; /* the derivative depends on the logits */
    bool is_joint; /* the number depends on all rows jointly: `differentiate` is called once, with
                      the first ROW and LOGITS and D [n, n_vocab]; only for few columns */

    /* Sets the elements of D [n_vocab] that are not 0; D is 0 before. LOGITS are those of position
     * ROW, after the soft cap; NULL unless reads_logits. */
    void (*differentiate)(const void *context, size_t row, const float *logits, float *d);
    const void *context;

    /* For an encoder whose final rows a decoder reads: replaces all fields above by the gradient
     * [n, D] of these rows, borrowed. Otherwise NULL. */
    const float *given;
    bool is_of_stream; /* `given` is the gradient of the last layer's output, before a final norm */
    size_t n_above; /* if is_of_stream: number of layers above that output, whose gradients are 0 */
    /* Gradients [n, D] that are added to those of the outputs of n_added layers; borrowed. */
    const float *const *added;
    const size_t *added_layers;
    size_t n_added;
};
