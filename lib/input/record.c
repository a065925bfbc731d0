/* record.c - see record.h and record_internal.h. */
#include "input/record_internal.h"

#include <string.h>

const char *attn_record_failure_code(enum attn_record_failure failure)
{
    static const char *const codes[ATTN_N_RECORD_FAILURE] = {
#define CODE(id, number, code) [ATTN_RECORD_FAILURE_##id] = (code),
        ATTN_RECORD_FAILURE_MAP(CODE)
#undef CODE
    };

    return (unsigned)failure < ATTN_N_RECORD_FAILURE ? codes[failure] : "";
}

size_t attn_record_n_byte(const struct attn_record *record)
{
    const struct attn_input *input = &record->input, *source = &record->source;
    size_t n_byte =
        record->n_id + input->n_text + input->n_pair + source->n_text +
        (input->n_id + input->n_type + input->n_key_mask + source->n_id + source->n_key_mask) *
            sizeof(int32_t);

    for (size_t i = 0; i < record->n_next; i++)
        n_byte += strlen(record->next[i]);
    return n_byte;
}
