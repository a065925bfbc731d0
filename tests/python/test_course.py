"""The script of a course saves its model as a folder: what attn computes of it is what the script computes, in float64."""
import sys
import tempfile
import unittest

import numpy as np

import attn
from support import ROOT, needs_sources

SCRIPT = ROOT / "data" / "microgpt"


@needs_sources
class CourseTest(unittest.TestCase):
    def test_saved_as_a_folder(self):
        sys.path.insert(0, str(SCRIPT))
        self.addCleanup(sys.path.remove, str(SCRIPT))
        import train

        random = np.random.default_rng(5)
        for name, matrix in train.state_dict.items():
            train.state_dict[name] = random.normal(0, 0.5, matrix.shape).round(5)
        ids = [train.BOS, *map(train.uchars.index, "emma"), train.BOS]
        with tempfile.TemporaryDirectory() as folder:
            train.save(folder, train.uchars, train.N_HEAD, {name: matrix.tolist() for name, matrix in train.state_dict.items()})
            with attn.Model(folder) as model:
                run = model.run("emma", sites="logits")
                self.assertEqual(list(run.ids), ids[:-1])
                logits = np.array(run.logits, np.float64)
        found = np.log(np.exp(logits).sum(-1)) - logits[range(5), ids[1:]]
        self.assertAlmostEqual(found.mean(), train.find_gradients(ids)[0], places=5)


if __name__ == "__main__":
    unittest.main()
