/* examples_internal.h - the examples of heads with their weights: examples.c finds them,
 * examples_page.c writes them. */
#ifndef ATTN_EXPERIMENT_EXAMPLES_INTERNAL_H
#define ATTN_EXPERIMENT_EXAMPLES_INTERNAL_H

#include "analysis/analysis_internal.h"
#include "base/buffer.h"
#include "experiment/examples.h"
#include "model/config.h"
#include "study/rows.h"

/* The value of one text. */
struct attn_example_value {
    double value;
    uint64_t number; /* number of the item */
};

enum { ATTN_EXAMPLE_KEYS = 32 }; /* the largest weights of a row that are kept */

/* The smallest weight that is kept. */
#define ATTN_EXAMPLE_LEAST 0.005

/* A weight of a row. */
struct attn_example_cell {
    uint32_t key;
    float weight;
};

/* A text that is shown of a head. */
struct attn_example {
    size_t head;       /* index of the head */
    size_t bin, place; /* from 1 */
    uint64_t number;   /* number of the item */
    double value;
    size_t text; /* index of the text */
    /* the marked row and its key; `weight` is NaN if no row has a value */
    size_t query, key;
    double weight;
    bool is_cross; /* keys are positions of the source */
    /* of each row: index after its last cell; empty unless rows are kept */
    uint32_t *ends; /* [n_row] owns */
    size_t n_row;
    struct attn_example_cell *cells; /* [n_cell] owns; keys of a row are in ascending order */
    size_t n_cell, capacity;
};

/* A text that is shown of any head. */
struct attn_example_text {
    uint64_t number;
    struct attn_buffer id;    /* owns */
    size_t n_token, n_source; /* tokens of the text, and of the source */
    bool has_texts;           /* there is a tokenizer; otherwise tokens are numbers of ids */
    /* the tokens of the text, then those of the source, one after the other; owns */
    struct attn_buffer tokens;
    size_t *ends; /* [n_token + n_source] owns; where each ends */
};

/* A head and the values of all texts. */
struct attn_example_head {
    struct attn_location at;
    struct attn_example_value *values; /* [n] owns; after all texts in ascending order */
    size_t n, capacity;
};

/* All examples, sorted by head, bin and place. */
struct attn_example_set {
    const struct attn_examples_args *args; /* borrowed, complete */
    const struct attn_config *config;
    struct attn_example_head *heads; /* [n_head] owns */
    size_t n_head;
    struct attn_example *examples; /* [n_example] owns */
    size_t n_example;
    struct attn_example_text *texts; /* [n_text] owns */
    size_t n_text;
};

size_t attn_examples_n_bin(const struct attn_examples_args *args);

/* Returns token I of TEXT; tokens of the source follow those of the text. */
const char *attn_example_token(const struct attn_example_text *text, size_t i, size_t *size);

/* Moves the N_MOST cells of CELLS [n] with the largest weights, of equals those with the first
 * keys, to the front, in the order of their keys. Returns their number, N if that is smaller. */
size_t attn_example_keep_largest(struct attn_example_cell *cells, size_t n, size_t n_most);

/* Appends the examples as the JSON object that the page shows (page/examples.js). */
void attn_examples_append_page(const struct attn_example_set *set, struct attn_buffer *out);

#endif
