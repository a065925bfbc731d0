/* column.h - the columns of a table: types of cells, notation, and how pictures show them. */
#ifndef ATTN_BASE_COLUMN_H
#define ATTN_BASE_COLUMN_H

#include <stddef.h>

enum attn_value_type {
    ATTN_VALUE_MISSING = 0, /* type of a cell without a value; no column has this type */
    ATTN_VALUE_INTEGER = 1,
    ATTN_VALUE_REAL = 2,
    ATTN_VALUE_TEXT = 3,    /* any bytes; they are escaped where they are written (base/escape.h) */
    ATTN_VALUE_BOOLEAN = 4, /* the integer 0 or 1 */
    ATTN_VALUE_LIST = 5,    /* integers: a shape, the ids of a text */
    ATTN_VALUE_REALS = 6    /* a list of reals: a log-probability per token */
};

/* How the reals of a column are written. */
enum attn_notation {
    ATTN_NOTATION_SHORTEST = 0, /* the shortest decimal that reads back as the same float32 */
    ATTN_NOTATION_DOUBLE = 1,   /* the shortest that reads back as the same double */
    ATTN_NOTATION_FIXED = 2,   /* `digits` after the point in text for reading, else the shortest */
    ATTN_NOTATION_FIGURES = 3, /* `digits` significant ones, as "%.*g" */
    ATTN_NOTATION_LABEL = 4    /* as DOUBLE; booleans are true and false, and texts of CSV are keys
                                  that others look for: nothing protects them from spreadsheets */
};

/* Which numbers a column has, for those who draw them. */
enum attn_value_range {
    ATTN_RANGE_SIGNED = 0, /* on both sides of 0, which is the middle */
    ATTN_RANGE_POSITIVE = 1,
    ATTN_RANGE_SHARE = 2 /* 0 to 1 */
};

#define ATTN_STACK_WORDS "encoder decoder cross" /* texts of ATTN_ROLE_STACK, in their order */
#define ATTN_ANSWER "@"                          /* in a quantity: the measured thing */

/* The meaning of a column, by which tables are laid out, drawn, named and sorted. */
enum attn_column_role {
    ATTN_ROLE_VALUE = 0, /* the measured thing, or a text of any kind */
    ATTN_ROLE_LAYER = 1,
    ATTN_ROLE_HEAD = 2,
    ATTN_ROLE_KV_HEAD = 3,
    ATTN_ROLE_NEURON = 4,
    ATTN_ROLE_POSITION = 5, /* a token's id; a text if it has a name */
    ATTN_ROLE_QUERY = 6,    /* the position that attends */
    ATTN_ROLE_KEY = 7,      /* the position that is attended to */
    ATTN_ROLE_PLACE = 8,    /* number of a position among the selected ones */
    ATTN_ROLE_TOKEN = 9,    /* its text */
    ATTN_ROLE_ID = 10,      /* its id in the vocabulary */
    ATTN_ROLE_SITE = 11,
    ATTN_ROLE_PART = 12, /* the kind of part that a row is about, or a total (`totals`) */
    ATTN_ROLE_SET = 13,
    ATTN_ROLE_NUMBER = 14, /* a head, counted through all layers; the first of a pair */
    ATTN_ROLE_OTHER_LAYER = 15,
    ATTN_ROLE_OTHER_HEAD = 16,
    ATTN_ROLE_OTHER_NUMBER = 17,
    ATTN_ROLE_COUNT = 18, /* how many items or texts a row is about */
    ATTN_ROLE_TOTAL = 19, /* the sum of the columns before it */
    ATTN_ROLE_STACK = 20  /* text: "cross", whose layers the next column has */
};

/* How the means over items are made of a column, and how far they are known; bits. */
enum attn_column_trait {
    ATTN_TRAIT_COUNT = 1,   /* integers that are added up */
    ATTN_TRAIT_DERIVED = 2, /* computed from the means of other columns: without standard deviation
                               and error, and with an interval only if BOUNDED. Shares are p
                               values */
    ATTN_TRAIT_BOUNDED = 4, /* derived from each resample, too */
    ATTN_TRAIT_NAME = 8,    /* texts that must be those of the first item */
    ATTN_TRAIT_UNFILLED = 16, /* empty over items, so that nothing can be sorted by it */
    ATTN_TRAIT_SD = 32, /* of the column before it without such a trait: the standard deviation, */
    ATTN_TRAIT_SE = 64, /* the standard error of the mean, */
    ATTN_TRAIT_LOW = 128, /* and the ends of its interval */
    ATTN_TRAIT_HIGH = 256,
    ATTN_TRAIT_LINEAR = 512 /* shares of a maximum or of cases, whose colors are linear. Others are
                               weights or probabilities, which are often small */
};

struct attn_column {
    const char *name; /* terminated, not empty, unlike other names */
    enum attn_value_type type;
    const char *unit;            /* unit of the numbers: "nats", "bytes", "s"; NULL: none */
    enum attn_notation notation; /* of reals */
    int digits;                  /* for the notation, 0..17 */
    /* The smallest width in aligned text, so that tables one below the other line up. */
    size_t width;
    enum attn_value_range range;
    const char *quantity; /* quantity for a title: "change of @"; NULL: the name is enough. Of
                             texts: the title of rows or columns, which are then named by these
                             texts alone, and not by their numbers */
    const char *totals;   /* of ATTN_ROLE_PART: texts of rows that others are compared with, with
                             blanks between them, the sum of all parts first: "sum model" */
    enum attn_column_role role;
    unsigned traits;      /* enum attn_column_trait; 0: reals have means, all else names the row */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#endif
