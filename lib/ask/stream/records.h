/*
 * records.h - output formats for the results of many items. The formats are
 *
 *     rows    the rows of items as CSV or lines of JSON (each.h)
 *     jsonl   a line an item:
 *             {"id":"p7","labels":{"condition":"a"},"n_token":6,"ids":[804,...],"tokens":[...],
 *             "predictions":{...},"tensors":{"blocks.0.attn.hook_pattern":[...],...}}
 *             {"id":"p8","labels":{},"error":{"code":"too_long","message":"..."}}
 *     npz     an archive with a matrix for each item, 000000007/weight.npy. Its list of members,
 *             some 120 bytes each, belongs to its end and grows in FILE.members.part
 *     joined  an array over all items for each site (frame/collect.h)
 *
 * Numbers are written as the shortest text that reads back as the same number; missing numbers are
 * null or empty. The bytes depend only on the outcomes.
 */
#ifndef ATTN_STREAM_RECORDS_H
#define ATTN_STREAM_RECORDS_H

/* An output: a format, and where it is written. */
struct attn_records_item {
    const char *format; /* "rows", "jsonl", "npz" or "joined" */
    const char *path;   /* path of a file; NULL: writes to the sink */
    /* standard output, for example; borrowed and not committed; for rows and jsonl */
    struct attn_sink *sink;
};

#endif
