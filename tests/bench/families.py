"""families.py - translators and decoders beside transformers, as ratios of CPU time and of time.

    python tests/bench/families.py [--models t5-small,gpt2] [--rounds 5] [--threads 2] [--tokens 64] [--folder DIR]

Random models of published shapes, saved by transformers once; those of 1B and more have two layers.
tiny-t5 and tiny-llama, which must be named, only show that this script runs.
attn-cli runs by its Python module (PYTHONPATH=lib/python), with the model open for reuse.
`prefill`: --tokens of a source and as many of a target (a decoder: of a text), every pattern and all logits. `decode`: 64
tokens, greedy, after a source of --tokens, its encoding included (a decoder: after a text of --tokens). Both programs are processes that
stay open and take turns; a ratio is the time of transformers divided by that of attn-cli in the same round, and the
median of the rounds is shown. CPU time is that of all threads; it hardly changes when other programs run. The ids that
both generate are compared.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

N_NEW = 64
MARIAN = {"vocab_size": 59514, "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
          "decoder_attention_heads": 8, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "activation_function": "swish",
          "max_position_embeddings": 512, "pad_token_id": 59513, "decoder_start_token_id": 59513, "eos_token_id": 0,
          "scale_embedding": True, "forced_eos_token_id": None}
BART = {"vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 12,
        "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "forced_eos_token_id": None}
WIDTHS = {"hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 2, "max_position_embeddings": 2048,
          "tie_word_embeddings": False, "eos_token_id": None, "pad_token_id": None}
TINY_LLAMA = {**WIDTHS, "vocab_size": 32000, "intermediate_size": 5632, "num_key_value_heads": 4}
LLAMA = {**WIDTHS, "vocab_size": 128256, "intermediate_size": 8192, "num_key_value_heads": 8}
PHI3 = {**WIDTHS, "vocab_size": 32064, "intermediate_size": 8192, "num_key_value_heads": 32}
STABLELM = {**WIDTHS, "vocab_size": 100352, "intermediate_size": 5632, "num_key_value_heads": 32, "use_qkv_bias": True}
OLMOE = {**WIDTHS, "vocab_size": 50304, "intermediate_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 16}
TINY = {"vocab_size": 512, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
SHAPES = {"t5-small": ("T5", "T5ForConditionalGeneration", {"decoder_start_token_id": 0}),
          "opus-mt": ("Marian", "MarianMTModel", MARIAN), "bart-base": ("Bart", "BartForConditionalGeneration", BART),
          "gpt2": ("GPT2", "GPT2LMHeadModel", {}), "llama": ("Llama", "LlamaForCausalLM", LLAMA),
          "tinyllama": ("Llama", "LlamaForCausalLM", TINY_LLAMA), "phi3": ("Phi3", "Phi3ForCausalLM", PHI3),
          "stablelm": ("StableLm", "StableLmForCausalLM", STABLELM),
          "olmoe": ("Olmoe", "OlmoeForCausalLM", OLMOE),
          "tiny-t5": ("T5", "T5ForConditionalGeneration", {"decoder_start_token_id": 0, "num_decoder_layers": 2, "d_kv": 16, "d_ff": 128, **TINY}),
          "tiny-llama": ("Llama", "LlamaForCausalLM", {**WIDTHS, "intermediate_size": 128, "num_key_value_heads": 2, **TINY})}


def make(folder, name):
    import torch
    import transformers

    config, model, sizes = SHAPES[name]
    torch.manual_seed(1)
    made = getattr(transformers, model)(getattr(transformers, config + "Config")(**sizes))
    with torch.no_grad():
        for parameter in made.parameters():  # so that the best tokens are far from the next ones
            if parameter.dim() > 1:
                parameter.mul_(3)
    made.save_pretrained(folder / name)


def config_of(directory):
    return json.loads((pathlib.Path(directory) / "config.json").read_text())


def is_pair(directory):
    return config_of(directory).get("is_encoder_decoder", False)


class Transformers:
    def __init__(self, directory, threads):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch, self.is_pair = torch, is_pair(directory)
        torch.set_num_threads(threads)
        reader = transformers.AutoModelForSeq2SeqLM if self.is_pair else transformers.AutoModelForCausalLM
        self.model = reader.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32).eval()

    def prefill(self, ids):
        ids = self.torch.tensor([ids])
        with self.torch.inference_mode():
            more = {"decoder_input_ids": ids} if self.is_pair else {}
            self.model(ids, **more, output_attentions=True, use_cache=False)
        return []

    def decode(self, ids):
        with self.torch.inference_mode():
            made = self.model.generate(self.torch.tensor([ids]), max_new_tokens=N_NEW, num_beams=1, do_sample=False)
        return made[0].tolist()[-N_NEW:]


class Attn:
    def __init__(self, directory, threads):
        import attn

        self.model, self.is_pair = attn.open(directory, threads=threads, reuse=True), is_pair(directory)
        self.start = config_of(directory).get("decoder_start_token_id", 0)

    def prefill(self, ids):
        more = {"source": ids} if self.is_pair else {}
        self.model.run(ids, sites="pattern,logits", **more)
        return []

    def decode(self, ids):
        if not self.is_pair:
            return self.model.generate(ids, N_NEW).continuation_ids.tolist()
        return self.model.generate([self.start], N_NEW, source=ids).continuation_ids.tolist()


def serve(peer):
    """Answers ["prefill", ids] with CPU time, time, and what was generated."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        work, ids = json.loads(line)
        cpu, begun = time.process_time(), time.perf_counter()
        made = getattr(peer, work)(ids)
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - begun, made]), file=answers, flush=True)


def ask(process, *work):
    time.sleep(0.1)  # threads of the other one wait in a loop for a while
    print(json.dumps(work), file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


def compare(args, name):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment["OMP_NUM_THREADS"] = str(args.threads)
    peers = [subprocess.Popen([sys.executable, __file__, "--serve", kind, "--folder", str(args.folder / name), "--threads",
                               str(args.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
             for kind in ("Attn", "Transformers")]
    n_vocab = config_of(args.folder / name)["vocab_size"]
    ids = [(i * 7919 + 13) % (n_vocab - 9) + 4 for i in range(args.tokens)]
    for work in ("prefill", "decode"):
        rounds = [[ask(peer, work, ids) for peer in peers] for _ in range(args.rounds + 1)][1:]
        ratios = [statistics.median(theirs[i] / ours[i] for ours, theirs in rounds) for i in (0, 1)]
        ours, theirs = ([statistics.median(r[k][i] for r in rounds) * 1000 for i in (0, 1)] for k in (0, 1))
        made, expected = rounds[0][0][2], rounds[0][1][2]
        n_same = next((i for i, (a, b) in enumerate(zip(made, expected)) if a != b), len(expected))
        print(f"{name:10} {work:8} {ratios[0]:6.2f} {ratios[1]:6.2f}   {ours[0]:8.1f} {theirs[0]:8.1f}   {ours[1]:8.1f}"
              f" {theirs[1]:8.1f}   {f'{n_same} of {len(expected)}' if expected else ''}", flush=True)
    for peer in peers:
        peer.stdin.close()
        peer.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(name for name in SHAPES if not name.startswith("tiny-")))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/release/bench/families"))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve({"Attn": Attn, "Transformers": Transformers}[args.serve](str(args.folder), args.threads))
    print("                    ratio of      CPU time, ms       time, ms            equal ids")
    print("                    CPU    time   attn-cli transformers  attn-cli transformers")
    for name in args.models.split(","):
        if not (args.folder / name / "config.json").exists():
            make(args.folder, name)
        compare(args, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
