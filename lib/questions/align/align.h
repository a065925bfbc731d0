/*
 * align.h - word alignment: which word of a source corresponds to which word of a text. Links are
 * derived from hidden states or from attention, and can be scored against links made by people
 * (gold).
 *
 *     struct attn_align_args args = ATTN_ALIGN_ARGS_DEFAULT;
 *     args.study = &study, args.evaluates = true;       // items with source, text and gold
 *     attn_align(host, &request, &args, &table, &err);
 *
 * Words are runs without white space, or the lists `source_words` and `words` of the item. There
 * are three ways to find links, which `method` selects:
 *
 *     cross      for each word of the text the word of the source with the largest weight
 *     hidden     two runs, one of each text; the vectors of a layer are compared by cosines, and
 *                links follow by a method (measures/links.h)
 *     attention  one run of a template that has both texts; as `cross`, over the keys of the source
 *
 * Weights between words: columns of a word's tokens summed, rows of a word's tokens averaged (Clark
 * et al. 2019, section 4.1).
 *
 * Without `evaluate` the table has a row `links` (with `is_line`), a row for each link, or for each
 * pair of words (with `is_soft`); for items, they go to `each` of the study. The weight of a link
 * is its cosine, or the weight; of softmax the smaller probability.
 *
 * With it the table is a row for each layer (hidden), or for each head and the mean of the heads of
 * each layer (cross), over all items together (Och and Ney 2003; A: links, S: the sure ones of the
 * gold, P: these and the possible ones). The mean of the heads has no head; the mean of `heads` of
 * several layers has no layer either:
 *
 *     precision, recall, aer     |A and P| / |A|; |A and S| / |S|;
 *                                1 - (|A and S| + |A and P|) / (|A| + |S|)
 *
 * or of attention, where heads of a decoder that translates are looked for (AlignAtt; t: tokens of
 * words that have a sure link, g(t): tokens of the words that they are linked to), means over
 * items:
 *
 *     ts, within     share of t whose largest weight, over all keys, or those of the source, is in
 *                    g(t)
 *     mass           mean weight on g(t)
 *     chance         what `ts` would be of a head that looks at the source, anywhere: mean over t
 * of [the largest weight is in the source] times the share of its words in g(t)
 */
#ifndef ATTN_ALIGN_ALIGN_H
#define ATTN_ALIGN_ALIGN_H

#include "run/run.h"
#include "tables/table.h"
#include "trace/lists.h"

struct attn_study_args; /* means/study.h */

struct attn_align_args {
    size_t size; /* size of this struct */
    /* items; NULL: aligns the input and the source of the request */
    const struct attn_study_args *study;
    bool evaluates; /* scores against the gold links of each item */
    bool is_line;   /* without evaluates: one row `links` instead of a row per link */
    /* as in selections; for hidden from 0, the embedding, to L. Only scores allow several. Not
     * given: for hidden 2/3 L; for cross the last layer that attends to a source, with evaluates
     * all of them; for attention 2/3 L, with evaluates all */
    struct attn_number_list layers;
    /* for cross and attention: links use the mean over these heads; not given: all */
    struct attn_head_list heads;
    /* "auto", "cross", "attention"; for hidden states "argmax", "itermax", "match", "softmax" or
     * "softmax:T", T from 0 to 1. NULL: "auto", which is cross for models that attend to a source,
     * argmax for encoders, and attention for decoders */
    const char *method;
    /* for hidden: compares words by the mean of their tokens; otherwise words are linked if any of
     * their tokens are */
    bool is_by_word;
    /* for cross and attention: a token uses the row of the token before it, which predicts it;
     * otherwise its own row */
    bool is_shifted;
    /* for attention: "Say: {source}. {target}", containing each placeholder once */
    const char *text_template;
    /* a file with a line of gold links for each item, whose words count from 1 if ":1" follows its
     * name; NULL: the label `gold` */
    const char *gold;
    bool is_soft; /* without evaluates: a row for each pair of words */
};

#define ATTN_ALIGN_ARGS_DEFAULT ATTN_QUESTION_DEFAULT("align", attn_align_args)

/* Aligns the texts of REQUEST, or the items of ARGS. An item without a source fails, and with
 * evaluates one without gold links. The caller owns *table; for items it has rows only with
 * evaluates. Errors have a stage. */
ATTN_API enum attn_status attn_align(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_align_args *args, struct attn_table **table,
                                     struct attn_error *err);

#endif
