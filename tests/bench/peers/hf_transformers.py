"""hf_transformers.py - transformers in eager mode, every attention matrix returned."""
import bert
import worker


class Transformers:
    def __init__(self, model, threads, compute, tuned):
        import torch
        import transformers

        del tuned  # what can be set for it is set in its environment
        self.name = f"transformers {transformers.__version__}, torch {torch.__version__}"
        self.torch = torch
        transformers.utils.logging.disable_progress_bar()
        torch.set_num_threads(threads)
        # An encoder without its head: transformers would compute the logits of all rows.
        is_bert = bert.is_in(model)
        reader = transformers.AutoModel if is_bert else transformers.AutoModelForCausalLM
        self.more = {} if is_bert else {"use_cache": False, "logits_to_keep": 1}
        self.model = reader.from_pretrained(
            model, attn_implementation="eager", dtype=getattr(torch, compute)).eval()

    def prefill(self, n, has_patterns=True):
        ids = self.torch.tensor([worker.token_ids(n, self.model.config.vocab_size)])
        self.model.set_attn_implementation("eager" if has_patterns else "sdpa")

        def run():
            with self.torch.inference_mode():
                out = self.model(ids, output_attentions=has_patterns, **self.more)
            return out.attentions

        return run

    def feed(self, n):
        return self.prefill(n, False)

    def gradients(self, n):
        """Forward and backward: of the difference of two logits, by embeddings and patterns."""
        ids = self.torch.tensor([worker.token_ids(n, self.model.config.vocab_size)])
        self.model.requires_grad_(False)
        embed = self.model.get_input_embeddings()

        def run():
            rows = embed(ids).requires_grad_()
            out = self.model(inputs_embeds=rows, output_attentions=True, use_cache=False,
                             logits_to_keep=1)
            answer = out.logits[0, -1, 0] - out.logits[0, -1, 1]
            return self.torch.autograd.grad(answer, [rows, *out.attentions])

        return run

    def batch(self, texts, size):
        """TEXTS, lists of ids, SIZE at a time in their order, padded to the longest of them."""
        self.model.set_attn_implementation("eager")
        batches = []
        for first in range(0, len(texts), size):
            some = texts[first:first + size]
            longest = max(map(len, some))
            batches.append((
                self.torch.tensor([ids + [0] * (longest - len(ids)) for ids in some]),
                self.torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in some])))

        def run():
            with self.torch.inference_mode():
                for ids, mask in batches:
                    self.model(ids, attention_mask=mask, output_attentions=True, **self.more)

        return run

    def decode(self, n):
        ids = self.torch.tensor([worker.token_ids(n + 1, self.model.config.vocab_size)])
        with self.torch.inference_mode():
            cache = self.model(ids[:, :n], use_cache=True).past_key_values

        def run():
            with self.torch.inference_mode():
                self.model(ids[:, n:], past_key_values=cache, use_cache=True)
                cache.crop(-1)

        return run


if __name__ == "__main__":
    worker.main(Transformers)
