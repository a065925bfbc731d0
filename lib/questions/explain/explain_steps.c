/* explain_steps.c - the steps from the input of one row to the output of its layer: which of them
 * the row has, in words, and as tables. */
#include "explain/explain_internal.h"

#include "attention/attend.h"
#include "attention/attention_internal.h"
#include "base/status_internal.h"
#include "formats/float_text.h"
#include "forward/rotary.h"
#include "model/config_internal.h"
#include "tables/document.h"
#include "tables/table_internal.h"
#include "tensors/token_text.h"
#include "towers/prompt/picture_prompt.h"
#include "trace/trace_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_NUMBERS = 8,   /* numbers of a vector in brackets */
    SHOWN_ITEMS = 5,     /* numbers of a vector in a table */
    SHOWN_KEYS = 16,     /* in addition to the strongest key */
    LABEL_WIDTH = 10,    /* columns of a token in a table */
    DRAWN_NUMBERS = 512, /* a picture leaves out longer vectors */
    SCORE_DIGITS = 3,    /* decimals in a picture */
    PERCENT_DIGITS = 1
};

/* The tables of a row, as bits. Vectors are lists. */
enum table {
    FITS = 1,    /* q, then each key: k and its products with q */
    WEIGHTS = 2, /* each key: from the fit to the weight; sink and sum */
    VALUES = 4,  /* each key: weight w, v and their product; z */
    LAYER = 8,   /* x, the output of the layer, their sum */
    PICTURE = 16 /* key, token, mark, vectors and numbers of each key; also q and z */
};

/* FACTOR is the factor of v: the weight after dropout. */
enum column {
    KEY,
    TOKEN,
    K,
    PRODUCTS,
    DOT,
    K_LENGTH,
    FIT,
    C2P,
    P2C,
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
#define ITEMS(column) .heading = (column), .n_item = SHOWN_ITEMS

/* The columns, the tables that contain each, and how text shows it; add_column sets `name`, `style`
 * and the heading of `fit`. */
static const struct {
    unsigned tables;
    struct attn_column column;
    struct attn_document_column shown;
} columns[N_COLUMN] = {
    [KEY] = {FITS | WEIGHTS | VALUES | PICTURE,
             {TEXT("key"), .role = ATTN_ROLE_POSITION},
             {.heading = "", .is_right = true}},
    [TOKEN] = {~0U, {TEXT("token")}, {.heading = "", .most = LABEL_WIDTH}},
    [K] = {FITS | PICTURE, {LIST("k")}, {ITEMS("k_#")}},
    [PRODUCTS] = {FITS, {LIST("products")}, {ITEMS("q_#*k_#"), .sign = "+", .end = "="}},
    [DOT] = {FITS, {REAL("dot")}, {.heading = "q.k"}},
    [K_LENGTH] = {FITS, {REAL("k_length")}, {.heading = "|k|"}},
    [FIT] = {FITS | WEIGHTS, {REAL("fit")}, {0}},
    [C2P] = {WEIGHTS, {REAL("c2p")}, {0}},
    [P2C] = {WEIGHTS, {REAL("p2c")}, {0}},
    [BIAS] = {WEIGHTS, {REAL("bias")}, {0}},
    [SCALED] = {WEIGHTS, {REAL("scaled")}, {0}},
    [SCORE] = {WEIGHTS | PICTURE, {REAL("score")}, {0}},
    [LESS_MAX] = {WEIGHTS, {REAL("less_max")}, {.heading = "less max"}},
    [EXPONENTIAL] = {WEIGHTS | PICTURE,
                     {REAL("exp"), .range = ATTN_RANGE_POSITIVE,
                      .quantity = "exp(score - largest)"},
                     {0}},
    [SHARE] = {WEIGHTS, {REAL("share")}, {0}},
    [WEIGHT] = {WEIGHTS, {REAL("weight")}, {0}},
    [KEPT] = {WEIGHTS, {REAL("kept")}, {0}},
    [MARK] = {WEIGHTS | PICTURE, {TEXT("mark")}, {.heading = ""}},
    [FACTOR] = {VALUES | PICTURE,
                {REAL("w"), .range = ATTN_RANGE_SHARE, .quantity = "weight"},
                {0}},
    [V] = {VALUES | PICTURE, {LIST("v")}, {ITEMS("v_#")}},
    [WEIGHTED] = {VALUES | PICTURE, {LIST("w x v"), .quantity = "weight x v"}, {ITEMS("w*v_#")}},
    [COMPONENTS] = {LAYER, {LIST("components")}, {ITEMS("")}},
};

enum { N_TABLE = 4, MOST_COLUMNS = 12, MOST_LISTS = 3 }; /* at most: columns and lists of a table */

/* A table, and how text shows its columns. */
struct grid {
    struct attn_table *table; /* own */
    struct attn_document_column shown[MOST_COLUMNS];
};

struct explaining {
    const struct attn_explanation *row;
    const struct attn_explained_run *run;
    struct attn_document document;
    struct grid grids[N_TABLE]; /* the last one is being made or was made last */
    size_t n_grid;
    int n_step; /* number of the current step */

    enum table which; /* the table that is being made */
    enum column columns[MOST_COLUMNS];
    size_t n_column;
    struct attn_buffer items[MOST_LISTS]; /* own; lists of the current row */
    size_t n_list;
    char key[24], more[32];
};

/* A row of a table: keys FIRST .. LAST - 1 of the softmax, or a named row. */
struct part {
    size_t first, last;
    const char *name;
    enum column from;    /* the first column with numbers, which are sums over the keys */
    const float *sink;   /* score of the sink, which is part of the sums; or NULL */
    const float *vector; /* [n] the row has nothing but this vector, in the column FROM; or NULL */
    const float *other;  /* [n] what is added to it; or NULL */
    size_t n;
};

/* Returns true if the row has COLUMN. Its words and its cells depend on that. */
static bool has_column(const struct explaining *e, enum column column)
{
    const struct attn_explanation *row = e->row;
    const struct attn_attention *attention = row->attention;
    const size_t most = e->which == PICTURE ? DRAWN_NUMBERS : SIZE_MAX;

    return column == COMPONENTS                  ? row->attn_out != NULL
           : column == V || column == WEIGHTED   ? row->z && row->dims->d_value <= most
           : column == K                         ? row->q && row->dims->d_head <= most
           : column == DOT || column == K_LENGTH ? attention->similarity == ATTN_SIMILARITY_COSINE
           : column == C2P || column == P2C
               ? attn_sites_have(row->dims->sites, column == C2P ? ATTN_SITE_C2P : ATTN_SITE_P2C)
           : column == BIAS   ? attention->bias && !attention->bias->is_of_places
           : column == SCALED ? attention->score_cap > 0
           : column == SHARE  ? attention->masking != ATTN_MASKING_INF
           : column == KEPT   ? attention->dropout > 0 || attention->dropout_mask.cells
                              : true;
}

static bool is_in_table(const struct explaining *e, enum column column)
{
    return (columns[column].tables & e->which) != 0 && has_column(e, column);
}

/* Returns the name of the number from which a score is computed. */
static const char *fit_name(const struct explaining *e)
{
    return !e->row->q ? "given" : has_column(e, DOT) ? "cosine" : "q.k";
}

/* Returns the text of token I of the text or of its source, without surrounding blanks; NULL
 * without tokens. */
static const char *find_token(const struct attn_labels *labels, bool is_source, size_t i,
                              size_t *size)
{
    const char *const *tokens = is_source ? labels->source_tokens : labels->tokens;
    const size_t *sizes = is_source ? labels->source_token_sizes : labels->token_sizes;
    const char *text;

    *size = tokens ? sizes[i] : 0;
    text = tokens ? attn_text_trim(tokens[i], size) : NULL;
    if (!text || *size > 0)
        return text;
    *size = 3;
    return "' '";
}

/* --- Cells ------------------------------------------------------------------------------------ */

/* Returns the number of KEY in COLUMN. */
static double number_of(const struct attn_explanation *row, const struct attn_explained_key *key,
                        enum column column)
{
    return column == DOT           ? (double)key->fit * key->k_length * row->q_length
           : column == K_LENGTH    ? key->k_length
           : column == FIT         ? (double)key->fit
           : column == C2P         ? (double)key->c2p
           : column == P2C         ? (double)key->p2c
           : column == BIAS        ? key->bias
           : column == SCALED      ? key->scaled
           : column == SCORE       ? (double)key->score
           : column == LESS_MAX    ? (double)key->score - (double)row->keys[row->largest].score
           : column == EXPONENTIAL ? key->exponential
           : column == SHARE       ? key->exponential / row->exponential_sum
           : column == WEIGHT      ? (double)key->weight
                                   : (double)key->kept;
}

/* Returns the sum of COLUMN over the keys of PART, and the sink. */
static double sum_of(const struct attn_explanation *row, const struct part *part,
                     enum column column)
{
    struct attn_explained_key sink = {.exponential = row->sink_exponential};
    double sum;

    sink.score = part->sink ? *part->sink : 0;
    sink.weight = (float)(sink.exponential / row->exponential_sum);
    sum = number_of(row, part->sink ? &sink : &row->keys[part->first], column);
    for (size_t i = part->first + !part->sink; i < part->last; i++)
        sum += number_of(row, &row->keys[i], column);
    return sum;
}

/* Returns component C of the list of PART in COLUMN. */
static double item_of(const struct attn_explanation *row, const struct part *part,
                      enum column column, size_t c)
{
    const struct attn_explained_key *key = &row->keys[part->first];
    double sum = 0;

    if (part->vector)
        return part->other ? (double)part->vector[c] + (double)part->other[c]
                           : (double)part->vector[c];
    if (column == K)
        return (double)key->k[c];
    if (column == PRODUCTS)
        return (double)row->q[c] * (double)key->k[c] + 0.0; /* + 0.0 turns -0 into 0 */
    if (column == V)
        return (double)key->v[c];
    for (size_t i = part->first; i < part->last; i++)
        sum += (double)row->keys[i].kept * (double)row->keys[i].v[c];
    return sum;
}

static struct attn_cell list_cell(struct explaining *e, const struct part *part, enum column column)
{
    const struct attn_dims *dims = e->row->dims;
    const size_t n = part->vector                        ? part->n
                     : column == K || column == PRODUCTS ? dims->d_head
                                                         : dims->d_value;
    struct attn_buffer *buffer = &e->items[e->n_list++];
    double *items;

    buffer->size = 0;
    items = (void *)attn_buffer_reserve(buffer, n * sizeof(double));
    for (size_t c = 0; items && c < n; c++)
        items[c] = item_of(e->row, part, column, c);
    return items ? attn_cell_reals(items, n) : attn_cell_missing();
}

static struct attn_cell text_cell(struct explaining *e, const struct part *part, enum column column)
{
    const struct attn_explained_key *key = &e->row->keys[part->first];
    const bool is_key = part->from == KEY;
    const char *token;
    size_t n;

    if (column == MARK)
        return attn_cell_string(
            is_key && part->first == e->row->strongest && e->row->n_cell > 1 ? "strongest" : NULL);
    if (!is_key && column == KEY)
        return attn_cell_string(part->name ? NULL : "...");
    if (!is_key) {
        snprintf(e->more, sizeof e->more, "%zu more", part->last - part->first);
        return attn_cell_string(part->name ? part->name : e->more);
    }
    if (column == KEY && e->which == PICTURE)
        return attn_cell_integer((int64_t)key->key);
    if (column == KEY) {
        snprintf(e->key, sizeof e->key, "%zu", key->key);
        return attn_cell_string(e->key);
    }
    token = find_token(e->run->labels, e->row->is_cross, key->key, &n);
    return attn_cell_text(token, n);
}

static struct attn_cell cell_of(struct explaining *e, const struct part *part, enum column column)
{
    const bool is_key = part->from == KEY;

    if (e->which == PICTURE && is_key && !e->row->keys[part->first].is_visible &&
        (column == FACTOR || column == WEIGHTED))
        return attn_cell_missing(); /* masked, as in pictures of patterns */
    if (columns[column].column.type == ATTN_VALUE_TEXT)
        return text_cell(e, part, column);
    if (part->vector ? column != part->from : column < part->from)
        return attn_cell_missing();
    if (columns[column].column.type == ATTN_VALUE_REAL)
        return attn_cell_real(sum_of(e->row, part, column));
    return part->vector || is_key || column == WEIGHTED ? list_cell(e, part, column)
                                                        : attn_cell_missing();
}

/* --- Tables ----------------------------------------------------------------------------------- */

static enum attn_status append(struct explaining *e, struct part part, struct attn_error *err)
{
    struct attn_cell cells[MOST_COLUMNS];

    e->n_list = 0;
    for (size_t i = 0; i < e->n_column; i++)
        cells[i] = cell_of(e, &part, e->columns[i]);
    for (size_t i = 0; i < e->n_list; i++)
        ATTN_TRY(attn_buffer_check(&e->items[i], err));
    return attn_table_append(e->grids[e->n_grid - 1].table, cells, e->n_column, err);
}

/* Appends the input of the layer, its output and, if there is a residual stream, their sum. */
static enum attn_status append_layer(struct explaining *e, struct attn_error *err)
{
    const struct attn_explanation *row = e->row;
    const struct attn_config *config = e->run->config;
    struct part out = {.name = "attn_out",
                       .from = COMPONENTS,
                       .vector = row->attn_out,
                       .n = attn_site_width(ATTN_SITE_ATTN_OUT, row->dims)};
    struct part x = out;

    x.name = "x", x.vector = row->x, x.n = row->dims->d_model;
    if (config->has_residual)
        ATTN_TRY(append(e, x, err));
    ATTN_TRY(append(e, out, err));
    if (!config->has_residual || config->has_parallel_residual)
        return ATTN_OK;
    out.name = "sum", out.other = row->x;
    return append(e, out, err);
}

/* Appends q, the keys, the sink, the sum and z, as far as the table has them. If text has too many
 * keys, the middle is left out except for the strongest key: a row "... 7 more" has the sums over
 * those between. */
static enum attn_status append_keys(struct explaining *e, struct attn_error *err)
{
    const struct attn_explanation *row = e->row;
    const struct attn_dims *dims = row->dims;
    const struct part vectors[] = {
        {.name = "q", .from = K, .vector = row->q, .n = dims->d_head},
        {.name = "z", .from = WEIGHTED, .vector = row->z, .n = dims->d_value}};
    const struct part sums[] = {
        {.name = "sink", .from = SCORE, .sink = row->sink},
        {.name = "sum", .last = row->n_cell, .from = EXPONENTIAL, .sink = row->sink}};
    const size_t limit = e->which == PICTURE ? SIZE_MAX : SHOWN_KEYS;
    struct attn_slot keys = {.n = row->n_cell, .limit = limit, .extra = row->strongest};

    if (is_in_table(e, K))
        ATTN_TRY(append(e, vectors[0], err));
    while (attn_slot_next(&keys)) {
        struct part part = {.first = keys.first, .last = keys.last, .from = EXPONENTIAL};

        part.from = keys.last == keys.first + 1 ? KEY : EXPONENTIAL;
        ATTN_TRY(append(e, part, err));
    }
    for (size_t i = row->sink ? 0 : 1; i < 2 && e->which == WEIGHTS; i++)
        ATTN_TRY(append(e, sums[i], err));
    return is_in_table(e, V) ? append(e, vectors[1], err) : ATTN_OK;
}

/* Adds COLUMN, MADE in the table. It is adapted for the picture. */
static void add_column(struct explaining *e, enum column column, struct attn_column *made)
{
    struct attn_document_column *shown = &e->grids[e->n_grid].shown[e->n_column];

    e->columns[e->n_column++] = column;
    *made = columns[column].column;
    *shown = columns[column].shown;
    shown->name = made->name;
    shown->style = ATTN_NUMBER_FIXED;
    if (column == FIT)
        shown->heading = fit_name(e);
    if (e->which != PICTURE)
        return;
    if (column == KEY) {
        made->type = ATTN_VALUE_INTEGER;
        made->role = e->row->is_cross ? ATTN_ROLE_KEY : ATTN_ROLE_POSITION;
    } else if (column == SCORE || column == FACTOR) {
        made->digits = column == SCORE ? SCORE_DIGITS : PERCENT_DIGITS;
    }
}

/* Makes the table WHICH. */
static enum attn_status tabulate(struct explaining *e, enum table which, struct attn_error *err)
{
    struct attn_column made[MOST_COLUMNS];

    e->which = which;
    e->n_column = 0;
    for (enum column column = 0; column < N_COLUMN; column++)
        if (is_in_table(e, column))
            add_column(e, column, &made[e->n_column]);
    ATTN_TRY(attn_table_create("row", made, e->n_column, &e->grids[e->n_grid].table, err));
    e->n_grid++;
    return which == LAYER ? append_layer(e, err) : append_keys(e, err);
}

/* --- Words ------------------------------------------------------------------------------------ */

static ATTN_PRINTF(2, 3) void say(struct explaining *e, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    attn_document_text_list(&e->document, format, arguments);
    va_end(arguments);
}

/* Adds X [n] between two texts: "q = [0.1794 1.8951 0.4954]". */
static void say_vector(struct explaining *e, const char *before, const float *x, size_t n,
                       const char *after)
{
    struct attn_slot s = {.n = n, .limit = SHOWN_NUMBERS, .extra = SIZE_MAX};

    say(e, "%s[", before);
    while (attn_slot_next(&s)) {
        say(e, s.first > 0 ? "  " : "");
        say(e, s.is_gap ? "..." : "%.4f", attn_printed((double)x[s.first]));
    }
    say(e, "]%s", after);
}

static void say_title(struct explaining *e)
{
    const struct attn_location *at = &e->row->at;
    const char *stack = attn_model_stack_name(at->stack);
    size_t size;
    const char *token = find_token(e->run->labels, false, e->row->query, &size);

    if (e->run->config)
        say(e, "%s%slayer %d, ", stack, stack[0] ? " " : "", at->layer);
    say(e, "head %d, query %zu%s", at->head, e->row->query, token ? ": " : "");
    attn_document_escaped(&e->document, token, size);
    say(e, "\n\n");
}

/* Adds the projection of x or of the source, "norm(x) W_Q + b_Q"; LETTER is Q, K or V. */
static void say_projection(struct explaining *e, char letter)
{
    const struct attn_config *config = e->run->config;
    const bool is_of_source = e->row->is_cross && letter != 'Q';
    const bool is_bare = config->begins_without_norm && e->row->at.layer == 0 &&
                         e->row->at.stack != ATTN_STACK_CROSS;
    const bool is_normed =
        config->norm != ATTN_NORM_NONE && !is_bare && !is_of_source &&
        (config->norm_place == ATTN_NORM_PRE || config->norm_place == ATTN_NORM_AROUND);
    const bool has_bias = config->has_qkv_bias || (letter == 'Q'   ? config->has_query_bias
                                                   : letter == 'K' ? config->has_key_bias
                                                                   : config->has_value_bias);

    say(e, is_normed ? "norm(%s)" : "%s", letter == 'Q' ? "x" : is_of_source ? "s_j" : "x_j");
    if (config->has_projections)
        say(e, has_bias ? " W_%c + b_%c" : " W_%c", letter, letter);
}

/* Adds the origin of x in the first layer. */
static void say_embedding(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_labels *labels = e->run->labels;
    const bool is_cell = labels->region && labels->region[e->row->query] == ATTN_REGION_PICTURE;
    const bool is_image = config->image.patch_height > 0, is_sound = config->stack.n_mel > 0;

    say(e, is_image || is_cell ? ", the picture at this position"
           : labels->ids       ? ", the embedding of the token"
           : is_sound          ? ", what the convolutions make of the sound"
                               : ", as given");
    if (labels->ids && !is_cell && config->embed_scale > 0)
        say(e, " times %.4f", config->embed_scale);
    if (config->positions == ATTN_POSITIONS_LEARNED)
        say(e, is_image   ? ", with what was learned of the position"
               : is_sound ? " plus the embedding of its position"
                          : " plus that of its position");
    say(e, config->has_embed_norm ? ", normalized" : "");
}

static void say_input(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const struct attn_dims *dims = row->dims;

    say_vector(e, "  x = ", row->x, dims->d_model, "");
    if (row->at.stack == ATTN_STACK_CROSS)
        say(e, ", what self-attention gives in this layer at this position");
    else if (row->at.layer > 0)
        say(e, ", what layer %d gives at this position", row->at.layer - 1);
    else
        say_embedding(e);
    say(e, "\n  q = ");
    say_projection(e, 'Q');
    say_vector(e, " = ", row->rotation.projected ? row->rotation.projected : row->q, dims->d_head,
               "\n");
}

/* Returns true if the model counts positions otherwise than from 0 on, as beside a picture. */
static bool has_own_numbers(const struct attn_explanation *row)
{
    return row->rotation.numbers[0] != row->query;
}

/* Adds the number of the query's position, or if it IS_CELL of a picture, its numbers. */
static void say_position(struct explaining *e, bool is_cell, bool has_time)
{
    const size_t *numbers = e->row->rotation.numbers;

    if (!is_cell) {
        say(e, "%s, %zu", has_own_numbers(e->row) ? " number" : "", numbers[0]);
        return;
    }
    say(e, " numbers, ");
    if (has_time)
        say(e, "%zu for the picture, ", numbers[0]);
    say(e, "%zu for the row and %zu for the column", numbers[1], numbers[2]);
}

/* Adds how q is prepared for the product: normalized, and rotated by its position. */
static void say_rotation(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explained_rotation *rotation = &e->row->rotation;
    const struct attn_rope *rope = &config->rope[attn_location_index(&e->row->at)];
    const double growth = (double)attn_rope_query_factor(rope, rotation->numbers[0]);
    const bool is_late = config->qk_norm_is_late, is_early = rotation->has_qk_norm && !is_late;
    const bool is_cell = rotation->numbers[1] != rotation->numbers[0] ||
                         rotation->numbers[2] != rotation->numbers[0];
    const size_t n_pair = rotation->n_pair, n = e->row->dims->d_head;

    if (is_early)
        say_vector(e, "  norm(q) = ", rotation->normed, n,
                   config->qk_norm == ATTN_QK_NORM_ALL_HEADS ? ", all heads at once\n"
                                                             : ", each head by itself\n");
    if (n_pair == 0) {
        say(e, "  This layer turns no positions.\n");
        return;
    }
    say(e, "  rot_q = %s turned by its position", is_early ? "norm(q)" : "q");
    say_position(e, is_cell, rope->sections[0] > 0);
    say(e, is_late ? ", then normalized, each head by itself" : "");
    if (growth > 1)
        say(e, ", times %.6g", growth);
    say_vector(e, ", = ", e->row->q, n, "\n");
    say(e,
        rotation->turns_neighbours ? "  Component 2i turns with 2i + 1"
                                   : "  Component i turns with i + %zu",
        n_pair);
    say_vector(e, " by the angle position * f_i, f = ", rotation->frequencies, n_pair, "");
    if (2 * n_pair < n)
        say(e, "; components from %zu on stay", 2 * n_pair);
    if (is_cell && rope->is_interleaved)
        say(e,
            "; the position is the row for i = 1, 4, ..., %zu times, and the column for i = 2, 5, "
            "..., %zu times",
            rope->sections[1], rope->sections[2]);
    else if (is_cell)
        say(e, "; the position is the row from i = %zu on, and the column from i = %zu on",
            rope->sections[0], rope->sections[0] + rope->sections[1]);
    say(e, ".\n");
}

static void say_keys_and_values(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explanation *row = e->row;
    const size_t n_shared = row->dims->n_head / row->dims->n_kv_head;
    const size_t first = n_shared * (size_t)row->kv_head, layer = attn_location_index(&row->at);
    const bool is_late = config->qk_norm_is_late;

    if (attn_config_shares_keys(config, layer))
        say(e, "  Keys and values are those of layer %zu, made of its x_j.\n",
            config->layer_dims[layer].kv_layer);
    say(e, "  k_j = ");
    say_projection(e, 'K');
    say(e, ", v_j = ");
    say_projection(e, attn_config_has_keys_as_values(config, layer) ? 'K' : 'V');
    say(e, config->has_value_norm ? " divided by its root mean square" : "");
    say(e, ", of each %s%s\n", row->is_cross ? "row s_j of the source" : "position j",
        row->is_cross && config->source_positions == ATTN_POSITIONS_LEARNED
            ? ", with that of its position added"
            : "");
    if (row->rotation.n_pair > 0)
        say(e, "  rot_k_j = %s turned by %s j%s\n",
            row->rotation.has_qk_norm && !is_late ? "norm(k_j)" : "k_j",
            has_own_numbers(row) ? "the numbers of position" : "position",
            is_late ? ", then normalized" : "");
    if (n_shared > 1)
        say(e, "  Heads %zu-%zu share these, which are of key/value head %d.\n", first,
            first + n_shared - 1, row->kv_head);
}

/* Adds the q that was given as an array. */
static void say_arrays(struct explaining *e)
{
    const size_t n_shared = e->run->arrays->n_head / e->run->arrays->n_kv_head;

    say_vector(e, "  q = ", e->row->q, e->row->dims->d_head, "\n");
    if (n_shared > 1)
        say(e, "  Keys and values are those of head %d, one for %zu heads of queries.\n",
            e->row->kv_head, n_shared);
}

static void say_visible(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    char kind[ATTN_ATTENTION_TEXT_SIZE];

    say(e, "  The query may look at ");
    if (row->n_visible == 0)
        say(e, "none of the %zu keys: all weights are 0, and so is z", row->n_key);
    else if (row->n_visible == row->n_key)
        say(e, row->n_key == 1 ? "the one key" : "all %zu keys", row->n_key);
    else
        say(e, "%zu of the %zu keys", row->n_visible, row->n_key);
    if (row->attention->mask == ATTN_MASK_CAUSAL && !row->is_cross &&
        row->n_visible == row->query + 1)
        say(e, row->query > 0 ? ", itself and those before it" : ", itself");
    if (row->attention->kind != ATTN_ATTENTION_FULL) {
        attn_attention_text(row->attention, kind);
        say(e, ", as %s says", kind);
    }
    say(e, ".\n%s",
        row->is_rounded ? "  q, k, v and what v is multiplied by are rounded to bfloat16.\n" : "");
}

static void say_fits(struct explaining *e)
{
    if (has_column(e, DOT))
        say(e, ",\n   divided by the lengths of both, |q| = %.4f and |k|: their cosine",
            e->row->q_length);
    say(e, ".\n");
    if (e->row->rotation.n_pair > 0)
        say(e, "   q and k are rot_q and rot_k here.\n");
    if (e->row->dims->d_head > SHOWN_ITEMS)
        say(e, "   Those between are not shown, only what they add up to.\n");
}

/* Adds how a score is computed: "score q.k / (sqrt(2) + 0.1) = q.k / 1.5142". */
static void say_score(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const struct attn_attention *attention = row->attention;
    const struct attn_score_bias *bias = attention->bias;
    const double cap = attention->score_cap;

    if (!row->q && attention->eps == 0) { /* then d_head is 1 */
        say(e, "   score   as given\n");
        return;
    }
    say(e, "   %s  %s", has_column(e, SCALED) ? "scaled" : "score ", fit_name(e));
    if (attention->factor != 1)
        say(e, " * %.4f", attention->factor);
    if (attention->is_scaled && attention->eps > 0)
        say(e, " / (sqrt(%zu) + %g), the square root of d_head plus eps: %.4f", row->dims->d_head,
            attention->eps, row->divisor);
    else if (attention->is_scaled)
        say(e, " / sqrt(%zu), the square root of d_head: %.4f", row->dims->d_head, row->divisor);
    else if (attention->factor == 1)
        say(e, " as it is, without a scale");
    say(e, "%s%s%s\n", has_column(e, BIAS) ? " + bias" : "", has_column(e, C2P) ? " + c2p" : "",
        has_column(e, P2C) ? " + p2c" : "");
    if (has_column(e, C2P))
        say(e, "   c2p     the query times the place of the key, for their distance, scaled\n");
    if (has_column(e, P2C))
        say(e, "   p2c     the key times the place of the query, for their distance, scaled\n");
    if (bias && bias->is_of_places)
        bias = NULL;
    if (bias && bias->farthest > 0)
        say(e, "   bias    learned, for the position of the key less that of the query\n");
    else if (bias)
        say(e,
            bias->is_of_key
                ? "   bias    %g * the position of the key, in bfloat16, and scaled (ALiBi)\n"
                : "   bias    %g * (the position of the key - that of the query) (ALiBi)\n",
            (double)bias->slopes[row->at.head]);
    if (has_column(e, SCALED))
        say(e, "   score   %g * tanh(scaled / %g), which never passes %g\n", cap, cap, cap);
}

static void say_weights(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const double sum = attn_printed(row->exponential_sum);

    say_score(e);
    say(e, "   exp     e to the power of score less the largest score, %.4f\n",
        attn_printed((double)row->keys[row->largest].score));
    if (has_column(e, SHARE)) { /* the mask is applied after the softmax */
        say(e, "   share   exp / sum of all exp, %.4f\n", sum);
        say(e, "   weight  0 where the mask hides the key, else share");
        if (row->attention->masking == ATTN_MASKING_RENORMALIZE)
            say(e, " / sum of these, %.4f", attn_printed(row->visible_share));
        say(e, "\n");
    } else {
        say(e, "   weight  exp / sum of all exp, %.4f\n", sum);
    }
    if (row->sink)
        say(e, "   sink    a score of the head that has no key: its weight takes no value\n");
    if (has_column(e, KEPT))
        say(e, "   kept    0 where the weight is dropped, else weight / (1 - %g)\n",
            row->attention->dropout);
}

static void say_layer(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const bool is_normed =
        config->norm != ATTN_NORM_NONE &&
        (config->norm_place == ATTN_NORM_POST || config->norm_place == ATTN_NORM_AROUND);

    say(e, "%s%s%s%s", config->has_out_proj ? ", times W_O" : "",
        config->has_out_proj && config->has_out_bias ? ", plus b_O" : "",
        is_normed ? ", normalized" : "", config->has_layer_scale ? ", times the layer scale" : "");
    if (config->residual_scale > 0)
        say(e, ", times %g", config->residual_scale);
    say(e, ".\n");
    if (config->has_residual)
        say(e, "   Added to x%s it is what the block goes on with%s.\n",
            config->has_parallel_residual ? ", with what the MLP makes of x," : "",
            config->norm_place == ATTN_NORM_SUM ? ", normalized" : "");
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* Adds the table WHICH after an empty line. */
static enum attn_status add_table(struct explaining *e, enum table which, struct attn_error *err)
{
    struct attn_document_view view = {.text = ATTN_TEXT_COLUMNS,
                                      .indent = which == LAYER ? 2 : 0,
                                      .has_headings = which != LAYER};

    ATTN_TRY(tabulate(e, which, err));
    view.columns = e->grids[e->n_grid - 1].shown;
    view.n_column = e->n_column;
    say(e, "\n");
    attn_document_table(&e->document, e->grids[e->n_grid - 1].table, &view);
    return ATTN_OK;
}

/* Adds the steps that the row has: words, which begin with a number and a title, and a table. */
static enum attn_status add_steps(struct explaining *e, struct attn_error *err)
{
    const struct attn_explanation *row = e->row;
    const struct attn_config *config = e->run->config;
    const bool has_keys = row->n_cell > 0;
    const bool has_layer = config && (config->n_head > 1 || config->has_out_proj);
    const struct {
        bool exists;
        const char *title;
        void (*say)(struct explaining *e);
        enum table table;
    } steps[] = {
        {true, NULL, say_title, 0},
        {config, NULL, say_input, 0},
        {row->rotation.normed, NULL, say_rotation, 0},
        {config, NULL, say_keys_and_values, 0},
        {!config && row->q, NULL, say_arrays, 0},
        {true, NULL, say_visible, 0},
        {has_keys && row->q, "How well each key fits: its components times those of q, added up",
         say_fits, FITS},
        {has_keys, "The weights: a softmax turns scores into shares of 1.\n", say_weights, WEIGHTS},
        {has_keys && row->z, "The context vector z: each value times its weight w, added up.\n",
         NULL, VALUES},
        {has_layer, "What the layer gives: the z of all heads side by side", say_layer, 0},
        {has_layer && row->attn_out, NULL, NULL, LAYER},
    };

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].exists && steps[i].title)
            say(e, "\n%d. %s", ++e->n_step, steps[i].title);
        if (steps[i].exists && steps[i].say)
            steps[i].say(e);
        if (steps[i].exists && steps[i].table)
            ATTN_TRY(add_table(e, steps[i].table, err));
    }
    return ATTN_OK;
}

static void release(struct explaining *e)
{
    attn_document_release(&e->document);
    for (size_t i = 0; i < e->n_grid; i++)
        attn_table_free(e->grids[i].table);
    for (size_t i = 0; i < MOST_LISTS; i++)
        attn_buffer_release(&e->items[i]);
}

enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err)
{
    const struct attn_labels labels = attn_labels_of_stack(run->labels);
    const struct attn_explained_run of_stack = {run->config, run->arrays, &labels};
    struct explaining e = {.run = &of_stack, .row = row};
    enum attn_status status = add_steps(&e, err);

    ATTN_THEN(status, attn_document_write(&e.document, ATTN_FORM_TEXT, out, err));
    release(&e);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_explanation_tabulate(const struct attn_explanation *row,
                                           const struct attn_labels *labels,
                                           struct attn_table **table, struct attn_error *err)
{
    const struct attn_explained_run run = {.labels = labels};
    struct explaining e = {.run = &run, .row = row};
    const enum attn_status status = tabulate(&e, PICTURE, err);

    if (status == ATTN_OK)
        *table = e.grids[--e.n_grid].table;
    release(&e);
    return status;
}
