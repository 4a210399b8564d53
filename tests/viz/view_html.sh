#!/bin/bash
# The HTML step player in a browser: it steps forward and back by key, button and slider, says nothing on the console, and
# asks nobody for anything. A script that is put behind the page plays and writes what it saw into the document.
set -euo pipefail

browser=$(command -v chromium || command -v chromium-browser || true)
[ -n "$browser" ] || { echo 'chromium is missing: tools/install-dependencies.sh --ci brings it'; exit 77; }

tmp=${TMPDIR:-/tmp}
"$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 --size 320x180 --export "$tmp/player.html"

cat >"$tmp/probe" <<'SCRIPT'
<pre id="result"></pre>
<script>
'use strict';
const seen=[];
window.addEventListener('error',e=>seen.push('error: '+e.message));
const key=k=>document.dispatchEvent(new KeyboardEvent('keydown',{key:k,bubbles:true}));
const note=what=>seen.push(what+' '+at+' '+document.getElementById('place').textContent+' '+
 (document.getElementById('picture').alt===steps[at][1])+' '+document.getElementById('picture').src.endsWith(steps[at][0]));
const last=steps.length-1;
note('start');
key('ArrowRight');key('PageDown');key('ArrowRight');note('forward');
key('ArrowLeft');note('back');
key('End');note('end');key('ArrowRight');note('stays');
key('Home');note('home');key('PageUp');note('stays');
document.getElementById('next').click();note('button');
document.getElementById('last').click();document.getElementById('back').click();note('buttons');
const bar=document.getElementById('bar');bar.value=4;bar.dispatchEvent(new Event('input'));note('slider');
const touch=(type,x)=>{const e=new Event(type);e.changedTouches=[{clientX:x}];document.querySelector('main').dispatchEvent(e)};
touch('touchstart',300);touch('touchend',100);note('swipe');
let loaded=0;
const wait=setInterval(()=>{const p=document.getElementById('picture');
 if(p.complete&&p.naturalWidth>0){clearInterval(wait);seen.push('picture '+p.naturalWidth+'x'+p.naturalHeight);
 seen.push('requests '+performance.getEntriesByType('resource').filter(r=>!r.name.startsWith('data:')).length);
 seen.push('last '+last);document.getElementById('result').textContent='RESULT\n'+seen.join('\n')+'\nDONE'}},20);
</script>
SCRIPT
# In place of the end of the page: the page itself is as it was written.
sed 's#</body>##; s#</html>##' "$tmp/player.html" >"$tmp/probed.html"
cat "$tmp/probe" >>"$tmp/probed.html"

# No network at all: an address would not even be looked up.
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$tmp/profile" \
	--host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --v=0 --virtual-time-budget=5000 \
	--dump-dom "file://$tmp/probed.html" >"$tmp/dom" 2>"$tmp/log" || { tail -n 5 "$tmp/log"; echo 'the browser failed'; exit 1; }

errors=0
if grep -E 'CONSOLE' "$tmp/log"; then
	echo 'the console is not empty'
	errors=1
fi
got=$(sed 's/<[^>]*>//g' "$tmp/dom" | awk '/^RESULT$/ && !done { on = 1 } on { print } /^DONE$/ { on = 0; done = 1 }')
last=$(sed -n 's/^last //p' <<<"$got")
wanted="RESULT
start 0 0 of $last true true
forward 3 3 of $last true true
back 2 2 of $last true true
end $last $last of $last true true
stays $last $last of $last true true
home 0 0 of $last true true
stays 0 0 of $last true true
button 1 1 of $last true true
buttons $((last - 1)) $((last - 1)) of $last true true
slider 4 4 of $last true true
swipe 5 5 of $last true true
picture 320x180
requests 0
last $last
DONE"
if [ -z "$last" ] || [ "$got" != "$wanted" ]; then
	echo "the page says:"
	echo "$got"
	echo "instead of:"
	echo "$wanted"
	errors=1
fi
exit $errors
