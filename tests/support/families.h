/* families.h - the small models of other families than GPT-2 and our own, for tests that hold for
 * every model. They have all parts that a block may have. */
#pragma once

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
        "tests/fixtures/family-phi",         /* one norm for attention and MLP */                  \
        ATTN_DECODER_DIRECTORIES, ATTN_ROW_DIRECTORIES

/* Those whose layers all have an MLP. */
#define ATTN_DENSE_DIRECTORIES                                                                     \
    "tests/fixtures/decoder-bloom", "tests/fixtures/decoder-mpt",                                  \
        "tests/fixtures/decoder-falcon-rw", "tests/fixtures/decoder-falcon-7b",                    \
        "tests/fixtures/decoder-falcon-40b", "tests/fixtures/family-olmo2",                        \
        "tests/fixtures/family-gemma2", "tests/fixtures/family-gpt-neox-parallel",                 \
        "tests/fixtures/family-qwen3", "tests/fixtures/family-phi"

/* Those of decoder.tar. */
#define ATTN_DECODER_DIRECTORIES                                                                   \
    "tests/fixtures/decoder-bloom",          /* ALiBi, rows of the embedding normalized */         \
        "tests/fixtures/decoder-mpt",        /* q, k and v clipped */                              \
        "tests/fixtures/decoder-falcon-rw",  /* ALiBi in bfloat16 */                               \
        "tests/fixtures/decoder-falcon-7b",  /* one key head */                                    \
        "tests/fixtures/decoder-falcon-40b", /* groups of queries */                               \
        "tests/fixtures/decoder-mixtral",    /* experts */                                         \
        "tests/fixtures/decoder-qwen2-moe",  /* and a shared one, and a dense layer */             \
        "tests/fixtures/decoder-qwen3-moe", "tests/fixtures/decoder-olmoe",                        \
        "tests/fixtures/decoder-granitemoe", /* and factors */                                     \
        "tests/fixtures/decoder-gpt-oss"     /* sinks, limits */

/* Those of row.tar but row-phimoe, whose longer texts turn all positions by other factors. */
#define ATTN_ROW_DIRECTORIES                                                                       \
    "tests/fixtures/row-ministral3",                   /* queries that grow */                     \
        "tests/fixtures/row-hunyuan-v1-dense",         /* q and k normalized after rotation */     \
        "tests/fixtures/row-apertus",                  /* xIELU */                                 \
        "tests/fixtures/row-nemotron",                 /* LayerNorm times 1 + w */                 \
        "tests/fixtures/row-xglm",                     /* sines */                                 \
        "tests/fixtures/row-granitemoehybrid-experts", /* a shared expert without a gate */        \
        "tests/fixtures/row-granitemoeshared", "tests/fixtures/row-granitemoehybrid",              \
        "tests/fixtures/row-arcee", "tests/fixtures/row-ernie4-5", "tests/fixtures/row-seed-oss",  \
        "tests/fixtures/row-internlm3"

enum {
    ATTN_N_DECODER_DIRECTORY = 11,
    ATTN_N_ROW_DIRECTORY = 12,
    ATTN_N_FAMILY_DIRECTORY = 12 + ATTN_N_DECODER_DIRECTORY + ATTN_N_ROW_DIRECTORY
};
