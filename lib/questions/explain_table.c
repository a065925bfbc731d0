/* explain_table.c - one row of a run as tables: fits of its keys, their weights, and values. */
#include "questions/explain_internal.h"

#include "base/buffer.h"
#include "base/status_internal.h"
#include "model/config_fields.h"
#include "tables/document.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

/* FACTOR is the factor of v: the weight after dropout. */
enum column {
    END_OF_LAYOUT,
    KEY,
    TOKEN,
    K,
    PRODUCTS,
    DOT,
    K_LENGTH,
    FIT,
    BIAS,
    SCALED,
    SCORE,
    LESS_MAX,
    EXPONENTIAL,
    SHARE,
    WEIGHT,
    KEPT,
    MARK,
    FACTOR,
    V,
    WEIGHTED,
    COMPONENTS,
    N_COLUMN
};

#define TEXT(column) .name = (column), .type = ATTN_VALUE_TEXT
#define REAL(column) .name = (column), .type = ATTN_VALUE_REAL, .digits = 4
#define LIST(column) .name = (column), .type = ATTN_VALUE_REALS, .digits = 4
#define ITEMS(column) .heading = (column), .n_item = ATTN_EXPLAINED_ITEMS

enum { LABEL_WIDTH = 10 };

/* The columns, and how text shows each; add_column sets `name`, `style` and the heading of `fit`.
 */
static const struct {
    struct attn_column column;
    struct attn_document_column shown;
} columns[N_COLUMN] = {
    [KEY] = {{TEXT("key"), .role = ATTN_ROLE_POSITION}, {.heading = "", .is_right = true}},
    [TOKEN] = {{TEXT("token")}, {.heading = "", .most = LABEL_WIDTH}},
    [K] = {{LIST("k")}, {ITEMS("k_#")}},
    [PRODUCTS] = {{LIST("products")}, {ITEMS("q_#*k_#"), .sign = "+", .end = "="}},
    [DOT] = {{REAL("dot")}, {.heading = "q.k"}},
    [K_LENGTH] = {{REAL("k_length")}, {.heading = "|k|"}},
    [FIT] = {.column = {REAL("fit")}},
    [BIAS] = {.column = {REAL("bias")}},
    [SCALED] = {.column = {REAL("scaled")}},
    [SCORE] = {.column = {REAL("score")}},
    [LESS_MAX] = {{REAL("less_max")}, {.heading = "less max"}},
    [EXPONENTIAL] = {.column = {REAL("exp"), .range = ATTN_RANGE_POSITIVE,
                                .quantity = "exp(score - largest)"}},
    [SHARE] = {.column = {REAL("share")}},
    [WEIGHT] = {.column = {REAL("weight")}},
    [KEPT] = {.column = {REAL("kept")}},
    [MARK] = {{TEXT("mark")}, {.heading = ""}},
    [FACTOR] = {.column = {REAL("w"), .range = ATTN_RANGE_SHARE, .quantity = "weight"}},
    [V] = {{LIST("v")}, {ITEMS("v_#")}},
    [WEIGHTED] = {{LIST("w x v"), .quantity = "weight x v"}, {ITEMS("w*v_#")}},
    [COMPONENTS] = {{LIST("components")}, {ITEMS("")}},
};

enum {
    N_LIST = 3,            /* number of lists in a row of a table */
    MOST_COMPONENTS = 512, /* maximum components of a vector that is drawn */
    SCORE_DIGITS = 3,      /* decimals of scores in a picture */
    PERCENT_DIGITS = 1
};

/* The columns of each table; has_column removes those that a row lacks. */
static const enum column layouts[ATTN_N_EXPLAINED_TABLE][N_COLUMN] = {
    [ATTN_EXPLAINED_FITS] = {KEY, TOKEN, K, PRODUCTS, DOT, K_LENGTH, FIT},
    [ATTN_EXPLAINED_WEIGHTS] = {KEY, TOKEN, FIT, BIAS, SCALED, SCORE, LESS_MAX, EXPONENTIAL, SHARE,
                                WEIGHT, KEPT, MARK},
    [ATTN_EXPLAINED_VALUES] = {KEY, TOKEN, FACTOR, V, WEIGHTED},
    [ATTN_EXPLAINED_LAYER] = {TOKEN, COMPONENTS},
    [ATTN_EXPLAINED_ROW] = {KEY, TOKEN, MARK, K, SCORE, EXPONENTIAL, FACTOR, V, WEIGHTED},
};

/* The keys FIRST .. LAST - 1 of the softmax, or a named row. */
struct part {
    size_t first, last;
    const char *name;
    bool has_sums;       /* has the sums of exponentials and weights */
    bool has_sink;       /* these sums include the sink */
    const float *score;  /* or NULL */
    enum column of;      /* column that shows the sum of the two vectors below */
    const float *vector; /* [n] or NULL */
    const float *other;  /* [n] or NULL */
    size_t n;
};

struct making {
    const struct attn_explanation *row;
    const struct attn_labels *labels;
    struct attn_explained_grid grid;
    enum column columns[N_COLUMN];
    size_t n_column;
    bool is_picture;
    struct attn_buffer items[N_LIST]; /* own; lists of the current row */
    size_t n_list;
    char key[24], more[32];
};

static bool has_column(const struct making *making, enum column column)
{
    const struct attn_explanation *row = making->row;
    const struct attn_attention *attention = row->attention;
    const bool is_cosine = attention->similarity == ATTN_SIMILARITY_COSINE;
    const size_t most = making->is_picture ? MOST_COMPONENTS : SIZE_MAX;

    return column == DOT || column == K_LENGTH ? is_cosine
           : column == BIAS                    ? attention->bias != NULL
           : column == SCALED                  ? attention->score_cap > 0
           : column == SHARE                   ? attention->masking != ATTN_MASKING_INF
           : column == KEPT                    ? attn_explanation_has_dropout(row)
           : column == K                       ? row->q && row->dims->d_head <= most
           : column == V || column == WEIGHTED ? row->z && row->dims->d_value <= most
                                               : true;
}

const char *attn_explained_token(const struct attn_labels *labels, bool is_source, size_t i,
                                 size_t *size)
{
    const char *const *tokens = is_source ? labels->source_tokens : labels->tokens;
    const size_t *sizes = is_source ? labels->source_token_sizes : labels->token_sizes;
    const char *text = tokens ? tokens[i] : NULL;

    *size = tokens ? sizes[i] : 0;
    text = attn_text_trim(text, size);
    if (tokens && *size == 0) {
        text = "' '";
        *size = strlen(text);
    }
    return text;
}

/* --- Cells ------------------------------------------------------------------------------------ */

/* Returns memory for the next list, of N items; NULL if memory ran out. */
static double *next_list(struct making *making, size_t n)
{
    struct attn_buffer *items = &making->items[making->n_list++];

    items->size = 0;
    return (void *)attn_buffer_reserve(items, n * sizeof(double));
}

/* Returns a cell with the list X [n], multiplied by Y if that is not NULL. */
static struct attn_cell list_cell(struct making *making, const float *x, const float *y, size_t n)
{
    double *items = next_list(making, n);

    for (size_t i = 0; items && i < n; i++)
        items[i] = y ? (double)x[i] * (double)y[i] + 0.0 /* + 0.0 turns -0 into 0 */ : (double)x[i];
    return items ? attn_cell_reals(items, n) : attn_cell_missing();
}

/* Returns a cell with the sum of the vectors of PART. */
static struct attn_cell vector_cell(struct making *making, const struct part *part)
{
    double *items = next_list(making, part->n);

    for (size_t i = 0; items && i < part->n; i++)
        items[i] = part->other ? (double)part->vector[i] + (double)part->other[i]
                               : (double)part->vector[i];
    return items ? attn_cell_reals(items, part->n) : attn_cell_missing();
}

/* Returns a cell with the sum over the keys of PART of weight times value. */
static struct attn_cell weighted_cell(struct making *making, const struct part *part)
{
    const struct attn_explanation *row = making->row;
    double *items = next_list(making, row->dims->d_value);

    for (size_t c = 0; items && c < row->dims->d_value; c++) {
        items[c] = 0;
        for (size_t i = part->first; i < part->last; i++)
            items[c] += (double)row->keys[i].kept * (double)row->keys[i].v[c];
    }
    return items ? attn_cell_reals(items, row->dims->d_value) : attn_cell_missing();
}

static struct attn_cell sum_cell(const struct attn_explanation *row, enum column column,
                                 const struct part *part)
{
    const double sink = part->has_sink ? row->sink_exponential : 0;
    double exponential = sink, weight = sink / row->exponential_sum, kept = 0;

    for (size_t i = part->first; i < part->last; i++) {
        exponential += row->keys[i].exponential;
        weight += (double)row->keys[i].weight;
        kept += (double)row->keys[i].kept;
    }
    return attn_cell_real(column == EXPONENTIAL ? exponential
                          : column == SHARE     ? exponential / row->exponential_sum
                          : column == WEIGHT    ? weight
                                                : kept);
}

/* Returns the cell of a row that describes the single key KEY. */
static struct attn_cell key_cell(struct making *making, enum column column,
                                 const struct attn_explained_key *key)
{
    const struct attn_explanation *row = making->row;
    const bool is_strongest = key == &row->keys[row->strongest] && row->n_cell > 1;
    size_t n;
    const char *token;

    switch (column) {
    case KEY:
        snprintf(making->key, sizeof making->key, "%zu", key->key);
        return making->is_picture ? attn_cell_integer((int64_t)key->key)
                                  : attn_cell_string(making->key);
    case TOKEN:
        token = attn_explained_token(making->labels, row->is_cross, key->key, &n);
        return attn_cell_text(token, n);
    case K:
        return list_cell(making, key->k, NULL, row->dims->d_head);
    case PRODUCTS:
        return list_cell(making, row->q, key->k, row->dims->d_head);
    case DOT:
        return attn_cell_real((double)key->fit * key->k_length * row->q_length);
    case K_LENGTH:
        return attn_cell_real(key->k_length);
    case FIT:
        return attn_cell_real((double)key->fit);
    case BIAS:
        return attn_cell_real(key->bias);
    case SCALED:
        return attn_cell_real(key->scaled);
    case MARK:
        return attn_cell_string(is_strongest ? "strongest" : NULL);
    case V:
        return list_cell(making, key->v, NULL, row->dims->d_value);
    default:
        return attn_cell_missing();
    }
}

static struct attn_cell cell_of(struct making *making, enum column column, const struct part *part)
{
    const struct attn_explanation *row = making->row;
    const bool is_key = !part->name && part->last == part->first + 1;
    const float *score = is_key ? &row->keys[part->first].score : part->score;

    if (making->is_picture && is_key && !row->keys[part->first].is_visible &&
        (column == FACTOR || column == WEIGHTED))
        return attn_cell_missing(); /* masked, as in pictures of patterns */
    if (column == EXPONENTIAL || column == SHARE || column == WEIGHT || column == KEPT ||
        column == FACTOR)
        return part->has_sums ? sum_cell(row, column, part) : attn_cell_missing();
    if (column == SCORE && score)
        return attn_cell_real((double)*score);
    if (column == LESS_MAX && score)
        return attn_cell_real((double)*score - (double)row->keys[row->largest].score);
    if (column == part->of)
        return vector_cell(making, part);
    if (column == WEIGHTED && !part->name)
        return weighted_cell(making, part);
    if (is_key)
        return key_cell(making, column, &row->keys[part->first]);
    if (column == KEY)
        return attn_cell_string(part->name ? NULL : "...");
    if (column != TOKEN)
        return attn_cell_missing();
    snprintf(making->more, sizeof making->more, "%zu more", part->last - part->first);
    return attn_cell_string(part->name ? part->name : making->more);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static enum attn_status append(struct making *making, struct part part, struct attn_error *err)
{
    struct attn_cell cells[N_COLUMN];

    making->n_list = 0;
    for (size_t i = 0; i < making->n_column; i++)
        cells[i] = cell_of(making, making->columns[i], &part);
    for (size_t i = 0; i < making->n_list; i++)
        ATTN_TRY(attn_buffer_check(&making->items[i], err));
    return attn_table_append(making->grid.table, cells, making->n_column, err);
}

/* Appends the input of the layer, its output and, if there is a residual stream, their sum. */
static enum attn_status append_layer(struct making *making, const struct attn_config *config,
                                     struct attn_error *err)
{
    const struct attn_explanation *row = making->row;
    const struct part x = {
        .name = "x", .of = COMPONENTS, .vector = row->x, .n = row->dims->d_model};
    struct part out = {.name = "attn_out", .of = COMPONENTS, .vector = row->attn_out};

    out.n = attn_site_width(ATTN_SITE_ATTN_OUT, row->dims);
    if (config->has_residual)
        ATTN_TRY(append(making, x, err));
    ATTN_TRY(append(making, out, err));
    if (!config->has_residual || config->has_parallel_residual)
        return ATTN_OK;
    out.name = "sum", out.other = row->x;
    return append(making, out, err);
}

static enum attn_status append_keys(struct making *making, enum attn_explained_table which,
                                    size_t limit, struct attn_error *err)
{
    const struct attn_explanation *row = making->row;
    const struct part q = {.name = "q", .of = K, .vector = row->q, .n = row->dims->d_head};
    const struct part z = {.name = "z", .of = WEIGHTED, .vector = row->z, .n = row->dims->d_value};
    const struct part sink = {
        .name = "sink", .has_sums = true, .has_sink = true, .score = row->sink};
    const struct part sum = {
        .name = "sum", .last = row->n_cell, .has_sums = true, .has_sink = true};
    struct attn_slot keys = {.n = row->n_cell, .limit = limit, .extra = row->strongest};

    if (which == ATTN_EXPLAINED_FITS || (making->is_picture && has_column(making, K)))
        ATTN_TRY(append(making, q, err));
    while (attn_slot_next(&keys))
        ATTN_TRY(append(
            making, (struct part){.first = keys.first, .last = keys.last, .has_sums = true}, err));
    if (which == ATTN_EXPLAINED_WEIGHTS && row->sink)
        ATTN_TRY(append(making, sink, err));
    if (which == ATTN_EXPLAINED_WEIGHTS)
        ATTN_TRY(append(making, sum, err));
    return which == ATTN_EXPLAINED_VALUES || (making->is_picture && has_column(making, V))
               ? append(making, z, err)
               : ATTN_OK;
}

/* Adds COLUMN, MADE in the table. It is adapted for the picture. */
static void add_column(struct making *making, enum column column, struct attn_column *made)
{
    struct attn_document_column *shown = &making->grid.columns[making->n_column];

    making->columns[making->n_column++] = column;
    *made = columns[column].column;
    *shown = columns[column].shown;
    shown->name = made->name;
    shown->style = ATTN_NUMBER_FIXED;
    if (column == FIT)
        shown->heading = attn_explanation_fit(making->row);
    if (making->is_picture && column == KEY) {
        made->type = ATTN_VALUE_INTEGER;
        made->role = making->row->is_cross ? ATTN_ROLE_KEY : ATTN_ROLE_POSITION;
    } else if (making->is_picture && (column == SCORE || column == FACTOR)) {
        made->digits = column == SCORE ? SCORE_DIGITS : PERCENT_DIGITS;
    }
}

static enum attn_status create(struct making *making, enum attn_explained_table which,
                               struct attn_error *err)
{
    static const char *const names[] = {[ATTN_EXPLAINED_FITS] = "fits",
                                        [ATTN_EXPLAINED_WEIGHTS] = "weights",
                                        [ATTN_EXPLAINED_VALUES] = "values",
                                        [ATTN_EXPLAINED_LAYER] = "layer",
                                        [ATTN_EXPLAINED_ROW] = "row"};
    struct attn_column made[N_COLUMN];

    for (const enum column *column = layouts[which]; *column != END_OF_LAYOUT; column++)
        if (has_column(making, *column))
            add_column(making, *column, &made[making->n_column]);
    return attn_table_create(names[which], made, making->n_column, &making->grid.table, err);
}

enum attn_status attn_explanation_tabulate(const struct attn_explanation *row,
                                           const struct attn_explained_run *run,
                                           enum attn_explained_table which, size_t limit,
                                           struct attn_explained_grid *grid, struct attn_error *err)
{
    struct making making = {
        .row = row, .labels = run->labels, .is_picture = which == ATTN_EXPLAINED_ROW};
    enum attn_status status = create(&making, which, err);

    if (status == ATTN_OK)
        status = which == ATTN_EXPLAINED_LAYER ? append_layer(&making, run->config, err)
                                               : append_keys(&making, which, limit, err);
    for (int i = 0; i < N_LIST; i++)
        attn_buffer_release(&making.items[i]);
    if (status == ATTN_OK)
        *grid = making.grid;
    else
        attn_table_free(making.grid.table);
    return status;
}
