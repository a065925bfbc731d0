"""onnx_runtime.py - ONNX Runtime, with every attention matrix an output of the graph.

The graph is made by hand, as an exporter would after its optimizations: no other file, no torch.
"""
import numpy

import gpt2
import worker


class Graph:
    """Nodes whose outputs are called after them, and initializers of the weights."""

    def __init__(self, weights):
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper, self.weights = helper, numpy_helper, weights
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
                        self.weight(name + ".bias"), epsilon=1e-5)

    def linear(self, name, x):
        product = self.add("MatMul", name + ".product", x, self.weight(name + ".weight"))
        return self.add("Add", name, product, self.weight(name + ".bias"))


def add_layer(graph, layer, x):
    h = f"h.{layer}."
    shape = graph.constant("heads", numpy.array([-1, gpt2.N_HEAD, gpt2.D_HEAD]))
    qkv = graph.linear(h + "attn.c_attn", graph.norm(h + "ln_1", x))
    parts = graph.add("Split", h + "split", qkv, axis=-1, num_outputs=3,
                      outputs=[h + part for part in "qkv"])
    rows = [graph.add("Reshape", part + ".rows", part, shape) for part in parts]
    q, k, v = (graph.add("Transpose", row + ".heads", row, perm=order)
               for row, order in zip(rows, ([1, 0, 2], [1, 2, 0], [1, 0, 2])))
    scores = graph.add("Add", h + "masked", graph.add("MatMul", h + "scores", q, k), "mask")
    pattern = graph.add("Softmax", f"pattern.{layer}", scores, axis=-1)
    z = graph.add("Transpose", h + "z.rows", graph.add("MatMul", h + "z", pattern, v),
                  perm=[1, 0, 2])
    z = graph.add("Reshape", h + "z.flat", z,
                  graph.constant("flat", numpy.array([-1, gpt2.D_MODEL])))
    x = graph.add("Add", h + "resid_mid", x, graph.linear(h + "attn.c_proj", z))
    hidden = graph.linear(h + "mlp.c_fc", graph.norm(h + "ln_2", x))
    hidden = graph.add("Gelu", h + "gelu", hidden, approximate="tanh")
    return graph.add("Add", h + "resid_post", x, graph.linear(h + "mlp.c_proj", hidden))


def write_graph(model, path):
    """Inputs: ids [n], mask [n, n]; outputs: patterns [head, n, n], logits of the last token."""
    import onnx
    from onnx import TensorProto, helper

    weights = {name: values.copy() for name, values in gpt2.load(model).items()}
    for layer in range(gpt2.N_LAYER):  # the 1/8 of the scores, exactly, into the queries
        for kind in ("weight", "bias"):
            weights[f"h.{layer}.attn.c_attn.{kind}"][..., :gpt2.D_MODEL] *= gpt2.D_HEAD ** -0.5
    graph = Graph(weights)
    x = graph.add("Gather", "wte", graph.weight("wte.weight"), "ids")
    count = graph.add("Shape", "count", "ids")
    positions = graph.add("Slice", "wpe", graph.weight("wpe.weight"),
                          graph.constant("zero", numpy.array([0])), count)
    x = graph.add("Add", "embed", x, positions)
    for layer in range(gpt2.N_LAYER):
        x = add_layer(graph, layer, x)
    last = graph.add("Gather", "last", x, graph.constant("minus_one", numpy.array([-1])))
    graph.add("Gemm", "logits", graph.norm("ln_f", last), "wte.weight", transB=1)
    patterns = [helper.make_tensor_value_info(f"pattern.{layer}", TensorProto.FLOAT,
                                              [gpt2.N_HEAD, "n", "n"])
                for layer in range(gpt2.N_LAYER)]
    whole = helper.make_graph(
        graph.nodes, "gpt2",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"]),
         helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", "n"])],
        [*patterns, helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, gpt2.N_VOCAB])],
        list(graph.initializers.values()))
    onnx.save(helper.make_model(whole, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
              path)


class OnnxRuntime:
    def __init__(self, model, threads, compute, tuned):
        import onnxruntime

        if compute != "float32":
            raise ImportError("float32 only")
        self.name = f"ONNX Runtime {onnxruntime.__version__}"
        self.tuned = tuned
        path = gpt2.derived(model, "attentions.onnx", lambda path: write_graph(model, path))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        if tuned:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
            options.add_session_config_entry("session.set_denormal_as_zero", "1")
            options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])

    def prefill(self, n):
        session = self.session
        inputs = {"ids": numpy.array(worker.token_ids(n)),
                  "mask": numpy.triu(numpy.full((n, n), -numpy.inf, "float32"), 1)}
        if not self.tuned:
            return lambda: session.run(None, inputs)[:-1]
        # The same buffers are filled each time.
        binding = session.io_binding()
        outputs = [numpy.empty((gpt2.N_HEAD, n, n), "float32") for _ in range(gpt2.N_LAYER)]
        outputs.append(numpy.empty((1, gpt2.N_VOCAB), "float32"))
        for name, values in inputs.items():
            binding.bind_cpu_input(name, values)
        for output, values in zip(session.get_outputs(), outputs):
            binding.bind_output(output.name, "cpu", 0, values.dtype, values.shape,
                                values.ctypes.data)

        def run():
            session.run_with_iobinding(binding)
            return outputs[:-1]

        return run


if __name__ == "__main__":
    worker.main(OnnxRuntime)
