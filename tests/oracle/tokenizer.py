"""Hugging Face's `tokenizers` library, for tests/real/test_tokenizer.c.

    pip install -r tests/oracle/requirements.txt
    python tests/oracle/tokenizer.py                  (from the top folder; seconds; writes tests/golden/tokenizers/)

NAME.json   a small tokenizer of each kind, trained on tests/golden/text.txt and the texts below:
            gpt2        byte-level with GPT-2's pattern, merges as texts, as the older files have them
            llama3      byte-level behind a Split, whole words, a template that puts a token before the text
            qwen2       the same with NFC and Qwen2's pattern
            llama2      ▁ for spaces, characters without a token as bytes
            mistral     the same by way of a Metaspace at the beginning alone
            neox        NFC, and added tokens that are looked for behind it: spaces, words alone, with the spaces beside
            digits      Splits of every behavior, and Digits
            quicktour   Whitespace, an unknown token and no decoder, as in the library's own tour
            lowercase   small letters without accents, behind WhitespaceSplit
            words       a WordLevel: words are tokens
ids.json    texts, and for each tokenizer the ids of each text and what becomes of these as text again
"""

import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = pathlib.Path("tests/golden/tokenizers")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")

TEXTS = [
    "", " ", "  ", "a", "hello world", "Hello, World!", " leading", "trailing ", "two  spaces", "three   spaces",
    "tab\tin", "\t\ttabs", "line\nbreak", "\n", "\n\n\n", "\r\n", "a\r\n b\r\n", " \n ", "   \n   x", "end of line \n",
    "0", "7 42 365 1234 12345 1234567", "3.14159", "-1e-10", "1,000,000", "v2.0.1-rc3", "٣٤٥ १२३ ①②③ ½ ⅷ",
    "don't can't I'll we've they're I'm he'd it's", "DON'T CAN'T I'LL WE'VE THEY'RE I'M HE'D IT'S", "'s 't x's'", "'ſ",
    "o'clock 'quoted' \"double\"", "The quick brown fox jumps over the lazy dog.", "snake_case camelCase kebab-case",
    "int main(void) { return 0; }", "for (i = 0; i < n; i++)\n\tsum += x[i] * w[i];", "https://example.org/a?b=c&d=%20#e",
    "user@example.org", "!!!???...", "(((nested)))[[[]]]{{{}}}", "$100 €50 £20 ¥1000", "a+b=c, x≤y, ∑∫√∞",
    "naïve café résumé", "nai\u0308ve cafe\u0301 re\u0301sume\u0301", "e\u0301\u0323", "\u212b \u00c5 A\u030a", "ﬁ ﬂ ſ",
    "Ünïcödé ÀÉÎÕÜ ßẞ", "Привет, мир", "Ελληνικά", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก",
    "你好，世界！", "こんにちは世界", "カタカナ ﾊﾝｶｸ", "안녕하세요 세계", "\u1112\u1161\u11ab\u1100\u1173\u11af", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛",
    "😀😃😄", "👩‍👩‍👧‍👦 👍🏽 🇩🇪🇯🇵", "a😀b 😀 c", "\u00a0nbsp\u00a0", "\u3000ideographic\u3000space", "\u2003em\u2009thin\u200bzero",
    "\u0085next\u2028line\u2029par", "\u180emongolian\u180e x", "\ufeffbom", "\ufffd", "\x01\x02\x1f\x7f", "soft\u00adhyphen",
    "▁metaspace ▁ already", "<0x41> is not a byte", "Ġ and Ċ in text", "<|endoftext|>", "a<|endoftext|>b", "a <|endoftext|> b",
    "<|endoftext|><|endoftext|>", "<|endoftext|", "<s>hello</s>", "<s> <unk> </s>", "<|begin_of_text|>x<|end_of_text|>",
    "<mask> x<mask> <mask>y  <mask>  z", "word inword wordy a word", "<left>  x  <left>", "x<both>  y", "cafe\u0301word",
    "     five spaces", "x                 y", "return    x;\n        y", "A" * 300, "ab" * 200, "the" * 100, " " * 100,
    "\n" * 40, "é" * 100, "漢" * 80, "1" * 100, "=" * 100, "a b c d e f g h i j k l m n o p q r s t u v w x y z",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", "x" + "\u0301" * 20, "ｆｕｌｌｗｉｄｔｈ",
    "\U0010ffff\ue000", "mixed 中文 and English 混合 text", "1st 2nd 3rd 4th", "C++ C# F#", "100%", "~/path/to/file.txt",
]


def corpus():
    return pathlib.Path("tests/golden/text.txt").read_text(errors="ignore").splitlines(keepends=True) + 2 * TEXTS


def byte_level(pre, vocabulary, special):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet,
                                  show_progress=False)
    t.train_from_iterator(corpus(), trainer)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def splits(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def begins_with(t, token):
    return processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token}:1 $B:1",
                                         special_tokens=[(token, t.token_to_id(token))])


def gpt2():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), 500, ["<|endoftext|>"])


def llama3():
    t = byte_level(splits(LLAMA3), 500, ["<|begin_of_text|>", "<|end_of_text|>"])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), begins_with(t, "<|begin_of_text|>")])
    return t


def qwen2():
    t = byte_level(splits(QWEN2), 500, ["<|endoftext|>"])
    t.normalizer = normalizers.NFC()
    return t


def neox():
    t = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), 450, ["<|endoftext|>"])
    t.normalizer = normalizers.NFC()
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(16, 1, -1)])
    t.add_tokens([AddedToken("word", single_word=True, normalized=True), AddedToken("<left>", lstrip=True),
                  AddedToken("<both>", lstrip=True, rstrip=True, normalized=False), AddedToken("caf\u00e9")])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
    return t


def sentencepiece(pre, normalizer):
    """Trained on words behind ▁; the bytes come first, as in Llama 2's."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, limit_alphabet=90,
                                  show_progress=False)
    t.train_from_iterator(corpus(), trainer)
    whole = json.loads(t.to_str())
    whole["added_tokens"] = whole["added_tokens"][:3]  # the bytes are ordinary tokens
    for token in whole["added_tokens"]:
        token["normalized"] = False
    t = Tokenizer.from_str(json.dumps(whole))
    t.pre_tokenizer = pre
    t.normalizer = normalizer
    t.post_processor = begins_with(t, "<s>")
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(content=" ", left=1, right=0)])
    return t


def llama2():
    return sentencepiece(None, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]))


def mistral():
    return sentencepiece(pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None)


def digits():
    pre = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"[\r\n]"), behavior="merged_with_previous"),
        pre_tokenizers.Split(Regex(r"\s?[A-Za-zµÀ-ÖØ-öø-ƺ]+"), behavior="contiguous"),
        pre_tokenizers.Split("-", behavior="merged_with_next"),
        pre_tokenizers.Split(Regex(r"\s+$"), behavior="isolated"),
        pre_tokenizers.Split("#", behavior="removed"),
        pre_tokenizers.Split(Regex(r"[一-龥ࠀ-一가-퟿]+"), behavior="isolated", invert=True),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return byte_level(pre, 450, ["<|endoftext|>"])


def quicktour():
    t = Tokenizer(models.BPE(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=400, special_tokens=["[UNK]", "[CLS]"], limit_alphabet=120,
                                                        show_progress=False))
    return t


def lowercase():
    t = Tokenizer(models.BPE(unk_token="[UNK]"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=400, special_tokens=["[UNK]"], show_progress=False))
    return t


def words():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.normalizer = normalizers.Lowercase()
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator(corpus(), trainers.WordLevelTrainer(vocab_size=200, special_tokens=["[UNK]"], show_progress=False))
    return t


KINDS = {f.__name__: f for f in (gpt2, llama3, qwen2, llama2, mistral, neox, digits, quicktour, lowercase, words)}


def finished(name, t):
    whole = json.loads(t.to_str())
    if name == "gpt2":
        whole["model"]["merges"] = [" ".join(m) for m in whole["model"]["merges"]]
    if name == "llama3":
        whole["model"]["ignore_merges"] = True
    return json.dumps(whole, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    golden = {"texts": TEXTS}
    for name, make in KINDS.items():
        text = finished(name, make())
        (FOLDER / f"{name}.json").write_text(text)
        t = Tokenizer.from_str(text)
        ids = [t.encode(x).ids for x in TEXTS]
        golden[name] = {"ids": ids, "decoded": [t.decode(i, skip_special_tokens=False) for i in ids]}
    lines = [json.dumps(TEXTS)] + [json.dumps(golden[name], separators=(",", ":")) for name in KINDS]
    keys = ["texts", *KINDS]
    body = ",\n".join(f'"{k}": {line}' for k, line in zip(keys, lines))
    (FOLDER / "ids.json").write_text("{" + body + "}\n")


main()
