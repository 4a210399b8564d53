"""The Llama family in Hugging Face's transformers, with MPT and OPT, for tests/real/test_golden_llama.c.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/llama.py                      (from the top folder; a minute; writes tests/golden/llama.json)

counts      parameters of published models, their configurations written from their documentation: the keys of
            `--model`, and how many parameters transformers counts (on the meta device, so none is allocated)
rotary      frequencies and amplitude of each kind of scaling, as transformers' rope functions give them
training    losses of 20 steps of a small Llama with grouped queries, a Qwen2, a Qwen3, a Mistral whose window is shorter
            than its text, an MPT of 6 heads and an OPT, with AdamW as in
            golden_training.py: the initial weights and the samples are the product's (counter_random.py), and the model
            is transformers' own. losses_float64: the same with everything in double, which is how far apart rounding
            alone puts them. Tensors are numbered in the product's order, where q|k|v and gate|up are one each.
saved       bytes that a block of `llama`, and one as Qwen2's and Qwen3's, keeps for its backward pass in bf16, each storage once, as
            torch.autograd.graph.saved_tensors_hooks sees them in transformers' block, and by how much that is more than
            the product's: silu(gate); of each RMSNorm x in fp32 and what the weight is multiplied by, in place of x; the
            cosines and sines; of Qwen3's norms of heads x in fp32, what it is multiplied by, and what the weight is, in
            place of q, k and v before them
"""

import argparse
import json
import pathlib

import torch
import torch.nn.functional as F
from transformers import (GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig,
                          MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import counter_random as cr
import gpt_relatives

STEPS, SEED, BATCH, RATE = 20, 1, 4, 3e-4
ADAMW = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}

# name: layers, width, heads, kv_heads, head_size, hidden, vocabulary, tied, bias, qk_norm
PUBLISHED = {
    "Llama-2-7b": (32, 4096, 32, 32, 128, 11008, 32000, "no", "none", "no"),
    "Llama-2-13b": (40, 5120, 40, 40, 128, 13824, 32000, "no", "none", "no"),
    "Llama-2-70b": (80, 8192, 64, 8, 128, 28672, 32000, "no", "none", "no"),
    "Llama-2-7b with biases": (32, 4096, 32, 32, 128, 11008, 32000, "no", "all", "no"),
    "Meta-Llama-3-8B": (32, 4096, 32, 8, 128, 14336, 128256, "no", "none", "no"),
    "Meta-Llama-3-70B": (80, 8192, 64, 8, 128, 28672, 128256, "no", "none", "no"),
    "Llama-3.1-405B": (126, 16384, 128, 8, 128, 53248, 128256, "no", "none", "no"),
    "Llama-3.2-1B": (16, 2048, 32, 8, 64, 8192, 128256, "yes", "none", "no"),
    "Llama-3.2-3B": (28, 3072, 24, 8, 128, 8192, 128256, "yes", "none", "no"),
    "TinyLlama-1.1B": (22, 2048, 32, 4, 64, 5632, 32000, "no", "none", "no"),
    "CodeLlama-34b": (48, 8192, 64, 8, 128, 22016, 32000, "no", "none", "no"),
    "Yi-6B": (32, 4096, 32, 4, 128, 11008, 64000, "no", "none", "no"),
    "Yi-34B": (60, 7168, 56, 8, 128, 20480, 64000, "no", "none", "no"),
    "deepseek-llm-7b": (30, 4096, 32, 32, 128, 11008, 102400, "no", "none", "no"),
    "SmolLM-135M": (30, 576, 9, 3, 64, 1536, 49152, "yes", "none", "no"),
    "Mistral-7B-v0.1": (32, 4096, 32, 8, 128, 14336, 32000, "no", "none", "no"),
    "Mistral-7B-v0.3": (32, 4096, 32, 8, 128, 14336, 32768, "no", "none", "no"),
    "Mistral-Nemo-2407": (40, 5120, 32, 8, 128, 14336, 131072, "no", "none", "no"),
    "Mistral-Small-24B": (40, 5120, 32, 8, 128, 32768, 131072, "no", "none", "no"),
    "Mistral-Large-2407": (88, 12288, 96, 8, 128, 28672, 32768, "no", "none", "no"),
    "Qwen2-0.5B": (24, 896, 14, 2, 64, 4864, 151936, "yes", "qkv", "no"),
    "Qwen2-1.5B": (28, 1536, 12, 2, 128, 8960, 151936, "yes", "qkv", "no"),
    "Qwen2-7B": (28, 3584, 28, 4, 128, 18944, 152064, "no", "qkv", "no"),
    "Qwen2-72B": (80, 8192, 64, 8, 128, 29568, 152064, "no", "qkv", "no"),
    "Qwen2.5-3B": (36, 2048, 16, 2, 128, 11008, 151936, "yes", "qkv", "no"),
    "Qwen2.5-14B": (48, 5120, 40, 8, 128, 13824, 152064, "no", "qkv", "no"),
    "Qwen2.5-32B": (64, 5120, 40, 8, 128, 27648, 152064, "no", "qkv", "no"),
    "Qwen3-0.6B": (28, 1024, 16, 8, 128, 3072, 151936, "yes", "none", "yes"),
    "Qwen3-1.7B": (28, 2048, 16, 8, 128, 6144, 151936, "yes", "none", "yes"),
    "Qwen3-4B": (36, 2560, 32, 8, 128, 9728, 151936, "yes", "none", "yes"),
    "Qwen3-8B": (36, 4096, 32, 8, 128, 12288, 151936, "no", "none", "yes"),
    "Qwen3-14B": (40, 5120, 40, 8, 128, 17408, 151936, "no", "none", "yes"),
    "Qwen3-32B": (64, 5120, 64, 8, 128, 25600, 151936, "no", "none", "yes"),
}
KEYS = ("layers", "width", "heads", "kv_heads", "head_size", "hidden", "vocabulary", "tied", "bias", "qk_norm")
PRESETS = {"llama": (6, 256, 8, 4, 32, 688, 256, "no", "none", "no"), "llama-2-7b": "Llama-2-7b",
           "llama-3-8b": "Meta-Llama-3-8B", "llama-3-70b": "Meta-Llama-3-70B", "mistral-7b": "Mistral-7B-v0.1",
           "qwen2.5-7b": "Qwen2-7B", "qwen3-8b": "Qwen3-8B"}

# theta, head size, context, tokens, and the scaling's keys as config.json has them
ROTARY = [
    (10000.0, 64, 4096, 128, None),
    (10000.0, 128, 8192, 128, {"rope_type": "linear", "factor": 4.0}),
    (10000.0, 128, 2048, 1024, {"rope_type": "dynamic", "factor": 2.0}),
    (10000.0, 128, 2048, 6000, {"rope_type": "dynamic", "factor": 2.0}),
    (500000.0, 64, 131072, 128, {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                                 "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}),
    (500000.0, 128, 131072, 128, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                  "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}),
    (1000000.0, 128, 131072, 128, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}),
    (10000.0, 64, 16384, 128, {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2048,
                               "beta_fast": 16.0, "beta_slow": 2.0}),
]

TRAINED = {
    "llama": dict(layers=2, width=32, heads=4, kv_heads=2, head_size=8, hidden=44, context=16, tied="no", bias="none",
                  qk_norm="no", theta=10000.0, epsilon=1e-5),
    "llama3": dict(layers=2, width=32, heads=4, kv_heads=1, head_size=12, hidden=40, context=64, tied="yes", bias="all",
                   qk_norm="no", theta=500000.0, epsilon=1e-5, scaling="llama3", factor=8.0, original=16),
    "qwen2": dict(layers=2, width=32, heads=4, kv_heads=2, head_size=8, hidden=44, context=16, tied="yes", bias="qkv",
                  qk_norm="no", theta=1000000.0, epsilon=1e-6),
    "qwen3": dict(layers=2, width=32, heads=4, kv_heads=2, head_size=16, hidden=44, context=16, tied="no", bias="none",
                  qk_norm="yes", theta=1000000.0, epsilon=1e-6),
    "mistral": dict(layers=2, width=32, heads=4, kv_heads=2, head_size=8, hidden=44, context=24, tied="no", bias="none",
                    qk_norm="no", theta=10000.0, epsilon=1e-5, window=5),
}


def config_of(k):
    """A configuration and its class, from the keys of `--model`."""
    rope = {"rope_type": "default", "rope_theta": k.get("theta", 10000.0)}
    if k.get("scaling"):
        rope |= {"rope_type": k["scaling"], "factor": k["factor"], "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                 "original_max_position_embeddings": k["original"]}
    common = dict(num_hidden_layers=k["layers"], hidden_size=k["width"], num_attention_heads=k["heads"],
                  num_key_value_heads=k["kv_heads"], head_dim=k["head_size"], intermediate_size=k["hidden"],
                  vocab_size=k.get("vocabulary", 256), tie_word_embeddings=k["tied"] == "yes",
                  max_position_embeddings=k.get("context", 4096), rms_norm_eps=k.get("epsilon", 1e-5),
                  rope_parameters=rope, attn_implementation="eager")
    if k["qk_norm"] == "yes":
        return Qwen3Config(**common), Qwen3ForCausalLM
    if k["bias"] == "qkv":
        return Qwen2Config(**common), Qwen2ForCausalLM
    if k.get("mistral") or k.get("window"):
        return MistralConfig(**common, sliding_window=k.get("window")), MistralForCausalLM
    return LlamaConfig(**common, attention_bias=k["bias"] == "all", mlp_bias=k["bias"] == "all"), LlamaForCausalLM


def specification_of(keys, name="llama"):
    return f"{name}:" + ",".join(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                                 for key, value in keys.items())


def count_of(name, row):
    keys = dict(zip(KEYS, row))
    config, kind = config_of({**keys, "mistral": name.startswith("Mistral")})
    with torch.device("meta"):
        model = kind(config)
    return keys, sum(p.numel() for p in model.parameters())


def counts():
    rows = []
    for name, row in PUBLISHED.items():
        keys, parameters = count_of(name, row)
        rows.append({"name": name, "specification": specification_of(keys), "parameters": parameters})
    with torch.device("meta"):
        gpt2 = GPT2LMHeadModel(GPT2Config(n_inner=2048))
    rows.append({"name": "gpt2 with n_inner=2048", "specification": "gpt2-124m:hidden=2048",
                 "parameters": sum(p.numel() for p in gpt2.parameters())})
    for name, row in PRESETS.items():
        _, parameters = count_of(name, PUBLISHED[row] if isinstance(row, str) else row)
        rows.append({"name": name, "specification": name, "parameters": parameters})
    for specification, (family, *sizes) in gpt_relatives.PUBLISHED.items():
        config, kind = gpt_relatives.config_of(family, dict(zip(("layers", "width", "heads", "context", "vocabulary"),
                                                                sizes)))
        with torch.device("meta"):
            model = kind(config)
        rows.append({"name": specification, "specification": specification,
                     "parameters": sum(p.numel() for p in model.parameters())})
    return rows


def rotary():
    rows = []
    for theta, size, context, tokens, scaling in ROTARY:
        config = LlamaConfig(hidden_size=size * 4, num_attention_heads=4, head_dim=size, max_position_embeddings=context,
                             rope_parameters={"rope_type": "default", "rope_theta": theta, **(scaling or {})})
        if scaling:
            frequency, amplitude = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu", seq_len=tokens)
        else:
            frequency, amplitude = 1 / theta ** (torch.arange(0, size, 2).float() / size), 1.0
        s = scaling or {}
        rows.append({"scaling": s.get("rope_type", "none"), "theta": theta, "size": size, "tokens": tokens,
                     "factor": s.get("factor", 1.0), "low": s.get("low_freq_factor", s.get("beta_slow", 1.0)),
                     "high": s.get("high_freq_factor", s.get("beta_fast", 32.0)),
                     "original": s.get("original_max_position_embeddings", context),
                     "frequency": [float(f"{x:.9g}") for x in frequency.tolist()], "amplitude": amplitude})
    return rows


def tensors_of(k):
    """The product's tensors of a Llama in its order: names in transformers' model and rows of each, shape, init."""
    width, size, vocabulary = k["width"], k["head_size"], 256
    q, kv = k["heads"] * size, k["kv_heads"] * size

    def linear(parts, columns, bias):
        yield [f"{name}.weight" for name, _ in parts], [n for _, n in parts], columns, "normal"
        if bias:
            yield [f"{name}.bias" for name, _ in parts], [n for _, n in parts], None, "zeros"

    yield ["model.embed_tokens.weight"], [vocabulary], width, "normal"
    for i in range(k["layers"]):
        at = f"model.layers.{i}."
        yield [f"{at}input_layernorm.weight"], [width], None, "ones"
        yield from linear([(f"{at}self_attn.q_proj", q), (f"{at}self_attn.k_proj", kv), (f"{at}self_attn.v_proj", kv)],
                          width, k["bias"] != "none")
        if k["qk_norm"] == "yes":
            yield [f"{at}self_attn.q_norm.weight"], [size], None, "ones"
            yield [f"{at}self_attn.k_norm.weight"], [size], None, "ones"
        yield from linear([(f"{at}self_attn.o_proj", width)], q, k["bias"] == "all")
        yield [f"{at}post_attention_layernorm.weight"], [width], None, "ones"
        yield from linear([(f"{at}mlp.gate_proj", k["hidden"]), (f"{at}mlp.up_proj", k["hidden"])], width,
                          k["bias"] == "all")
        yield from linear([(f"{at}mlp.down_proj", width)], k["hidden"], k["bias"] == "all")
    yield ["model.norm.weight"], [width], None, "ones"
    if k["tied"] == "no":
        yield ["lm_head.weight"], [vocabulary], width, "normal"


def model_of(name, k, dtype):
    relative = name in gpt_relatives.TRAINED
    config, kind = gpt_relatives.config_of(name, k) if relative else config_of(k)
    tensors = gpt_relatives.tensors_of(name, k) if relative else tensors_of(k)
    model = kind(config).to(dtype)
    state = {}
    for i, (names, rows, columns, init) in enumerate(tensors):
        whole = cr.weights(SEED, i, (sum(rows), columns) if columns else (sum(rows),), init, 0.02)
        state |= dict(zip(names, torch.tensor(whole, dtype=dtype).split(rows)))
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(name == "lm_head.weight" for name in missing), (missing, unexpected)
    return model.train()


def losses_of_model(model, data, rate):
    losses = []
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, foreach=False, fused=False, **ADAMW)
    for step in range(STEPS):
        inputs, targets = (torch.from_numpy(x) for x in data.batch(SEED, step * BATCH, BATCH))
        loss = F.cross_entropy(model(input_ids=inputs).logits.view(-1, 256), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def losses_of(name, k, data, dtype):
    return losses_of_model(model_of(name, k, dtype), data, RATE)


def training(text):
    rows = []
    for name, k in (TRAINED | gpt_relatives.TRAINED).items():
        data = cr.Text(text, k["context"])
        losses, exact = losses_of(name, k, data, torch.float32), losses_of(name, k, data, torch.float64)
        apart = max(abs(a - b) / b for a, b in zip(losses, exact))
        print(f"{name}: loss {losses[0]:.6f} .. {losses[-1]:.6f}, fp32 and double at most {apart:.1e} of the loss apart")
        assert apart < 1e-5, "rounding decides: take a smaller learning rate"
        family = name if name in gpt_relatives.TRAINED else "llama"
        rows.append({"name": name, "specification": specification_of(k, family), "batch": BATCH, "rate": RATE, "losses": losses,
                     "losses_float64": exact})
    return rows


SAVED = {}, {"bias": "qkv"}, {"qk_norm": "yes"}


def saved(own):
    """The bytes that autograd saves in a block with these keys, beside those of `llama`."""
    k = dict(layers=1, width=256, heads=8, kv_heads=4, head_size=32, hidden=688, context=128, tied="no", bias="none",
             qk_norm="no") | own
    config, kind = config_of(k)
    config._attn_implementation = "sdpa"
    model = kind(config).bfloat16()
    samples, tokens, width = 2, k["context"], k["width"]
    x = torch.randn(samples, tokens, width, dtype=torch.bfloat16, requires_grad=True)
    turns = model.model.rotary_emb(x, torch.arange(tokens)[None].expand(samples, tokens))
    parameters = {p.untyped_storage().data_ptr() for p in model.parameters()}
    seen = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            seen[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.model.layers[0](x, position_embeddings=turns)
    rows = samples * tokens
    normed = rows * (k["heads"] + k["kv_heads"]) * (k["qk_norm"] == "yes")
    before = rows * (k["heads"] + 2 * k["kv_heads"]) * (k["qk_norm"] == "yes")
    return {"specification": specification_of({"layers": 4} | own), "samples": samples,
            "bytes": sum(n for n, _ in seen.values()), "gate": 2 * rows * k["hidden"],
            "norms": 2 * rows * width * (4 + 2 - 2), "turns": 2 * 2 * rows * k["head_size"],
            "heads": normed * ((4 + 2) * k["head_size"] + 4) - 2 * before * k["head_size"]}


def as_text(result):
    """A line for each row, so that a difference between two versions can be read."""
    return "{\n" + ",\n".join(
        f" {json.dumps(key)}: [\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]"
        for key, rows in result.items()) + "\n}\n"


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes what the tests of the Llama family compare with.")
    parser.add_argument("--out", type=pathlib.Path, default=top / "golden/llama.json", help="file to write")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result = {"counts": counts(), "rotary": rotary(), "training": training(top / "golden/text.txt"),
              "saved": [saved(own) for own in SAVED]}
    arguments.out.write_text(as_text(result))


if __name__ == "__main__":
    main()
