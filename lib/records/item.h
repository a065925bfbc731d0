/* item.h - an item of an experiment: one text or two, a target, places and labels. items.h
 * reads items. */
#ifndef ATTN_RECORDS_ITEM_H
#define ATTN_RECORDS_ITEM_H

#include "base/table.h"
#include "input/record.h"
#include "predict/answer.h"

/* The kinds of pairs of texts. X(ID, number, first, second) */
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
    const char *name;       /* null-terminated */
    struct attn_cell value; /* a text, an integer, a real or a boolean */
    /* null-terminated, as written in the input; used for grouping and in outputs */
    const char *text;
};

/* An item. It owns the memory to which it points. Fields that it lacks are NULL, empty, or 0. */
struct attn_item {
    /* number, id, failure, and source; its input is the only text, or the first of the pair */
    struct attn_record record;
    size_t line; /* number of its first line in the input, from 1 */
    enum attn_item_pair pair;
    struct attn_input other;              /* the second text of the pair */
    struct attn_answer_args answer;       /* target, foil, their ids, and `at` */
    const char *from, *to, *queries;      /* null-terminated */
    const struct attn_item_place *places; /* [n_place] */
    size_t n_place;
    struct attn_places named; /* the item's places, and those that the reader adds to all items */
    const struct attn_item_label *labels; /* [n_label] in the order of the record */
    size_t n_label;
    struct attn_word_texts words, source_words; /* words of the text and of the source */
    /* source of `corrupted` in CLEAN_CORRUPTED; if missing, `source` is used */
    struct attn_input corrupted_source;
    struct attn_input baseline; /* baseline of ig; if missing, that of the arguments is used */
    struct attn_input neutral;  /* neutral text of `spans`; likewise */
};

ATTN_API void attn_item_free(struct attn_item *item); /* NULL is allowed */

/* Selects which of PAIRS, a set of ATTN_ITEM_BIT, is used. An item may have several pairs; before
 * this call its first one is selected. The item fails unless it has exactly one of PAIRS, and both
 * of its texts. */
ATTN_API void attn_item_choose(struct attn_item *item, unsigned pairs);

#endif
