/* grids.c - see grids.h. */
#include "experiment/grids.h"

#include "base/table_internal.h"
#include "study/study_internal.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BASELINE = 36 }; /* bytes of a baseline's text in a title */

/* The column that is drawn: that of the sort, or what was asked for beside the measures, or the
 * first measure that was chosen. */
static const char *survey_values(const struct attn_survey_args *args, char *words)
{
    if (args->sort) {
        snprintf(words, ATTN_GRID_WORDS_SIZE, "%.*s", (int)strcspn(args->sort, ":"), args->sort);
        return words;
    }
    if (args->has_effect)
        return "change";
    if (args->from)
        return "weight";
    if (args->pattern)
        return "mul";
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if (args->measures & ATTN_MEASURE_BIT(m))
            return attn_measure_name((enum attn_measure)m);
    return args->has_probe ? "induction" : "entropy_norm";
}

void attn_survey_grid(const struct attn_survey_args *args, const struct attn_table *table,
                      char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    (void)table;
    *grid = (struct attn_table_grid){.rows = "layer",
                                     .columns = "head",
                                     .values = survey_values(args, words),
                                     .asked = "in each head"};
    if (args->has_effect && strcmp(grid->values, "change") == 0)
        grid->asked = "without each head";
    if (!attn_study_is_of_items(args->study) && args->from && args->to &&
        strcmp(grid->values, "weight") == 0) {
        const size_t used = grid->values == words ? strlen(words) + 1 : 0;
        const int size = snprintf(words + used, ATTN_GRID_WORDS_SIZE - used,
                                  "from %s to %s in each head", args->from, args->to);

        if (size >= 0 && (size_t)size < ATTN_GRID_WORDS_SIZE - used)
            grid->asked = words + used;
    }
}

/* The words for what was done to each part. */
static const char *ablate_asked(const struct attn_ablate_args *args)
{
    static const char *const zeros[] = {"without each head", "without the attention of each layer",
                                        "without the MLP of each layer", "without each layer",
                                        "without each neuron"};
    static const char *const others[] = {
        [ATTN_ABLATE_WITH_MEAN] = "with the mean of each part in its place",
        [ATTN_ABLATE_WITH_UNIFORM] = "with a uniform pattern in each head",
        [ATTN_ABLATE_WITH_RESAMPLE] = "with rows of another text in each part"};

    if (args->is_cumulative)
        return "without this part and all before it";
    return args->with == ATTN_ABLATE_WITH_ZERO ? zeros[args->parts] : others[args->with];
}

void attn_ablate_grid(const struct attn_ablate_args *args, const struct attn_table *table,
                      char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    const bool is_of_heads = args->parts == ATTN_ABLATE_HEADS;
    const bool is_of_neurons = args->parts == ATTN_ABLATE_NEURONS;

    (void)table;
    (void)words;
    *grid = (struct attn_table_grid){.rows = "layer",
                                     .columns = is_of_heads     ? "head"
                                                : is_of_neurons ? "neuron"
                                                                : "part",
                                     .values = "change",
                                     .figure = args->is_cumulative ? ATTN_FIGURE_CURVE
                                               : is_of_heads       ? ATTN_FIGURE_DEFAULT
                                                             : ATTN_FIGURE_BARS, /* one a layer */
                                     .is_sequence = args->is_cumulative,
                                     .asked = ablate_asked(args)};
    if (args->n_set == 0)
        return;
    grid->rows = grid->columns = "set";
    grid->figure = ATTN_FIGURE_BARS;
    if (args->with == ATTN_ABLATE_WITH_ZERO)
        grid->asked = "without each set of heads";
}

void attn_align_grid(const struct attn_align_args *args, const struct attn_table *table,
                     char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    const bool is_hidden = table && attn_table_find(table, "method") < SIZE_MAX;
    const bool is_attention = table && attn_table_find(table, "ts") < SIZE_MAX;

    (void)words;
    *grid = (struct attn_table_grid){.rows = "word_index",
                                     .detail = "word",
                                     .columns = "source_index",
                                     .texts = "source",
                                     .values = "weight",
                                     .cells = "mark",
                                     .asked = "of the text (rows) and of the source (columns)"};
    if (args->has_score)
        *grid = (struct attn_table_grid){.rows = "layer",
                                         .columns = is_hidden ? "method" : "head",
                                         .values = is_attention ? "ts" : "recall"};
}

/* Makes GRID one of two texts: a column for each position, place, head, kv_head or neuron of TABLE;
 * in a table of heads by position, a row for each head. Its words are "BEFORE SITE of each ...". */
static void fill_patched(const struct attn_table *table, const char *before, const char *site,
                         char *words, struct attn_table_grid *grid)
{
    for (size_t i = 0; table && i < attn_table_n_column(table); i++) {
        const struct attn_column *column = attn_table_column(table, i);

        if (column->role != ATTN_ROLE_POSITION && column->role != ATTN_ROLE_HEAD &&
            column->role != ATTN_ROLE_KV_HEAD && column->role != ATTN_ROLE_NEURON)
            continue;
        grid->detail = grid->columns; /* the table has heads and positions */
        grid->columns = column->name;
    }
    grid->positions = "position";
    snprintf(words, ATTN_GRID_WORDS_SIZE, "%s %s of each %s%s", before, site ? site : "resid_pre",
             grid->detail ? "head and " : "", grid->columns ? grid->columns : "place");
    grid->asked = words;
}

/* Names both texts. Items have neither, but a mean, and tokens where all of them agree. */
static void name_pair(const struct attn_study_args *study, size_t n_place,
                      struct attn_table_grid *grid)
{
    grid->text_name = study ? NULL : "clean";
    grid->other_name = study ? NULL : "corrupted";
    grid->texts = study && n_place == 0 ? "token" : NULL;
}

void attn_patch_grid(const struct attn_patch_args *args, const struct attn_table *table,
                     char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    static const char *const quantities[2][2] = {
        {"share of @ restored", "share of @ lost"},
        {"estimated share of @ restored", "estimated share of @ lost"}};
    const bool is_estimated = args->method != ATTN_PATCH_EXACT;
    const bool is_of_pictures = args->corrupted.image || args->corrupted.pixels;

    *grid = (struct attn_table_grid){.rows = "layer",
                                     .values = is_estimated ? "estimate" : "effect",
                                     .quantity = quantities[is_estimated][args->is_to_noise]};
    fill_patched(table, is_estimated ? "by patching" : "by", args->site, words, grid);
    if (is_of_pictures && !is_estimated && args->n_place == 0)
        grid->figure = ATTN_FIGURE_PATCHES; /* by position */
    name_pair(args->study, args->n_place, grid);
}

/* Whether the rows of TABLE have one position. */
static bool has_one_position(const struct attn_table *table)
{
    const size_t position = table ? attn_table_find(table, "position") : SIZE_MAX;

    for (size_t i = 1; position < SIZE_MAX && i < attn_table_n_row(table); i++)
        if (attn_table_cell(table, i, position).integer !=
            attn_table_cell(table, 0, position).integer)
            return false;
    return position < SIZE_MAX;
}

/* Whether the first row of TABLE has no probability: a score has none. */
static bool lacks_prob(const struct attn_table *table)
{
    const size_t prob = table ? attn_table_find(table, "prob") : SIZE_MAX;

    return prob < SIZE_MAX && attn_table_n_row(table) > 0 &&
           attn_table_cell(table, 0, prob).type == ATTN_VALUE_MISSING;
}

/* Means over texts or items have no positions, nor has a classifier that reads all rows at once.
 * Each item has a target of its own. */
void attn_lens_grid(const struct attn_lens_args *args, const struct attn_table *table,
                    char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    const bool is_of_many = args->study, has_items = attn_study_is_of_items(args->study);
    const bool has_target = args->answer.target || args->answer.target_id || has_items ||
                            (table && attn_table_find(table, "place") == SIZE_MAX);
    const bool has_foil = !has_items && (args->answer.foil || args->answer.foil_id);
    const bool has_position =
        !is_of_many && !(table && attn_table_find(table, "position") == SIZE_MAX);

    *grid = (struct attn_table_grid){.rows = "layer",
                                     .positions = "position",
                                     .is_stream = !args->reads_heads,
                                     .cells = has_target || is_of_many ? NULL : "token"};
    if (args->reads_heads) {
        grid->detail = has_position ? "position" : NULL;
        grid->columns = "head";
        grid->values = "logit";
        grid->asked = "by what each head adds alone";
    } else {
        grid->detail = "site";
        grid->columns = has_position ? "position" : "place";
        grid->values = lacks_prob(table) ? "logit" : "prob";
        grid->asked = "read after each layer";
    }
    if (!args->reads_heads && !has_position && has_target) {
        grid->detail = NULL;
        grid->columns = "site";
    }
    if (!args->reads_heads && has_target && (!has_position || has_one_position(table)))
        grid->figure = ATTN_FIGURE_CURVE; /* one number a layer */
    if (has_foil)
        grid->values = "logit_diff";
    snprintf(words, ATTN_GRID_WORDS_SIZE, "%s of the %s",
             args->reads_heads ? "logit" : "probability",
             has_items ? "target" : "most probable token");
    grid->quantity = has_target && !has_items ? "@" : words;
}

/* Direct logit attribution: parts of the model, or heads by key. */
static void draw_split(const struct attn_attribute_args *args, char words[ATTN_GRID_WORDS_SIZE],
                       struct attn_table_grid *grid)
{
    *grid = (struct attn_table_grid){
        .rows = "layer", .columns = "head", .values = "logit", .quantity = "part of @"};
    if (!args->by_token) {
        grid->parts = "attn_bias mlp embed pos norm_bias output_bias";
        grid->inputs = "embed pos";
        grid->asked = "written by each part of the model";
        return;
    }
    snprintf(words, ATTN_GRID_WORDS_SIZE, "written by heads, by the key they read from");
    if (args->n_most < SIZE_MAX)
        snprintf(words + strlen(words), ATTN_GRID_WORDS_SIZE - strlen(words), ": the %zu largest",
                 args->n_most > 0 ? args->n_most : 20);
    grid->detail = "head";
    grid->columns = "key";
    grid->texts = "token";
    grid->asked = words;
}

/* The words for the baseline of integrated gradients: the one that is given or that TABLE names;
 * tables of many items name none. */
static void name_baseline(const struct attn_attribute_args *args, const struct attn_table *table,
                          char words[ATTN_GRID_WORDS_SIZE])
{
    static const char *const kinds[][2] = {{"mean", "mean embedding"},
                                           {"zero", "zeros"},
                                           {"mask", "mask tokens"},
                                           {"pad", "padding"},
                                           {"grey", "grey"}};
    static const char *const names[ATTN_N_BASELINE] = {
        [ATTN_BASELINE_MEAN] = "mean", [ATTN_BASELINE_ZERO] = "zero", [ATTN_BASELINE_MASK] = "mask",
        [ATTN_BASELINE_PAD] = "pad",   [ATTN_BASELINE_GREY] = "grey",
    };
    const struct attn_input *given = &args->given;
    const struct attn_table *about = table ? attn_table_about(table) : NULL;
    const size_t column = about ? attn_table_find(about, "baseline") : SIZE_MAX;
    const char *asked = names[args->baseline] ? names[args->baseline] : "";
    const struct attn_cell cell =
        column < SIZE_MAX ? attn_table_cell(about, 0, column) : attn_cell_string(asked);

    snprintf(words, ATTN_GRID_WORDS_SIZE, "%s",
             args->baseline != ATTN_BASELINE_GIVEN ? "the default"
             : given->image                        ? "another picture"
                                                   : "another text");
    if (given->text && given->n_text <= MOST_BASELINE)
        snprintf(words, ATTN_GRID_WORDS_SIZE, "'%.*s'", (int)given->n_text, given->text);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i][0]) == cell.size && memcmp(kinds[i][0], cell.text, cell.size) == 0)
            snprintf(words, ATTN_GRID_WORDS_SIZE, "%s", kinds[i][1]);
}

/* Whether TABLE is about a picture: then it has [CLS] and patches without ids. */
static bool is_of_patches(const struct attn_table *table)
{
    const size_t id = table ? attn_table_find(table, "id") : SIZE_MAX;
    const size_t token = table ? attn_table_find(table, "token") : SIZE_MAX;

    return id < SIZE_MAX && token < SIZE_MAX && attn_table_n_row(table) > 0 &&
           attn_table_cell(table, 0, id).type == ATTN_VALUE_MISSING &&
           attn_table_cell(table, 0, token).type != ATTN_VALUE_MISSING;
}

/* Whether TABLE begins with a token of a source. */
static bool has_source(const struct attn_table *table)
{
    const struct attn_cell part =
        table ? attn_table_cell(table, 0, attn_table_find(table, "part")) : (struct attn_cell){0};

    return attn_cell_word(&part, "source") == 0;
}

static void draw_tokens(const struct attn_attribute_args *args, const struct attn_table *table,
                        char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    static const char *const methods[ATTN_N_ATTRIBUTE_METHOD] = {
        [ATTN_ATTRIBUTE_SALIENCY] = "saliency",
        [ATTN_ATTRIBUTE_GRAD_X_INPUT] = "gradient x input",
        [ATTN_ATTRIBUTE_IG] = "integrated gradients, baseline: ",
        [ATTN_ATTRIBUTE_ATTNLRP] = "AttnLRP",
        [ATTN_ATTRIBUTE_RELP] = "RelP",
        [ATTN_ATTRIBUTE_RELEVANCE] = "attention x gradient, through all layers",
        [ATTN_ATTRIBUTE_RELEVANCE_NORM] = "attention x gradient, normalized"};
    char baseline[ATTN_GRID_WORDS_SIZE] = "";

    if (args->method == ATTN_ATTRIBUTE_IG)
        name_baseline(args, table, baseline);
    snprintf(words, ATTN_GRID_WORDS_SIZE, "of each %s%s (%s%.*s)",
             args->merges_words     ? "word"
             : is_of_patches(table) ? "patch"
                                    : "token",
             args->n_target > 0 && has_source(table) ? " of the source" : "", methods[args->method],
             MOST_BASELINE + 2, baseline);
    *grid = (struct attn_table_grid){
        .rows = "position",
        .columns = "position",
        .positions = "position",
        .texts = "token",
        .values = "attribution",
        .quantity = args->method == ATTN_ATTRIBUTE_SALIENCY ? "length of the gradient of @"
                    : args->method == ATTN_ATTRIBUTE_RELEVANCE ||
                            args->method == ATTN_ATTRIBUTE_RELEVANCE_NORM
                        ? "relevance for @"
                        : "part of @",
        .asked = words,
        .figure = args->study ? ATTN_FIGURE_BARS /* items may differ in their tokens */
                              : ATTN_FIGURE_TOKENS};
    if (args->n_target == 0)
        return;
    grid->rows = "step";
    grid->detail = "target";
    grid->only = has_source(table) ? "source" : NULL;
    grid->figure = ATTN_FIGURE_DEFAULT;
}

void attn_attribute_grid(const struct attn_attribute_args *args, const struct attn_table *table,
                         char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    if (args->method == ATTN_ATTRIBUTE_DLA)
        draw_split(args, words, grid);
    else if (args->method != ATTN_ATTRIBUTE_ATTN_X_GRAD && args->method != ATTN_ATTRIBUTE_CAUSES)
        draw_tokens(args, table, words, grid);
    else
        *grid = (struct attn_table_grid){
            .rows = "layer",
            .detail = "head",
            .columns = "key",
            .texts = "token",
            .values = args->method == ATTN_ATTRIBUTE_CAUSES ? "attribution" : "attn_x_grad",
            .quantity = args->method == ATTN_ATTRIBUTE_CAUSES ? "part of @"
                                                              : "weight times the gradient of @",
            .figure = ATTN_FIGURE_CAUSES,
            .asked = args->method == ATTN_ATTRIBUTE_CAUSES ? "in the largest cells and MLPs"
                                                           : "in the largest cells"};
}

/* Many texts have no tokens in common. Items have a bar for each group: how often the model is
 * right, or without targets the surprisal. */
void attn_score_grid(const struct attn_score_args *args, const struct attn_table *table,
                     char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    (void)words;
    *grid = (struct attn_table_grid){.rows = NULL};
    if (attn_study_is_of_items(args->study)) {
        grid->rows = grid->columns = table && args->study->sum && args->study->sum->n_label > 0
                                         ? attn_table_column(table, 0)->name
                                         : "n";
        grid->values = table && attn_table_find(table, "right") == SIZE_MAX ? "bits" : "right";
        grid->figure = ATTN_FIGURE_BARS;
    } else if (!args->study) {
        *grid = (struct attn_table_grid){.rows = "position",
                                         .columns = "position",
                                         .texts = "token",
                                         .values = "bits",
                                         .figure = ATTN_FIGURE_TOKENS,
                                         .asked =
                                             args->merges_words ? "of each word" : "of each token"};
    }
}

void attn_diff_grid(const struct attn_diff_args *args, const struct attn_table *table,
                    char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid)
{
    (void)args;
    (void)table;
    (void)words;
    *grid = (struct attn_table_grid){.rows = "layer",
                                     .columns = "head",
                                     .values = "tv",
                                     .asked = "between the patterns of each head"};
}
