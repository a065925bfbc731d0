/*
 * record_labels.h - the labels of a record: keys of its line that state its condition, and are
 * written beside its result.
 *
 *     struct attn_label_names names = {0};
 *     attn_label_names_parse("condition,verb", &names, &err);      // or "all"
 *     attn_record_labels_read(line, size, &names, &item, &err);
 *     ... item.labels[i] ...
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

/* Reads LINE [size] into ITEM, as attn_record_read does with the keys of NAMES, and reads its
 * labels: with is_all all labels, in the order of the line; otherwise one for each name, without a
 * value if the line lacks it. An invalid label makes ITEM fail, unless it failed before;
 * ATTN_NO_MEMORY is the only error. There are no labels if the line is not an object. */
enum attn_status attn_record_labels_read(const char *line, size_t size,
                                         const struct attn_label_names *names,
                                         struct attn_item *item, struct attn_error *err);

#endif
