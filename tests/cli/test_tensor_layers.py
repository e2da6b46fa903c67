"""Layers that take parts of tensors: what they can't do is refused with its place in the model file, or names the data."""
import json
import unittest

from program import ProgramTest, must, sheaf
from tensors import Tensor, write_safetensors


def model(*layers, inputs=None, outputs=None):
    """A model file with one layer a line, the first on line 5."""
    inputs = inputs or {"x": {"shape": ["batch", 6, 8]}}
    more = f',\n"outputs": {json.dumps(outputs)}' if outputs else ""
    return f'{{\n"sheaf": "1.0", "name": "m",\n"inputs": {json.dumps(inputs)},\n"layers": [\n' + ",\n".join(map(json.dumps, layers)) + f"\n]{more}\n}}\n"


def parallel(layer):
    return {"name": "net", "type": "DataParallel", "module": layer}


class TensorLayers(ProgramTest):
    def compiled(self, *layers, **more):
        self.write("model.json", model(*layers, **more))
        return sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir)

    def refused(self, layer, *words, **more):
        self.assert_refused(self.compiled(layer, **more), *words, place="model.json:5:1")

    def test_no_part_of_the_batch_can_be_taken(self):
        for layer in ({"type": "Slice", "dim": 0, "start": 1}, {"type": "Split", "split_size_or_sections": 2}, {"type": "Flip", "dims": 0},
                      {"type": "Roll", "shifts": 1, "dims": -3}, {"type": "Pad", "pad": [0, 0, 0, 0, 1, 0]}, {"type": "Var", "dim": 0}):
            with self.subTest(layer=layer["type"]):
                self.refused(layer, "dimension 0", "depends on the batch (input [batch, 6, 8])")
        # All of it is none.
        self.assertEqual(self.compiled({"type": "Slice", "dim": 0}).status, 0)

    def test_what_the_input_does_not_have(self):
        self.refused({"type": "Slice", "dim": 3, "start": 1}, "expects a dimension between -3 and 2")
        self.refused({"type": "Slice", "dim": 1, "start": 4, "end": 2}, "takes nothing of dimension 1")
        self.refused({"type": "Split", "split_size_or_sections": [2, 3], "dim": 1}, "parts that make up dimension 1 of [batch, 6, 8]")
        self.refused({"type": "Pad", "pad": [8, 0], "mode": "reflect"}, "no more than 7 entries")
        self.refused({"type": "Upsample", "size": 4, "mode": "bilinear"}, "2 spatial sizes")
        self.refused({"type": "PixelShuffle", "upscale_factor": 4}, "channels divisible by 16", inputs={"x": {"shape": ["batch", 6, 8, 8]}})
        self.refused({"type": "InstanceNorm2d", "num_features": 6}, "expects a dimension between -3 and 2")
        self.refused({"type": "RMSNorm", "normalized_shape": 6}, "expects the last dimensions to be [6]")
        self.refused({"type": "ScaledDotProductAttention", "inputs": ["x", "y", "y"]}, "that agree before these",
                     inputs={"x": {"shape": ["batch", 6, 8]}, "y": {"shape": ["batch", 6, 4]}})

    def test_a_split_by_size_has_as_many_values_as_parts(self):
        split = {"name": "s", "type": "Split", "split_size_or_sections": 4, "dim": 1}
        must(self.compiled(split, outputs=["s", "s:1"]))
        self.assert_refused(self.compiled(split, outputs=["s:2"]), "gives 2 parts of dimension 1", "3 are used", place="model.json:5:1")

    def test_rows_that_are_mixed_are_warned_of(self):
        done = must(self.compiled(parallel({"type": "Sum", "dim": [0, 1]})))
        self.assertIn("mixes what the DataParallel layer 'net' splits", done.err)
        done = must(self.compiled(parallel({"type": "AMax", "dim": 1})))
        self.assertNotIn("mixes", done.err)

    def test_an_index_out_of_range_is_named(self):
        inputs = {"x": {"shape": ["batch", 3, 2]}, "i": {"shape": ["batch", 2, 2], "dtype": "int64"}}
        self.write("model.json", model({"type": "Gather", "dim": 1}, inputs=inputs))
        must(sheaf("compile", "model.json", "-o", "out.plan", cwd=self.dir))
        write_safetensors(self.dir / "in.safetensors", {"x": Tensor("F32", (2, 3, 2), [0.0] * 12), "i": Tensor("I64", (2, 2, 2), [0, 1, 2, 0, 1, 3, 0, 0])})
        done = sheaf("run", "out.plan", "--devices", "cpu:0", "--input", "x=in.safetensors:x", "--input", "i=in.safetensors:i", cwd=self.dir)
        self.assert_refused(done, "index 3 (element 5 of its input) is out of range; the table has entries 0 to 2")


unittest.main()
