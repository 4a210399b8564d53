"""Stands in for tokenizers in tests/cli/cli_tokenize.sh: each character is its token, without merges."""
import json
import types


class Tokenizer:
    @staticmethod
    def from_file(path):
        t = Tokenizer()
        with open(path, encoding="utf-8") as file:
            read = json.load(file)
        t.ids = {**read["model"]["vocab"], **{a["content"]: a["id"] for a in read["added_tokens"]}}
        t.truncates = True
        return t

    def no_truncation(self):
        self.truncates = False

    def get_vocab(self, with_added_tokens):
        assert with_added_tokens
        return self.ids

    def encode(self, text, add_special_tokens):
        assert not add_special_tokens and not self.truncates
        return types.SimpleNamespace(ids=[self.ids.get(c, 0) for c in text])

    def id_to_token(self, number):
        return next(token for token, i in self.ids.items() if i == number)
