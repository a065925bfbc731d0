/*
 * folder.h - an empty folder of its own for a test that writes files.
 *
 *     attn_folder_enter(); // the working directory is now empty
 *     ...
 *     attn_folder_leave(); // and gone
 */
#pragma once

#include <stddef.h>

void attn_folder_enter(void);
void attn_folder_leave(
    void); /* removes the files in it and goes back; a folder in it must be empty */

/* Entries of the working directory, hidden ones too. */
size_t attn_folder_count(void);

void attn_folder_write(const char *path, const void *bytes, size_t size);

/* Fails the current test unless the file PATH consists of these bytes. */
void attn_folder_assert(const char *path, const void *bytes, size_t size);
