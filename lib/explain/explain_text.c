/* explain_text.c - the arithmetic of one row as text: its input, and a table for each step. */
#include "explain/explain_internal.h"

#include "attention/attention_extra.h"
#include "attention/attention_internal.h"
#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/status_internal.h"
#include "encode/text_table.h"
#include "tables/document.h"
#include "trace/trace_internal.h"
#include "writers/token_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_NUMBERS = 8, /* of a vector in brackets */
    SHOWN_COLUMNS = 5, /* of a vector in a table; the first and last two of a longer one */
    SHOWN_KEYS = 16,   /* in addition to the strongest key */
    LABEL_WIDTH = 10,
    N_LABEL = 2 /* columns before the numbers: number and token of a key */
};

/* An explanation while it is written. */
struct explaining {
    const struct attn_explained_run *run; /* where the row comes from */
    const struct attn_explanation *row;
    struct attn_document document;
    struct attn_text_table *table; /* the current table of the document */
    int n_step;                    /* so far */
    bool is_turned;                /* whether q and k are turned by their positions */
    bool is_cosine;
    bool is_capped;
    bool is_masked_after; /* masked keys are in the softmax, too */
    bool has_dropout;
    double largest_score;
};

static ATTN_PRINTF(2, 3) void say(struct explaining *e, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    attn_document_text_list(&e->document, format, arguments);
    va_end(arguments);
}

/* --- Gaps ------------------------------------------------------------------------------------- */

/* Iterates over N items, of which LIMIT and EXTRA are shown. A slot is a shown item or a gap. */
struct slot {
    size_t n, limit, extra;
    size_t first, last; /* first .. last - 1; 0 before the first slot */
    bool is_gap;
};

static struct slot columns_of(size_t n)
{
    return (struct slot){.n = n, .limit = SHOWN_COLUMNS, .extra = SIZE_MAX};
}

static struct slot cells_of(const struct attn_explanation *row)
{
    return (struct slot){.n = row->n_cell, .limit = SHOWN_KEYS, .extra = row->strongest};
}

static bool next_slot(struct slot *s)
{
    s->first = s->last;
    while (s->last < s->n && s->last != s->extra && s->n > s->limit && s->last >= s->limit / 2 &&
           s->last < s->n - s->limit / 2)
        s->last++;
    s->is_gap = s->last > s->first;
    s->last += !s->is_gap;
    return s->first < s->n;
}

/* The number of columns of a vector of N in a table. */
static size_t n_shown(size_t n)
{
    return n < SHOWN_COLUMNS ? n : SHOWN_COLUMNS;
}

/* --- Tokens and vectors ----------------------------------------------------------------------- */

/* The text of a token without surrounding blanks, *SIZE bytes; NULL without tokens. */
static const char *token_text(const char *const *tokens, const size_t *sizes, size_t i,
                              size_t *size)
{
    const char *text = tokens ? tokens[i] : NULL;

    *size = tokens ? sizes[i] : 0;
    for (; *size > 0 && *text == ' '; --*size)
        text++;
    while (*size > 0 && text[*size - 1] == ' ')
        --*size;
    if (tokens && *size == 0) {
        text = "' '";
        *size = strlen(text);
    }
    return text;
}

/* "[0.1794  1.8951  0.4954]" */
struct vector_text {
    char text[SHOWN_NUMBERS * 48]; /* a float32 with four digits takes 44 at most */
};

static struct vector_text vector_text(const float *x, size_t n)
{
    struct vector_text vector;
    size_t used = 0;

    attn_fixed_text_append(vector.text, sizeof vector.text, &used, "[");
    for (struct slot s = {.n = n, .limit = SHOWN_NUMBERS, .extra = SIZE_MAX}; next_slot(&s);) {
        attn_fixed_text_append(vector.text, sizeof vector.text, &used, s.first > 0 ? "  " : "");
        if (s.is_gap)
            attn_fixed_text_append(vector.text, sizeof vector.text, &used, "...");
        else
            attn_fixed_text_append(vector.text, sizeof vector.text, &used, "%.4f",
                                   (double)x[s.first]);
    }
    attn_fixed_text_append(vector.text, sizeof vector.text, &used, "]");
    return vector;
}

static void add_title(struct explaining *e)
{
    const struct attn_labels *labels = e->run->labels;
    size_t size;
    const char *token = token_text(labels->tokens, labels->token_sizes, e->row->query, &size);

    if (e->run->config) {
        const char *stack = attn_model_stack_name(e->row->at.stack);

        say(e, "%s%slayer %d, ", stack, stack[0] ? " " : "", e->row->at.layer);
    }
    say(e, "head %d, query %zu%s", e->row->at.head, e->row->query, token ? ": " : "");
    attn_document_escaped(&e->document, token, size);
    say(e, "\n\n");
}

/* --- Origin of q, k and v --------------------------------------------------------------------- */

/* Whether attention reads the normalized input of the block. */
static bool has_norm_before(const struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const bool is_bare = config->begins_without_norm && e->row->at.layer == 0 &&
                         e->row->at.stack != ATTN_STACK_CROSS;

    return config->norm != ATTN_NORM_NONE && !is_bare &&
           (config->norm_place == ATTN_NORM_PRE || config->norm_place == ATTN_NORM_AROUND);
}

/* "norm(x) W_Q + b_Q" */
static void add_projection(struct explaining *e, const char *input, bool is_normed, char letter)
{
    say(e, is_normed ? "norm(%s)" : "%s", input);
    if (e->run->config->has_projections)
        say(e, " W_%c", letter);
    if (e->run->config->has_projections && e->run->config->has_qkv_bias)
        say(e, " + b_%c", letter);
}

static void add_input(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explanation *row = e->row;
    const bool is_first = row->at.layer == 0 && row->at.stack != ATTN_STACK_CROSS;

    say(e, "  x = %s", vector_text(row->x, row->d_model).text);
    if (row->at.stack == ATTN_STACK_CROSS)
        say(e, ", what self-attention gives in this layer at this position");
    else if (!is_first)
        say(e, ", what layer %d gives at this position", row->at.layer - 1);
    else
        say(e, config->image.patch_height > 0 ? ", the picture at this position"
               : e->run->labels->ids          ? ", the embedding of the token"
               : config->stack.n_mel > 0      ? ", what the convolutions make of the sound"
                                              : ", as given");
    if (is_first && e->run->labels->ids && config->embed_scale > 0)
        say(e, " times %.4f", config->embed_scale);
    if (is_first && config->positions == ATTN_POSITIONS_LEARNED)
        say(e, config->image.patch_height > 0 ? ", with what was learned of the position"
               : config->stack.n_mel > 0      ? " plus the embedding of its position"
                                              : " plus that of its position");
    say(e, "\n  q = ");
    add_projection(e, "x", has_norm_before(e), 'Q');
    say(e, " = %s\n", vector_text(row->projected_q ? row->projected_q : row->q, row->d_head).text);
}

/* The same of q on its way to a product: normalized, and turned by its position. */
static void add_turning(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const bool is_joined = e->run->config->qk_norm == ATTN_QK_NORM_ALL_HEADS;

    if (row->has_qk_norm)
        say(e, "  norm(q) = %s, %s\n", vector_text(row->normed_q, row->d_head).text,
            is_joined ? "all heads at once" : "each head by itself");
    if (row->n_pair == 0) {
        say(e, "  This layer turns no positions.\n");
        return;
    }
    say(e, "  rot_q = %s turned by its position, %zu, = %s\n", row->has_qk_norm ? "norm(q)" : "q",
        row->query, vector_text(row->q, row->d_head).text);
    say(e,
        row->turns_neighbours ? "  Component 2i turns with 2i + 1"
                              : "  Component i turns with i + %zu",
        row->n_pair);
    say(e, " by the angle position * f_i, f = %s", vector_text(row->frequencies, row->n_pair).text);
    if (2 * row->n_pair < row->d_head)
        say(e, "; components from %zu on stay", 2 * row->n_pair);
    say(e, ".\n");
}

static void add_keys_and_values(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explanation *row = e->row;
    const size_t n_shared = config->n_head / config->n_kv_head;
    const size_t first = n_shared * (size_t)row->kv_head;
    const bool is_normed = has_norm_before(e) && !row->is_cross;
    const char *input = row->is_cross ? "s_j" : "x_j";

    say(e, "  k_j = ");
    add_projection(e, input, is_normed, 'K');
    say(e, ", v_j = ");
    add_projection(e, input, is_normed, 'V');
    say(e, ", of each %s%s\n", row->is_cross ? "row s_j of the source" : "position j",
        row->is_cross && config->source_positions == ATTN_POSITIONS_LEARNED
            ? ", with that of its position added"
            : "");
    if (e->is_turned)
        say(e, "  rot_k_j = %s turned by position j\n", row->has_qk_norm ? "norm(k_j)" : "k_j");
    if (n_shared > 1)
        say(e, "  Heads %zu-%zu share these, which are of key/value head %d.\n", first,
            first + n_shared - 1, row->kv_head);
}

/* The same for attention on arrays, which are given. */
static void add_arrays(struct explaining *e)
{
    const struct attn_attend_args *arrays = e->run->arrays;
    const size_t n_shared = arrays->n_head / arrays->n_kv_head;

    if (!e->row->has_products)
        return;
    say(e, "  q = %s\n", vector_text(e->row->q, e->row->d_head).text);
    if (n_shared > 1)
        say(e, "  Keys and values are those of head %d, one for %zu heads of queries.\n",
            e->row->kv_head, n_shared);
}

static void add_visible(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    char kind[ATTN_ATTENTION_TEXT_SIZE];
    const bool is_causal = row->attention->mask == ATTN_MASK_CAUSAL && !row->is_cross &&
                           row->n_visible == row->query + 1;

    say(e, "  The query may look at ");
    if (row->n_visible == 0)
        say(e, "none of the %zu keys: all weights are 0, and so is z", row->n_key);
    else if (row->n_visible == row->n_key)
        say(e, row->n_key == 1 ? "the one key" : "all %zu keys", row->n_key);
    else
        say(e, "%zu of the %zu keys", row->n_visible, row->n_key);
    if (is_causal)
        say(e, row->query > 0 ? ", itself and those before it" : ", itself");
    if (row->attention->kind != ATTN_ATTENTION_FULL) {
        attn_attention_text(row->attention, kind);
        say(e, ", as %s says", kind);
    }
    say(e, ".\n");
    if (row->is_rounded)
        say(e, "  q, k, v and what v is multiplied by are rounded to bfloat16.\n");
}

/* --- Parts of tables -------------------------------------------------------------------------- */

/* A table of N_NUMBER columns after the labels. */
static void begin_table(struct explaining *e, size_t n_number)
{
    e->table = attn_document_grid(&e->document, N_LABEL + n_number, 2);
    attn_text_table_flush_left(e->table, 1);
}

static void end_row(struct explaining *e)
{
    attn_text_table_end_row(e->table);
}

static void put(struct explaining *e, const char *text)
{
    attn_text_table_string(e->table, text);
}

static void put_number(struct explaining *e, double number)
{
    attn_text_table_format(e->table, "%.4f", isnan(number) ? fabs(number) : number); /* no "-nan" */
}

static void put_blanks(struct explaining *e, size_t n)
{
    for (; n > 0; n--)
        put(e, "");
}

static void put_vector(struct explaining *e, const float *x, size_t n)
{
    for (struct slot s = columns_of(n); next_slot(&s);)
        if (s.is_gap)
            put(e, "...");
        else
            put_number(e, (double)x[s.first]);
}

/* Adds the names of components: "k_0". */
static void put_names(struct explaining *e, const char *name, size_t n)
{
    for (struct slot s = columns_of(n); next_slot(&s);)
        if (s.is_gap)
            put(e, "...");
        else
            attn_text_table_format(e->table, "%s_%zu", name, s.first);
}

/* Adds the first two cells of a row that is not about a key. */
static void put_heading(struct explaining *e, const char *text)
{
    put(e, "");
    put(e, text);
}

/* Adds the first two cells of a key, number and token, or of hidden keys, their number. */
static void put_key(struct explaining *e, struct slot cells)
{
    const struct attn_labels *labels = e->run->labels;
    const bool is_cross = e->row->is_cross;
    struct attn_buffer escaped = {0}, label = {0};
    size_t key, size;
    const char *token;

    if (cells.is_gap) {
        put(e, "...");
        attn_buffer_append_format(&escaped, "%zu more", cells.last - cells.first);
    } else {
        key = e->row->keys[cells.first].key;
        token = token_text(is_cross ? labels->source_tokens : labels->tokens,
                           is_cross ? labels->source_token_sizes : labels->token_sizes, key, &size);
        attn_text_table_number(e->table, key);
        attn_escape_append(&escaped, token, size);
    }
    attn_text_append_cut(&label, escaped.data, escaped.size, LABEL_WIDTH, ATTN_ELLIPSIS);
    attn_text_table_cell(e->table, label.data, label.size);
    e->document.has_failed |= escaped.has_failed || label.has_failed;
    attn_buffer_release(&escaped);
    attn_buffer_release(&label);
}

/* --- 1. How well each key fits ---------------------------------------------------------------- */

/* "q_0*k_0 + q_1*k_1 = q.k"; hidden products are one sum, "2-61". */
static void put_product_names(struct explaining *e)
{
    for (struct slot s = columns_of(e->row->d_head); next_slot(&s);) {
        if (s.is_gap)
            attn_text_table_format(e->table, "%zu-%zu", s.first, s.last - 1);
        else
            attn_text_table_format(e->table, "q_%zu*k_%zu", s.first, s.first);
        put(e, "");
    }
    put(e, "q.k");
}

static void put_products(struct explaining *e, const float *k, double sum)
{
    const struct attn_explanation *row = e->row;

    for (struct slot s = columns_of(row->d_head); next_slot(&s);) {
        double part = 0;

        for (size_t a = s.first; a < s.last; a++)
            part += (double)row->q[a] * (double)k[a];
        put_number(e, part);
        put(e, s.last < row->d_head ? "+" : "=");
    }
    put_number(e, sum);
}

/* The name of the number that a score is computed from. */
static const char *fit_name(const struct explaining *e)
{
    if (!e->row->has_products)
        return "given";
    return e->is_cosine ? "cosine" : "q.k";
}

static void add_scores(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const size_t n = n_shown(row->d_head); /* of k, then products and signs in turn */

    if (!row->has_products)
        return;
    say(e, "\n%d. How well each key fits: its components times those of q, added up", ++e->n_step);
    if (e->is_cosine)
        say(e, ",\n   divided by the lengths of both, |q| = %.4f and |k|: their cosine",
            e->row->q_length);
    say(e, ".\n");
    if (e->is_turned)
        say(e, "   q and k are rot_q and rot_k here.\n");
    if (e->row->d_head > SHOWN_COLUMNS)
        say(e, "   Those between are not shown, only what they add up to.\n");
    say(e, "\n");
    begin_table(e, n + 2 * n + 1 + (e->is_cosine ? 2 : 0));
    for (size_t i = 0; i < n; i++)
        attn_text_table_sign(e->table, N_LABEL + n + 2 * i + 1);
    put_heading(e, "");
    put_names(e, "k", row->d_head);
    put_product_names(e);
    if (e->is_cosine) {
        put(e, "|k|");
        put(e, "cosine");
    }
    put_heading(e, "q");
    put_vector(e, row->q, row->d_head);
    end_row(e);
    for (struct slot s = cells_of(row); next_slot(&s); end_row(e)) {
        const struct attn_explained_key *key = &row->keys[s.first];
        const double fit = (double)key->fit;

        put_key(e, s);
        if (s.is_gap)
            continue;
        put_vector(e, key->k, row->d_head);
        put_products(e, key->k, e->is_cosine ? fit * key->k_length * row->q_length : fit);
        if (e->is_cosine) {
            put_number(e, key->k_length);
            put_number(e, fit);
        }
    }
}

/* --- 2. The softmax --------------------------------------------------------------------------- */

/* "score   q.k / (sqrt(2) + 0.1) = q.k / 1.5142" */
static void add_scale(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const struct attn_attention *attention = row->attention;
    const double cap = attention->score_cap;

    if (!row->has_products && attention->eps == 0) { /* d_head is 1 */
        say(e, "   score   as given\n");
        return;
    }
    say(e, "   %s  %s", e->is_capped ? "scaled" : "score ", fit_name(e));
    if (attention->factor != 1)
        say(e, " * %.4f", attention->factor);
    if (attention->is_scaled && attention->eps > 0)
        say(e, " / (sqrt(%zu) + %g), the square root of d_head plus eps: %.4f", row->d_head,
            attention->eps, row->divisor);
    else if (attention->is_scaled)
        say(e, " / sqrt(%zu), the square root of d_head: %.4f", row->d_head, row->divisor);
    else if (attention->factor == 1)
        say(e, " as it is, without a scale");
    if (attention->bias)
        say(e, " + bias");
    say(e, "\n");
    if (attention->bias && attention->bias->farthest > 0)
        say(e, "   bias    learned, for the position of the key less that of the query\n");
    else if (attention->bias)
        say(e,
            attention->bias->is_of_key
                ? "   bias    %g * the position of the key, in bfloat16, and scaled (ALiBi)\n"
                : "   bias    %g * (the position of the key - that of the query) (ALiBi)\n",
            (double)attention->bias->slopes[row->at.head]);
    if (e->is_capped)
        say(e, "   score   %g * tanh(scaled / %g), which never passes %g\n", cap, cap, cap);
}

static void add_softmax_rules(struct explaining *e)
{
    const struct attn_explanation *row = e->row;

    say(e, "\n%d. The weights: a softmax turns scores into shares of 1.\n", ++e->n_step);
    add_scale(e);
    say(e, "   exp     e to the power of score less the largest score, %.4f\n", e->largest_score);
    if (e->is_masked_after) { /* the second and the third way of masking */
        say(e, "   share   exp / sum of all exp, %.4f\n", row->exponential_sum);
        say(e, "   weight  0 where the mask hides the key, else share");
        if (row->attention->masking == ATTN_MASKING_RENORMALIZE)
            say(e, " / sum of these, %.4f", row->visible_share);
        say(e, "\n");
    } else {
        say(e, "   weight  exp / sum of all exp, %.4f\n",
            fabs(row->exponential_sum)); /* never "-nan" */
    }
    if (row->sink)
        say(e, "   sink    a score of the head that has no key: its weight takes no value\n");
    if (e->has_dropout)
        say(e, "   kept    0 where the weight is dropped, else weight / (1 - %g)\n",
            row->attention->dropout);
    say(e, "\n");
}

/* Adds the sums of exponentials and weights over CELLS, and of the sink if HAS_SINK, and marks the
 * strongest key. */
static void put_shares(struct explaining *e, struct slot cells, bool has_sink)
{
    const struct attn_explanation *row = e->row;
    double exponential = has_sink ? row->sink_exponential : 0, kept = 0;
    double weight = exponential / row->exponential_sum;

    for (size_t i = cells.first; i < cells.last; i++) {
        exponential += row->keys[i].exponential;
        weight += (double)row->keys[i].weight;
        kept += (double)row->keys[i].kept;
    }
    put_number(e, exponential);
    if (e->is_masked_after)
        put_number(e, exponential / row->exponential_sum);
    put_number(e, weight);
    if (e->has_dropout)
        put_number(e, kept);
    if (cells.last == cells.first + 1 && cells.first == row->strongest && row->n_cell > 1)
        put(e, "strongest");
    end_row(e);
}

static void add_weights(struct explaining *e)
{
    const struct attn_explanation *row = e->row;
    const bool has_bias = row->attention->bias;
    const size_t n_score = 3 + e->is_capped + has_bias; /* columns before the exponential */
    const size_t n_share = (e->is_masked_after ? 3 : 2) + (e->has_dropout ? 1 : 0);

    add_softmax_rules(e);
    begin_table(e, n_score + n_share + 1); /* and a word */
    attn_text_table_flush_left(e->table, N_LABEL + n_score + n_share);
    put_heading(e, "");
    put(e, fit_name(e));
    if (has_bias)
        put(e, "bias");
    if (e->is_capped)
        put(e, "scaled");
    put(e, "score");
    put(e, "less max");
    put(e, "exp");
    if (e->is_masked_after)
        put(e, "share");
    put(e, "weight");
    if (e->has_dropout)
        put(e, "kept");
    end_row(e);
    for (struct slot s = cells_of(row); next_slot(&s);) {
        put_key(e, s);
        if (s.is_gap) {
            put_blanks(e, n_score);
        } else {
            const struct attn_explained_key *key = &row->keys[s.first];

            put_number(e, (double)key->fit);
            if (has_bias)
                put_number(e, key->bias);
            if (e->is_capped)
                put_number(e, key->scaled);
            put_number(e, (double)key->score);
            put_number(e, (double)key->score - e->largest_score);
        }
        put_shares(e, s, false);
    }
    if (row->sink) {
        put_heading(e, "sink");
        put_blanks(e, n_score - 2);
        put_number(e, (double)*row->sink);
        put_number(e, (double)*row->sink - e->largest_score);
        put_shares(e, (struct slot){.last = 0}, true);
    }
    put_heading(e, "sum");
    put_blanks(e, n_score);
    put_shares(e, (struct slot){.last = row->n_cell}, true);
}

/* --- 3. The weighted sum ---------------------------------------------------------------------- */

/* Adds the sum of values times weights over CELLS. */
static void put_weighted(struct explaining *e, struct slot cells)
{
    for (struct slot s = columns_of(e->row->d_value); next_slot(&s);) {
        double sum = 0;

        for (size_t i = cells.first; i < cells.last; i++)
            sum += (double)e->row->keys[i].kept * (double)e->row->keys[i].v[s.first];
        if (s.is_gap)
            put(e, "...");
        else
            put_number(e, sum);
    }
}

static void put_value(struct explaining *e, struct slot cells)
{
    const struct attn_explanation *row = e->row;
    double weight = 0;

    for (size_t i = cells.first; i < cells.last; i++)
        weight += (double)row->keys[i].kept;
    put_key(e, cells);
    put_number(e, weight);
    if (cells.is_gap)
        put_blanks(e, n_shown(row->d_value));
    else
        put_vector(e, row->keys[cells.first].v, row->d_value);
    put_weighted(e, cells);
}

static void add_context(struct explaining *e)
{
    const struct attn_explanation *row = e->row;

    if (!row->has_values)
        return;
    say(e, "\n%d. The context vector z: each value times its weight w, added up.\n\n", ++e->n_step);
    begin_table(e, 1 + 2 * n_shown(row->d_value));
    put_heading(e, "");
    put(e, "w");
    put_names(e, "v", row->d_value);
    put_names(e, "w*v", row->d_value);
    for (struct slot s = cells_of(row); next_slot(&s);)
        put_value(e, s);
    put_heading(e, "z");
    put_blanks(e, 1 + n_shown(row->d_value));
    put_vector(e, row->z, row->d_value);
}

/* --- 4. The output of the layer --------------------------------------------------------------- */

static void put_named(struct explaining *e, const char *name, const float *vector, size_t n)
{
    put_heading(e, name);
    put_vector(e, vector, n);
    end_row(e);
}

static void add_layer(struct explaining *e)
{
    const struct attn_config *config = e->run->config;
    const struct attn_explanation *row = e->row;
    const bool is_normed =
        config && config->norm != ATTN_NORM_NONE &&
        (config->norm_place == ATTN_NORM_POST || config->norm_place == ATTN_NORM_AROUND);

    if (!config || (config->n_head == 1 && !config->has_out_proj))
        return;
    say(e, "\n%d. What the layer gives: the z of all heads side by side%s%s%s%s.\n", ++e->n_step,
        config->has_out_proj ? ", times W_O" : "",
        config->has_out_proj && config->has_out_bias ? ", plus b_O" : "",
        is_normed ? ", normalized" : "", config->has_layer_scale ? ", times the layer scale" : "");
    if (config->has_residual)
        say(e, "   Added to x%s it is what the block goes on with%s.\n",
            config->has_parallel_residual ? ", with what the MLP makes of x," : "",
            config->norm_place == ATTN_NORM_SUM ? ", normalized" : "");
    if (!row->attn_out)
        return;
    say(e, "\n");
    begin_table(e, n_shown(row->d_model > row->d_out ? row->d_model : row->d_out));
    if (config->has_residual)
        put_named(e, "x", row->x, row->d_model);
    put_named(e, "attn_out", row->attn_out, row->d_out);
    if (!config->has_residual || config->has_parallel_residual)
        return;
    put_heading(e, "sum"); /* the residual stream after the layer */
    for (struct slot s = columns_of(row->d_model); next_slot(&s);)
        if (s.is_gap)
            put(e, "...");
        else
            put_number(e, (double)row->x[s.first] + (double)row->attn_out[s.first]);
    end_row(e);
}

/* --- The document ----------------------------------------------------------------------------- */

enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err)
{
    const struct attn_attention *attention = row->attention;
    const struct attn_labels labels = attn_labels_of_stack(run->labels);
    const struct attn_explained_run of_stack = {run->config, run->arrays, &labels};
    struct explaining e = {.run = &of_stack,
                           .row = row,
                           .is_turned = row->n_pair > 0,
                           .is_cosine = attention->similarity == ATTN_SIMILARITY_COSINE,
                           .is_capped = attention->score_cap > 0,
                           .is_masked_after = attention->masking != ATTN_MASKING_INF,
                           .has_dropout = attention->dropout > 0 || attention->dropout_mask.cells,
                           .largest_score =
                               row->n_cell > 0 ? (double)row->keys[row->largest].score : 0};
    enum attn_status status;

    add_title(&e);
    if (run->config) {
        add_input(&e);
        if (row->normed_q)
            add_turning(&e);
        add_keys_and_values(&e);
    } else {
        add_arrays(&e);
    }
    add_visible(&e);
    if (row->n_cell > 0) {
        add_scores(&e);
        add_weights(&e);
        add_context(&e);
    }
    add_layer(&e);
    status = attn_document_write(&e.document, ATTN_FORM_TEXT, out, err);
    attn_document_release(&e.document);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
