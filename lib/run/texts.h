/*
 * texts.h - many texts of one file, for experiments that take a mean over them.
 *
 *     struct attn_texts *texts;
 *     attn_texts_read("sentences.jsonl", ATTN_TEXTS_JSON_LINES, &texts, &err);
 *     args.texts = attn_texts_items(texts, &args.n_text);
 *     attn_texts_free(texts);
 *
 * JSON Lines have an object a line with `text`, a string, or `ids`, a list of integers, and maybe
 * `pair`, `types` and `key_mask`; other keys are ignored. As lines each line is a text, without a
 * final \r. Every line counts, the blank one too.
 */
#ifndef ATTN_RUN_TEXTS_H
#define ATTN_RUN_TEXTS_H

#include "run/request.h"

struct attn_texts; /* owns the texts of a file */

enum attn_texts_form { ATTN_TEXTS_JSON_LINES = 0, ATTN_TEXTS_LINES = 1 };

/* Reads PATH, a file or a pipe. Errors are at the stage of the input and name the line; ATTN_FORMAT
 * for a line that is none of these, ATTN_INVALID for a file without lines. */
ATTN_API enum attn_status attn_texts_read(const char *path, enum attn_texts_form form,
                                          struct attn_texts **texts, struct attn_error *err);
ATTN_API void attn_texts_free(struct attn_texts *texts); /* NULL is allowed */

/* The texts [*n], borrowed. */
ATTN_API const struct attn_input *attn_texts_items(const struct attn_texts *texts, size_t *n);

#endif
