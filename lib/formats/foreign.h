/*
 * foreign.h - models in formats of other programs: recognizes the files that a directory has
 * instead of safetensors, and suggests the command that converts them.
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

/* Finds a file of PyTorch weights in the directory of SOURCE and copies its name to NAME. False:
 * there is none. */
bool attn_foreign_find(const struct attn_source *source, char name[ATTN_FOREIGN_NAME_SIZE]);

/* Fails with ATTN_UNSUPPORTED if the directory of SOURCE has a file of PyTorch weights or a PEFT
 * adapter. The hint of the error is the command that converts it. */
enum attn_status attn_foreign_check(const struct attn_source *source, struct attn_error *err);

#endif
