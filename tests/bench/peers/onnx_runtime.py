"""onnx_runtime.py - ONNX Runtime, with every attention matrix an output of the graph; without them
attention is one fused node.

The graph, of GPT-2 or BERT, is made by hand, as an exporter would after its optimizations: no other
file, no torch.
"""
import numpy

import bert
import gpt2
import worker


class Graph:
    """Nodes whose outputs are called after them, and initializers of the weights."""

    def __init__(self, weights, is_bert, has_patterns):
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper, self.weights = helper, numpy_helper, weights
        self.is_bert, self.has_patterns = is_bert, has_patterns
        self.nodes, self.initializers = [], {}

    def constant(self, name, values):
        values = numpy.asarray(values, order="C")
        self.initializers[name] = self.numpy_helper.from_array(values, name)
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def add(self, kind, name, *inputs, outputs=None, **attributes):
        outputs = outputs or [name]
        self.nodes.append(self.helper.make_node(kind, list(inputs), outputs, name, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def norm(self, name, x):
        return self.add("LayerNormalization", name, x, self.weight(name + ".weight"),
                        self.weight(name + ".bias"), epsilon=bert.EPS if self.is_bert else 1e-5)

    def linear(self, name, x):
        product = self.add("MatMul", name + ".product", x, self.weight(name + ".weight"))
        return self.add("Add", name, product, self.weight(name + ".bias"))


def add_attention(graph, h, layer, qkv):
    """z [n, D], with the patterns."""
    shape = graph.constant("heads", numpy.array([-1, gpt2.N_HEAD, gpt2.D_HEAD]))
    parts = graph.add("Split", h + "split", qkv, axis=-1, num_outputs=3,
                      outputs=[h + part for part in "qkv"])
    rows = [graph.add("Reshape", part + ".rows", part, shape) for part in parts]
    q, k, v = (graph.add("Transpose", row + ".heads", row, perm=order)
               for row, order in zip(rows, ([1, 0, 2], [1, 2, 0], [1, 0, 2])))
    scores = graph.add("MatMul", h + "scores", q, k)
    if not graph.is_bert:
        scores = graph.add("Add", h + "masked", scores, "mask")
    pattern = graph.add("Softmax", f"pattern.{layer}", scores, axis=-1)
    z = graph.add("Transpose", h + "z.rows", graph.add("MatMul", h + "z", pattern, v),
                  perm=[1, 0, 2])
    return graph.add("Reshape", h + "z.flat", z,
                     graph.constant("flat", numpy.array([-1, gpt2.D_MODEL])))


def add_fused(graph, h, qkv):
    """z [n, D], without patterns; the queries are scaled already."""
    front = graph.constant("front", numpy.array([0]))
    parts = graph.add("Split", h + "split", graph.add("Unsqueeze", h + "batch", qkv, front),
                      axis=-1, num_outputs=3, outputs=[h + part for part in "qkv"])
    z = graph.add("MultiHeadAttention", h + "z", *parts, domain="com.microsoft",
                  num_heads=gpt2.N_HEAD, scale=1.0, unidirectional=int(not graph.is_bert))
    return graph.add("Squeeze", h + "z.flat", z, front)


def add_layer(graph, layer, x):
    h = f"h.{layer}."
    read = x if graph.is_bert else graph.norm(h + "ln_1", x)
    qkv = graph.linear(h + "attn.c_attn", read)
    z = add_attention(graph, h, layer, qkv) if graph.has_patterns else add_fused(graph, h, qkv)
    x = graph.add("Add", h + "resid_mid", x, graph.linear(h + "attn.c_proj", z))
    read = graph.norm(h + ("ln_1" if graph.is_bert else "ln_2"), x)
    x = read if graph.is_bert else x
    hidden = graph.linear(h + "mlp.c_fc", read)
    hidden = graph.add("Gelu", h + "gelu", hidden,
                       approximate="none" if graph.is_bert else "tanh")
    x = graph.add("Add", h + "resid_post", x, graph.linear(h + "mlp.c_proj", hidden))
    return graph.norm(h + "ln_2", x) if graph.is_bert else x


def write_graph(model, path, has_patterns):
    """Inputs: ids [n], of GPT-2 with patterns also mask [n, n]; outputs: patterns [head, n, n],
    logits of the last token."""
    import onnx
    from onnx import TensorProto, helper

    is_bert = bert.is_in(model)
    tensors = (bert if is_bert else gpt2).load(model)
    weights = {name: values.copy() for name, values in tensors.items()}
    for layer in range(gpt2.N_LAYER):  # the 1/8 of the scores, exactly, into the queries
        for kind in ("weight", "bias"):
            weights[f"h.{layer}.attn.c_attn.{kind}"][..., :gpt2.D_MODEL] *= gpt2.D_HEAD ** -0.5
    graph = Graph(weights, is_bert, has_patterns)
    x = graph.add("Gather", "wte", graph.weight("wte.weight"), "ids")
    count = graph.add("Shape", "count", "ids")
    positions = graph.add("Slice", "wpe", graph.weight("wpe.weight"),
                          graph.constant("zero", numpy.array([0])), count)
    x = graph.add("Add", "embed", x, positions)
    x = graph.norm("ln_f", x) if is_bert else x
    for layer in range(gpt2.N_LAYER):
        x = add_layer(graph, layer, x)
    last = graph.add("Gather", "last", x, graph.constant("minus_one", numpy.array([-1])))
    last = last if is_bert else graph.norm("ln_f", last)
    graph.add("Gemm", "logits", last, "wte.weight", transB=1)
    patterns = [helper.make_tensor_value_info(f"pattern.{layer}", TensorProto.FLOAT,
                                              [gpt2.N_HEAD, "n", "n"])
                for layer in range(gpt2.N_LAYER if has_patterns else 0)]
    masks = [helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", "n"])]
    whole = helper.make_graph(
        graph.nodes, "graph",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"]),
         *(masks if has_patterns and not is_bert else [])],
        [*patterns, helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "vocab"])],
        list(graph.initializers.values()))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(whole, opset_imports=opsets, ir_version=9), path)


class OnnxRuntime:
    def __init__(self, model, threads, compute, tuned):
        import onnxruntime

        if compute != "float32":
            raise ImportError("float32 only")
        self.name = f"ONNX Runtime {onnxruntime.__version__}"
        self.tuned = tuned
        self.model, self.sessions = model, {}
        self.is_bert = bert.is_in(model)
        self.n_vocab = bert.N_VOCAB if self.is_bert else gpt2.N_VOCAB
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        if tuned:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
            options.add_session_config_entry("session.set_denormal_as_zero", "1")
            options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        self.open = lambda path: onnxruntime.InferenceSession(path, options,
                                                              ["CPUExecutionProvider"])

    def session(self, has_patterns):
        """Opened when it is first asked for."""
        if has_patterns not in self.sessions:
            name = (("bert-" if self.is_bert else "")
                    + ("attentions.onnx" if has_patterns else "fused.onnx"))
            self.sessions = {has_patterns: self.open(gpt2.derived(
                self.model, name, lambda path: write_graph(self.model, path, has_patterns)))}
        return self.sessions[has_patterns]

    def prefill(self, n, has_patterns=True):
        session = self.session(has_patterns)
        inputs = {"ids": numpy.array(worker.token_ids(n, self.n_vocab))}
        if has_patterns and not self.is_bert:
            inputs["mask"] = numpy.triu(numpy.full((n, n), -numpy.inf, "float32"), 1)
        if not self.tuned:
            return lambda: session.run(None, inputs)[:-1]
        # The same buffers are filled each time.
        binding = session.io_binding()
        outputs = [numpy.empty((gpt2.N_HEAD, n, n), "float32")
                   for _ in range(gpt2.N_LAYER if has_patterns else 0)]
        outputs.append(numpy.empty((1, self.n_vocab), "float32"))
        for name, values in inputs.items():
            binding.bind_cpu_input(name, values)
        for output, values in zip(session.get_outputs(), outputs):
            binding.bind_output(output.name, "cpu", 0, values.dtype, values.shape,
                                values.ctypes.data)

        def run():
            session.run_with_iobinding(binding)
            return outputs[:-1]

        return run

    def feed(self, n):
        return self.prefill(n, False)


if __name__ == "__main__":
    worker.main(OnnxRuntime)
