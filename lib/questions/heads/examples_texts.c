/* examples_texts.c - reads the texts that are shown of a head a second time: their tokens, and for
 * a page the weights of their rows. */
#include "heads/examples_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "machine/frame.h"
#include "run/host_internal.h"
#include "sites/trial.h"
#include "trace/location_internal.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    const struct attn_example *x = *(const struct attn_example *const *)a;
    const struct attn_example *y = *(const struct attn_example *const *)b;

    return x->found.number != y->found.number
               ? (x->found.number > y->found.number) - (x->found.number < y->found.number)
               : (x->head > y->head) - (x->head < y->head);
}

/* The examples of one text. */
struct shown {
    struct attn_example_set *set;
    struct attn_example *const *items; /* [n] borrowed */
    size_t n;
};

/* Adds the largest weights of ROW to EXAMPLE. */
static enum attn_status keep_row(struct attn_example *example, struct attn_row row,
                                 struct attn_error *err)
{
    const size_t begin = example->n_cell;

    ATTN_TRY(ATTN_GROW(example->cells, example->capacity, begin + row.n, err));
    example->n_cell = begin + attn_card_keys_read(row, ATTN_EXAMPLE_KEYS, example->cells + begin);
    example->ends[example->n_row++] = (uint32_t)example->n_cell;
    return ATTN_OK;
}

/* Keeps the rows of an event of the pattern (attn_trace_fn). */
static enum attn_status on_shown(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct shown *shown = user;

    for (size_t i = 0; i < shown->n; i++)
        if (attn_location_compare(&shown->set->heads[shown->items[i]->head].at, &event->at) == 0)
            for (size_t r = 0; r < event->n_row; r++)
                ATTN_TRY(keep_row(shown->items[i], attn_event_row(event, r), err));
    return ATTN_OK;
}

/* Runs the text of RUN, and keeps the rows of SHOWN. */
static enum attn_status keep_rows(const struct attn_run *run, struct shown *shown,
                                  struct attn_error *err)
{
    const struct attn_watch watch = {.selection = run->selection,
                                     .n_piece = ATTN_EXAMPLE_ROWS,
                                     .on_event = on_shown,
                                     .user = shown};

    for (size_t i = 0; i < shown->n; i++)
        ATTN_TRY(ATTN_STORE_ALLOC(&shown->set->store, shown->items[i]->ends, run->text.n, err));
    return attn_watch(run, &watch, err);
}

/* Fails if a position from the first pass is outside TEXT, as one from a forged file may be. */
static enum attn_status check_found(const struct shown *shown, const struct attn_card_text *text,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < shown->n; i++) {
        const struct attn_example *example = shown->items[i];
        const bool is_cross = shown->set->heads[example->head].is_cross;

        if (!isnan(example->found.weight) &&
            (example->found.query >= text->n_token ||
             example->found.key >= (is_cross ? text->n_source : text->n_token)))
            return attn_refuse(err, ATTN_STAGE_INPUT, "the items changed while they were read");
    }
    return ATTN_OK;
}

/* Reads the tokens of ITEM, of which SHOWN are shown, and runs it if rows are kept. */
static enum attn_status read_again(struct attn_example_set *set, struct attn_stream *stream,
                                   const struct attn_item *item, struct shown *shown,
                                   struct attn_error *err)
{
    struct attn_card_text *text = &set->texts[set->n_text];
    struct attn_request request = *set->call->request;
    struct attn_host *host = set->call->host;
    const char *heads = request.selection.heads;
    struct attn_run *run = NULL;
    enum attn_status status;

    attn_frame_choose_nothing(&request);
    request.selection.sites = "pattern";
    request.selection.heads = heads;
    attn_stream_fill_request(stream, item, &request);
    request.on_note = NULL; /* the first pass has sent the notes */
    status = attn_run_open(host, NULL, &request, &run, err);
    ATTN_THEN(status, attn_card_text_read(run, item, false, text, err));
    ATTN_THEN(status, check_found(shown, text, err));
    if (status == ATTN_OK && set->args->keeps_rows)
        status = keep_rows(run, shown, err);
    for (size_t i = 0; i < shown->n; i++)
        shown->items[i]->text = set->n_text;
    set->n_text++;
    attn_run_free(run);
    return status;
}

/* Reads the items again up to the last of EXAMPLES [n], sorted by number. */
static enum attn_status read_shown(struct attn_example_set *set, struct attn_stream *stream,
                                   struct attn_example *const *examples, size_t n,
                                   struct attn_error *err)
{
    struct shown shown = {.set = set};
    struct attn_item *item = NULL;
    size_t first = 0;

    ATTN_TRY(attn_stream_rewind(stream, err));
    while (first < n) {
        enum attn_status status;

        ATTN_TRY(attn_stream_again(stream, &item, err));
        if (!item)
            return attn_refuse(err, ATTN_STAGE_INPUT, "the items changed while they were read");
        shown.items = examples + first;
        shown.n = 0;
        while (first < n && examples[first]->found.number == item->number)
            shown.n++, first++;
        status = shown.n > 0 ? read_again(set, stream, item, &shown, err) : ATTN_OK;
        attn_item_free(item);
        ATTN_TRY(status);
        ATTN_TRY(attn_host_check_canceled(set->call->host, err));
    }
    return ATTN_OK;
}

enum attn_status attn_examples_read_texts(struct attn_example_set *set, struct attn_stream *stream,
                                          struct attn_error *err)
{
    struct attn_example **shown;

    ATTN_TRY(ATTN_STORE_ALLOC(&set->store, shown, set->n_example, err));
    for (size_t i = 0; i < set->n_example; i++)
        shown[i] = &set->examples[i];
    qsort(shown, set->n_example, sizeof(struct attn_example *), by_number);
    ATTN_TRY(ATTN_STORE_ALLOC(&set->store, set->texts, set->n_example, err));
    return read_shown(set, stream, shown, set->n_example, err);
}
