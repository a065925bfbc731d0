/* classes.c - the classes of tokenizers in transformers, and which reader has the files of each. */
#include "vocabularies/vocabularies_internal.h"

/* In the order of ATTN_CLASS_N_ROLE: bos, eos, unk, sep, pad, cls, mask, question. */
#define END_OF_TEXT "<|endoftext|>"
#define GPT2 .tokens = {END_OF_TEXT, END_OF_TEXT, END_OF_TEXT}
#define ROBERTA .tokens = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"}
#define BERT .tokens = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}
#define LLAMA .tokens = {"<s>", "</s>", "<unk>"}
#define AROUND_BERT .single = "cls A sep", .pair = "cls A sep B:1 sep:1"
#define AROUND_ROBERTA .single = "cls A sep", .pair = "cls A sep sep B sep"
#define AROUND_XLMR .single = "bos A eos", .pair = "bos A eos eos B eos"
#define AROUND_NEOX .single = "bos? A eos?", .pair = "A B:1"
#define AROUND_QWEN .single = "bos~ A eos~", .pair = "A B:1"
#define AROUND_LLAMA .single = "bos! A eos?", .pair = "bos! A eos? bos!:1 B:1 eos?:1"

static const char qwen2_split[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{"
                                  "N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                                  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char clip_split[] = "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|"
                                 "[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

static const struct attn_class_row rows[] = {
    {"GPTNeoX", ATTN_CLASS_BYTES,
     .tokens = {END_OF_TEXT, END_OF_TEXT, END_OF_TEXT, NULL, "<|padding|>"}, AROUND_NEOX,
     .traits = ATTN_CLASS_NFC | ATTN_CLASS_BARE,
     .types = "gpt_neox mpt olmo olmo2 olmoe mamba mamba2 falcon_mamba rwkv stablelm xlstm"},
    {"Qwen2", ATTN_CLASS_BYTES, .tokens = {NULL, END_OF_TEXT, END_OF_TEXT, NULL, END_OF_TEXT},
     AROUND_QWEN, .split = qwen2_split, .traits = ATTN_CLASS_NFC,
     .types = "qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen2_audio qwen2_5_omni qwen3 qwen3_moe "
              "qwen3_next qwen3_vl qwen3_vl_moe qwen3_omni_moe colqwen2 internvl ovis2 hunyuan_vl"},
    {"Cohere", ATTN_CLASS_BYTES,
     .tokens = {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>", "<CLS>",
                "<MASK_TOKEN>"},
     AROUND_NEOX, .traits = ATTN_CLASS_NFC | ATTN_CLASS_DIGITS | ATTN_CLASS_BEGINS,
     .types = "cohere cohere2 aya_vision"},
    {"Whisper", ATTN_CLASS_BYTES, GPT2, .single = "<|startoftranscript|> lang task times A eos",
     .pair = "<|startoftranscript|> lang task times A B:1 eos:1", .types = "whisper"},
    {"Roberta Bart Longformer LED Mvp", ATTN_CLASS_BYTES, ROBERTA, AROUND_ROBERTA,
     .traits = ATTN_CLASS_TRIMS | ATTN_CLASS_OWN_SPACE,
     .types = "roberta bart longformer led mvp florence2 roberta-prelayernorm bridgetower clap "
              "data2vec-text ibert mega mra"},
    {"Deberta", ATTN_CLASS_BYTES, BERT, AROUND_BERT,
     .traits = ATTN_CLASS_OWN_SPACE | ATTN_CLASS_FILE_MASK, .types = "deberta"},
    {"Blenderbot", ATTN_CLASS_BYTES, ROBERTA, .single = "A eos",
     .traits =
         ATTN_CLASS_PREFIXED | ATTN_CLASS_WIDE_MASK | ATTN_CLASS_OWN_SPACE | ATTN_CLASS_FILE_ENDS,
     .types = "blenderbot"},
    {"CLIP", ATTN_CLASS_BYTES,
     .tokens = {"<|startoftext|>", END_OF_TEXT, END_OF_TEXT, NULL, END_OF_TEXT},
     .single = "bos A eos", .split = clip_split, .traits = ATTN_CLASS_NFC | ATTN_CLASS_SUFFIX,
     .types =
         "clip clip_text_model clipseg aimv2 groupvit owlvit owlv2 xclip oneformer omdet-turbo"},
    {"Bert DistilBert Electra MobileBert ConvBert SqueezeBert Lxmert LayoutLM DPRContextEncoder "
     "DPRQuestionEncoder DPRReader RetriBert Realm",
     ATTN_CLASS_WORDS, BERT, AROUND_BERT,
     .types =
         "bert distilbert electra mobilebert convbert squeezebert lxmert layoutlm dpr retribert "
         "realm align bark blip bros chinese_clip ernie flava git grounding-dino megatron-bert "
         "mm-grounding-dino nezha nomic_bert qdqbert tvp vilt visual_bert"},
    {"MPNet", ATTN_CLASS_WORDS,
     .tokens = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"}, AROUND_ROBERTA,
     .traits = ATTN_CLASS_WIDE_MASK | ATTN_CLASS_BASIC, .types = "mpnet"},
    {"Funnel", ATTN_CLASS_WORDS,
     .tokens = {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"},
     .single = "cls:2 A sep", .pair = "cls:2 A sep B:1 sep:1", .types = "funnel"},
    {"Splinter", ATTN_CLASS_WORDS,
     .tokens = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]", "[QUESTION]"},
     .single = "cls A sep", .pair = "cls A question . sep B:1 sep:1", .traits = ATTN_CLASS_BASIC,
     .types = "splinter"},
    {"Esm", ATTN_CLASS_LETTERS,
     .tokens = {NULL, "<eos>", "<unk>", NULL, "<pad>", "<cls>", "<mask>"}, .single = "cls A eos",
     .pair = "cls A eos B:1 eos:1", .types = "esm"},
    {"T5 MT5", ATTN_CLASS_PIECES, .tokens = {NULL, "</s>", "<unk>", NULL, "<pad>"},
     .file = "spiece.model", .single = "A eos", .pair = "A eos B eos",
     .types = "t5 mt5 umt5 longt5 switch_transformers musicgen musicgen_melody pix2struct"},
    {"Llama CodeLlama", ATTN_CLASS_MERGES, LLAMA, AROUND_LLAMA, .traits = ATTN_CLASS_BEGINS,
     .types = "llama mistral mixtral ministral phi3 phimoe arcee code_llama ernie4_5 ernie4_5_moe "
              "llava llava_next llava_next_video llava_onevision vipllava video_llava mistral3 "
              "idefics idefics2 idefics3 paligemma aria chameleon persimmon jamba"},
    {"Gemma", ATTN_CLASS_MERGES,
     .tokens = {"<bos>", "<eos>", "<unk>", NULL, "<pad>", NULL, "<mask>"}, AROUND_LLAMA,
     .traits = ATTN_CLASS_PIECE_ROLES | ATTN_CLASS_BEGINS,
     .types = "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 "
              "t5gemma"},
    {"Marian", ATTN_CLASS_MARIAN, .tokens = {NULL, "</s>", "<unk>", NULL, "<pad>"},
     .single = "A eos", .types = "marian"},
    {"Albert", ATTN_CLASS_REFUSED,
     .tokens = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}, AROUND_BERT,
     .file = "spiece.model", .traits = ATTN_CLASS_WIDE_MASK, .types = "albert nystromformer yoso"},
    {"RemBert", ATTN_CLASS_REFUSED,
     .tokens = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}, AROUND_BERT,
     .file = "sentencepiece.model", .traits = ATTN_CLASS_WIDE_MASK, .types = "rembert"},
    {"DebertaV2", ATTN_CLASS_PIECES,
     .tokens = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}, AROUND_BERT,
     .file = "spm.model", .back = "[MASK]", .traits = ATTN_CLASS_BY_WORDS, .types = "deberta-v2"},
    {"XLNet", ATTN_CLASS_REFUSED,
     .tokens = {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"},
     .file = "spiece.model", .traits = ATTN_CLASS_WIDE_MASK, .types = "xlnet"},
    {"BigBird", ATTN_CLASS_REFUSED,
     .tokens = {"<s>", "</s>", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"}, AROUND_BERT,
     .file = "spiece.model", .traits = ATTN_CLASS_WIDE_MASK, .types = "big_bird"},
    {"XLMRoberta", ATTN_CLASS_PIECES, ROBERTA, AROUND_XLMR, .file = "sentencepiece.bpe.model",
     .front = "<s> <pad> </s> <unk>", .n_skip = 3, .back = "<mask>", .traits = ATTN_CLASS_WIDE_MASK,
     .types = "xlm-roberta xlm-roberta-xl xmod gte jina_embeddings_v3 kosmos-2 metaclip_2 trocr"},
    {"Camembert", ATTN_CLASS_PIECES, ROBERTA, AROUND_XLMR, .file = "sentencepiece.bpe.model",
     .front = "<s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED", .n_skip = 1, .back = "<mask>",
     .traits = ATTN_CLASS_WIDE_MASK, .types = "camembert"},
    {"MBart", ATTN_CLASS_REFUSED, ROBERTA, .single = "A eos lang", .pair = "A B eos lang",
     .file = "sentencepiece.bpe.model", .language = "en_XX", .traits = ATTN_CLASS_WIDE_MASK,
     .types = "mbart"},
    {"MBart50", ATTN_CLASS_REFUSED, ROBERTA, .single = "lang A eos", .pair = "lang A B eos",
     .file = "sentencepiece.bpe.model", .language = "en_XX", .traits = ATTN_CLASS_WIDE_MASK,
     .types = "mbart50"},
    {"Nllb", ATTN_CLASS_REFUSED, ROBERTA, .single = "lang A eos", .pair = "lang A B eos",
     .file = "sentencepiece.bpe.model", .language = "eng_Latn", .traits = ATTN_CLASS_WIDE_MASK,
     .types = "nllb nllb-moe"},
    {"LayoutXLM Barthez XGLM PLBart BartPho Bartpho SeamlessM4T", ATTN_CLASS_REFUSED, ROBERTA,
     .file = "sentencepiece.bpe.model", .traits = ATTN_CLASS_WIDE_MASK, .types = "xglm barthez"},
    {"FNet Cpm", ATTN_CLASS_REFUSED, ROBERTA, .file = "spiece.model",
     .traits = ATTN_CLASS_WIDE_MASK, .types = "fnet"},
    {"Herbert", ATTN_CLASS_REFUSED, ROBERTA, .file = "vocab.json", .types = "herbert"},
    {"Pegasus", ATTN_CLASS_REFUSED, .single = "A eos", .pair = "A B eos",
     .tokens = {NULL, "</s>", "<unk>", NULL, "<pad>", NULL, "<mask_2>"},
     .types = "pegasus pegasus_x bigbird_pegasus"},
    {"Reformer Udop", ATTN_CLASS_REFUSED, .file = "spiece.model", .types = "reformer"},
    {"RoFormer LayoutLMv2", ATTN_CLASS_REFUSED, .file = "vocab.txt", .types = "roformer"},
    {"OpenAIGPT LayoutLMv3 MarkupLM Qwen3_5", ATTN_CLASS_REFUSED, .file = "vocab.json",
     .types = "openai-gpt qwen3_5 qwen3_5_text"},
    {"BertGeneration GPTSw3 Siglip SpeechT5 Speech2Text Bloom", ATTN_CLASS_REFUSED,
     .types = "bloom"},
    {"BertJapanese Phobert Bertweet CTRL BlenderbotSmall FSMT XLM Flaubert BioGpt Canine ByT5 "
     "Perceiver "
     "MyT5 RoCBert Tapas ProphetNet XLMProphetNet GPTNeoXJapanese Wav2Vec2CTC Wav2Vec2PhonemeCTC "
     "Wav2Vec2 Vits Clvp Dia CpmAnt Mgpstr TransfoXL Speech2Text2 FastSpeech2Conformer Luke MLuke "
     "M2M100",
     ATTN_CLASS_SLOW,
     .types = "bert-japanese phobert bertweet ctrl blenderbot-small fsmt xlm flaubert biogpt "
              "canine byt5 "
              "perceiver myt5 roc_bert tapas prophetnet xlm-prophetnet gpt_neox_japanese wav2vec2 "
              "hubert luke mluke m2m_100 "
              "unispeech vits clvp dia cpmant mgp-str"},
};

/* Returns the row by which the files of SOURCE are read if no file names a class; NULL: vocab.json
 * of any kind. */
static const struct attn_class_row *guess_row(const struct attn_source *source)
{
    if (attn_source_override(source, "tokenizer.model"))
        return attn_class_row("Llama");
    if (attn_source_override(source, "vocab.txt"))
        return attn_class_row("Bert");
    if (attn_tokenizer_spm_is_marian(source))
        return attn_class_row("Marian");
    if (attn_source_has_part(source, "vocab.txt") && !attn_source_has_part(source, "vocab.json"))
        return attn_class_row("Bert");
    if (attn_source_has_part(source, "tokenizer.model") &&
        !attn_source_has_part(source, "vocab.json"))
        return attn_class_row("Llama");
    return NULL;
}

static enum attn_status read_files(struct attn_tokenizer *tokenizer,
                                   const struct attn_source *source, const struct attn_class *found,
                                   const struct attn_class_row *row, struct attn_error *err)
{
    return row->form == ATTN_CLASS_WORDS || row->form == ATTN_CLASS_LETTERS
               ? attn_tokenizer_bert_read(tokenizer, source, found, err)
               : attn_tokenizer_spm_read(tokenizer, source, found, row, err);
}

/* Reads whether sentence-transformers lowers a text before its tokenizer does anything. */
static enum attn_status read_lowers(const struct attn_source *source, bool *lowers,
                                    struct attn_error *err)
{
    static const char file[] = "sentence_bert_config.json";
    struct attn_json *json = NULL;
    enum attn_status status;

    if (!attn_source_has_part(source, "modules.json") || !attn_source_has_part(source, file))
        return ATTN_OK;
    ATTN_TRY(attn_json_read_part(source, file, NULL, &json, err));
    status = attn_json_get_bool(json, attn_json_root(json), "do_lower_case", lowers, err);
    attn_json_free(json);
    return status;
}

const struct attn_vocabulary_reader attn_vocabulary_files = {rows, sizeof rows / sizeof *rows,
                                                             guess_row, read_files, read_lowers};
