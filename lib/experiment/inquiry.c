/* inquiry.c - see inquiry.h. */
#include "experiment/inquiry.h"

#include "base/given.h"
#include "base/status_internal.h"

enum attn_status attn_inquiry_read(const struct attn_inquiry *inquiry, void *args,
                                   struct attn_request *request, struct attn_error *err)
{
    enum attn_status status = attn_options_read(inquiry->args, args, err);

    if (status == ATTN_OK)
        status = attn_options_read(inquiry->request, request, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

void attn_inquiry_choose_nothing(struct attn_request *request)
{
    request->selection = NULL;
    request->sites = request->layers = request->heads = request->queries = NULL;
    request->predict = (struct attn_question){0};
    request->outputs = NULL;
    request->n_output = 0;
}
