/*
 * seal.h - hashes of what files contain, by which a resumed run knows that it reads the files of
 * the earlier one: names, sizes, and the first and the last MiB. Private to the library, and to the
 * command `diff`.
 */
#pragma once

#include "run/host.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the hash of the file PATH; 0 if it is no regular file that can be read. */
uint64_t attn_seal_file(const char *path);

/* Returns the sum for all files and folders that TEXT [size] names, such as options of a command:
 * 'patch=z:2.5=FILE', 'project=z:2=FOLDER#17*8'. Of a folder, files of models count. */
uint64_t attn_seal_named(const char *text, size_t size);

/* Returns the sum for the files of the model of HOST. */
uint64_t attn_seal_model(const struct attn_host *host);
