/* blackboard.c - see blackboard.h: what is shown of something long, and all of the page but the
 * steps. */
#include "blackboard.h"

#include "command.h"
#include "print.h"
#include "report.h"

#include <math.h>
#include <string.h>

enum { SHOWN_NUMBERS = 8 }; /* of a vector in brackets */

static bool is_shown(size_t i, size_t n, size_t limit)
{
    return n <= limit || i < limit / 2 || i >= n - limit / 2;
}

struct slot blackboard_slot(size_t first, size_t n, size_t limit, size_t extra)
{
    size_t last = first;
    while (last < n && last != extra && !is_shown(last, n, limit))
        last++;
    return (struct slot){first, last > first ? last : first + 1, last > first};
}

/* A token, printable, without the blanks around it. */
static char *escape(struct blackboard *page, const char *text, size_t size)
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

static char *query_token(struct blackboard *page)
{
    const struct attn_labels *labels = page->subject->labels;
    const size_t query = page->row->query;
    return labels->tokens ? escape(page, labels->tokens[query], labels->token_sizes[query]) : NULL;
}

char *blackboard_key_token(struct blackboard *page, size_t key)
{
    const struct attn_labels *labels = page->subject->labels;
    if (!page->is_cross)
        return labels->tokens ? escape(page, labels->tokens[key], labels->token_sizes[key]) : NULL;
    if (!labels->source_tokens)
        return NULL;
    return escape(page, labels->source_tokens[key], labels->source_token_sizes[key]);
}

/* "[0.1794  1.8951  0.4954]" */
static void print_vector(struct blackboard *page, const float *x, size_t n)
{
    print_text(page->out, "[");
    for (size_t next = 0; next < n;) {
        const struct slot s = blackboard_slot(next, n, SHOWN_NUMBERS, SIZE_MAX);
        next = s.last;
        print_text(page->out, s.first > 0 ? "  " : "");
        if (s.is_gap)
            print_text(page->out, "...");
        else
            print(page->out, "%.4f", (double)x[s.first]);
    }
    print_text(page->out, "]");
}

static void print_title(struct blackboard *page)
{
    const struct explained *row = page->row;
    char *token = query_token(page);
    if (page->config)
        print(page->out, "layer %d, ", row->layer);
    print(page->out, "head %d, query %zu", row->head, row->query);
    if (token) {
        print_text(page->out, ": ");
        print_text(page->out, token);
    }
    print_text(page->out, "\n\n");
    attn_text_free(token);
}

/* --- Where q, k and v come from ---------------------------------------------------------------- */

static void print_input(struct blackboard *page)
{
    print_text(page->out, "  x = ");
    print_vector(page, page->row->x, page->row->d_model);
    if (page->row->layer > 0)
        print(page->out, ", what layer %d gives at this position", page->row->layer - 1);
    else if (page->subject->labels->ids)
        print_text(page->out, ", the embedding of the token");
    else
        print_text(page->out, ", as given");
    if (page->row->layer == 0 && page->config->positions == ATTN_POSITIONS_LEARNED)
        print_text(page->out, " plus that of its position");
    print_text(page->out, "\n");
}

/* "norm(x) W_Q + b_Q" */
static void print_projection(struct blackboard *page, const char *input, bool is_normed,
                             char letter)
{
    print(page->out, is_normed ? "norm(%s)" : "%s", input);
    if (page->config->has_projections)
        print(page->out, " W_%c", letter);
    if (page->config->has_projections && page->config->has_qkv_bias)
        print(page->out, " + b_%c", letter);
}

static void print_query(struct blackboard *page)
{
    print_text(page->out, "  q = ");
    print_projection(page, "x", page->config->norm != ATTN_NORM_NONE, 'Q');
    print_text(page->out, " = ");
    print_vector(page, page->row->q, page->row->d_head);
    print_text(page->out, "\n");
}

static void print_keys_and_values(struct blackboard *page)
{
    const size_t n_shared = page->config->n_head / page->config->n_kv_head;
    const size_t first = n_shared * (size_t)page->row->kv_head;
    const bool is_normed = page->config->norm != ATTN_NORM_NONE && !page->is_cross;
    const char *input = page->is_cross ? "s_j" : "x_j";
    print_text(page->out, "  k_j = ");
    print_projection(page, input, is_normed, 'K');
    print_text(page->out, ", v_j = ");
    print_projection(page, input, is_normed, 'V');
    print(page->out, ", of each %s\n", page->is_cross ? "row s_j of the source" : "position j");
    if (n_shared > 1)
        print(page->out, "  Heads %zu-%zu share these, which are of key/value head %d.\n", first,
              first + n_shared - 1, page->row->kv_head);
}

/* The same of attention on arrays, where they are given. */
static void print_arrays(struct blackboard *page)
{
    const struct attn_attend_args *arrays = page->subject->arrays;
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

static void print_visible(struct blackboard *page)
{
    const struct explained *row = page->row;
    char kind[ATTN_ATTENTION_TEXT_SIZE];
    const bool is_causal = page->attention->mask == ATTN_MASK_CAUSAL && !page->is_cross &&
                           row->n_visible == row->query + 1;
    print_text(page->out, "  The query may look at ");
    if (row->n_visible == 0)
        print(page->out, "none of the %zu keys: all weights are 0, and so is z", row->n_key);
    else if (row->n_visible == row->n_key)
        print(page->out, "all %zu keys", row->n_key);
    else
        print(page->out, "%zu of the %zu keys", row->n_visible, row->n_key);
    if (is_causal)
        print_text(page->out, row->query > 0 ? ", itself and those before it" : ", itself");
    if (page->attention->kind != ATTN_ATTENTION_FULL) {
        attn_attention_text(page->attention, kind);
        print(page->out, ", as %s says", kind);
    }
    print_text(page->out, ".\n");
}

static void print_rest(struct blackboard *page)
{
    const struct attn_config *config = page->config;
    if (!config || (config->n_head == 1 && !config->has_out_proj))
        return;
    print(page->out, "\nWhat the layer gives is the z of all heads side by side%s%s.\n",
          config->has_out_proj ? ", times W_O" : "",
          config->has_out_proj && config->has_out_bias ? ", plus b_O" : "");
}

int blackboard_print(const struct explain_subject *subject, const struct explained *row,
                     struct attn_sink *out)
{
    struct blackboard page = {.subject = subject,
                              .config = subject->config,
                              .attention = &subject->attention[row->layer],
                              .row = row,
                              .out = out,
                              .is_cross = subject->config && subject->config->is_cross[row->layer],
                              .code = EXIT_DONE};
    for (size_t i = 0; i < row->n_cell; i++)
        if (row->scores[i] > row->scores[page.heaviest])
            page.heaviest = i;
    print_title(&page);
    if (page.config) {
        print_input(&page);
        print_query(&page);
        print_keys_and_values(&page);
    } else {
        print_arrays(&page);
    }
    print_visible(&page);
    if (row->n_cell > 0) {
        blackboard_print_scores(&page);
        blackboard_print_weights(&page);
        blackboard_print_context(&page);
    }
    print_rest(&page);
    columns_release(&page.columns);
    return page.code;
}
