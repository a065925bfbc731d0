/*
 * batch_model.h - which files a model is made of, with the SHA-256 of each: what tells two models
 * apart. Hugging Face's hub shows the same numbers.
 *
 *     batch_model_start(&source, model, cancel, &files, &err);      // reads beside other work
 *     batch_model_wait(files, &text, &err);    // [{"name":"config.json","bytes":665,"sha256":...},
 *     batch_model_free(files);
 */
#ifndef CMD_BATCH_MODEL_H
#define CMD_BATCH_MODEL_H

#include "attn.h"

#include <signal.h>
#include <stdbool.h>

struct batch_model;

/* Begins to read the files of MODEL, which was opened from SOURCE. All are borrowed until it is
 * freed; CANCEL not 0 ends it early. */
enum attn_status batch_model_start(const struct attn_source *source, const struct attn_model *model,
                                   const volatile sig_atomic_t *cancel, struct batch_model **files,
                                   struct attn_error *err);

/* Whether it need not be waited for. */
bool batch_model_is_ready(const struct batch_model *files);

/* Waits for the end, and says what they are as a line of JSON, borrowed. Errors are at the stage of
 * the model. */
enum attn_status batch_model_wait(struct batch_model *files, const char **text,
                                  struct attn_error *err);

void batch_model_free(struct batch_model *files); /* NULL is allowed */

#endif
