"""Makes tests/fixtures/clip.tar: a tiny random CLIP, as transformers saves it, with its tokenizer.

    python tests/tools/make_clip_fixture.py

clip/expected.npz has of the text K/ids and of the picture pixels K/attn, K/hidden, K/final and text_embed or
image_embed as check_clip.py has them from transformers in float64, and K/NAME/bound: 4 times what float32 is off, and
1e-6 of the largest value. scores: of the picture and TEXTS.
"""

import pathlib
import tarfile
import tempfile

import numpy as np
import transformers
from check_clip import END, START, TEXTS, VOCAB, encode, make, measure, scores
from make_encoder_fixtures import add
from model_directory import write_archive

CONFIG = transformers.CLIPConfig(
    text_config={"vocab_size": len(VOCAB) + 1, "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2,
                 "intermediate_size": 17, "max_position_embeddings": 16, "eos_token_id": END, "bos_token_id": START},
    vision_config={"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 19,
                   "image_size": 12, "patch_size": 4}, projection_dim=8)


def main():
    fixtures = pathlib.Path(__file__).parents[1] / "fixtures"
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(fixtures / "clip.tar", "w") as archive:
        directory = pathlib.Path(scratch) / "clip"
        model = make(directory, CONFIG, 5)
        pixels = np.random.default_rng(1).normal(size=(3, 12, 12)).astype(np.float32)
        arrays, texts = {"image/pixels": pixels}, []
        for k, text in enumerate(TEXTS):
            ids = encode(text)
            expected, bounds = measure(model, input_ids=ids)
            texts.append(expected["text_embed"])
            arrays |= {f"text{k}/ids": np.array(ids, np.int64)}
            arrays |= {f"text{k}/{name}": np.float32(x) for name, x in expected.items()}
            arrays |= {f"text{k}/bound/{name}": np.array([x / 4]) for name, x in bounds.items()}
        expected, bounds = measure(model, pixel_values=pixels)
        arrays |= {f"image/{name}": np.float32(x) for name, x in expected.items()}
        arrays |= {f"image/bound/{name}": np.array([x / 4]) for name, x in bounds.items()}
        arrays["scores"], arrays["shares"] = scores(expected["image_embed"], texts, 1.5)
        write_archive(directory / "expected.npz", arrays)
        np.save(directory / "pixels.npy", pixels)
        for path in sorted(directory.iterdir()):
            add(archive, path, f"clip/{path.name}")


if __name__ == "__main__":
    main()
