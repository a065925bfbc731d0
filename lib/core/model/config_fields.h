/*
 * config_fields.h - the architecture of a model, as data.
 *
 * One forward pass serves every family; a config specifies the parts of its blocks. A field that is
 * zero means that the part is absent, or that no number is added or multiplied.
 */
#pragma once

#include "attention/attention.h"
#include "base/status.h"
#include "model/vision_config.h"
#include "trace/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_CONFIG_N_END = 8 };

/* The kind of all norms of a model. RMSNorm: Zhang and Sennrich 1910.07467. */
enum attn_norm {
    ATTN_NORM_NONE = 0,
    ATTN_NORM_LAYERNORM = 1,        /* (x - mean) / sqrt(variance + eps) * w + b */
    ATTN_NORM_RMSNORM = 2,          /* x / sqrt(mean of x^2 + eps) * w */
    ATTN_NORM_RMSNORM_PLUS_ONE = 3, /* x / sqrt(mean of x^2 + eps) * (1 + w) */
    ATTN_NORM_LAYERNORM_NO_BIAS = 4,
    ATTN_NORM_LAYERNORM_NO_WEIGHT = 5, /* (x - mean) / sqrt(variance + eps) */
    ATTN_NORM_LAYERNORM_PLUS_ONE = 6,  /* (x - mean) / sqrt(variance + eps) * (1 + w) + b */
    ATTN_NORM_RMSNORM_NO_WEIGHT = 7,   /* x / sqrt(mean of x^2 + eps) */
    ATTN_N_NORM
};

/* The factors of Falcon-H1; 0: no factor. */
struct attn_factor_config {
    double attn_in, key, attn_out; /* of the input of q, k and v, of k, and of attn_out */
    double mixer_in, mixer_out;    /* of the input of Mamba2, and of mixer_out */
    float mixer_parts[5]; /* of mixer_gate, the channels of v, k and q, and the time steps */
    double mlp_pre, mlp_out;
};

/* Where a block normalizes. */
enum attn_norm_place {
    ATTN_NORM_PRE = 0,    /* the input of attention and the MLP */
    ATTN_NORM_POST = 1,   /* their outputs */
    ATTN_NORM_AROUND = 2, /* the inputs and the outputs */
    ATTN_NORM_SUM = 3,    /* the stream itself, after each addition */
    ATTN_N_NORM_PLACE
};

/* How q and k are normalized before rotation. */
enum attn_qk_norm {
    ATTN_QK_NORM_NONE = 0,
    ATTN_QK_NORM_PER_HEAD = 1,  /* each head separately; all heads share the weights [E] */
    ATTN_QK_NORM_ALL_HEADS = 2, /* all heads of a position at once, with weights [H*E] and [G*E] */
    ATTN_QK_NORM_EACH_HEAD = 3, /* each head separately, with separate weights: [H, E] and [G, E] */
    ATTN_N_QK_NORM
};

enum attn_positions {
    ATTN_POSITIONS_NONE = 0,
    ATTN_POSITIONS_LEARNED = 1,
    ATTN_POSITIONS_ROTARY = 2,
    ATTN_POSITIONS_ALIBI = 3, /* a bias of the scores (struct attn_score_bias) */
    ATTN_N_POSITIONS
};

/* How the weights of the chosen experts are computed from router_logits. */
enum attn_expert_weights {
    /* Softmax over all experts, so that the weights sum to less than 1. */
    ATTN_EXPERTS_SOFTMAX_ALL = 0,
    /* The same, divided by the sum over the chosen experts. */
    ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED = 1,
    ATTN_EXPERTS_SOFTMAX_CHOSEN = 2,
    /* Two experts. The weight of the best one is its share of a softmax over the logits that are
     * not far below its own, by config->router_jitter; that of the second the same over the others.
     * The weights do not sum to 1 (SparseMixer: Liu et al. 2310.00811). */
    ATTN_EXPERTS_SOFTMAX_NEAR = 3,
    /* Sigmoids (struct attn_router_config); the choice goes by them plus a correction. */
    ATTN_EXPERTS_SIGMOID = 4,
    ATTN_N_EXPERT_WEIGHTS
};

/* How sigmoids choose experts: in the N_GROUP_USED of N_GROUP groups of neighbours whose two best
 * have the largest sums. Their weights are divided by their sum, if is_normalized, then multiplied
 * by FACTOR. */
struct attn_router_config {
    size_t n_group, n_group_used;
    double factor;
    bool is_normalized;
};

enum attn_output_layer {
    ATTN_OUTPUT_NONE = 0,
    ATTN_OUTPUT_TIED = 1, /* W_U is the transposed embedding */
    ATTN_OUTPUT_OWN = 2,
    ATTN_OUTPUT_STREAM = 3, /* the components of the residual stream, without W_U */
    ATTN_N_OUTPUT_LAYER
};

/* How learned positions of an image encoder are resampled for a different grid of patches. */
enum attn_resample {
    ATTN_RESAMPLE_NONE = 0,  /* a picture of another size is refused */
    ATTN_RESAMPLE_CUBIC = 1, /* cubic over four rows and columns, a = -0.75 */
    /* Cubic with antialiasing: as wide as the grid shrinks, a = -0.5. */
    ATTN_RESAMPLE_ANTIALIAS = 2,
    ATTN_RESAMPLE_OTHERS = 3, /* as CUBIC, but pictures of the model's own size are as they are */
    /* Linear, so that the corners of both grids coincide. All numbers are rounded to float32. */
    ATTN_RESAMPLE_CORNERS = 4,
    ATTN_N_RESAMPLE
};

/* The rows of the last stream that the output layer reads. */
enum attn_pooling {
    ATTN_POOLING_NONE = 0,           /* it reads each position separately */
    ATTN_POOLING_FIRST = 1,          /* [CLS] */
    ATTN_POOLING_FIRST_AND_MEAN = 2, /* [CLS] next to the mean of the patches, 2 d_model wide */
    /* Image_embed, text_embed or sentence_embed, divided by its length. */
    ATTN_POOLING_PROJECTED = 3,
    ATTN_POOLING_LAST = 4, /* the last position whose token is not padding; position 0 if all are */
    ATTN_POOLING_MEAN = 5, /* the mean of all positions */
    ATTN_POOLING_MEAN_OF_HEADS = 6, /* the mean of all positions after the head */
    ATTN_POOLING_FIRST_TWO = 7,     /* [CLS] next to DeiT's token of distillation */
    ATTN_N_POOLING
};

/* The pictures that an image encoder reads. Its positions are [CLS], the registers, and the patches
 * of the picture, row by row. Positions are learned for [CLS] and for the patches of a picture of
 * height x width. For other models all fields are 0. */
struct attn_image_config {
    size_t n_channel, height, width; /* size of pictures in pixels; 0: any */
    /* Size of a patch in pixels; above 0 only for image encoders. */
    size_t patch_height, patch_width;
    size_t n_register; /* positions between [CLS] and the patches */
    bool is_distilled; /* the register is DeiT's token of distillation, which has a learned position
                          and a classifier, as [CLS] */
    enum attn_resample resample;
    enum attn_pooling pooling; /* the pooling of the config, for models that read pictures */
    bool lacks_class;          /* the sequence begins with the registers, without [CLS] */
    size_t n_frame;            /* equal frames that a picture is read as; 0: 1 */
};

enum { ATTN_LARGEST_ID = -1, ATTN_LAST_ROW = -2 };

/* Returns the number of patches in a picture of IMAGE's own size; 0 if it is not for an image
 * encoder. */
static inline size_t attn_image_n_patch(const struct attn_image_config *image)
{
    return image->patch_height == 0
               ? 0
               : (image->height / image->patch_height) * (image->width / image->patch_width);
}

/* Returns the number of positions before the patches: [CLS] and registers. */
static inline size_t attn_image_n_front(const struct attn_image_config *image)
{
    return image->patch_height == 0 ? 0 : !image->lacks_class + image->n_register;
}

/* Returns how many of them have a learned position. */
static inline size_t attn_image_n_placed(const struct attn_image_config *image)
{
    return !image->lacks_class + image->is_distilled;
}

struct attn_model;
struct attn_kernels;
struct attn_image_grid;

/* Adds the learned positions of GRID to X [T, De]. ROW is scratch [2, De]. */
typedef void (*attn_add_places_fn)(const struct attn_model *model,
                                   const struct attn_kernels *kernels,
                                   const struct attn_image_grid *grid, float *row, float *x);

/* The positions of a picture: n_front for [CLS] and registers, then its patches, row by row. T =
 * n_front + n_row * n_col. */
struct attn_image_grid {
    size_t n_front, n_row, n_col;
    bool is_usual; /* the learned positions were made for this grid */
    attn_add_places_fn add_places;
};

/* What a row of logits is about. */
enum attn_task {
    ATTN_TASK_VOCABULARY = 0, /* a token: the next, or the one at its position */
    ATTN_TASK_SEQUENCE = 1,   /* a label of a whole text or picture */
    ATTN_TASK_TOKENS = 2,     /* a label of each token */
    ATTN_TASK_SPANS = 3,      /* whether an answer begins, and ends, at the position */
    ATTN_N_TASK
};

/* How the logits z of labels are interpreted. */
enum attn_label_kind {
    ATTN_LABELS_SINGLE = 0, /* exactly one label applies: probabilities are softmax(z) */
    ATTN_LABELS_MULTI = 1,  /* each label applies independently: sigmoid(z) */
    ATTN_LABELS_SCORE = 2,  /* one label, whose value is z; its probability is sigmoid(z) */
    ATTN_LABELS_VALUE = 3,  /* values without probabilities: a regression, cosines */
    ATTN_N_LABEL_KIND
};

/* How frequencies are changed for longer texts. X(ID, number, word): word is the value of
 * `rope_type`. */
#define ATTN_ROPE_MAP(X)                                                                           \
    X(DEFAULT, 0, "default")                                                                       \
    X(LINEAR, 1, "linear")                                                                         \
    X(LLAMA3, 2, "llama3")                                                                         \
    X(YARN, 3, "yarn")                 /* Peng et al. 2309.00071 */                                \
    X(DYNAMIC, 4, "dynamic")           /* theta grows with texts of more than n_original */        \
    X(LONGROPE, 5, "longrope")         /* Ding et al. 2402.13753 */                                \
    X(PROPORTIONAL, 6, "proportional") /* the pairs from n_pair on stand still */

enum attn_rope_type {
#define ATTN_ROPE_ENUM(id, number, word) ATTN_ROPE_##id = (number),
    ATTN_ROPE_MAP(ATTN_ROPE_ENUM)
#undef ATTN_ROPE_ENUM
};

/* Rotary positions of a layer (Su et al. 2104.09864). Component i of a head is rotated with i +
 * R/2, for i < R/2, or 2i with 2i + 1, by the angle position * theta^(-2i/R). The type of scaling
 * changes these frequencies. Fields that a type does not use are 0. */
struct attn_rope {
    enum attn_rope_type type;
    size_t d_rotary; /* R: number of components of a head that are rotated, the first ones; even. 0:
                        the layer has no rotary positions */
    double theta;    /* above 0 */
    double factor;   /* for linear, llama3, yarn, dynamic and proportional; above 0 */
    double low_freq_factor;  /* for llama3 */
    double high_freq_factor; /* for llama3; above low_freq_factor */
    double n_original;       /* for llama3, yarn and longrope: original_max_position_embeddings; for
                                dynamic: max_position_embeddings */
    double beta_fast, beta_slow; /* for yarn */
    bool is_truncated;           /* for yarn: its bounds are rounded to whole components */
    size_t n_pair;               /* for proportional */
    bool turns_neighbours;       /* component 2i is rotated with 2i + 1 */
    double attention_factor;     /* for yarn and longrope: factor of cosines and sines */
    const float *divisors;       /* [R/2] frequencies are divided by these; NULL: by 1 */
    const float *long_divisors;  /* [R/2] for longrope: replaces `divisors` for all tokens of a text
                                    of more than n_original tokens */
    /* [R/2] frequencies from the file, instead of those of theta; or NULL. */
    const float *frequencies;
    /* Rotated queries are multiplied by 1 + query_growth ln(1 + floor(position / n_original)). */
    double query_growth;
    double long_attention_factor; /* replaces attention_factor where long_divisors apply; 0: it does
                                     not */
    /* Numbers of frequencies that turn by the first, second and third number of a position (struct
     * attn_position_numbers); all 0: all turn by the first. */
    size_t sections[3];
    /* The sections alternate: the frequencies 1, 4, ... are of the second number, and 2, 5, ... of
     * the third, as many as their sections have; all others are of the first. */
    bool is_interleaved;
    bool is_axial;       /* the second and the third section have equal frequencies */
    bool is_alternating; /* the second section has the frequencies 0, 2, ..., the third 1, 3, ... */
    bool is_centred; /* of patches: the angle is 2 pi (2 (i + 1/2) / n - 1) times the frequency, for
                        row or column i of n; positions before the patches are not rotated */
};

/* The places of DeBERTa: rows for the distance of a query from a key, whose products with both are
 * added to scores; and its convolution. */
struct attn_place_config {
    size_t n;        /* rows of the table; 0: no places */
    size_t n_bucket; /* distances above half of it are put into as many buckets by their logarithm;
                        0: each distance has a place of its own */
    size_t farthest; /* for these buckets */
    bool has_c2p;    /* queries times places of keys */
    bool has_p2c;    /* keys times places of queries */
    bool has_own_maps;   /* places have maps of their own, not those of queries and keys */
    bool has_norm;       /* the table is normalized */
    size_t n_conv;       /* width of the convolution beside layer 0; 0: none */
    size_t n_conv_group; /* a component reads those of its group alone; divides d_model */
    const char *conv_act_fn;
};

enum { ATTN_CONFIG_N_BAD = 256 };

/* Sinusoidal positions: sines, then cosines, of position / 10000^p. */
enum attn_sines {
    ATTN_SINES_NONE = 0,
    ATTN_SINES_MARIAN = 1, /* p = 2i / d */
    ATTN_SINES_M2M100 = 2  /* p = i / (d / 2 - 1) */
};

/* The config of a model with an encoder and a decoder, such as T5. */
struct attn_stack_config {
    /* This is a decoder, whose source is the final rows of its encoder. Layer N of the decoder is
     * two layers in its config: 2N attends to the text and has no MLP, 2N + 1 attends to the
     * source. */
    bool has_encoder;
    bool is_of_decoder; /* this is the encoder of such a decoder */

    /* For both stacks. */
    bool counts_padding;             /* padding tokens of an encoder count as positions */
    enum attn_sines makes_positions; /* sines to use if a file has no learned positions */
    size_t n_mel;    /* rows of the mel array that an encoder of sound reads; 0: it reads tokens */
    size_t n_bucket; /* number of buckets of relative biases, for layers that attend to their own
                        stack; 0: no biases */
    size_t bucket_distance; /* keys at larger distances are in the last bucket */

    /* For the decoder. */
    int32_t start_id;    /* the token that begins its text */
    bool replaces_front; /* start_id replaces the language of the source, which the tokenizer puts
                            in front, because the decoder's text has its own language */
    int32_t forced_begin_id; /* the token that it generates first; -1: any token */
    /* Tokens that it never generates (n_bad_id, from the front) and tokens that it never begins
     * with (n_bad_first_id, from the back). If both together exceed the array, it does not
     * generate. */
    int32_t bad_ids[ATTN_CONFIG_N_BAD];
    size_t n_bad_id, n_bad_first_id;

    /* Settings that generation ignores, with a note. */
    size_t n_beam;      /* number of beams; 0 or 1: no beam search */
    size_t n_no_repeat; /* sequences of this many tokens are never repeated; 0: they may be */
    size_t n_least;     /* minimum number of tokens */

    size_t zero_position;    /* made sines: the row with this number is 0; 0: no such row */
    bool has_bias_in_layers; /* relative biases: each layer has a table of its own */
};

/* Tokens that are single letters, which messages name by letter and position: K17. */
struct attn_token_letters {
    const char *word;    /* what such a token is: "residue" */
    const char *trained; /* the models that saw at most n_trained tokens: "ESM-2" */
    size_t n_trained;
};

struct attn_config {
    const char *model_type; /* as in config.json: "gpt2", "llama", ...; a constant string */
    size_t n_layer, n_head;
    size_t n_kv_head; /* divides n_head; query head h uses key/value head h / (n_head/n_kv_head) */
    size_t d_model, d_head, d_value;
    size_t d_out;    /* width of attn_out: d_model, unless the model is attention alone */
    size_t d_mlp;    /* 0: blocks have no MLP */
    size_t n_ctx;    /* longest sequence; SIZE_MAX: not limited */
    size_t n_vocab;  /* columns of the logits: tokens, or the labels of a classifier; 0 for pictures
                        without a classifier */
    bool is_encoder; /* every token sees all others. A sequence is fed at once, and each token is
                        predicted at its own position */
    size_t d_embed;  /* width of the embedding and of the output matrix: d_model or smaller */
    bool has_embed_map;      /* resid_pre = x W + b maps the embedding x from d_embed to d_model */
    bool has_embed_norm;     /* the sum of embedding, positions and types is normalized */
    bool embed_norm_is_late; /* after it was mapped to d_model */
    bool embeds_normed;      /* each row of the embedding is normalized; `embed` shows the result */
    size_t n_type; /* number of token types, whose rows are added to the embedding; 0: no types */
    size_t first_position; /* the learned position of the first token. If it is above 0, padding
                              tokens of an encoder (their id is first_position - 1) have that
                              position and do not advance the count */
    double embed_scale;    /* factor of embedding rows, in float32; 0: no factor */
    /* [n_layer]: keys and values come from the source instead of the stream. */
    const bool *is_cross;
    size_t d_source; /* width of the source, for these layers */
    size_t n_source; /* longest source; 0: not limited */
    /* None, or learned positions, which are added to the rows of a source. */
    enum attn_positions source_positions;
    enum attn_norm norm;
    enum attn_norm_place norm_place;
    float norm_eps;           /* is added to the variance, or to the mean of the squares */
    bool begins_without_norm; /* layer 0 has no norm before attention */
    bool has_single_norm;     /* one norm before both attention and the MLP */
    bool has_final_norm;
    enum attn_qk_norm qk_norm;
    enum attn_positions positions;
    const struct attn_rope *rope; /* [n_layer], for rotary positions */
    const char *act_fn;           /* "gelu_new", ...; a constant string */
    bool has_gated_mlp;           /* mlp_post = act(x W_gate) * (x W_in), else act(x W_in) */
    bool has_projections;         /* false: q = k = v = the block's input */
    bool has_qkv_bias;
    bool has_query_bias; /* of DINOv3, which switches the biases of q, k and v apart */
    bool has_key_bias;
    bool has_value_bias;
    bool has_out_proj;    /* W_O; without it, the heads are concatenated */
    bool has_out_bias;    /* b_O */
    bool has_mlp_bias;    /* b_in and b_out; for a gated MLP also b_gate */
    bool has_layer_scale; /* attn_out and mlp_out are each multiplied by weights [D] */
    bool has_residual;    /* resid_mid = resid_pre + attn_out, resid_post = resid_mid + mlp_out */
    /* Number of consecutive layers that share their weights; 0: layers share none. */
    size_t n_group;
    bool has_parallel_residual; /* resid_post = resid_pre + attn_out + mlp_out, all from one
                                   resid_pre */
    const char *head_act_fn; /* activation of a head, norm(act(x W + b)), before the output matrix.
                                An MLM head maps to d_embed; a classifier's maps to d_model and may
                                lack the norm. NULL: no head */
    bool has_head_bias;      /* b of the head */
    enum attn_output_layer output;
    bool has_output_bias; /* the output layer, separate or tied, has a bias */
    bool has_two_towers;  /* the files also contain another tower (enum attn_tower) */
    size_t d_projected; /* width of text_embed or image_embed, which is one row of ln_final, mapped;
                           0: no map */
    int32_t projected_id; /* text_embed is computed from the first token with this id;
                             ATTN_LARGEST_ID: from the first token with the largest id in the text;
                           ATTN_LAST_ROW: from the last token.
                             image_embed is computed from the first row */
    /* Of SigLIP's head, by which image_embed is computed from all rows; or NULL. */
    const struct attn_pool_steps *pool_head;
    /* What happens to the stream beside the equations of a block; NULL: nothing. */
    const struct attn_stream_steps *stream;
    size_t n_stream_gate; /* components of the stream that gate the row before */
    size_t n_value_gate;  /* components of the input of a layer that gate its value embeddings */
    double value_factor;  /* of the sigmoid of this gate */
    double qk_scale;      /* of q and k after their norms without weights; 0: 1 */
    struct attn_image_config image;
    const char *const *labels; /* [n_vocab] labels of a classifier, from `id2label`; or NULL */
    double logits_cap;         /* logits become cap * tanh(logits / cap); 0: no cap */
    /* [n_layer] the attention of each layer: window, scale, cap. */
    const struct attn_attention *attention;
    /* [n_end_id] tokens that end a text, the first few of eos_token_id in generation_config.json or
     * else config.json. */
    int64_t end_ids[ATTN_CONFIG_N_END];
    size_t n_end_id;
    size_t n_token; /* rows of the embedding; 0 for pictures */
    enum attn_task task;
    enum attn_label_kind label_kind; /* for a classifier */
    enum attn_pooling pooling; /* the rows from which one row of logits is computed; none: each row
                                  has its own logits */
    bool is_sentence;          /* sentence_embed is computed from the rows after the last layer */
    int64_t pad_id;        /* the padding token, which ATTN_POOLING_LAST skips; -1: no such token */
    double residual_scale; /* factor of attn_out and mlp_out; 0: no factor */
    double logits_scale;   /* factor of the logits, before the cap; 0: no factor */
    double qkv_clip;       /* q, k and v are clipped to -qkv_clip .. qkv_clip; 0: not clipped */
    struct attn_stack_config stack; /* for a model with an encoder and a decoder */
    bool has_output_map;            /* a map from d_model to d_embed before the output matrix */
    /* [n_layer] sites that a layer lacks although other layers have them. */
    const struct attn_site_set *lacking;
    /* A mixture of experts instead of the MLP: for each token, a router chooses n_expert_used of
     * n_expert MLPs, whose weighted outputs are added. */
    size_t n_expert, n_expert_used; /* 0: no mixture */
    size_t d_expert;                /* width of an expert */
    size_t d_shared_expert;         /* width of an MLP that every token uses; 0: no such MLP */
    enum attn_expert_weights expert_weights;
    bool has_expert_bias; /* experts and the router have biases */
    double expert_limit; /* experts compute (u + 1) g sigmoid(alpha g), with g and u clipped to this
                            limit; 0: they are ordinary gated MLPs */
    double expert_alpha;
    const bool *is_dense; /* [n_layer]: the layer has an MLP, not experts */
    bool has_sinks;       /* each head has a sink, a score without a key (struct attn_attention) */
    bool has_token_dropout; /* embedding rows of mask_id are 0, and the others are multiplied by
                               0.88 / (1 - the share of mask tokens in the text) */
    int64_t mask_id;        /* the mask token, with token dropout */
    const struct attn_token_letters *letters; /* NULL: tokens are no single letters */
    bool has_contacts;    /* a regression predicts contacts of residues from the patterns */
    bool qk_norm_is_late; /* q and k are normalized after rotation, not before */
    double router_jitter; /* half of the margin of ATTN_EXPERTS_SOFTMAX_NEAR */
    const struct attn_xielu *xielu; /* [n_layer] for act_fn "xielu"; otherwise NULL */
    bool has_final_rms;             /* the final norm is an RMSNorm, whatever the others are */
    bool has_solu;                  /* act(x) is x softmax(x), over the row; act_fn is "solu" */
    bool has_mlp_norm;              /* mlp_post is normalized, by a LayerNorm with weights [F] */
    bool has_shared_gate;           /* the shared expert is multiplied by a gate for each token */
    bool has_expert_norms; /* the router and the experts read norms of resid_mid of their own, and
                              the sums of experts and the shared expert are normalized */
    struct attn_router_config router; /* of ATTN_EXPERTS_SIGMOID */
    bool has_plain_experts;           /* experts have no gate, whatever has_gated_mlp says */
    size_t d_latent; /* width of a map before and after the experts; 0: they read the stream */
    struct attn_factor_config factors;
    bool lacks_mixer_norm;    /* mixer_z is not normalized */
    bool has_mixer_out_bias;  /* the output map of layers of Mamba2 beside attention has a bias */
    const char *mixer_act_fn; /* of the convolution of these layers; NULL: act_fn */
    const bool *is_mlp; /* [n_layer] a block has one part, here the MLP; NULL: blocks have two */
    const struct attn_mixer_dims *mixer; /* layers without attention; NULL: there are none */
    /* [n_layer] sizes of layers that differ; n_kv_head, d_head, d_value and d_mlp are then the
     * largest. NULL: all are alike. */
    const struct attn_layer_dims *layer_dims;
    size_t d_layer_input;     /* each layer has an input of this width for each token; 0: none */
    size_t n_layer_token;     /* rows of the table of these inputs */
    int32_t part_ids[3];      /* tokens of pictures and sound that a text may not have; 0: none */
    bool has_value_norm;      /* each head of v is normalized, without weights */
    bool has_keys_as_values;  /* v is k before its norm, in layers without a window */
    bool has_layer_scalar;    /* resid_post is multiplied by a number for each layer */
    bool has_attn_gate;       /* z is multiplied by the sigmoid of a gate before the output map */
    bool gates_heads;         /* each head by one number */
    bool has_mixer_bias;      /* their maps have biases */
    bool has_mixer_conv_bias; /* their convolution has a bias */
    size_t n_left_out; /* layers after the last in a GGUF file, which predict further tokens, and
                          are not read */
    bool gates_first;  /* the gate of mixer_z comes before its norm, as in Mamba2 */
    /* In a GGUF file, head J of the values of key head I is number J * n_key_head + I. The order is
     * restored when they are computed. */
    bool tiles_heads;
    bool mixes_by_head; /* the channels of the convolution are q, k and v of a head of keys after
                           those of another */
    double step_least, step_most;     /* limits of the time steps of Mamba2 */
    struct attn_vision_config vision; /* of a decoder that reads pictures too, and of its tower */
    struct attn_place_config places;  /* of DeBERTa */
};

/* The activation xIELU of a layer (Huang and Schlag 2411.13010):
 *
 *     x > 0: a x^2 + beta x;  else (expm1(min(x, eps)) - x) c + beta x
 */
struct attn_xielu {
    double a, c, beta, eps;
};
