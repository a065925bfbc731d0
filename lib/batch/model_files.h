/*
 * model_files.h - which files a model is made of, with the SHA-256 of each: what tells two models
 * apart. Hugging Face's hub shows the same numbers. They are read on a thread of their own.
 *
 *     attn_model_files_start(&source, model, cancel, &files, &err); // reads beside other work
 *     attn_model_files_wait(files, &text, &err);     // [{"name":"config.json","bytes":665,...},...
 *     attn_model_files_free(files);
 */
#ifndef ATTN_BATCH_MODEL_FILES_H
#define ATTN_BATCH_MODEL_FILES_H

#include "model/model.h"
#include "records/digest.h"

struct attn_model_files;

/* Begins to read the files of MODEL, which was opened from SOURCE. All are borrowed until it is
 * freed; CANCEL not 0 ends it early. */
enum attn_status attn_model_files_start(const struct attn_source *source,
                                        const struct attn_model *model,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_model_files **files, struct attn_error *err);

/* Whether it need not be waited for. */
bool attn_model_files_are_ready(const struct attn_model_files *files);

/* Waits for the end, and says what they are as a line of JSON, borrowed. ATTN_IO when one cannot be
 * read, ATTN_CANCELED when it ended early. Errors are at the stage of the model. */
enum attn_status attn_model_files_wait(struct attn_model_files *files, const char **text,
                                       struct attn_error *err);

void attn_model_files_free(struct attn_model_files *files); /* NULL is allowed */

#endif
