/*
 * record_labels.h - the labels of a record: keys of its line that say which condition it belongs
 * to, and stand beside what it came to.
 *
 *     struct attn_label_names names = {0};
 *     struct attn_label_store labels = {.names = &names};
 *     attn_label_names_parse("condition,verb", &names, &err);      // or "all"
 *     attn_record_labels_read(line, size, &labels, &store, &record, &err);
 *     ... labels.labels[i] ...                                     // until the next line
 *     attn_label_store_release(&labels);
 *     attn_label_names_release(&names);
 *
 * A label is a text, a number or a boolean; null is no value. Anything else fails the record.
 */
#ifndef ATTN_RECORDS_RECORD_LABELS_H
#define ATTN_RECORDS_RECORD_LABELS_H

#include "records/items.h"
#include "records/record_reader.h"

/* Which keys are labels. Initialize with = {0} but for the first. */
struct attn_label_names {
    struct attn_record_keys keys; /* with which records are read; they are no labels of all */
    bool is_all;                  /* all that mean nothing else */
    struct attn_buffer text;      /* the names, each terminated; owns */
    const char **names;           /* [n] owns; in the order of their list */
    size_t n, capacity;
};

/* Reads a list of keys, or "all". ATTN_INVALID for one that is empty or comes twice. */
enum attn_status attn_label_names_parse(const char *list, struct attn_label_names *names,
                                        struct attn_error *err);
void attn_label_names_release(struct attn_label_names *names);

/* The labels of one line. Initialize with = {.names = &names}. */
struct attn_label_store {
    const struct attn_label_names *names; /* borrowed */
    struct attn_buffer text;              /* names and texts, each terminated; owns */
    struct attn_item_label *labels; /* [n] owns; of all keys in the order of the line, else one for
                                       each name, without a value where the line does not have it */
    size_t n, capacity;
};

/* Reads LINE [size bytes] into RECORD by the keys of its names, as attn_record_read does, and its
 * labels into LABELS. A label that is none is the failure of RECORD, if that has no other;
 * ATTN_NO_MEMORY is the only failure here. LABELS are empty after a line that is no such object. */
enum attn_status attn_record_labels_read(const char *line, size_t size,
                                         struct attn_label_store *labels,
                                         struct attn_record_store *store,
                                         struct attn_record *record, struct attn_error *err);
void attn_label_store_release(struct attn_label_store *store);

#endif
