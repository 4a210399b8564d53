#!/bin/bash
# shardlab view in Chinese: by an option or the user's language, as text, as pictures and as a page; and without a font that
# has the characters.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

tmp=${TMPDIR:-/tmp}
unset LANGUAGE LC_ALL LC_MESSAGES LANG
view() { "$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 "$@"; }

# ---- who chooses the language ----

view --describe >"$tmp/en.txt"
view --describe --language zh >"$tmp/zh.txt"
grep -q '^caption  ddp：每个 rank 保存全部' "$tmp/zh.txt" || complain "no Chinese caption: $(sed -n '/^caption/{p;q}' "$tmp/zh.txt")"
grep -q '^caption  ddp: everyone keeps everything' "$tmp/en.txt" || complain 'no English caption'
LANG=zh_CN.UTF-8 view --describe | cmp -s - "$tmp/zh.txt" || complain "LANG does not choose Chinese"
LANG=zh_CN.UTF-8 view --describe --language en | cmp -s - "$tmp/en.txt" || complain "--language does not outdo LANG"
LANG=zh_CN.UTF-8 LANGUAGE=en view --describe | cmp -s - "$tmp/en.txt" || complain "LANGUAGE does not outdo LANG"
view --ask --describe --language zh >"$tmp/asked.txt"
grep -q '^第 1 题，共 ' "$tmp/asked.txt" || complain 'questions are not Chinese'
[ "$(grep -c . "$tmp/en.txt")" = "$(grep -c . "$tmp/zh.txt")" ] || complain 'Chinese has other lines than English'

# ---- what was English ----

# chinese TEXT ARGUMENT...: the text stands in what view says, and no English word but names.
chinese() {
	wanted=$1 && shift
	"$SHARDLAB" view --language zh "$@" >"$tmp/said" 2>&1 || true
	grep -q -- "$wanted" "$tmp/said" || complain "view $*: no '$wanted'"
	! grep -v '^what if\|^ *[0-9]* ' "$tmp/said" | grep 'the \| of \|refused\|yours\|[Rr]anks\| in [0-9]\|libraries\|peak' || complain "view $*: English words"
}
chinese '缓冲区的全归约，第 1 轮' --collective ring-all-reduce --ranks 4 --at 2 --describe
chinese '^第 1 名 .*，8 轮；用时 ' --race all-reduce --ranks 5 --describe
chinese 'star（2 个 rank）；tree（' --race broadcast --ranks 5 --over ranks --describe
chinese '根）占用' --strategy dp --model mlp --ranks 4 --describe
chinese '^figure   显存含运行库：' --strategy zero2 --model mlp --ranks 2 --what-if ranks=4 --describe
chinese '^显存峰值：你的 ' --strategy zero2 --model mlp --ranks 2 --build --moves … --describe
chinese '被拒绝。规则 3：前向 layer.0 需要样本，' --strategy zero2 --model mlp --ranks 2 --build --moves 'forward layer.0' --describe
chinese '激活重计算 full · 梯度裁剪 1 ·' --strategy zero3 --model mlp --ranks 2 --clip 1 --activation-checkpointing full --describe
chinese '^lane     .*个区段，忙 ' --trace tests/golden/torch_profiler.json --describe
chinese '峰值时还差 .*；训练步开始之前，一个 rank 就已占用 ' --strategy ddp --model llama-3-8b --ranks 8 --cluster v100-16gb --describe

for ranks in 3 100; do
	"$SHARDLAB" collective ring-all-reduce --ranks $ranks --language zh >"$tmp/said"
	LANG=zh_CN.UTF-8 "$SHARDLAB" collective ring-all-reduce --ranks $ranks | cmp -s - "$tmp/said" || complain 'collective: not by LANG'
	! grep 'the \|round\|chunk\|added\|copied\|message\|done' "$tmp/said" || complain 'collective: English words'
done
"$SHARDLAB" collective ring-all-reduce --ranks 3 --language zh >"$tmp/said"
grep -qx '第 1 轮，共 4 轮，完成于 .*' "$tmp/said" || complain 'collective: no Chinese round'
grep -q '^  rank 0 → rank 1  块 [0-2]，.*，相加：.* + .* = ' "$tmp/said" || complain 'collective: no Chinese message'

# ---- without its characters: English, and a line that says which package has them ----

printf '<?xml version="1.0"?><fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>%s</cachedir></fontconfig>' \
	"$tmp/fontcache" >"$tmp/latin.conf"
FONTCONFIG_FILE=$tmp/latin.conf view --language zh --export "$tmp/none.svg" 2>"$tmp/said" || complain 'no picture without Chinese characters'
[ "$(wc -l <"$tmp/said")" = 1 ] && grep -q 'apt-get install fonts-wqy-microhei' "$tmp/said" || complain "it says: $(cat "$tmp/said")"
FONTCONFIG_FILE=$tmp/latin.conf view --export "$tmp/latin.svg" 2>"$tmp/said"
cmp -s "$tmp/none.svg" "$tmp/latin.svg" || complain 'without Chinese characters the picture is not the English one'

# ---- pictures and the page ----

if ! grep -q 'WenQuanYi Micro Hei\|Noto Sans CJK SC' <<<"$(fc-list 2>/dev/null)"; then
	echo 'no font with Chinese characters: pictures are not looked at'
	[ "$errors" = 0 ]
	exit
fi
view --language zh --export "$tmp/zh.svg" 2>"$tmp/said"
[ ! -s "$tmp/said" ] || complain "a picture in Chinese says: $(cat "$tmp/said")"
! cmp -s "$tmp/zh.svg" "$tmp/latin.svg" || complain 'the picture is not Chinese'
view --language zh --export "$tmp/zh.html"
grep -q '<html lang="zh-CN">' "$tmp/zh.html" && grep -q '>问题</button>' "$tmp/zh.html" || complain 'the page is not Chinese'
! grep -q '{{' "$tmp/zh.html" || complain 'the page has a sentence that nobody has put in'
[ "$errors" = 0 ]
