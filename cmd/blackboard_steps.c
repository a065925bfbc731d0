/* blackboard_steps.c - see blackboard.h: the three steps. */
#include "blackboard.h"

#include "command.h"
#include "print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_COLUMNS = 5, /* of a vector; of a longer one the first and the last two */
    SHOWN_KEYS = 16,   /* and the heaviest one */
};

/* --- Parts of tables --------------------------------------------------------------------------- */

static void put_table(struct blackboard *page)
{
    int code = columns_print(&page->columns, page->out);
    if (page->code == EXIT_DONE)
        page->code = code;
}

static struct slot column_at(size_t first, size_t n)
{
    return blackboard_slot(first, n, SHOWN_COLUMNS, SIZE_MAX);
}

static struct slot cell_at(const struct blackboard *page, size_t first)
{
    return blackboard_slot(first, page->row->n_cell, SHOWN_KEYS, page->heaviest);
}

static void put_blanks(struct blackboard *page, size_t n)
{
    for (; n > 0; n--)
        columns_put(&page->columns, "%s", "");
}

/* As many cells as a vector of N has. */
static void put_no_vector(struct blackboard *page, size_t n)
{
    for (size_t next = 0; next < n;) {
        const struct slot s = column_at(next, n);
        next = s.last;
        put_blanks(page, 1);
    }
}

static void put_vector(struct blackboard *page, const float *x, size_t n)
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
static void put_names(struct blackboard *page, const char *name, size_t n)
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
static void put_heading(struct blackboard *page, const char *text)
{
    put_blanks(page, 1);
    columns_text(&page->columns, text, strlen(text));
}

/* Those of a key, or of the keys between two: number and token. */
static void put_key(struct blackboard *page, struct slot cells)
{
    char text[32];
    if (cells.is_gap) {
        snprintf(text, sizeof(text), "%zu more", cells.last - cells.first);
        columns_put(&page->columns, "...");
        columns_text(&page->columns, text, strlen(text));
        return;
    }
    size_t key = page->row->keys[cells.first];
    char *token = blackboard_key_token(page, key);
    columns_put(&page->columns, "%zu", key);
    columns_text(&page->columns, token ? token : "", token ? strlen(token) : 0);
    attn_text_free(token);
}

/* --- 1. How well each key fits ----------------------------------------------------------------- */

static bool is_cosine(const struct blackboard *page)
{
    return page->attention->similarity == ATTN_SIMILARITY_COSINE;
}

static double length_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* "q_0*k_0 + q_1*k_1 = q.k"; products that are left out are one sum, "2-61". */
static void put_product_names(struct blackboard *page)
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

static void put_products(struct blackboard *page, const float *k, double sum)
{
    const struct explained *row = page->row;
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

static void put_fit(struct blackboard *page, size_t cell)
{
    const struct explained *row = page->row;
    const float *k = row->k + row->keys[cell] * row->d_head;
    const double found = (double)row->qk[cell], length = length_of(k, row->d_head);
    put_vector(page, k, row->d_head);
    if (!is_cosine(page)) {
        put_products(page, k, found);
        return;
    }
    put_products(page, k, found * length * length_of(row->q, row->d_head));
    columns_number(&page->columns, length);
    columns_number(&page->columns, found);
}

void blackboard_print_scores(struct blackboard *page)
{
    const struct explained *row = page->row;
    if (!row->has_products)
        return;
    print(page->out, "\n%d. How well each key fits: its components times those of q, added up",
          ++page->n_step);
    if (is_cosine(page))
        print(page->out, ",\n   divided by the lengths of both, |q| = %.4f and |k|: their cosine",
              length_of(row->q, row->d_head));
    print_text(page->out, ".\n");
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
            put_fit(page, s.first);
        columns_end_row(&page->columns);
    }
    put_table(page);
}

/* --- 2. The softmax ---------------------------------------------------------------------------- */

/* What a score is made of. */
static const char *fit_name(const struct blackboard *page)
{
    if (!page->row->has_products)
        return "given";
    return is_cosine(page) ? "cosine" : "q.k";
}

static bool has_dropout(const struct blackboard *page)
{
    return page->attention->dropout > 0 || page->attention->dropout_mask.cells;
}

/* Whether the softmax is over all keys, and the mask comes after it. */
static bool is_masked_after(const struct blackboard *page)
{
    return page->attention->masking != ATTN_MASKING_INF;
}

static double exponential_of(const struct blackboard *page, size_t cell)
{
    return exp((double)page->row->scores[cell] - (double)page->row->scores[page->heaviest]);
}

/* "score   q.k / (sqrt(2) + 0.1) = q.k / 1.5142" */
static void print_scale(struct blackboard *page)
{
    const struct attn_attention *attention = page->attention;
    const double divisor = sqrt((double)page->row->d_head) + attention->eps;
    if (!page->row->has_products && attention->eps == 0) { /* d_head is 1 */
        print_text(page->out, "   score   as given\n");
        return;
    }
    print(page->out, "   score   %s", fit_name(page));
    if (attention->factor != 1)
        print(page->out, " * %.4f", attention->factor);
    if (attention->is_scaled && attention->eps > 0)
        print(page->out, " / (sqrt(%zu) + %g), the square root of d_head plus eps: %.4f",
              page->row->d_head, attention->eps, divisor);
    else if (attention->is_scaled)
        print(page->out, " / sqrt(%zu), the square root of d_head: %.4f", page->row->d_head,
              divisor);
    else if (attention->factor == 1)
        print_text(page->out, " as it is, without a scale");
    print_text(page->out, "\n");
}

/* The second and the third way of masking. */
static void print_masking(struct blackboard *page, double sum)
{
    const struct explained *row = page->row;
    double visible = 0;
    for (size_t i = 0; i < row->n_cell; i++)
        visible += row->is_visible[i] ? exponential_of(page, i) / sum : 0;
    print(page->out, "   share   exp / sum of all exp, %.4f\n", sum);
    print_text(page->out, "   weight  0 where the mask hides the key, else share");
    if (page->attention->masking == ATTN_MASKING_RENORMALIZE)
        print(page->out, " / sum of these, %.4f", visible);
    print_text(page->out, "\n");
}

static void print_softmax_rules(struct blackboard *page)
{
    double sum = 0;
    for (size_t i = 0; i < page->row->n_cell; i++)
        sum += exponential_of(page, i);
    print(page->out, "\n%d. The weights: a softmax turns scores into shares of 1.\n",
          ++page->n_step);
    print_scale(page);
    print(page->out, "   exp     e to the power of score less the largest score, %.4f\n",
          (double)page->row->scores[page->heaviest]);
    if (is_masked_after(page))
        print_masking(page, sum);
    else
        print(page->out, "   weight  exp / sum of all exp, %.4f\n", fabs(sum)); /* never "-nan" */
    if (has_dropout(page))
        print(page->out, "   kept    0 where the weight is dropped, else weight / (1 - %g)\n",
              page->attention->dropout);
    print_text(page->out, "\n");
}

/* The exponentials and weights of CELLS, added up. */
static void put_shares(struct blackboard *page, struct slot cells)
{
    double exponential = 0, weight = 0, kept = 0, all = 0;
    for (size_t i = 0; i < page->row->n_cell && is_masked_after(page); i++)
        all += exponential_of(page, i);
    for (size_t i = cells.first; i < cells.last; i++) {
        exponential += exponential_of(page, i);
        weight += (double)page->row->pattern[i];
        kept += (double)page->row->weights[i];
    }
    columns_number(&page->columns, exponential);
    if (is_masked_after(page))
        columns_number(&page->columns, exponential / all);
    columns_number(&page->columns, weight);
    if (has_dropout(page))
        columns_number(&page->columns, kept);
    columns_end_row(&page->columns);
}

void blackboard_print_weights(struct blackboard *page)
{
    static const char *const names[] = {"score", "less max", "exp"};
    const struct explained *row = page->row;
    print_softmax_rules(page);
    put_heading(page, "");
    columns_put(&page->columns, "%s", fit_name(page));
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
            put_blanks(page, 3);
        } else {
            double score = (double)row->scores[s.first];
            columns_number(&page->columns, (double)row->qk[s.first]);
            columns_number(&page->columns, score);
            columns_number(&page->columns, score - (double)row->scores[page->heaviest]);
        }
        put_shares(page, s);
    }
    put_heading(page, "sum");
    put_blanks(page, 3);
    put_shares(page, (struct slot){.last = row->n_cell});
    put_table(page);
}

/* --- 3. The weighted sum ----------------------------------------------------------------------- */

/* The values of CELLS times their weights, added up. */
static void put_weighted(struct blackboard *page, struct slot cells)
{
    const struct explained *row = page->row;
    for (size_t next = 0; next < row->d_value;) {
        double sum = 0;
        const struct slot s = column_at(next, row->d_value);
        next = s.last;
        for (size_t i = cells.first; i < cells.last; i++)
            sum += (double)row->weights[i] * (double)row->v[row->keys[i] * row->d_value + s.first];
        if (s.is_gap)
            columns_put(&page->columns, "...");
        else
            columns_number(&page->columns, sum);
    }
}

static void put_value(struct blackboard *page, struct slot cells)
{
    const struct explained *row = page->row;
    double weight = 0;
    for (size_t i = cells.first; i < cells.last; i++)
        weight += (double)row->weights[i];
    put_key(page, cells);
    columns_number(&page->columns, weight);
    if (cells.is_gap)
        put_no_vector(page, row->d_value);
    else
        put_vector(page, row->v + row->keys[cells.first] * row->d_value, row->d_value);
    put_weighted(page, cells);
    columns_end_row(&page->columns);
}

void blackboard_print_context(struct blackboard *page)
{
    const struct explained *row = page->row;
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
