/*
 * inspection.h - what inspect finds out about a model, and the lists of named values that its text
 * and its JSON print alike.
 */
#ifndef CMD_INSPECTION_H
#define CMD_INSPECTION_H

#include "model_args.h"

#include "attn.h"

#include <stdint.h>

enum field_kind {
    FIELD_COUNT,      /* number */
    FIELD_LIMIT,      /* number; SIZE_MAX: there is none */
    FIELD_BYTES,      /* number */
    FIELD_OPERATIONS, /* number */
    FIELD_FLAG,       /* number: 0 or 1 */
    FIELD_REAL,       /* real */
    FIELD_WORD,       /* word */
};

struct field {
    const char *name;  /* in JSON; the library's own name of it */
    const char *label; /* in text; NULL: the name */
    enum field_kind kind;
    uint64_t number;
    float real;
    const char *word;
};

enum { FIELDS_MAX = 24 };

struct fields {
    struct field items[FIELDS_MAX];
    size_t n;
};

struct model_file {
    const char *name; /* without its folder; borrowed */
    uint64_t size;    /* bytes */
};

struct bad_tensor {
    size_t tensor; /* its number in the directory */
    struct attn_non_finite found;
};

struct inspection {
    const char *name;                       /* what the user called it */
    struct model_source source;             /* of a model; must stay in its place */
    struct attn_model *model;               /* owns; NULL: one file of tensors is looked at */
    struct attn_safetensors *alone;         /* owns; that file */
    const struct attn_safetensors *weights; /* of either */
    struct attn_tokenizer *tokenizer;       /* owns; NULL: there is none */
    struct attn_error no_tokenizer;         /* why */
    struct attn_cost cost;                  /* of a model */
    struct attn_selection *sites;           /* owns; all of a model's, for their shapes */
    struct model_file *files;               /* owns; [n_file] */
    size_t n_file;
    bool is_checked;
    struct bad_tensor *bad; /* owns; [n_bad], by name */
    size_t n_bad;
};

/* The lists. Those of the cost are for the run that it was found for. */
struct fields inspection_config(const struct inspection *inspection);
struct fields inspection_parameters(const struct inspection *inspection);
struct fields inspection_operations(const struct inspection *inspection);
struct fields inspection_memory(const struct inspection *inspection);

/* The sum of the numbers of FIELDS. */
uint64_t fields_total(const struct fields *fields);

const char *attention_kind_word(enum attn_attention_kind kind);

/* The shape of SITE in each layer; returns the rank, 0 when layers differ. */
int inspection_site_shape(const struct inspection *inspection, enum attn_site site,
                          size_t shape[3]);

/* Fills in `files`. Reports and returns an exit code. */
int inspection_list_files(struct inspection *inspection);
uint64_t inspection_n_byte(const struct inspection *inspection); /* of all files */

/* The name of the file that ENTRY lies in. The weights are the last of the files. */
const char *inspection_file_of(const struct inspection *inspection,
                               const struct attn_safetensors_entry *entry);

/* Looks at every tensor and fills in `bad`. Reports and returns an exit code. */
int inspection_check(struct inspection *inspection);

void inspection_release(struct inspection *inspection);

/* inspection_text.c, inspection_json.c: each prints what was found and returns an exit code. */
int inspection_print_text(const struct inspection *inspection, struct attn_sink *out);
int inspection_print_check(const struct inspection *inspection, struct attn_sink *out);
int inspection_print_json(const struct inspection *inspection, struct attn_sink *out);

#endif
