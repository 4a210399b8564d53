/* The page around the pictures of a step: its style, its buttons, and the script that draws the pictures and turns
 * them. viz/draw/record.h says what the commands mean. */
#include "viz/export/export.h"

/* clang-format off */
const char page_head[] =
        "<!DOCTYPE html>\n"
        "<html lang=\"{{en}}\">\n"
        "<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n"
        "<title>";

const char page_style[] =
        "</title>\n"
        "<style>\n"
        "*{box-sizing:border-box}\n"
        "body{margin:0;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;"
        "font:16px/1.4 'DejaVu Sans',Verdana,Roboto,{{sans-serif}};background:var(--ground);color:var(--ink)}\n"
        "header{display:flex;flex-wrap:wrap;gap:.3em 1em;align-items:center;padding:.5em .8em 0}\n"
        "h1{flex:1 1 24em;font-size:1em;margin:0;overflow-wrap:anywhere}\n"
        "[hidden]{display:none!important}\n"
        ".tabs{display:flex;flex-wrap:wrap;gap:.3em}\n"
        "button{font:inherit;padding:.3em .6em;min-height:2.4em;color:var(--ink);background:var(--panel);"
        "border:1px solid var(--soft);border-radius:.4em;cursor:pointer;touch-action:manipulation}\n"
        "button[aria-selected=true]{border:2px solid var(--accent);font-weight:bold}\n"
        "button:focus-visible,input:focus-visible,summary:focus-visible{outline:3px solid var(--accent)}\n"
        "#picture{padding:.3em .5em;display:flex;justify-content:center;touch-action:pan-y pinch-zoom}\n"
        "canvas{display:block}\n"
        "#ask{flex:0 0 25em;margin-left:.8em;padding:.5em .8em;background:var(--panel);border-left:4px solid var(--accent);"
        "overflow-wrap:anywhere}\n"
        "#ask p{margin:.4em 0}#count{color:var(--soft)}#asked{font-size:1.1em}#choices button{display:block;width:100%;"
        "margin:.35em 0;text-align:left}\n"
        "#choices .right{border:2px solid var(--ink);font-weight:bold}#choices .wrong{border:2px solid var(--warning)}\n"
        "#choices button:disabled{opacity:1;color:var(--soft)}#choices .right:disabled,#choices .wrong:disabled{color:var(--ink)}\n"
        "#typed{font:inherit;width:10em;padding:.3em;margin-right:.4em}#why{color:var(--warning)}#verdict{font-weight:bold}\n"
        "@media (max-width:900px){.asking nav,.asking #said{display:none}#picture{flex-direction:column}#ask{flex:none;margin:.4em 0 0}}\n"
        "#said{margin:0 .8em;padding:.3em .8em;background:var(--panel);border-left:4px solid "
        "var(--accent);min-height:4.4em}\n"
        "#said p{margin:0}\n"
        "#caption{font-size:1.1em;overflow-wrap:anywhere}\n"
        "#banner{margin:.3em .5em;padding:.3em .6em;border:2px solid var(--warning);"
        "border-left-width:8px;border-radius:.4em;background:var(--panel)}\n"
        "#when{color:var(--soft);font-size:.9em}\n"
        "nav{position:sticky;bottom:0;display:flex;flex-wrap:wrap;gap:.4em;align-items:center;"
        "padding:.5em .8em;background:var(--ground)}\n"
        "nav button{flex:1 1 2.6em;max-width:6em}\n"
        "nav input{flex:4 1 12em;min-width:0;height:2em;accent-color:var(--accent)}\n"
        "#place{flex:0 0 auto;min-width:7em;text-align:right}\n"
        "#more{padding:0 .8em .6em;overflow-wrap:anywhere}\n"
        "dl{display:grid;grid-template-columns:auto 1fr;gap:.2em .8em;margin:.4em 0;font-size:.9em}\n"
        "dt{color:var(--soft)}dd{margin:0}\n"
        "@media (max-width:640px){body{font-size:15px}header{padding:.3em .5em 0}h1{font-size:.8em;"
        "flex-basis:100%}\n"
        ".tabs{flex:1 1 100%;gap:.2em}.tabs button{flex:1 1 auto;padding:.2em .3em;font-size:.85em}\n"
        "#said{min-height:7.2em}#caption{font-size:1em}nav{padding:.3em .5em}nav button{flex:1 1 14%;"
        "max-width:none}nav input{flex:1 1 50%}}\n"
        "@media (min-width:641px){nav input{order:-1}nav button{flex:0 0 auto}}\n"
        "</style>\n"
        "</head>\n"
        "<body>\n"
        "<header><h1 id=\"heading\">";

const char page_body[] =
        "</h1><div id=\"runs\" class=\"tabs\" role=\"tablist\" aria-label=\"{{strategies}}\"></div>\n"
        "<div id=\"tabs\" class=\"tabs\" role=\"tablist\" aria-label=\"{{scenes}}\"></div>\n"
        "<div class=\"tabs\"><button id=\"quiz\" title=\"{{what comes next? (Q)}}\" aria-selected=\"false\">{{Questions}}</button></div></header>\n"
        "<p id=\"banner\" role=\"alert\" hidden></p>\n"
        "<main id=\"picture\"><canvas id=\"canvas\" role=\"img\"></canvas>\n"
        "<aside id=\"ask\" aria-live=\"polite\" hidden><p id=\"count\"></p><p id=\"asked\"></p><div id=\"choices\"></div>\n"
        "<p id=\"amount\"><input id=\"typed\" type=\"text\" autocomplete=\"off\" aria-label=\"{{your answer}}\"><button "
        "id=\"answer\">{{answer}}</button></p>\n"
        "<p id=\"why\" role=\"alert\"></p><p id=\"verdict\"></p><p id=\"reason\"></p>\n"
        "<p><button id=\"on\">{{skip}}</button> <button id=\"over\">{{end}}</button></p></aside></main>\n"
        "<section id=\"said\"><p id=\"caption\" role=\"status\" aria-live=\"polite\"></p><p "
        "id=\"when\"></p></section>\n"
        "<nav><button id=\"first\" title=\"{{to the beginning}} (Home)\" aria-label=\"{{to the "
        "beginning}}\">|&lt;</button>\n"
        "<button id=\"back\" title=\"{{one step back}} (&larr;)\" aria-label=\"{{one step back}}\">&lt;"
        "</button>\n"
        "<button id=\"play\" title=\"{{play or pause}} ({{Space}})\">{{play}}</button>\n"
        "<button id=\"next\" title=\"{{one step forward}} (&rarr;)\" aria-label=\"{{one step "
        "forward}}\">&gt;</button>\n"
        "<button id=\"last\" title=\"{{to the end}} (End)\" aria-label=\"{{to the end}}\">&gt;|</button>\n"
        "<input id=\"bar\" type=\"range\" min=\"0\" value=\"0\" aria-label=\"{{step}}\"><span "
        "id=\"place\"></span></nav>\n"
        "<div id=\"more\"><details id=\"figures\" open><summary>{{Figures}}</summary><dl "
        "id=\"lines\"></dl></details>\n"
        "<details><summary>{{Keys}}</summary><dl>\n"
        "<dt>&rarr; &larr;</dt><dd>{{one step forward, back; with Shift one phase; on a touch screen: "
        "swipe}}</dd>\n"
        "<dt>Home End</dt><dd>{{to the beginning, to the end}}</dd>\n"
        "<dt>{{Space}}</dt><dd>{{play or pause; [ slower, ] faster}}</dd>\n"
        "<dt>N</dt><dd>{{to the next highlight: peak, overflow, stall, overlap, end of a collective}}</dd>\n"
        "<dt>V</dt><dd>{{the next scene}}</dd>\n"
        "<dt>1 &ndash; 9</dt><dd>{{another strategy, at the same place of the step, where several are "
        "compared}}</dd>\n"
        "<dt>Q</dt><dd>{{questions: what comes next? 1 &ndash; 5 or a number answers, &rarr; or S skips, Esc ends}}</dd>\n"
        "<dt>F</dt><dd>{{full screen}}</dd></dl></details></div>\n"
        "<script type=\"application/json\" id=\"data\">\n";

const char *const page_script[] = {
        "</script>\n",
        "<script>\n",
        "'use strict';\n",
        "const $=id=>document.getElementById(id);\n",
        "// A sentence with its values put in, in the order that the language has.\n",
        "const fill=(text,...values)=>{let i=0;return text.replace(/%(\\d\\$)?z?[sdu]/g,(all,at)=>values[at?parseInt(at)-1:i++])};\n",
        "const tags={memory:'{{memory}}',ledger:'{{ledger}}',notable:'{{notable}}',values:'{{values}}',beside:'{{beside}}',pair:'{{pair}}'};\n",
        "const data=JSON.parse($('data').textContent);\n",
        "const commands=[],texts=[],pictures=[],tiles=new Map(),tabs=data.tabs.length;\n",
        "let run=0,steps=[],last=0,at=0,tab=0,shape=0,timer=0,delay=data.delay,drawn=0;\n",
        "['ground','panel','ink','soft','accent','warning'].forEach((name,i)=>\n",
        " document.documentElement.style.setProperty('--'+name,data.theme[i]));\n",
        "\n",
        "// A command that is new gets the next number; at the end of a step are the texts that are new.\n",
        "function load(lists,some){\n",
        " for(const text of some)texts.push(text);\n",
        " for(const list of lists)for(let i=0;i<list.length;i++)if(list[i].length>2)list[i]=commands.push(list[i])-1;\n",
        "}\n",
        "function decode(entries,was){\n",
        " const now=[];let i=0;\n",
        " const copy=(from,count)=>{for(i=from;i<from+count;i++)now.push(was[i])};\n",
        " for(const e of entries)\n",
        "  if(e.length)copy(e[0],e[1]);else if(e<0)copy(i,-e);else{now.push(e);i++}\n",
        " return now;\n",
        "}\n",
        "for(const {steps,questions} of data.runs){\n",
        " for(const step of steps){const some=step.pop();load(step.slice(2),some)}\n",
        " let was=[];\n",
        " for(const q of questions){load(q.pictures,q.texts);was=q.pictures=q.pictures.map((list,i)=>decode(list,was[i]||[]))}\n",
        "}\n",
        "// The commands of picture k of a series, a tab in a shape or the figures: as numbers say, or as they were in the picture before.\n",
        "function picture(of,k){\n",
        " const series=run*(2*tabs+1)+of,all=pictures[series]=pictures[series]||[];\n",
        " for(let j=all.length;j<=k;j++)all.push(decode(steps[j][2+of],all[j-1]||[]));\n",
        " return all[k];\n",
        "}\n",
        "\n",
        "const SANS=\"'DejaVu Sans',Verdana,Roboto,{{sans-serif}}\",MONO=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\";\n",
        "const fonts=[s=>s+'px '+SANS,s=>'bold '+s+'px '+SANS,s=>s+'px '+MONO];\n",
        "function text(g,c){ // as wide as where it was recorded, so that nothing overlaps\n",
        " const t=texts[c[2]];\n",
        " g.font=fonts[t[3]](t[2]);g.fillStyle=data.colours[c[1]];\n",
        " if(!t[4])t[4]=t[1]/(g.measureText(t[0]).width||1)||1;\n",
        " g.save();g.translate(c[3],c[4]);g.scale(t[4],1);g.fillText(t[0],0,0);g.restore();\n",
        "}\n",
        "function tile(g,kind,ink,scale){\n",
        " const side=Math.max(4,Math.round(70*scale)),key=[kind,ink,scale].join();\n",
        " if(tiles.has(key))return tiles.get(key);\n",
        " const t=document.createElement('canvas'),h=t.getContext('2d');\n",
        " t.width=t.height=side;h.strokeStyle=h.fillStyle=data.colours[ink];h.lineWidth=Math.max(1,Math.round(10*scale));\n",
        " const line=(a,b,c,d)=>{h.beginPath();h.moveTo(a,b);h.lineTo(c,d);h.stroke()};\n",
        " for(let i=-1;i<3;i++){\n",
        "  if(kind==1||kind==4)line((i+1)*side,-side,(i-2)*side,2*side);\n",
        "  if(kind==2||kind==4)line((i-2)*side,-side,(i+1)*side,2*side);\n",
        " }\n",
        " const middle=Math.floor(side/2)+.5;\n",
        " if(kind==5)line(0,middle,side,middle);\n",
        " if(kind==3)h.fillRect(middle-h.lineWidth,middle-h.lineWidth,2*h.lineWidth,2*h.lineWidth);\n",
        " const p=g.createPattern(t,'repeat');p.setTransform(new DOMMatrix().scale(1/scale));\n",
        " tiles.set(key,p);return p;\n",
        "}\n",
        "function carry(g,c,scale){\n",
        " if(c[0]==3)return text(g,c);\n",
        " if(c[0]==4){g.restore();g.save();if(c[3]){g.beginPath();g.rect(c[1],c[2],c[3],c[4]);g.clip()}return}\n",
        " const path=c.path=c.path||new Path2D(c[2]);\n",
        " if(c[0]==2){g.strokeStyle=data.colours[c[1]];g.lineWidth=c[3];g.setLineDash(c.slice(4));g.stroke(path);return}\n",
        " if(c[1]>=0){g.fillStyle=data.colours[c[1]];g.fill(path)}\n",
        " if(c[0]==1&&c[3]){g.fillStyle=tile(g,c[3],c[4],scale);g.fill(path)}\n",
        "}\n",
        "const size=()=>data.tabs[tab][2+shape];\n",
        "const lines=()=>data.figures&&!asked()?picture(2*tabs,at).map(n=>texts[commands[n][1]]):[];\n",
        "// The shape that is more legible, as large as there is room for: upright, all the width there is.\n",
        "function fit(){\n",
        " const c=$('canvas'),beside=quiz&&innerWidth>900,across=$('picture').clientWidth-16-(beside?$('ask').offsetWidth+12:0);\n",
        " shape=across<640&&innerHeight>innerWidth?1:0;\n",
        " const [w,h]=size();\n",
        " const down=innerHeight-document.querySelector('header').offsetHeight-$('banner').offsetHeight-$('said').offsetHeight-\n",
        "  document.querySelector('nav').offsetHeight-48;\n",
        " const width=shape?across:Math.max(Math.min(across,down*w/h),Math.min(across,640));\n",
        " const ratio=Math.min(devicePixelRatio||1,3);\n",
        " c.style.width=width+'px';c.style.height=width*h/w+'px';\n",
        " const pixels=Math.round(width*ratio);\n",
        " if(c.width!=pixels||c.height!=Math.round(pixels*h/w)){c.width=pixels;c.height=Math.round(pixels*h/w)}\n",
        "}\n",
        "function draw(){\n",
        " const c=$('canvas'),g=c.getContext('2d'),[w,h]=size(),scale=c.width/w/10;\n",
        " g.setTransform(scale,0,0,scale,0,0);g.fillStyle=data.theme[0];g.fillRect(0,0,10*w,10*h);\n",
        " g.save();for(const n of asked()?quiz.q.pictures[shape]:picture(shape*tabs+tab,at))carry(g,commands[n],scale);g.restore();\n",
        " drawn++;\n",
        "}\n",
        "function number(k){const n=data.runs[run].numbers;return n.length?n[k]:k} // in the window, which has all rounds\n",
        "function say(){\n",
        " let [caption,when]=steps[at];\n",
        " document.body.classList.toggle('asking',asked());\n",
        " if(asked())caption=quiz.q.choices?'{{" QUESTION_OF_CHOICES "}}':'{{" QUESTION_OF_A_NUMBER "}}';\n",
        " $('caption').textContent=caption;$('when').textContent=when;$('canvas').setAttribute('aria-label',caption);\n",
        " $('bar').value=at;$('place').textContent=fill('{{%s %zu of %zu}}',data.word,number(at),number(last));\n",
        " $('lines').replaceChildren();\n",
        " for(const line of lines())\n",
        "  for(const [tag,part] of [['dt',(t=>tags[t]||t)(line.slice(0,9).trim())],['dd',line.slice(9)]])\n",
        "   $('lines').appendChild(document.createElement(tag)).textContent=part;\n",
        "}\n",
        "function mark(list,k){\n",
        " [...$(list).children].forEach((b,i)=>{b.setAttribute('aria-selected',i==k);b.tabIndex=i==k?0:-1});\n",
        "}\n",
        "function show(k,of=tab){\n",
        " at=Math.max(0,Math.min(last,k||0));tab=of;\n",
        " mark('tabs',tab);\n",
        " say();fit();draw();\n",
        " const label=run?'/'+data.runs[run].label:'';\n",
        " try{history.replaceState(null,'','#'+data.tabs[tab][0]+'/'+at+label)}catch(e){}\n",
        "}\n",
        "function choose(r){\n",
        " quiz_end();\n",
        " run=r;steps=data.runs[r].steps;last=steps.length-1;\n",
        " const {heading,banner}=data.runs[r];\n",
        " document.title=$('heading').textContent=heading;\n",
        " $('banner').textContent=banner.join(' ');$('banner').hidden=!banner.length;$('bar').max=last;\n",
        " mark('runs',run);\n",
        "}\n",
        "function change(r){ // to another strategy, at the same place of the step\n",
        " const place=data.runs[run].places[at],places=data.runs[r].places;\n",
        " choose(r);show(Math.max(0,places.findLastIndex(p=>p<=place)));\n",
        "}\n",
        "function read(){ // the part of the address behind '#'\n",
        " const [name,k,of]=decodeURIComponent(location.hash.slice(1)).split('/'),i=data.tabs.findIndex(t=>t[0]==name);\n",
        " choose(Math.max(0,data.runs.findIndex(r=>r.label==of)));\n",
        " show(k?Math.floor(+k):data.runs[run].at,i<0?data.start:i);\n",
        "}\n",
        "function stop(){clearInterval(timer);timer=0;$('play').textContent='{{play}}'}\n",
        "function start(){\n",
        " clearInterval(timer);$('play').textContent='{{pause}}';\n",
        " timer=setInterval(()=>{if(at==last)stop();else show(at+1)},delay);\n",
        "}\n",
        "function play(){if(asked())return;if(timer)return stop();if(at==last)show(0);start()}\n",
        "function pace(factor){delay=Math.max(20,Math.min(10000,delay*factor));if(timer)start()}\n",
        "function go(k){stop();if(!asked())show(k)}\n",
        "function notable(){\n",
        " for(let k=at+1;data.figures&&k<=last;k++)\n",
        "  if(picture(2*tabs,k).some(n=>texts[commands[n][1]].startsWith('notable')))return go(k);\n",
        "}\n",
        "function phase(forward){\n",
        " const p=data.runs[run].phases;\n",
        " go(forward?p.find(k=>k>at)??last:[...p].reverse().find(k=>k<at)??0);\n",
        "}\n",
        "function button(list,title,press){\n",
        " const b=$(list).appendChild(document.createElement('button'));\n",
        " b.textContent=title;b.setAttribute('role','tab');b.onclick=press;\n",
        "}\n",
        "data.tabs.forEach((t,i)=>button('tabs',t[1],()=>show(at,i)));\n",
        "data.runs.forEach((r,i)=>button('runs',r.label,()=>change(i)));\n",
        "$('runs').hidden=data.runs.length<2;\n",
        "$('tabs').hidden=tabs<2;$('figures').hidden=!data.figures;\n",
        "$('first').onclick=()=>go(0);$('last').onclick=()=>go(last);\n",
        "$('next').onclick=()=>quiz?quiz_on():go(at+1);$('back').onclick=()=>go(at-1);$('play').onclick=play;\n",
        "$('bar').oninput=e=>go(+e.target.value);\n",
        "const keys={ArrowRight:e=>quiz?quiz_on():e.shiftKey?phase(true):go(at+1),ArrowLeft:e=>e.shiftKey?phase(false):go(at-1),\n",
        " PageDown:()=>quiz?quiz_on():go(at+1),q:()=>quiz?quiz_end(true):quiz_begin(),PageUp:()=>go(at-1),Home:()=>go(0),End:()=>go(last),' ':play,\n",
        " '[':()=>pace(1.5),']':()=>pace(1/1.5),n:()=>asked()||notable(),v:()=>asked()||show(at,(tab+1)%tabs),\n",
        " f:()=>document.fullscreenElement?document.exitFullscreen():document.documentElement.requestFullscreen()};\n",
        "document.addEventListener('keydown',e=>{\n",
        " if(quiz&&quiz_key(e))return;\n",
        " const key=data.runs[e.key-1]?()=>change(e.key-1):keys[e.key.length==1?e.key.toLowerCase():e.key];\n",
        " if(e.ctrlKey||e.altKey||e.metaKey||!key)return;\n",
        " if(e.key==' '&&['BUTTON','SUMMARY'].includes(e.target.tagName)&&e.target.id!='play')return;\n",
        " e.preventDefault();key(e);\n",
        "});\n",
        "let x0=0,y0=0,swiped=false;\n",
        "const m=$('picture');\n",
        "m.addEventListener('touchstart',e=>{x0=e.changedTouches[0].clientX;y0=e.changedTouches[0].clientY},{passive:true});\n",
        "m.addEventListener('touchend',e=>{\n",
        " const dx=e.changedTouches[0].clientX-x0,dy=(e.changedTouches[0].clientY||0)-(y0||0);\n",
        " swiped=Math.abs(dx)>40&&Math.abs(dx)>2*Math.abs(dy);\n",
        " if(swiped&&!asked())go(at+(dx<0?1:-1));\n",
        "});\n",
        "m.addEventListener('click',e=>{if(!swiped&&!e.target.closest('#ask'))go(at+(e.clientX<innerWidth/3?-1:1));swiped=false});\n",
        "addEventListener('hashchange',read);\n",
        "addEventListener('resize',()=>{fit();draw()});\n",
        NULL};

const char *const page_end[] = {
        "read();\n",
        "if(data.ask)quiz_begin();\n",
        "</script>\n",
        "</body>\n",
        "</html>\n",
        NULL};
