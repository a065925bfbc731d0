/*
 * table_view.h - how a table is laid out as a grid: which of its columns are rows, columns and
 * numbers, and the words of its title (figures/table_picture.h draws it).
 */
#ifndef ATTN_GRID_TABLE_VIEW_H
#define ATTN_GRID_TABLE_VIEW_H

#include "base/table.h"
#include "writers/output.h"
#include "writers/picture.h"

struct attn_head_patterns; /* analysis/head_patterns.h */

/* A column of a view: an enum attn_column_role, whose first column is meant, or column I of the
 * table. 0: no column. */
enum { ATTN_FIRST_TABLE_COLUMN = 1 << 16 };
#define ATTN_TABLE_COLUMN(i) (ATTN_FIRST_TABLE_COLUMN + (unsigned)(i))

enum attn_view_trait {
    ATTN_VIEW_PAIRS = 1,    /* each row of the table is a pair of heads and fills two cells; the
                               diagonal is 0 */
    ATTN_VIEW_SEQUENCE = 2, /* rows are in sequence: a curve runs along them */
    ATTN_VIEW_STREAM = 4,   /* rows with a layer are places in the residual stream, by their site or
                               part: "embedding", "after layer 0" */
    ATTN_VIEW_SORTED = 8,   /* the column that a question is sorted by is drawn */
    ATTN_VIEW_GROUPS = 16,  /* rows and columns are the first label of groups, if there are any */
    ATTN_VIEW_TOKENS = 32,  /* its positions are those of one text: a picture calls them by the
                               tokens of a run of that */
    ATTN_VIEW_CLUSTERED = 64, /* pairs are ordered by similarity, not by number */
    ATTN_VIEW_PARTS = 128     /* a row of the picture is a row of the table, called by `rows` and
                                 `texts`; each column of numbers or of lists from `values` on is a
                                 part with its own scale. `quantity` is the title */
};

/* Which columns lay a table out, and the words of its title. Borrowed. */
struct attn_table_view {
    unsigned rows;           /* layers, for example */
    unsigned detail;         /* a second key of rows: sites */
    unsigned columns;        /* whole numbers or texts: heads */
    unsigned texts;          /* labels of columns: tokens */
    unsigned values;         /* the numbers that are drawn */
    unsigned cells;          /* texts that stand on the colors of the numbers */
    unsigned marks;          /* of parts: rows with a value here have a frame */
    enum attn_figure figure; /* the default kind; DEFAULT: a grid */
    unsigned traits;         /* enum attn_view_trait */
    const char *quantity;    /* of the values, where the words of the column do not do; '@' is the
                                answer; or NULL */
    const char *asked;       /* the intervention: "without each head"; or NULL */
    const char *parts;  /* "mlp embed": parts that come first. Rows without a value of `columns`,
                           except totals, get a column for each part after the others. NULL:
                           such rows are left out */
    const char *inputs; /* parts without a value of `rows` that go to its first row, the others go
                           to its last: "embed pos"; or NULL */
    const char *only;   /* the parts whose rows are drawn: "source"; NULL: all */
};

enum { ATTN_VIEW_WORDS_SIZE = 96, ATTN_VIEW_ANSWER_SIZE = 128, ATTN_VIEW_MEANS_SIZE = 256 };

/* A table as it is drawn, and what it is about. Each pointer may be NULL. Borrowed. */
struct attn_table_picture {
    struct attn_table_view view;
    size_t n_label;                      /* leading columns by which rows are grouped */
    char answer[ATTN_VIEW_ANSWER_SIZE];  /* "logit(are) - logit(is)"; or "" */
    const char *metric;                  /* for pages: "logit_diff", */
    const char *target, *foil;           /* and the texts of its tokens */
    const char *model;                   /* its name */
    const char *note;                    /* of parts: for the subtitle, printable */
    struct attn_figure_text texts[3];    /* the text, and the other one of a pair; in a figure the
                                            third follows each */
    const struct attn_labels *run;       /* whose tokens the positions are called */
    const struct attn_labels *other_run; /* the run of the other text: positions with different
                                            tokens show both */
    const struct attn_table *lens;       /* for ATTN_FIGURE_CAUSES: a table of attn_lens, whose best
                                            tokens stand over the picture */
    const struct attn_head_patterns *patterns; /* of a poster */
    /* Room for words that the fields above may point to (experiment/questions.h). */
    char words[ATTN_VIEW_WORDS_SIZE], means[ATTN_VIEW_MEANS_SIZE];
};

#endif
