/*
 * foreign.h - models in formats of other programs: recognizes the files that a directory has
 * instead of safetensors, and names the command that converts them.
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

/* Writes the NAME of a PyTorch file in the directory of SOURCE; false without such a file. */
bool attn_foreign_find(const struct attn_source *source, char name[ATTN_FOREIGN_NAME_SIZE]);

/* ATTN_UNSUPPORTED when the directory of SOURCE has such a file, or an adapter of PEFT, with the
 * command that makes a model of it as a hint. */
enum attn_status attn_foreign_check(const struct attn_source *source, struct attn_error *err);

#endif
