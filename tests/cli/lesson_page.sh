#!/bin/bash
# All lessons as one page in a browser without a network, on a screen and on a phone: every question is answered, every step
# of this program plays, nothing is wider than the window, nothing is said on the console, nobody is asked for anything.
set -euo pipefail
. "$(dirname "$0")/../support/commands.sh"
. "$(dirname "$0")/../support/browser.sh"

# Under sanitizers one lesson is enough: the others' steps are drawn by the same program.
which=${SAN:+3}
run page lesson $which --export "$TMPDIR/lesson.html"
lessons=(lessons/${which:+0$which-}*.md)
[ -n "$which" ] || lessons=(lessons/[0-9]*.md)

cat >"$TMPDIR/probe" <<'SCRIPT'
<script>
'use strict';
const seen=[];
window.addEventListener('error',e=>seen.push('error: '+e.message));
const wait=ms=>new Promise(done=>setTimeout(done,ms));
const until=async test=>{for(let i=0;i<3000&&!test();i++)await wait(20);return test()};
const shades=c=>{const g=Object.assign(document.createElement('canvas'),
  {width:c.width,height:c.height}).getContext('2d',{willReadFrequently:true});
 g.drawImage(c,0,0);const p=g.getImageData(0,0,c.width,c.height).data,all=new Set();
 for(let i=0;i<p.length;i+=4)all.add(p[i]<<16|p[i+1]<<8|p[i+2]);return all.size};
const factor={bytes:['GB',1e9],percent:['%',1],number:['',1]};
// Every second one right.
function answer(box,k){
 const d=box.dataset,input=box.querySelector('input'),say=box.querySelector('.verdict'),details=box.querySelector('details'),right=k%2==0;
 if(details.open)seen.push('an answer is open');
 if(input){
  const [unit,by]=factor[d.unit];
  for(const words of ['abc','1,5',d.unit=='bytes'?'12':'12 lb']){
   input.value=words;box.querySelector('.number button').click();
   if('done' in d||!say.textContent)seen.push(words+' is taken for an answer');
  }
  // Within the tolerance, or beyond it.
  input.value=d.number/by*(1+(right?.9:1.1)*d.tolerance/100+(right?0:1e-6))+' '+unit;
  input.dispatchEvent(new KeyboardEvent('keydown',{key:'Enter'}));
 }else{
  const b=box.querySelectorAll('.choices button');
  b[(+d.right+(right?0:1))%b.length].click();
  if(box.querySelectorAll('.right:not(.verdict)').length!=1)seen.push('which is right?');
 }
 if(d.done!=(right?1:0)||!details.open||!details.textContent.trim())seen.push('not answered: '+box.textContent.slice(0,80));
}
function ask(){
 let all=0;
 for(const article of document.querySelectorAll('article')){
  const boxes=[...article.querySelectorAll('.ask')];
  boxes.forEach(answer);all+=boxes.length;
  const tally=Math.ceil(boxes.length/2)+' of '+boxes.length+' questions right';
  if(article.querySelector('.tally').textContent!=(boxes.length?tally:''))seen.push('the count says '+article.querySelector('.tally').textContent);
 }
 seen.push('questions '+all);
}
async function view(figure){
 const at=+(/--at (\d+)/.exec(figure.querySelector('code').textContent)||[0,0])[1];
 figure.querySelector('button').click();
 if(!await until(()=>figure.querySelector('iframe')))return seen.push('no player');
 const frame=figure.querySelector('iframe'),$=id=>frame.contentDocument.getElementById(id);
 if(!await until(()=>frame.contentDocument&&$('place')&&$('place').textContent))return seen.push('the player does not start');
 const last=$('bar').max,place=()=>$('place').textContent;
 if(/(\d+) of/.exec(place())[1]!=at)seen.push('it begins with '+place()+' instead of '+at);
 for(const press of ['first','next','last']){$(press).click();if(shades($('canvas'))<5)seen.push('nothing is drawn')}
 if($('bar').value!=last)seen.push('the buttons do nothing: '+place());
 if(frame.contentDocument.documentElement.scrollWidth>frame.clientWidth+1)seen.push('the player is cut off');
 return 1;
}
(async()=>{
 const width=()=>document.documentElement.scrollWidth<=innerWidth;
 seen.push('within '+width());
 seen.push('pictures '+[...document.images].every(i=>i.complete&&i.naturalWidth>100));
 ask();
 let played=0;
 for(const figure of document.querySelectorAll('.view'))played+=await view(figure)===1;
 seen.push('steps '+played);
 seen.push('within '+width());
 const beyond=[...document.querySelectorAll('main *:not(pre *)')].filter(e=>e.getClientRects().length&&
  (e.getBoundingClientRect().right>innerWidth+.5||e.getBoundingClientRect().left<-.5));
 seen.push('beyond '+beyond.map(e=>e.tagName+' '+e.textContent.slice(0,30)).join(';'));
 seen.push('requests '+performance.getEntriesByType('resource').filter(r=>!r.name.startsWith('data:')).length);
 parent.postMessage(seen.join('\n'),'*');
})();
</script>
SCRIPT

wanted="RESULT
within true
pictures true
questions $(cat "${lessons[@]}" | grep -c '^<!-- ask: ')
steps $(cat "${lessons[@]}" | grep '^<!-- view: ' | grep -cv 'program=\|race=')
within true
beyond 
requests 0
DONE"
for size in '1280 800' '420 800'; do
	# shellcheck disable=SC2086
	probed lesson $size 2000
	if grep -E 'CONSOLE' "$TMPDIR/log"; then complain 'the console is not empty'; fi
	[ "$got" = "$wanted" ] || complain "at $size the page says:
$got
instead of:
$wanted"
done
exit $((errors > 0))
