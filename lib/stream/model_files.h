/*
 * model_files.h - computes the SHA-256 of each file of a model, which Hugging Face's hub shows,
 * too, on another thread.
 *
 *     attn_model_files_start(&source, model, cancel, &files, &err); // reads beside other work
 *     attn_model_files_wait(files, &text, &err);     // [{"name":"config.json","bytes":665,...},...
 *     attn_model_files_free(files);
 */
#ifndef ATTN_STREAM_MODEL_FILES_H
#define ATTN_STREAM_MODEL_FILES_H

#include "model/model.h"
#include "stream/digest.h"

struct attn_model_files;

/* Starts to read the files of MODEL, which was opened from SOURCE. All arguments are borrowed until
 * attn_model_files_free. A nonzero CANCEL ends the reading. */
enum attn_status attn_model_files_start(const struct attn_source *source,
                                        const struct attn_model *model,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_model_files **files, struct attn_error *err);

/* Returns true if the reading has ended. */
bool attn_model_files_are_ready(const struct attn_model_files *files);

/* Waits until all files were read. *TEXT is a line of JSON, borrowed. ATTN_IO for a file that
 * cannot be read, ATTN_CANCELED after a cancel. Errors have the stage of the model. */
enum attn_status attn_model_files_wait(struct attn_model_files *files, const char **text,
                                       struct attn_error *err);

void attn_model_files_free(struct attn_model_files *files); /* NULL is allowed */

#endif
