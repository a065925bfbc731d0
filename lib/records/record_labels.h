/*
 * record_labels.h - the labels of a record: keys of its line that state its condition, and are
 * written beside its result.
 *
 *     struct attn_label_names names = {0};
 *     struct attn_label_store labels = {.names = &names};
 *     attn_label_names_parse("condition,verb", &names, &err);      // or "all"
 *     attn_record_labels_read(line, size, &labels, &store, &record, &err);
 *     ... labels.labels[i] ...                                     // until the next line
 *     attn_label_store_release(&labels);
 *     attn_label_names_release(&names);
 *
 * A label is a text, a number or a boolean; null is no value. With any other value the record
 * fails.
 */
#ifndef ATTN_RECORDS_RECORD_LABELS_H
#define ATTN_RECORDS_RECORD_LABELS_H

#include "records/items.h"
#include "records/record_reader.h"

/* Which keys are labels. Set `keys`, and zero the rest. */
struct attn_label_names {
    /* names with which records are read; with is_all, these keys are not labels */
    struct attn_record_keys keys;
    bool is_all;             /* all keys without another meaning are labels */
    struct attn_buffer text; /* owns; the names, each null-terminated */
    const char **names;      /* [n] owns; in the order of the list */
    size_t n, capacity;
};

/* Parses a list of keys, or "all". ATTN_INVALID for an empty or repeated name. */
enum attn_status attn_label_names_parse(const char *list, struct attn_label_names *names,
                                        struct attn_error *err);
void attn_label_names_release(struct attn_label_names *names);

/* The labels of one line. Initialize with = {.names = &names}. */
struct attn_label_store {
    const struct attn_label_names *names; /* borrowed */
    struct attn_buffer text;              /* owns; names and texts, each null-terminated */
    /* [n] owns; with is_all all labels, in the order of the line; otherwise one for each name,
     * without a value if the line lacks it */
    struct attn_item_label *labels;
    size_t n, capacity;
};

/* Reads LINE [size] into RECORD, as attn_record_read does with the keys of LABELS, and reads its
 * labels into LABELS. An invalid label makes RECORD fail, unless it failed before; ATTN_NO_MEMORY
 * is the only error. LABELS are empty if the line is not an object. */
enum attn_status attn_record_labels_read(const char *line, size_t size,
                                         struct attn_label_store *labels,
                                         struct attn_record_store *store,
                                         struct attn_record *record, struct attn_error *err);
void attn_label_store_release(struct attn_label_store *store);

#endif
