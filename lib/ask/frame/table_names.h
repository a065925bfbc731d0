/* table_names.h - the names of the tables of questions, in help, in documents and of a struct
 * attn_table. Tables without a question (of predictions, models and tokens) are named where they
 * are created. Private to lib/questions. */
#pragma once

/* X(ID, name): a command; or a command, and what a text, items or an option make of its table. */
#define ATTN_TABLE_MAP(X)                                                                          \
    X(ABLATE, "ablate")                                                                            \
    X(ALIGN, "align")                                                                              \
    X(ATTRIBUTE, "attribute")                                                                      \
    X(ATTRIBUTE_BY_CELL, "attribute.by.cell")                                                      \
    X(ATTRIBUTE_INPUT, "attribute.input")                                                          \
    X(ATTRIBUTE_PATTERN, "attribute.pattern")                                                      \
    X(ATTRIBUTE_SCORE, "attribute.score")                                                          \
    X(CIRCUIT, "circuit")                                                                          \
    X(DIFF, "diff")                                                                                \
    X(EXAMPLES, "examples")                                                                        \
    X(FEATURES, "features")                                                                        \
    X(FEATURES_FIT, "features.fit")                                                                \
    X(FEATURES_ITEMS, "features.items")                                                            \
    X(GENERATE_ITEMS, "generate.items")                                                            \
    X(HEADS, "heads")                                                                              \
    X(HEADS_BY_PAIR, "heads.by.pair")                                                              \
    X(HEADS_COMPOSITION, "heads.composition")                                                      \
    X(HEADS_FROM_WEIGHTS, "heads.from-weights")                                                    \
    X(HEADS_SVD, "heads.svd")                                                                      \
    X(LENS, "lens")                                                                                \
    X(PATCH, "patch")                                                                              \
    X(PROBE, "probe")                                                                              \
    X(RUN_ITEMS, "run.items")                                                                      \
    X(RUN_TIDY, "run.tidy")                                                                        \
    X(SCORE, "score")                                                                              \
    X(SCORE_BY_WORD, "score.by.word")                                                              \
    X(SCORE_ITEMS, "score.items")                                                                  \
    X(SINKS, "sinks")                                                                              \
    X(SINKS_BY_KEY, "sinks.by.key")                                                                \
    X(SINKS_BY_LAYER, "sinks.by.layer")                                                            \
    X(SINKS_BY_PARK, "sinks.by.park")                                                              \
    X(SINKS_BY_TOKEN, "sinks.by.token")                                                            \
    X(SPANS, "spans")

#define ATTN_TABLE_NAME(id, name) static const char ATTN_TABLE_##id[] = name;
ATTN_TABLE_MAP(ATTN_TABLE_NAME)
#undef ATTN_TABLE_NAME
