/* inspect_internal.h - what inspect looks at, and the tables that are shown as text or JSON. */
#ifndef CMD_INSPECT_INTERNAL_H
#define CMD_INSPECT_INTERNAL_H

#include "cmd/args/model.h"

#include "attn.h"
#include "tool.h"

enum { INSPECTION_N_PART = ATTN_INSPECTED_NON_FINITE + 1 };

struct inspection {
    const char *name;                             /* what the user called it */
    struct model_source source;                   /* of a model; must stay in its place */
    struct attn_model *model;                     /* owns; NULL: one file of tensors is looked at */
    struct attn_safetensors *alone;               /* owns; that file */
    const struct attn_safetensors *weights;       /* of either */
    struct attn_tokenizer *tokenizer;             /* owns; NULL: there is none */
    struct attn_error no_tokenizer;               /* why */
    struct attn_cost cost;                        /* of a model */
    bool has_kinds;                               /* what other kinds of attention would cost */
    struct attn_table *tables[INSPECTION_N_PART]; /* own; NULL: what there is nothing to say of */
};

/* Fills in the tables; reads the weights when IS_CHECKED. Reports and returns an exit code. */
int inspection_find(struct inspection *inspection, bool is_checked);

/* Tensors that hold values that are not finite; 0 when they were not checked. */
size_t inspection_n_bad(const struct inspection *inspection);

/* Shows all that was found in FORM, or only what was CHECKED, as text. Reports and returns an exit
 * code. */
int inspection_print(const struct inspection *inspection, enum attn_document_form form,
                     struct attn_sink *out);
int inspection_print_check(const struct inspection *inspection, struct attn_sink *out);

void inspection_release(struct inspection *inspection);

#endif
