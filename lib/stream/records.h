/*
 * records.h - output formats for the results of many inputs (batch.h): one line of JSON per
 * record, tables, and arrays with a row per record. The formats are
 *
 *     jsonl   {"id":"p7","n_token":6,"ids":[804,...],"measures":{"entropy":[[0.41,...],...],...}}
 *             with "labels":{"condition":"a",...} after the id if requested
 *             {"id":"p8","error":{"code":"too_long","message":"..."}}, a line a record
 *     csv     id,layer,head,n_token and the measures, a line a selected head of a record; or
 *             id,next,log_prob, a line a continuation; or id,word,text,bits,nats, a line a word
 *     edges   id,layer,head,query,key,weight: the largest keys of each query, a line each. Both
 *             have the labels of a record after its id
 *     npy     a folder: n_token.npy int32 [N], a file a measure float32 [N, L, H], and with
 *             predictions top_id.npy int32 [N, K], top_p.npy and next_log_prob.npy float32
 *             [N, K]. A record that failed is a row of 0, NaN, -1 and NaN
 *     npz     an archive with members 000000007/blocks.0.attn.hook_pattern, those of a run; none of
 *             a record that failed. Its list of members, some 120 bytes each, belongs to its end
 *             and grows in a file beside it, FILE.members.part
 *
 * Numbers are written as the shortest text that reads back as the same number; missing numbers are
 * null or empty. The bytes depend only on the outcomes.
 */
#ifndef ATTN_STREAM_RECORDS_H
#define ATTN_STREAM_RECORDS_H

#include "base/sink.h"

/* X(ID, number, name). The fields of a line of JSON, in this order. */
#define ATTN_RECORD_FIELD_MAP(X)                                                                   \
    X(IDS, 0, "ids")                 /* ids of its tokens */                                       \
    X(TOKENS, 1, "tokens")           /* texts of its tokens */                                     \
    X(OFFSETS, 2, "offsets")         /* begin and end of each token in the text, in bytes */       \
    X(MEASURES, 3, "measures")       /* measures of each head, [L, H] */                           \
    X(SURPRISAL, 4, "surprisal")     /* surprisal of each token, in nats */                        \
    X(PREDICTIONS, 5, "predictions") /* predicted tokens and labels */                             \
    X(TENSORS, 6, "tensors")         /* selected tensors, under their names in archives */

enum attn_record_field {
#define ATTN_RECORD_FIELD_ENUM(id, number, ...) ATTN_RECORD_FIELD_##id = (number),
    ATTN_RECORD_FIELD_MAP(ATTN_RECORD_FIELD_ENUM)
#undef ATTN_RECORD_FIELD_ENUM
        ATTN_N_RECORD_FIELD = 0 ATTN_RECORD_FIELD_MAP(ATTN_COUNT)
};

/* A set of fields, one bit for each. */
typedef uint64_t attn_record_field_set;
#define ATTN_RECORD_FIELD_BIT(id) (UINT64_C(1) << ATTN_RECORD_FIELD_##id)

/* An output: a format, and where it is written. */
struct attn_records_item {
    const char *format; /* "jsonl", "csv", "edges", "npy" or "npz" */
    const char *path;   /* path of a file, for npy of a folder; NULL: writes to the sink */
    /* standard output, for example; borrowed and not committed. Only jsonl, csv and edges can be
     * written to a sink */
    struct attn_sink *sink;
};

#endif
