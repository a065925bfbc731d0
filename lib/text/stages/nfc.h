/*
 * nfc.h - Unicode's normal form C (UAX 15): characters composed as far as they can be.
 */
#ifndef ATTN_TEXT_STAGES_NFC_H
#define ATTN_TEXT_STAGES_NFC_H

#include "text/pipeline.h"

/* Whether TEXT [size] has no character that normalizing could change. False for some texts that are
 * normal. Bytes that are not UTF-8 do not matter. */
bool attn_nfc_is_normal(const char *text, size_t size);

/*
 * Appends the normal form of the slice of LAYER, which was begun, SIZE bytes. A composed character
 * stands for the first that it was made of; for the others stands nothing, as in the library
 * tokenizers.
 */
enum attn_status attn_nfc_apply(struct attn_layer *layer, size_t size, struct attn_error *err);

#endif
