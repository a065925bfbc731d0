/* asked.h - the question about the next token that a figure, a page or the first screen answers.
 * --target, --foil and --at ask it; heads/answer_heads.h has the default. */
#pragma once

#include "attn.h"

struct question;

struct asked {
    bool is_given, is_used;       /* by the options; by a figure, a page or the screen */
    struct attn_answer_args args; /* of the options, then with the place before an answer */
    int64_t at;
    struct attn_table *table; /* owned; the parts of the answer */
    struct attn_sink *drawn;  /* owned; their figure, for a page */
};

/* Whether ANSWER, of the options, asks anything. */
bool asked_is_given(const struct attn_answer_args *answer);

/* Gives ANSWER, the options, to the figure, the page or the first screen of QUESTION, and to its
 * run if that prints it. Call after request_check. */
void asked_give(struct question *question, const struct attn_answer_args *answer);

/* Whether the text of QUESTION, alone, has a next token. Its model is open. */
bool asked_has_next(const struct question *question);

/* Returns about how many multiplications a pass over the text takes; `asked_most` take 2 s. */
double asked_cost(const struct question *question);
extern const double asked_most;

/* Options of QUESTION with which no view of the answer opens: those of screens and figures that
 * need no next token. Returns the name of the first that is given, or NULL. */
const char *asked_other(const struct question *question);

/* Places the question before an answer that begins at token FIRST of N. Returns true if its parts
 * were found elsewhere. */
bool asked_place(struct question *question, size_t first, size_t n);

/* Finds the parts of the answer for the first screen, and draws them for a page, but not for a live
 * one of few heads, which shows tiles. Both go without those of a model whose answer is no sum of
 * parts, unless the options ask the question. */
enum attn_status asked_open(struct question *question, struct attn_error *err);

/* Draws the parts of the answer, and takes the pictures from the outputs. */
enum attn_status asked_draw(struct question *question, struct attn_error *err);

void asked_release(struct asked *asked);
