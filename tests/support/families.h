/* families.h - the small models of other families than GPT-2 and our own, for tests that hold for
 * every model. They have all parts that a block may have. */
#ifndef ATTN_TESTS_FAMILIES_H
#define ATTN_TESTS_FAMILIES_H

#define ATTN_FAMILY_DIRECTORIES                                                                    \
    "tests/fixtures/family-gpt-neox-parallel", /* fused heads, part of each turned, two norms */   \
        "tests/fixtures/family-gpt-neox-sequential",                                               \
        "tests/fixtures/family-llama3-untied-sharded",                                             \
        "tests/fixtures/family-llama-gqa-tied-bf16", "tests/fixtures/family-qwen2",                \
        "tests/fixtures/family-qwen3",       /* norms of each head */                              \
        "tests/fixtures/family-gpt-neo",     /* no scale */                                        \
        "tests/fixtures/family-mistral",     /* windows */                                         \
        "tests/fixtures/family-olmo2",       /* norms after, and of all heads at once */           \
        "tests/fixtures/family-gemma2",      /* soft caps */                                       \
        "tests/fixtures/family-gemma3-text", /* two ropes */                                       \
        "tests/fixtures/family-phi"          /* one norm for attention and MLP */

enum { ATTN_N_FAMILY_DIRECTORY = 12 };

#endif
