"""Questions about a model: methods of Model that return a Table. Made by lib/python/make_questions.py: do not edit."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .procedures import ask
from .table import Table

if TYPE_CHECKING:
    from .model import Model


def ablate(self: Model, text=None, *, target=None, foil=None, at=None, metric: str = "auto", by: str = "head",
           replacement: str = "zero", tower: str = "text", heads=None, sets=None, cumulative: bool = False,
           estimate: bool = False, references=None, control: int | None = None, seed: int = 0, sort: str | None = None,
           limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table:
    """How the answer changes without a part of the model.

    Switches off one part of the model at a time, and prints how the answer changes: the metric, its change, the
    divergence of the prediction, and whether the most probable token is still the same. The first row is the whole
    model.

    The numbers say what the rest of the model makes of the text without the part. A small change does not say that the
    part does nothing: other parts may do the same. A large change may come from any damage: `control` shows the effect
    of random heads. Over `items` the numbers are means.

    With `estimate` gradients stand for the runs. An estimate is a straight line through the unchanged run: of a part
    whose change is large, or which later parts make up for, it can be far off, so try the largest without it.

    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    by          what each row switches off: one head (default), the attention of a layer, its MLP, both, or one neuron
                of the MLP of layer L, of a translator's encoder neuron:encoder:L. Of a picture beside a text, some of
                picture,tile,cell: all of it, each tile, each cell of the whole picture, replaced by the mean of all
                cells
    replacement what replaces the output of that part: zeros (default), its mean over the positions of the text or of
                all texts of `references`, or its rows in one text of `references`; uniform: the head gives every key
                that it sees the same weight
    tower       of a picture beside a text: whose parts are switched off, those of the decoder, which reads the text
                (default), or those of its tower, which encodes the picture and all its tiles; the answer is the
                decoder's in any case (text, image)
    heads       the heads that are switched off: 2.5,3.* or 0-3 of each layer; default: all
    sets        switch off these heads together, instead of each head by itself: 'copying=3.2,3.5'. May be given several
                times, one row each
    cumulative  switch off one more part in each row, beginning with the part whose own effect is the smallest
    estimate    estimate the changes of all parts by gradients, in about two runs: what an infinitely small step towards
                the replacement changes, times the whole way; for head, attn, mlp and neuron:L
    references  a list of texts: `replacement mean` takes the mean over all of them, `replacement resample` the rows of
                one
    control     add the mean effect of N random choices of as many heads, and its standard deviation
    seed        of the choice of a reference, and of the random choices of `control`
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("ablate", self, text, locals())


def align(self: Model, text=None, *, method=None, layers=None, heads=None, shifted: bool = False, by: str = "token",
          template=None, soft: bool = False, evaluate: bool = False, gold=None, sort: str | None = None,
          limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table | list[dict]:
    """Which word of a source is which word of a text.

    Prints a line of links for a source and a text: 0-0 1-2 links word 0 of the source to word 0 of the text, and word 1
    to word 2. With `items` it prints a line for each item that has source and text; the line of a failed item is empty.
    `csv` and `jsonl` have a row for each link: its words and its weight.

    Links come from cross-attention (each word of the text, and the word of the source with the largest weight), from
    hidden states of an encoder that reads both texts (by cosine), or from a decoder that reads a template with both.
    `soft` has all pairs of words, and pictures show them: rows of the text, columns of the source, with S and P where
    gold has a link. Words are separated by white space; items in other writing have the lists source_words and words.

    With `evaluate` and gold the table says how many links are right: precision, recall, and aer, the alignment error
    rate (Och and Ney 2003), for each head, so that the heads that align are found on data. Of a decoder: ts, the share
    of tokens whose largest weight is on a linked word, within, the same among the words of the source, mass, the weight
    there, and chance. Its weights are those beside parks (`attn-cli sinks` with `by park`), scaled to 1.

    `links` scores what another aligner wrote, without a model.

    Hidden states link what is similar, which need not be a translation.

    With a sound as source the table says when each word of the text was spoken, by the heads of a Whisper model that
    align, or by `heads`. `times` prints when each token of a transcript was spoken, from an array of the weights,
    without the rows of the prompt and frames after the end of the sound.

    method      how links are made: auto (default), by the model; cross: the largest cross-attention; attention: the
                largest attention of a decoder that reads both texts. The others compare hidden states of an encoder:
                argmax, each is the most similar of the other; itermax, then once more among words that are free; match,
                the pairs with the largest sum; softmax, probable from both sides, above T (default: 0.001)
    layers      the layers, as 8, 2-4 or all; of hidden states 0 is the embedding and L the output of block L - 1, and
                several need `evaluate`. Default: two thirds of the layers of hidden states and decoders, the last one
                of cross-attention; with `evaluate` all heads
    heads       the heads whose mean makes links, as in 1.0,3.*; default: those of the layers
    shifted     take for a token the row of the token before it, which predicts it, instead of its own row
    by          of hidden states: token (default) compares tokens, and links words of which any tokens are linked; word
                compares the means of the tokens of words (token, word)
    template    of a decoder: the text that it reads, with {source} and {target} in it
    soft        a row for each pair of words, with its weight, whether it is a link, and S or P for a sure or a possible
                link of gold; pictures show these rows
    evaluate    compare with links made by people, 'gold' of each item: print precision, recall and alignment error
                rate; of a decoder how well each head finds the linked words
    gold        read gold from FILE, a line for each item: 0-0 1-2 are sure links, 1p2 or 1?2 possible ones; with :1 its
                words count from 1
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("align", self, text, locals())


def attribute(self: Model, text=None, *, target=None, foil=None, at=None, metric: str = "auto", by: str = "part",
              score=None, method: str = "dla", baseline: str = "auto", baseline_text=None, baseline_image=None,
              baseline_keep=None, merge_words: bool = False, generated: int | None = None, continuation=None,
              sort: str | None = None, limit: int | None = None, where: dict | None = None, columns=None,
              **options) -> Table:
    """How much each part of the model adds to a logit.

    Splits the logit of `target` (minus that of `foil`), a token after TEXT or a label, into what embedding, positions,
    heads, biases and MLPs add to it. The final norm divides by a number that depends on all parts: this number is kept
    as it is in the run, so that the parts add up. The row 'sum' is their sum, the row 'model' the logit that the model
    computes.

    The numbers say which parts write the answer directly; of two logits not which one they move, so ask without `foil`,
    too. Nor do they say which part found it: that one has a small share here, and `attn-cli ablate` measures it.

    With `method` the tokens of the text, or the patches of a picture, get attributions, by gradients. These are about
    this text, this answer and, for ig, this baseline; they do not say what happens when a token is replaced. With
    `source` and without `target` each token of TEXT is a target, attributed to the source and the tokens before it.

    With `score` the number that is split is no logit but the score that a head gives to a key, by what wrote the query
    and what wrote the key. A large pair says what the score is made of in this text. It does not say that the weight
    matters (`knockout`), nor that a writer alone would do it.

    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    by          part (default): one row per part of the model. token: one row per head and key that it read from, those
                with the 20 largest magnitudes, or as `sort` and `limit` have it. With `score`: pair (default), one row
                per writer of the query and writer of the key; query or key, one row per writer of that side, with the
                sum over the other. cell, with `method` grad_x_input, saliency or ig: one row per cell of the picture
                beside the text, which the decoder reads, and sums over tiles, picture and text; for ig from the mean of
                all cells. pixel, with grad_x_input: the same of pixels, whose shares are added up over each cell (part,
                token, pair, query, key, cell, pixel)
    score       instead of a logit, split the score that this head at QUERY gives to KEY, before the softmax and a soft
                cap, into pairs of writers: a part of the model that wrote the query, and one that wrote the key.
                Positions or words; of several, the mean over the cells. relative is the score less its mean over all
                keys that the query sees: the softmax does not see what all keys share, so read relative. The 20 rows
                with the largest relative, or as `sort` and `limit` have it
    method      dla (default): the parts that write a logit. For tokens of the text, by gradients of `metric`: saliency,
                the length of the gradient of the token's embedding; grad_x_input, their product; ig[:N], integrated
                gradients, from `baseline` to the text in N points (50); attnlrp and relp, the product by the rules of
                AttnLRP and RelP; relevance, attention times its gradient, followed through the layers, and
                relevance_norm, the same with each row divided by its sum. For cells of patterns: attn_x_grad, attention
                times its gradient, the 20 largest or `limit`, with an estimate of what knocking each out changes;
                causes, the 12 largest of these with at most as many MLPs at positions whose output times its gradient
                is as large
    baseline    for ig: auto (default) is mask for encoders of texts with a mask token, grey for pictures, else mean.
                mask, pad: the embedding of this token at every position; mean: the mean embedding of the vocabulary;
                grey: every pixel 0 after normalization; zero: zeros. Without learned positions all that counts then
                lies close to them (auto, mask, pad, mean, zero, grey)
    baseline_text for ig: another text of as many tokens
    baseline_image for ig: another picture with as many patches
    baseline_keep for ig: positions or words that keep their embedding in the baseline. Default: the tokens that the
                tokenizer of an encoder added, like [CLS]
    merge_words for tokens: print one row per word, with the sum over its tokens
    generated   for tokens: instead of `target`, attribute each of the N most probable tokens that follow the text to
                all tokens before it
    continuation the same for the tokens of TEXT, after the text; over items their ce
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("attribute", self, text, locals())


def circuit(self: Model, clean=None, corrupted=None, *, target=None, foil=None, at=None, metric: str = "auto",
            direction: str = "noise", method: str = "eap-ig", curve=None, select: str = "greedy",
            size: int | None = None, evaluate=None, control: int | None = None, sort: str | None = None,
            limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table:
    """Which edges between the parts carry the difference of two texts.

    Scores each edge from what one part writes into the residual stream to one later part that reads it: input, heads
    2.5 and MLPs 2.mlp write; the q of a head, 3.1.q, the k and v of a key head, 3.0.k, MLPs and the logits read. A
    score estimates, by gradients, which share of the difference of both answers is lost if this edge alone is patched:
    the effect of `attn-cli patch` with `path`.

    Scores are about the difference of these two texts, and straight lines through a model that is none: some are far
    off. They do not add up to 1. Edges that only work together show nothing alone.

    With `curve` circuits are run: parts read the corrupted text, except through the edges of the circuit. A circuit
    that keeps the answer of this pair is one of many; it does not say that the rest does nothing elsewhere. Compare it
    with the column `control`.

    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    direction   noise (default): what the clean answer loses if an edge is corrupted; restore: what the corrupted text
                gains if it is clean (noise, restore)
    method      eap-ig[:N] (default): the mean gradient at N points (5) between both texts, of Gauss and Legendre;
                eap-ig:N:riemann: at k/N of the way from the corrupted text, k from 0, as the program EAP-IG takes them;
                eap: that of the patched text, in five feeds
    curve       run circuits with these numbers of edges, 10,20,50, or auto: 10, 20, 50, 100 ... and all. Prints which
                share of the clean answer each circuit keeps
    select      for `curve` and `size`, which edges a circuit takes: greedy (default), which begins with the logits and
                adds the edge with the largest score among those that end in a part of the circuit; top, the edges with
                the largest scores (greedy, top)
    size        return the edges of the circuit with N edges, without those on no way from the input to the logits;
                default: all edges. Large scores below 0 are chosen, too: such edges work against the answer, so that
                more edges can carry less
    evaluate    run the circuit with the edges of FILE, a table as CSV that `attn-cli circuit` wrote
    control     for `curve` and `evaluate`, also run R circuits of as many random edges for each circuit, and print the
                mean and the standard deviation of their faithfulness; default: 10; 0: no random circuits
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("circuit", self, clean, locals())


def diff(self: Model, a=None, b=None, *, with_model=None, with_image=None, with_attention=None, sort: str | None = None,
         limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table:
    """What differs between two texts, models or attentions.

    Compares where the heads look in two texts, or in one text under two models or two kinds of attention: total
    variation and Jensen-Shannon divergence of the rows of each head. In a causal model, rows before the first token
    that differs must be the same: they are compared bit for bit, and a note says how many they are. For texts of
    different lengths the common beginning and the common end are compared.

    A note about two models, and JSON, say how far the predictions of a text move: the mean KL(first || second), sum p1
    ln(p1/p2), how often both expect the same token most, and both perplexities, as in llama.cpp's table of
    kl-divergence.

    The numbers of a head say that it looks elsewhere. They do not say that its output differs, nor that the prediction
    does for that: see `attn-cli patch`.

    with_model  compare one text under this model and under another one, which must have as many layers and heads and
                make the same tokens of it
    with_image  compare one text beside the picture of `image` and beside that of FILE, which must have as many cells
    with_attention compare one text under `attention` and under KIND, which is written in the same way
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("diff", self, a, locals())


def examples(self: Model, text=None, *, heads=None, measures=None, bins: int | None = None, top: int | None = None,
             rows: bool = False, sort: str | None = None, limit: int | None = None, where: dict | None = None,
             columns=None, **options) -> Table:
    """What each head does on a corpus, shown by examples.

    Runs all texts of `items`, and gives each a value for each head: that of its largest row by a measure. Sorts the
    texts by this value, cuts them into bins, and shows some texts of each bin, with the row that has the largest value
    and the key that it looks at. The last bin has the largest values.

    The largest examples alone mislead: a head that looks like a name finder in the last bin may do something else in
    the nine others, which most texts are in.

    `html` writes a page of the texts, whose colors are the weights of the marked row. The texts are read twice, so that
    they must be a file. Heads of an encoder that has a decoder are left out.

    heads       the heads: 2.5,3.* or L5H1; default: all
    measures    what is measured of each row: weight (default), the largest weight on a key that is neither a park
                (`attn-cli sinks` with `by park`) nor the query itself, and neither the first nor the last of a source;
                or a measure of `attn-cli heads`: entropy, max, distance, self, previous, first, duplicate, induction,
                far. The value of a text is that of its largest row; with :mean it is the mean over its rows
    bins        cut the texts, sorted by their values, into N bins of equal size; default: 10
    top         show K texts of each bin: of the last bin the K largest, of the others K at equal distances; default: 3
    rows        keep the weights of the shown texts, which the page of the table shows
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("examples", self, text, locals())


def features(self: Model, text=None, *, sae=None, site=None, feature=None, by: str = "token", queries=None,
             top: int | None = None, fit: bool = False, target=None, foil=None, at=None, metric: str = "auto",
             sort: str | None = None, limit: int | None = None, where: dict | None = None, columns=None,
             **options) -> Table:
    """Features of a sparse autoencoder, by head and word (preview).

    Reads a dictionary of features (a sparse autoencoder) and prints those that fire at each position. `feature` with
    `by` head,key splits the number of a feature of z: from which head and from which word it came. The parts and the
    bias add up to the number of the model, exactly. `fit` says whether the dictionary fits the model, `items` finds the
    texts in which a feature is largest.

    An activation says that the vector has a part along a learned direction. It does not say what the direction means,
    nor that the answer uses it; `project` measures that: 'z:2=PATH#17' takes feature 17 out. `steer` 'z:2=PATH#17*8'
    adds 8 of it.

    sae         the dictionary: a folder of sae-lens, Gemma Scope, dictionary_learning or sparsify, or its file of
                weights; `sae` fable/sae is the one of the built-in model
    site        the tensor that it reads; default: as its config says
    feature     these features, from 0, with the number before the activation function: 17,23,100-110; default: those
                that fire
    by          rows: token (default), a row for each position and feature; others split the number of a feature of z:
                head, key or head,key (token, head, key, head,key)
    queries     positions; default: all that the tokenizer did not add, and `by` head or key the one with the largest
                number of each feature. An item may have its own
    top         the K largest features of each position, of `items` the K texts of each feature; default: 5, 0: all
    fit         instead: how well the dictionary rebuilds its tensor, and what that does to the answer, whose metric is
                ce without `target`
    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("features", self, text, locals())


def heads(self: Model, text=None, *, heads=None, sinks=None, from_weights: bool = False, composition: str = "none",
          svd=None, top: int | None = None, measures=None, corrupted=None, pattern=None, from_=None, to=None,
          renormalize: bool = False, effect: bool = False, by: str = "head", localize: bool = False,
          keep: int | None = None, tower: str = "text", threshold: float | None = None, shares: bool = False,
          target=None, foil=None, at=None, metric: str = "auto", drop_sinks: float | None = None,
          sort: str | None = None, limit: int | None = None, where: dict | None = None, columns=None,
          **options) -> Table:
    """Where each head looks, and what type of head it is.

    Measures where every head looks in TEXT: how widely (entropy, max), how far (distance), at the token itself, at the
    token before, at the first token, at earlier places of the same token (duplicate), at what followed them
    (induction), elsewhere (far).

    Most heads of real models park weight that they do not need on the first token or another sink (park; `attn-cli
    sinks` lists the places). The type says what a head does with the rest, scaled to 1: self, previous, next,
    induction, duplicate, marks, start (after a full stop), near (2 to 4 away), sentence, elsewhere, or two of these;
    even or broad if it spreads; mixed; parks from .9 on. Induction and duplicate are shares of the rest in the rows
    whose token stood before, at least 8. Most and share are the class with the largest part of the rest, and this part;
    `shares` adds all parts. A text of under 30 tokens has no types.

    The numbers say where a head looks in this text. They do not say what it takes from there, nor whether that matters:
    see `effect` and `attn-cli ablate`. Over `items` the numbers are means, and the type follows from the means. Items
    may name the words to look between (from, to), and with `effect` a target. 'attn-cli help measures' explains each of
    them.

    `figure map` draws a cell for each head: its type, and its weight as a bar, the parked part pale.

    `html` over `items` is an atlas: points by any two measures, which open cards of heads, with the texts in which a
    head looks most strongly. Only `effect` costs more than one pass over the texts: a run for each head and text.

    heads       the heads: 2.5,3.* or L5H1; default: all
    sinks       add what a KV cache with the first K keys and the last W keys keeps and loses: sink_mass, the weight on
                the first K keys, mean over the rows after them, and distant, the weight on keys that are neither among
                these nor less than W away, mean over the rows that have such keys. 4:64 is usual (Xiao et al.
                2309.17453). It does not say that the answer needs the distant keys: `attention sink:K:W` runs without
                them
    from_weights instead of a text, read the weights: sizes of the maps W_V W_O (ov) and W_Q W_K^T (qk), and whether a
                head would copy the token that it reads (copying) or look at the token that it is at (matching), -1 to
                1, with the MLP of layer 0 before it (mlp0: read this one above layer 0). Weights show how a head would
                act on any token that it attends to; they do not show which tokens it attends to
    composition instead of a text, read the weights of pairs of heads: how much of what the earlier one writes lies
                where the queries (q), keys (k) or values (v) of the later one read, |A B| / (|A| |B|), and the root
                mean square of that for maps turned at random (baseline). The 20 largest. It compares sizes of maps; it
                does not show that the later head uses what the earlier one writes (none, q, k, v)
    svd         instead of a text, read the weights of one head: singular directions of its map W_V W_O (ov, default) or
                W_Q W_K^T (qk), and the tokens of the vocabulary that lie farthest along each side, of the N directions
                (5) with the largest singular values. The sign of a direction is that of its largest component on the
                first side
    top         of `svd`: K tokens on each side; default: 5
    measures    print these measures, as in entropy,punctuation, or all; default: all but punctuation, next, separator
                and the counts of these. weight: that between two words alone. direct, ablated, patched: what heads do
                for an answer, as `attn-cli attribute`, ablate and patch find it
    corrupted   for `measures` patched: the same text with a difference, as for `attn-cli patch`; TEXT is the clean one
    pattern     compare patterns with an array P [T, T] of your own: mul, the share of the weight that lies on P, and
                abs, 1 minus the mean difference of a row from P
    from_       with `to`: how much these queries look at those keys; positions or words of the text
    to          the keys that `from_` looks at; in cross-attention layers they are in the source
    renormalize measure what is left of each row without the keys where heads park weight, as `attn-cli sinks` with `by
                park` lists them, divided by its sum: entropy, max, distance and all shares, and the weight from `from_`
                to `to`. Rows that see parks alone do not count. Without types, which are of the rest anyway
    effect      add a column: how the answer changes without the head, as `attn-cli ablate` measures it
    by          head (default); layer: of a picture beside a text, one row per layer, with the means over its heads;
                pair: instead of measures, pairs of heads, the most alike first, with js: the Jensen-Shannon divergence
                of their rows, mean over the rows. A small js does not say that the heads read and write the same things
                (head, layer, pair)
    localize    of a picture beside a text: rank the heads that look at one place of it (Kang et al. 2503.06287); kept
                are heads with a large share of it, from layer 2 on, that do not look at its last row (preview)
    keep        with `localize` over `items`, a head is selected in an item if its rank is at most N; default: 10
    tower       of a decoder that reads pictures beside a text: measure the decoder (text, default), or its tower, which
                reads `image` alone (image) (text, image)
    threshold   the share of the weight beside parks above which one class names a head; default: 0.5
    shares      add the shares from which the type follows, of the weight beside parks: rest_self, rest_previous, ...;
                they add up to 1. `figure map`, which has them without `shares`, and the cards of an atlas draw them as
                bars
    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    drop_sinks  leave out the cells of a picture on which the stream into a layer has a peak of X times its root mean
                square: heads look there when nothing else fits; try 20
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("heads", self, text, locals())


def lens(self: Model, text=None, *, target=None, foil=None, queries=None, layers=None, top: int | None = None,
         sites=None, heads_out: bool = False, map=None, measures: str = "entropy", sort: str | None = None,
         limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table:
    """What each layer already knows of the next token.

    Reads the residual stream of each layer with the model's own final norm and output matrix (the logit lens), and
    prints the most probable tokens, or with `target` the rank of one, with `foil` the difference of their logits. The
    last row is the model's own prediction. Over `items` the numbers are means and standard deviations by layer: of the
    target, or, with `top` or if the first item has no target, of the K largest probabilities, whichever tokens have
    them.

    The numbers say from which layer on an answer can be read off the residual stream. They do not say that an earlier
    layer lacks it: that layer may hold it in another form.

    `map` first multiplies the output of a layer by a matrix of a folder, which may have been fitted with PyTorch: a
    tuned lens, or a Jacobian lens, the mean derivative of the last layer's output. It is of one corpus: name the
    corpus.

    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    queries     positions to read at, numbers or words of the text; default: -1, the last, for an encoder the mask, for
                a picture [CLS], for a classifier the token that it reads. An item's own is one
    layers      print the rows of these layers only: 0,2-4 or 0-11+2; -1 is the last, which has two
    top         print the K most probable tokens, or labels of a picture, of each reading; default: 3
    sites       read these sites too: resid_mid, resid_post; default: resid_pre of each layer and resid_post of the last
    heads_out   read what each head by itself adds to the residual stream: the K largest and K smallest logits
    map         multiply the output of each layer L by the matrix of DIR/L.npy or DIR/L.safetensors before it is read: a
                tuned lens, a Jacobian lens
    measures    add columns to each reading, in nats: entropy of its distribution; kl, how far the model's own
                prediction is from it, sum p ln(p / q)
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("lens", self, text, locals())


def patch(self: Model, clean=None, corrupted=None, *, target=None, foil=None, at=None, metric: str = "auto", site=None,
          queries=None, heads=None, direction: str = "auto", path=None, norm: str = "exact",
          estimate: str | None = None, verify: int | None = None, by: str = "head", control: int | None = None,
          seed: int = 0, corrupted_source=None, corrupted_image=None, positions=None, sort: str | None = None,
          limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table:
    """Which part of the model carries the difference of two texts.

    Runs the corrupted text again and again, each time with another piece copied from the clean run, and prints how much
    of the clean answer that restores: effect is 1 for the whole difference. The first rows are the two runs without a
    copy. Over `items`, effect is the mean change divided by that of the other run; items of different lengths need
    `positions`, or a site with heads.

    The numbers say which parts carry the difference between these two texts. They do not say what else the answer
    needs: what both texts share has no effect, and pieces that only work together show nothing alone.

    With `path` one edge of the clean run is patched: the end of the path alone reads the other run's difference.
    `attn-cli circuit` estimates the effects of all edges. What parts between both ends would carry on is not in the
    number, so it is not that of path patching through all MLPs.

    With `estimate` gradients stand for the runs. An estimate is a straight line through the run that is patched; only
    rows with an effect were computed. Notes say how both agree there, and how many large effects the others may hide.

    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    site        what is copied from the other run: resid_pre (default), resid_mid, resid_post, attn_out or mlp_out at
                one position, or q, k, v, z or pattern of one head; with `estimate` also mlp_post, one neuron at all
                positions, of which the 20 largest or `limit` are printed
    queries     copy only these positions of a head, numbers or words of the clean text; for k and v, in layers that
                attend to the source, of the source
    heads       patch only these heads: 2.5,3.* or 0-3 of each layer; default: all; for k and v these are the heads of
                queries that read them
    direction   restore: what the corrupted text gains from a copy of the clean run; noise: what the clean text loses by
                one of the corrupted run; auto (default): noise with `path`, as `attn-cli circuit`, else restore (auto,
                noise, restore)
    path        patch edges instead of parts: TO alone reads what FROM writes in the other run. FROM is input, a head
                2.5, or 2.mlp; TO is the q of a head, 3.1.q, the k or v of a key head, 3.0.k, 3.mlp, or logits; * is any
    norm        at the end of a path: compute the norm of what is read (exact, default), or keep its scale of the run
                that is patched (frozen) (exact, frozen)
    estimate    estimate all effects by gradients, in about two runs: atp, attribution patching, where q, k and pattern
                make the softmax again, good for heads; relp, by the rules of RelP; ig[:N], the mean gradient at N
                points (5) between both texts, good for the residual stream
    verify      patch the K parts with the largest estimates exactly, and K others drawn at random by SEED (0); default:
                10, and 0 is none
    by          of estimates for q, k, v, z and pattern: a row per head (default), or per head and position (query)
                (head, position)
    control     add the mean effect of N random choices of as many heads, and its standard deviation
    seed        of the random choices of `control` and `verify`
    corrupted_source the source of the corrupted text; default: `source`. Both have equally many tokens
    corrupted_image a picture, where `image` gives the clean one; it must have as many rows and columns of patches
    positions   places by their names, each of which is patched as a whole: a row for each
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("patch", self, clean, locals())


def score(self: Model, text=None, *, target=None, foil=None, at=None, metric: str = "auto", stride: int | None = None,
          by: str = "text", measures: str = "surprisal", heads=None, regions=None, sort: str | None = None,
          limit: int | None = None, where: dict | None = None, columns=None, **options) -> Table:
    """How surprising each token of a text is.

    Prints for each token of TEXT how surprising it is given what came before: -log2 p (bits), -ln p (nats), its rank
    among all tokens, and the most probable token in its place. The first token has no score. An encoder such as BERT
    reads each token with a mask in its place, and special tokens have no score. With an answer, a `continuation` or the
    assistant's message that ends a conversation, only the answer is scored; beside a picture without one the text
    around it. Mean, perplexity and number of scored tokens go to standard error. With `by` word a row is a word, the
    characters between white space: its bits, and by `measures` what else the model did there. `items`, `measures` and
    `each` write the words of many texts.

    For `items` the table has one row, or one for each group of `group_by`. Items with a target: the metric, whether the
    model is right, rank and probability of the target. Items with good and bad, two texts: the log probability of each,
    their difference, and whether the good one is more probable. Other items: nats, bits and tokens, or with `regions`
    these for each region. The mean of the column right is the accuracy. A target of several tokens is scored by the sum
    of their log probabilities. Answers that differ by less than 1e-5 of the larger one, or of 1, are ties: neither
    right nor wrong.

    The numbers say what this model expects of this text. They depend on the tokenizer: compare models by bits over the
    same text, not by perplexity. A low score does not say that a sentence is true, or good.

    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    stride      score a text longer than the model takes in windows that move by S positions
    by          word: a row for each word of TEXT, the sums over its tokens. For `items` without a target: text
                (default), the log probability of the text, which is the sum over its tokens; token, their mean; word,
                the mean over its words, or with `measures` their rows (text, token, word)
    measures    with `by` word: add the columns of these measures of each word: space, entropy, lens, attention;
                surprisal, which is always there, asks for the rows of `items`
    heads       the heads of the measure attention: 3.0,3.5 or 2.*; default: the last layer
    regions     for `items`: a row for each of these places of an item, its keys pos.NAME or words between marks
                (`marks`), with the sums over the tokens of the place. Punctuation after a word is not in its region
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("score", self, text, locals())


def sinks(self: Model, text=None, *, by: str = "head", queries=None, heads=None, threshold: float | None = None,
          sort: str | None = None, limit: int | None = None, where: dict | None = None, columns=None,
          **options) -> Table:
    """Where heads park weight: sinks, and massive activations.

    Prints for each head the mean weight of the first token over the rows that see it (first_weight), whether it is a
    sink (first_rate), whether any column is one (rate), how many others are (n_other_sink), which column has the most
    weight, and the length of the value there, divided by the mean length elsewhere (value_norm). Below 1 means: weight
    is parked there, and little is read. Columns that fewer than 8 rows see do not count: a few rows make any column a
    sink.

    `by token` pools the places of each token, the first of a text by itself; rate is the share of heads in which the
    place is a sink. `by layer` shows the residual stream: activations above 100 that are also above 1,000 times the
    median (n_massive), and where the largest is; with `threshold` all positions from a ratio on. Over `items` numbers
    are means.

    `by park` lists the positions that are parks wherever they stand: the first, and each that gets at least .1 of the
    weight of the rows after it, mean over heads (weight), and before some layer has a peak of at least 10 times the
    median of the peaks of all positions (ratio). Of encoders all other rows count, and [SEP] and </s> need no peak,
    since their norms remove it. `by key` sums the weight on each position over the rows of `queries` (received, mean
    over heads), as H2O and SnapKV do; share is that per row.

    A sink says where weight lies when a head has nothing to look for. It does not say that the token matters: `attn-cli
    spans` has what changes without it.

    by          rows: head (default); token, all its places; layer, massive activations; park, where `attn-cli heads`
                finds parks; key, the weight on it (head, token, layer, park, key)
    queries     by key: the rows that count; default: all
    heads       by key: the heads that count: 2.5,3.*; default: all
    threshold   a column is a sink if its mean weight is above X; default: 0.3. By layer: a row for each position whose
                ratio is at least X; default: the largest of each layer
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("sinks", self, text, locals())


def spans(self: Model, text=None, *, by: str = "head", spans=None, queries=None, heads=None, neutral=None,
          continuation=None, generated: int | None = None, effect: bool = False, hide: str = "parks", target=None,
          foil=None, at=None, metric: str = "auto", sort: str | None = None, limit: int | None = None,
          where: dict | None = None, columns=None, **options) -> Table:
    """Which part of the context was used.

    Names parts of the text by `positions NAME=SPEC`, and prints how much each head looks at them: the share of its
    weight, the share if all keys were equal (even), the weight of a token of the span beside that of new tokens
    (lookback), the part of the weight on all spans (focus), and whether tokens are copied from there. score is the
    share, or with `neutral` the weight that the queries add, by which spans are ranked. rest is what is in no span,
    parked the positions where heads park weight (`attn-cli sinks` with `by park`): no share counts them.

    If the text has a source, spans are parts of the source and heads those of cross-attention, unless `heads` has heads
    of self-attention alone.

    A share says where heads look. It does not say that what is there is used: long spans have large shares. `effect`
    says what changes when the queries do not see a span (change) or no other token does (cut). Over `items` the numbers
    are means, and rows gold are those of the span that the key gold of an item names. They alone have best and largest
    then: how often that span has the highest score, and the largest change.

    by          rows: head (default), a row for each head and span; span, means over the heads, and the sum of their
                scores; step, a row for each query (head, span, step)
    spans       the names of `positions` that are spans, or globs: d*; default: all of them. A conversation without
                `positions` has its messages: 0_system, 1_user
    queries     the rows that are measured, positions or words; default: -1, the last. An item may have its own
    heads       the heads that are measured: 2.5,3.* or 0-3 of each layer; default: all, with a source those of
                cross-attention
    neutral     rank spans by the weight that the queries add to that of TEXT in their place, such as N/A
    continuation put this answer behind the text: the queries are the tokens that write it
    generated   the same with the N most probable tokens that follow the text
    effect      add columns: how the answer changes when the queries do not see the span (change), by span also when no
                token outside of it does (cut), both in the heads of `heads`; and how often its change is the largest
                (largest)
    hide        positions that are in no span: parks (default), where heads park weight that they do not need. They are
                the row parked, other numbers are of the weight that is left, and effects leave them visible; or none
                (parks, none)
    target      the next token that the question is about, usually with its space: ' are'
    foil        the token that the target is compared with: ' is'; '' is the mean of all logits
    at          the position that the target follows, a number or a word of the text; default: -1, the last. For an
                encoder, the position of the target; default: the mask
    metric      what is measured: logit_diff, the target's logit minus the foil's; log_prob, ln p(target); its logit or
                its probability. auto (default) is logit_diff with a foil, log_prob without. kl, KL(p before || p
                after), and ce, the mean of -ln p over the text's own tokens, need no target (auto, logit_diff,
                log_prob, logit, prob, kl, ce)
    sort        sort by this column, the largest first, as Table.sort does
    limit       so many rows, of each group; 0: all; default: all, of cells and of heads by token the 20 largest
    where       only the rows with these values, as {'layer': 2}; Table.where does the same
    columns     only these columns, in this order; Table.select does the same
    options     those of Model.run about input, attention and interventions; items, a path, texts, dicts or a frame,
                with items_format, marks, group_by, paired, bootstrap, interval, cluster, contrast, fdr, each, shard,
                max_errors, resume
    """
    return ask("spans", self, text, locals())


class Questions:
    """What a model is asked."""

    ablate = ablate
    align = align
    attribute = attribute
    circuit = circuit
    diff = diff
    examples = examples
    features = features
    heads = heads
    lens = lens
    patch = patch
    score = score
    sinks = sinks
    spans = spans
