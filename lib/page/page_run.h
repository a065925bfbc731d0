/*
 * page_run.h - what a page knows of its run, as one JSON object in an element that a browser does
 * not show: sizes, tokens, options, heads with their measures, colours, predictions. Texts are
 * themselves; where the page shows something else, printable text or words, that has a key of its
 * own.
 */
#ifndef ATTN_PAGE_PAGE_RUN_H
#define ATTN_PAGE_PAGE_RUN_H

#include "output/token_text.h"
#include "page/page_heads.h"

/* What follows the id of a head in that of the block of its exact attention. */
#define ATTN_PAGE_EXACT "-exact"

/* What is said of a run beside its labels. */
struct attn_page_run {
    const struct attn_writer *writer;
    const struct attn_page_heads *heads;
    const struct attn_token_texts *texts, *source_texts; /* of tokens, as tables show them */
    const struct attn_token_texts *names, *source_names; /* of tokens, for people */
    const struct attn_buffer *title, *heading;           /* itself, and as it is shown */
    const struct attn_buffer *text;                      /* of all tokens */
    size_t start;                                        /* the head that is shown first */
    int n_byte;                                          /* of a cell in the data blocks, 1 or 2 */
    const struct attn_buffer *predictions;               /* JSON; empty: none were asked for */
};

/* Appends PREDICTIONS as an object, to be given later. */
void attn_page_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions);

/* Writes the element with the object. Nothing in it ends the element or begins a comment: `<`, `>`,
 * `&` and line separators are escapes. */
enum attn_status attn_page_run_write(const struct attn_page_run *run, struct attn_sink *sink,
                                     struct attn_error *err);

#endif
