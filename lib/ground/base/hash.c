#include "base/hash.h"

#include "base/os/os.h"

uint64_t attn_hash_seed(void)
{
    uint64_t seed;

    if (!attn_os_random(&seed, sizeof seed))
        seed = (uintptr_t)attn_hash_seed; /* address at which the program was loaded */
    return seed;
}
