"""Parameters that transformers counts for each config.json of tests/golden/configs, for tests/strategy/test_config.c.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/configs.py              (from the top folder; a minute; writes tests/golden/configs.csv)

The files are those of published models, less what says nothing about the model (their documentation has the sizes), one
of each type that says nothing but its type, and some that say the same in other words. transformers reads each with
AutoConfig, as it reads a downloaded folder, and its causal language model is made on the meta device, where nothing is
allocated. Of a file with text_config it is the model of the text. Beside the parameters stand what they do not show: the
context; the window that the mask is made with (0: none, or not fewer tokens than the context); what norms add to the
variance; and of rotary embedding the frequency of the middle pair of a head, and what cosines and sines are multiplied
by (0: there is none).
"""

import argparse
import csv
import pathlib
import tempfile

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def window_of(config):
    window = getattr(config, "sliding_window", None)
    types = set(getattr(config, "layer_types", None) or ["sliding_attention"])
    assert len(types) == 1, "layers differ"
    return window if window and types == {"sliding_attention"} and window < config.max_position_embeddings else 0


def rotary_of(config):
    parameters = getattr(config, "rope_parameters", None)
    if not parameters:
        return 0, 0
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if parameters["rope_type"] == "default":
        return parameters["rope_theta"] ** (-2 * (size // 4) / size), 1.0
    frequency, amplitude = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu")
    return frequency[size // 4].item(), amplitude


def epsilon_of(config):
    names = ("rms_norm_eps", "layer_norm_epsilon")
    return next((getattr(config, name) for name in names if hasattr(config, name)), 1e-5)


def row_of(path):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "config.json").write_text(path.read_text())
        config = AutoConfig.from_pretrained(folder).get_text_config()
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    context = getattr(config, "max_seq_len", None) or config.max_position_embeddings
    frequency, amplitude = rotary_of(config)
    return {"file": path.name, "parameters": sum(p.numel() for p in model.parameters()), "context": context,
            "vocabulary": config.vocab_size, "window": window_of(config), "epsilon": epsilon_of(config),
            "frequency": f"{frequency:.7g}", "amplitude": f"{amplitude:.7g}"}


def main():
    top = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes what transformers makes of tests/golden/configs.")
    parser.add_argument("--out", type=pathlib.Path, default=top / "golden/configs.csv", help="file to write")
    arguments = parser.parse_args()
    rows = [row_of(path) for path in sorted((top / "golden/configs").glob("*.json"))]
    with arguments.out.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
