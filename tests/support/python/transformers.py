"""Stands in for transformers in tests/cli/cli_tokenize.sh: each character is an id. A name that begins with bos has a
token to begin with alone, one that begins with none has no such token. What is saved is a
tokenizer of another kind than `shardlab generate` reads."""
import json
import os


class Tokenizer:
    def __init__(self, name):
        last = name.rsplit("/", 1)[-1]
        self.eos_token_id = None if last.startswith(("bos", "none")) else 70000
        self.bos_token_id = None if last.startswith("none") else 1
        self.pad_token_id = None

    def save_pretrained(self, folder):
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump({"model": {"type": "Unigram"}}, file)

    def __len__(self):
        return 70001

    def encode(self, text, add_special_tokens, verbose):
        assert not add_special_tokens and not verbose
        return [ord(c) for c in text]


class AutoTokenizer:
    @staticmethod
    def from_pretrained(name):
        if name.startswith("no-such"):
            raise OSError(f"{name} is not a local folder\nand more lines")
        return Tokenizer(name)
