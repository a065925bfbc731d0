/*
 * item_notes.h - the notes about many items, and which of the caller's values no item uses. Private
 * to lib/questions.
 *
 * Functions may be called on any thread; one at a time calls the caller.
 */
#pragma once

#include "run/request.h"
#include "stream/many.h"

struct attn_item_notes;

/* REQUEST, borrowed, receives the notes. */
enum attn_status attn_item_notes_create(const struct attn_request *request,
                                        struct attn_item_notes **notes, struct attn_error *err);
void attn_item_notes_free(struct attn_item_notes *notes); /* NULL is allowed */

/* Forwards a note (attn_note_fn; USER are the notes). */
void attn_item_notes_forward(void *user, enum attn_note code, const char *message);

/* Forwards the first note with each code (attn_note_fn; USER are the notes). */
void attn_item_notes_once(void *user, enum attn_note code, const char *message);

/* Lets REQUEST, of one item or of all, send each note once, and count the edits that change
 * nothing. */
void attn_item_notes_fill(struct attn_item_notes *notes, struct attn_request *request);

/* Notes the first id that is there a second time, on the same SIDE of pairs if IS_PAIRED. Only the
 * hashes of the first 65,536 ids are compared, so that memory is bounded. */
void attn_item_notes_id(struct attn_item_notes *notes, const struct attn_item *item, int side,
                        bool is_paired);

/* Notes that the item of RESULT failed, if it is one of the first ten that differ. */
void attn_item_notes_failure(struct attn_item_notes *notes, const struct attn_item_result *result);

/* The first reports that N items of all, 0 if not known, are done; the second reports it again. */
void attn_item_notes_progress(struct attn_item_notes *notes, uint64_t n, uint64_t n_all);
void attn_item_notes_renew(struct attn_item_notes *notes);

/* The first sends a note for each edit that changed nothing in some of N items, the second one
 * about failures that were not noted. */
void attn_item_notes_idle(struct attn_item_notes *notes, size_t n);
void attn_item_notes_others(struct attn_item_notes *notes);

/* --- Defaults --------------------------------------------------------------------------------- */

enum { ATTN_MOST_DEFAULTS = 64 };

/* The caller's values for items that lack these keys. An unused default is an error before the
 * first item; if the input is a pipe, it is a note at the end. Unused places are always a note,
 * because they still define the order of rows. */
struct attn_item_defaults {
    struct attn_item_default {
        const char *keys;  /* keys of items that replace the default, "queries|at"; or NULL */
        const char *place; /* the name of a place; of keys, that of the parameter if another */
    } items[ATTN_MOST_DEFAULTS]; /* [n] */
    size_t n;
    uint64_t untaken; /* bit set of those that no item has used */
};

/* Adds a default, unless it is listed. More than ATTN_MOST_DEFAULTS are ignored. */
void attn_item_defaults_add(struct attn_item_defaults *defaults, const char *keys,
                            const char *place);

/* Marks the defaults as used that ITEM uses because it lacks a value. */
void attn_item_defaults_take(struct attn_item_defaults *defaults, const struct attn_item *item);

/* Returns the bits of the defaults that are no places. */
uint64_t attn_item_defaults_keys(const struct attn_item_defaults *defaults);
