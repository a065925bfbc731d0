/* compare_cost.c - what an attention costs: pairs counted, bytes from them, time measured. */
#include "experiment/comparing.h"

#include "attention/attention.h"
#include "base/memory.h"

#include <time.h>

/* Floats of one head between q, k, v and z. */
static uint64_t n_float(const struct attn_attend_args *inputs, uint64_t n_pair)
{
    const struct attn_attention *attention = &inputs->attention;

    if (attention->kind == ATTN_ATTENTION_LINEAR)
        return attn_saturated_mul(inputs->d_head, inputs->d_value + 1);
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return attn_saturated_add(
            n_pair, attn_saturated_mul(attention->count, inputs->d_head + inputs->d_value));
    if (attention->kind == ATTN_ATTENTION_FULL && attention->algorithm == ATTN_ALGORITHM_BLOCKWISE)
        return attn_saturated_mul(2, inputs->n_query);
    return n_pair;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static enum attn_status take_no_note(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

/* The last thing that can be asked for: z, or weights where there are no values. */
static uint64_t last_site(const struct attn_dims *dims)
{
    const uint64_t z = ATTN_SITE_BIT(ATTN_SITE_Z);

    return dims->sites & z ? z
                           : dims->sites & (ATTN_SITE_BIT(ATTN_SITE_PATTERN) |
                                            ATTN_SITE_BIT(ATTN_SITE_PATTERN_LOWRANK));
}

static enum attn_status measure(const struct attn_attend_args *inputs, double *seconds,
                                struct attn_error *err)
{
    const struct attn_dims dims = attn_attend_dims(inputs);
    struct attn_attend_args args = *inputs;
    struct attn_trace trace = {.on_event = take_no_note};
    struct attn_selection *selection;
    enum attn_status status = attn_selection_create(&dims, &selection, err);
    double begun;

    if (status != ATTN_OK)
        return status;
    trace.selection = selection;
    args.trace = &trace;
    status = attn_selection_set_sites(selection, last_site(&dims), err);
    begun = now();
    if (status == ATTN_OK)
        status = attn_attend(&args, err);
    *seconds = now() - begun;
    attn_selection_free(selection);
    return status;
}

enum attn_status attn_compare_cost(const struct attn_comparing *comparing, int layer,
                                   const struct attn_attention *attention,
                                   struct attn_attention_cost *cost, struct attn_error *err)
{
    const struct attn_attend_args inputs = attn_comparing_inputs(comparing, layer, attention);

    *cost = (struct attn_attention_cost){0};
    for (int head = 0; head < (int)inputs.n_head; head++) {
        const uint64_t n_pair =
            attn_attention_n_pair(&inputs.attention, inputs.n_query, inputs.n_key, layer, head);

        cost->n_pair = attn_saturated_add(cost->n_pair, n_pair);
        cost->n_byte = attn_saturated_add(
            cost->n_byte, attn_saturated_mul(sizeof(float), n_float(&inputs, n_pair)));
    }
    return measure(&inputs, &cost->seconds, err);
}
