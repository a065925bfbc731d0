/* table_view.h - how a table becomes a grid: which of its columns give the rows, the columns and
 * the numbers, and the wording of the title (figures/table_picture.h draws it). */
#ifndef ATTN_PICTURES_TABLE_VIEW_H
#define ATTN_PICTURES_TABLE_VIEW_H

#include "pictures/picture.h"
#include "tensors/output.h"

struct attn_head_cards; /* measures/head_cards.h */

/* A column of a view: a value of enum attn_column_role, for the first column with that role; or
 * ATTN_TABLE_COLUMN(I), for column I of the table. 0: no column. */
enum { ATTN_FIRST_TABLE_COLUMN = 1 << 16 };
#define ATTN_TABLE_COLUMN(i) (ATTN_FIRST_TABLE_COLUMN + (unsigned)(i))

enum attn_view_trait {
    /* each row of the table is a pair of heads and fills two cells; the diagonal is 0 */
    ATTN_VIEW_PAIRS = 1,
    ATTN_VIEW_SEQUENCE = 2, /* rows are in sequence: a curve connects them */
    /* rows with a layer are places in the residual stream, given by their site or part:
     * "embedding", "after layer 0" */
    ATTN_VIEW_STREAM = 4,
    ATTN_VIEW_SORTED = 8,  /* the column by which a question is sorted is drawn */
    ATTN_VIEW_GROUPS = 16, /* if the table has groups, their first label gives rows and columns */
    /* its positions are those of one text: a picture labels them with the tokens of a run of that
     * text */
    ATTN_VIEW_TOKENS = 32,
    /* each row of the table is a row of the picture, labelled by `rows` and `texts`; each column of
     * numbers or of lists from `values` on is a part with its own scale. `quantity` is the title */
    ATTN_VIEW_PARTS = 64,
    /* each row of the table is a part of a text, whose positions are in `texts`: "0-2,4". Its value
     * is that of each token, but for `rest` */
    ATTN_VIEW_SPANS = 128,
    /* bars and curves draw each column from `values` on that has its range */
    ATTN_VIEW_SERIES = 256,
    ATTN_VIEW_DIFFERENCE = 512, /* shares and differences of shares: colors of both signs */
    ATTN_VIEW_ORDERED = 1024    /* the user chose or sorted the rows, and bars keep their order */
};

/* Which columns give rows, columns and numbers of a picture, and the wording of its title.
 * Borrowed. */
struct attn_table_view {
    unsigned rows;    /* column for the rows: layers, for example */
    unsigned detail;  /* second key of the rows: sites */
    unsigned columns; /* column for the columns, integers or texts: heads */
    unsigned texts;   /* labels of the columns: tokens */
    unsigned values;  /* the numbers that are drawn */
    unsigned cells;   /* texts that are shown in the cells */
    unsigned marks;   /* with ATTN_VIEW_PARTS: rows with a value in this column have a frame */
    enum attn_figure figure; /* default kind of figure; ATTN_FIGURE_DEFAULT: a grid */
    unsigned traits;         /* set of enum attn_view_trait */
    /* name of the values, if that of the column is not enough; '@' stands for the answer; or
     * NULL */
    const char *quantity;
    const char *asked; /* the intervention: "without each head"; or NULL */
    /* names of parts that come first: "mlp embed". Rows without a value in `columns`, except
     * totals, get one column per part, after the other columns. NULL: such rows are left out */
    const char *parts;
    /* names of parts without a value in `rows` that go to the first row: "embed pos"; all others go
     * to the last row; or NULL */
    const char *inputs;
    const char *only; /* names of the parts whose rows are drawn: "source"; NULL: all */
};

enum { ATTN_VIEW_WORDS_SIZE = 96, ATTN_VIEW_ANSWER_SIZE = 128, ATTN_VIEW_MEANS_SIZE = 256 };

/* How a table is drawn, and what its title and labels refer to. Each pointer may be NULL.
 * Borrowed. */
struct attn_table_picture {
    struct attn_table_view view;
    size_t n_label;                     /* leading columns by which rows are grouped */
    char answer[ATTN_VIEW_ANSWER_SIZE]; /* "logit(are) - logit(is)"; or "" */
    const char *metric;                 /* for pages: "logit_diff" */
    const char *target, *foil;          /* for pages: the texts of the answer's tokens */
    const char *model;                  /* path of the model, of which the last part is shown */
    const char *note;                   /* with ATTN_VIEW_PARTS: note for the subtitle, printable */
    /* the text, and the second text of a pair; figures append the third to each of them */
    struct attn_figure_text texts[3];
    const struct attn_labels *run; /* labels of the run whose tokens name the positions */
    /* labels of the run of the other text: positions whose tokens differ show both */
    const struct attn_labels *other_run;
    /* for ATTN_FIGURE_LIFE: a table of attn_lens, whose best tokens are drawn, and the parts of
     * attn_life; or NULL */
    const struct attn_table *lens, *life;
    const struct attn_head_cards *cards; /* for the atlas of a page */
    size_t n_sharing; /* for ATTN_FIGURE_CIRCUIT: heads that share a key head; 0: none do */
    /* Room for words that the fields above may point to (frame/questions.h). */
    char words[ATTN_VIEW_WORDS_SIZE], means[ATTN_VIEW_MEANS_SIZE];
    bool has_models; /* `model` has the names of two models, and is shown as it is */
};

#endif
