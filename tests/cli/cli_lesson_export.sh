#!/bin/bash
# Lessons as files: their sizes, pages and text; what is refused, and that nothing half-written stays behind. The page in a
# browser is lesson_page.sh's, what stands where on paper test_lesson_paper.c's.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"

page=$TMPDIR/lesson.html slides=$TMPDIR/slides.pdf handout=$TMPDIR/handout.pdf
for file in "$page" "$slides" "$handout"; do
	run "export" lesson 3 --export "$file"
	[ ! -s "$TMPDIR/export.out" ] || complain "--export $file prints something"
done

# One file: no address, no second script of ours that is not inline, the player once, under half a megabyte.
[ "$(wc -c <"$page")" -le 500000 ] || complain "lesson 3 is a page of $(wc -c <"$page") bytes"
[ "$(grep -c 'id="player"' "$page")" = 1 ] || complain 'the player is not there once'
grep -qE '(src|href)="?(https?:|//|[a-z]+/)' "$page" && complain 'the page fetches something'
grep -q 'class="facts">20 minutes · after lesson 2<' "$page" || complain 'the page does not say what the lesson takes'
[ "$(grep -c '<details>' "$page")" = 4 ] || complain 'the answers are not folded away'
# A view that cannot be stepped through is a picture: a race, and a view of a lesson's own program.
[ "$(grep -c '<figure class="view"><img' "$page"),$(grep -c '<figure><img' "$page")" = 1,1 ] ||
	complain 'the race has no figure without steps'
run own lesson 18 --export "$TMPDIR/own.html"
grep -q '<code>build/own/shardlab view ' "$TMPDIR/own.html" || complain 'the program of a view is not named'
grep -q '<figure class="view">' "$TMPDIR/own.html" && complain 'what is not there is stepped through'
run again lesson 3 --export "$TMPDIR/again.html"
cmp -s "$page" "$TMPDIR/again.html" || complain 'the same lesson is another page'
run exercise lesson 1 --export "$TMPDIR/one.html"
grep -q 'shardlab lesson 1 --check largest-batch' "$TMPDIR/one.html" || complain 'an exercise without its check'
run exercise lesson 1 --language zh --export "$TMPDIR/one.html"
grep -q 'shardlab lesson 1 --language zh --check largest-batch' "$TMPDIR/one.html" || complain 'a check in another language'

if command -v pdftotext >/dev/null; then
	count() { pdfinfo "$1" | sed -n 's/^Pages: *//p'; }
	[ "$(pdfinfo "$slides" | sed -n 's/^Page size: *//p')" = '960 x 540 pts' ] || complain 'slides are not 16:9'
	[ "$(pdfinfo "$handout" | sed -n 's/^Page size: *//p')" = '595 x 842 pts (A4)' ] || complain 'a handout is not A4'
	[ "$(count "$slides")" -ge 15 ] && [ "$(count "$slides")" -le 30 ] || complain "$(count "$slides") slides"
	[ "$(count "$handout")" -ge 4 ] && [ "$(count "$handout")" -le 7 ] || complain "a handout of $(count "$handout") pages"
	pdffonts "$slides" | tail -n +3 | grep -v ' yes yes ' && complain 'a font is not in the file'
	done=$(grep -m 1 '^done in ' lessons/03-*.md)
	for file in "$slides" "$handout"; do
		pdftotext -layout "$file" "$TMPDIR/text"
		for words in 'Four ranks have a buffer each' 'rank 3 → rank 0' "$done" '1.5 GB' 'Since\|The rounds: 2 (n − 1) is 14'; do
			grep -q "$words" "$TMPDIR/text" || complain "$file has no '$words'"
		done
	done
	pdftotext -f "$(count "$handout")" "$handout" "$TMPDIR/text"
	grep -qx Answers "$TMPDIR/text" || complain 'the answers are not on the last page'
	pdftotext -l "$(($(count "$handout") - 1))" "$handout" "$TMPDIR/text"
	grep -q 'it never reaches 2 S' "$TMPDIR/text" && complain 'an answer stands below its question'
	# All lessons in one file, with a list of them.
	run all lesson --export "$TMPDIR/slides-all.pdf"
	pdftotext "$TMPDIR/slides-all.pdf" "$TMPDIR/text"
	for file in lessons/[0-9]*.md; do
		title=$(sed -n '1s/^# //p' "$file")
		grep -qF "$title" "$TMPDIR/text" || complain "the slides of all lessons have no $title"
	done
else
	echo 'left out: what is in the PDF files, pdftotext is missing: tools/install-dependencies.sh --ci brings poppler-utils'
fi

# In Chinese, where a font has its characters; elsewhere no boxes in their place.
if [ -n "$(fc-list :lang=zh 2>/dev/null)" ]; then
	run chinese lesson 3 --language zh --export "$TMPDIR/handout.pdf"
	if command -v pdftotext >/dev/null; then
		pdftotext "$TMPDIR/handout.pdf" "$TMPDIR/text"
		grep -q '答案' "$TMPDIR/text" || complain 'the handout in Chinese has no answers'
	fi
else
	refuse '--export: no installed font has all characters' lesson 3 --language zh --export "$TMPDIR/handout-zh.pdf"
fi

refuse "--export: 'lesson.pdf': slides or a handout?" lesson 3 --export "$TMPDIR/lesson.pdf"
refuse "--export: 'lesson.docx': a lesson is written as NAME.html, slides.pdf or handout.pdf" lesson 3 --export lesson.docx
refuse "--export: cannot write '$TMPDIR/none/slides.pdf'" lesson 3 --export "$TMPDIR/none/slides.pdf"
refuse "--export: cannot write '$TMPDIR/none/lesson.html'" lesson 3 --export "$TMPDIR/none/lesson.html"
refuse "there is no lesson '99'" lesson 99 --export "$page"
refuse '--export writes the whole lesson: leave out --check' lesson 1 --export "$page" --check largest-batch
refuse '--export writes the whole lesson: leave out --verify' lesson --export "$page" --verify
refuse 'sim has no option --export' sim --export "$page"

# A lesson whose picture is not there, or whose step is none: file and line, and the file from before stays.
mkdir -p "$TMPDIR/bin" "$TMPDIR/lessons/pictures"
cp "$SHARDLAB" "$TMPDIR/bin/shardlab"
broken() {
	printf '# 0. Broken\n<!-- lesson: minutes=5 -->\n\nText.\n\n<!-- view: %s -->\n![words](pictures/p.png)\n' "$1" >"$TMPDIR/lessons/00-broken.md"
}
program=$TMPDIR/bin/shardlab
broken 'strategy=zero3'
for file in lesson.html slides.pdf handout.pdf; do
	echo before >"$TMPDIR/$file"
	refuse '00-broken.md:6: the picture pictures/p.png is missing' lesson 0 --export "$TMPDIR/$file"
	[ "$(cat "$TMPDIR/$file")" = before ] || complain "$file is gone"
done
echo 'no picture' >"$TMPDIR/lessons/pictures/p.png"
refuse 'this picture cannot be read' lesson 0 --export "$TMPDIR/slides.pdf"
cp lessons/pictures/03-scattered.png "$TMPDIR/lessons/pictures/p.png"
broken 'strategy=zero9'
refuse '00-broken.md:6: shardlab view' lesson 0 --export "$TMPDIR/lesson.html"
[ -z "$(find "$TMPDIR" -name '*.partial')" ] || complain 'a half-written file is left'

exit $((errors > 0))
