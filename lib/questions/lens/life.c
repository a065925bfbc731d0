#include "lens/life.h"

#include "attribute/attribute.h"
#include "base/memory.h"
#include "base/text/given.h"
#include "figures/table_axis.h"
#include "frame/questions.h"
#include "means/rows.h"
#include "model/config_internal.h"
#include "tables/table_internal.h"

#include <math.h>
#include <string.h>

enum { PART, LAYER, HEAD, KEY, TOKEN, VALUE, UNCHANGED, N_COLUMN };

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN_PART("sum"),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    [HEAD] = ATTN_COLUMN_OF(HEAD, "head", INTEGER),
    [KEY] = ATTN_COLUMN_OF(KEY, "key", INTEGER),
    [TOKEN] = ATTN_COLUMN_OF(TOKEN, "token", TEXT),
    [VALUE] = ATTN_COLUMN_REAL("value", 4, NULL, SIGNED),
    [UNCHANGED] = ATTN_COLUMN_REAL("unchanged", 4, NULL, SIGNED),
};

/* What one run adds to the answer. */
struct side {
    struct attn_table *by_part, *by_key; /* own; tables of attn_attribute */
    double *cells; /* [n_layer, n_head, n_key] owns; NaN: the head does not read the key */
    /* [n_layer + 1] owns; the rest and the MLP of each layer, then those of no layer */
    double (*others)[2];
    double sum;
};

struct life {
    size_t n_layer, n_head, n_key;
    struct side sides[2]; /* the run, and if it has edits the run without them */
    size_t n_side;
    struct attn_table *table;
};

static double value_of(const struct attn_table *table, size_t row)
{
    return attn_table_cell(table, row, attn_table_find(table, "attribution")).real;
}

/* Returns the index of the cell that ROW of a table by key is about. */
static size_t index_of(const struct life *life, const struct attn_table *by_key, size_t row)
{
    const size_t layer = (size_t)attn_table_role_cell(by_key, row, ATTN_ROLE_LAYER).integer;
    const size_t head = (size_t)attn_table_role_cell(by_key, row, ATTN_ROLE_HEAD).integer;

    return (layer * life->n_head + head) * life->n_key +
           (size_t)attn_table_role_cell(by_key, row, ATTN_ROLE_KEY).integer;
}

/* Reads the tables of SIDE. What heads bring from keys is no part of the rests. */
static enum attn_status read_side(const struct life *life, struct side *side,
                                  struct attn_error *err)
{
    const size_t n = life->n_layer * life->n_head * life->n_key;

    ATTN_TRY(ATTN_ALLOC(side->cells, n, err));
    ATTN_TRY(ATTN_ALLOC(side->others, life->n_layer + 1, err));
    for (size_t i = 0; i < n; i++)
        side->cells[i] = (double)NAN;
    for (size_t i = 0; i < attn_table_n_row(side->by_key); i++) {
        const size_t at = index_of(life, side->by_key, i);

        side->cells[at] = value_of(side->by_key, i);
        side->others[at / life->n_head / life->n_key][0] -= side->cells[at];
    }
    for (size_t i = 0; i < attn_table_n_row(side->by_part); i++) {
        const struct attn_cell part = attn_table_role_cell(side->by_part, i, ATTN_ROLE_PART);
        const struct attn_cell layer = attn_table_role_cell(side->by_part, i, ATTN_ROLE_LAYER);
        const bool is_placed = layer.type != ATTN_VALUE_MISSING;

        if (attn_cell_word(&part, "sum") == 0)
            side->sum = value_of(side->by_part, i);
        else if (attn_cell_word(&part, "model") == SIZE_MAX)
            side->others[is_placed ? (size_t)layer.integer : life->n_layer]
                        [attn_cell_word(&part, "mlp") == 0] += value_of(side->by_part, i);
    }
    return ATTN_OK;
}

/* Appends a row with CELLS, and the numbers of both sides. */
static enum attn_status append(const struct life *life, struct attn_cell cells[N_COLUMN],
                               double value, double unchanged, struct attn_error *err)
{
    cells[VALUE] = attn_cell_real(value);
    cells[UNCHANGED] = attn_cell_real(unchanged);
    return attn_table_append(life->table, cells, N_COLUMN - 2 + life->n_side, err);
}

/* Appends a row for the rest or for the MLP of a layer; of n_layer: of no layer. */
static enum attn_status append_other(const struct life *life, size_t layer, bool is_mlp,
                                     struct attn_error *err)
{
    struct attn_cell cells[N_COLUMN] = {[PART] = attn_cell_string(is_mlp ? "mlp" : "rest")};

    if (layer < life->n_layer)
        cells[LAYER] = attn_cell_integer((int64_t)layer);
    return append(life, cells, life->sides[0].others[layer][is_mlp],
                  life->sides[life->n_side - 1].others[layer][is_mlp], err);
}

/* Appends what heads bring from keys on side I, except for keys that an earlier side has. */
static enum attn_status append_heads(const struct life *life, size_t i, struct attn_error *err)
{
    const struct attn_table *from = life->sides[i].by_key;

    for (size_t row = 0; row < attn_table_n_row(from); row++) {
        const size_t at = index_of(life, from, row);
        const double value = life->sides[0].cells[at];
        const double unchanged = life->n_side > 1 ? life->sides[1].cells[at] : 0;
        struct attn_cell cells[N_COLUMN] = {
            [PART] = attn_cell_string("head"),
            [LAYER] = attn_table_role_cell(from, row, ATTN_ROLE_LAYER),
            [HEAD] = attn_table_role_cell(from, row, ATTN_ROLE_HEAD),
            [KEY] = attn_table_role_cell(from, row, ATTN_ROLE_KEY),
            [TOKEN] = attn_table_role_cell(from, row, ATTN_ROLE_TOKEN)};

        if (i == 0 || isnan(value))
            ATTN_TRY(append(life, cells, isnan(value) ? 0 : value, isnan(unchanged) ? 0 : unchanged,
                            err));
    }
    return ATTN_OK;
}

static enum attn_status make_table(struct life *life, struct attn_error *err)
{
    struct attn_cell sum[N_COLUMN] = {[PART] = attn_cell_string("sum")};

    for (size_t i = 0; i < life->n_side; i++) {
        const size_t n_key = attn_table_count(life->sides[i].by_key, ATTN_ROLE_KEY);

        life->n_key = n_key > life->n_key ? n_key : life->n_key;
    }
    for (size_t i = 0; i < life->n_side; i++)
        ATTN_TRY(read_side(life, &life->sides[i], err));
    for (size_t i = 0; i < life->n_side; i++)
        ATTN_TRY(append_heads(life, i, err));
    ATTN_TRY(append_other(life, life->n_layer, false, err));
    for (size_t i = 0; i < 2 * life->n_layer; i++)
        ATTN_TRY(append_other(life, i / 2, i % 2 == 0, err));
    return append(life, sum, life->sides[0].sum, life->sides[life->n_side - 1].sum, err);
}

/* Attributes ANSWER twice: to parts, and to the keys that heads read. */
static enum attn_status attribute(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_answer_args *answer, struct side *side,
                                  struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    args.answer = *answer;
    args.n_most = SIZE_MAX;
    ATTN_TRY(attn_attribute(host, request, &args, &side->by_part, err));
    args.by = ATTN_ATTRIBUTE_BY_TOKEN;
    return attn_attribute(host, request, &args, &side->by_key, err);
}

/* Attributes ANSWER to parts, with the edits of REQUEST and without them. */
static enum attn_status find_parts(struct attn_host *host, const struct attn_request *request,
                                   const struct attn_answer_args *answer, struct attn_table **parts,
                                   struct attn_error *err)
{
    const struct attn_request_edits *edits = &request->edits;
    const struct attn_config *config = attn_model_config(attn_host_model(host));
    struct life life = {.n_layer = config->n_layer, .n_head = config->n_head, .n_side = 1};
    struct attn_request plain = *request;
    enum attn_status status = attribute(host, request, answer, &life.sides[0], err);

    plain.edits = (struct attn_request_edits){0};
    if (edits->n + edits->n_intervention > 0)
        life.n_side = 2;
    if (status == ATTN_OK && life.n_side > 1)
        status = attribute(host, &plain, answer, &life.sides[1], err);
    ATTN_THEN(status, attn_table_create("life", columns, N_COLUMN - 2 + life.n_side, parts, err));
    life.table = *parts;
    ATTN_THEN(status, make_table(&life, err));
    for (size_t i = 0; i < 2; i++) {
        attn_table_free(life.sides[i].by_part);
        attn_table_free(life.sides[i].by_key);
        attn_free(life.sides[i].cells);
        attn_free(life.sides[i].others);
    }
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

/* Refuses fields without an effect on the life of a position. */
static enum attn_status check_unused(const struct attn_request *request,
                                     const struct attn_lens_args *args, struct attn_error *err)
{
    const struct attn_lens_args how = args ? *args : ATTN_LENS_ARGS_DEFAULT;
    const struct {
        bool is_given;
        const char *name;
    } fields[] = {{how.study, "items"},
                  {how.reads_heads, "heads_out"},
                  {how.top > 0, "top"},
                  {how.map, "map"},
                  {request->selection.layers, "layers"},
                  {request->selection.sites, "sites"}};

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].is_given)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "`%s` has no effect on `figure life`, the whole stream of one text",
                               fields[i].name);
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

    asked.on_note = NULL; /* the procedure sent these notes already */
    args.top = 1;
    ATTN_TRY(attn_lens(host, &asked, &args, tokens, err));
    ATTN_TRY(check_tokens(host, *tokens, err));
    best =
        (int32_t)attn_table_role_cell(*tokens, attn_table_n_row(*tokens) - 1, ATTN_ROLE_ID).integer;
    if (!answer.target && !answer.target_id)
        answer.target_id = &best;
    answer.at = asked.selection.queries;
    asked.selection.queries = (struct attn_number_list){0};
    return find_parts(host, &asked, &answer, parts, err);
}

enum attn_status attn_life(struct attn_host *host, const struct attn_request *request,
                           const struct attn_lens_args *args, struct attn_table **tokens,
                           struct attn_table **parts, struct attn_error *err)
{
    const struct attn_answer_args answer = args ? args->answer : (struct attn_answer_args){0};
    enum attn_status status;

    ATTN_NEED(err, host, request, tokens, parts);
    ATTN_TRY(check_unused(request, args, err));
    *tokens = *parts = NULL;
    status = make(host, request, &answer, tokens, parts, err);
    if (status == ATTN_OK)
        return ATTN_OK;
    attn_table_free(*tokens);
    attn_table_free(*parts);
    *tokens = *parts = NULL;
    return status;
}
