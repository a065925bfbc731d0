/*
 * stored_zip.h - finds members of the archives that tests read: .npz files as numpy.savez makes
 * them, stored and smaller than 4 GiB.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Moves ARCHIVE, which PATH names, to the first byte of the member NAME, and says how many there
 * are. False when there is no such member. Fails the current test when the archive is malformed. */
bool attn_stored_zip_find(FILE *archive, const char *path, const char *name, size_t *size);
