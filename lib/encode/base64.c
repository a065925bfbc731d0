/* base64.c - see base64.h. */
#include "encode/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void attn_base64_append(struct attn_buffer *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    const size_t size = (n + 2) / 3 * 4;
    char *to = attn_buffer_reserve(out, size);

    if (!to)
        return;
    out->size += size;
    for (; n >= 3; n -= 3, in += 3) {
        *to++ = digits[in[0] >> 2];
        *to++ = digits[(in[0] & 3) << 4 | in[1] >> 4];
        *to++ = digits[(in[1] & 15) << 2 | in[2] >> 6];
        *to++ = digits[in[2] & 63];
    }
    if (n == 0)
        return;
    *to++ = digits[in[0] >> 2];
    *to++ = digits[(in[0] & 3) << 4 | (n == 2 ? in[1] >> 4 : 0)];
    *to++ = n == 2 ? digits[(in[1] & 15) << 2] : '=';
    *to = '=';
}
