/*
 * given.h - what a caller of the public interface gave is looked at before it is used: a mistake is a
 * status, never an abort. Asserts are for what only the library itself can do wrong.
 *
 *     if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err))
 *         return ATTN_INVALID;
 */
#ifndef ATTN_BASE_GIVEN_H
#define ATTN_BASE_GIVEN_H

#include "base/status.h"

#include "base/given.h"

#include <stdbool.h>

/* Whether something IS_THERE, a pointer as a truth value, of a function too. If not, ERR says that NAME
 * is NULL, with the stage ATTN_STAGE_OPTIONS and the status ATTN_INVALID. */
bool attn_is_given(bool is_there, const char *name, struct attn_error *err);

/* Likewise whether VALUE is one of an enum's 0 to N - 1. */
bool attn_is_choice(long value, long n, const char *name, struct attn_error *err);

/* What a function of the caller's returned, which the interface calls NAME. Where it failed without a
 * message ERR gets one: a failure is never taken for success because nothing was said. */
enum attn_status attn_call_status(enum attn_status status, const char *name,
                                  struct attn_error *err);

#endif
