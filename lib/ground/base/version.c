#include "base/version.h"

const char *attn_version(void)
{
    return ATTN_VERSION;
}
