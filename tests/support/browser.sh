# shellcheck shell=bash
# A page in a browser, with a script of the test's behind it. Sourced; the test is skipped where there is no browser.
browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || { echo 'chromium is missing: tools/install-dependencies.sh --ci brings it'; exit 77; }

# probed PAGE WIDTH HEIGHT SECONDS: in $got what the script in TMPDIR/probe sent to the frame around TMPDIR/PAGE.html, and
# what the console says in TMPDIR/log. The script stands in place of the end of the page: the page itself is as it was
# written. SECONDS: of the page's own clock.
probed() {
	sed 's#^</body>##; s#^</html>##' "$TMPDIR/$1.html" >"$TMPDIR/probed.html"
	cat "$TMPDIR/probe" >>"$TMPDIR/probed.html"
	cat >"$TMPDIR/frame.html" <<FRAME
<pre id="result"></pre>
<script>addEventListener('message',e=>{document.getElementById('result').textContent='RESULT\n'+e.data+'\nDONE'})</script>
<iframe src="probed.html" style="border:0;width:$2px;height:$3px"></iframe>
FRAME
	# No network at all: an address would not even be looked up.
	timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$TMPDIR/profile" \
		--host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --v=0 --virtual-time-budget="${4}000" \
		--dump-dom "file://$TMPDIR/frame.html" >"$TMPDIR/dom" 2>"$TMPDIR/log" || { tail -n 5 "$TMPDIR/log"; echo 'the browser failed'; exit 1; }
	got=$(sed 's/<[^>]*>//g' "$TMPDIR/dom" | awk '/^RESULT$/ && !done { on = 1 } on { print } /^DONE$/ { on = 0; done = 1 }')
}
