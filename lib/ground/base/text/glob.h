/*
 * glob.h - names by a pattern: * stands for any characters, ? for one.
 *
 *     attn_glob_matches("resid_*", 7, "resid_pre"); // true
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether GLOB [size] matches all of NAME. At most size * strlen(NAME) steps. */
bool attn_glob_matches(const char *glob, size_t size, const char *name);
