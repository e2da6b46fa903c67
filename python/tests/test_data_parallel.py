"""sheaf.nn.DataParallel: gradients, buffers and modes next to PyTorch's."""
import copy
import gc

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import sheaf


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.BatchNorm2d(8)
        self.skip = nn.Conv2d(3, 8, 1, bias=False)

    def forward(self, x):
        y = F.silu(self.norm1(self.conv1(x)))
        return F.adaptive_avg_pool2d(F.silu(self.norm2(self.conv2(y)) + self.skip(x)), 1).flatten(1)


class NormTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(6, 4), nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.b(F.silu(self.norm(self.a(x)))))


class Synchronized(nn.Module):
    """Without a process group PyTorch's takes the statistics of what it is given: of the whole batch, next to sheaf's replicas."""
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 4, 2), nn.SyncBatchNorm(4)
        self.skip, self.last = nn.Conv1d(3, 4, 2, bias=False), nn.SyncBatchNorm(4, affine=False, track_running_stats=False)

    def forward(self, x):
        return F.silu(self.norm(self.conv(x)) + self.last(self.skip(x)))


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.policy, self.value = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, x):
        y = torch.tanh(self.trunk(x))
        return {"policy": F.softmax(self.policy(y), -1), "value": (self.value(y).squeeze(-1), y)}


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.rnn, self.out = nn.Embedding(11, 6, padding_idx=0), nn.GRU(6, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, words):
        return self.out(self.rnn(self.words(words))[0][:, -1])


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(6, 5, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0].mean(1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Parameter(torch.randn(2, 8) / 3)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        query = self.query.expand(x.shape[0], -1, -1)
        return self.attention(query, x, x, need_weights=False)[0]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(11, 6), nn.Linear(6, 11, bias=False)
        self.out.weight = self.words.weight

    def forward(self, words):
        return self.out(torch.tanh(self.words(words)))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.bilinear = nn.Linear(6, 4)

    def forward(self, a, b, scale=2.0):
        return self.bilinear(a) * torch.sigmoid(self.bilinear(b)) * scale


def rows(*shape):
    return lambda n: (torch.randn(n, *shape),)


def words(n):
    return (torch.randint(0, 11, (n, 7)),)


MODULES = {
    "linear": (lambda: nn.Linear(6, 3), rows(6)),
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 3)), rows(6)),
    "log_softmax": (lambda: nn.Sequential(nn.Linear(6, 3), nn.LogSoftmax(1)), rows(6)),
    "batch_norm": (lambda: nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Tanh()), rows(6)),
    "norm_twice": (NormTwice, rows(6)),
    "residual": (Residual, rows(3, 8, 8)),
    "synchronized": (Synchronized, rows(3, 6)),
    "pools": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.Conv2d(4, 4, 2), nn.AvgPool2d(2), nn.Flatten()), rows(3, 10, 10)),
    "generator": (lambda: nn.Sequential(nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ELU(), nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh()),
                  rows(6, 1, 1)),
    "discriminator": (lambda: nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4), nn.Sigmoid(), nn.Flatten(0)), rows(3, 8, 8)),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(4, 6, 3), nn.GroupNorm(2, 6), nn.Softplus()), rows(4, 9)),
    "conv3d": (lambda: nn.Sequential(nn.Conv3d(2, 4, 3), nn.InstanceNorm3d(4, affine=True), nn.SiLU()), rows(2, 5, 5, 5)),
    "layer_norm": (lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Mish()), rows(4, 6)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, activation="gelu"), rows(5, 8)),
    "attention": (Attention, rows(5, 8)),
    "text": (Text, words),
    "lstm": (Lstm, rows(5, 6)),
    "tied": (Tied, words),
    "several": (Several, rows(6)),
    "two_inputs": (Two, lambda n: (torch.randn(n, 6), torch.randn(n, 6))),
    "upsample": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PixelShuffle(2), nn.Upsample(scale_factor=2, mode="bilinear")), rows(3, 4, 4)),
}


def leaves(outputs):
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    return [leaf for value in (outputs.values() if isinstance(outputs, dict) else outputs) for leaf in leaves(value)]


def close(found, expected, tolerance=2e-5):
    found, expected = found.detach(), expected.detach()
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert torch.allclose(found.double(), expected.double(), rtol=0, atol=tolerance * max(1.0, float(expected.abs().max())))


def compare(parallel, module, inputs, scales):
    """Outputs, gradients of parameters and inputs, and buffers equal PyTorch's."""
    ours = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    theirs = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    for net, given in ((parallel, ours), (module, theirs)):
        net.zero_grad()
        outputs = leaves(net(*given))
        for output, scale in zip(outputs, scales):
            assert output.requires_grad
        sum((output * scale[: output.shape[0]].reshape(-1, *[1] * (output.dim() - 1)).sin()).sum() for output, scale in zip(outputs, scales)).backward()
        net.found = outputs
    for a, b in zip(parallel.found, module.found):
        close(a, b)
    for a, b in zip(ours, theirs):
        if b.grad is not None:
            close(a.grad, b.grad)
    for (name, a), b in zip(parallel.module.named_parameters(), module.parameters()):
        assert a.grad is not None, name
        close(a.grad, b.grad)
    for a, b in zip(parallel.module.buffers(), module.buffers()):
        close(a, b)


def made(make):
    torch.manual_seed(0)
    module = make()
    return module, sheaf.nn.DataParallel(copy.deepcopy(module), devices="cpu:0,cpu:1")


# Each replica has the statistics of its own rows, as with DataParallel: one device has the whole batch's.
NORMS = ("batch_norm", "norm_twice", "residual", "generator")


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_pytorchs(name):
    make, inputs = MODULES[name]
    module, parallel = made(make)
    if name in NORMS:
        parallel = sheaf.nn.DataParallel(parallel.module, devices="cpu:0")
    scales = [torch.randn(64), torch.randn(64), torch.randn(64)]
    for rows in (6, 5):
        compare(parallel, module, inputs(rows), scales)
    if name in (*NORMS, "synchronized"):
        module.eval()
        parallel.eval()
        compare(parallel, module, inputs(4), scales)
        module.train()
        parallel.train()
        compare(parallel, module, inputs(4), scales)


def test_parameters_are_the_modules():
    module, parallel = made(MODULES["mlp"][0])
    assert [id(p) for p in parallel.parameters()] == [id(p) for p in parallel.module.parameters()]
    assert list(parallel.state_dict()) == [f"module.{name}" for name in module.state_dict()]
    ours, theirs = (torch.optim.AdamW(net.parameters(), lr=0.01) for net in (parallel, module))
    for step in range(4):
        x = torch.randn(7, 6)
        for net, optimizer in ((parallel, ours), (module, theirs)):
            optimizer.zero_grad()
            net(x).square().sum().backward()
            optimizer.step()
    for a, b in zip(parallel.parameters(), module.parameters()):
        close(a, b)
    module.load_state_dict(parallel.module.state_dict())
    with torch.no_grad():
        close(parallel(x), module(x))


def test_frozen_parameters_have_no_gradient():
    module, parallel = made(MODULES["mlp"][0])
    parallel.module[0].requires_grad_(False)
    parallel(torch.randn(4, 6)).sum().backward()
    assert parallel.module[0].weight.grad is None and parallel.module[2].weight.grad is not None


def test_many_passes_before_their_backward_pass():
    """As in a policy gradient: REINFORCE over an episode of twenty steps, one row each."""
    policy, parallel = made(lambda: nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.0), nn.ReLU(), nn.Linear(16, 2), nn.Softmax(1)))
    losses = []
    for net in (parallel, policy):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        generator = torch.Generator().manual_seed(3)
        for episode in range(2):
            state, terms = torch.zeros(1, 4), []
            for step in range(20):
                state = state + torch.randn(1, 4, generator=generator) / 4
                probabilities = net(state)
                action = int(torch.rand((), generator=generator) < float(probabilities.detach()[0, 1].round(decimals=3)))
                terms.append(torch.log(probabilities[0, action]) * (step - 10))
            loss = -torch.stack(terms).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:2] == pytest.approx(losses[2:], rel=1e-4)
    for a, b in zip(parallel.parameters(), policy.parameters()):
        close(a, b, 1e-4)


def test_a_gan():
    """The tutorial's step: the discriminator on real and generated pictures, then the generator through the
    discriminator."""
    pairs = [made(MODULES[name][0]) for name in ("generator", "discriminator")]
    both = [[sheaf.nn.DataParallel(parallel.module, devices="cpu:0") for _, parallel in pairs], [module for module, _ in pairs]]
    losses = []
    for generator, discriminator in both:
        torch.manual_seed(1)
        optimizers = [torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.5, 0.999)) for net in (discriminator, generator)]
        for step in range(3):
            real, noise = torch.randn(6, 3, 8, 8), torch.randn(6, 6, 1, 1)
            optimizers[0].zero_grad()
            F.binary_cross_entropy(discriminator(real), torch.ones(6)).backward()
            made_up = generator(noise)
            F.binary_cross_entropy(discriminator(made_up.detach()), torch.zeros(6)).backward()
            optimizers[0].step()
            optimizers[1].zero_grad()
            loss = F.binary_cross_entropy(discriminator(made_up), torch.ones(6))
            loss.backward()
            optimizers[1].step()
            losses.append(loss.item())
    assert losses[:3] == pytest.approx(losses[3:], rel=1e-3)
    for a, b in zip(both[0], both[1]):
        for ours, theirs in zip(a.module.buffers(), b.buffers()):
            close(ours, theirs, 1e-3)


def test_dropout_draws_from_pytorchs_generator():
    _, parallel = made(lambda: nn.Sequential(nn.Linear(6, 64), nn.Dropout(0.5)))
    x = torch.ones(4, 6)
    found = []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(parallel(x).detach())
    assert torch.equal(*found) and not torch.equal(found[0], parallel(x).detach())
    assert 0.2 < float((found[0] == 0).float().mean()) < 0.8
    parallel.eval()
    assert float((parallel(x) == 0).float().mean()) == 0


def test_backward_again_and_overwritten_outputs():
    module, parallel = made(MODULES["log_softmax"][0])
    x = torch.randn(5, 6)
    y = parallel(x)
    y.sum().backward(retain_graph=True)
    first = parallel.module[0].weight.grad.clone()
    y.sum().backward()
    close(parallel.module[0].weight.grad, 2 * first)
    parallel.zero_grad()
    y = parallel(x)
    y.sum().backward()
    expected = parallel.module[0].weight.grad.clone()
    parallel.zero_grad()
    y = parallel(x)
    with torch.no_grad():
        y.zero_()
    y.backward(torch.ones_like(y))
    close(parallel.module[0].weight.grad, expected)


def test_what_autograd_refuses_is_refused():
    _, parallel = made(MODULES["mlp"][0])
    y = parallel(torch.randn(4, 6))
    with torch.no_grad():
        parallel.module[2].weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_sessions_are_used_again():
    _, parallel = made(MODULES["mlp"][0])
    for _ in range(30):
        parallel(torch.randn(4, 6))  # dropped without a backward pass
    gc.collect()
    function, = parallel._functions.values()
    assert sum(len(free) for free in function._free.values()) <= 2


class Sentence(nn.Module):
    """Words and padding, learnt positions of which as many are cut off, a causal attention, a score for each place."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(11, 8, padding_idx=0), nn.Embedding(24, 8)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 1, enable_nested_tensor=False)
        self.out = nn.Linear(8, 5)

    def forward(self, words):
        length = words.shape[1]
        hidden = self.words(words) + self.places(torch.arange(length, device=words.device))
        return self.out(self.layers(hidden, src_key_padding_mask=words == 0))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x, weights):
        return self.out((self.rnn(x)[0] * weights.unsqueeze(-1)).mean(1))


def sentences(rows, length):
    return (torch.randint(1, 11, (rows, length)),)


def pairs(rows, length):
    return torch.randn(rows, length, 6), torch.randn(rows, length)


SEQ = torch.export.Dim("seq", max=24)


def numbers(rows, length):
    return (torch.randn(rows, length, 6),)


@pytest.mark.parametrize("make, inputs, lengths", [(Sentence, sentences, {"words": {1: SEQ}}), (Lstm, numbers, {"x": {1: "seq"}}),
                                                   (Pair, pairs, {"x": {1: "seq"}, "weights": {-1: "seq"}})])
def test_sequences_of_other_lengths_are_not_compiled_for(make, inputs, lengths):
    torch.manual_seed(0)
    module = make()
    parallel = sheaf.nn.DataParallel(copy.deepcopy(module), devices="cpu:0-2", lengths=lengths)
    scales = [torch.randn(64)]
    for rows, length in ((5, 7), (5, 9), (4, 24), (2, 3), (1, 2), (5, 7), (3, 1)):
        compare(parallel, module, inputs(rows, length), scales)
    assert len({id(function) for function in parallel._functions.values()}) == 1
    module.eval()
    parallel.eval()
    with torch.no_grad():
        for given in (inputs(3, 11), inputs(4, 2)):
            close(parallel(*given), module(*given))
    assert len({id(function) for function in parallel._functions.values()}) == 2


def test_lengths_that_differ_or_are_too_large():
    parallel = sheaf.nn.DataParallel(Pair(), lengths={"x": {1: "seq"}, "weights": {1: "seq"}})
    parallel(*pairs(4, 6))
    with pytest.raises(sheaf.Error, match="two numbers for the length 'seq', 6 and 5"):
        parallel(pairs(4, 6)[0], pairs(4, 5)[1])
    parallel = sheaf.nn.DataParallel(Sentence(), lengths={"words": {1: SEQ}})
    parallel(*sentences(4, 6))
    with pytest.raises(sheaf.Error, match="the length 'seq', at most 24, can't be 25"):
        parallel(*sentences(4, 25))
    with pytest.raises(sheaf.Error, match="lengths names word; the inputs are words"):
        sheaf.nn.DataParallel(Sentence(), lengths={"word": {1: SEQ}})(*sentences(4, 6))


def test_errors():
    module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))
    parallel = sheaf.nn.DataParallel(module)
    module[1].eval()
    with pytest.raises(sheaf.Error, match="'1', a BatchNorm1d, is in evaluation mode"):
        parallel(torch.randn(4, 6))
    module[1].train()
    with pytest.raises(sheaf.Error, match="float64"):
        parallel(torch.randn(4, 6))
        module.double()
        parallel(torch.randn(4, 6))
    with pytest.raises(sheaf.Error, match="fft"):
        class Spectrum(nn.Module):
            def forward(self, x):
                return torch.fft.fft(x).real
        sheaf.nn.DataParallel(Spectrum())(torch.randn(4, 6))
