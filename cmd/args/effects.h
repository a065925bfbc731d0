/* effects.h - which outputs an option has an effect on. An option that changes none of the outputs
 * of a command line is refused. */
#ifndef CMD_EFFECTS_H
#define CMD_EFFECTS_H

#include "cmd/args/outputs.h"
#include "cmd/line/command.h"

/* Kinds of output. */
enum view {
    VIEW_TABLE = 1 << 0,        /* a table as text */
    VIEW_TENSORS = 1 << 1,      /* tensors as text */
    VIEW_SCREEN = 1 << 2,       /* the first screen of `run` */
    VIEW_COMPARISON = 1 << 3,   /* --compare */
    VIEW_EXPLANATION = 1 << 4,  /* --explain */
    VIEW_PREDICTIONS = 1 << 5,  /* --top, --next, --target, --label */
    VIEW_CONTINUATION = 1 << 6, /* `generate`: the tokens, as text or as one document */
    VIEW_HEATMAP = 1 << 7,
    VIEW_DECIMAL = 1 << 8, /* files of decimal numbers */
    VIEW_BINARY = 1 << 9,
    VIEW_PNG = 1 << 10,
    VIEW_VECTOR = 1 << 11, /* SVG and PDF */
    VIEW_FIGURE = 1 << 12, /* a web page that holds a figure */
    VIEW_VIEWER = 1 << 13, /* a web page that draws the patterns of a run itself */
    VIEW_ROWS = 1 << 14,   /* predictions as lines of JSON, LaTeX or Markdown */
    VIEW_PAPER = 1 << 15   /* a table as LaTeX or Markdown */
};

/* Refuses an option of CALL that changes none of its outputs: those of OUTPUT, the heat map of
 * PICTURE, and SHOWN, views that the command has by itself. A table, tensors and the first screen
 * are only printed if there is no other output. FIGURE is the kind of figure without --figure. */
enum attn_status effects_check(const struct call *call, const struct output_args *output,
                               const struct picture_args *picture, unsigned shown,
                               enum attn_figure figure, struct attn_error *err);

#endif
