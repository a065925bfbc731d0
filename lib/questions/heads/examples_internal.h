/* examples_internal.h - the examples of heads with their weights: examples.c finds them
 * and reads their texts, examples_page.c writes them. */
#pragma once

#include "base/buffer.h"
#include "frame/frame.h"
#include "heads/examples.h"
#include "measures/analysis_internal.h"
#include "measures/head_cards_internal.h"
#include "model/config_fields.h"

/* The value of one text, and its row with the largest value. */
struct attn_example_value {
    double value;
    uint64_t number;     /* number of the item */
    uint32_t query, key; /* the row, and the key with its largest weight */
    float weight;        /* NaN if no row has a value */
};

enum {
    ATTN_EXAMPLE_KEYS = 32,   /* the largest weights of a row that are kept */
    ATTN_EXAMPLE_ROWS = 1024, /* maximum rows of a long text per feed */
};

/* A text that is shown of a head. */
struct attn_example {
    size_t head;       /* index of the head */
    size_t bin, place; /* from 1 */
    struct attn_example_value found;
    size_t text; /* index of the text */
    /* of each row: index after its last cell; empty unless rows are kept */
    uint32_t *ends; /* [n_row] */
    size_t n_row;
    struct attn_card_key *cells; /* [n_cell] owns; keys of a row are in ascending order */
    size_t n_cell, capacity;
};

/* A head and the values of all texts. */
struct attn_example_head {
    struct attn_location at;
    bool is_cross;                     /* keys are positions of the source */
    struct attn_example_value *values; /* [n] owns; after all texts in ascending order */
    size_t n, capacity;
};

/* All examples, sorted by head, bin and place. */
struct attn_example_set {
    const struct attn_procedure_call *call; /* borrowed */
    const struct attn_examples_args *args;  /* borrowed, complete */
    const struct attn_config *config;
    size_t n_bin, n_top;             /* bins, and texts that are shown of each */
    struct attn_store *store;        /* owns; has the arrays, also the `ends` of examples */
    struct attn_example_head *heads; /* [n_head] */
    size_t n_head;
    struct attn_example *examples; /* [n_example] */
    size_t n_example;
    struct attn_card_text *texts; /* [n_text] */
    size_t n_text;
};

/* Appends the examples as the JSON object that the page shows (page/examples.js). */
void attn_examples_append_page(const struct attn_example_set *set, struct attn_buffer *out);

/* Returns the width of the value vectors from which attn_head_cards_write computes tokens; 0 if
 * heads of MODEL write none: it has labels instead of tokens, or no output layer. */
size_t attn_head_cards_vector(const struct attn_model *model);

/* Finds the tokens that the keys of the strongest texts write, each key's token once. */
enum attn_status attn_head_cards_write(struct attn_head_cards *cards, struct attn_host *host,
                                       struct attn_error *err);
