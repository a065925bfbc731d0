#!/usr/bin/env python3
"""Compares GGUF files in attn-cli with the packages that define them.

    check_gguf.py FOLDER      FOLDER is made anew; attn-cli is the one in PATH
    check_gguf.py --golden    writes tests/golden/gguf_splits.jsonl

The package gguf writes a model whose embedding is 20,000 random blocks of each type; what the first
layer sees of them are the values of gguf.quants.dequantize, bit for bit. sentencepiece and
tokenizers learn small vocabularies from this project's texts, which the package gguf writes as
metadata; attn-cli gives their ids for random texts.
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys

try:
    import gguf
    import numpy as np
    import sentencepiece
    import tokenizers
    from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    print(f"check-gguf: skipped: {error}; install all with: pip install gguf sentencepiece tokenizers")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, N_BLOCK, N_TEXT = 2048, 20000, 300
TYPES = """Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S
IQ1_S IQ1_M TQ1_0 TQ2_0 NVFP4 F16 BF16 F32""".split()
# Where the F16 of a block are.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "IQ2_XXS": [0],
          "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "TQ1_0": [52], "TQ2_0": [64]}


def attn(*arguments, text=None):
    return subprocess.run(["attn-cli", *map(str, arguments)], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, input=text).stdout


# --- Blocks -----------------------------------------------------------------------------------

def random_blocks(name, generator):
    """Blocks of any bytes whose scales are finite: of all sizes, negative, zero and subnormal."""
    n_value, n_byte = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    n = -(-max(N_BLOCK, WIDTH // n_value) * n_value // WIDTH) * WIDTH // n_value  # whole rows
    blocks = generator.integers(0, 256, (n, n_byte), np.uint8)
    for at in SCALES.get(name, []):
        bits = generator.integers(0, 1 << 16, n).astype("<u2")
        bits[(bits & 0x7C00) == 0x7C00] ^= 0x4000  # neither infinite nor NaN
        blocks[:, at:at + 2] = bits[:, None].view(np.uint8)
    if name == "MXFP4":
        blocks[:, 0] = generator.integers(0, 180, n)  # squares of the values fit a float
    if name == "IQ1_M":  # its scale is in pieces, its sign and most of the exponent here
        blocks[(blocks[:, 55] & 0x70) == 0x70, 55] ^= 0x40
    if name in ("F16", "BF16", "F32"):
        exponent = {"F16": (1, 0x7C), "BF16": (1, 0x7F), "F32": (3, 0x7F)}[name]
        is_large = (blocks[:, exponent[0]] & exponent[1]) >= (exponent[1] if name == "F16" else 0x50)
        blocks[is_large, exponent[0]] ^= 0x40
    return blocks.reshape(-1, WIDTH // n_value * n_byte)


def write_blocks(path, name, rows):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(rows.shape[0])
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(1)
    writer.add_head_count(1)
    writer.add_key_length(2)
    writer.add_value_length(2)
    writer.add_layer_norm_rms_eps(1e-5)
    shapes = {"attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "attn_q": (2, WIDTH), "attn_k": (2, WIDTH),
              "attn_v": (2, WIDTH), "attn_output": (WIDTH, 2), "ffn_gate": (1, WIDTH), "ffn_up": (1, WIDTH),
              "ffn_down": (WIDTH, 1)}
    writer.add_tensor("token_embd.weight", rows, raw_dtype=gguf.GGMLQuantizationType[name])
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for part, shape in shapes.items():
        writer.add_tensor(f"blk.0.{part}.weight", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check_blocks(folder):
    generator = np.random.default_rng(30)
    for name in TYPES:
        rows = random_blocks(name, generator)
        kind = gguf.GGMLQuantizationType[name]
        wanted = gguf.quants.dequantize(rows, kind).astype("<f4").reshape(-1, WIDTH)
        write_blocks(folder / "model.gguf", name, rows)
        ids = ",".join(map(str, range(rows.shape[0])))
        shutil.rmtree(folder / "out", ignore_errors=True)
        attn("run", "-m", folder, "--ids", ids, "--sites", "resid_pre", "--npy", folder / "out", "-q")
        found = np.load(next((folder / "out").glob("*resid_pre*.npy"))).reshape(wanted.shape)
        assert found.dtype == np.float32 and np.isfinite(wanted).all(), name
        assert (found.view(np.uint32) == wanted.view(np.uint32)).all(), f"{name}: values differ"
        n_value = gguf.GGML_QUANT_SIZES[kind][0]
        print(f"check-gguf: {wanted.size // n_value} blocks of {name} have the values of gguf "
              f"{getattr(gguf, '__version__', '')}".rstrip())


# --- Tokenizers -------------------------------------------------------------------------------

def texts():
    """Pieces of this project's text, and characters that tokenizers stumble over."""
    generator = random.Random(30)
    words = (ROOT / "README.md").read_text("utf-8").split(" ")
    odd = ["  ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u200b", "e\u0301", "\u00e9", "\u0439", "\u65e5\u672c",
           "\U0001f999", "\U0001f468\u200d\U0001f469", "\uac00\u11a8", "\u0627\u0644", "\u0e01\u0e33", "1234567", "3.14", "don't",
           "WE'LL", "x=[1,2];", "\u2581", "\u00c5", "\u212b", "\ufb01", "_", "--", "...", "\u2026", "\u0130", "\u00df", "a" * 40,
           "12345678", "\u0661\u0662\u0663\u0664", "camelCase", "HTTPServer", "/x\n/y", "\u4e2d12\u3042", "\uff21\uff01", "\u2019s", " $5 + `q`",
           "\u1f7d\u1fbe\u2126", "\U00010428", "\u03a3\u03c2", "\u0416", "(a) [b]", "#include", "\u2003x", "I'LL've"]
    for _ in range(N_TEXT):
        parts = [generator.choice(words if generator.random() < 0.6 else odd)
                 for _ in range(generator.randrange(1, 12))]
        yield generator.choice(["", " "]).join(parts)


def corpus():
    pages = [ROOT / "README.md", *sorted(ROOT.glob("cmd/manual/**/*.md")), ROOT / "CONTRIBUTING.md"]
    return [page.read_text("utf-8") for page in pages]


def write_tokenizer(folder, add):
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    add(writer)
    writer.add_tensor("output_norm.weight", np.ones(1, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ids_of(folder, text):
    lines = attn("tokenize", "-m", folder, "--special-tokens", "off", "-f", "-", text=text.encode() + b"\n")
    return [int(line.split(b"\t")[1]) for line in lines.splitlines()]


def compare(what, folder, encode):
    n = 0
    for text in texts():
        found, wanted = ids_of(folder, text), encode(text)
        assert found == wanted, f"{what}: {text!r} has ids {found}, expected {wanted}"
        n += 1
    print(f"check-gguf: {n} texts have the ids of {what}")


def check_sentencepiece(folder, has_bytes, has_prefix):
    (folder / "corpus").write_text("\n".join(corpus()), "utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "corpus"), model_prefix=str(folder / "sp"), model_type="bpe", vocab_size=900,
        byte_fallback=has_bytes, add_dummy_prefix=has_prefix, normalization_rule_name="identity",
        remove_extra_whitespaces=False, character_coverage=0.99, minloglevel=2)
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sp.model"))
    n = range(model.vocab_size())
    types = [2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1 for i in n]

    def add(writer):
        writer.add_tokenizer_model("llama")
        writer.add_token_list([model.id_to_piece(i).encode() for i in n])
        writer.add_token_scores([model.get_score(i) for i in n])
        writer.add_token_types(types)
        writer.add_unk_token_id(model.unk_id())
        writer.add_bos_token_id(model.bos_id())
        writer.add_add_space_prefix(has_prefix)

    write_tokenizer(folder, add)
    compare(f"sentencepiece, {'bytes' if has_bytes else 'unknown tokens'}, {'' if has_prefix else 'no '}prefix",
            folder, model.encode)


def check_gemma4(folder):
    """BPE over whole texts, whose spaces are U+2581, with bytes for what is no character of it."""
    tokenizer = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\n", "contiguous")
    special = ["<unk>", "<bos>"] + [f"<0x{i:02X}>" for i in range(256)]
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=1200, limit_alphabet=90, show_progress=False, special_tokens=special[:2]))
    state = json.loads(tokenizer.to_str())["model"]
    vocabulary = sorted(state["vocab"], key=state["vocab"].get) + special[2:]
    merges = [tuple(pair) for pair in state["merges"]]
    tokenizer.model = models.BPE({token: i for i, token in enumerate(vocabulary)}, merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")  # of Gemma: it finds none

    def add(writer):
        writer.add_tokenizer_model("gemma4")
        writer.add_token_list(vocabulary)
        writer.add_token_scores([-1000.0] * len(vocabulary))
        writer.add_token_types([2, 3] + [1] * (len(vocabulary) - 258) + [6] * 256)
        writer.add_token_merges([" ".join(pair) for pair in merges])
        writer.add_bos_token_id(1)
        writer.add_add_space_prefix(False)

    write_tokenizer(folder, add)
    compare(f"tokenizers {tokenizers.__version__}, gemma4", folder, lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
QWEN2 = CL100K.replace("{1,3}", "")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+"
CHINESE = "[一-龥ࠀ-一가-퟿]+"
CASED = """A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝ\u1f5f-\u1f7dᾀ-ᾴᾶ-ᾼ\u1fbe
ῂ-ῄῆ-ῌῐ-\u1fd3ῖ-\u1fdbῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ\u212a-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃""".replace("\n", "")
DEEPSEEK_3 = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
              r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
# Names, patterns, NFC, whole pieces.
RULES = [
    ("gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de gigachat a.x-4.0 mellum modern-bert exaone4 jais trillion "
     "granite-docling jina-v1-en jina-v2-code roberta-bpe",
     [GPT2], False, False),
    ("olmo mpt", [GPT2], True, False),
    ("smollm starcoder refact codeshell exaone minerva-7b mellum2", [r"\p{N}", GPT2], False, False),
    ("command-r", [r"\p{N}", GPT2], True, False),
    ("llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", [CL100K], False, True),
    ("dbrx smaug-bpe glm4 chatglm-bpe", [CL100K], False, False),
    ("qwen2 deepseek-r1-qwen kormo f2llmv2 megrez", [QWEN2], True, False),
    ("hunyuan stablelm2 solar-open grok-2", [QWEN2], False, False),
    ("qwen35",
     [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"], True, False),
    ("gpt-4o llama4 kanana2 talkie minimax-m2", [O200K], False, False),
    ("granite-embed-multi-97m", [O200K], False, True),
    ("tekken", [O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace(r"\p{N}{1,3}", r"\p{N}")], False, True),
    ("tiny_aya cohere2moe", [r"\d{1,3}(?=(?:\d{3})*\b)", O200K], False, False),
    ("deepseek-v3 hunyuan-dense joyai-llm hy_v4", DEEPSEEK_3, False, False),
    ("deepseek-coder", [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CHINESE, r"\p{N}"], False, False),
    ("deepseek-llm", [r"[\r\n]", rf"\s?[{CASED}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", CHINESE, r"\p{N}+"], False, False),
    ("falcon", [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"], False, False),
    ("bloom poro-chat gpt3-finnish", [BLOOM], False, False),
    ("viking", [BLOOM, r"\p{N}"], False, False),
    ("seed-coder",
     [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"], False, False),
    ("bailingmoe bailingmoe2 llada-moe",
     [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"], False, False),
    ("minicpm5", [r"\p{N}{1,3}", CL100K.replace("{1,3}", "+")], False, True),
    ("laguna", [r"[^\n]+|[\n]+", QWEN2], False, False),
    ("ufakzeka", [QWEN2.split("|", 7)[7]], False, False),
]


def by_rule(patterns, has_nfc, is_whole, state=None):
    """A tokenizer of these rules, without a vocabulary or with that of STATE."""
    tokens = (state["vocab"], [tuple(pair) for pair in state["merges"]]) if state else ({}, [])
    tokenizer = tokenizers.Tokenizer(models.BPE(*tokens, ignore_merges=is_whole))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*(pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if has_nfc:
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def train(tokenizer, pages, n):
    tokenizer.train_from_iterator(pages, trainers.BpeTrainer(
        vocab_size=n, show_progress=False, special_tokens=["<s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(tokenizer.to_str())["model"]


def check_byte_level(folder):
    for names, *rule in RULES:
        tokenizer = by_rule(*rule)
        state = train(tokenizer, corpus(), 900)

        def add(writer):
            writer.add_tokenizer_model("gpt2")
            writer.add_tokenizer_pre(names.split()[0])
            by_id = sorted(state["vocab"], key=state["vocab"].get)
            writer.add_token_list(by_id)
            writer.add_token_types([3] + [1] * (len(by_id) - 1))
            writer.add_token_merges([" ".join(pair) for pair in state["merges"]])
            writer.add_bos_token_id(0)

        write_tokenizer(folder, add)
        compare(f"tokenizers {tokenizers.__version__}, {names}", folder,
                lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


GOLDEN = ["The keys don't 'street WE'LL I'm 12345678 HTTPServer\n\nline $5 + `q`/\n/x ",
          "  two\u00a0spaces \u732b\u304c12\u3001caf\u00e9 e\u0301\u0301 \u0416\u0436\u0663\u0664\u0665\u0666!? (a) [b]#inc",
          "x_y=1,234.5;\r\n\t\u2019s \u1f7d\u2126\U00010428\uac00 \uff21\uff01\u0939\u093f\u0928\u094d\u0926\u0940 \u2003 "]


def write_golden():
    """Ids of a vocabulary whose tokens, learned from texts that are not split, go over every cut."""
    state = train(by_rule(["(?!)"], False, False), GOLDEN * 3, 420)
    state["vocab"]["\u0120keys"] = len(state["vocab"])  # no merges make it
    rules = [{"names": names, "ids": [by_rule(*rule, state).encode(text, add_special_tokens=False).ids for text in GOLDEN]}
             for names, *rule in RULES]
    golden = {"tokens": sorted(state["vocab"], key=state["vocab"].get), "merges": [" ".join(pair) for pair in state["merges"]],
              "texts": GOLDEN, "rules": rules}
    (ROOT / "tests/golden/gguf_splits.jsonl").write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


def main(path):
    folder = pathlib.Path(path).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    check_blocks(folder)
    for has_bytes in (True, False):
        for has_prefix in (True, False):
            check_sentencepiece(folder, has_bytes, has_prefix)
    check_gemma4(folder)
    check_byte_level(folder)


if __name__ == "__main__":
    write_golden() if sys.argv[1] == "--golden" else main(sys.argv[1])
