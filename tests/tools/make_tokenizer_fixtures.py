#!/usr/bin/env python3
"""Writes cases.jsonl beside each tests/fixtures/tokenizers/STYLE/tokenizer.json anew.

What the library tokenizers makes of the file, for the texts that cases.jsonl has: ids without and
with the special tokens that it adds, the bytes of each token of the first, the decoded text of the
second, with special tokens and without. Ranges of tokens that are parts of a character are the
whole character's.
"""
import json
import pathlib

from tokenizers import Tokenizer

# The library decodes normalized special tokens as what they are normalized to.
NOT_DECODED = ["added_traps"]

# The tokenizer of Marian is two files of SentencePiece: tests/unit/test_tokenizer_spm.c.
for folder in sorted(path.parent for path in pathlib.Path("tests/fixtures/tokenizers").glob("*/tokenizer.json")):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = [json.loads(line)["text"] for line in (folder / "cases.jsonl").open(encoding="utf-8")]
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for text in texts:
            if "\0" in text:  # the JSON reader of the test refuses it
                continue
            plain = tokenizer.encode(text, add_special_tokens=False)
            special = tokenizer.encode(text).ids
            case = {
                "text": text,
                "ids": plain.ids,
                "special": special,
                "offsets": [[len(text[:at].encode()) for at in pair] for pair in plain.offsets],
            }
            if folder.name not in NOT_DECODED:
                case["decode"] = tokenizer.decode(special, skip_special_tokens=False)
                case["skip"] = tokenizer.decode(special, skip_special_tokens=True)
            print(json.dumps(case, ensure_ascii=False, separators=(",", ":")), file=file)
