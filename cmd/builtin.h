/* builtin.h - the models that are part of the program: usable by name with no file in reach. */
#ifndef CMD_BUILTIN_H
#define CMD_BUILTIN_H

#include "attn.h"

#define BUILTIN_DEFAULT "fable" /* the default of -m */

enum { BUILTIN_MAX_BLOB = 4 }; /* of one model */

/* Fills in the files of the model NAME, which live as long as the program; returns how many, 0 when
 * no model has that name. */
size_t builtin_blobs(const char *name, struct attn_blob blobs[BUILTIN_MAX_BLOB]);

/* The name of model I in alphabetical order, NULL behind the last. */
const char *builtin_name(size_t i);

#endif
