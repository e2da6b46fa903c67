"""Modules and exported programs with a size besides the batch that a run determines: one model file serves every number."""
import math
import subprocess
import sys

import numpy
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

import sheaf
from sheaf.torch_graph import from_exported

VOCABULARY, WIDTH, LARGEST = 40, 16, 24
SEQ = {"x": {1: Dim("seq", max=LARGEST)}}


def tokens(rows, count, seed=0):
    return torch.randint(0, VOCABULARY, (rows, count), generator=torch.Generator().manual_seed(seed))


def numbers(rows, count, seed=0):
    return torch.randn(rows, count, WIDTH, generator=torch.Generator().manual_seed(seed))


def compare(module, model, inputs, sizes=((3, 9), (5, 24), (1, 2)), tolerance=1e-5):
    """The outputs of one model equal the module's for each (rows, length)."""
    module.eval()
    compiled = sheaf.Model(sheaf.compile(model))
    for devices in ("cpu", "cpu:0-2"):
        session = compiled.bind(devices, batch=5, lengths={"seq": 4})
        for rows, count in sizes:
            given = inputs(rows, count)
            given = given if isinstance(given, tuple) else (given,)
            with torch.no_grad():
                expected = module(*given)
            found = session.run(*given)
            expected = expected if isinstance(expected, tuple) else (expected,)
            found = found if isinstance(found, tuple) else (found,)
            assert len(found) == len(expected)
            for one, other in zip(found, expected):
                one = torch.as_tensor(numpy.asarray(one))
                assert one.shape == other.shape
                assert (one - other).abs().max() <= tolerance * max(1, other.abs().max()), (devices, rows, count)


class Encoder(nn.Module):
    """Learnt positions looked up by arange, padding known from the tokens, and a mean over what isn't padding."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LARGEST, WIDTH)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 2, 32, batch_first=True, dropout=0.1), 2, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, x):
        h = self.token(x) + self.position(torch.arange(x.shape[1], device=x.device))
        h = self.layers(h, src_key_padding_mask=x == 0)
        kept = (x != 0).unsqueeze(-1).to(h.dtype)
        return self.head((h * kept).sum(1) / kept.sum(1).clamp(min=1))


class Block(nn.Module):
    """As nanoGPT writes it: three parts of one product, heads by view and transpose, a causal mask kept as a buffer."""

    def __init__(self, flash):
        super().__init__()
        self.flash = flash
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.register_buffer("bias", torch.tril(torch.ones(LARGEST, LARGEST)).view(1, 1, LARGEST, LARGEST), persistent=False)

    def attention(self, x):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, 2, c // 2).transpose(1, 2) for part in self.c_attn(x).split(c, dim=2))
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
            scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, flash):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LARGEST, WIDTH)
        self.h = nn.ModuleList([Block(flash), Block(flash)])
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, x):
        pos = torch.arange(0, x.size(1), dtype=torch.long, device=x.device)
        x = self.wte(x) + self.wpe(pos)
        for block in self.h:
            x = block(x)
        return self.lm_head(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(24, 8, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        h, _ = self.lstm(x)
        h, last = self.gru(h)
        return self.head(h), h[:, -1], last


class Sinusoidal(nn.Module):
    """The positions of PyTorch's tutorial: a buffer that is cut."""

    def __init__(self):
        super().__init__()
        at = torch.arange(LARGEST).unsqueeze(1) * torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(10000.0) / WIDTH))
        pe = torch.zeros(1, LARGEST, WIDTH)
        pe[0, :, 0::2], pe[0, :, 1::2] = torch.sin(at), torch.cos(at)
        self.register_buffer("pe", pe)
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.linear(x + self.pe[:, :x.size(1)]).mean(1)


class Shapes(nn.Module):
    """Sizes that multiply, and repeat to the length."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.linear = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        pair = torch.cat([x, self.start.expand(b, t, c)], -1)
        flat = self.linear(pair.reshape(b * t, 2 * c))
        heads = flat.view(b, t, 4, c // 4).permute(2, 0, 1, 3).reshape(4 * b, t, c // 4)
        scores = torch.softmax(torch.bmm(heads, heads.transpose(1, 2)), -1)
        return torch.bmm(scores, heads).view(4, b, t, c // 4).permute(1, 2, 0, 3).flatten(2), x.amax(1), scores.sum((1, 2)).view(4, b).t()


@pytest.mark.parametrize("made", [Encoder, lambda: GPT(True), lambda: GPT(False)], ids=["encoder", "gpt_flash", "gpt_masked"])
def test_transformers_of_tokens(made):
    torch.manual_seed(0)
    module = made()
    compare(module, sheaf.from_torch(module, tokens(2, 6), lengths=SEQ), tokens)


@pytest.mark.parametrize("made", [Recurrent, Sinusoidal, Shapes], ids=lambda made: made.__name__.lower())
def test_other_modules_of_sequences(made):
    torch.manual_seed(0)
    module = made()
    model = sheaf.from_torch(module, numbers(2, 6), lengths=SEQ)
    assert model.json["inputs"]["x"]["shape"] == ["batch", "seq", WIDTH]
    compare(module, model, numbers)


def exported(module, example, **dims):
    shapes = {"x": {0: Dim("batch"), 1: Dim("seq", max=LARGEST)}, **dims}
    return torch.export.export(module.eval(), example, dynamic_shapes=shapes)


@pytest.mark.parametrize("made, inputs", [(lambda: GPT(True), tokens), (Sinusoidal, numbers)], ids=["gpt", "sinusoidal"])
def test_exported_programs(made, inputs):
    """An exported program doesn't keep its Dims' names, but their largest numbers."""
    torch.manual_seed(0)
    module = made()
    program = exported(module, (inputs(3, 6),))
    compare(module, from_exported(program, lengths={"x": {1: "seq"}}), inputs)
    model = from_exported(program)
    assert model.json["inputs"]["x"]["shape"][:2] == ["batch", "length"]
    assert len(model.notes) == 1 and "--length x:1=seq" in model.notes[0]


def test_a_batch_that_comes_second():
    program = torch.export.export(nn.Linear(WIDTH, 3), (numbers(3, 6),), dynamic_shapes={"input": {0: Dim("seq"), 1: Dim("n")}})
    model = from_exported(program, lengths={"input": {0: "seq"}})
    assert model.json["inputs"]["input"]["shape"] == ["seq", "batch", WIDTH]


def test_the_command_names_lengths(tmp_path):
    module = GPT(True)
    torch.export.save(exported(module, (tokens(3, 6),)), tmp_path / "net.pt2")
    command = [sys.executable, "-m", "sheaf", "import", "net.pt2", "-o", "net.json"]
    done = subprocess.run([*command, "--length", "x:1=seq"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert '"shape": ["batch", "seq"]' in (tmp_path / "net.json").read_text()
    for words, status, message in ((["--length", "x=seq"], 2, "isn't INPUT:DIM=NAME"), (["--length", "y:1=seq"], 1, "lengths names y; the inputs are x"),
                                   (["--length", "x:2=seq"], 1, "dimension 2 of 'x' isn't a free size")):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status and message in done.stderr, done


class Two(nn.Module):
    """Attention from one sequence to another, with a mask of both lengths and tokens that both share."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)

    def forward(self, x, memory):
        ahead = torch.arange(memory.shape[1])[None, :] > torch.arange(x.shape[1])[:, None] + 2
        return self.attention(x, memory, memory, attn_mask=ahead, need_weights=False)[0]


def test_two_lengths():
    torch.manual_seed(0)
    module = Two().eval()
    model = sheaf.from_torch(module, (numbers(2, 6), numbers(2, 9)), lengths={"x": {1: Dim("seq", max=20)}, "memory": {1: Dim("source", max=30)}})
    session = sheaf.Model(sheaf.compile(model)).bind("cpu:0,cpu:1", batch=4, lengths={"seq": 4, "source": 5})
    for rows, seq, source in ((4, 4, 5), (3, 20, 30), (2, 7, 3)):
        given = numbers(rows, seq), numbers(rows, source, 1)
        with torch.no_grad():
            expected = module(*given)
        assert (torch.as_tensor(numpy.asarray(session.run(*given))) - expected).abs().max() < 1e-5


class Scores(nn.Module):
    """Classes second, as PyTorch's cross-entropy wants them."""

    def __init__(self):
        super().__init__()
        self.net = GPT(True)

    def forward(self, x):
        return self.net(x).transpose(1, 2)


def test_training_on_batches_of_several_lengths():
    torch.manual_seed(0)
    module = Scores()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    plan = sheaf.compile(sheaf.from_torch(module, tokens(2, 6), lengths=SEQ), loss=nn.CrossEntropyLoss(), optimizer=optimizer)
    trainer = sheaf.Model(plan).trainer("cpu:0,cpu:1", batch=5, lengths={"seq": 6})
    for count in (6, 24, 3, 6):
        x, label = tokens(5, count, count), tokens(5, count, 100 + count)
        optimizer.zero_grad()
        loss = F.cross_entropy(module(x), label)
        loss.backward()
        optimizer.step()
        assert abs(trainer.step(x, label) - loss.item()) < 1e-4


class Grows(nn.Module):
    def forward(self, x):
        return x[:, 1:] - x[:, :-1]


class Depends(nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[1]).flip(0)[:, None]


class Divides(nn.Module):
    def forward(self, x):
        return x.sum(1) / x.shape[1]


@pytest.mark.parametrize("module, message", [
    (Grows(), r"takes a part whose size is seq \+ -1 of a dimension of seq"),
    (Depends(), "aren't the beginning of those for larger sizes"),
    (Divides(), "computes with a size that a run determines as a number")], ids=["part", "depends", "number"])
def test_what_a_length_cannot_do_is_refused_with_its_line(module, message):
    with pytest.raises(sheaf.Error, match=message) as refused:
        sheaf.from_torch(nn.Sequential(module), numbers(2, 6), lengths={"input": {1: Dim("seq", max=LARGEST)}})
    assert all(problem.file == __file__ and "x" in problem.source for problem in refused.value.diagnostics)


def test_a_table_needs_the_largest_number():
    with pytest.raises(sheaf.Error, match=r'say which it is: torch.export.Dim\("seq", max=512\)'):
        sheaf.from_torch(GPT(True), tokens(2, 6), lengths={"x": {1: "seq"}})


@pytest.mark.parametrize("lengths, message", [
    ({"y": {1: "seq"}}, "lengths names y; the inputs are x"),
    ({"x": {5: "seq"}}, "lengths names dimension 5, but the example input 'x' has 3 dimensions"),
    ({"x": {0: "seq"}}, "dimension 0 of the example input 'x' is named both the batch and a length"),
    ({"x": {1: "batch"}}, "'batch' can't name a length"),
    ({"x": {1: "seq2"}}, "'seq2' can't name a length"),
    ({"x": {1: "seq", 2: "seq"}}, "the example inputs have two numbers for the length 'seq', 6 and 16"),
    ({"x": {1: Dim("seq", max=8), 2: Dim("seq", max=16)}}, "the length 'seq' is given with two largest numbers, 8 and 16"),
    ({"x": {2: "width"}}, "torch.export can't follow the module with a batch and lengths of any size")])
def test_lengths_that_do_not_fit_are_refused(lengths, message):
    with pytest.raises(sheaf.Error, match=message):
        sheaf.from_torch(Sinusoidal(), numbers(2, 6), lengths=lengths)
