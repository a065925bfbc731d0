/*
 * align.h - which word of a source is which word of a text: links between their words, from hidden
 * states or from attention, and how well they agree with links that people made.
 *
 *     struct attn_align_args args = ATTN_ALIGN_ARGS_DEFAULT;
 *     args.study = &study, args.has_score = true;       // items with source, text and gold
 *     attn_align(host, &request, &args, &table, &err);
 *
 * Words are runs without white space, or the lists `source_words` and `words` of the item. A link
 * is one of three sorts, which `method` chooses:
 *
 *     cross      for each word of the text the word of the source with the largest weight
 *     hidden     two runs, one of each text; the vectors of a layer are compared by cosines, and
 *                links follow by a method (analysis/links.h)
 *     attention  one run of a template that has both texts; as `cross`, over the keys of the source
 *
 * Weights between words: columns of a word's tokens summed, rows of a word's tokens averaged (Clark
 * et al. 2019, section 4.1).
 *
 * Without `has_score` the table has these rows, or of items `each` of the study gets them:
 *
 *     links                                     one row: "0-0 1-2", word of the source - word of
 *                                               the text, from 0; with `is_line`
 *     source_index, source, word_index, word, weight        else a row for each link: its cosine,
 *                                               or weight; of softmax the smaller probability
 *
 *     ..., linked, mark                         with `is_soft` a row for each pair of words:
 * whether it is a link; "S" or "P" if it is a sure or a possible one of the gold, where there is
 * gold
 *
 * With it the table is a row for each layer (hidden), or for each head and the mean of the heads of
 * each layer (cross), over all items together (Och and Ney 2003; A: links, S: the sure ones of the
 * gold, P: these and the possible ones):
 *
 *     layer, method | layer, head          the mean of the heads has no head; the mean of
 *                                               `heads` of several layers has no layer either
 *     n, links, sure, possible                  items; |A|, |S|, |P|
 *     precision, recall, aer                    |A and P| / |A|; |A and S| / |S|;
 *                                               1 - (|A and S| + |A and P|) / (|A| + |S|)
 *
 * or of attention, where heads of a decoder that translates are looked for (AlignAtt; t: tokens of
 * words that have a sure link, g(t): tokens of the words that they are linked to), means over
 * items:
 *
 *     layer, head
 *     ts            share of t whose largest weight, over all keys, is in g(t)
 *     within        the same among the keys of the source
 *     mass          mean weight on g(t)
 *     chance        what `ts` would be of a head that looks at the source, anywhere: mean over t of
 *                   [the largest weight is in the source] times the share of its words in g(t)
 *     n, tokens     items; how many t
 */
#ifndef ATTN_EXPERIMENT_ALIGN_H
#define ATTN_EXPERIMENT_ALIGN_H

#include "base/table.h"
#include "run/run.h"

struct attn_study_args; /* study/study.h */

struct attn_align_args {
    size_t size;                         /* of this struct */
    const struct attn_study_args *study; /* items; NULL: the input and the source of the request */
    bool has_score;                      /* compare with the gold links of each item */
    bool is_line;                        /* without it: `links` instead of a row for each link */
    const char *layers; /* as of selections; hidden: from 0, the embedding, to L, several with a
                           score; NULL: hidden two thirds of L, cross the last layer that attends
                           to a source or with a score all of them, attention all with a score,
                           else two thirds of L */
    const char *heads;  /* of cross and attention: links are of their mean; NULL: all */
    const char *method; /* "auto", "cross", "attention"; of hidden states: "argmax", "itermax",
                           "match", "softmax" or "softmax:T", T from 0 to 1. NULL: "auto", cross of
                           models that attend to a source, argmax of encoders, attention of
                           decoders */
    bool is_by_word;    /* of hidden: words are compared by the mean of their tokens; else they
                           are linked when any of their tokens are */
    bool is_shifted;    /* of cross and attention: a token has the row of the token before it,
                           which predicts it; else its own */
    const char *text_template; /* of attention: "Say: {source}. {target}", with each once */
    const char *gold;  /* a file with a line of gold for each item; NULL: the label `gold` */
    bool is_one_based; /* words in gold count from 1 */
    bool is_soft;      /* without a score: a row for each pair of words */
};

#define ATTN_ALIGN_ARGS_DEFAULT ((struct attn_align_args){.size = sizeof(struct attn_align_args)})

/* Aligns the texts of REQUEST, or the items of ARGS, of which one without a source or, with a
 * score, without gold fails. The caller owns *table; that of items has rows only with a score.
 * Errors have a stage. */
ATTN_API enum attn_status attn_align(struct attn_host *host, const struct attn_request *request,
                                     const struct attn_align_args *args, struct attn_table **table,
                                     struct attn_error *err);

#endif
