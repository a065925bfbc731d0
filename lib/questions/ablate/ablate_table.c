/* ablate_table.c - the table of `ablate`: its columns, rows and pictures. */
#include "ablate/ablate_internal.h"

enum {
    PART,
    SET,
    STACK,
    LAYER,
    HEAD,
    NEURON,
    KIND,
    ESTIMATE,
    VALUE,
    CHANGE,
    KL,
    SAME_TOP,
    RIGHT,
    CONTROL,
    CONTROL_SD,
    CONTROL_RANK,
    ROW_TYPE,
    N_COLUMN
};

enum {
    SHOW_SETS = 2,
    SHOW_HEADS = 4,
    SHOW_NEURONS = 8,
    SHOW_RIGHT = 16,
    SHOW_CONTROLS = 32,
    SHOW_ESTIMATES = 64,
    SHOW_RUNS = 128,
    SHOW_KINDS = 256
};

const struct attn_column attn_ablate_columns[ATTN_ABLATE_N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("base"),
    [SET] = ATTN_COLUMN_OF(SET, "set", TEXT, .shown = SHOW_SETS),
    [STACK] = ATTN_COLUMN_STACK("stack"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = SHOW_HEADS | SHOW_NEURONS),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER, .shown = SHOW_HEADS),
    [NEURON] = ATTN_COLUMN_OF(NEURON, "neuron", INTEGER, .shown = SHOW_NEURONS),
    [KIND] = ATTN_COLUMN_WITH("kind", TEXT, NAME, .shown = SHOW_KINDS),
    [ESTIMATE] = ATTN_COLUMN_QUANTITY("estimate", 6, NULL, SIGNED, "estimated change of @",
                                      .traits = ATTN_TRAIT_RANKED, .shown = SHOW_ESTIMATES),
    ATTN_COLUMNS_REPLY(VALUE, SHOW_RUNS, SHOW_RIGHT),
    ATTN_COLUMNS_CONTROL(CONTROL, SHOW_CONTROLS),
    [ROW_TYPE] = ATTN_COLUMN_ROW_TYPE,
};

const char *attn_ablate_part_name(enum attn_ablate_by by)
{
    static const char *const names[] = {
#define NAME(id, number, name) [ATTN_ABLATE_BY_##id] = (name),
        ATTN_ABLATE_BY_MAP(NAME)
#undef NAME
    };

    return names[by];
}

enum { OF_HEADS, OF_NEURONS, OF_LAYERS, OF_SETS };

const struct attn_table_view attn_ablate_views[ATTN_ABLATE_N_VIEW] = {
    [OF_HEADS] = {ATTN_VIEW_OF(LAYER, HEAD, CHANGE)},
    [OF_NEURONS] = {ATTN_VIEW_OF(LAYER, NEURON, CHANGE)},
    [OF_LAYERS] = {ATTN_VIEW_OF(LAYER, PART, CHANGE)},
    [OF_SETS] = {ATTN_VIEW_OF(SET, SET, CHANGE)},
};

/* Returns the last words of the title, which describe the replacement. */
static const char *find_words(const struct attn_ablate_args *args)
{
    static const char *const zeros[] = {"without each head", "without the attention of each layer",
                                        "without the MLP of each layer", "without each layer",
                                        "without each neuron"};
    static const char *const others[] = {
        [ATTN_REPLACEMENT_MEAN] = "with the mean of each part in its place",
        [ATTN_REPLACEMENT_UNIFORM] = "with a uniform pattern in each head",
        [ATTN_REPLACEMENT_RESAMPLE] = "with rows of another text in each part"};
    const bool is_zero = args->replacement == ATTN_REPLACEMENT_ZERO;

    return args->n_set > 0 && is_zero        ? "without each set of heads"
           : args->is_cumulative             ? "without this part and all before it"
           : !is_zero                        ? others[args->replacement]
           : args->tower == ATTN_TOWER_IMAGE ? "without each part of the tower"
                                             : zeros[args->by];
}

void attn_ablate_draw(const void *given, struct attn_drawn *drawn)
{
    const struct attn_ablate_args *args = given;
    struct attn_table_view *view = &drawn->picture->view;

    *view = attn_ablate_views[args->n_set > 0                     ? OF_SETS
                              : args->by == ATTN_ABLATE_BY_HEAD   ? OF_HEADS
                              : args->by == ATTN_ABLATE_BY_NEURON ? OF_NEURONS
                                                                  : OF_LAYERS];
    view->asked = drawn->table ? find_words(args) : NULL;
    if (args->is_estimated)
        view->values = ATTN_TABLE_COLUMN(ESTIMATE);
    if (args->is_cumulative)
        view->traits = ATTN_VIEW_SEQUENCE;
}

uint64_t attn_ablate_shows(const void *state)
{
    const struct attn_ablation *ablation = state;
    const struct attn_ablate_args *args = ablation->args;
    const bool has_right = ablation->frame.item && attn_metric_has_right(args->answer.metric);
    const bool has_kinds = args->by == ATTN_ABLATE_BY_HEAD || args->by == ATTN_ABLATE_BY_ATTN;

    return (args->n_set > 0                     ? SHOW_SETS
            : args->by == ATTN_ABLATE_BY_NEURON ? SHOW_NEURONS
                                                : SHOW_HEADS) |
           (args->is_estimated ? SHOW_ESTIMATES
            : has_right        ? SHOW_RUNS | SHOW_RIGHT
                               : SHOW_RUNS) |
           (args->n_control > 0 ? SHOW_CONTROLS : 0) |
           (ablation->frame.config->mixer && args->n_set == 0 && has_kinds ? SHOW_KINDS : 0);
}

static const char mixing[] = "mixing";

bool attn_ablate_row_is_mixing(const struct attn_table *table, size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, attn_table_find(table, "kind"));
    const struct attn_cell of_mixing = attn_cell_string(mixing);

    return attn_cell_is_equal(&cell, &of_mixing);
}

enum attn_status attn_ablate_append(struct attn_ablation *ablation, size_t i,
                                    const struct attn_reply *reply, const double *controls,
                                    struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_part *part =
        controls && !attn_ablate_has_sets(ablation) ? &ablation->parts.items[i] : NULL;
    struct attn_cell row[N_COLUMN] = {
        [PART] =
            attn_cell_string(!controls                        ? "base"
                             : attn_ablate_has_sets(ablation) ? "set"
                                                              : attn_ablate_part_name(args->by)),
    };

    attn_reply_put(&ablation->answer, &ablation->frame.trials.base, reply, &row[VALUE]);
    if (controls && attn_ablate_has_sets(ablation))
        row[SET] =
            attn_cell_string(args->sets[i].name ? args->sets[i].name : args->sets[i].heads.text);
    if (part)
        attn_location_put(&part->at, &row[STACK]);
    if (part && part->at.head >= 0)
        row[HEAD] = attn_cell_integer(part->at.head);
    if (part)
        row[KIND] = attn_cell_string(attn_ablate_is_mixing(part->at.site) ? mixing : "attention");
    if (part && part->neuron >= 0)
        row[NEURON] = attn_cell_integer(part->neuron);
    if (part && args->is_estimated)
        row[VALUE] = attn_cell_missing();
    row[ESTIMATE] = attn_cell_real(part && args->is_estimated ? ablation->estimates[i] : 0);
    if (controls && args->n_control > 0)
        attn_control_put(controls, args->n_control, row[CHANGE].real, &row[CONTROL]);
    return attn_frame_append(&ablation->frame, row, err);
}

/* Sets control and control_sd (attn_fold_derive_fn). The choices are the same for all items, so
 * each choice has a mean change over items; the columns are mean and standard deviation of
 * these. */
enum attn_status attn_ablate_derive(const void *given, const struct attn_fold_means *means,
                                    struct attn_error *err)
{
    const struct attn_ablate_args *args = given;
    const size_t n = args->n_control;
    struct attn_cell *rows = means->rows;

    (void)err;
    for (size_t row = 1; n > 0 && row < means->n_row; row++) {
        const double *changes = means->more + (means->n_more > n ? (row - 1) * n : 0);
        struct attn_cell *cells = rows + row * N_COLUMN;

        attn_control_put(changes, n, cells[CHANGE].real, &cells[CONTROL]);
    }
    return ATTN_OK;
}
