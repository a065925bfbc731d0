/*
 * foreign.h - models in the forms of other programs: what a directory has instead of safetensors,
 * and the command that converts it.
 *
 *     if (!attn_source_has_part(source, "model.safetensors"))
 *         status = attn_foreign_check(source, err);
 */
#ifndef ATTN_FORMATS_FOREIGN_H
#define ATTN_FORMATS_FOREIGN_H

#include "base/source.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { ATTN_FOREIGN_NAME_SIZE = 256 };

/* Writes the name of the file of PyTorch that the directory of SOURCE has into NAME;
 * false, when it has none. */
bool attn_foreign_find(const struct attn_source *source, char name[ATTN_FOREIGN_NAME_SIZE]);

/* ATTN_UNSUPPORTED when the directory of SOURCE has such a file, or an adapter of PEFT, with the
 * command that makes a model of it as a hint. */
enum attn_status attn_foreign_check(const struct attn_source *source, struct attn_error *err);

#endif
