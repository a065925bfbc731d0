/*
 * ablate_pictures.c - `ablate` for the picture in a prompt: the answer when the rows of the
 * connector for the picture, for each tile, or for each cell of the whole picture, are replaced by
 * the mean of all its rows. Only the decoder runs again.
 */
#include "ablate/ablate_internal.h"

#include "frame/parts.h"
#include "towers/prompt/picture_prompt.h"

#include <stdio.h>
#include <string.h>

enum { PART, ROW, COLUMN, VALUE, CHANGE, KL, SAME_TOP, RIGHT, ROW_TYPE, N_COLUMN };
enum { SHOW_RIGHT = 2, PART_NAME_SIZE = 24 };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("base"),
    [ROW] = ATTN_COLUMN_OF(PICTURE_ROW, "row", INTEGER),
    [COLUMN] = ATTN_COLUMN_OF(PICTURE_COLUMN, "column", INTEGER),
    ATTN_COLUMNS_REPLY(VALUE, 0, SHOW_RIGHT),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

/* Cells of one picture, or all of them. */
struct area {
    enum attn_ablate_picture kind;
    size_t row, col;    /* of the tile in its grid, or of the cell */
    size_t first, last; /* cells of all images */
    char name[PART_NAME_SIZE];
};

struct ablation {
    struct attn_frame frame;
    const struct attn_ablate_args *args;
    struct attn_answer answer;
    float *mean; /* [D] of all rows */
    /* [n_deep, n_cell, D]: of each row of DeepStack, how far it is from the mean of its layer. */
    float *changes;
    size_t *cells; /* [n_cell] the position of each cell of all pictures */
    size_t n_cell;
    struct area *areas; /* [n_area] */
    size_t n_area;
    int64_t at; /* the last position of the prompt, if an answer follows it */
};

static enum attn_status check(const void *given, struct attn_error *err)
{
    const struct attn_ablate_args *args = given;

    if (args->n_set > 0 || args->is_cumulative || args->n_control > 0 || args->n_reference > 0 ||
        args->replacement != ATTN_REPLACEMENT_ZERO || args->tower != ATTN_TOWER_TEXT ||
        args->is_estimated)
        return attn_error_set(err, ATTN_INVALID,
                              "`by` is about a picture, whose parts become the mean of its cells: "
                              "no `replacement`, `sets`, `is_cumulative`, `control`, `references`, "
                              "`tower` or `estimate`");
    return ATTN_OK;
}

/* Lists the areas that are ablated. Several images have no tiles and cells here. */
static void list_areas(struct ablation *ablation)
{
    const struct attn_picture_prompt *seen = &attn_asked_text(ablation->frame.run)->seen;
    const struct attn_prompt_image *image = seen->images;
    const unsigned parts = ablation->args->picture_parts;
    const size_t n = image->rows * image->columns, n_tile = image->n_picture - 1;
    const size_t first = attn_prompt_image_whole(image);
    struct area *area = ablation->areas;

    if (parts & 1U << ATTN_ABLATE_PICTURE)
        *area++ = (struct area){ATTN_ABLATE_PICTURE, 0, 0, 0, ablation->n_cell - 1, "picture"};
    for (size_t i = 0; i < seen->n_image && seen->n_image > 1; i++, area++) {
        const size_t begin = seen->images[i].first_cell;

        *area =
            (struct area){ATTN_ABLATE_PICTURE, 0, 0, begin, begin + seen->images[i].n_cell - 1, ""};
        snprintf(area->name, sizeof area->name, "picture_%u", (unsigned)i);
    }
    for (size_t i = 0; i < n_tile && parts & 1U << ATTN_ABLATE_TILE; i++)
        *area++ = (struct area){ATTN_ABLATE_TILE,     i / image->tile_cols,
                                i % image->tile_cols, i * n,
                                (i + 1) * n - 1,      "tile"};
    for (size_t i = 0; i < n && parts & 1U << ATTN_ABLATE_CELL; i++)
        *area++ = (struct area){ATTN_ABLATE_CELL, i / image->columns, i % image->columns,
                                first + i,        first + i,          "cell"};
    ablation->n_area = (size_t)(area - ablation->areas);
}

/* Finds the positions of the cells, and the mean of their rows. */
static void find_cells(struct ablation *ablation)
{
    const struct attn_sequence *text = attn_asked_text(ablation->frame.run);
    size_t n = 0;

    for (size_t at = attn_picture_prompt_next(text, 0); at < text->n;
         at = attn_picture_prompt_next(text, at + 1))
        ablation->cells[n++] = at;
    attn_picture_prompt_mean(text, text->rows, ablation->frame.config->d_model, ablation->mean);
}

/* Finds the changes of the rows of DeepStack. SCRATCH has [D]. */
static void find_changes(struct ablation *ablation, float *scratch)
{
    const struct attn_run *run = ablation->frame.run;
    const struct attn_added_rows added =
        attn_sequence_added(attn_asked_text(run), attn_asked_model(run));
    const size_t d = ablation->frame.config->d_model;
    float *change = ablation->changes;

    for (size_t layer = 0; layer < added.n_layer; layer++) {
        const float *rows = added.rows + layer * added.n * d;

        attn_picture_prompt_mean(attn_asked_text(run), rows, d, scratch);
        for (size_t cell = 0; cell < ablation->n_cell; cell++, change += d)
            for (size_t i = 0; i < d; i++)
                change[i] = scratch[i] - rows[ablation->cells[cell] * d + i];
    }
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;

    if (ablation->frame.request.selection.heads)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`heads` names heads, and `by` is about a picture");
    attn_question_choose_nothing(&ablation->frame.request);
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    struct attn_frame *frame = &ablation->frame;
    const struct attn_ablate_args *args = frame->args;
    const struct attn_sequence *text = attn_asked_text(frame->run);
    const struct attn_picture_prompt *seen = &text->seen;
    struct attn_answer_args answer = args->answer;
    const size_t n_deep = frame->config->vision.n_deep;

    ablation->args = args;
    if (seen->n_picture == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by` is about a picture beside a text, and none was given");
    if (seen->n_image > 1 && args->picture_parts != 1U << ATTN_ABLATE_PICTURE)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by` is about the cells or tiles of one picture, and there are %zu: "
                           "`by picture` replaces each of them",
                           seen->n_image);
    if (args->picture_parts == 1U << ATTN_ABLATE_TILE && seen->images->tile_rows == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by` is about the tiles of the picture, and it has none");
    if (args->picture_parts & 1U << ATTN_ABLATE_TILE && seen->images->joined.side > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`by tile` is about tiles, and '%s' makes one grid of all of them",
                           attn_quote_string(attn_model_name(attn_asked_model(frame->run))).text);
    ablation->n_cell = seen->n_cell;
    ablation->mean = attn_frame_alloc(frame, frame->config->d_model, sizeof *ablation->mean);
    ablation->cells = attn_frame_alloc(frame, ablation->n_cell, sizeof *ablation->cells);
    ablation->areas =
        attn_frame_alloc(frame, ablation->n_cell + 1 + seen->n_picture, sizeof *ablation->areas);
    ablation->changes = attn_frame_alloc(frame, n_deep * ablation->n_cell + 1,
                                         frame->config->d_model * sizeof *ablation->changes);
    ATTN_TRY(attn_frame_memory(frame, err));
    find_cells(ablation);
    find_changes(ablation, ablation->changes + n_deep * ablation->n_cell * frame->config->d_model);
    list_areas(ablation);
    ablation->at = (int64_t)seen->n_prompt - 1;
    if (!attn_number_list_is_given(&answer.at) && seen->n_prompt < text->n)
        answer.at = (struct attn_number_list){.items = &ablation->at, .n = 1};
    ATTN_TRY(attn_frame_find_answer(frame, &answer, &ablation->answer, err));
    return attn_trials_start(frame->run, &ablation->answer, ATTN_SITE_RESID_PRE, &frame->trials,
                             err);
}

/* Replaces the rows of area number I in the stream into layer 0 (attn_part_edit_fn). */
static enum attn_status add_edits(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct ablation *ablation = user;
    const struct area *area = &ablation->areas[i];
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.at =
        (struct attn_location){.site = ATTN_SITE_RESID_PRE, .layer = 0, .head = ATTN_ALL_HEADS};
    edit.op = ATTN_EDIT_REPLACE;
    edit.data = ablation->mean;
    edit.col1 = ablation->frame.config->d_model;
    for (size_t cell = area->first; cell <= area->last; cell++) {
        edit.row0 = ablation->cells[cell];
        while (cell < area->last && ablation->cells[cell + 1] == ablation->cells[cell] + 1)
            cell++;
        edit.row1 = ablation->cells[cell] + 1;
        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    edit.op = ATTN_EDIT_ADD;
    edit.at.site = ATTN_SITE_RESID_POST;
    for (size_t k = 0; k < ablation->frame.config->vision.n_deep; k++)
        for (size_t cell = area->first; cell <= area->last; cell++) {
            edit.at.layer = (int)k;
            edit.row0 = ablation->cells[cell];
            edit.row1 = edit.row0 + 1;
            edit.data = ablation->changes + (k * ablation->n_cell + cell) * edit.col1;
            ATTN_TRY(attn_part_edits_add(edits, &edit, err));
        }
    return ATTN_OK;
}

/* Appends the row of AREA with REPLY; NULL: the row of the base. */
static enum attn_status append(struct ablation *ablation, const struct area *area,
                               const struct attn_reply *reply, struct attn_error *err)
{
    const bool has_place = area && area->kind != ATTN_ABLATE_PICTURE;
    struct attn_cell row[N_COLUMN] = {
        [PART] = attn_cell_string(area ? area->name : "base"),
        [ROW] = has_place ? attn_cell_integer((int64_t)area->row) : attn_cell_missing(),
        [COLUMN] = has_place ? attn_cell_integer((int64_t)area->col) : attn_cell_missing(),
    };

    attn_reply_put(&ablation->answer, &ablation->frame.trials.base, reply, &row[VALUE]);
    return attn_frame_append(&ablation->frame, row, err);
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    struct attn_frame *frame = &ablation->frame;
    struct attn_trials *trials = &frame->trials;
    struct attn_trial_outcome *outcomes =
        attn_frame_alloc(frame, ablation->n_area, sizeof *outcomes);
    struct attn_ablate_sum *sum = frame->sum;

    ATTN_TRY(attn_frame_memory(frame, err));
    trials->n_expected = trials->n_feed + ablation->n_area;
    ATTN_TRY(attn_parts_try(trials, ablation->n_area, add_edits, ablation, outcomes, err));
    ATTN_TRY(append(ablation, NULL, &trials->base, err));
    for (size_t i = 0; i < ablation->n_area; i++)
        ATTN_TRY(append(ablation, &ablation->areas[i], &outcomes[i].reply, err));
    attn_frame_report_base(frame, &ablation->answer, &trials->base);
    sum->n_row += ablation->n_area > 0 ? outcomes[0].n_row : 0;
    sum->n_feed += trials->n_feed;
    sum->sites = attn_site_name(ATTN_SITE_IMAGE_FEATURES);
    return ATTN_OK;
}

static uint64_t shows(const void *state)
{
    const struct ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->frame.args;

    return ablation->frame.item && attn_metric_has_right(args->answer.metric) ? SHOW_RIGHT : 0;
}

static const struct attn_table_view views[] = {
    {ATTN_VIEW_OF(PICTURE_ROW, PICTURE_COLUMN, CHANGE), .traits = ATTN_VIEW_TOKENS, .only = "cell"},
};

static void draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_ablate_args *args = given;
    const bool is_of_cells = args->picture_parts & 1U << ATTN_ABLATE_CELL;

    if (!is_of_cells)
        drawn->picture->view.only = "tile";
    attn_drawn_ask(drawn, "with the mean of the picture in each %s", drawn->picture->view.only);
}

const struct attn_procedure attn_ablate_pictures = {
    ATTN_ABLATE(struct ablation),
    .check = check,
};
