/*
 * normal_form.h - Unicode's normal forms (UAX 15): characters composed as far as they can be, or
 * decomposed; and those of compatibility, in which ligatures, wide letters and others become plain.
 */
#ifndef ATTN_TOKENIZER_UNICODE_NORMAL_FORM_H
#define ATTN_TOKENIZER_UNICODE_NORMAL_FORM_H

#include "tokenizer/pipeline.h"

enum attn_normal_form { ATTN_NFC, ATTN_NFD, ATTN_NFKC, ATTN_NFKD };

/* Whether TEXT [size] has no character that FORM could change. False for some texts that are
 * normal. Bytes that are not UTF-8 do not matter. */
bool attn_normal_form_is_given(enum attn_normal_form form, const char *text, size_t size);

/*
 * Appends FORM of the slice of LAYER, which was begun, SIZE bytes. A composed character stands for
 * the first that it was made of; for the others stands nothing. The parts of a character all stand
 * for it. So it is in the library tokenizers.
 */
enum attn_status attn_normal_form_apply(enum attn_normal_form form, struct attn_layer *layer,
                                        size_t size, struct attn_error *err);

#endif
