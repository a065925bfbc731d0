/*
 * contacts.h - predicts which residues of a protein touch, from the patterns of all heads (Rao et
 * al. 2021, bioRxiv 2020.12.15.422761): a logistic regression whose weights are in the files of
 * ESM.
 *
 *     A_c = pattern of head c of all layers, 0 in rows and columns of <eos>, without the
 *           rows and columns of the first and the last token
 *     S = A_c + A_c^T
 *     F_c,ij = S_ij - (sum of row i) * (sum of column j) / (sum of S)
 *     contact_ij = sigmoid(b + sum over c of w_c F_c,ij)
 *
 * For derived.c. Patterns are added up while they come, so that no pattern has to be kept.
 */
#ifndef ATTN_SITES_CONTACTS_H
#define ATTN_SITES_CONTACTS_H

#include "sites/derived_internal.h"

struct attn_contacts;

/* Creates the sums for the text of OF, whose ids must begin with <cls> and end with <eos>; else
 * ATTN_INVALID. ASKED_BY, the trace that wants the contacts, and POOL are borrowed. */
enum attn_status attn_contacts_create(const struct attn_derived_scope *of,
                                      const struct attn_trace *asked_by, struct attn_pool *pool,
                                      struct attn_contacts **contacts, struct attn_error *err);

/* Adds EVENT, some rows of a pattern. All rows of all heads must come in order. */
void attn_contacts_add(struct attn_contacts *contacts, const struct attn_trace_event *event);

/* Passes the contacts to ASKED_BY. Call it after the last pattern. */
enum attn_status attn_contacts_emit(const struct attn_contacts *contacts, struct attn_error *err);

void attn_contacts_free(struct attn_contacts *contacts); /* NULL is allowed */

#endif
