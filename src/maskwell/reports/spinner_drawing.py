"""The drawing of a spinner: a circle to print, cut out and spin a paper clip on."""

from __future__ import annotations

import html
import math
from fractions import Fraction

from maskwell.core.phrases import Printed
from maskwell.procedures.dice_spinner import Sector, Spinner
from maskwell.reports.device_cards import letter

RADIUS, EDGE = 72.0, 80.0  # millimetres
TINTS = ("#ffffff", "#e4e4e4")


def spinner_svg(spinner: Spinner) -> str:
    """The drawing, 160 mm wide; black and two tints, every sector with its letter."""
    sectors = spinner.sectors
    parts = [_filled(sector, len(sectors)) for sector in sectors]
    parts += [_tick(degree) for degree in range(0, 360, 10)]
    parts += [_letter(sector) for sector in sectors]
    size = 2 * EDGE
    words = "; ".join(f"{letter(s.kind)} from {tenths(s.start)} to {tenths(s.stop)} degrees" for s in sectors)
    return (
        f'<svg class="spinner" xmlns="http://www.w3.org/2000/svg" viewBox="{-EDGE} {-EDGE} {size} {size}" '
        f'width="{size:g}mm" height="{size:g}mm" role="img" aria-label="Spinner: {html.escape(words)}">'
        f'{"".join(parts)}<circle r="{RADIUS}" fill="none" stroke="#000" stroke-width="0.7"/>'
        '<circle r="1.2" fill="#000"/></svg>'
    )


def tenths(degrees: Fraction) -> str:
    """Degrees to a tenth.

    >>> tenths(Fraction(108)), tenths(Fraction(360, 7))
    ('108', '51.4')
    """
    return f"{float(round(10 * degrees)) / 10:g}"


def _point(degrees: Fraction | float, radius: float) -> str:
    angle = math.radians(float(degrees))
    return f"{Printed(radius * math.sin(angle)):.3f} {Printed(-radius * math.cos(angle)):.3f}"


def _filled(sector: Sector, count: int) -> str:
    odd_one = count % 2 and sector.kind == count - 1 and count > 1  # the last would touch the first in the same tint
    tint = "#c9c9c9" if odd_one else TINTS[sector.kind % 2]
    if sector.degrees == 360:
        return f'<circle r="{RADIUS}" fill="{tint}"/>'
    large = int(sector.degrees > 180)
    arc = f"M 0 0 L {_point(sector.start, RADIUS)} A {RADIUS} {RADIUS} 0 {large} 1 {_point(sector.stop, RADIUS)} Z"
    return f'<path d="{arc}" fill="{tint}" stroke="#000" stroke-width="0.4"/>'


def _tick(degree: int) -> str:
    long = degree % 30 == 0
    ends = _point(degree, RADIUS).split(), _point(degree, RADIUS + (3 if long else 1.6)).split()
    (x1, y1), (x2, y2) = ends
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#000" stroke-width="0.25"/>'
    if not long:
        return line
    x, y = _point(degree, RADIUS + 5.5).split()
    return f'{line}<text x="{x}" y="{y}" font-size="3" text-anchor="middle" dominant-baseline="central">{degree}</text>'


def _letter(sector: Sector) -> str:
    middle = (sector.start + sector.stop) / 2
    x, y = ("0", "0") if sector.degrees == 360 else _point(middle, RADIUS * 0.68).split()
    size = max(4.0, min(14.0, float(sector.degrees) / 4))
    style = 'text-anchor="middle" dominant-baseline="central" font-weight="600"'
    return f'<text x="{x}" y="{y}" font-size="{size:.1f}" {style}>{letter(sector.kind)}</text>'
