/* life.c - see life.h. */
#include "questions/life.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "model/config_internal.h"
#include "model/model_internal.h"
#include "questions/attribute.h"
#include "questions/rows.h"
#include "tables/table_internal.h"

#include <string.h>

enum { PART, LAYER, HEAD, KEY, TOKEN, VALUE, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("sum"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [VALUE] = ATTN_COLUMN_REAL("value", 4, NULL, SIGNED),
};

struct life {
    const struct attn_table *by_part, *by_key; /* tables of attn_attribute */
    size_t n_layer;
    double *rests; /* [n_layer + 1] the last: of no layer */
    double *mlps;  /* [n_layer] */
    double sum;
};

/* Returns the cell of ROW in the column with ROLE. */
static struct attn_cell cell_of(const struct attn_table *table, size_t row,
                                enum attn_column_role role)
{
    return attn_table_cell(table, row, attn_table_find_role(table, role));
}

static double value_of(const struct attn_table *table, size_t row)
{
    return attn_table_cell(table, row, attn_table_find(table, "value")).real;
}

static void add_parts(struct life *life)
{
    for (size_t i = 0; i < attn_table_n_row(life->by_part); i++) {
        const struct attn_cell part = cell_of(life->by_part, i, ATTN_ROLE_PART);
        const struct attn_cell layer = cell_of(life->by_part, i, ATTN_ROLE_LAYER);
        const double value = value_of(life->by_part, i);

        if (attn_cell_word(&part, "sum") == 0)
            life->sum = value;
        else if (attn_cell_word(&part, "mlp") == 0)
            life->mlps[layer.integer] += value;
        else if (attn_cell_word(&part, "model") == SIZE_MAX)
            life->rests[layer.type == ATTN_VALUE_MISSING ? life->n_layer : (size_t)layer.integer] +=
                value;
    }
}

static enum attn_status append(struct attn_table *table, const char *part, size_t layer,
                               double value, struct attn_error *err)
{
    const struct attn_cell cells[N_COLUMN] = {
        [PART] = attn_cell_string(part),
        [LAYER] = layer < SIZE_MAX ? attn_cell_integer((int64_t)layer) : attn_cell_missing(),
        [VALUE] = attn_cell_real(value)};

    return attn_table_append(table, cells, N_COLUMN, err);
}

/* Appends what heads bring from keys, and takes it from the rests. */
static enum attn_status append_heads(struct life *life, struct attn_table *table,
                                     struct attn_error *err)
{
    const struct attn_table *from = life->by_key;

    for (size_t i = 0; i < attn_table_n_row(from); i++) {
        const struct attn_cell cells[N_COLUMN] = {[PART] = attn_cell_string("head"),
                                                  [LAYER] = cell_of(from, i, ATTN_ROLE_LAYER),
                                                  [HEAD] = cell_of(from, i, ATTN_ROLE_HEAD),
                                                  [KEY] = cell_of(from, i, ATTN_ROLE_KEY),
                                                  [TOKEN] = cell_of(from, i, ATTN_ROLE_TOKEN),
                                                  [VALUE] = attn_cell_real(value_of(from, i))};

        life->rests[cells[LAYER].integer] -= cells[VALUE].real;
        ATTN_TRY(attn_table_append(table, cells, N_COLUMN, err));
    }
    return ATTN_OK;
}

static enum attn_status make_table(struct life *life, struct attn_table *table,
                                   struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(life->rests, life->n_layer + 1, err));
    ATTN_TRY(ATTN_ALLOC(life->mlps, life->n_layer, err));
    ATTN_TRY(append_heads(life, table, err));
    add_parts(life);
    ATTN_TRY(append(table, "rest", SIZE_MAX, life->rests[life->n_layer], err));
    for (size_t layer = 0; layer < life->n_layer; layer++) {
        ATTN_TRY(append(table, "mlp", layer, life->mlps[layer], err));
        ATTN_TRY(append(table, "rest", layer, life->rests[layer], err));
    }
    return append(table, "sum", SIZE_MAX, life->sum, err);
}

/* Makes the table of parts of two tables of attn_attribute. */
static enum attn_status join(const struct attn_model *model, const struct attn_table *by_part,
                             const struct attn_table *by_key, struct attn_table **parts,
                             struct attn_error *err)
{
    struct life life = {
        .by_part = by_part, .by_key = by_key, .n_layer = attn_model_config(model)->n_layer};
    enum attn_status status;

    ATTN_TRY(attn_table_create("life", columns, N_COLUMN, parts, err));
    status = make_table(&life, *parts, err);
    attn_free(life.rests);
    attn_free(life.mlps);
    return status;
}

/* Attributes ANSWER twice: to parts, and to the keys that heads read. */
static enum attn_status attribute(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_answer_args *answer, struct attn_table **parts,
                                  struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *by_part = NULL, *by_key = NULL;
    enum attn_status status;

    args.answer = *answer;
    args.n_most = SIZE_MAX;
    status = attn_attribute(host, request, &args, &by_part, err);
    args.by = ATTN_ATTRIBUTE_BY_TOKEN;
    if (status == ATTN_OK)
        status = attn_attribute(host, request, &args, &by_key, err);
    if (status == ATTN_OK)
        status = join(attn_host_model(host), by_part, by_key, parts, err);
    attn_table_free(by_part);
    attn_table_free(by_key);
    return status;
}

/* Checks that the lens has read one position of one stack. */
static enum attn_status check_tokens(const struct attn_host *host, const struct attn_table *tokens,
                                     struct attn_error *err)
{
    const size_t position = attn_table_find_role(tokens, ATTN_ROLE_POSITION);

    if (attn_config_has_cross(attn_model_config(attn_host_model(host))))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`figure life` shows one stack of layers, and '%s' has two",
                           attn_quote_string(attn_model_name(attn_host_model(host))).text);
    for (size_t i = 1; i < attn_table_n_row(tokens); i++)
        if (attn_table_cell(tokens, i, position).integer !=
            attn_table_cell(tokens, 0, position).integer)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`figure life` shows one position, and `queries` names several");
    return ATTN_OK;
}

static enum attn_status make(struct attn_host *host, const struct attn_request *request,
                             const struct attn_answer_args *given, struct attn_table **tokens,
                             struct attn_table **parts, struct attn_error *err)
{
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_answer_args answer = *given;
    struct attn_request asked = *request;
    int32_t best;

    asked.selection.layers = asked.selection.sites = NULL;
    asked.on_note = NULL; /* the procedure sent these notes already */
    args.top = 1;
    ATTN_TRY(attn_lens(host, &asked, &args, tokens, err));
    ATTN_TRY(check_tokens(host, *tokens, err));
    best = (int32_t)cell_of(*tokens, attn_table_n_row(*tokens) - 1, ATTN_ROLE_ID).integer;
    if (!answer.target && !answer.target_id)
        answer.target_id = &best;
    answer.at = asked.selection.queries;
    asked.selection.queries = NULL;
    return attribute(host, &asked, &answer, parts, err);
}

enum attn_status attn_life(struct attn_host *host, const struct attn_request *request,
                           const struct attn_lens_args *args, struct attn_table **tokens,
                           struct attn_table **parts, struct attn_error *err)
{
    const struct attn_answer_args answer = args ? args->answer : (struct attn_answer_args){0};
    enum attn_status status;

    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(tokens, "tokens", err) || !attn_is_given(parts, "parts", err))
        return ATTN_INVALID;
    if (args && args->study)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`figure life` shows one text, not items");
    if (args && args->reads_heads)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`heads_out` reads heads, and `figure life` the stream");
    *tokens = *parts = NULL;
    status = make(host, request, &answer, tokens, parts, err);
    if (status == ATTN_OK)
        return ATTN_OK;
    attn_table_free(*tokens);
    attn_table_free(*parts);
    *tokens = *parts = NULL;
    return status;
}
