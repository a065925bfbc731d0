/*
 * items.h - reads the items of a procedure one after the other. Each item has a text or a pair
 * of texts, may have a target and positions, and has labels that state its condition.
 *
 *     struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
 *     options.path = "agreement.csv";
 *     attn_items_open(&options, &items, &err);
 *     while (attn_items_next(items, &item, &err) == ATTN_OK && item) {
 *         ... item->failure, item->input, item->labels[i] ...
 *         attn_item_free(item);
 *     } // attn_items_free
 *
 * The input is JSON Lines, or CSV (RFC 4180) with a header, from which the separator (comma,
 * semicolon or tab) is detected. Each record is an item. Keys:
 *
 *     id                        text or integer; default: its number from 0
 *     text or ids               the input; in CSV ids are "5 17 3"
 *     clean, corrupted          the pair of patch
 *     image, corrupted_image    a picture, or the pair of patch: their paths, which are labels, too
 *     a, b; good, bad           the pairs of diff and score; also sentence_good, ..bad
 *     target, foil              the next token, and another one
 *     at, from, to, queries     positions, numbers or words (input/position.h)
 *     source, corrupted_source  the second sequence; another of `corrupted`
 *     pair, types, key_mask     what goes with the text, or with both (run/request.h)
 *     next, baseline, neutral   a continuation or a list of them; a text for ig, and for spans
 *     pos.NAME                  a place by name
 *     words, source_words       lists of the words of text and source; other values are labels
 *
 * A text but that of `text` may be token ids, "ids:5,17,3" or a list. A text that begins like that,
 * or with a prefix of later versions such as "audio:", is written with "text:" in front. A target
 * may be a number, its id, and a source "file:PATH", an array or a sound.
 *
 * With a line for each word, adjacent lines with the same value of `item` are one item, which has
 * this id. Its text are the fields `word`, joined by a space, or by none in front of a word whose
 * field `glue` is 1. All columns are labels, those of its first line, and each line has its own
 * (row_labels). ATTN_FORMAT for an item that begins a second time.
 *
 * Any other key whose value is a text, a number or a boolean is a label; a list or an object is
 * ignored, and null is the same as a missing key. A field of CSV that JSON would read as a number
 * or a boolean has that type, and an empty field is missing, so that equal data give equal items in
 * all formats. A byte order mark, \r\n and blank lines are ignored. An item that cannot be read is
 * also returned, with the error and its line in its record.
 */
#ifndef ATTN_STREAM_ITEMS_H
#define ATTN_STREAM_ITEMS_H

#include "run/item.h"

#include <signal.h>
#include <string.h>

enum attn_items_form {
    /* by the ending of the name; otherwise JSON Lines, or FASTA if it begins with > or ; */
    ATTN_ITEMS_BY_NAME = 0,
    ATTN_ITEMS_JSON_LINES = 1,
    ATTN_ITEMS_CSV = 2,
    ATTN_ITEMS_TSV = 3,
    ATTN_ITEMS_LINES = 4, /* each line, even if blank, is a text without a final \r */
    ATTN_ITEMS_FASTA = 5, /* proteins: items have `id`, `text`, and the label `description` */
    ATTN_ITEMS_WORDS = 6  /* CSV or TSV with a line for each word: `word` and `item` */
};

enum { ATTN_MAX_LINE = 16 << 20 }; /* default maximum bytes of a line */

struct attn_items_options {
    size_t size;      /* size of this struct */
    const char *path; /* path of a file or a pipe; NULL or "-": standard input */
    /* [n_data] bytes to read instead, borrowed; `path` is then only used as name; or NULL */
    const char *data;
    size_t n_data;
    enum attn_items_form form;
    size_t max_line; /* maximum bytes of a record; a longer one fails; 0: ATTN_MAX_LINE */
    /* number of the shard and of shards: the records that begin in the shard's part of the bytes;
     * they keep their numbers of the whole input. shards 0: all records */
    size_t shard, shards;
    const volatile sig_atomic_t *cancel; /* nonzero ends waiting for a pipe; or NULL */
    const struct attn_input *inputs; /* [n_input] one item for each, instead of a file; borrowed */
    size_t n_input;
    /* `[verb are]` in the first text stands for `are`, and defines the place pos.verb */
    bool has_marks;
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_items_options *attn_items_options_init(struct attn_items_options *options,
                                                            size_t size);
#define ATTN_ITEMS_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_items_options)

/* Returns what the input TEXT [size] begins with, in options and items, or NULL. From audio: on
 * they are reserved: no version reads others, and texts that begin so need "text:" in front. */
static inline const char *attn_input_prefix(const char *text, size_t size)
{
    static const char *const prefixes[] = {
        "text:", "file:", "ids:", "image:", "audio:", "video:", "url:", "json:", "npy:", "token:"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (size >= strlen(prefixes[i]) && memcmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return prefixes[i];
    return NULL;
}

struct attn_items;

/* Opens the items. Errors have the stage of the input. ATTN_FORMAT for an invalid header. */
ATTN_API enum attn_status attn_items_open(const struct attn_items_options *options,
                                          struct attn_items **items, struct attn_error *err);
ATTN_API void attn_items_free(struct attn_items *items); /* NULL is allowed */

/* Reads the next item, which the caller owns; NULL after the last. May block on a pipe. The item
 * may be freed on any thread, and after attn_items_free. ATTN_FORMAT for the first one if the input
 * is UTF-16 or UTF-32. */
ATTN_API enum attn_status attn_items_next(struct attn_items *items, struct attn_item **item,
                                          struct attn_error *err);

#endif
