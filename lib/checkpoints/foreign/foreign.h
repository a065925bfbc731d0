/*
 * foreign.h - models in formats of other programs: recognizes the files that a directory has
 * instead of weights that are read.
 *
 *     if (!attn_source_has_part(source, "model.safetensors"))
 *         status = attn_foreign_check(source, err);
 */
#pragma once

#include "formats/opener.h"

/* Finds the only .pt or .pth file in the directory of SOURCE and copies its name to NAME. False:
 * there is none, or several. */
bool attn_foreign_find(const struct attn_source *source, char name[ATTN_OPENER_NAME_SIZE]);

/* The same for names that end in END or OTHER. */
bool attn_foreign_find_end(const struct attn_source *source, const char *end, const char *other,
                           char name[ATTN_OPENER_NAME_SIZE]);

/* Fails with ATTN_UNSUPPORTED if the directory of SOURCE has a PEFT adapter, or files of another
 * program, instead of a model. The hint of the error says what to do. */
enum attn_status attn_foreign_check(const struct attn_source *source, struct attn_error *err);

/* Fails with ATTN_UNSUPPORTED if FILES, a single file, has the layout of another program that is
 * known. */
enum attn_status attn_foreign_refuse(const struct attn_tensor_files *files, struct attn_error *err);

#define ATTN_FOREIGN_ADAPTER                                                                       \
    "`adapter` takes a folder with adapter_config.json and adapter_model.safetensors, as peft "    \
    "saves them"

/* Fails with ATTN_UNSUPPORTED if PATH is a file, or has the adapter of another program than
 * peft. */
enum attn_status attn_foreign_refuse_adapter(const char *path, struct attn_error *err);
