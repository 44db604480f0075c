# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws costs as an SVG picture: one line each, a dot per pair. Each line has a scale of
its own, so that what it may cost is at the same place in all."""

from xml.sax.saxutils import escape

import costs

LABEL = 400
WIDTH = 900
LINE = 50
MARGIN = 40


def place(figure, ratio):
    """0 is no cost, 1 is the limit."""
    return (ratio - 1) / (figure.limit - 1)


def draw(figures):
    """The picture of at least one Cost, as text."""
    places = [place(figure, ratio) for figure in figures for ratio in figure.ratios()]
    low, high = min([-0.5, *places]), max([1.5, *places])
    bottom = MARGIN + LINE * len(figures)

    def x(where):
        return round(LABEL + (where - low) / (high - low) * (WIDTH - LABEL - MARGIN), 1)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 10}" '
             'font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>']
    for where, text, colour in (0, 'no cost', 'gray'), (1, 'at most', 'red'):
        parts += [f'<text x="{x(where)}" y="{MARGIN - 20}" text-anchor="middle" '
                  f'fill="{colour}">{text}</text>',
                  f'<line x1="{x(where)}" x2="{x(where)}" y1="{MARGIN - 12}" y2="{bottom}" '
                  f'stroke="{colour}"/>']
    for number, figure in enumerate(figures):
        y = MARGIN + LINE * number + LINE // 2
        first, middle, third = costs.quartiles(figure.ratios())
        left, right = x(place(figure, first)), x(place(figure, third))
        parts += [
            f'<text x="10" y="{y - 3}">{escape(figure.what)}</text>',
            f'<text x="10" y="{y + 14}" fill="dimgray">{escape(figure.unit)}: {middle:.4f} in '
            f'the median of {len(figure.pairs)}, at most {figure.limit}</text>',
            f'<rect x="{left}" y="{y - 9}" width="{round(right - left, 1)}" height="18" '
            'fill="lightsteelblue"/>',
            f'<rect x="{x(place(figure, middle)) - 1}" y="{y - 12}" width="2" height="24" '
            'fill="navy"/>']
        parts += [f'<circle cx="{x(place(figure, ratio))}" cy="{y}" r="3" fill="navy" '
                  'fill-opacity="0.6"/>' for ratio in figure.ratios()]
    return '\n'.join([*parts, '</svg>', ''])
