#!/usr/bin/env python3
"""Makes files of token ids from texts, as llm.c or nanoGPT write them, for `shardlab train --data DIR`.

    tools/tokenize.py FILE... --tokenizer gpt2 --output DIR            needs tiktoken or transformers
    tools/tokenize.py FILE... --tokenizer FOLDER --output DIR          a folder with tokenizer.json; needs tokenizers
    tools/tokenize.py FILE... --tokenizer bytes --output DIR           each byte an id; needs nothing

FILE is a text in UTF-8 (.gz too), or .jsonl with a "text" in each line. A file is a document, and so is each line of
.jsonl; <|endoftext|> in a file separates more. Each document ends with the tokenizer's end-of-text: with bytes that is a 0,
of a folder the token that ends a text for `shardlab generate`, the first one if they are several. Ids are uint16 if the
vocabulary allows it, else uint32. The last of them are kept to validate with.

Tokenizers of transformers are saved beside the ids, so that `train --data DIR --save FOLDER` takes them along. Of one that
`shardlab generate` does not read, a line says so.

    --format llm.c     DIR/NAME_train_000001.bin ..., DIR/NAME_val_000000.bin, with a header; NAME is that of DIR
    --format nanogpt   DIR/train.bin, DIR/val.bin, without one

Exit status: 0 done; 2 with one line that says what is wrong.
"""
import os
import sys

# A module of Python's own has this file's name, and others import it.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

import argparse  # noqa: E402
import array  # noqa: E402
import gzip  # noqa: E402
import json  # noqa: E402
import shlex  # noqa: E402
import shutil  # noqa: E402
import struct  # noqa: E402

END_OF_TEXT = "<|endoftext|>"
# A folder's files that say what ends a text, the first one first; else the special tokens that commonly do. shardlab
# generate goes by the same (real/generate/codec.c).
END_FILES = (("generation_config.json", "eos_token_id"), ("config.json", "eos_token_id"),
             ("tokenizer_config.json", "eos_token"))
ENDS = "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|im_end|>", "</s>", "<eos>", "<|eos|>"
# llm.c: dev/data/data_common.py. By the type of the ids: magic number, version.
HEADERS = {"H": (20240520, 1), "I": (20240801, 7)}


# The steps of a tokenizer.json that `shardlab generate` carries out (real/tokenizer), and where a Sequence has its own.
READ = {
    "normalizer": ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Prepend", "Replace", "Sequence"),
    "pre_tokenizer": ("ByteLevel", "Split", "Digits", "Metaspace", "Whitespace", "WhitespaceSplit", "Sequence"),
    "model": ("BPE", "WordLevel"),
    "post_processor": ("ByteLevel", "TemplateProcessing", "Sequence"),
    "decoder": ("ByteLevel", "Replace", "ByteFallback", "Fuse", "Strip", "Metaspace", "Sequence"),
}
SEQUENCES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors",
             "decoder": "decoders"}


class Refused(Exception):
    pass


# ---- tokenizers: encode (a text's ids), end (the id of end-of-text), vocabulary, save ----


def unread(part, step):
    """The first step of a part that `shardlab generate` does not carry out, in words; None: there is none."""
    if not step:
        return None
    kind = step.get("type", "BPE" if part == "model" else "")
    if kind not in READ[part]:
        return f"{part} {kind}"
    steps = step.get(SEQUENCES.get(part), []) if kind == "Sequence" else []
    return next(filter(None, (unread(part, one) for one in steps)), None)


def tell_unread(path):
    try:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        what = next(filter(None, (unread(part, whole.get(part)) for part in READ)), None)
    except FileNotFoundError:
        what = "without a tokenizer.json"
    if what:
        print(f"shardlab generate does not read this tokenizer ({what}): a model trained on these ids writes text with "
              "transformers alone; docs/data.md lists what is read")


class Bytes:
    end, vocabulary = 0, 256

    def save(self, folder):
        pass

    def encode(self, text):
        return text.encode()


class Tiktoken:
    def __init__(self, encoding):
        self.encoding = encoding
        self.end, self.vocabulary = encoding.eot_token, encoding.n_vocab

    def save(self, folder):
        pass

    def encode(self, text):
        return self.encoding.encode_ordinary(text)


class Transformers:
    def __init__(self, tokenizer, name):
        self.tokenizer, self.vocabulary = tokenizer, len(tokenizer)
        self.end = tokenizer.eos_token_id
        if self.end is None:
            self.end = tokenizer.bos_token_id
        if self.end is None:
            raise Refused(f"{name}: this tokenizer has no token that ends a text")

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False, verbose=False)

    def save(self, folder):
        self.tokenizer.save_pretrained(folder)
        tokens = {"bos_token_id": self.tokenizer.bos_token_id, "eos_token_id": self.end,
                  "pad_token_id": self.tokenizer.pad_token_id}
        with open(os.path.join(folder, "generation_config.json"), "w", encoding="utf-8") as file:
            json.dump(tokens, file)
        tell_unread(os.path.join(folder, "tokenizer.json"))


class Tokenizers:
    def __init__(self, tokenizer, folder):
        tokenizer.no_truncation()
        self.tokenizer, self.folder, ids = tokenizer, folder, tokenizer.get_vocab(with_added_tokens=True)
        self.vocabulary, self.end = max(ids.values()) + 1, end_of(folder, ids)

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def save(self, folder):
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            if os.path.exists(os.path.join(self.folder, name)):
                shutil.copyfile(os.path.join(self.folder, name), os.path.join(folder, name))
        config = os.path.join(folder, "tokenizer_config.json")
        if not os.path.exists(config):
            with open(config, "w", encoding="utf-8") as file:
                json.dump({"tokenizer_class": "PreTrainedTokenizerFast",
                           "eos_token": self.tokenizer.id_to_token(self.end)}, file)
        with open(os.path.join(folder, "generation_config.json"), "w", encoding="utf-8") as file:
            json.dump({"eos_token_id": self.end}, file)
        tell_unread(os.path.join(folder, "tokenizer.json"))


def read_object(path):
    """{}: there is no such file."""
    if not os.path.exists(path):
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except ValueError as error:
        raise Refused(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(f"{path}: not a JSON object")
    return found


def end_of(folder, ids):
    """The id of the token that ends a text."""
    for name, key in END_FILES:
        path = os.path.join(folder, name)
        end = read_object(path).get(key)
        if isinstance(end, list):
            end = end[0] if end else None
        if isinstance(end, dict):
            end = end.get("content")
        if end is None:
            continue
        found = ids.get(end) if isinstance(end, str) and key == "eos_token" else end
        if type(found) is not int or found not in ids.values():
            raise Refused(f"{path}: {key}: {end!r} is no token of the tokenizer")
        return found
    added = read_object(os.path.join(folder, "tokenizer.json")).get("added_tokens") or []
    special = {t["content"]: t["id"] for t in added if t.get("special")}
    for text in ENDS:
        if text in special:
            return special[text]
    raise Refused(f"{folder}: this tokenizer has no token that ends a text; "
                  "write it in tokenizer_config.json, as {\"eos_token\": \"</s>\"}")


def with_tiktoken(name):
    """None: it is not installed, or does not know the name."""
    try:
        import tiktoken
    except ImportError:
        return None
    if name not in tiktoken.list_encoding_names():
        return None
    return Tiktoken(tiktoken.get_encoding(name))


def with_transformers(name):
    """None: it is not installed."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        from transformers import AutoTokenizer
    except ImportError:
        return None
    return Transformers(AutoTokenizer.from_pretrained(name), name)


def with_tokenizers(folder):
    """None: it is not installed."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    return Tokenizers(Tokenizer.from_file(os.path.join(folder, "tokenizer.json")), folder)


def open_folder(folder):
    """Without tokenizer.json it is one of the older ones, which transformers knows."""
    fast = os.path.isfile(os.path.join(folder, "tokenizer.json"))
    return with_tokenizers(folder) if fast else with_transformers(folder), "tokenizers" if fast else "transformers"


def open_name(name):
    # No hub has a name that begins so, and to ask it takes a minute where there is no network.
    if name.startswith((".", "/", "~")) and not os.path.exists(name):
        raise Refused(f"--tokenizer {name}: there is no such folder")
    return with_tiktoken(name) or with_transformers(name), "tiktoken or transformers"


def open_tokenizer(name):
    if name == "bytes":
        return Bytes()
    try:
        found, what = open_folder(name) if os.path.isdir(name) else open_name(name)
    except Refused:
        raise
    except Exception as error:  # not found, no network, a broken file: whatever the library raises
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Refused(f"--tokenizer {name}: cannot be opened: {lines[0][:300]}") from error
    if not found:
        missing = "" if os.path.exists(name) else "there is no such folder, and a name "
        raise Refused(f"--tokenizer {name}: {missing}needs {what}, which is not installed; pip install {what.split()[0]}, "
                      "or use --tokenizer bytes")
    return found


# ---- documents ----


def open_text(path):
    return gzip.open(path, "rt", encoding="utf-8", newline="") if path.endswith(".gz") \
        else open(path, encoding="utf-8", newline="")


def documents_of(path):
    with open_text(path) as file:
        if not path.removesuffix(".gz").endswith(".jsonl"):
            yield from file.read().split(END_OF_TEXT)
            return
        for number, line in enumerate(file, 1):
            try:
                yield json.loads(line)["text"]
            except (ValueError, KeyError, TypeError) as error:
                raise Refused(f"{path}:{number}: not a JSON object with a \"text\"") from error


def encode_all(paths, tokenizer):
    """Ids of all documents, in one array."""
    ids = array.array("H" if tokenizer.vocabulary <= 1 << 16 else "I")
    count = 0
    for path in paths:
        try:
            for document in documents_of(path):
                if document:
                    count += 1
                    ids.extend(tokenizer.encode(document))
                    ids.append(tokenizer.end)
        except UnicodeDecodeError as error:
            raise Refused(f"{path}: byte {error.start} is not UTF-8") from error
        except (OSError, EOFError) as error:
            raise Refused(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return ids, count


# ---- files ----


def write_ids(path, ids, with_header):
    data = ids
    if sys.byteorder == "big":
        data = array.array(ids.typecode, ids)
        data.byteswap()
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            if with_header:
                magic, version = HEADERS[ids.typecode]
                file.write(struct.pack("<256i", magic, version, len(ids), *[0] * 253))
            data.tofile(file)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    print(f"{path}: {len(ids):,} ids, {'uint16' if ids.typecode == 'H' else 'uint32'}")


def write_all(options, ids):
    kept = int(len(ids) * options.validation)
    training, validation = ids[: len(ids) - kept], ids[len(ids) - kept:]
    folder, llm_c = options.output, options.format == "llm.c"
    name = os.path.basename(os.path.abspath(folder))
    if not llm_c:
        write_ids(os.path.join(folder, "train.bin"), training, False)
    for i, first in enumerate(range(0, len(training), options.shard) if llm_c else (), 1):
        path = os.path.join(folder, f"{name}_train_{i:06d}.bin")
        write_ids(path, training[first: first + options.shard], True)
    if kept:
        path = f"{name}_val_{0:06d}.bin" if llm_c else "val.bin"
        write_ids(os.path.join(folder, path), validation, llm_c)


def make_folder(folder):
    """Files of an earlier run would be trained on too."""
    try:
        os.makedirs(folder, exist_ok=True)
        old = sorted(f for f in os.listdir(folder) if f.endswith((".bin", ".npy")))
    except OSError as error:
        raise Refused(f"--output {folder}: {error.strerror}") from error
    if old:
        raise Refused(f"--output {folder}: {old[0]} is there already; name a new folder, or remove it")


# ---- the command ----


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(f"{message}; see --help")


def share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise ValueError
    return value


def whole(text):
    value = int(text)
    if not 0 < value < 1 << 31:
        raise ValueError
    return value


def parse(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--tokenizer", required=True, metavar="bytes|gpt2|NAME|FOLDER")
    parser.add_argument("--output", required=True, metavar="DIR", help="made if it is not there")
    parser.add_argument("--format", choices=["llm.c", "nanogpt"], default="llm.c")
    parser.add_argument("--validation", type=share, default=0.1, metavar="R", help="the share that is kept (0.1)")
    parser.add_argument("--shard", type=whole, default=100_000_000, metavar="N",
                        help="llm.c: ids in a file at the most (100,000,000)")
    options = parser.parse_args(arguments)
    if os.path.basename(options.tokenizer) == "tokenizer.json" and os.path.isfile(options.tokenizer):
        options.tokenizer = os.path.dirname(options.tokenizer) or "."
    return options


def run(arguments):
    options = parse(arguments)
    for path in options.files:
        if not os.path.isfile(path):
            raise Refused(f"{path}: no such file")
    tokenizer = open_tokenizer(options.tokenizer)
    ids, documents = encode_all(options.files, tokenizer)
    if not documents:
        raise Refused(f"{options.files[0]}: holds no text")
    make_folder(options.output)
    write_all(options, ids)
    tokenizer.save(options.output)
    model = f"gpt:vocabulary={tokenizer.vocabulary}"
    if os.path.isfile(os.path.join(options.tokenizer, "config.json")):
        model = os.path.join(".", options.tokenizer)
    print(f"{documents:,} document{'' if documents == 1 else 's'}, vocabulary {tokenizer.vocabulary:,}: "
          f"shardlab train --model {shlex.quote(model)} --data {shlex.quote(options.output)}")


def main():
    try:
        run(sys.argv[1:])
    except Refused as refused:
        print(f"tokenize.py: {refused}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"tokenize.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
