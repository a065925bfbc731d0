/* alphabet.c - see alphabet.h. */
#include "text/alphabet.h"

#include "base/utf8.h"

#include <string.h>

static bool is_itself(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

void attn_alphabet_init(struct attn_alphabet *alphabet)
{
    unsigned next = 0x100;

    memset(alphabet->byte, 0xff, sizeof alphabet->byte); /* -1 */
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned code_point = is_itself(byte) ? byte : next++;

        alphabet->code_point[byte] = (uint16_t)code_point;
        alphabet->byte[code_point] = (int16_t)byte;
    }
}

bool attn_alphabet_to_bytes(const struct attn_alphabet *alphabet, const char *key, size_t size,
                            char *out, size_t *n_byte)
{
    size_t n = 0;

    for (size_t at = 0; at < size; at++) {
        unsigned code_point = (unsigned char)key[at];

        if (code_point >= 0x80) { /* of two bytes: the alphabet ends at U+0143 */
            if (code_point < 0xc2 || code_point > 0xc5 || ++at == size ||
                ((unsigned char)key[at] & 0xc0) != 0x80)
                return false;
            code_point = (code_point & 0x1f) << 6 | ((unsigned char)key[at] & 0x3f);
        }
        if (code_point >= sizeof alphabet->byte / sizeof *alphabet->byte ||
            alphabet->byte[code_point] < 0)
            return false;
        out[n++] = (char)alphabet->byte[code_point];
    }
    *n_byte = n;
    return true;
}

size_t attn_alphabet_from_bytes(const struct attn_alphabet *alphabet, const char *bytes,
                                size_t size, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++) {
        char character[4];
        size_t length = attn_utf8_encode(alphabet->code_point[(unsigned char)bytes[i]], character);

        memcpy(out + n, character, length);
        n += length;
    }
    return n;
}
