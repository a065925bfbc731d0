/* record.c - see record.h. */
#include "run/record.h"

static const struct {
    const char *code, *meaning;
} failures[ATTN_N_RECORD_FAILURE] = {
#define ROW(id, code, meaning) {code, meaning},
    ATTN_RECORD_FAILURE_MAP(ROW)
#undef ROW
};

const char *attn_record_failure_code(enum attn_record_failure failure)
{
    return (unsigned)failure < ATTN_N_RECORD_FAILURE ? failures[failure].code : "";
}

const char *attn_record_failure_meaning(enum attn_record_failure failure)
{
    return (unsigned)failure < ATTN_N_RECORD_FAILURE ? failures[failure].meaning : "";
}
