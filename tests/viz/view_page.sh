#!/bin/bash
# The HTML page without a browser: it is small, its data are JSON, no name breaks out of the script, and scenes draw only
# through the canvas, so that nothing is missing from it.
set -euo pipefail

tmp=${TMPDIR:-/tmp}
errors=0
fail() {
	echo "$*"
	errors=1
}

if grep -nE 'cairo_(fill|stroke|paint|mask|show_text|fill_preserve|stroke_preserve)\b' viz/scene/*.c | grep -v '^viz/scene/chart'; then
	fail 'these draw behind the back of the canvas: draw_fill_path(), draw_stroke_path() and draw_text() are recorded'
fi

"$SHARDLAB" view --model gpt2-124m --strategy zero3 --ranks 4 --export "$tmp/page.html"
bytes=$(wc -c <"$tmp/page.html")
[ "$bytes" -le 3000000 ] || fail "gpt2-124m, zero3, 4 ranks: $bytes bytes"

# A name that would end the script, if it could.
printf '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"</script><script>hurt=1</script>"}},
{"ph":"X","name":"\\"];hurt=1;[\\"","pid":1,"tid":1,"ts":5,"dur":100}]' >"$tmp/hurt<script>.json"
"$SHARDLAB" view --trace "$tmp/hurt<script>.json" --export "$tmp/hurt.html"

for page in page hurt; do
	python3 - "$tmp/$page.html" <<'PYTHON' || fail "$page.html: its data cannot be read"
import json, re, sys

page = open(sys.argv[1], encoding="utf-8").read()
assert page.count("<script") == 2 and page.count("</script") == 2, "another script"
data = json.loads(re.search(r'id="data">\n(.*?)</script>', page, re.S).group(1))
commands, texts = 0, 0
pictures = []
for run in data["runs"]:
    for step in run["steps"]:
        new = step.pop()
        assert len(step) == 2 + 2 * len(data["tabs"]) + data["figures"], "lists are missing"
        pictures.append((new, step[2:]))
    assert bool(run["questions"]) == data["figures"], "a plan has questions"
    for q in run["questions"]:
        assert 0 <= q["step"] <= q["shown"] < len(run["steps"]) and q["reason"] and q["answer"], q
        assert q["choices"][q["right"]] == q["answer"] if "choices" in q else q["unit"] and q["number"], q
        pictures.append((q["texts"], q["pictures"]))
for new, lists in pictures:
    texts += len(new)
    for entries in lists:
        for e in entries:
            if isinstance(e, list) and len(e) > 2:
                commands += 1
                assert e[0] not in (3, 5) or e[2 if e[0] == 3 else 1] < texts, e
                assert e[0] > 3 or -1 <= e[1] < len(data["colours"]), e
            elif not isinstance(e, list):
                assert e < commands, "a command before it came"
assert commands
PYTHON
done
exit $errors
