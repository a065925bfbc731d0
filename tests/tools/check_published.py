#!/usr/bin/env python3
"""check_published.py - published models beside transformers 5.23: ids, patterns, logits, surprisal, vectors; and findings.

    check_published.py BINARY MODELS    MODELS is what check_published.sh unpacked

Known differences of ids: U+2581 written in a text for Gemma; for SmolLM2 white space before a digit, where the conversion of GGUF in
transformers splits words before digits. Without transformers only the findings are checked, each by its command.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

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
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, file = os.path.split(path)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    texts = hard_texts()
    items = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    found = [json.loads(line).get("ids") for line in run("batch", "-m", path, "--fields", "ids", text=items.encode()).splitlines()]
    other = [text for text, ids in zip(texts, found) if ids != tokenizer(text)["input_ids"]]
    known = [text for text in other if re.search("▁|\\s\\s[\\dⅧ]", text)]
    check(other == known, f"{name}: ids of {len(texts)} texts, {len(known)} differ as known, others {len(other) - len(known)}: "
          f"{[text for text in other if text not in known][:3]!r}")
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32, attn_implementation="eager").eval()
    for n in 6, 100, 1000:
        ids = tokenizer(long_text(2 * n))["input_ids"][:n]
        ours = arrays("-m", path, "--ids", ",".join(map(str, ids)), "--sites", "pattern,logits")
        with torch.no_grad():
            theirs = model(torch.tensor([ids]), output_attentions=True)
        patterns = [ours[key] for key in sorted((k for k in ours if k.endswith("pattern")), key=lambda k: int(k.split(".")[1]))]
        pattern = max(distance(a, b[0]) for a, b in zip(patterns, theirs.attentions))
        logits = distance(ours["logits"], theirs.logits[0])
        check(pattern < 1e-4 and logits < 1e-2, f"{name}: {n} tokens: patterns {pattern:.1e}, logits {logits:.1e}")
        log_probs = torch.log_softmax(theirs.logits[0, :-1].double(), -1)
        expected = -log_probs[torch.arange(n - 1), torch.tensor(ids[1:])].mean().item()
        z = ours["logits"][:-1].astype(np.float64)
        z -= z.max(-1, keepdims=True)
        surprisal = float((np.log(np.exp(z).sum(-1)) - z[np.arange(n - 1), ids[1:]]).mean())
        check(abs(surprisal - expected) < 1e-4, f"{name}: {n} tokens: surprisal {surprisal:.5f} nats, transformers {expected:.5f}")


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


def compare_rxnfp():
    """The classifier of reactions opens from its pytorch_model.bin, in the stream form of old."""
    import torch
    from transformers import BertForSequenceClassification

    path = os.path.join(models, "rxnfp", "bert_ft_10k_25s")
    model = BertForSequenceClassification.from_pretrained(path, dtype=torch.float32).eval()
    ids = [12, *range(20, 60), 13]
    with torch.no_grad():
        expected = model(torch.tensor([ids])).logits[0]
    ours = arrays("-m", path, "--ids", ",".join(map(str, ids)), "--sites", "logits")["logits"].reshape(-1)
    check(len(ours) == len(expected) and distance(ours, expected) < 1e-3,
          f"rxnfp: {len(ours)} classes, {distance(ours, expected) if len(ours) == len(expected) else -1:.1e}")


def findings():
    induction = {row["layer"] + "." + row["head"]: float(row["induction"]) for row in rows("heads", "-m", SMOL, "--probe", "induction")}
    best = sorted(induction, key=induction.get)[::-1][:5]
    check("18.6" in best[:3], "SmolLM2: induction heads " + ", ".join(f"{head} {induction[head]:.2f}" for head in best))


try:
    import accelerate  # noqa: F401
    import transformers

    print("transformers", transformers.__version__)
    compare_decoder(SMOL, "SmolLM2")
    compare_decoder(GEMMA, "Gemma 3")
    compare_minilm()
    compare_rxnfp()
except ImportError as error:
    print(f"skipped: the comparison with transformers: {error}")
findings()
print(f"check-published: {n_passed} passed, {len(failed)} failed")
sys.exit(bool(failed))
