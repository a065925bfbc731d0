/* heads_pictures.c - the reader of `heads` for texts with a picture: shares of the regions, and how
 * each head looks at the picture. */
#include "heads/heads_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "measures/analysis_internal.h"
#include "tables/table_internal.h"
#include "towers/maps/picture_maps.h"

#include <math.h>

/* Creates the maps over the picture. Their rows are the positions of `from`, or those that predict
 * the answer. */
static enum attn_status begin(struct attn_heads_run *heads, void **reading, struct attn_error *err)
{
    const struct attn_run *run = heads->frame.run;
    struct attn_picture_maps_args args = {
        .text = &run->text, .selection = run->selection, .drop_sinks = heads->drop_sinks};
    struct attn_number_list rows = heads->args->from;
    struct attn_picture_maps *maps = NULL;
    struct attn_selection *chosen = NULL;
    char *numbers = NULL;
    enum attn_status status = ATTN_OK;

    if (run->text.seen.n_picture == 0)
        return ATTN_OK;
    for (size_t i = run->text.seen.n_image; i < ATTN_MOST_MEASURED_PICTURE && !heads->frame.item;
         i++)
        if (heads->args->measures & ATTN_MEASURE_BIT(ATTN_MEASURE_PICTURE_0 + i))
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`measures` names 'picture_%zu', and the text has %zu picture%s", i,
                               run->text.seen.n_image, run->text.seen.n_image == 1 ? "" : "s");
    if (attn_number_list_is_given(&rows) && !heads->has_pairs) {
        if (rows.n == 0)
            ATTN_TRY(attn_error_at(
                attn_error_in(attn_positions_number(&run->text, rows.text, &numbers, err), "from",
                              err),
                ATTN_STAGE_OPTIONS, err));
        rows.text = numbers;
        status = attn_selection_copy(run->selection, &chosen, err);
        ATTN_THEN(status, attn_selection_choose_queries(chosen, ATTN_STACK_ONLY, &rows, err));
        args.selection = chosen;
    }
    ATTN_THEN(status, attn_picture_maps_create(&args, &maps, err));
    *reading = maps;
    attn_selection_free(chosen);
    attn_free(numbers);
    return status;
}

static enum attn_status add(const struct attn_heads_run *heads, void *reading,
                            const struct attn_trace_event *event, struct attn_error *err)
{
    (void)heads, (void)err;
    attn_picture_maps_add(reading, event);
    return ATTN_OK;
}

static enum attn_status finish(struct attn_heads_run *heads, void *reading, struct attn_error *err)
{
    static const int shares[] = {
        [ATTN_SHARE_OTHER] = ATTN_HEAD_OF_OTHER,
        [ATTN_SHARE_PICTURE] = ATTN_HEAD_OF_PICTURE,
        [ATTN_SHARE_QUESTION] = ATTN_HEAD_OF_QUESTION,
        [ATTN_SHARE_ANSWER] = ATTN_HEAD_OF_ANSWER,
        [ATTN_SHARE_SINKS] = ATTN_HEAD_OF_PICTURE_SINKS,
    };
    /* the share of the picture from which on heads are kept, in JSON */
    static const struct attn_column about_localized = ATTN_COLUMN_REAL("threshold", 4, NULL, SHARE);
    const size_t n = heads->parts.n, most = heads->args->n_kept > 0 ? heads->args->n_kept : 10;
    struct attn_head_picture *pictures = attn_frame_alloc(&heads->frame, n, sizeof *pictures);
    struct attn_location *ats = attn_frame_alloc(&heads->frame, n, sizeof *ats);
    double threshold;

    ATTN_TRY(attn_frame_memory(&heads->frame, err));
    for (size_t i = 0; i < n; i++) {
        ats[i] = heads->parts.items[i].at;
        ATTN_TRY(attn_head_pictures_find(reading, &ats[i], &pictures[i], err));
    }
    ATTN_TRY(attn_head_pictures_rank(ats, pictures, n, &threshold, err));
    for (size_t i = 0; i < n; i++) {
        double *found = heads->found + i * ATTN_N_HEAD_COLUMN;

        for (size_t k = 0; k < ATTN_N_SHARE; k++)
            found[shares[k]] = pictures[i].shares[k];
        for (size_t k = 0; k < ATTN_MOST_MEASURED_PICTURE; k++)
            found[ATTN_HEAD_OF_PICTURE_0 + k] =
                k < attn_picture_maps_n_image(reading)
                    ? attn_picture_maps_image_share(reading, &ats[i], k)
                    : (double)NAN;
        found[ATTN_HEAD_OF_SPATIAL_ENTROPY] = pictures[i].entropy;
        found[ATTN_HEAD_OF_BLOBS] = pictures[i].n_blob;
        found[ATTN_HEAD_BOTTOM_ROW] = pictures[i].bottom > 0.05;
        found[ATTN_HEAD_KEPT] = pictures[i].is_kept;
        found[ATTN_HEAD_RANK] = pictures[i].rank > 0 ? pictures[i].rank : (double)NAN;
        found[ATTN_HEAD_SELECTED] = pictures[i].rank > 0 && pictures[i].rank <= (double)most;
    }
    if (!heads->args->is_localized || heads->frame.item)
        return ATTN_OK;
    const struct attn_cell cell = attn_cell_real(threshold);

    return attn_table_set_about(heads->frame.rows.table, &about_localized, &cell, 1, err);
}

static void release(void *reading)
{
    attn_picture_maps_free(reading);
}

const struct attn_head_reader attn_head_pictures_reader = {
    .begin = begin, .reads_all = true, .add = add, .finish = finish, .release = release};
