/* note.h - notes report unusual things that are not failures, such as tensors that a model does not
 * use. A note has a code for programs and a sentence for people. */
#ifndef ATTN_BASE_NOTE_H
#define ATTN_BASE_NOTE_H

#include "base/api.h"

#include <stddef.h>

/* X(identifier, number, name) */
#define ATTN_NOTE_MAP(X)                                                                           \
    X(UNUSED_TENSORS, 1, "unused_tensors") /* tensors in the files of a model */                   \
    X(TOKENIZER, 2, "tokenizer")           /* files that disagree, or tokens that no text has */   \
    X(USUAL_PIXELS, 3, "usual_pixels")     /* no file specifies the preprocessing of pictures */   \
    X(SPACES, 4, "spaces")                 /* a space is missing, or one too many */               \
    X(NO_END, 5, "no_end")                 /* CLIP's text lacks its last token */                  \
    X(NOT_FINITE, 6, "not_finite")         /* NaN or infinity in arrays, results or figures */     \
    X(NO_PATTERN, 7, "no_pattern")         /* this kind of attention has no pattern */             \
    X(PAIRS, 8, "pairs")                   /* the number of pairs that attention computes */       \
    X(EDIT_MASKED, 9, "edit_masked")       /* a knockout of pairs that are masked anyway */        \
    X(EDIT_IDLE, 10, "edit_idle")          /* an edit changed nothing */                           \
    X(EDIT_ROWS, 11, "edit_rows")          /* the number of rows that edits changed */             \
    X(ATTRIBUTION_SUM, 12, "attribution_sum") /* the sum is far from the model's value */          \
    X(PATCH_RUNS, 13, "patch_runs")           /* the clean and the corrupted run */                \
    X(PATCH_CHECK, 14, "patch_check")         /* estimates beside exact effects */                 \
    X(ITEM_FAILED, 15, "item_failed")         /* an item, or several others */                     \
    X(LABELS, 16, "labels")                   /* the names of labels that items have */            \
    X(REPEATED_ID, 17, "repeated_id")         /* two items have the same id */                     \
    X(UNPAIRED, 18, "unpaired")               /* items without a partner */                        \
    X(UNUSED_DEFAULT, 19, "unused_default")   /* every item has its own value */                   \
    X(OMITTED_LABEL, 22, "omitted_label")     /* a label that gets no column */                    \
    X(FORMULA, 23, "formula")                 /* a text that a spreadsheet would evaluate */       \
    X(CONTINUED, 24, "continued")             /* output of an earlier run is continued */          \
    X(COMPLETE, 25, "complete")               /* output of an earlier run was complete */          \
    X(PAGE_OMITS, 27, "page_omits")           /* tensors that are too large for a page */          \
    X(FIGURE_SIZE, 28, "figure_size")         /* labels or pixels are not of the wanted size */    \
    X(NO_FONT, 29, "no_font")                 /* characters in a figure that no font has */        \
    X(SEVERAL_TOKENS, 30, "several_tokens")   /* a target is scored by the sum over its tokens */  \
    X(CAPTION, 31, "caption")                 /* caption for a figure that contains no words */    \
    X(PROMPT, 32, "prompt")               /* the model usually expects a prompt before a text */   \
    X(RESIDUES, 33, "residues")           /* unknown letters of a protein, or very many of them */ \
    X(BEAMS, 34, "beams")                 /* the model is meant to be used with beam search */     \
    X(NO_DIFFERENCE, 35, "no_difference") /* effects are divided by a difference that may be 0 */  \
    X(BASELINE, 36, "baseline")           /* the default baseline of ig is not a text */           \
    X(TIME, 37, "time")                   /* an estimate of more than a minute */                  \
    X(RUNS, 38, "runs")                   /* the number of runs that a question needs */           \
    X(MEMORY, 39, "memory")               /* what is kept of each item */                          \
    X(SINK, 40, "sink")                   /* a span holds a token where weight is parked */        \
    X(SHORT_TEXTS, 42, "short_texts")     /* texts that are too short for a question */            \
    X(SOUND, 43, "sound")                 /* channels or parts of a sound that are not heard */    \
    X(CHAT, 44, "chat")                   /* a plain text for a model that expects a chat */       \
    X(MARK, 45, "mark")                   /* a byte order mark in front of a file was skipped */   \
    X(TWICE, 46, "twice")                 /* the text has a token that the tokenizer adds, too */  \
    X(ASSUMED, 47, "assumed")             /* a setting that the files of a model lack */           \
    X(SLOW_BF16, 48, "slow_bf16")         /* a processor without instructions for bfloat16 */      \
    X(TIE, 50, "tie")                     /* an order among equal values is that of the file */    \
    X(TENSOR_NAMES, 51, "tensor_names")   /* what is left out of the names of tensors */           \
    X(TRANSPARENT, 52, "transparent")     /* a picture with alpha, which no model reads */         \
    X(PLANE, 53, "plane")                 /* singular values so near that directions mix */        \
    X(UNKNOWN, 54, "unknown")             /* half of a text's tokens, or more, are unknown */      \
    X(NO_SCORE, 55, "no_score")           /* first words, or pairs of texts, without a score */    \
    X(HEADS, 56, "heads")                 /* heads that were chosen, as none were named */         \
    X(FEATURES, 57, "features")           /* what a dictionary of features is of */

enum attn_note {
#define ATTN_NOTE_ENUM(identifier, number, name) ATTN_NOTE_##identifier = (number),
    ATTN_NOTE_MAP(ATTN_NOTE_ENUM)
#undef ATTN_NOTE_ENUM
};

/* Called with each note. MESSAGE is one escaped line. Later versions may add codes. */
typedef void (*attn_note_fn)(void *user, enum attn_note code, const char *message);

/* A note that may be equal for many runs, so that their number says more than a note for each. */
struct attn_counted_note {
    enum attn_note code;
    const char *subject;  /* what changed nothing; escaped, borrowed */
    const char *reason;   /* a constant */
    size_t n, n_run;      /* number of runs with this note, and of all; n_run 0: a single run */
    const void *later[2]; /* NULL: room for fields of later versions */
};

/* Called with each of these notes. */
typedef void (*attn_counted_note_fn)(void *user, const struct attn_counted_note *note);

/* Returns the name of a code, "unused_tensors"; "" for an unknown one. */
ATTN_API const char *attn_note_name(enum attn_note code);

#endif
