/*
 * comparison_text.c - a comparison for reading: a line for each head, named as --heads takes it,
 * then means over a layer and over everything, what both cost, and what is expected next.
 */
#include "comparison.h"

#include "command.h"
#include "print.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_SIZE = 32, MIN_WIDTH = 7 };

/* Four digits, or the magnitude where these say nothing; 0 is exactly 0. */
static void write_cell(double value, char text[CELL_SIZE])
{
    if (isnan(value))
        snprintf(text, CELL_SIZE, "-");
    else if (isinf(value))
        snprintf(text, CELL_SIZE, "inf");
    else if (value == 0)
        snprintf(text, CELL_SIZE, "0");
    else
        snprintf(text, CELL_SIZE, fabs(value) < 5e-5 || fabs(value) >= 1e5 ? "%.1e" : "%.4f",
                 value);
}

static int width_of(enum attn_difference_value measure)
{
    int width = (int)strlen(attn_difference_name(measure));
    return width < MIN_WIDTH ? MIN_WIDTH : width;
}

static void print_row(struct attn_sink *out, const char *name,
                      const struct attn_difference *difference)
{
    print(out, "%-5s", name);
    for (int i = 0; i < ATTN_DIFFERENCE_ROWS; i++) {
        char cell[CELL_SIZE];
        write_cell(difference->values[i], cell);
        print(out, "  %*s", width_of((enum attn_difference_value)i), cell);
    }
    print_text(out, "\n");
}

/* One of the two differences that a head, a layer and everything have. */
static const struct attn_difference *pick(bool is_local, const struct attn_difference *local,
                                          const struct attn_difference *propagated)
{
    return is_local ? local : propagated;
}

/* As --heads takes it: 5.1 of a model, 3 of arrays; B1H3 of batches, as files are named. */
static void write_name(const struct comparison *comparison, const struct attn_compared_head *head,
                       char name[CELL_SIZE])
{
    const struct attn_array_axes *axes = comparison->labels->axes;
    struct comparison_place place = comparison_place(comparison, head);
    if (!axes)
        snprintf(name, CELL_SIZE, "%d.%d", place.first, place.head);
    else if (axes->rank < 4)
        snprintf(name, CELL_SIZE, "%d", place.head);
    else
        snprintf(name, CELL_SIZE, "B%dH%d", place.first, place.head);
}

static void print_rows(const struct comparison *comparison, bool is_local, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    size_t at = 0;
    print_text(out, "head ");
    for (int i = 0; i < ATTN_DIFFERENCE_ROWS; i++) {
        enum attn_difference_value measure = (enum attn_difference_value)i;
        print(out, "  %*s", width_of(measure), attn_difference_name(measure));
    }
    print_text(out, "\n");
    for (size_t i = 0; i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        size_t first = at;
        char name[CELL_SIZE];
        for (; at < found->n_head && found->heads[at].layer == layer->layer; at++) {
            const struct attn_compared_head *head = &found->heads[at];
            write_name(comparison, head, name);
            print_row(out, name, pick(is_local, &head->local, &head->propagated));
        }
        snprintf(name, sizeof(name), comparison->labels->axes ? "all" : "%d.*", layer->layer);
        if (at - first > 1)
            print_row(out, name, pick(is_local, &layer->local, &layer->propagated));
    }
    if (found->n_layer > 1)
        print_row(out, "all", pick(is_local, &found->local, &found->propagated));
}

static void print_cost(const struct attn_comparison *found, struct attn_sink *out)
{
    struct attn_attention_cost exact = {0}, chosen = {0};
    char a[ATTN_QUANTITY_SIZE], b[ATTN_QUANTITY_SIZE];
    for (size_t i = 0; i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        exact.n_pair += layer->exact.n_pair;
        exact.n_byte += layer->exact.n_byte;
        exact.seconds += layer->exact.seconds;
        chosen.n_pair += layer->chosen.n_pair;
        chosen.n_byte += layer->chosen.n_byte;
        chosen.seconds += layer->chosen.seconds;
    }
    print(out, "%-8s %15s %15s\n", "", "exact", "chosen");
    print(out, "%-8s %15s %15s\n", "pairs", attn_quantity_count(exact.n_pair, a),
          attn_quantity_count(chosen.n_pair, b));
    print(out, "%-8s %15s %15s\n", "bytes", attn_quantity_count(exact.n_byte, a),
          attn_quantity_count(chosen.n_byte, b));
    print(out, "%-8s %15.6f %15.6f\n", "seconds", exact.seconds, chosen.seconds);
}

/* A first choice: its text, or its id. */
static int print_token(const struct comparison *comparison, int32_t id, struct attn_sink *out)
{
    size_t size = 0;
    const char *text = NULL;
    if (comparison->tokenizer)
        text = attn_tokenizer_token(comparison->tokenizer, id, &size);
    if (!text) {
        print(out, "%d", (int)id);
        return EXIT_DONE;
    }
    print_text(out, "'");
    int code = print_escaped(out, text, size);
    print_text(out, "'");
    return code;
}

static int print_logits(const struct comparison *comparison, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    const struct attn_compared_logits *last = &found->logits[found->n_logits - 1];
    double sum = 0, most = 0;
    size_t n_changed = 0;
    char cell[CELL_SIZE];
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];
        sum += logits->kl;
        most = fmax(most, logits->kl);
        n_changed += logits->exact_first != logits->chosen_first;
    }
    print(out, "\nnext token: another first choice at %zu of %zu positions\n", n_changed,
          found->n_logits);
    write_cell(sum / (double)found->n_logits, cell);
    print(out, "kl in nats %s in the mean", cell);
    write_cell(most, cell);
    print(out, ", %s at most", cell);
    write_cell(last->kl, cell);
    print(out, ", %s at position %zu\nfirst choice at position %zu: exact ", cell, last->position,
          last->position);
    int code = print_token(comparison, last->exact_first, out);
    print_text(out, ", chosen ");
    if (code == EXIT_DONE)
        code = print_token(comparison, last->chosen_first, out);
    print_text(out, "\n");
    return code;
}

int comparison_print_text(const struct comparison *comparison, struct attn_sink *out)
{
    const struct attn_comparison *found = comparison->found;
    const bool is_blockwise = comparison->attention->algorithm == ATTN_ALGORITHM_BLOCKWISE;
    static const char *const words[2][2] = {{"tokens", "token"}, {"queries", "query"}};
    const bool is_array = comparison->labels->axes;
    char name[ATTN_ATTENTION_TEXT_SIZE];
    attn_attention_text(comparison->attention, name);
    print(out, "%s%s beside exact attention, %zu %s, recall of the %d largest weights\n\n", name,
          is_blockwise ? ", blockwise," : "", comparison->n, words[is_array][comparison->n == 1],
          COMPARISON_N_RECALLED);
    if (!is_array)
        print_text(out, "local: each layer on q, k and v of the exact run\n");
    print_rows(comparison, true, out);
    if (found->has_propagated) {
        print_text(out, "\npropagated: the chosen attention in all layers\n");
        print_rows(comparison, false, out);
    }
    print_text(out, "\n");
    print_cost(found, out);
    return found->n_logits > 0 ? print_logits(comparison, out) : EXIT_DONE;
}
