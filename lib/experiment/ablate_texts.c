/* ablate_texts.c - see ablate_texts.h. */
#include "experiment/ablate_texts.h"

#include "base/status_internal.h"
#include "experiment/text_means.h"

static enum attn_status check_args(const struct attn_ablate_args *args, struct attn_error *err)
{
    if (!args->is_cumulative && args->n_control == 0)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "--cumulative and --control need one text, not many");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* What each text is asked, and what all of them took. */
struct job {
    struct attn_host *host;
    struct attn_ablate_args args;
    struct attn_ablate_sum sum;
};

static enum attn_status ablate_text(void *user, const struct attn_request *request,
                                    struct attn_table **table, struct attn_error *err)
{
    struct job *job = user;
    struct attn_ablate_sum one = {.n_row = 0};
    enum attn_status status = attn_ablate(job->host, request, &job->args, table, &one, err);

    job->sum.n_row += one.n_row;
    job->sum.n_feed += one.n_feed;
    job->sum.sites = one.sites;
    return status;
}

enum attn_status attn_ablate_texts(struct attn_host *host, const struct attn_request *given,
                                   const struct attn_ablate_args *args, struct attn_table **table,
                                   struct attn_ablate_sum *sum, struct attn_error *err)
{
    struct job job = {.host = host, .args = *args};
    enum attn_status status = check_args(args, err);

    job.args.texts = NULL;
    job.args.n_text = 0;
    if (status == ATTN_OK)
        status = attn_text_means_ask(&(struct attn_text_question){ablate_text, &job}, given,
                                     args->texts, args->n_text, table, err);
    if (status == ATTN_OK)
        *sum = job.sum;
    return status;
}
