/* medium.h - kinds of output, and sets of them. */
#ifndef ATTN_PARAMS_MEDIUM_H
#define ATTN_PARAMS_MEDIUM_H

/* Kinds of output. A parameter lists which of them it affects; each format is of one kind. */
enum attn_medium {
    ATTN_MEDIUM_TABLE = 1 << 0,        /* a table as text */
    ATTN_MEDIUM_TENSORS = 1 << 1,      /* tensors as text */
    ATTN_MEDIUM_SCREEN = 1 << 2,       /* the first screen */
    ATTN_MEDIUM_EXPLANATION = 1 << 4,  /* the arithmetic of a row */
    ATTN_MEDIUM_PREDICTIONS = 1 << 5,  /* next tokens and labels */
    ATTN_MEDIUM_CONTINUATION = 1 << 6, /* tokens that were generated, as text or as one document */
    ATTN_MEDIUM_HEATMAP = 1 << 7,      /* matrices in colors of the terminal */
    ATTN_MEDIUM_DECIMAL = 1 << 8,      /* files of decimal numbers */
    ATTN_MEDIUM_BINARY = 1 << 9,       /* files of arrays */
    ATTN_MEDIUM_PNG = 1 << 10,         /* figures in pixels */
    ATTN_MEDIUM_VECTOR = 1 << 11,      /* figures in lines, SVG and PDF */
    ATTN_MEDIUM_FIGURE = 1 << 12,      /* a web page that contains a figure */
    ATTN_MEDIUM_VIEWER = 1 << 13, /* a web page that draws the patterns of a run with a script */
    ATTN_MEDIUM_ROWS = 1 << 14,   /* predictions as lines of JSON, LaTeX or Markdown */
    ATTN_MEDIUM_PAPER = 1 << 15   /* a table as LaTeX or Markdown */
};

/* Sets of kinds. */
enum {
    /* Figures, whose text has an adjustable size. */
    ATTN_MEDIA_LABELLED = ATTN_MEDIUM_PNG | ATTN_MEDIUM_VECTOR | ATTN_MEDIUM_FIGURE,
    ATTN_MEDIA_DRAWN = ATTN_MEDIA_LABELLED | ATTN_MEDIUM_VIEWER,
    ATTN_MEDIA_PICTURES = ATTN_MEDIA_DRAWN | ATTN_MEDIUM_HEATMAP,
    /* Output that shows all rows of a table. */
    ATTN_MEDIA_TABLES =
        ATTN_MEDIUM_TABLE | ATTN_MEDIUM_PAPER | ATTN_MEDIUM_DECIMAL | ATTN_MEDIUM_FIGURE,
    ATTN_MEDIA_ANSWERS = ATTN_MEDIUM_PREDICTIONS | ATTN_MEDIUM_CONTINUATION | ATTN_MEDIUM_ROWS
};

#endif
