/* hash.c - see hash.h. */
#include "base/hash.h"

#include <sys/random.h>

uint64_t attn_hash_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uintptr_t)attn_hash_seed; /* address at which the program was loaded */
    return seed;
}
