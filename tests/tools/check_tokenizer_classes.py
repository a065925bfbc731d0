#!/usr/bin/env python3
"""Compares the ids of tokenizers with those of transformers, in folders as people have them.

    venv/bin/python tests/tools/check_tokenizer_classes.py [--count N] [--seed N] [--only WORD] [--other PYTHON] [BINARY]

Makes small vocabularies, and folders of them: each class with each key of tokenizer_config.json, any two files of two
families mixed, and keys beside tokenizer.json. AutoTokenizer of this Python (transformers 5) and of `--other` (4.57) encodes
hard texts and pairs. A folder is wrong if attn-cli gives ids that are of neither version, or only of version 5 where version 4
has others, without exit code 3 and without a note; so is a folder of save_pretrained with a
note that is not needed. Needs transformers, tokenizers and sentencepiece; never part of make test.
"""
import argparse, collections, hashlib, io, itertools, json, os, pathlib, random, shutil, subprocess, sys, tempfile

SERVER = r'''
import json, os, sys, warnings
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
warnings.filterwarnings("ignore")
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
from transformers import AutoTokenizer
for line in sys.stdin:
    asked = json.loads(line)
    try:
        t = AutoTokenizer.from_pretrained(asked["folder"])
        answer = {"class": type(t).__name__, "ids": [t(x)["input_ids"] for x in asked["texts"]]}
    except BaseException as e:
        answer = {"error": f"{type(e).__name__}: {e}"[:200]}
    try:
        if "ids" in answer: answer["pairs"] = [t(a, b)["input_ids"] for a, b in asked["pairs"]]
    except BaseException as e:
        answer["pairs"] = None
    out.write(json.dumps(answer) + "\n"); out.flush()
'''

CORPUS = ("The ferry leaves at noon, and the old boat waits in the harbour. I don't know why; they're here! It's 1999 or 2024. "
          "A naïve café in Zürich sells égalité for 12 keys. Fish and fishing, wait and waiting, the tide takes the sand. "
          "two  spaces and\ttabs\nand lines. HE SAID: DON'T GO. 猫が好き 一二三 привет мир ").replace("  ", " ") * 4
TEXTS = ["The ferry don't wait 1999", "a naïve café, 12 keys!", "two  spaces", "I'M HERE, DON'T", " leading and trailing ",
         "e\u0301galite\u0301 \ufb01sh ½ Ａ", "line\nbreak\r\n\ttab  \n\n x", "猫が好き。一二三 привет", "ok 🙂 fine<mask> a [MASK]b [SEP]",
         "<s> the </s><|endoftext|> x<pad>", "12345 3.14 1,000", "don’t “quote” …", "x" * 30 + " \u200b\u00a0y\u3000z", "<unk> [UNK] [CLS]a <cls>b",
         "<extra_id_0> the <extra_id_99>x <call> <|call|>", "'s 're 'LL we'Ve", "ǅ İ ß ΑΣ ĳ", "a\u0327\u0301 \u1e9b\u0323", "`` q '' ``", "the <call>the the<call> the", "the <mask> x <s> y", "a <cls> <sep> [CLS] b"]
PAIRS = [["the ferry", "old boat"], ["a", " b c"]]


class Oracle:
    def __init__(self, python):
        self.process = subprocess.Popen([python, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, folder):
        self.process.stdin.write(json.dumps({"folder": str(folder), "texts": TEXTS, "pairs": PAIRS}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


# --- Vocabularies ------------------------------------------------------------------------------------------------------------------

def byte_level(specials, behind=False, suffix=None, n=420):
    """vocab.json and merges.txt with SPECIALS at the beginning, or BEHIND."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
    t = Tokenizer(models.BPE(end_of_word_suffix=suffix or ""))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if suffix:
        t.normalizer = normalizers.Lowercase()
    t.train_from_iterator([CORPUS], trainers.BpeTrainer(vocab_size=n, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                                            **({"end_of_word_suffix": suffix} if suffix else {})))
    model = json.loads(t.to_str())["model"]
    pairs = [m if isinstance(m, list) else m.split(" ") for m in model["merges"]]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = alphabet + [c + suffix for c in alphabet] if suffix else alphabet
    merges = []
    for a, b in pairs:
        if a in tokens and b in tokens and a + b not in tokens:
            tokens = tokens + [a + b]
            merges.append(f"{a} {b}")
    tokens = tokens + specials if behind else specials + tokens
    return {"vocab.json": json.dumps({t: i for i, t in enumerate(tokens)}, ensure_ascii=False), "merges.txt": "#version: 0.2\n" + "\n".join(merges) + "\n"}


def word_piece(specials):
    words = sorted(set(CORPUS.lower().replace(",", " , ").replace(".", " . ").split()))[:60] + ["The", "DON", "naïve", "é"]
    letters = sorted({c for c in CORPUS if not c.isspace()})
    tokens = list(dict.fromkeys(specials + letters + ["##" + c for c in letters] + words))
    return {"vocab.txt": "".join(t + "\n" for t in tokens)}


def sentence_piece(name, kind, n=260, **more):
    import sentencepiece
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS.replace("\n", " ").split(".")), model_writer=model, vocab_size=n, model_type=kind,
                                             hard_vocab_limit=False, minloglevel=2, character_coverage=0.98, **more)
    return {name: model.getvalue()}


def of_pieces(files):
    """M2M100's vocab.json of a model of SentencePiece: its pieces in another order, and tokens in front."""
    import sentencepiece
    model = sentencepiece.SentencePieceProcessor(model_proto=files["sentencepiece.bpe.model"])
    pieces = [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
    return {**files, "vocab.json": {t: i for i, t in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + pieces[::-1])}}


LANGUAGES = ["<|en|>", "<|zh|>", "<|de|>"]
ROBERTA, BERT = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
T5 = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def families():
    """Of each class: its files, its model type, and keys that it may have."""
    gpt2 = byte_level(["<|endoftext|>"], behind=True)
    roberta, deberta = byte_level(ROBERTA), byte_level(["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"])
    neox, cohere = byte_level(["<|endoftext|>", "<|padding|>"]), byte_level(["<PAD>", "<UNK>", "<CLS>", "<SEP>", "<MASK_TOKEN>", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"])
    whisper = byte_level(["<|endoftext|>"], behind=True)
    whisper["added_tokens.json"] = {t: n_tokens(whisper) + i for i, t in enumerate(["<|startoftranscript|>"] + LANGUAGES + ["<|translate|>", "<|transcribe|>", "<|notimestamps|>"])}
    clip = byte_level(["<|startoftext|>", "<|endoftext|>"], behind=True, suffix="</w>", n=900)
    bert, llama = word_piece(BERT), sentence_piece("tokenizer.model", "bpe", byte_fallback=True, n=500, remove_extra_whitespaces=False, normalization_rule_name="identity")
    found = {}
    for names, files, kind in [
            (["GPT2", "CodeGen"], gpt2, "gpt2"), (["GPTNeoX"], neox, "gpt_neox"), (["Qwen2"], gpt2, "qwen2"), (["Cohere"], cohere, "cohere"), (["Whisper"], whisper, "whisper"),
            (["Roberta", "Bart", "Longformer", "LED", "Mvp", "Luke"], roberta, "roberta"), (["Deberta"], deberta, "deberta"), (["Blenderbot"], roberta, "blenderbot"),
            (["CLIP"], clip, "clip"), (["Bert", "DistilBert", "Electra", "MobileBert", "ConvBert", "SqueezeBert", "Lxmert", "LayoutLM", "DPRReader"], bert, "bert"),
            (["MPNet"], word_piece(["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]), "mpnet"), (["Funnel"], word_piece(["<unk>", "<cls>", "<sep>", "<pad>", "<mask>", "<s>", "</s>"]), "funnel"),
            (["Splinter"], word_piece(BERT + ["[QUESTION]"]), "splinter"), (["T5"], sentence_piece("spiece.model", "unigram", **T5), "t5"), (["Llama"], llama, "llama"),
            (["Gemma"], sentence_piece("tokenizer.model", "bpe", byte_fallback=True, n=500, pad_id=0, eos_id=1, bos_id=2, unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", add_dummy_prefix=False,
                                       remove_extra_whitespaces=False, normalization_rule_name="identity"), "gemma"),
            (["XLMRoberta", "MBart", "MBart50", "Camembert", "Barthez"], sentence_piece("sentencepiece.bpe.model", "unigram"), "xlm-roberta"), (["Nllb"], sentence_piece("sentencepiece.bpe.model", "bpe"), "nllb"),
            (["M2M100"], of_pieces(sentence_piece("sentencepiece.bpe.model", "bpe")), "m2m_100"),
            (["Pegasus"], sentence_piece("spiece.model", "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1), "pegasus"), (["Albert", "XLNet"], sentence_piece("spiece.model", "unigram"), "albert"),
            (["DebertaV2"], sentence_piece("spm.model", "unigram", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]"), "deberta-v2"),
            (["BigBird", "RemBert"], {**sentence_piece("spiece.model", "unigram"), **sentence_piece("sentencepiece.model", "unigram")}, "big_bird"),
            (["Herbert", "OpenAIGPT"], gpt2, "herbert"), (["Phobert", "CTRL", "Wav2Vec2CTC", "ByT5", "PreTrained", "KoBert"], gpt2, "bert")]:
        for name in names:
            found[name] = {"files": files, "type": kind}
    return found


def token(content, **flags):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True, **flags}


def keys(random, n_vocab):
    """One key of tokenizer_config.json, or several that belong together, at random."""
    flip = random.choice([True, False])
    new = token("<call>", lstrip=random.random() < .3, rstrip=random.random() < .3, single_word=random.random() < .3, normalized=random.random() < .4, special=random.random() < .6)
    return random.choice([
        {"add_prefix_space": flip}, {"add_bos_token": flip}, {"add_eos_token": flip}, {"add_bos_token": True, "add_eos_token": flip}, {"do_lower_case": flip}, {"strip_accents": flip},
        {"do_lower_case": flip, "strip_accents": not flip}, {"tokenize_chinese_chars": flip}, {"do_basic_tokenize": flip}, {"never_split": ["the"]}, {"legacy": flip}, {"extra_ids": random.choice([0, 5, 100])},
        {"offset": 50}, {"src_lang": random.choice(["en_XX", "de_DE", "eng_Latn", "en"])}, {"language": random.choice(["german", "de", "zh", "Chinese", "mandarin", "xx"])}, {"task": random.choice(["transcribe", "translate"])},
        {"language": "en", "task": "transcribe", "predict_timestamps": flip}, {"predict_timestamps": flip}, {"keep_accents": flip}, {"legacy_behaviour": flip}, {"split_by_punct": flip}, {"split_special_tokens": flip},
        {"clean_up_tokenization_spaces": flip}, {"model_max_length": 512}, {"padding_side": "left"}, {"trim_offsets": flip}, {"errors": "replace"}, {"tgt_lang": "de_DE"}, {"use_default_system_prompt": flip},
        {"bos_token": "</s>"}, {"cls_token": random.choice(["</s>", "[MASK]", "the"])}, {"sep_token": random.choice(["[MASK]", "<s>"])}, {"unk_token": "the"}, {"eos_token": "the"}, {"pad_token": "<call>"},
        {"mask_token": token("<mask>", lstrip=flip)}, {"mask_token": token("[MASK]", rstrip=True)}, {"bos_token": None}, {"mask_token": "<call>"}, {"additional_special_tokens": ["<call>"]},
        {"extra_special_tokens": {"call": "<call>"}}, {"added_tokens_decoder": {str(n_vocab): new}}, {"added_tokens_decoder": {str(n_vocab + 1): new}}, {"added_tokens_decoder": {"3": token("<unk>", single_word=True)}},
        {"added_tokens_decoder": {str(n_vocab): {**new, "content": "the"}}}, {"auto_map": {"AutoTokenizer": ["own.Own", None]}}, {"word_tokenizer_type": "basic"}, {"sp_model_kwargs": {}}, {"add_dummy_prefix_space": flip},
        {"use_fast": flip}, {"special_tokens_map_file": None}, {"name_or_path": "x"}, {"tokenizer_file": None}, {"vocab_size": 5}, {"do_normalize": flip}, {"remove_space": flip}, {"fix_mistral_regex": flip}])


# --- Judging ------------------------------------------------------------------------------------------------------------------------

def ours(binary, folder, text, pair=None):
    run = subprocess.run([binary, "tokenize", "-m", str(folder), "-f", "-"] + (["--json", "-", "--pair", pair] if pair is not None else ["--format", "ids"]),
                         input=text.encode() + b"\n", capture_output=True, timeout=60)
    out = run.stdout.decode(errors="replace")
    if run.returncode:
        return run.returncode, None, run.stderr.decode(errors="replace")
    return 0, (json.loads(out)["ids"] if pair is not None else [int(x) for x in out.split()]), run.stderr.decode(errors="replace")


def judge(binary, folder, new, old):
    """Returns a verdict and a line about the folder. "noise" is a note although both versions have the same ids."""
    note, differs, answers = None, False, []
    for kind, inputs in (("ids", [(t, None) for t in TEXTS]), ("pairs", PAIRS)):
        for i, (text, pair) in enumerate(inputs):
            code, ids, said = ours(binary, folder, text, pair)
            if code == 3 or code == 4 and ("which the vocabulary lacks" in said or "nor its unknown token" in said):
                return "refused", said.split("\n")[0]
            if code:
                if "does not say how" in said or "unknown word" in said:
                    continue
                return "WRONG", f"exit {code}: {said.strip()}"
            said = "; ".join(part for part in said.replace("\n", "; ").split("; ") if "no line of" not in part and "the text has one" not in part and "leaves its own out" not in part)
            note = note or ("note:" in said and said.split("\n")[0])
            answers = [o[kind][i] if o and o.get(kind) else None for o in (old, new)]
            right = answers[0] if answers[0] is not None else answers[1]
            differs = differs or answers != [ids, ids]
            if not note and right is not None and ids != right:
                where = "version 5 alone" if ids == answers[1] else "neither"
                return ("WRONG" if ids != answers[1] else "five"), f"{where}: {text!r} {pair or ''} gives {ids}, not {right}" + (f" (5: {answers[1]})" if answers[1] != right else "")
    if note:
        return ("noted" if differs else "noise"), note
    return ("right" if new and "ids" in new or old and "ids" in old else "alone"), ""


def write(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode())


def n_tokens(files):
    if "vocab.json" in files:
        return len(json.loads(files["vocab.json"])) if isinstance(files["vocab.json"], str) else len(files["vocab.json"])
    return files["vocab.txt"].count("\n") if "vocab.txt" in files else 260


def folders(random, found, saved, count):
    """Yields names and files of folders: each class bare, then those that save_pretrained wrote, then at random."""
    converted = {name: files["tokenizer.json"].decode() for (version, name), files in saved.items() if version == "new"}
    names = sorted(found)
    for name in names:
        yield f"class {name}", {**found[name]["files"], "config.json": {"model_type": found[name]["type"]}, "tokenizer_config.json": {"tokenizer_class": name + "Tokenizer"}}
        yield f"type {found[name]['type']}", {**found[name]["files"], "config.json": {"model_type": found[name]["type"]}}
    yield from ((f"saved {' '.join(key)}", files) for key, files in saved.items())
    for _ in range(count):
        name = random.choice(names)
        config = {"tokenizer_class": name + random.choice(["Tokenizer", "TokenizerFast"])} if random.random() < .85 else {}
        files, what = dict(found[name]["files"]), random.choice(["keys", "keys", "mixed", "json", "json"])
        kind = found[name]["type"]
        for _ in range(random.choice([1, 1, 2])):
            config.update(keys(random, n_tokens(files)))
        if what == "mixed":
            other = random.choice(names)
            files = {n: random.choice([a, b]) for n, a, b in [(n, found[name]["files"].get(n, found[other]["files"].get(n)), found[other]["files"].get(n, found[name]["files"].get(n))) for n in {**found[name]["files"], **found[other]["files"]}]}
            if random.random() < .3 and converted:
                files["tokenizer.json"] = converted[random.choice(sorted(converted))]
            kind = random.choice([kind, found[other]["type"]])
            config = config if random.random() < .3 else {k: v for k, v in config.items() if k == "tokenizer_class"}
        if what == "json" and converted:
            base = name if name in converted else random.choice(sorted(converted))
            files = {"tokenizer.json": converted[base]}
        if random.random() < .15:
            files.setdefault("added_tokens.json", {"<call>": n_tokens(files)})
        if random.random() < .15:
            files["special_tokens_map.json"] = random.choice([{"mask_token": token("<mask>", lstrip=True)}, {"cls_token": "<s>"}, {"additional_special_tokens": ["<call>"]}, {"unk_token": "[UNK]"}, {"bos_token": "</s>"}])
        if random.random() < .95:
            files["tokenizer_config.json"] = config
        files["config.json"] = {"model_type": kind}
        yield f"{what} {name} {json.dumps(config)}", files


def save(found, where, pythons):
    """The folders that save_pretrained of each version writes of each class, if they have a tokenizer.json."""
    code = ("import sys; from transformers import AutoTokenizer as A\n"
            "for f in sys.argv[2:]:\n    try: A.from_pretrained(f).save_pretrained(f + '/' + sys.argv[1])\n    except BaseException as e: pass\n")
    for name, family in found.items():
        write(where / name, {**family["files"], "config.json": {"model_type": family["type"]}, "tokenizer_config.json": {"tokenizer_class": name + "Tokenizer"}})
    for version, python in pythons.items():
        subprocess.run([python, "-c", code, version, *[str(where / name) for name in found]], capture_output=True)
    return {(version, name): {**{f.name: f.read_bytes() for f in (where / name / version).iterdir()}, "config.json": {"model_type": found[name]["type"]}}
            for version in pythons for name in found if (where / name / version / "tokenizer.json").exists()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--other", help="a Python with transformers 4.57")
    parser.add_argument("--keep", help="where folders that are wrong are left")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("binary", nargs="?", default="build/release/attn-cli")
    args = parser.parse_args()
    sums, wrong = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        found = families()
        saved = save(found, scratch / "saved", {"new": sys.executable, **({"old": args.other} if args.other else {})})
        new, old = Oracle(sys.executable), Oracle(args.other) if args.other else None
        for number, (name, files) in enumerate(folders(random.Random(args.seed), found, saved, args.count)):
            if args.only not in name:
                continue
            folder = scratch / "folder"
            write(folder, files)
            verdict, line = judge(args.binary, folder, new.ask(folder), old.ask(folder) if old else None)
            verdict = "WRONG" if verdict == "noise" and name.startswith("saved") else verdict
            sums[verdict] += 1
            if verdict in ("WRONG", "five", "alone") or args.verbose:
                print(f"{verdict} {number} {name} {sorted(files)}\n    {line}", flush=True)
            if verdict == "WRONG" and args.keep:
                shutil.copytree(folder, pathlib.Path(args.keep) / str(number), dirs_exist_ok=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(sums.items())))
    sys.exit(sums["WRONG"] > 0)


if __name__ == "__main__":
    main()
