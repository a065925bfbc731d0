#!/usr/bin/env python3
"""check_published.py - published models beside transformers 5.23: ids, patterns, logits, surprisal, vectors, classes.

    check_published.py BINARY MODELS    MODELS is what check_published.sh unpacked

transformers knows no rule of splitting by the name 'smollm' and takes GPT-2's for SmolLM2; tokenizer.json of the model splits at each
digit before, so that rule is set here. Without transformers it checks nothing, and says so.
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

binary, models = sys.argv[1], sys.argv[2]
SMOL, GEMMA, MINILM = (os.path.join(models, name) for name in ("smollm2.gguf", "gemma3.gguf", "minilm"))
n_passed, failed = 0, []


def check(is_good, what):
    global n_passed
    n_passed += bool(is_good)
    if not is_good:
        failed.append(what)
    print(("passed  " if is_good else "FAILED  ") + what, flush=True)


def run(*words, text=None):
    done = subprocess.run([binary, *words, "-q"], input=text, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)[:200]}: {done.stderr.decode()[:400]}")
    return done.stdout.decode()


def arrays(*words):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npz")
        run("run", *words, "--npz", path)
        with np.load(path) as found:
            return dict(found)


def rows(*words):
    return list(csv.DictReader(io.StringIO(run(*words, "--csv", "-"))))


def hard_texts(n=300):
    """Texts of words, spaces, digits, scripts, marks and joined pictures, drawn with a fixed seed."""
    rng = np.random.default_rng(87)
    parts = ["The", " keys", "  ", "\n", "\t", "don't", "I'LL", "1234567", "3.14", "naïve", "e\u0301", "中文", "日本語", "한국", "עברית",
             "العربية", "हिन्दी", "👩‍👩‍👧", "🇨🇭", "…", "—", "\u00a0", "\u200b", "\u2581", "x" * 30, "==", "->", "</s>", "C:\\a", "#!", "Ⅷ", "ﬁ", "ß", " the"]
    return ["".join(rng.choice(parts, rng.integers(1, 12))) for _ in range(n)]


WORDS = "The old man walked to the house near the river and said that the keys were on the table , but nobody had seen them ."


def long_text(n_word):
    rng = np.random.default_rng(5)
    return " ".join(rng.choice(WORDS.split(), n_word))


def distance(a, b):
    return float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max())


def compare_decoder(path, name):
    import torch
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, file = os.path.split(path)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    if name == "SmolLM2":
        tokenizer.backend_tokenizer.pre_tokenizer = Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])
    texts = hard_texts()
    items = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    found = [json.loads(line).get("ids") for line in run("batch", "-m", path, text=items.encode()).splitlines()]
    other = [text for text, ids in zip(texts, found) if ids != tokenizer(text)["input_ids"]]
    check(not other, f"{name}: ids of {len(texts)} texts, {len(other)} differ {other[:3]!r}")
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32, attn_implementation="eager").eval()
    for n in 6, 100, 1000:
        ids = tokenizer(long_text(2 * n))["input_ids"][:n]
        queries = sorted({*range(0, n, max(1, n // 20)), n - 1})
        words = "-m", path, "--ids", ",".join(map(str, ids))
        ours = arrays(*words, "--queries", ",".join(map(str, queries)), "--sites", "pattern,logits")
        with torch.no_grad():
            states, attentions = model.model(torch.tensor([ids]), output_attentions=True, use_cache=False)[:2]
            logits = model.lm_head(states[0, queries])
            # In pieces: Gemma has 262,144 logits a row.
            expected = torch.cat([-torch.log_softmax(model.lm_head(states[0, i : i + 50]).double(), -1)[
                torch.arange(len(ids[i + 1 : i + 51])), torch.tensor(ids[i + 1 : i + 51])] for i in range(0, n - 1, 50)]).numpy()
        patterns = [ours[key] for key in sorted((k for k in ours if k.endswith("pattern")), key=lambda k: int(k.split(".")[1]))]
        pattern = max(distance(a, b[0][:, queries]) for a, b in zip(patterns, attentions, strict=True))
        logit = distance(ours["logits"], logits)
        check(pattern < 1e-4 and logit < 1e-2, f"{name}: {n} tokens, {len(queries)} rows: patterns {pattern:.1e}, logits {logit:.1e}")
        surprisal = np.array([float(row["nats"]) for row in rows("score", *words) if row["nats"]])
        worst = distance(surprisal, expected) if len(surprisal) == n - 1 else float("inf")
        check(worst < 1e-3, f"{name}: {n} tokens: surprisal of each {worst:.1e} nats, mean {expected.mean():.5f}")


def compare_minilm():
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MINILM)
    model = AutoModel.from_pretrained(MINILM, dtype=torch.float32, attn_implementation="eager").eval()
    worst = 0
    for text in "A cat sits on the mat.", "Prices rose by three per cent in May.", long_text(100):
        given = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model(**given).last_hidden_state[0]
        ids = ",".join(map(str, given["input_ids"][0].tolist()))
        ours = arrays("-m", MINILM, "--ids", ids, "--sites", "normalized_resid_post", "--layers", "5")
        ours = next(value for key, value in ours.items() if key.endswith("normalized_resid_post"))
        worst = max(worst, distance(ours, states))
        vector, expected = ours.mean(0), states.mean(0).numpy()
        worst = max(worst, distance(vector / np.linalg.norm(vector), expected / np.linalg.norm(expected)))
    check(worst < 1e-4, f"MiniLM: states and sentence vectors {worst:.1e}")


def compare_encoder(name, ids, kind):
    """Patterns and output of an encoder that is read from its pytorch_model.bin, in the stream form of old or as a zip."""
    import torch
    import transformers

    path = os.path.join(models, name)
    config = transformers.BertConfig.from_pretrained(path)
    model = getattr(transformers, kind).from_pretrained(path, config=config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        theirs = model(torch.tensor([ids]), output_attentions=True)
    expected, site = (theirs.last_hidden_state, "normalized_resid_post") if kind == "BertModel" else (theirs.logits, "logits")
    ours = arrays("-m", path, "--ids", ",".join(map(str, ids)), "--sites", "pattern," + site)
    patterns = [ours[key] for key in sorted((k for k in ours if k.endswith("pattern")), key=lambda k: int(k.split(".")[1]))]
    pattern = max(distance(a, b[0]) for a, b in zip(patterns, theirs.attentions, strict=True))
    output = [ours[key] for key in ours if key.endswith(site)][-1].reshape(expected[0].shape)
    worst = distance(output, expected[0])
    check(pattern < 1e-4 and worst < 1e-3, f"{name}: {kind}, {list(output.shape)}: {site} {worst:.1e}, patterns {pattern:.1e}")


try:
    import accelerate  # noqa: F401
    import numpy as np
    import transformers
except ImportError as error:
    print(f"skipped: the comparison with transformers: {error}")
else:
    print("transformers", transformers.__version__)
    compare_decoder(SMOL, "SmolLM2")
    compare_decoder(GEMMA, "Gemma 3")
    compare_minilm()
    reaction = [12, *range(20, 60), 13]
    compare_encoder("rxnfp/bert_ft_10k_25s", reaction, "BertForSequenceClassification")
    compare_encoder("rxnfp/bert_ft", reaction, "BertModel")
    compare_encoder("rxnfp/bert_pretrained", reaction, "BertForMaskedLM")
    compare_encoder("antiberty", [2, *(5 + i * 7 % 20 for i in range(110)), 3], "BertForMaskedLM")
print(f"check-published: {n_passed} passed, {len(failed)} failed")
sys.exit(bool(failed))
