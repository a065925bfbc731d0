/*
 * inspection_document.h - an inspection as a document: text for people, JSON for programs.
 *
 *     struct attn_shown_inspection shown = {.name = "gpt2", .given = inspection};
 *     attn_shown_inspection_find(&shown, &err);
 *     attn_shown_inspection_fill(&shown, &document);
 *     attn_document_write(&document, ATTN_FORM_TEXT, sink, &err);
 *     attn_document_release(&document);
 *     attn_shown_inspection_release(&shown);
 *
 * JSON has exact numbers, sizes in bytes, unchanged names, and null for parts that a single file
 * lacks. Text has sizes in binary units and operations in decimal units.
 */
#pragma once

#include "inspect/inspection.h"
#include "tables/document.h"

struct attn_shown_inspection {
    const char *name;             /* name of the model or file, as the user typed it */
    struct attn_inspection given; /* must have at least the weights */
    const char *no_tokenizer;     /* why a model has no tokenizer; or NULL */
    const char *prompt_name;      /* option that puts a prompt before a text */
    bool has_kinds;               /* also counts other kinds of attention */
    bool has_check;               /* reads the weights to find NaN and infinity */
    bool is_verbose;              /* text also shows the metadata of a model */
    struct attn_table *tables[ATTN_N_INSPECTED]; /* own; NULL: not available, or not requested */
};

/* Creates the tables. Release them after a failure, too. */
enum attn_status attn_shown_inspection_find(struct attn_shown_inspection *shown,
                                            struct attn_error *err);
void attn_shown_inspection_release(struct attn_shown_inspection *shown);

/* Fill DOCUMENT with everything, or only with the text of the check for NaN and infinity. */
void attn_shown_inspection_fill(const struct attn_shown_inspection *shown,
                                struct attn_document *document);
void attn_shown_inspection_fill_check(const struct attn_shown_inspection *shown,
                                      struct attn_document *document);
