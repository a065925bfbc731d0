/* ablate_texts.c - see ablate_texts.h. */
#include "experiment/ablate_texts.h"

#include "experiment/text_means.h"

static enum attn_status check_args(const struct attn_ablate_args *args, struct attn_error *err)
{
    if (!args->is_cumulative && args->n_control == 0)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "--cumulative and --control are of one text, not of many");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status add_text(struct attn_host *host, const struct attn_request *request,
                                 const struct attn_ablate_args *args, struct attn_text_means *means,
                                 struct attn_ablate_sum *sum, struct attn_error *err)
{
    struct attn_ablate_sum one = {.n_row = 0};
    struct attn_table *table = NULL;
    enum attn_status status = attn_ablate(host, request, args, &table, &one, err);

    if (status != ATTN_OK)
        return status;
    sum->n_row += one.n_row;
    sum->n_feed += one.n_feed;
    sum->sites = one.sites;
    return attn_text_means_add(means, table, err);
}

enum attn_status attn_ablate_texts(struct attn_host *host, const struct attn_request *given,
                                   const struct attn_ablate_args *args, struct attn_table **table,
                                   struct attn_ablate_sum *sum, struct attn_error *err)
{
    struct attn_ablate_args one = *args;
    struct attn_ablate_sum all = {.n_row = 0};
    struct attn_request request = *given;
    struct attn_text_means means = {.n_text = 0};
    enum attn_status status = check_args(args, err);

    one.texts = NULL;
    one.n_text = 0;
    request.on_progress = NULL; /* it counts texts */
    request.example = NULL;     /* the hint is which text it was */
    for (size_t i = 0; status == ATTN_OK && i < args->n_text; i++) {
        request.input = args->texts[i];
        status = add_text(host, &request, &one, &means, &all, err);
        if (status != ATTN_OK)
            attn_error_hint(err, "in text %zu of %zu", i + 1, args->n_text);
        else if (given->on_progress != NULL)
            given->on_progress(given->user, i + 1, args->n_text);
    }
    if (status == ATTN_OK)
        status = attn_text_means_tabulate(&means, table, err);
    if (status == ATTN_OK)
        *sum = all;
    attn_text_means_release(&means);
    return status;
}
