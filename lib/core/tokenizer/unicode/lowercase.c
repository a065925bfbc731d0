/* lowercase.c - lower case of characters. */
#include "tokenizer/unicode/unicode_internal.h"

size_t attn_lowercase(uint32_t code_point, uint32_t lower[2])
{
    const struct attn_character_range *range;

    lower[0] = code_point;
    /* I with a dot, the only character whose lower case is two characters. */
    if (code_point == 0x130) {
        lower[0] = 'i';
        lower[1] = 0x307;
        return 2;
    }
    range = attn_character_range_find(attn_lower_cases, attn_lower_cases_end, code_point);
    if (range && !((code_point - range->first) & range->value & 1))
        lower[0] = (uint32_t)((int32_t)code_point + (int32_t)(range->value & ~1U) / 2);
    return 1;
}
