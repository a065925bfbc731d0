/*
 * directory.h - the folder of a format that writes many files: made when absent, and removed again
 * when nothing was written into it.
 */
#ifndef ATTN_OUTPUT_DIRECTORY_H
#define ATTN_OUTPUT_DIRECTORY_H

#include "base/buffer.h"
#include "base/sink.h"

/* Initialize with = {0}; end with attn_directory_close. */
struct attn_directory {
    char *path;     /* owns */
    bool is_new;    /* it was made here */
    bool has_files; /* one was committed */
};

/* FORMAT names the files in the message when PATH is one itself: "CSV". */
enum attn_status attn_directory_open(struct attn_directory *directory, const char *path,
                                     const char *format, struct attn_error *err);

/* A file NAME in it. */
enum attn_status attn_directory_create_file(const struct attn_directory *directory,
                                            const char *name, struct attn_sink **sink,
                                            struct attn_error *err);

/* Commits and frees SINK. */
enum attn_status attn_directory_commit_file(struct attn_directory *directory,
                                            struct attn_sink *sink, struct attn_error *err);

void attn_directory_close(struct attn_directory *directory);

#endif
