/* builtin.h - the model that is part of the program: the default of -m. */
#ifndef CMD_BUILTIN_H
#define CMD_BUILTIN_H

#include "attn.h"

#define BUILTIN_NAME "life-is-short"

enum { BUILTIN_N_BLOB = 3 };

/* Fills in its files, which live as long as the program. */
void builtin_blobs(struct attn_blob blobs[BUILTIN_N_BLOB]);

#endif
