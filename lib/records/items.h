/*
 * items.h - the items of an experiment, one after the other: each a text or a pair of texts, what
 * is asked of it, and the labels that say which condition it belongs to.
 *
 *     struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
 *     options.path = "agreement.csv";
 *     attn_items_open(&options, &items, &err);
 *     while (attn_items_next(items, &item, &err) == ATTN_OK && item) {
 *         attn_item_choose(item, ATTN_ITEM_BIT(SINGLE));
 *         ... item->record.failure, item->record.input, item->labels[i] ...
 *         attn_item_free(item);
 *     } // attn_items_free
 *
 * JSON Lines, or CSV (RFC 4180) with a header, which shows whether commas, semicolons or tabs
 * separate fields. One record is one item. Keys:
 *
 *     id                        text or integer; default: its number from 0
 *     text or ids               the input; in CSV ids are "5 17 3"
 *     clean, corrupted          the pair of patch; also clean_ids, corrupted_ids
 *     image, corrupted_image    a picture, or the pair of patch: their paths, which are labels, too
 *     a, b; good, bad           the pairs of diff and score; also a_ids, .., sentence_good, ..bad
 *     target, foil              or target_id, foil_id
 *     at, from, to, queries     positions, numbers or words (input/position.h)
 *     source, corrupted_source  the second sequence; another of `corrupted`. Or ..._ids, or
 *                               ..._file, the name of a .npy file
 *     pair, types, key_mask     what goes with the text, or with both (run/request.h)
 *     next, baseline_text       a continuation or a list of them; or .._ids: of ig
 *     pos.NAME                  a place by name
 *     words, source_words       lists of the words of text and source; other values are labels
 *
 * Any other key whose value is a text, a number or a boolean is a label; null is no key. A field of
 * CSV that JSON would take for a number, true or false is that, and an empty one no key: the same
 * data are the same items in all three. A byte order mark, \r\n and blank lines are passed over. An
 * item that cannot be read is an item all the same, with the reason and its line in its record.
 */
#ifndef ATTN_RECORDS_ITEMS_H
#define ATTN_RECORDS_ITEMS_H

#include "records/item.h"

#include <signal.h>

enum attn_items_form {
    ATTN_ITEMS_BY_NAME = 0, /* by its end; JSON Lines, or FASTA after > or ; */
    ATTN_ITEMS_JSON_LINES = 1,
    ATTN_ITEMS_CSV = 2,
    ATTN_ITEMS_TSV = 3,
    ATTN_ITEMS_LINES = 4, /* each line is a text without a final \r, the blank ones too */
    ATTN_ITEMS_TEXTS = 5, /* JSON Lines or FASTA of which only the input counts, as with `pair`,
                             `types` and `key_mask`. A bad line ends the reading: ATTN_FORMAT */
    ATTN_ITEMS_FASTA = 6  /* proteins: `id`, `text`, and the label `description` */
};

enum { ATTN_MAX_LINE = 16 << 20 }; /* bytes of the longest line by default */

struct attn_items_options {
    size_t size;      /* of this struct */
    const char *path; /* a file or a pipe; NULL or "-": standard input */
    const char *data; /* [n_data] bytes instead, borrowed, of which `path` is only the name; or
                         NULL */
    size_t n_data;
    enum attn_items_form form;
    size_t max_line;       /* bytes of a record, else it fails; 0: ATTN_MAX_LINE */
    size_t shard, n_shard; /* shard of n_shard: the records that begin in its part of the bytes;
                              their numbers are those in the whole. n_shard 0: all of them */
    const volatile sig_atomic_t *cancel; /* not 0 ends waiting for a pipe; or NULL */
    const struct attn_input *inputs;     /* [n_input] an item each, instead of a file; borrowed */
    size_t n_input;
    bool has_marks; /* `[verb are]` in the first text is `are`, and the place pos.verb */
};

#define ATTN_ITEMS_OPTIONS_DEFAULT                                                                 \
    ((struct attn_items_options){.size = sizeof(struct attn_items_options)})

struct attn_items;

/* Errors are at the stage of the input. ATTN_FORMAT for a bad header. */
ATTN_API enum attn_status attn_items_open(const struct attn_items_options *options,
                                          struct attn_items **items, struct attn_error *err);
ATTN_API void attn_items_free(struct attn_items *items); /* NULL is allowed */

/* The next item, the caller's; NULL after the last. May block on a pipe. It can be freed after the
 * items and on another thread. */
ATTN_API enum attn_status attn_items_next(struct attn_items *items, struct attn_item **item,
                                          struct attn_error *err);

/* Begins again with the first. ATTN_INVALID for what cannot be read twice. */
ATTN_API enum attn_status attn_items_rewind(struct attn_items *items, struct attn_error *err);

/* What messages call it: its path, or "standard input". */
ATTN_API const char *attn_items_name(const struct attn_items *items);

/* The share of the input that was read, 0..1; NaN if its size is not known. */
ATTN_API double attn_items_share(const struct attn_items *items);

/* The names of the labels: those of the header, or of JSON Lines those of the first item that could
 * be read, after that; of a shard, the first of all. NULL without labels. */
ATTN_API const char *const *attn_items_labels(const struct attn_items *items, size_t *n);

#endif
