/*
 * item.h - an item: one of many inputs, with a text or a pair of texts, a target, places and
 * labels, and the reason if it failed.
 *
 * A line of JSON or CSV becomes an item (stream/items.h), and attn_run_many (stream/many.h)
 * computes one item after the other. An item that fails keeps its place in the output, with a code
 * for programs and a message for people.
 */
#ifndef ATTN_RUN_ITEM_H
#define ATTN_RUN_ITEM_H

#include "input/input.h"
#include "predict/answer.h"
#include "tables/table.h"

/* The type of the id of an item. */
enum attn_record_id {
    ATTN_RECORD_ID_NUMBER = 0, /* no id: the number is used */
    ATTN_RECORD_ID_TEXT = 1,
    ATTN_RECORD_ID_INTEGER = 2, /* the digits of a number, unchanged */
};

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

struct attn_store; /* base/memory.h */

/* An item. Initialize with = {0}; fields that it lacks stay NULL, empty, or 0. Texts are
 * null-terminated unless their size is beside them. */
struct attn_item {
    size_t number;               /* its index among all items, from 0 */
    enum attn_record_id id_kind; /* the type of its id */
    const char *id;              /* [n_id] UTF-8 or digits; NULL for NUMBER */
    size_t n_id;
    enum attn_item_pair pair;
    struct attn_input input;  /* the only text, or the first of the pair */
    struct attn_input other;  /* the second text of the pair */
    struct attn_input source; /* for models with cross-attention; others ignore it */
    /* source of `corrupted` in CLEAN_CORRUPTED; if missing, `source` is used */
    struct attn_input corrupted_source;
    struct attn_input baseline;     /* baseline of ig; if missing, that of the arguments is used */
    struct attn_input neutral;      /* neutral text of `spans`; likewise */
    struct attn_answer_args answer; /* target, foil, their ids, and `at` */
    struct attn_number_list from, to, queries; /* `queries` replaces the rows of the request */
    const char *const *next; /* [n_next] continuations, which replace those of the request;
                                NULL: those of the request */
    size_t n_next, n_next_ids;
    const struct attn_label_ids *next_ids; /* [n_next_ids] more of them, if `next` is not NULL */
    struct attn_word_texts words, source_words; /* words of the text and of the source */
    struct attn_item_place *places;             /* [n_place] owns */
    size_t n_place;
    /* its places, and others that positions can name; NULL `others`: those of the request */
    struct attn_places named;
    struct attn_item_label *labels; /* [n_label] owns; in the order of the line */
    size_t n_label;
    enum attn_reason failure; /* unless NONE, the item is not computed */
    struct attn_error err;    /* why it failed */

    /* Set by the reader: */
    struct attn_store *store; /* owns all texts and arrays of numbers */
    size_t line;              /* number of its first line in the input, from 1 */
    uint64_t begin, end;      /* offsets in the input where it begins and ends */
    /* [ATTN_N_ITEM_PAIR, 2] all texts that it has, of which attn_item_choose selects `input` and
     * `other`; or NULL */
    struct attn_input *texts;
    const char *images[2];    /* paths of the picture and of the corrupted one, also labels */
    const char *continuation; /* its key `continuation`, which is also a label */
    bool has_empty_text;      /* its cell `text` is empty */
    struct attn_places keys;  /* the labels as places, whose texts `key:NAME` finds */
    size_t place_capacity, label_capacity;
    /* A conversation in place of the text, as attn_chat_request has it; and its key `system`, which
     * is also a label, for texts that are put into a conversation. */
    const char *messages, *system;
    const char *chat, *tools; /* an object and a list, as JSON: `sets` and `tools` of that */
    uint64_t seal;            /* a hash of all lines of the input up to its end */
    /* [words.n, n_row_label] owns; with a line for each word: the labels of each line, then some
     * without a name; or NULL */
    struct attn_item_label *row_labels;
    size_t n_row_label;
};

struct attn_model; /* model/model.h */

/* Frees ITEM, which attn_items_next returned, and what it owns. NULL is allowed. */
ATTN_API void attn_item_free(struct attn_item *item);

#endif
