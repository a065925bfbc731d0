/* references.h - texts of a file, one a line, that an experiment takes means or rows from. */
#ifndef CMD_REFERENCES_H
#define CMD_REFERENCES_H

#include "cmd/args/prompt.h"
#include "cmd/line/options.h"

#include "attn.h"

/* --reference, which fills a text: the path of a file. */
extern const struct option_group reference_options;

/* Initialize with = {0}. */
struct references {
    struct text text;         /* owns; the file */
    struct attn_input *items; /* [n] owns; its lines */
    size_t n;
};

/* Reads the lines of PATH that are not empty; "-" is standard input. */
enum attn_status references_read(const char *path, struct references *references,
                                 struct attn_error *err);
void references_release(struct references *references);

#endif
