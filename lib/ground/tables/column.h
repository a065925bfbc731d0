/* column.h - the columns of a table: types of cells, notation, and how pictures show them. */
#ifndef ATTN_TABLES_COLUMN_H
#define ATTN_TABLES_COLUMN_H

#include <stddef.h>
#include <stdint.h>

enum attn_value_type {
    ATTN_VALUE_MISSING = 0, /* type of a cell without a value; no column has this type */
    ATTN_VALUE_INTEGER = 1,
    ATTN_VALUE_REAL = 2,
    ATTN_VALUE_TEXT = 3,    /* any bytes; escaped when they are written (base/text/escape.h) */
    ATTN_VALUE_BOOLEAN = 4, /* the integer 0 or 1 */
    ATTN_VALUE_LIST = 5,    /* integers: a shape, or the ids of a text */
    ATTN_VALUE_REALS = 6    /* a list of reals: a log-probability per token */
};

/* How the reals of a column are written. */
enum attn_notation {
    ATTN_NOTATION_SHORTEST = 0, /* the shortest decimal that reads back as the same float32 */
    ATTN_NOTATION_DOUBLE = 1,   /* the shortest that reads back as the same double */
    ATTN_NOTATION_FIXED = 2,    /* in text for people `digits` decimals; elsewhere as SHORTEST */
    ATTN_NOTATION_FIGURES = 3,  /* `digits` significant digits, as "%.*g" */
    /* as DOUBLE; booleans are written as true and false. Texts in CSV are keys that must stay
     * unchanged, so they are not protected from spreadsheet formulas */
    ATTN_NOTATION_LABEL = 4,
    ATTN_NOTATION_WHOLE = 5 /* counts, ranks and their means: 6 decimals, no zeros at the end */
};

/* The range of the numbers of a column, for drawing. */
enum attn_value_range {
    ATTN_RANGE_SIGNED = 0, /* positive and negative, centred on 0 */
    ATTN_RANGE_POSITIVE = 1,
    ATTN_RANGE_SHARE = 2 /* 0 to 1 */
};

#define ATTN_STACK_WORDS "encoder decoder cross" /* values of ATTN_ROLE_STACK, in order */
#define ATTN_ANSWER "@"                          /* in a quantity, stands for what was measured */
#define ATTN_COLUMN_PREFIX "attn." /* of a later column with the name of a label of the items */

/* The column of ATTN_ROLE_ROW_TYPE, and its texts. Only rows of data belong into a mean. */
#define ATTN_ROW_TYPE "row_type"
#define ATTN_ROW_DATA "data"
#define ATTN_ROW_REFERENCE "reference"   /* an unchanged run, with which the data are compared */
#define ATTN_ROW_TOTAL "total"           /* sums up other rows, or is the number of their sum */
#define ATTN_ROW_DIFFERENCE "difference" /* of two groups of items */

/* The meaning of a column. It determines how tables are laid out, drawn, named and sorted. */
enum attn_column_role {
    ATTN_ROLE_VALUE = 0, /* a measured number, or any other text */
    ATTN_ROLE_LAYER = 1,
    ATTN_ROLE_HEAD = 2,
    ATTN_ROLE_KV_HEAD = 3,
    ATTN_ROLE_NEURON = 4,
    ATTN_ROLE_POSITION = 5, /* position of a token; or a text that names the position */
    ATTN_ROLE_QUERY = 6,    /* position of the query */
    ATTN_ROLE_KEY = 7,      /* position of the key */
    ATTN_ROLE_PLACE = 8,    /* index of a position among the selected ones */
    ATTN_ROLE_TOKEN = 9,    /* text of a token */
    ATTN_ROLE_ID = 10,      /* id of a token in the vocabulary */
    ATTN_ROLE_SITE = 11,
    ATTN_ROLE_PART = 12, /* the kind of part that a row describes, or a total (see `totals`) */
    ATTN_ROLE_SET = 13,
    /* number of a head, counted over all layers; in a pair, that of the first head */
    ATTN_ROLE_NUMBER = 14,
    ATTN_ROLE_OTHER_LAYER = 15,
    ATTN_ROLE_OTHER_HEAD = 16,
    ATTN_ROLE_OTHER_NUMBER = 17,
    ATTN_ROLE_COUNT = 18, /* number of items or texts behind a row */
    ATTN_ROLE_TOTAL = 19, /* sum of the columns before it */
    /* text: "cross", for example, the stack of the layers in the next column */
    ATTN_ROLE_STACK = 20,
    ATTN_ROLE_ROW_TYPE = 21,    /* text: ATTN_ROW_DATA, or the kind of another row */
    ATTN_ROLE_OTHER_PART = 22,  /* in a pair, the part of the second side */
    ATTN_ROLE_PICTURE_ROW = 23, /* row and column of a cell or of a tile of a picture */
    ATTN_ROLE_PICTURE_COLUMN = 24,
    ATTN_ROLE_WRITER = 25, /* the part that an edge begins at, "2.5", and the one that reads it */
    ATTN_ROLE_READER = 26,
    ATTN_N_COLUMN_ROLE
};

/* Bits: how the values of a column are combined over items, and what describes their
 * uncertainty. */
enum attn_column_trait {
    ATTN_TRAIT_COUNT = 1, /* integers that are summed */
    /* computed from the means of other columns: has no standard deviation or error, and an interval
     * only if BOUNDED. Derived shares are p values */
    ATTN_TRAIT_DERIVED = 2,
    ATTN_TRAIT_BOUNDED = 4,   /* also computed for each resample, so it has an interval */
    ATTN_TRAIT_NAME = 8,      /* texts that must be equal to those of the first item */
    ATTN_TRAIT_UNFILLED = 16, /* empty over items; a table cannot be sorted by it */
    ATTN_TRAIT_SD = 32,       /* standard deviation of the preceding column without such a trait */
    ATTN_TRAIT_SE = 64,       /* standard error of that column's mean */
    ATTN_TRAIT_LOW = 128,     /* lower and upper end of the interval of that mean */
    ATTN_TRAIT_HIGH = 256,
    /* shares of a maximum or of cases, drawn with a linear color scale. Other shares are weights or
     * probabilities, which are often small */
    ATTN_TRAIT_LINEAR = 512,
    /* reals whose mean over items is weighted by the COUNT column before them, without a standard
     * deviation */
    ATTN_TRAIT_WEIGHTED = 1024,
    /* describe a row whose name is in other columns: the token at a position. Items may differ */
    ATTN_TRAIT_DETAIL = 2048,
    /* how much the part of the row matters: a terminal shows the rows with the largest magnitudes
     */
    ATTN_TRAIT_RANKED = 4096,
    /* surprisal in the unit of the column: colors go from 0 to 16 bits, so that texts compare */
    ATTN_TRAIT_SURPRISAL = 8192,
    /* shares of a difference: colors begin at 0 if none is below -5 % of the largest */
    ATTN_TRAIT_RESTORED = 16384
};

struct attn_column {
    const char *name; /* null-terminated, not empty, unique in the table */
    enum attn_value_type type;
    const char *unit;            /* unit of the numbers: "nats", "bytes", "s"; NULL: none */
    enum attn_notation notation; /* for reals */
    int digits;                  /* for the notation, 0..17 */
    size_t width; /* minimum width in aligned text, so that consecutive tables line up */
    enum attn_value_range range;
    /* name for titles: "change of @"; NULL: `name` is used. For a column of texts: the title of
     * rows or columns, which are then labelled with these texts and not with their numbers */
    const char *quantity;
    /* for ATTN_ROLE_PART: the texts of rows with which others are compared, separated by blanks,
     * the sum of all parts first: "sum model" */
    const char *totals;
    enum attn_column_role role;
    /* set of enum attn_column_trait; 0: reals are averaged, other columns name the row */
    unsigned traits;
    uint64_t shown; /* of a question: the flags of which one must hold (frame/frame.h); 0: always */
    const char *help;     /* what it is, without a full stop; NULL: as its role or quantity says */
    unsigned since;       /* later than 1.0: added by version 1.SINCE (ATTN_COLUMN_PREFIX) */
    const void *later[5]; /* NULL: reserved for fields of later versions */
};

#endif
