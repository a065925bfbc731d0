#!/usr/bin/env python3
"""Compares the tokenizers of encoders with the library tokenizers: ids, types, offsets, decoded text.

    check_tokenizers.py FOLDER [TOKENIZER.json ...]      FOLDER is made anew
    check_tokenizers.py --golden FOLDER                  writes tests/golden/tokenizers.jsonl

Vocabularies are learned from this project's texts: WordPiece in three ways, Unigram with a charsmap
of sentencepiece, with ALBERT's chain of normalizers, and with bytes; CLIP's BPE; words in two ways; BERT's vocab.txt.
Each gets N_TEXT hard texts (1,000), every third with a pair. Files that are named are compared in the same
way, and a cases.jsonl beside one of them, too. Marian's pairs of model files of SentencePiece, of six kinds, are compared
with transformers, where it is installed, and T5's spiece.model and Llama's tokenizer.model with SentencePiece. LIBATTN names the library, else build/release has it.
2 N_TEXT vocabularies are random: their merges are in any order, and several may make the same token. N_TEXT tokenizers have random
normalizers, pre-tokenizers and decoders, with every behaviour of a split. Properties of patterns
(\\p{L}), the patterns of GPT-2, Llama 3, Qwen 2 and GPT-4o, and every normalizer are compared over all code points.
"""
import functools
import importlib.util
import json
import os
import pathlib
import random
import re
import shutil
import sys
import unicodedata
from ctypes import CDLL, POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p, cast, sizeof, string_at

try:
    import tokenizers
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    print(f"check-tokenizers: skipped: {error}; install it with: pip install tokenizers sentencepiece protobuf")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]
N_TEXT = int(os.environ.get("N_TEXT", 1000))

spec = importlib.util.spec_from_file_location("binding", ROOT / "lib/python/attn/binding.py")
c = importlib.util.module_from_spec(spec)
spec.loader.exec_module(c)
lib = c.declare(CDLL(os.environ.get("LIBATTN", str(ROOT / "build/release/libattn.so"))))


class Ours:
    """A tokenizer of attn in a folder."""

    def __init__(self, folder):
        source, error = c.attn_source(directory=str(folder).encode()), c.attn_error()
        self.pointer = c_void_p()
        if lib.attn_tokenizer_open(byref(source), byref(self.pointer), byref(error)) != c.ATTN_OK:
            raise ValueError(error.message.decode())

    @classmethod
    def of(cls, pointer):
        made = cls.__new__(cls)
        made.pointer = pointer
        return made

    def encode(self, text, pair=None, special=True):
        """ids, types, offsets in bytes, which text."""
        data, other = text.encode(), None if pair is None else pair.encode()
        options, encoding, error = c.attn_encode_options(), c.attn_encoding(), c.attn_error()
        lib.attn_encode_options_init(byref(options), sizeof(options))
        options.special_tokens = c.ATTN_SPECIAL_TOKENS_ON if special else c.ATTN_SPECIAL_TOKENS_OFF
        options.pair, options.n_pair = other, len(other or b"")
        if lib.attn_tokenizer_encode(self.pointer, data, len(data), byref(options), byref(encoding),
                                     byref(error)) != c.ATTN_OK:
            raise ValueError(error.message.decode())
        n = encoding.n
        found = (encoding.ids[:n], encoding.types[:n], list(zip(encoding.begin[:n], encoding.end[:n])),
                 encoding.texts[:n])
        lib.attn_encoding_release(byref(encoding))
        return found

    def decode(self, ids):
        array, text, size, error = (c_int32 * len(ids))(*ids), c_char_p(), c_size_t(), c.attn_error()
        pointer = cast(array, POINTER(c_int32)) if ids else None
        if lib.attn_tokenizer_decode(self.pointer, pointer, len(ids), byref(text), byref(size),
                                     byref(error)) != c.ATTN_OK:
            raise ValueError(error.message.decode())
        return string_at(text, size.value).decode()


# --- Hard texts -----------------------------------------------------------------------------------

WORDS = """the The THE keys of to cabinet are on table unaffordable walking tokenization "don't" it's I'm we've 3.14
2026-11-22 naïve Ångström façade groß ĳsland ﬁne Ⅷ ½ İstanbul ǅ ΣΊΣΥΦΟΣ ς 東京 語言 한국어 가각 ภาษาไทย हिन्दी العربية עברית
[MASK] [mask] [CLS] [SEP] [PAD] [UNK] <mask> <s> </s> <unk> <pad> <extra_id_0> <|startoftext|> <|endoftext|> </w>
``quoted'' -- … “x” ¿ ? ! , . ' do not n't 's x's 👩‍👩‍👧 🏳️‍🌈 🇩🇪🇫🇷 e\u0301 a\u0301\u0302 \u0301x q\u0307\u0323""".split()
SPACES = [" "] * 12 + ["", "", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\u0085", "\u1680"]
ODD = [*"\u2581\u00ad\u200d\u200c\ufeff\u0000\u0001\u001f\u007f\ufffd\u0300\u0301\u0323\u0345\u064b\u093c\u0f71\u20dd\u20d0",
       *"\ufb01\uff21\uff76\uff9e\u3099\u1100\u1161\u11a8\uac00\u0130\u0131\u017f\u2126\u212b\u00df\ufdfa\u3300\u1e9b\u0f73\u0344",
       *"\u3400\u4dbf\u4e00\u9fff\uf900\ufaff\u166d\u0e33\u0eb3\u200e\u061c\u2066\ue000\u1f62\u0439\u0451",
       "\U00020000", "\U0002b820", "\U0002f800", "\U000111c9", "\U0001d400", "\U0001f1e6", "\U0001f3fb", "\U000e0001", "\U0010ffff"]


@functools.cache
def is_known(code):
    """Whether a character is one of Python's Unicode."""
    return not 0xd800 <= code <= 0xdfff and unicodedata.category(chr(code)) != "Cn"


def characters(rng):
    low, high = rng.choice([(0x20, 0x7f), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x860), (0x900, 0x1000),
                            (0x1000, 0x1c80), (0x1d00, 0x1df0), (0x1e00, 0x2bba), (0x2e80, 0x3400), (0x4e00, 0x5000),
                            (0xa000, 0xa7ae), (0xac00, 0xd7a4), (0xf900, 0x10000), (0x10000, 0x10200),
                            (0x10600, 0x12000), (0x1d000, 0x1d800), (0x1f000, 0x20000), (0x20000, 0x2fa20)])
    codes = [rng.randrange(low, high) for _ in range(rng.randrange(1, 6))]
    return "".join(chr(code) for code in codes if is_known(code))


def hard_text(rng):
    parts = []
    for _ in range(rng.randrange(0, 9)):
        kind = rng.random()
        word = rng.choice(WORDS) if kind < 0.5 else rng.choice(ODD) if kind < 0.75 else characters(rng)
        if kind < 0.05:
            word = word * rng.randrange(2, 60)
        if rng.random() < 0.1:
            word += rng.choice("\u0301\u0308\u0323\u200d") * rng.randrange(1, 4)
        parts += [word, rng.choice(SPACES) if rng.random() < 0.8 else ""]
    return "".join(parts)


# --- The tokenizers -------------------------------------------------------------------------------

CORPUS = [ROOT / "README.md", *sorted(ROOT.glob("cmd/manual/**/*.md")), ROOT / "data/tiny-corpus.txt"]
N_VOCABULARY = 600
BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def lines():
    return [line for path in CORPUS for line in path.read_text(encoding="utf-8").splitlines()]


def special(text, **flags):
    return tokenizers.AddedToken(text, special=True, normalized=False, **flags)


def template(single, pair, ids):
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=list(ids.items()))


def wordpiece(lowercase, strip_accents, n_character, processor):
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=n_character))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(lines(), trainers.WordPieceTrainer(vocab_size=N_VOCABULARY, special_tokens=BERT_TOKENS))
    made.add_special_tokens([special(token) for token in BERT_TOKENS])
    made.post_processor = processor
    return made


BERT_ENDS = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
BERT_TEMPLATE = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": 2, "[SEP]": 3})


def charsmap(folder, rules=None):
    """The charsmap of sentencepiece's nmt_nfkc, or of RULES, which say what becomes what."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    options = {"normalization_rule_name": "nmt_nfkc"}
    if rules:
        text = "".join(" ".join(f"{ord(x):X}" for x in a) + "\t" + " ".join(f"{ord(x):X}" for x in b) + "\n"
                       for a, b in rules)
        (folder / "rules.tsv").write_text(text)
        options = {"normalization_rule_tsv": str(folder / "rules.tsv")}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()), model_prefix=str(folder / "spm"),
                                             vocab_size=300, minloglevel=9, hard_vocab_limit=False, **options)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((folder / "spm.model").read_bytes())
    return model.normalizer_spec.precompiled_charsmap


def unigram(tokens, unk, normalizer, pre_tokenizer, processor, mask=None, with_bytes=False):
    made = tokenizers.Tokenizer(models.Unigram())
    if normalizer:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer
    names = tokens + [f"<0x{byte:02X}>" for byte in range(256)] * with_bytes
    made.train_from_iterator(lines(), trainers.UnigramTrainer(vocab_size=N_VOCABULARY + 256 * with_bytes, special_tokens=names,
                                                              unk_token=unk, shrinking_factor=0.75))
    if with_bytes:
        written = json.loads(made.to_str())
        written["model"]["byte_fallback"] = True
        written["added_tokens"] = [token for token in written["added_tokens"] if token["content"] in tokens]
        made = tokenizers.Tokenizer.from_str(json.dumps(written))
    made.decoder = decoders.Metaspace()
    made.add_special_tokens([special(token, lstrip=token == mask) for token in tokens])
    made.post_processor = processor
    return made


def by_words():
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])


def small_rules():
    return [(a, b) for a, b in zip("ÀÁÂàáâèéêﬁﬂ①②Ａａ\u200b\u00ad½", ["A", "A", "A", "a", "a", "a", "e", "e", "e", "fi",
            "fl", "1", "2", "A", "a", " ", "", "1/2"])] + [("a\u0301", "á"), ("\r\n", " "), ("㎏", "kg")]


def albert(folder):
    parts = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
             normalizers.StripAccents(), normalizers.Lowercase(),
             normalizers.Precompiled(charsmap(folder, small_rules())), normalizers.Replace(Regex(" {2,}"), " ")]
    tokens = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    return unigram(tokens, "<unk>", normalizers.Sequence(parts), by_words(), BERT_TEMPLATE, "[MASK]")


def xlmr(folder, rules=None):
    return unigram(ROBERTA_TOKENS, "<unk>", normalizers.Precompiled(charsmap(folder, rules)), by_words(),
                   template("<s> $A </s>", "<s> $A </s> </s> $B </s>", {"<s>": 0, "</s>": 2}), "<mask>")


def t5(folder):
    tokens = ["<pad>", "</s>", "<unk>", "<extra_id_1>", "<extra_id_0>"]
    return unigram(tokens, "<unk>", normalizers.Precompiled(charsmap(folder, small_rules())), by_words(),
                   template("$A </s>", "$A </s> $B </s>", {"</s>": 1}))


def with_bytes(_folder):
    made = unigram(["<unk>", "<s>"], "<unk>", None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                   template("<s> $A", "<s> $A <s>:1 $B:1", {"<s>": 1}), with_bytes=True)
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    return made


def clip(_folder):
    made = tokenizers.Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>",
                                           continuing_subword_prefix=""))
    made.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "),
                                            normalizers.Lowercase()])
    rule = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(rule), "removed", invert=True),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ends = ["<|startoftext|>", "<|endoftext|>"]
    made.train_from_iterator(lines(), trainers.BpeTrainer(
        vocab_size=N_VOCABULARY + 300, special_tokens=ends, end_of_word_suffix="</w>",
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([special(token) for token in ends])
    made.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0),
                                                       trim_offsets=False, add_prefix_space=False)
    return made


def roberta(_folder):
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(lines(), trainers.BpeTrainer(
        vocab_size=N_VOCABULARY + 100, special_tokens=ROBERTA_TOKENS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([special(token, lstrip=token == "<mask>") for token in ROBERTA_TOKENS])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def with_parts(normalizer, pre_tokenizer, decoder):
    """RoBERTa's vocabulary with other parts."""
    made = roberta(None)
    if normalizer:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Sequence(pre_tokenizer)
    made.decoder = decoder
    made.post_processor = processors.Sequence([])
    written = json.loads(made.to_str())
    written["model"]["unk_token"] = "<unk>"
    return tokenizers.Tokenizer.from_str(json.dumps(written))


def falcon(_folder=None):
    """The parts of Falcon's tokenizer.json, 7B to 180B."""
    return with_parts(None, [pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                             pre_tokenizers.Digits(False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")],
                      decoders.ByteLevel())


def words(normalizer, pre_tokenizer, processor=None):
    made = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    if normalizer:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizer
    made.train_from_iterator(lines(), trainers.WordLevelTrainer(vocab_size=N_VOCABULARY, special_tokens=BERT_TOKENS))
    if processor:
        made.post_processor = processor
    return made


STYLES = {
    "bert_uncased": lambda _: wordpiece(True, None, 100, BERT_TEMPLATE),
    "bert_cased": lambda _: wordpiece(False, None, 100, BERT_ENDS),
    "bert_multilingual": lambda _: wordpiece(False, True, 24, BERT_TEMPLATE),
    "albert": albert, "xlmr": xlmr, "t5": t5, "unigram_bytes": with_bytes, "clip": clip, "roberta": roberta,
    "falcon": falcon,
    "merged": lambda _: with_parts(normalizers.Nmt(), [pre_tokenizers.Punctuation("merged_with_next"),
                                   pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.Split("t", "contiguous")],
                                   decoders.BPEDecoder(suffix="a")),
    "inverted": lambda _: with_parts(normalizers.ByteLevel(), [pre_tokenizers.Split(Regex("[a-z]+"), "isolated", invert=True),
                                     pre_tokenizers.FixedLength(3)], decoders.CTC("th", "\u0120", True)),
    "words": lambda _: words(None, pre_tokenizers.Whitespace(), BERT_TEMPLATE),
    "words_lower": lambda _: words(normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()),
}


def make_all(folder):
    """Writes all of them, and the vocab.txt of the first; returns the paths of the tokenizer.json."""
    paths = []
    for name, make in STYLES.items():
        (folder / name).mkdir()
        paths.append(folder / name / "tokenizer.json")
        make(folder).save(str(paths[-1]))
    vocabulary = json.loads(paths[0].read_text())["model"]["vocab"]
    (folder / "vocab_txt").mkdir()
    (folder / "vocab_txt/vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)))
    return paths


# --- Comparing ------------------------------------------------------------------------------------

def places(text):
    """Where in bytes each character begins, and the end."""
    at = [0]
    for character in text:
        at.append(at[-1] + len(character.encode()))
    return at


def is_place(data, token, ours, theirs):
    """The same bytes; of a part of a character, and of one that is spelled in bytes, some of them."""
    if tuple(ours) == tuple(theirs):
        return True
    is_part = any(at < len(data) and data[at] & 0xC0 == 0x80 for at in ours) or token.startswith("<0x")
    return is_part and theirs[0] <= ours[0] and ours[1] <= theirs[1]


def difference(ours, theirs, text, pair, special):
    """What is not the same, or None."""
    found = theirs.encode(text, pair, add_special_tokens=special)
    try:
        ids, types, offsets, texts = ours.encode(text, pair, special)
    except ValueError as problem:
        return f"refused: {problem}"
    if ids != found.ids:
        return f"ids {ids}, expected {found.ids} {found.tokens}"
    if types != found.type_ids:
        return f"types {types}, expected {found.type_ids}"
    data = {1: text.encode(), 2: (pair or "").encode()}
    at = {1: places(text), 2: places(pair or "")}
    for i, part in enumerate(texts):
        if part == 0:
            place, of = (0, 0), b""
        else:
            begin, end = found.offsets[i]
            place, of = (at[part][begin], at[part][end]), data[part]
        if not is_place(of, found.tokens[i], offsets[i], place):
            return f"token {i}, {found.tokens[i]!r}, is {offsets[i]}, expected {place}"
    if special and ours.decode(ids) != theirs.decode(ids, skip_special_tokens=False):
        return f"decoded {ours.decode(ids)!r}, expected {theirs.decode(ids, skip_special_tokens=False)!r}"
    return None


def check(name, path, seed, folder=None):
    """Compares tokenizer.json of PATH, or what FOLDER has, with the library that reads PATH."""
    ours, rng = Ours(folder or path.parent), random.Random(seed)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    cases = path.parent / "cases.jsonl"
    given = [json.loads(line) for line in cases.open(encoding="utf-8")] if cases.exists() else []
    n_bad = 0
    for i in range(N_TEXT + len(given)):
        case = given[i - N_TEXT] if i >= N_TEXT else {"text": hard_text(rng), "pair": hard_text(rng)}
        text, pair = case["text"], case.get("pair") if i >= N_TEXT or i % 3 == 0 else None
        for special in (True, False):
            what = difference(ours, theirs, text, pair, special)
            if what:
                n_bad += 1
                if n_bad <= 5:
                    print(f"check-tokenizers: {name}: {text!r} {pair!r}: {what}")
        if "ids_special" in case:
            assert ours.encode(text)[0] == case["ids_special"], text
            assert ours.decode(case["ids_special"]) == case["decode"], text
        if "ids_pair" in case:
            assert ours.encode(text, pair)[:2] == (case["ids_pair"], case["types_pair"]), text
    print(f"check-tokenizers: {name}: {N_TEXT} hard texts and {len(given)} given: {n_bad} differ")
    return n_bad


def random_bpe(rng):
    """A BPE of up to three letters, whose merges come in any order, some of them twice."""
    letters, merges = "abc"[:rng.randint(1, 3)], set()
    tokens = list(letters)
    for _ in range(rng.randint(1, 40)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) <= 8:
            merges.add((left, right))
            tokens += [left + right] * (left + right not in tokens)
    merges = rng.sample(sorted(merges), len(merges))
    merges += rng.sample(merges, rng.randint(0, len(merges)) // 4)
    rng.shuffle(tokens)
    unk = rng.random() < 0.5
    tokens += ["<unk>"] * unk
    return models.BPE({token: i for i, token in enumerate(tokens)}, merges, unk_token="<unk>" if unk else None,
                      fuse_unk=rng.random() < 0.5, ignore_merges=rng.random() < 0.25)


def check_merges(folder):
    """Merge lists that no training writes."""
    path, rng, n_bad = folder / "merges" / "tokenizer.json", random.Random(0), 0
    path.parent.mkdir()
    for number in range(2 * N_TEXT):
        theirs = tokenizers.Tokenizer(random_bpe(rng))
        theirs.save(str(path))
        ours = Ours(path.parent)
        for _ in range(20):
            text = "".join(rng.choices("abcx", weights=[8, 8, 8, 1], k=rng.randint(0, 60)))
            if ours.encode(text)[0] != theirs.encode(text).ids:
                n_bad += 1
                if n_bad <= 5:
                    print(f"check-tokenizers: merges {number}: {text!r}: {ours.encode(text)[0]}, expected "
                          f"{theirs.encode(text).ids}")
    print(f"check-tokenizers: {2 * N_TEXT} random lists of merges, 20 texts of each: {n_bad} differ")
    return n_bad


# --- Random parts ---------------------------------------------------------------------------------

BEHAVIORS = ["removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"]
CUTS = [Regex(r"\p{P}"), Regex(r"[a-z]+"), Regex(r"\s+"), Regex(r"[,.]"), Regex(r"\d{1,3}"), Regex(r"(?=[A-Z])"), Regex("x*"),
        Regex(r"\w+|[^\w\s]"), Regex("^|$"), " ", "'", "th", "\u3000", Regex(r"\p{Lu}?\p{Ll}+|\p{N}")]


def random_split(rng):
    kind = rng.randrange(11)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=rng.random() < 0.3, use_regex=rng.random() < 0.5)
    return [pre_tokenizers.Punctuation(rng.choice(BEHAVIORS)), pre_tokenizers.CharDelimiterSplit(rng.choice("-, e\u3000é")),
            pre_tokenizers.FixedLength(rng.choice([1, 2, 3, 5, 40])), pre_tokenizers.Digits(rng.random() < 0.5), byte_level,
            pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(), pre_tokenizers.BertPreTokenizer(),
            pre_tokenizers.UnicodeScripts()][kind] if kind < 9 else \
        pre_tokenizers.Split(rng.choice(CUTS), rng.choice(BEHAVIORS), invert=rng.random() < 0.5)


def random_normalizer(rng):
    kind = rng.randrange(12)
    return [normalizers.Nmt(), normalizers.ByteLevel(), normalizers.NFC(), normalizers.NFKD(), normalizers.Lowercase(),
            normalizers.StripAccents(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Replace("e", "\u00e9"),
            normalizers.Strip(rng.random() < 0.5, rng.random() < 0.5), normalizers.Prepend("\u2581"), normalizers.NFKC(),
            normalizers.BertNormalizer(lowercase=rng.random() < 0.5)][kind]


def random_decoder(rng):
    return rng.choice([decoders.ByteLevel(), decoders.BPEDecoder(suffix=rng.choice(["e", "</w>", "ing", "\u0120"])),
                       decoders.CTC(pad_token=rng.choice(["a", "th", "<unk>"]), word_delimiter_token=rng.choice(["|", "t", "\u0120"]),
                                    cleanup=rng.random() < 0.5), decoders.WordPiece(prefix="t", cleanup=rng.random() < 0.5),
                       decoders.Sequence([decoders.Replace("\u0120", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])])


def random_parts(trained, rng, is_normalized):
    model = json.loads(trained.to_str())["model"]
    model["unk_token"], model["fuse_unk"] = "<unk>", rng.random() < 0.5
    made = tokenizers.Tokenizer.from_str(json.dumps(json.loads(trained.to_str()) | {"model": model}))
    chosen = [random_normalizer(rng) for _ in range(rng.choice([0, 0, 1, 2, 3]))]
    if chosen:
        made.normalizer = normalizers.Sequence(chosen)
    made.pre_tokenizer = pre_tokenizers.Sequence([random_split(rng) for _ in range(rng.randrange(1, 5))])
    made.decoder = random_decoder(rng)
    made.add_tokens([tokenizers.AddedToken("the ", normalized=is_normalized), tokenizers.AddedToken("Key", single_word=True)])
    return made


def check_random_parts(folder):
    path, rng, n_bad = folder / "random" / "tokenizer.json", random.Random(int(os.environ.get("SEED", 0))), 0
    path.parent.mkdir()
    trained = falcon()
    for number in range(N_TEXT):
        is_normalized = number % 3 == 1  # the library decodes such a token to its normalized form since 0.23
        theirs = random_parts(trained, rng, is_normalized)
        theirs.save(str(path))
        try:
            ours = Ours(path.parent)
        except ValueError as problem:
            n_bad += 1
            print(f"check-tokenizers: parts {number}: refused: {problem}")
            continue
        for _ in range(20):
            text = hard_text(rng)
            what = difference(ours, theirs, text, None, not is_normalized)
            if what:
                n_bad += 1
                if n_bad <= 8:
                    print(f"check-tokenizers: parts {number}: {text!r}: {what}; {theirs.normalizer} {theirs.pre_tokenizer} {theirs.decoder}")
                break
    print(f"check-tokenizers: {N_TEXT} tokenizers of random parts, 20 texts of each: {n_bad} differ")
    return n_bad


# --- All code points ------------------------------------------------------------------------------

PROPERTIES = """L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn
    Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Devanagari Alphabetic Uppercase Lowercase Emoji
    White_Space""".split()
PATTERNS = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "Llama 3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
               r"\s+(?!\S)|\s+",
    "Qwen 2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "GPT-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
              r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
              r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"}


# Each character alone, and beside marks of three classes.
NORMALIZERS = {"NFC": normalizers.NFC(), "NFD": normalizers.NFD(), "NFKC": normalizers.NFKC(), "NFKD": normalizers.NFKD(),
               "Lowercase": normalizers.Lowercase(), "StripAccents": normalizers.StripAccents(),
               "Nmt": normalizers.Nmt(), "BertNormalizer": normalizers.BertNormalizer(),
               "BertNormalizer, cased": normalizers.BertNormalizer(lowercase=False, strip_accents=False),
               "BertNormalizer, accents": normalizers.BertNormalizer(lowercase=False, strip_accents=True)}
MARKED = ["{}", "a{}\u0301", "a{}\u0334", "a\u0345{}"]
PRE_TOKENIZERS = {"Digits": pre_tokenizers.Digits(), "Digits, individual": pre_tokenizers.Digits(individual_digits=True),
                  "Whitespace": pre_tokenizers.Whitespace(), "WhitespaceSplit": pre_tokenizers.WhitespaceSplit(),
                  "BertPreTokenizer": pre_tokenizers.BertPreTokenizer(), "Punctuation": pre_tokenizers.Punctuation(),
                  "Punctuation, merged": pre_tokenizers.Punctuation("merged_with_next"), "FixedLength": pre_tokenizers.FixedLength(2),
                  "UnicodeScripts": pre_tokenizers.UnicodeScripts()}


def both(folder, normalizer, *parts):
    """Both tokenizers that leave the bytes that NORMALIZER and PARTS leave, each byte a token."""
    path = folder / "parts" / "tokenizer.json"
    path.parent.mkdir(exist_ok=True)
    theirs = tokenizers.Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    theirs.decoder = decoders.ByteLevel()
    if normalizer:
        theirs.normalizer = normalizer
    theirs.pre_tokenizer = pre_tokenizers.Sequence([*parts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    theirs.save(str(path))
    return Ours(path.parent), theirs


def removed(pattern):
    return pre_tokenizers.Split(Regex(pattern), "removed")


def check_part(folder, name, codes, forms, normalizer, *parts):
    """How many of CODES, each as one of FORMS, get another text by NORMALIZER and PARTS."""
    ours, theirs = both(folder, normalizer, *parts)

    def differing(codes, form):
        text = "\n".join(form.format(chr(code)) for code in codes)
        if ours.encode(text)[0] == theirs.encode(text).ids:
            return []
        half = len(codes) // 2
        return codes if half == 0 else differing(codes[:half], form) + differing(codes[half:], form)

    bad = sorted({code for form in forms for at in range(0, len(codes), 4096) for code in differing(codes[at:at + 4096], form)})
    if bad:
        print(f"check-tokenizers: {name}: {len(bad)} of {len(codes)} code points: {' '.join(f'U+{code:04X}' for code in bad[:8])}")
    return len(bad)


def check_code_points(folder):
    """Each normalizer; each property, by removing its characters; each pattern, by removing the first character of each
    piece. Of planes without characters, or with private ones alone, every 64th."""
    rng, codes = random.Random(0), [code for code in range(0x110000) if not 0xd800 <= code < 0xe000 and
                                    (code < 0x32400 or 0xe0000 <= code < 0xe0400 or code % 64 == 0 or code % 0x10000 > 0xfff0)]
    first = removed(r"\A(?:\s|\S)")
    n_bad = sum(check_part(folder, name, codes, MARKED, normalizer) for name, normalizer in NORMALIZERS.items())
    n_bad += sum(check_part(folder, name, codes, ["a{}a"], None, part, first) for name, part in PRE_TOKENIZERS.items())
    n_bad += sum(check_part(folder, pattern, codes, ["{}"], None, removed(pattern)) for pattern in
                 [*(rf"\p{{{name}}}" for name in PROPERTIES), r"\s", r"\w", r"\d"])
    mixed = rng.sample(codes, len(codes))
    for name, pattern in PATTERNS.items():
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        n_bad += check_part(folder, name, codes, ["{}"], None, split, first)
        n_bad += check_part(folder, name, mixed, [rng.choice(["{}", "{}a", "{} 7", "B{}'s", " {}!"])], None, split, first)
    print(f"check-tokenizers: {len(NORMALIZERS)} normalizers, {len(PRE_TOKENIZERS)} pre-tokenizers, {len(PROPERTIES)} properties and "
          f"{len(PATTERNS)} patterns over all code points: {n_bad} differ")
    return n_bad


GOLDEN = ["", " ", "The keys to the cabinet are on the table.", "Unaffordable!", "[MASK] \u3000<mask>  x", "don't , it ' s !",
          "e\u0301a\u0301\u0302 Ångström İ", "語言 \ufb01x\u00ad\u200b", "<extra_id_0>\t\u2581a b", "......................",
          "\U0001f469\u200d\U0001f467 \u166d\u111c9", "a" * 101, "\u2460\uff21\u33ce \u00bd"]


def short_texts(rng, n):
    texts = (hard_text(rng) for _ in range(100 * n))
    return [text for text in texts if len(text) < 60][:n]


def write_golden(folder):
    """For each style a line that is its tokenizer.json, and a line for each text and pair."""
    rng = random.Random(0)
    with (ROOT / "tests/golden/tokenizers.jsonl").open("w", encoding="utf-8") as file:
        for path in make_all(folder):
            print(json.dumps(json.loads(path.read_text()), ensure_ascii=False, separators=(",", ":")), file=file)
            made = tokenizers.Tokenizer.from_file(str(path))
            for text in GOLDEN + short_texts(rng, 10):
                pair = short_texts(rng, 1)[0] if rng.random() < 0.5 else None
                if "\0" in text + (pair or ""):  # the JSON reader of the test refuses it
                    continue
                found = made.encode(text, pair)
                at = {0: places(text), 1: places(pair or ""), None: [0]}
                case = {"text": text, "pair": pair, "ids": found.ids, "types": found.type_ids,
                        "offsets": [[at[which][end] for end in ends]
                                    for ends, which in zip(found.offsets, found.sequence_ids)],
                        "plain": made.encode(text, pair, add_special_tokens=False).ids,
                        "decode": made.decode(found.ids, skip_special_tokens=False)}
                print(json.dumps(case, ensure_ascii=False, separators=(",", ":")), file=file)


# --- SentencePiece's own files --------------------------------------------------------------------

def train_spm(path, number, **options):
    """A model file; in every other one scores are multiples of 1/4, so that many sums are equal."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()), model_prefix=str(path.with_suffix("")),
                                             vocab_size=700, minloglevel=9, hard_vocab_limit=False, **options)
    path.with_suffix(".model").rename(path)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(path.read_bytes())
    for piece in model.pieces:
        if number % 2 and piece.type == 1:
            piece.score = round(piece.score) / 4 + 0.1
    path.write_bytes(model.SerializeToString())
    return [piece.piece for piece in model.pieces]


SPM_KINDS = [{"normalization_rule_name": "nmt_nfkc"}, {"normalization_rule_name": "identity", "character_coverage": 0.98},
             {"user_defined_symbols": ["<br>", "ab", "  ", "the", "e\u0301", "\u2581of"]}, {"byte_fallback": True},
             {"add_dummy_prefix": False, "remove_extra_whitespaces": False}, {"normalization_rule_name": "nfkc_cf"}]


def open_marian(folder, number, rng):
    """Both tokenizers; ids are in any order, some pieces have none, and every third has two vocabularies."""
    from transformers import MarianTokenizer
    folder.mkdir()
    config = {"separate_vocabs": number % 3 == 2, "tokenizer_class": "MarianTokenizer"}
    sides = [train_spm(folder / "source.spm", number, **SPM_KINDS[number]),
             train_spm(folder / "target.spm", number + 1, **SPM_KINDS[(number + 1) % len(SPM_KINDS)])]
    own = ["</s>", "<unk>", "<pad>", ">>fra<<"]  # transformers takes their ids from vocab.json on both sides
    for name, pieces in (("vocab.json", sides[0] + (sides[1] * (1 - config["separate_vocabs"]))), ("target_vocab.json", sides[1])):
        keys = {piece for piece in pieces if rng.random() < 0.95} - set(own)
        keys = own + rng.sample(sorted(keys), len(keys))
        (folder / name).write_text(json.dumps({key: i for i, key in enumerate(keys)}))
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return Ours(folder), MarianTokenizer.from_pretrained(str(folder))


MARIAN_WORDS = [">>fra<<", ">>xyz<<", "<<", ">>", "</s>", "<unk>", "<pad>", "<br>", "ab", "<s>", "\u2581", "\u2581\u2581"]


def check_marian(folder, number):
    rng, n_bad = random.Random(number), 0
    ours, theirs = open_marian(folder, number, rng)
    target = Ours.of(lib.attn_tokenizer_target(ours.pointer))
    for _ in range(N_TEXT):
        text = "".join(rng.choice([hard_text(rng), rng.choice(MARIAN_WORDS), " "]) for _ in range(rng.randrange(1, 4)))
        found = ours.encode(text)[0], target.encode(text)[0]
        expected = theirs(text).input_ids, theirs(text_target=text).input_ids
        side = target if theirs.separate_vocabs else ours
        decoded = side.decode(expected[1]).strip(), theirs.decode(expected[1])
        if "add_dummy_prefix" not in str(SPM_KINDS[number]):  # transformers keeps the space of a piece that source.spm lacks
            decoded = decoded[0], re.sub("(<unk>|</s>|<pad>) +", r"\1 ", decoded[1]).strip()
        has_bytes = "byte_fallback" in SPM_KINDS[number] or "byte_fallback" in SPM_KINDS[(number + 1) % len(SPM_KINDS)]
        if found != expected or (decoded[0] != decoded[1] and not has_bytes):
            n_bad += 1
            if n_bad < 5:
                print(f"check-tokenizers: marian {number}: {text!r}: {found}, expected {expected}; {decoded}")
    print(f"check-tokenizers: marian {number}: {N_TEXT} texts: {n_bad} differ")
    return n_bad


def check_t5(folder):
    """A spiece.model, without its tokenizer.json."""
    import sentencepiece
    folder.mkdir()
    train_spm(folder / "spiece.model", 1, pad_id=0, eos_id=1, unk_id=2, bos_id=-1, normalization_rule_name="nmt_nfkc")
    (folder / "config.json").write_text('{"model_type": "t5"}')
    ours, theirs = Ours(folder), sentencepiece.SentencePieceProcessor(str(folder / "spiece.model"))
    rng = random.Random(0)
    texts = [text for text in (hard_text(rng) for _ in range(N_TEXT)) if "<" not in text]
    n_bad = sum(ours.encode(text)[0] != theirs.encode(text) + [1] or
                ours.decode(theirs.encode(text)) != theirs.decode(theirs.encode(text)) for text in texts
                if 2 not in theirs.encode(text))
    print(f"check-tokenizers: spiece.model: {len(texts)} texts: {n_bad} differ")
    return n_bad


def check_bpe(folder, number):
    """A tokenizer.model of type BPE, without its tokenizer.json. Control pieces in a text are those of transformers, so texts have none."""
    import sentencepiece
    folder.mkdir()
    train_spm(folder / "tokenizer.model", number, model_type="bpe", **SPM_KINDS[number])
    ours, theirs = Ours(folder), sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
    rng, n_bad, n = random.Random(number), 0, 0
    for _ in range(N_TEXT):
        text = "".join(rng.choice([hard_text(rng), rng.choice(MARIAN_WORDS), " "]) for _ in range(rng.randrange(1, 4)))
        if any(control in text for control in ("<s>", "</s>", "<unk>")):
            continue
        found, expected, n = ours.encode(text)[0], [1] + theirs.encode(text), n + 1
        is_told_apart = "\u2581" in text or theirs.unk_id() in expected  # SentencePiece's decoder drops or marks these
        decoded = is_told_apart or ours.decode(expected[1:]) == theirs.decode(expected[1:])
        if found != expected or not decoded:
            n_bad += 1
            if n_bad < 5:
                print(f"check-tokenizers: tokenizer.model {number}: {text!r}: {found}, expected {expected}, {ours.decode(expected[1:])!r}")
    print(f"check-tokenizers: tokenizer.model {number}: {n} texts: {n_bad} differ")
    return n_bad


def check_spm(folder):
    n_bad = sum(check_bpe(folder / f"bpe{i}", i) for i in range(len(SPM_KINDS)))
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        print(f"check-tokenizers: marian: skipped: {error}")
        return n_bad + check_t5(folder / "t5_spm")
    return n_bad + check_t5(folder / "t5_spm") + sum(check_marian(folder / f"marian{i}", i) for i in range(len(SPM_KINDS)))


if __name__ == "__main__":
    is_golden = sys.argv[1] == "--golden"
    folder = pathlib.Path(sys.argv[1 + is_golden])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if is_golden:
        CORPUS, N_VOCABULARY = CORPUS[-1:], 250
        STYLES["xlmr"] = lambda folder: xlmr(folder, small_rules())
        write_golden(folder)
        sys.exit(0)
    paths = [pathlib.Path(path) for path in sys.argv[2:]] or make_all(folder)
    n_bad = sum(check(path.parent.name, path, number) for number, path in enumerate(paths))
    if (folder / "vocab_txt").exists():
        n_bad += check("vocab_txt", paths[0], len(paths), folder / "vocab_txt")
    n_bad += check_merges(folder) + check_random_parts(folder) + check_code_points(folder) + check_spm(folder)
    sys.exit(n_bad > 0)
