#!/usr/bin/env python3
"""Draws docs/memory.svg from what the program says:

    build/shardlab compare --model gpt2-124m --ranks 8 --precision bf16 --micro-batch 1 --sequence 256 \
        --cluster a100-80gb --json | docs/memory.py > docs/memory.svg
"""
import json
import sys
from xml.sax.saxutils import escape

# Okabe-Ito, with a letter a category, so that colours are not needed to tell them apart.
CATEGORIES = [
    ("parameters", "P", "#0072B2"),
    ("gradients", "G", "#E69F00"),
    ("optimizer", "O", "#009E73"),
    ("activations", "A", "#CC79A7"),
    ("gathered", "W", "#56B4E9"),
    ("buffers", "B", "#999999"),
]
WIDTH, LEFT, TOP, BAR, STEP = 960, 96, 84, 26, 40


def bars(results):
    for r in results:
        for role in r.get("roles", []):
            name = r["strategy"].split(":")[0]
            if len(r["roles"]) > 1:
                name += " " + role["role"]
            yield name, role["memory"]["device"]["at_peak"]


def text(x, y, s, size=14, anchor="start", fill="#222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">{escape(s)}</text>')


def main():
    data = json.load(sys.stdin)["results"]
    rows = list(bars(data))
    first = data[0]
    most = max(sum(m.values()) for _, m in rows)
    scale = (WIDTH - LEFT - 110) / most
    height = TOP + STEP * len(rows) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           text(16, 28, f'Peak memory of a rank: {first["model"]["name"]}, {first["precision"]}, '
                        f'{data[-1]["ranks"]} ranks, global batch {first["batch"]}, {first["sequence"]} tokens',
                16, weight="bold")]
    x = 16
    for name, letter, colour in CATEGORIES:
        out.append(f'<rect x="{x}" y="44" width="20" height="18" fill="{colour}" stroke="#222"/>')
        out.append(text(x + 10, 58, letter, 12, "middle", "#fff" if letter in "PO" else "#111", "bold"))
        out.append(text(x + 26, 58, name, 13))
        x += 40 + 8.6 * len(name) + 12
    y = TOP
    for name, memory in rows:
        out.append(text(LEFT - 8, y + 18, name, 14, "end"))
        x = LEFT
        for category, letter, colour in CATEGORIES:
            w = memory[category] * scale
            if w <= 0:
                continue
            out.append(f'<rect x="{x:.2f}" y="{y}" width="{w:.2f}" height="{BAR}" fill="{colour}" stroke="#222" '
                       'stroke-width="0.8"/>')
            if w > 14:
                out.append(text(x + w / 2, y + 18, letter, 12, "middle", "#fff" if letter in "PO" else "#111", "bold"))
            x += w
        out.append(text(x + 8, y + 18, f"{sum(memory.values()) / 1e9:.3f} GB", 13))
        y += STEP
    out.append("</svg>")
    print("\n".join(out))


main()
