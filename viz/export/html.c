/* Playback of a step in one HTML file: every step's picture inside it, as the PNG that --at gives, with its caption as
 * text for those who do not see it. Keys, buttons, a slider, swipes; nothing is fetched.
 */
#include <stdlib.h>
#include <string.h>

#include "viz/export/export.h"

static const char page_head[] = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                                "<link rel=\"icon\" href=\"data:,\">\n<title>";

static const char page_style[] =
        "</title>\n<style>\n"
        "html,body{margin:0;height:100%;overflow:hidden;font:16px/1.4 'DejaVu Sans',Verdana,sans-serif}\n"
        "body{display:flex;flex-direction:column;background:var(--ground);color:var(--ink)}\n"
        "main{flex:1;min-height:0;display:flex;align-items:center;justify-content:center;touch-action:pan-y}\n"
        "main img{max-width:100%;max-height:100%;display:block}\n"
        "nav{display:flex;gap:.5em;align-items:center;padding:.5em .8em}\n"
        "nav button{font:inherit;min-width:3em;padding:.35em .7em;color:var(--ink);background:var(--panel);"
        "border:1px solid var(--ink);border-radius:.4em;cursor:pointer}\n"
        "nav button:focus-visible,nav input:focus-visible{outline:3px solid var(--accent)}\n"
        "nav input{flex:1;accent-color:var(--accent)}\n"
        "#place{min-width:6em;text-align:right}\n"
        "#said{position:absolute;left:-9999px}\n"
        "</style>\n</head>\n<body>\n<main><img id=\"picture\" alt=\"\"></main>\n"
        "<nav><button id=\"first\" title=\"first (Home)\" aria-label=\"first\">|&lt;</button>"
        "<button id=\"back\" title=\"previous (left arrow)\" aria-label=\"previous\">&lt;</button>"
        "<button id=\"play\" title=\"play or pause (Space)\">play</button>"
        "<button id=\"next\" title=\"next (right arrow)\" aria-label=\"next\">&gt;</button>"
        "<button id=\"last\" title=\"last (End)\" aria-label=\"last\">&gt;|</button>"
        "<input id=\"bar\" type=\"range\" min=\"0\" value=\"0\" aria-label=\"step\"><span id=\"place\"></span></nav>\n"
        "<div id=\"said\" role=\"status\" aria-live=\"polite\"></div>\n<script>\n'use strict';\nconst steps=[\n";

static const char page_script[] =
        "];\n"
        "const $=id=>document.getElementById(id);let at=0,timer=0;\n"
        "const pictures=[];\n"
        "function show(k){at=Math.max(0,Math.min(steps.length-1,k));\n"
        " $('picture').src='data:image/png;base64,'+steps[at][0];$('picture').alt=steps[at][1];\n"
        " $('said').textContent=steps[at][1];$('bar').value=at;$('place').textContent=at+' of '+(steps.length-1);\n"
        " try{history.replaceState(null,'','#'+at)}catch(e){}}\n"
        "function stop(){clearInterval(timer);timer=0;$('play').textContent='play'}\n"
        "function play(){if(timer){stop();return}if(at==steps.length-1)show(0);$('play').textContent='pause';\n"
        " timer=setInterval(()=>{if(at==steps.length-1)stop();else show(at+1)},delay)}\n"
        "function go(k){stop();show(k)}\n"
        "$('bar').max=steps.length-1;\n"
        "$('first').onclick=()=>go(0);$('last').onclick=()=>go(steps.length-1);\n"
        "$('next').onclick=()=>go(at+1);$('back').onclick=()=>go(at-1);$('play').onclick=play;\n"
        "$('bar').oninput=e=>go(+e.target.value);\n"
        "document.addEventListener('keydown',e=>{if(e.ctrlKey||e.altKey||e.metaKey)return;const k=e.key;\n"
        " if(k==' '){if(e.target.tagName=='BUTTON'&&e.target.id!='play')return;play()}\n"
        " else if(k=='ArrowRight'||k=='PageDown')go(at+1);else if(k=='ArrowLeft'||k=='PageUp')go(at-1);\n"
        " else if(k=='Home')go(0);else if(k=='End')go(steps.length-1);\n"
        " else if(k=='f'){if(document.fullscreenElement)document.exitFullscreen();else "
        "document.documentElement.requestFullscreen()}\n"
        " else return;e.preventDefault()});\n"
        "let x0=null;const m=document.querySelector('main');\n"
        "m.addEventListener('touchstart',e=>{x0=e.changedTouches[0].clientX},{passive:true});\n"
        "m.addEventListener('touchend',e=>{const "
        "d=e.changedTouches[0].clientX-x0;if(Math.abs(d)>40)go(at+(d<0?1:-1))});\n"
        "m.addEventListener('click',e=>go(at+(e.clientX<innerWidth/3?-1:1)));\n"
        "addEventListener('hashchange',()=>show(+location.hash.slice(1)||0));\n"
        "show(+location.hash.slice(1)||0);\n"
        "</script>\n</body>\n</html>\n";

/* Base 64, three bytes at a time, as they come. */
struct base64 {
	FILE *out;
	unsigned char held[3];
	int count;
};

static void put_group(struct base64 *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned v = (unsigned)b->held[0] << 16 | (unsigned)b->held[1] << 8 | b->held[2];
	for (int i = 0; i < 4; i++)
		fputc(i <= b->count ? digits[v >> (18 - 6 * i) & 63] : '=', b->out);
	b->count = 0;
	memset(b->held, 0, sizeof b->held);
}

static cairo_status_t put_bytes(void *context, const unsigned char *data, unsigned int length)
{
	struct base64 *b = context;
	for (unsigned i = 0; i < length; i++) {
		b->held[b->count++] = data[i];
		if (b->count == 3)
			put_group(b);
	}
	return ferror(b->out) ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

/* Characters of `unsafe`, and control characters, as `format` says. */
static void put_escaped(FILE *out, const char *text, const char *unsafe, const char *format)
{
	for (; *text; text++)
		if (strchr(unsafe, *text) || (unsigned char)*text < ' ')
			fprintf(out, format, (unsigned char)*text);
		else
			fputc(*text, out);
}

enum status export_html(struct playback *p, const struct picture *size, FILE *out)
{
	const struct theme *t = theme_of(p->theme);
	char title[sizeof p->shown->heading];
	memcpy(title, p->shown->heading, sizeof title);
	text_mend(title);
	fputs(page_head, out);
	put_escaped(out, title, "<>&", "&#%d;");
	fputs(page_style, out);
	for (size_t k = 0; k < export_steps(p); k++) {
		char caption[512] = "";
		struct base64 b = {.out = out};
		cairo_surface_t *surface;
		export_go(p, k);
		enum status drawn = export_surface(p, size, &surface);
		if (drawn)
			return drawn;
		fputs(k ? ",\n[\"" : "[\"", out);
		cairo_status_t s = cairo_surface_write_to_png_stream(surface, put_bytes, &b);
		cairo_surface_destroy(surface);
		if (s)
			return status_fail(STATUS_RUN, "the picture cannot be written: %s", cairo_status_to_string(s));
		if (b.count)
			put_group(&b);
		if (!p->shown->foreign)
			caption_make(&p->state, caption, sizeof caption);
		text_mend(caption);
		fputs("\",\"", out);
		put_escaped(out, caption, "\"\\<", "\\u%04x"); /* neither the quote nor the end of the script */
		fputs("\"]", out);
	}
	fprintf(out,
	        "\n];\nconst "
	        "delay=%d;document.documentElement.style.cssText='--ground:#%06X;--panel:#%06X;--ink:#%06X;--accent:#%"
	        "06X';\n",
	        10 * size->delay, t->ground, t->panel, t->ink, t->accent);
	fputs(page_script + 3, out); /* the list has been closed */
	return ferror(out) ? status_fail(STATUS_RUN, "the page cannot be written") : STATUS_OK;
}
