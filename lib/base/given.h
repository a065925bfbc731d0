/*
 * given.h - checks the arguments of the public interface: a mistake of the caller is a status,
 * never an abort. Asserts are for mistakes of the library itself.
 *
 *     if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err))
 *         return ATTN_INVALID;
 */
#ifndef ATTN_BASE_GIVEN_H
#define ATTN_BASE_GIVEN_H

#include "base/status.h"

#include <stdbool.h>

/* Whether the argument NAME IS_THERE, a pointer (or a pointer to a function) as a truth value. If
 * not, the message is that NAME is NULL, with the stage ATTN_STAGE_OPTIONS and the status
 * ATTN_INVALID. */
bool attn_is_given(bool is_there, const char *name, struct attn_error *err);

/* Likewise whether VALUE is one of an enum's 0 to N - 1. */
bool attn_is_choice(long value, long n, const char *name, struct attn_error *err);

/* Likewise whether LATER [4], the room of a struct for fields of later versions, is NULL: else NAME
 * has some that this version does not know. */
bool attn_is_known(const void *const *later, const char *name, struct attn_error *err);

/* Likewise LATER [n], where newer fields have taken some of that room. */
bool attn_rest_is_known(const void *const *later, size_t n, const char *name,
                        struct attn_error *err);

/* The STATUS that a function of the caller, the field NAME, returned. A failure without a message
 * gets one, so that it is never mistaken for success. */
enum attn_status attn_call_status(enum attn_status status, const char *name,
                                  struct attn_error *err);

/*
 * Reads an options struct of a caller who may have been compiled with another version of the
 * library: copies the fields of GIVEN over OPTIONS, which hold the defaults and their own size.
 * GIVEN may be NULL: the defaults stay. ATTN_INVALID for an impossible size, and for unknown fields
 * that are not zero.
 *
 * Such a struct begins with `size_t size`: its size in bytes as the caller knows it, which the
 * initializer ATTN_..._DEFAULT sets. A version adds fields at the end only, after the old size, and
 * 0 or NULL keeps the behaviour of earlier versions. A caller of an older version gets the defaults
 * of new fields, and one of a newer version is served unless it uses fields that this version
 * lacks.
 *
 *     struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
 *     enum attn_status status = attn_options_read(given, &options, err);
 */
enum attn_status attn_options_read(const void *given, void *options, struct attn_error *err);

#endif
