"""MPT and OPT in Hugging Face's transformers, and GPT-2 with a longer MLP, for llama.py: configurations from the keys of
`--model`, the product's tensors with their names in transformers' models, and parameters of published models."""

from transformers import (GPT2Config, GPT2LMHeadModel, MptConfig, MptForCausalLM, OPTConfig, OPTForCausalLM)

# specification: name, layers, width, heads, context, vocabulary
PUBLISHED = {
    "mpt": ("mpt", 6, 256, 8, 128, 256),
    "mpt-7b": ("mpt", 32, 4096, 32, 2048, 50432),
    "mpt-30b": ("mpt", 48, 7168, 64, 8192, 50432),
    "opt": ("opt", 6, 256, 8, 128, 256),
    "opt-125m": ("opt", 12, 768, 12, 2048, 50272),
    "opt-1.3b": ("opt", 24, 2048, 32, 2048, 50272),
    "opt-6.7b": ("opt", 32, 4096, 32, 2048, 50272),
    "opt-13b": ("opt", 40, 5120, 40, 2048, 50272),
    "opt:layers=48,width=7168,heads=56,context=2048,vocabulary=50272": ("opt", 48, 7168, 56, 2048, 50272),
}

# Six heads, of which ALiBi makes slopes as for eight; a context that is longer than what is learned.
TRAINED = {
    "mpt": dict(layers=2, width=48, heads=6, context=24, vocabulary=256),
    "opt": dict(layers=2, width=32, heads=4, context=16, vocabulary=256, hidden=44),
}


def config_of(family, k):
    """A configuration and its class."""
    if family == "mpt":
        return MptConfig(n_layers=k["layers"], d_model=k["width"], n_heads=k["heads"], max_seq_len=k["context"],
                         vocab_size=k["vocabulary"], attn_implementation="eager"), MptForCausalLM
    if family == "opt":
        return OPTConfig(num_hidden_layers=k["layers"], hidden_size=k["width"], num_attention_heads=k["heads"],
                         max_position_embeddings=k["context"], vocab_size=k["vocabulary"], dropout=0.0,
                         attention_dropout=0.0, word_embed_proj_dim=k["width"],
                         ffn_dim=k.get("hidden", 4 * k["width"]), attn_implementation="eager"), OPTForCausalLM
    return GPT2Config(n_layer=k["layers"], n_embd=k["width"], n_head=k["heads"], n_positions=k["context"],
                      vocab_size=k["vocabulary"], n_inner=k.get("hidden")), GPT2LMHeadModel


def tensors_of(family, k):
    """The product's tensors in its order: names in transformers' model and rows of each, columns, init."""
    width, hidden = k["width"], k.get("hidden", 4 * k["width"])
    opt = family == "opt"
    root = "model.decoder." if opt else "transformer."
    tokens, last, norm_1, projection, norm_2, up, down, block = (
        ("embed_tokens", "final_layer_norm", "self_attn_layer_norm", "self_attn.out_proj", "final_layer_norm", "fc1",
         "fc2", "layers") if opt else
        ("wte", "norm_f", "norm_1", "attn.out_proj", "norm_2", "ffn.up_proj", "ffn.down_proj", "blocks"))

    def norm(name):
        yield [f"{name}.weight"], [width], None, "ones"
        if opt:
            yield [f"{name}.bias"], [width], None, "zeros"

    def linear(parts, columns):
        yield [f"{name}.weight" for name, _ in parts], [n for _, n in parts], columns, "normal"
        if opt:
            yield [f"{name}.bias" for name, _ in parts], [n for _, n in parts], None, "zeros"

    yield [f"{root}{tokens}.weight"], [k["vocabulary"]], width, "normal"
    if opt:
        yield [f"{root}embed_positions.weight"], [k["context"] + 2], width, "normal"
    for i in range(k["layers"]):
        at = f"{root}{block}.{i}."
        yield from norm(at + norm_1)
        yield from linear([(f"{at}self_attn.{x}_proj", width) for x in "qkv"] if opt else
                          [(f"{at}attn.Wqkv", 3 * width)], width)
        yield from linear([(at + projection, width)], width)
        yield from norm(at + norm_2)
        yield from linear([(at + up, hidden)], width)
        yield from linear([(at + down, width)], hidden)
    yield from norm(root + last)
