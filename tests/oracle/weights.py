"""Folders of weights that Hugging Face's transformers wrote, and folders that it has read, for
tests/real/test_golden_weights.c and tests/cli/cli_weights.sh.

    pip install -r tests/oracle/requirements.txt
    make && python tests/oracle/weights.py            (from the top folder; a minute; writes tests/golden/weights)

read        a small GPT-2, Llama with grouped queries, Qwen2, Qwen3, MPT and OPT, each in the folder that save_pretrained
            makes, in several types and numbers of shards. golden.json has for each the keys of `--model`, the token ids of a
            sample, and the losses of 20 steps from these weights, with AdamW as in golden_training.py; the samples are
            the product's (counter_random.py). logits.safetensors has the logits of its last tokens.
written     what `shardlab train --init FOLDER --save SAVED` makes of each with learning rate 0 is loaded by
            AutoModelForCausalLM, with no tensor missing and none left over, and has the same logits. Of models with
            other keys, what transformers computes of config.json is written down as well, for the product to compute
            too; or, where no folder has their weights, compared with what it computes of the same keys. saved.sha256
            has the checksums of the files that were loaded.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import (AutoConfig, AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, MptConfig, MptForCausalLM,
                          OPTConfig, OPTForCausalLM)

import counter_random as cr
import llama

STEPS, SEED, BATCH, RATE, TOKENS = 20, 1, 4, 1e-3, 16
SHOWN = 4  # tokens whose logits are written down, the last of the sample
ADAMW = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
GOLDEN, TEXT = pathlib.Path("tests/golden/weights"), "tests/golden/text.txt"
DEVIATION = 0.25  # of the weights: larger than at the start of a training, so that logits are far apart

SMALL = dict(layers=2, width=16, heads=4, kv_heads=2, head_size=4, hidden=24, context=TOKENS, vocabulary=256)
# name: keys of --model, type and size of the shards
READ = {
    "gpt2": ("gpt", dict(layers=2, width=16, heads=2, context=TOKENS, vocabulary=256), torch.float32, "20KB"),
    "llama": ("llama", {**SMALL, "tied": "no", "bias": "none", "qk_norm": "no", "theta": 1e4, "epsilon": 1e-5},
              torch.float32, "5GB"),
    "qwen2": ("llama", {**SMALL, "tied": "yes", "bias": "qkv", "qk_norm": "no", "theta": 1e6, "epsilon": 1e-6},
              torch.bfloat16, "4KB"),
    "qwen3": ("llama", {**SMALL, "head_size": 6, "tied": "no", "bias": "none", "qk_norm": "yes", "theta": 1e6,
                        "epsilon": 1e-6}, torch.float16, "12KB"),
    "mpt": ("mpt", dict(layers=2, width=16, heads=4, context=TOKENS, vocabulary=256), torch.bfloat16, "5GB"),
    "opt": ("opt", dict(layers=2, width=16, heads=4, hidden=24, context=TOKENS, vocabulary=256), torch.float16, "5GB"),
}
# Further keys, each with the folder whose weights it has, or None: config.json alone decides what transformers computes.
WRITTEN = {
    "linear": ("llama", "llama", {"scaling": "linear", "factor": 4.0}),
    "dynamic": ("llama", "llama", {"scaling": "dynamic", "factor": 2.0, "original": 8}),
    "llama3": ("llama", "llama", {"scaling": "llama3", "factor": 8.0, "original": 8, "low": 1.0, "high": 4.0}),
    "yarn": ("llama", "llama", {"scaling": "yarn", "factor": 4.0, "original": 8, "low": 2.0, "high": 16.0}),
    "window": ("llama", "llama", {"window": 5}),
    "qwen-window": ("qwen2", "llama", {"window": 5}),
    "epsilon": ("llama", "llama", {"epsilon": 0.125, "theta": 50.0}),
    "qwen-epsilon": ("qwen3", "llama", {"epsilon": 0.125, "theta": 50.0}),
    "biases": (None, "llama", {"bias": "all", "tied": "yes"}),
    "attention-biases": (None, "llama", {"bias": "attention"}),
    "qwen-biases": (None, "llama", {"bias": "attention", "qk_norm": "yes"}),
    "hidden": (None, "gpt", {"hidden": 24}),
}


def rope_of(keys):
    ramp = ("beta_slow", "beta_fast") if keys["scaling"] == "yarn" else ("low_freq_factor", "high_freq_factor")
    rope = {"rope_type": keys["scaling"], "rope_theta": keys["theta"], "factor": keys["factor"]}
    if "original" in keys:
        rope["original_max_position_embeddings"] = keys["original"]
    return rope | ({ramp[0]: keys["low"], ramp[1]: keys["high"]} if "low" in keys else {})


def llama_of(keys):
    config, kind = llama.config_of({key: value for key, value in keys.items() if key != "scaling"})
    if keys["bias"] != "qkv":
        config.attention_bias = keys["bias"] != "none"
    if "scaling" in keys:
        config.rope_parameters = rope_of(keys)
    return config, kind


def gpt2_of(keys):
    return GPT2Config(vocab_size=keys["vocabulary"], n_positions=keys["context"], n_embd=keys["width"],
                      n_layer=keys["layers"], n_head=keys["heads"], n_inner=keys.get("hidden"), resid_pdrop=0,
                      embd_pdrop=0, attn_pdrop=0, bos_token_id=None, eos_token_id=None), GPT2LMHeadModel


def mpt_of(keys):
    return MptConfig(vocab_size=keys["vocabulary"], max_seq_len=keys["context"], d_model=keys["width"],
                     n_layers=keys["layers"], n_heads=keys["heads"]), MptForCausalLM


def opt_of(keys):
    return OPTConfig(vocab_size=keys["vocabulary"], max_position_embeddings=keys["context"], hidden_size=keys["width"],
                     word_embed_proj_dim=keys["width"], num_hidden_layers=keys["layers"],
                     num_attention_heads=keys["heads"], ffn_dim=keys["hidden"], dropout=0, attention_dropout=0,
                     bos_token_id=None, eos_token_id=None, pad_token_id=None), OPTForCausalLM


def config_of(family, keys):
    config, kind = {"llama": llama_of, "gpt": gpt2_of, "mpt": mpt_of, "opt": opt_of}[family](keys)
    config._attn_implementation = "eager"
    return config, kind


def random_model(name, family, keys):
    config, kind = config_of(family, keys)
    torch.manual_seed(sum(name.encode()))
    model = kind(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * DEVIATION)
    return model


def load(folder):
    """The model of a folder in fp32, which must have each of its tensors, and no others."""
    model, report = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                                         output_loading_info=True)
    assert not any(report[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), report
    return model.eval()


def logits_of(model, inputs):
    with torch.no_grad():
        return model(input_ids=inputs).logits[0].float()


def losses_of(folder, data):
    return llama.losses_of_model(load(folder).train(), data, RATE)


def make_folder(name, family, keys, dtype, shard):
    folder = GOLDEN / name
    shutil.rmtree(folder, ignore_errors=True)
    random_model(name, family, keys).to(dtype).save_pretrained(folder, max_shard_size=shard)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for path in folder.iterdir():
        path.chmod(0o644)
    return folder


def save(specification, out, *more):
    """With learning rate 0, so that what is saved is what was read, or what the run began with."""
    subprocess.run(["build/shardlab", "train", "--model", specification, "--data", TEXT, "--steps", "1", "--batch", "2",
                    "--learning-rate", "0", "--weight-decay", "0", "--evaluate", "no", "--save", out, *more],
                   check=True, stdout=subprocess.DEVNULL)


def sums_of(folder, name, pattern):
    return [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}/{path.name}" for path in sorted(folder.glob(pattern))]


def differ(a, b):
    return (a - b).abs().max().item()


def check_written(name, specification, inputs, logits, scratch):
    out = pathlib.Path(scratch) / name
    save(specification, out, "--init", GOLDEN / name, "--save-shard", "20kB")
    apart = differ(logits_of(load(out), inputs), logits)
    print(f"{name}: saved, loaded, logits {apart:.1e} apart")
    assert apart == 0
    return sums_of(out, name, "*")


def weights_of(folder):
    """The file to name where the folder's config.json is of another model."""
    one = folder / "model.safetensors"
    return one if one.exists() else folder / "model.safetensors.index.json"


def check_config(name, family, keys, inputs, scratch):
    """The model that transformers makes of our config.json computes as the one that it makes of the same keys."""
    out = pathlib.Path(scratch) / name
    save(llama.specification_of(keys, family), out)
    config, kind = config_of(family, keys)
    model = kind(config).eval()
    inner, tensors = (model if family == "llama" else model.transformer), load_file(out / "model.safetensors")
    missing, unexpected = inner.load_state_dict(tensors, strict=False)
    assert not unexpected and all(key == "lm_head.weight" for key in missing), (missing, unexpected)
    model.tie_weights()
    apart = differ(logits_of(load(out), inputs), logits_of(model, inputs))
    print(f"{name}: {AutoConfig.from_pretrained(out).model_type}, logits {apart:.1e} apart")
    assert apart == 0
    return out


def read_rows(data, inputs, logits, sums, scratch):
    for name, (family, keys, dtype, shard) in READ.items():
        folder = make_folder(name, family, keys, dtype, shard)
        specification, losses = llama.specification_of(keys, family), losses_of(folder, data)
        logits[name] = logits_of(load(folder), inputs)
        print(f"{name}: loss {losses[0]:.6f} .. {losses[-1]:.6f}, logits up to {logits[name].abs().max():.2f}")
        sums += check_written(name, specification, inputs, logits[name], scratch)
        yield {"name": name, "init": name, "specification": specification, "batch": BATCH, "rate": RATE,
               "tokens": inputs[0].tolist(), "losses": losses}


def written_rows(inputs, logits, sums, scratch):
    for name, (folder, family, more) in WRITTEN.items():
        keys = {**READ[folder or ("gpt2" if family == "gpt" else "llama")][1], **more}
        specification, out = llama.specification_of(keys, family), pathlib.Path(scratch) / name
        if folder:
            weights = weights_of(GOLDEN / folder)
            save(specification, out, "--init", weights)
            logits[name] = logits_of(load(out), inputs)
            apart = differ(logits[name], logits[folder])
            print(f"{name}: logits of these keys are up to {apart:.2f} from those of {folder}")
            assert apart > 0.01
            yield {"name": name, "init": str(weights.relative_to(GOLDEN)), "specification": specification,
                   "tokens": inputs[0].tolist()}
        else:
            check_config(name, family, keys, inputs, scratch)
            yield {"name": name, "init": None, "specification": specification}
        sums += sums_of(out, name, "config.json")


def main():
    data, logits, sums = cr.Text(TEXT, TOKENS), {}, []
    inputs = torch.from_numpy(data.batch(SEED, 0, 1)[0])
    with tempfile.TemporaryDirectory() as scratch:
        rows = [*read_rows(data, inputs, logits, sums, scratch), *written_rows(inputs, logits, sums, scratch)]
    save_file({name: x[-SHOWN:].clone() for name, x in logits.items()}, GOLDEN / "logits.safetensors", {"format": "pt"})
    (GOLDEN / "golden.json").write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    (GOLDEN / "saved.sha256").write_text("\n".join(sums) + "\n")


if __name__ == "__main__":
    main()
