
#include "live/page_request.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "figures/table_picture.h"
#include "frame/asked.h"
#include "page/page_internal.h"
#include "predict/prediction.h"
#include "run/run_extra.h"
#include "run/run_internal.h"
#include "tensors/format_internal.h"

/* Whether REQUEST writes a page, and no other output that contains predictions. */
static bool is_page_predicting(const struct attn_request *request)
{
    const struct attn_format *page = attn_format_find("html");
    bool has_page = false;

    for (size_t i = 0; i < request->outputs.n; i++) {
        const struct attn_format *format = request->outputs.items[i].format;

        if (format != page && format->has_predictions)
            return false;
        has_page |= format == page;
    }
    return has_page;
}

/* Requests the predictions that a page shows: after each position, unless that would take long. */
static void predict(const struct attn_host *host, struct attn_request *request)
{
    enum { TOP = 5, BYTES = 3 /* estimated bytes per token */ };
    static const double most = 2e9; /* limit on multiplications in the output layer */
    const struct attn_request_predict *predict = &request->predict;
    const struct attn_input *input = &request->input;
    const struct attn_model *model = attn_host_model(host);
    const struct attn_config *config = model ? attn_model_config(model) : NULL;
    const double n =
        input->ids ? (double)input->n_id : (double)(input->n_text + input->n_pair) / BYTES;

    if (!config || config->output == ATTN_OUTPUT_NONE || !is_page_predicting(request) ||
        attn_predict_is_asked(predict) || attn_predict_n_label(predict) > 0)
        return;
    request->predict.top = TOP;
    if (n * (double)config->n_vocab * (double)config->d_model <= most)
        request->selection.queries.text = "all";
}

void attn_request_fill_page(const struct attn_host *host, struct attn_request *request)
{
    if (!request)
        return;
    const struct attn_request_outputs *outputs = &request->outputs;
    struct attn_request_selection *selection = &request->selection;

    if (attn_number_list_is_given(&selection->queries) ||
        (outputs->picture && outputs->picture->figure != ATTN_FIGURE_DEFAULT))
        return;
    if (selection->has_gradients && !selection->sites && outputs->n == 1 &&
        outputs->items[0].format == attn_format_find("html"))
        selection->sites = "pattern,pattern_x_grad";
    predict(host, request);
}

/* Whether the patterns of RUN fit on a page. */
static bool has_room(const struct attn_run *run)
{
    const struct attn_selection *selection = attn_run_labels(run)->selection;
    const struct attn_dims *dims = attn_selection_dims(selection);

    return (double)dims->n_layer * (double)dims->n_head *
               (double)attn_selection_n_query(selection) *
               (double)(dims->n_position + dims->n_source) <=
           ATTN_PAGE_MOST_CELLS;
}

enum attn_status attn_run_table_page(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_table *table,
                                     const struct attn_table_picture *picture,
                                     struct attn_error *err)
{
    ATTN_NEED(err, request, table, picture);
    const struct attn_request_outputs *outputs = &request->outputs;
    struct attn_request asked = *request;
    struct attn_error failure = {0};
    struct attn_result result = {0};
    struct attn_run *run = NULL;
    enum attn_status status;

    asked.selection = (struct attn_request_selection){.sites = "pattern"};
    asked.predict = (struct attn_request_predict){.top = 0};
    asked.on_note = NULL; /* the question has written these notes */
    asked.on_progress = asked.on_part = NULL;
    status = attn_run_prepare(host, &asked, &run, &failure);
    /* ATTN_INVALID means that the run has no pattern. */
    if (status != ATTN_OK && status != ATTN_INVALID)
        return attn_error_copy(err, &failure);
    if (run) {
        run->table = table;
        run->table_picture = picture;
    }
    status = run && has_room(run)
                 ? attn_run_perform(run, NULL, &result, err)
                 : attn_table_picture_write(table, picture, outputs->picture, outputs->items, err);
    attn_result_release(&result);
    attn_run_free(run);
    return status;
}
