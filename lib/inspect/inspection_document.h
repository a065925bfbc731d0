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
#ifndef ATTN_INSPECT_INSPECTION_DOCUMENT_H
#define ATTN_INSPECT_INSPECTION_DOCUMENT_H

#include "inspect/inspection.h"
#include "tables/document.h"

struct attn_shown_inspection {
    const char *name;                            /* of the model or file, as it was typed */
    struct attn_inspection given;                /* its weights at least */
    const char *no_tokenizer;                    /* why a model has none; or NULL */
    const char *with_prompt;                     /* what puts a prompt in front of a text */
    bool has_kinds;                              /* other kinds of attention are counted, too */
    bool has_check;                              /* weights are read for what is not finite */
    bool is_verbose;                             /* text has the metadata of a model, too */
    struct attn_table *tables[ATTN_N_INSPECTED]; /* own; NULL: without subject, or not wanted */
};

/* Makes the tables. Release them also after a failure. */
enum attn_status attn_shown_inspection_find(struct attn_shown_inspection *shown,
                                            struct attn_error *err);
void attn_shown_inspection_release(struct attn_shown_inspection *shown);

/* Fills DOCUMENT with everything, or with the text of the check alone. */
void attn_shown_inspection_fill(const struct attn_shown_inspection *shown,
                                struct attn_document *document);
void attn_shown_inspection_fill_check(const struct attn_shown_inspection *shown,
                                      struct attn_document *document);

#endif
