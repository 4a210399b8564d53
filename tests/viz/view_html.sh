#!/bin/bash
# The HTML page in a browser: it steps by key, button, slider and swipe, goes through the scenes by tab and key, draws each
# of them, says nothing on the console, and asks nobody for anything. On a phone nothing is cut off: all that is there lies
# within 420 pixels. A script that is put behind the page plays, and a frame around it writes down what it saw.
set -euo pipefail
: "${TMPDIR:=/tmp}"
. "$(dirname "$0")/../support/browser.sh"

tmp=$TMPDIR
"$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 --scene memory --export "$tmp/player.html"
"$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 --compare ddp,zero3 --export "$tmp/compared.html"
printf '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"</script><script>window.hurt=1</script>"}},
{"ph":"X","name":"long \\"];hurt=1;[\\"","pid":1,"tid":1,"ts":5,"dur":100}]' >"$tmp/hurt.json"
"$SHARDLAB" view --trace "$tmp/hurt.json" --export "$tmp/hurt.html"

cat >"$tmp/probe" <<'SCRIPT'
<script>
'use strict';
const seen=[];
window.addEventListener('error',e=>seen.push('error: '+e.message));
const key=(k,shiftKey=false)=>document.dispatchEvent(new KeyboardEvent('keydown',{key:k,shiftKey,bubbles:true}));
const note=what=>seen.push(what+' '+data.tabs[tab][0]+' '+at+', '+$('place').textContent+
 ($('caption').textContent===steps[at][0]?'':' with another caption'));
const shades=()=>{const c=$('canvas'),g=Object.assign(document.createElement('canvas'),
  {width:c.width,height:c.height}).getContext('2d',{willReadFrequently:true});
 g.drawImage(c,0,0);const p=g.getImageData(0,0,c.width,c.height).data,all=new Set();
 for(let i=0;i<p.length;i+=4)all.add(p[i]<<16|p[i+1]<<8|p[i+2]);return all.size};
note('start');
key('ArrowRight');key('PageDown');key('ArrowRight');note('forward');
key('ArrowLeft');note('back');
key('End');note('end');key('ArrowRight');note('stays');
key('Home');note('home');key('PageUp');note('stays');
$('next').click();note('button');
$('last').click();$('back').click();note('buttons');
$('bar').value=4;$('bar').dispatchEvent(new Event('input'));note('slider');
const touch=(type,x)=>{const e=new Event(type);e.changedTouches=[{clientX:x,clientY:9}];$('picture').dispatchEvent(e)};
touch('touchstart',300);touch('touchend',100);note('swipe');
key('v');note('scene');
key('ArrowLeft',true);seen.push('phase '+(data.runs[run].phases.includes(at)&&at<5));
key('Home');key('n');seen.push('highlight '+$('lines').textContent.startsWith('notable'));
if(data.runs.length>1){const label=()=>data.runs[run].label+' '+$('heading').textContent.split(' ')[0];go(last);seen.push('end of '+label());
 key('2');note('other '+label());show(5,1);key('1');key('2');$('runs').children[0].click();seen.push('back to '+label());key('2')}
if(questions().length){
go(0);key('q');
const card=()=>$('count').textContent+(asked()?' open':'')+' at '+at+', of '+quiz.q.step+' to '+quiz.q.shown;
const told=card(),was=tab;key('End');key('n');key('v');$('bar').value=last;$('bar').dispatchEvent(new Event('input'));$('last').click();
seen.push('an open question stays '+(card()==told&&tab==was&&asked()));
seen.push('of '+questions().length+' questions');
seen.push('nothing is told '+($('lines').children.length==0&&!$('caption').textContent.startsWith(steps[at][0].slice(0,12))));
let answered=0;
for(const q of questions()){
 if(q!==quiz.q)seen.push('another question');
 if(shades()<3)seen.push('nothing is drawn');
 if(answered%3==2)key('s');
 else if(q.choices){key('9');key(String(1+(q.right+(answered%3))%q.choices.length))}
 else{
  $('typed').value='1,5 GB';$('answer').click();
  if(!asked()||!$('why').textContent.includes('point'))seen.push('1,5 is taken');
  $('typed').value=answered%3?(q.unit=='bytes'?'12345 TB':'-777'):q.answer;
  $('typed').dispatchEvent(new KeyboardEvent('keydown',{key:'Enter',bubbles:true}));
 }
 if(asked()||at!=q.shown||answered%3<2&&!$('reason').textContent.includes(q.reason))seen.push('not answered: '+q.text);
 if(q.choices&&$('choices').querySelectorAll('.right').length!=1)seen.push('which is right? '+q.text);
 answered++;key('ArrowRight');
}
const n=questions().length,third=k=>Math.floor((n+2-k)/3);
seen.push('tally '+(quiz_tally()==third(0)+' of '+(third(0)+third(1))+' right, '+third(2)+' skipped'&&$('asked').textContent==quiz_tally()));
seen.push('amounts '+[['1.5 GB','bytes'],['1500MB','bytes'],['1,059,840 B','bytes'],['1.4 gib','bytes'],['42.9 %','percent'],['-3','number']]
 .map(a=>amount(...a)).join(' '));
seen.push('no amounts '+[['1,5 GB','bytes'],['abc','bytes'],['12','bytes'],['12 lb','bytes'],['','number'],['8 x','number']]
 .every(a=>typeof amount(...a)=='string'));
key('Escape');seen.push('ended '+(quiz===null&&$('ask').hidden&&$('when').textContent.includes('right')));
$('quiz').click();seen.push('the button asks '+asked());
const wide=[...document.querySelectorAll('#ask *')].filter(e=>e.getClientRects().length&&e.getBoundingClientRect().right>innerWidth+.5);
seen.push('the card is within '+!wide.length);$('over').click();
}else seen.push('no questions '+$('quiz').parentNode.hidden);
location.hash='#plan/3'+(run?'/'+data.runs[run].label:'');
const late=()=>{
 note('address');
 for(const b of [...$('tabs').children]){b.click();for(const k of [0,7,last]){go(k);if(shades()<5)seen.push('nothing is drawn')}}
 note('tabs');
 let beyond=[...document.querySelectorAll('body *')].filter(e=>e.getClientRects().length&&
  (e.getBoundingClientRect().right>innerWidth+.5||e.getBoundingClientRect().left<-.5)).map(e=>e.id||e.tagName);
 seen.push('within '+(document.documentElement.scrollWidth<=innerWidth)+' '+beyond);
 const words=$('caption').getBoundingClientRect(),size=parseFloat(getComputedStyle($('caption')).fontSize);
 seen.push('caption legible '+(size>=14&&words.width>200));
 seen.push('shape '+shape);
 seen.push('requests '+performance.getEntriesByType('resource').filter(r=>!r.name.startsWith('data:')).length);
 seen.push('hurt '+(typeof hurt));
 seen.push('last '+last);
 parent.postMessage(seen.join('\n'),'*')};
setTimeout(late,200);
</script>
SCRIPT

errors=0
check() {
	if grep -E 'CONSOLE' "$tmp/log"; then
		echo 'the console is not empty'
		errors=1
	fi
	if [ "$got" != "$1" ]; then
		echo "the page says:"
		echo "$got"
		echo "instead of:"
		echo "$1"
		errors=1
	fi
}

questions=$("$SHARDLAB" view --cluster laptop --model mlp:sizes=12-8-4 --ask --describe | grep -c '^asked')
for size in '1280 720 0' '420 800 1'; do
	read -r width height shape <<<"$size"
	probed player "$width" "$height" 5
	last=$(sed -n 's/^last //p' <<<"$got")
	at() { echo "$2 $1, step $1 of ${last:-?}"; }
	check "RESULT
start $(at 0 memory)
forward $(at 3 memory)
back $(at 2 memory)
end $(at "${last:-0}" memory)
stays $(at "${last:-0}" memory)
home $(at 0 memory)
stays $(at 0 memory)
button $(at 1 memory)
buttons $(at $((${last:-0} - 1)) memory)
slider $(at 4 memory)
swipe $(at 5 memory)
scene $(at 5 timeline)
phase true
highlight true
an open question stays true
of $questions questions
nothing is told true
tally true
amounts 1500000000 1500000000 1059840 1503238553.6 42.9 -3
no amounts true
ended true
the button asks true
the card is within true
address $(at 3 plan)
tabs $(at "${last:-0}" plan)
within true 
caption legible true
shape $shape
requests 0
hurt undefined
last $last
DONE"
done

probed compared 420 800 5
last=$(sed -n 's/^last //p' <<<"$got")
for line in 'end of ddp ddp' "other zero3 zero3 overview $last, step $last of $last" 'back to ddp ddp' 'address plan 3, step 3 of '"$last" 'within true '; do
	grep -qxF "$line" <<<"$got" || { echo "two strategies: no '$line' in $got"; errors=1; }
done
grep -q '^error\|^nothing is drawn' <<<"$got" && { echo "$got"; errors=1; }

probed hurt 420 800 5
grep -q '^no questions true$' <<<"$got" || { echo "questions without a plan: $got"; errors=1; }
grep -q '^hurt undefined$' <<<"$got" || { echo "a name broke out of the script: $got"; errors=1; }
grep -q '^error' <<<"$got" && { echo "$got"; errors=1; }
exit $errors
