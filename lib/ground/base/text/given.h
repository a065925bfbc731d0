/*
 * given.h - checks arguments of the public interface: errors of the caller are reported as a status
 * and never abort. Asserts are for bugs of the library.
 *
 *     ATTN_NEED(err, host, request);
 */
#pragma once

#include "base/status.h"

#include <stdbool.h>

/* Returns IS_THERE, which states that the pointer NAME is not NULL. If it is false, sets
 * ATTN_INVALID at ATTN_STAGE_OPTIONS with a message about NAME. */
bool attn_is_given(bool is_there, const char *name, struct attn_error *err);

/* Checks each of POINTERS in the same way. NAMES has their names: "host, request". */
bool attn_are_given(const char *names, const void *const *pointers, struct attn_error *err);

/* Returns from the calling function with ATTN_INVALID if one of its arguments, pointers, is NULL.
 */
#define ATTN_NEED(err, ...)                                                                        \
    do {                                                                                           \
        if (!attn_are_given(#__VA_ARGS__, (const void *const[]){__VA_ARGS__}, (err)))              \
            return ATTN_INVALID;                                                                   \
    } while (0)

/* Checks likewise that the enum VALUE is one of 0 to N - 1. */
bool attn_is_choice(long value, long n, const char *name, struct attn_error *err);

/* Checks likewise that the array LATER, which is reserved for fields of later versions, is NULL. */
#define ATTN_IS_KNOWN(later, name, err)                                                            \
    attn_is_known(later, sizeof(later) / sizeof *(later), name, err)
bool attn_is_known(const void *const *later, size_t n, const char *name, struct attn_error *err);

/* Checks the STATUS that a callback of the caller, the field NAME, returned. A failure without a
 * message gets one, so that it cannot be mistaken for success. Returns the status. */
enum attn_status attn_call_status(enum attn_status status, const char *name,
                                  struct attn_error *err);

/* Copies DEFAULTS [n] to GIVEN [size], as much as it has room for, and zeroes the rest. If DEFAULTS
 * begins with its size, GIVEN begins with SIZE. Returns GIVEN, which may be NULL. */
void *attn_defaults_copy(void *given, size_t size, const void *defaults, size_t n);

/* Defines NAME_init, the function with the defaults of struct NAME. */
#define ATTN_DEFAULTS(name, ...)                                                                   \
    struct name *name##_init(struct name *given, size_t size)                                      \
    {                                                                                              \
        static const struct name defaults = {__VA_ARGS__};                                         \
                                                                                                   \
        return attn_defaults_copy(given, size, &defaults, sizeof defaults);                        \
    }

/*
 * Reads an options struct of a caller that may have been compiled with another version of the
 * library: copies the fields of GIVEN over OPTIONS, which has the defaults and its own size. If
 * GIVEN is NULL, the defaults remain. ATTN_INVALID for an impossible size, and for unknown fields
 * that are not zero.
 *
 * Such a struct begins with `size_t size`, which the initializer ATTN_..._DEFAULT sets. A version
 * adds fields at the end only, and 0 or NULL keeps the behaviour of earlier versions. So callers of
 * older versions get the defaults of new fields, and callers of newer versions work unless they use
 * fields that this version lacks.
 *
 *     struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
 *     enum attn_status status = attn_options_read(given, &options, err);
 */
enum attn_status attn_options_read(const void *given, void *options, struct attn_error *err);

/*
 * The twin of attn_options_read for results in the caller's memory: GIVEN, the argument NAME,
 * begins with its size, which the initializer ATTN_..._DEFAULT sets. Fails with ATTN_INVALID for
 * NULL and for an impossible size. Call it before any work.
 */
enum attn_status attn_results_check(const void *given, const char *name, struct attn_error *err);

/* Writes RESULTS [n_byte], which begin with a size, too, to GIVEN: all fields after the size that
 * GIVEN has room for. Fields that only the caller's version has become 0. */
void attn_results_write(const void *results, size_t n_byte, void *given);
