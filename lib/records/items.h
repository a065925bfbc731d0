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
 *     source, corrupted_source  or ..._ids: the second sequence; another of `corrupted`
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

#include "base/table.h"
#include "input/record.h"
#include "predict/answer.h"

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

/* What an item has two texts for. X(ID, number, first, second) */
#define ATTN_ITEM_PAIR_MAP(X)                                                                      \
    X(SINGLE, 0, "text", NULL)                                                                     \
    X(CLEAN_CORRUPTED, 1, "clean", "corrupted")                                                    \
    X(A_B, 2, "a", "b")                                                                            \
    X(GOOD_BAD, 3, "good", "bad")

enum attn_item_pair {
#define ATTN_ITEM_PAIR_ENUM(id, number, ...) ATTN_ITEM_##id = (number),
    ATTN_ITEM_PAIR_MAP(ATTN_ITEM_PAIR_ENUM)
#undef ATTN_ITEM_PAIR_ENUM
        ATTN_N_ITEM_PAIR = 0 ATTN_ITEM_PAIR_MAP(ATTN_COUNT)
};

#define ATTN_ITEM_BIT(id) (1U << ATTN_ITEM_##id)

struct attn_item_label {
    const char *name;       /* terminated */
    struct attn_cell value; /* a text, an integer, a real or a boolean */
    const char *text; /* terminated; as it is in the input: groups go by it, outputs have it */
};

/* Owns what it points to. Fields that an item lacks are NULL, empty, or 0. */
struct attn_item {
    struct attn_record record; /* number, id, why it failed; its source. Its input is the only text,
                                  or the first of the pair */
    size_t line;               /* of the input where it begins, from 1 */
    enum attn_item_pair pair;
    struct attn_input other;              /* the second of the pair */
    struct attn_answer_args answer;       /* target, foil, their ids, and at */
    const char *from, *to, *queries;      /* terminated */
    const struct attn_item_place *places; /* [n_place] */
    size_t n_place;
    struct attn_places named; /* these, and those that the reader of the item has for all */
    const struct attn_item_label *labels; /* [n_label] in the order of the record */
    size_t n_label;
    struct attn_word_texts words, source_words; /* of the text and the source */
    struct attn_input corrupted_source; /* of the second of CLEAN_CORRUPTED; none: `source` */
    struct attn_input baseline;         /* of ig; none: that of the arguments */
};

struct attn_items;

/* Errors are at the stage of the input. ATTN_FORMAT for a bad header. */
ATTN_API enum attn_status attn_items_open(const struct attn_items_options *options,
                                          struct attn_items **items, struct attn_error *err);
ATTN_API void attn_items_free(struct attn_items *items); /* NULL is allowed */

/* The next item, the caller's; NULL after the last. May block on a pipe. It can be freed after the
 * items and on another thread. */
ATTN_API enum attn_status attn_items_next(struct attn_items *items, struct attn_item **item,
                                          struct attn_error *err);
ATTN_API void attn_item_free(struct attn_item *item); /* NULL is allowed */

/* Says which of PAIRS, bits ATTN_ITEM_BIT, is asked about: an item may have several, and has the
 * first of all until this is called. One that has not exactly one of PAIRS, and that whole, has
 * failed then. */
ATTN_API void attn_item_choose(struct attn_item *item, unsigned pairs);

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
