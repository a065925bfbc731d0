/* item.h - an item of an experiment: one text or two, a target, places and labels. items.h
 * reads items. */
#ifndef ATTN_RECORDS_ITEM_H
#define ATTN_RECORDS_ITEM_H

#include "base/table.h"
#include "input/record.h"
#include "predict/answer.h"

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

ATTN_API void attn_item_free(struct attn_item *item); /* NULL is allowed */

/* Says which of PAIRS, bits ATTN_ITEM_BIT, is asked about: an item may have several, and has the
 * first of all until this is called. One that has not exactly one of PAIRS, and that whole, has
 * failed then. */
ATTN_API void attn_item_choose(struct attn_item *item, unsigned pairs);

#endif
