/*
 * given.h - checks of arguments of the public interface: a caller's mistake is a status, never an
 * abort. Asserts are for mistakes of the library itself.
 *
 *     if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err))
 *         return ATTN_INVALID;
 */
#ifndef ATTN_BASE_GIVEN_H
#define ATTN_BASE_GIVEN_H

#include "base/status.h"

#include <stdbool.h>

/* Returns IS_THERE, whether the pointer NAME is not NULL. If it is, fails with ATTN_INVALID at
 * ATTN_STAGE_OPTIONS; the message names it. */
bool attn_is_given(bool is_there, const char *name, struct attn_error *err);

/* The same for an enum: VALUE must be one of 0 to N - 1. */
bool attn_is_choice(long value, long n, const char *name, struct attn_error *err);

/* The same for LATER [4], a struct's room for fields of later versions: it must be NULL, since this
 * version does not know such fields. */
bool attn_is_known(const void *const *later, const char *name, struct attn_error *err);

/* The same for LATER [n], if newer fields have taken some of that room. */
bool attn_rest_is_known(const void *const *later, size_t n, const char *name,
                        struct attn_error *err);

/* The STATUS that a function of the caller, the field NAME, returned. A failure without a message
 * gets one, so that it is never mistaken for success. */
enum attn_status attn_call_status(enum attn_status status, const char *name,
                                  struct attn_error *err);

/*
 * Reads an options struct of a caller compiled with another version of the library: copies the
 * fields of GIVEN over OPTIONS, which hold the defaults and their own size. If GIVEN is NULL, the
 * defaults stay. ATTN_INVALID for an impossible size, and for unknown fields that are not zero.
 *
 * Such a struct begins with `size_t size`, which the initializer ATTN_..._DEFAULT sets. A version
 * adds fields at the end only, and 0 or NULL keeps the behaviour of earlier versions. So callers of
 * older versions get the defaults of new fields, and those of newer versions are served unless they
 * use fields that this version lacks.
 *
 *     struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
 *     enum attn_status status = attn_options_read(given, &options, err);
 */
enum attn_status attn_options_read(const void *given, void *options, struct attn_error *err);

#endif
