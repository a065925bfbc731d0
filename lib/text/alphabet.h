/*
 * alphabet.h - the printable characters that stand for bytes in the files of byte-level tokenizers.
 *
 * GPT-2's bytes_to_unicode: 33..126, 161..172 and 174..255 are themselves, the other 68 bytes in
 * ascending order are U+0100..U+0143; a space is U+0120, a newline U+010A.
 */
#ifndef ATTN_TEXT_ALPHABET_H
#define ATTN_TEXT_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both ways; fill with attn_alphabet_init. */
struct attn_alphabet {
    uint16_t code_point[256]; /* of a byte */
    int16_t byte[0x144];      /* of a code point, -1 for those that stand for none */
};

void attn_alphabet_init(struct attn_alphabet *alphabet);

/*
 * Writes the bytes that KEY [size bytes of UTF-8] stands for to OUT, which has room for SIZE, and
 * stores their number. False when a character of KEY stands for no byte.
 */
bool attn_alphabet_to_bytes(const struct attn_alphabet *alphabet, const char *key, size_t size,
                            char *out, size_t *n_byte);

/* Writes what stands for the SIZE bytes at BYTES to OUT, which has room for 2 SIZE; returns how
 * much. */
size_t attn_alphabet_from_bytes(const struct attn_alphabet *alphabet, const char *bytes,
                                size_t size, char *out);

#endif
