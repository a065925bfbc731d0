/* explain.c - run --explain: the input of a row, and three steps, each a table with a line for
 * every key in the softmax. */
#include "cmd/args/explain.h"

#include "cmd/line/columns.h"
#include "cmd/line/command.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_NUMBERS = 8, /* of a vector in brackets */
    SHOWN_COLUMNS = 5, /* of a vector in a table; of a longer one the first and the last two */
    SHOWN_KEYS = 16,   /* and the strongest */
};

static const struct option explain_rows[] = {
    {.name = "explain",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .help =
         "show the arithmetic of one row, step by step. The selection must leave one head and one "
         "query; without --queries it is the last one. --png, --svg, --pdf and --html draw it"},
};

const struct option_group explain_options = OPTION_GROUP(explain_rows);

/* What is printed, and where. */
struct page {
    const struct explained_run *run; /* where the row comes from */
    const struct attn_explanation *row;
    struct attn_sink *out;
    struct columns columns;
    int n_step; /* printed so far */
    int code;   /* the first failure */
};

int explain_check(bool is_wanted, bool is_standard_used, const char **queries)
{
    if (is_wanted && is_standard_used)
        return report_problem(EXIT_USAGE, "write the data into a file",
                              "--explain prints on standard output, which holds data");
    if (is_wanted && !*queries)
        *queries = "-1";
    return EXIT_DONE;
}

size_t explain_take_figures(struct attn_output *outputs, size_t *n)
{
    const size_t n_output = *n;
    for (size_t i = 0; i < *n;) {
        struct attn_output last = outputs[*n - 1];
        if (!attn_explain_figure_is_format(outputs[i].format)) {
            i++;
            continue;
        }
        outputs[--*n] = outputs[i];
        outputs[i] = last;
    }
    return n_output - *n;
}

/* --- What is left out ------------------------------------------------------------------------- */

/* One thing of many, or those between two that are shown: first .. last - 1. */
struct slot {
    size_t first, last;
    bool is_gap;
};

static bool is_shown(size_t i, size_t n, size_t limit)
{
    return n <= limit || i < limit / 2 || i >= n - limit / 2;
}

/* The slot that begins with thing FIRST of N, of which LIMIT are shown and, if there is one, thing
 * EXTRA. */
static struct slot slot_at(size_t first, size_t n, size_t limit, size_t extra)
{
    size_t last = first;
    while (last < n && last != extra && !is_shown(last, n, limit))
        last++;
    return (struct slot){first, last > first ? last : first + 1, last > first};
}

/* --- Tokens and vectors ----------------------------------------------------------------------- */

/* A token, printable, without the blanks around it; free with attn_text_free. */
static char *escape(struct page *page, const char *text, size_t size)
{
    struct attn_error err = {0};
    char *escaped = NULL;
    for (; size > 0 && *text == ' '; size--)
        text++;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    if (size == 0) {
        text = "' '";
        size = strlen(text);
    }
    if (attn_escape(text, size, &escaped, &err) != ATTN_OK && page->code == EXIT_DONE)
        page->code = report(&err, EXIT_OUTPUT);
    return escaped;
}

static char *query_token(struct page *page)
{
    const struct attn_labels *labels = page->run->labels;
    const size_t query = page->row->query;
    return labels->tokens ? escape(page, labels->tokens[query], labels->token_sizes[query]) : NULL;
}

static char *key_token(struct page *page, size_t key)
{
    const struct attn_labels *labels = page->run->labels;
    if (!page->row->is_cross)
        return labels->tokens ? escape(page, labels->tokens[key], labels->token_sizes[key]) : NULL;
    if (!labels->source_tokens)
        return NULL;
    return escape(page, labels->source_tokens[key], labels->source_token_sizes[key]);
}

/* "[0.1794  1.8951  0.4954]" */
static void print_vector(struct page *page, const float *x, size_t n)
{
    print_text(page->out, "[");
    for (size_t next = 0; next < n;) {
        const struct slot s = slot_at(next, n, SHOWN_NUMBERS, SIZE_MAX);
        next = s.last;
        print_text(page->out, s.first > 0 ? "  " : "");
        if (s.is_gap)
            print_text(page->out, "...");
        else
            print(page->out, "%.4f", (double)x[s.first]);
    }
    print_text(page->out, "]");
}

static void print_title(struct page *page)
{
    const struct attn_explanation *row = page->row;
    char *token = query_token(page);
    if (page->run->config)
        print(page->out, "layer %d, ", row->layer);
    print(page->out, "head %d, query %zu", row->head, row->query);
    if (token) {
        print_text(page->out, ": ");
        print_text(page->out, token);
    }
    print_text(page->out, "\n\n");
    attn_text_free(token);
}

/* --- Where q, k and v come from --------------------------------------------------------------- */

static void print_input(struct page *page)
{
    print_text(page->out, "  x = ");
    print_vector(page, page->row->x, page->row->d_model);
    if (page->row->layer > 0)
        print(page->out, ", what layer %d gives at this position", page->row->layer - 1);
    else if (page->run->labels->ids)
        print_text(page->out, ", the embedding of the token");
    else
        print_text(page->out, ", as given");
    if (page->row->layer == 0 && page->run->labels->ids && page->run->config->embed_scale > 0)
        print(page->out, " times %.4f", page->run->config->embed_scale);
    if (page->row->layer == 0 && page->run->config->positions == ATTN_POSITIONS_LEARNED)
        print_text(page->out, " plus that of its position");
    print_text(page->out, "\n");
}

/* "norm(x) W_Q + b_Q" */
static void print_projection(struct page *page, const char *input, bool is_normed, char letter)
{
    print(page->out, is_normed ? "norm(%s)" : "%s", input);
    if (page->run->config->has_projections)
        print(page->out, " W_%c", letter);
    if (page->run->config->has_projections && page->run->config->has_qkv_bias)
        print(page->out, " + b_%c", letter);
}

/* Whether attention reads what the block's norm makes of its input. */
static bool has_norm_before(const struct page *page)
{
    return page->run->config->norm != ATTN_NORM_NONE &&
           page->run->config->norm_place != ATTN_NORM_POST;
}

static bool is_turned(const struct page *page)
{
    return page->row->n_pair > 0;
}

static void print_query(struct page *page)
{
    const struct attn_explanation *row = page->row;
    print_text(page->out, "  q = ");
    print_projection(page, "x", has_norm_before(page), 'Q');
    print_text(page->out, " = ");
    print_vector(page, is_turned(page) ? row->projected_q : row->q, row->d_head);
    print_text(page->out, "\n");
}

/* The same of q on its way to a product: normalized, and turned by its position. */
static void print_turning(struct page *page)
{
    const struct attn_explanation *row = page->row;
    const char *input = row->has_qk_norm ? "norm(q)" : "q";
    if (!is_turned(page))
        return;
    if (row->has_qk_norm) {
        const bool is_joined = page->run->config->qk_norm == ATTN_QK_NORM_ALL_HEADS;
        print_text(page->out, "  norm(q) = ");
        print_vector(page, row->normed_q, row->d_head);
        print(page->out, ", %s\n", is_joined ? "all heads at once" : "each head by itself");
    }
    print(page->out, "  rot_q = %s turned by its position, %zu, = ", input, row->query);
    print_vector(page, row->q, row->d_head);
    print(page->out,
          "\n  Component i turns with i + %zu by the angle position * f_i, f = ", row->n_pair);
    print_vector(page, row->frequencies, row->n_pair);
    if (2 * row->n_pair < row->d_head)
        print(page->out, "; components from %zu on stay", 2 * row->n_pair);
    print_text(page->out, ".\n");
}

static void print_keys_and_values(struct page *page)
{
    const size_t n_shared = page->run->config->n_head / page->run->config->n_kv_head;
    const size_t first = n_shared * (size_t)page->row->kv_head;
    const bool is_normed = has_norm_before(page) && !page->row->is_cross;
    const char *input = page->row->is_cross ? "s_j" : "x_j";
    print_text(page->out, "  k_j = ");
    print_projection(page, input, is_normed, 'K');
    print_text(page->out, ", v_j = ");
    print_projection(page, input, is_normed, 'V');
    print(page->out, ", of each %s", page->row->is_cross ? "row s_j of the source" : "position j");
    if (page->row->is_cross && page->run->config->source_positions == ATTN_POSITIONS_LEARNED)
        print_text(page->out, ", with that of its position added");
    print_text(page->out, "\n");
    if (is_turned(page))
        print(page->out, "  rot_k_j = %s turned by position j\n",
              page->row->has_qk_norm ? "norm(k_j)" : "k_j");
    if (n_shared > 1)
        print(page->out, "  Heads %zu-%zu share these, which are of key/value head %d.\n", first,
              first + n_shared - 1, page->row->kv_head);
}

/* The same of attention on arrays, where they are given. */
static void print_arrays(struct page *page)
{
    const struct attn_attend_args *arrays = page->run->arrays;
    const size_t n_shared = arrays->n_head / arrays->n_kv_head;
    if (!page->row->has_products)
        return;
    print_text(page->out, "  q = ");
    print_vector(page, page->row->q, page->row->d_head);
    if (n_shared > 1)
        print(page->out, "\n  Keys and values are those of head %d, one for %zu heads of queries.",
              page->row->kv_head, n_shared);
    print_text(page->out, "\n");
}

static void print_visible(struct page *page)
{
    const struct attn_explanation *row = page->row;
    char kind[ATTN_ATTENTION_TEXT_SIZE];
    const bool is_causal = page->row->attention->mask == ATTN_MASK_CAUSAL && !page->row->is_cross &&
                           row->n_visible == row->query + 1;
    print_text(page->out, "  The query may look at ");
    if (row->n_visible == 0)
        print(page->out, "none of the %zu keys: all weights are 0, and so is z", row->n_key);
    else if (row->n_visible == row->n_key)
        print(page->out, row->n_key == 1 ? "the one key" : "all %zu keys", row->n_key);
    else
        print(page->out, "%zu of the %zu keys", row->n_visible, row->n_key);
    if (is_causal)
        print_text(page->out, row->query > 0 ? ", itself and those before it" : ", itself");
    if (page->row->attention->kind != ATTN_ATTENTION_FULL) {
        attn_attention_text(page->row->attention, kind);
        print(page->out, ", as %s says", kind);
    }
    print_text(page->out, ".\n");
    if (row->is_rounded)
        print_text(page->out, "  q, k, v and what v is multiplied by are rounded to bfloat16.\n");
}

/* --- Parts of tables -------------------------------------------------------------------------- */

static void put_table(struct page *page)
{
    int code = columns_print(&page->columns, page->out);
    if (page->code == EXIT_DONE)
        page->code = code;
}

static struct slot column_at(size_t first, size_t n)
{
    return slot_at(first, n, SHOWN_COLUMNS, SIZE_MAX);
}

static struct slot cell_at(const struct page *page, size_t first)
{
    return slot_at(first, page->row->n_cell, SHOWN_KEYS, page->row->strongest);
}

static void put_blanks(struct page *page, size_t n)
{
    for (; n > 0; n--)
        columns_put(&page->columns, "%s", "");
}

/* As many cells as a vector of N has. */
static void put_no_vector(struct page *page, size_t n)
{
    for (size_t next = 0; next < n;) {
        const struct slot s = column_at(next, n);
        next = s.last;
        put_blanks(page, 1);
    }
}

static void put_vector(struct page *page, const float *x, size_t n)
{
    for (size_t next = 0; next < n;) {
        const struct slot s = column_at(next, n);
        next = s.last;
        if (s.is_gap)
            columns_put(&page->columns, "...");
        else
            columns_number(&page->columns, (double)x[s.first]);
    }
}

/* The names of its components: "k_0". */
static void put_names(struct page *page, const char *name, size_t n)
{
    for (size_t next = 0; next < n;) {
        const struct slot s = column_at(next, n);
        next = s.last;
        if (s.is_gap)
            columns_put(&page->columns, "...");
        else
            columns_put(&page->columns, "%s_%zu", name, s.first);
    }
}

/* The first two cells of a row that is no key's. */
static void put_heading(struct page *page, const char *text)
{
    put_blanks(page, 1);
    columns_text(&page->columns, text, strlen(text));
}

/* Those of a key, or of the keys between two: number and token. */
static void put_key(struct page *page, struct slot cells)
{
    char text[32];
    if (cells.is_gap) {
        snprintf(text, sizeof(text), "%zu more", cells.last - cells.first);
        columns_put(&page->columns, "...");
        columns_text(&page->columns, text, strlen(text));
        return;
    }
    size_t key = page->row->keys[cells.first].key;
    char *token = key_token(page, key);
    columns_put(&page->columns, "%zu", key);
    columns_text(&page->columns, token ? token : "", token ? strlen(token) : 0);
    attn_text_free(token);
}

/* --- 1. How well each key fits ---------------------------------------------------------------- */

static bool is_cosine(const struct page *page)
{
    return page->row->attention->similarity == ATTN_SIMILARITY_COSINE;
}

/* "q_0*k_0 + q_1*k_1 = q.k"; products that are left out are one sum, "2-61". */
static void put_product_names(struct page *page)
{
    const size_t n = page->row->d_head;
    for (size_t next = 0; next < n;) {
        const struct slot s = column_at(next, n);
        next = s.last;
        if (s.is_gap)
            columns_put(&page->columns, "%zu-%zu", s.first, s.last - 1);
        else
            columns_put(&page->columns, "q_%zu*k_%zu", s.first, s.first);
        columns_sign(&page->columns, "");
    }
    columns_put(&page->columns, "q.k");
}

static void put_products(struct page *page, const float *k, double sum)
{
    const struct attn_explanation *row = page->row;
    for (size_t next = 0; next < row->d_head;) {
        double part = 0;
        const struct slot s = column_at(next, row->d_head);
        next = s.last;
        for (size_t a = s.first; a < s.last; a++)
            part += (double)row->q[a] * (double)k[a];
        columns_number(&page->columns, part);
        columns_sign(&page->columns, s.last < row->d_head ? "+" : "=");
    }
    columns_number(&page->columns, sum);
}

static void put_fit(struct page *page, const struct attn_explained_key *key)
{
    const struct attn_explanation *row = page->row;
    put_vector(page, key->k, row->d_head);
    if (!is_cosine(page)) {
        put_products(page, key->k, (double)key->fit);
        return;
    }
    put_products(page, key->k, (double)key->fit * key->k_length * row->q_length);
    columns_number(&page->columns, key->k_length);
    columns_number(&page->columns, (double)key->fit);
}

static void print_scores(struct page *page)
{
    const struct attn_explanation *row = page->row;
    if (!row->has_products)
        return;
    print(page->out, "\n%d. How well each key fits: its components times those of q, added up",
          ++page->n_step);
    if (is_cosine(page))
        print(page->out, ",\n   divided by the lengths of both, |q| = %.4f and |k|: their cosine",
              row->q_length);
    print_text(page->out, ".\n");
    if (is_turned(page))
        print_text(page->out, "   q and k are rot_q and rot_k here.\n");
    if (row->d_head > SHOWN_COLUMNS)
        print_text(page->out, "   Those between are not shown, only what they add up to.\n");
    print_text(page->out, "\n");
    put_heading(page, "");
    put_names(page, "k", row->d_head);
    put_product_names(page);
    if (is_cosine(page)) {
        columns_put(&page->columns, "|k|");
        columns_put(&page->columns, "cosine");
    }
    columns_end_row(&page->columns);
    put_heading(page, "q");
    put_vector(page, row->q, row->d_head);
    columns_end_row(&page->columns);
    for (size_t next = 0; next < row->n_cell;) {
        const struct slot s = cell_at(page, next);
        next = s.last;
        put_key(page, s);
        if (!s.is_gap)
            put_fit(page, &row->keys[s.first]);
        columns_end_row(&page->columns);
    }
    put_table(page);
}

/* --- 2. The softmax --------------------------------------------------------------------------- */

/* What a score is made of. */
static const char *fit_name(const struct page *page)
{
    if (!page->row->has_products)
        return "given";
    return is_cosine(page) ? "cosine" : "q.k";
}

static bool has_dropout(const struct page *page)
{
    return page->row->attention->dropout > 0 || page->row->attention->dropout_mask.cells;
}

/* Whether the softmax is over all keys, and the mask comes after it. */
static bool is_masked_after(const struct page *page)
{
    return page->row->attention->masking != ATTN_MASKING_INF;
}

static double largest_score(const struct page *page)
{
    return (double)page->row->keys[page->row->largest].score;
}

static bool is_capped(const struct page *page)
{
    return page->row->attention->score_cap > 0;
}

/* "score   q.k / (sqrt(2) + 0.1) = q.k / 1.5142" */
static void print_scale(struct page *page)
{
    const struct attn_attention *attention = page->row->attention;
    if (!page->row->has_products && attention->eps == 0) { /* d_head is 1 */
        print_text(page->out, "   score   as given\n");
        return;
    }
    print(page->out, "   %s  %s", is_capped(page) ? "scaled" : "score ", fit_name(page));
    if (attention->factor != 1)
        print(page->out, " * %.4f", attention->factor);
    if (attention->is_scaled && attention->eps > 0)
        print(page->out, " / (sqrt(%zu) + %g), the square root of d_head plus eps: %.4f",
              page->row->d_head, attention->eps, page->row->divisor);
    else if (attention->is_scaled)
        print(page->out, " / sqrt(%zu), the square root of d_head: %.4f", page->row->d_head,
              page->row->divisor);
    else if (attention->factor == 1)
        print_text(page->out, " as it is, without a scale");
    print_text(page->out, "\n");
    if (is_capped(page))
        print(page->out, "   score   %g * tanh(scaled / %g), which never passes %g\n",
              attention->score_cap, attention->score_cap, attention->score_cap);
}

/* The second and the third way of masking. */
static void print_masking(struct page *page)
{
    print(page->out, "   share   exp / sum of all exp, %.4f\n", page->row->exponential_sum);
    print_text(page->out, "   weight  0 where the mask hides the key, else share");
    if (page->row->attention->masking == ATTN_MASKING_RENORMALIZE)
        print(page->out, " / sum of these, %.4f", page->row->visible_share);
    print_text(page->out, "\n");
}

static void print_softmax_rules(struct page *page)
{
    print(page->out, "\n%d. The weights: a softmax turns scores into shares of 1.\n",
          ++page->n_step);
    print_scale(page);
    print(page->out, "   exp     e to the power of score less the largest score, %.4f\n",
          largest_score(page));
    if (is_masked_after(page))
        print_masking(page);
    else
        print(page->out, "   weight  exp / sum of all exp, %.4f\n",
              fabs(page->row->exponential_sum)); /* never "-nan" */
    if (has_dropout(page))
        print(page->out, "   kept    0 where the weight is dropped, else weight / (1 - %g)\n",
              page->row->attention->dropout);
    print_text(page->out, "\n");
}

/* Whether the only one of CELLS is the key with the largest weight, among several. */
static bool is_strongest(const struct page *page, struct slot cells)
{
    return cells.last == cells.first + 1 && cells.first == page->row->strongest &&
           page->row->n_cell > 1;
}

/* The exponentials and weights of CELLS, added up. */
static void put_shares(struct page *page, struct slot cells)
{
    double exponential = 0, weight = 0, kept = 0;
    for (size_t i = cells.first; i < cells.last; i++) {
        const struct attn_explained_key *key = &page->row->keys[i];
        exponential += key->exponential;
        weight += (double)key->weight;
        kept += (double)key->kept;
    }
    columns_number(&page->columns, exponential);
    if (is_masked_after(page))
        columns_number(&page->columns, exponential / page->row->exponential_sum);
    columns_number(&page->columns, weight);
    if (has_dropout(page))
        columns_number(&page->columns, kept);
    if (is_strongest(page, cells))
        columns_text(&page->columns, "strongest", strlen("strongest"));
    columns_end_row(&page->columns);
}

static void print_weights(struct page *page)
{
    static const char *const names[] = {"score", "less max", "exp"};
    const struct attn_explanation *row = page->row;
    const size_t n_score = is_capped(page) ? 4 : 3; /* columns before the exponential */
    print_softmax_rules(page);
    put_heading(page, "");
    columns_put(&page->columns, "%s", fit_name(page));
    if (is_capped(page))
        columns_put(&page->columns, "scaled");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        columns_put(&page->columns, "%s", names[i]);
    if (is_masked_after(page))
        columns_put(&page->columns, "share");
    columns_put(&page->columns, "weight");
    if (has_dropout(page))
        columns_put(&page->columns, "kept");
    columns_end_row(&page->columns);
    for (size_t next = 0; next < row->n_cell;) {
        const struct slot s = cell_at(page, next);
        next = s.last;
        put_key(page, s);
        if (s.is_gap) {
            put_blanks(page, n_score);
        } else {
            const struct attn_explained_key *key = &row->keys[s.first];
            columns_number(&page->columns, (double)key->fit);
            if (is_capped(page))
                columns_number(&page->columns, key->scaled);
            columns_number(&page->columns, (double)key->score);
            columns_number(&page->columns, (double)key->score - largest_score(page));
        }
        put_shares(page, s);
    }
    put_heading(page, "sum");
    put_blanks(page, n_score);
    put_shares(page, (struct slot){.last = row->n_cell});
    put_table(page);
}

/* --- 3. The weighted sum ---------------------------------------------------------------------- */

/* The values of CELLS times their weights, added up. */
static void put_weighted(struct page *page, struct slot cells)
{
    const struct attn_explanation *row = page->row;
    for (size_t next = 0; next < row->d_value;) {
        double sum = 0;
        const struct slot s = column_at(next, row->d_value);
        next = s.last;
        for (size_t i = cells.first; i < cells.last; i++)
            sum += (double)row->keys[i].kept * (double)row->keys[i].v[s.first];
        if (s.is_gap)
            columns_put(&page->columns, "...");
        else
            columns_number(&page->columns, sum);
    }
}

static void put_value(struct page *page, struct slot cells)
{
    const struct attn_explanation *row = page->row;
    double weight = 0;
    for (size_t i = cells.first; i < cells.last; i++)
        weight += (double)row->keys[i].kept;
    put_key(page, cells);
    columns_number(&page->columns, weight);
    if (cells.is_gap)
        put_no_vector(page, row->d_value);
    else
        put_vector(page, row->keys[cells.first].v, row->d_value);
    put_weighted(page, cells);
    columns_end_row(&page->columns);
}

static void print_context(struct page *page)
{
    const struct attn_explanation *row = page->row;
    if (!row->has_values)
        return;
    print(page->out, "\n%d. The context vector z: each value times its weight w, added up.\n\n",
          ++page->n_step);
    put_heading(page, "");
    columns_put(&page->columns, "w");
    put_names(page, "v", row->d_value);
    put_names(page, "w*v", row->d_value);
    columns_end_row(&page->columns);
    for (size_t next = 0; next < row->n_cell;) {
        const struct slot s = cell_at(page, next);
        next = s.last;
        put_value(page, s);
    }
    put_heading(page, "z");
    put_blanks(page, 1);
    put_no_vector(page, row->d_value);
    put_vector(page, row->z, row->d_value);
    columns_end_row(&page->columns);
    put_table(page);
}

/* --- 4. What the layer gives -------------------------------------------------------------------- */

/* "plus b_O, normalized" */
static void print_layer_rules(struct page *page)
{
    const struct attn_config *config = page->run->config;
    print(page->out, "\n%d. What the layer gives: the z of all heads side by side%s%s%s.\n",
          ++page->n_step, config->has_out_proj ? ", times W_O" : "",
          config->has_out_proj && config->has_out_bias ? ", plus b_O" : "",
          config->norm != ATTN_NORM_NONE && config->norm_place != ATTN_NORM_PRE ? ", normalized"
                                                                                   : "");
    if (config->has_residual)
        print(page->out, "   Added to x%s it is what the block goes on with.\n",
              config->has_parallel_residual ? ", with what the MLP makes of x," : "");
}

static void put_named(struct page *page, const char *name, const float *vector, size_t n)
{
    put_heading(page, name);
    put_vector(page, vector, n);
    columns_end_row(&page->columns);
}

/* The residual stream behind the layer: x + attn_out. */
static void put_residual(struct page *page)
{
    const struct attn_explanation *row = page->row;
    put_heading(page, "sum");
    for (size_t next = 0; next < row->d_model;) {
        const struct slot s = column_at(next, row->d_model);
        next = s.last;
        if (s.is_gap)
            columns_put(&page->columns, "...");
        else
            columns_number(&page->columns,
                           (double)row->x[s.first] + (double)row->attn_out[s.first]);
    }
    columns_end_row(&page->columns);
}

static void print_layer(struct page *page)
{
    const struct attn_config *config = page->run->config;
    const struct attn_explanation *row = page->row;
    if (!config || (config->n_head == 1 && !config->has_out_proj))
        return;
    print_layer_rules(page);
    if (!row->attn_out)
        return;
    print_text(page->out, "\n");
    if (config->has_residual)
        put_named(page, "x", row->x, row->d_model);
    put_named(page, "attn_out", row->attn_out, row->d_out);
    if (config->has_residual && !config->has_parallel_residual)
        put_residual(page);
    put_table(page);
}

/* --- The page --------------------------------------------------------------------------------- */

int explain_print(const struct attn_explanation *row, const struct explained_run *run,
                  struct attn_sink *out)
{
    struct page page = {.run = run, .row = row, .out = out, .code = EXIT_DONE};
    print_title(&page);
    if (run->config) {
        print_input(&page);
        print_query(&page);
        print_turning(&page);
        print_keys_and_values(&page);
    } else {
        print_arrays(&page);
    }
    print_visible(&page);
    if (row->n_cell > 0) {
        print_scores(&page);
        print_weights(&page);
        print_context(&page);
    }
    print_layer(&page);
    columns_release(&page.columns);
    return page.code;
}
