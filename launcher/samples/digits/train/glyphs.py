# SPDX-License-Identifier: Apache-2.0
"""The ten digits as pen strokes.

Every function draws one digit the way a hand would: it picks one of several habits (open or closed 4, a 7 with or
without a bar, ...) and jitters its proportions. A glyph is a list of strokes, a stroke an (n, 2) array of points
(x, y), y down, in a box of about 1 by 1. Slant, aspect, wobble and ink come later, in draw.py.
"""

import numpy as np


def curve(points, steps=10):
    """A Catmull-Rom curve through the points; a point given twice in a row is a corner."""
    points = np.asarray(points, dtype=np.float64)
    cuts = [0]
    cuts += [i for i in range(1, len(points)) if np.array_equal(points[i], points[i - 1])]
    cuts += [len(points)]
    pieces = []
    for first, last in zip(cuts, cuts[1:]):
        p = points[first:last]
        if len(p) < 2:
            continue
        # Mirrored end points, so that the curve leaves and arrives straight.
        p = np.vstack([2 * p[0] - p[1], p, 2 * p[-1] - p[-2]])
        t = np.linspace(0, 1, steps, endpoint=False)[:, None]
        for i in range(1, len(p) - 2):
            a, b, c, d = p[i - 1 : i + 3]
            pieces.append(
                0.5
                * (
                    2 * b
                    + (c - a) * t
                    + (2 * a - 5 * b + 4 * c - d) * t**2
                    + (3 * b - a - 3 * c + d) * t**3
                )
            )
        pieces.append(p[-2:-1])
    return np.vstack(pieces)


def ring(cx, cy, rx, ry, start, sweep, drift=0.0, n=28):
    """Part of an ellipse, angles in degrees from the right, clockwise on the page; drift makes it a spiral."""
    a = np.radians(start + np.linspace(0, sweep, n))
    r = 1 + drift * np.linspace(-0.5, 0.5, n)
    return np.stack([cx + rx * r * np.cos(a), cy + ry * r * np.sin(a)], axis=1)


class Hand:
    """The random habits of one writer, for one digit. Not thread-safe: owns a generator."""

    def __init__(self, rng):
        self.rng = rng

    def u(self, low, high):
        return self.rng.uniform(low, high)

    def often(self, probability):
        return self.rng.random() < probability

    def shaky(self, points, sigma=0.03):
        """Moves each control point a little; equal neighbours (corners) stay together."""
        points = np.asarray(points, dtype=np.float64)
        moved = points + self.rng.normal(0, sigma, points.shape)
        for i in range(1, len(points)):
            if np.array_equal(points[i], points[i - 1]):
                moved[i] = moved[i - 1]
        return moved

    def zero(self):
        start = self.u(-150, -30)
        turn = -1 if self.often(0.8) else 1
        rx = self.u(0.26, 0.5)
        sweep = turn * (360 + self.u(-25, 45))
        loop = ring(0.5, 0.5, rx, 0.5, start, sweep, self.u(-0.22, 0.22))
        # Some zeros are egg-shaped.
        loop[:, 0] += self.u(-0.12, 0.12) * (loop[:, 1] - 0.5) * np.sign(loop[:, 0] - 0.5)
        if self.often(0.15):
            loop = np.vstack([loop[0] + [self.u(-0.1, 0.2), -self.u(0.05, 0.2)], loop])
        return [loop]

    def one(self):
        bend = self.u(-0.05, 0.05)
        stem = curve(self.shaky([(0.5, 0), (0.5 + bend, 0.5), (0.5, 1)], 0.015))
        strokes = [stem]
        if self.often(0.33):
            length = self.u(0.12, 0.34)
            drop = length * self.u(0.45, 1.3)
            flag = [(0.5 - length, drop), (0.5 - length * 0.4, drop * self.u(0.4, 0.6)), stem[0]]
            strokes.append(curve(flag))
            if self.often(0.45):
                y = 1 + self.u(-0.03, 0.03)
                wide = self.u(0.15, 0.35)
                strokes.append(curve(self.shaky([(0.5 - wide, y), (0.5 + wide, y)], 0.02)))
        elif self.often(0.08):
            strokes.append(curve([(0.5 - self.u(0.1, 0.3), 1.0), (0.5 + self.u(0.1, 0.3), 1.0)]))
        return strokes

    def two(self):
        left = self.u(0.0, 0.2)
        right = self.u(0.7, 0.95)
        hook = self.u(0.12, 0.36)
        belly = self.u(0.2, 0.34)
        if self.often(0.12):
            head = [(left, 0.05), (0.5, 0.0), (right, 0.08), (right - 0.05, 0.25), (0.5, 0.6)]
        else:
            head = [
                (left, hook),
                (left + 0.12, hook * 0.4),
                (0.5, 0.0),
                (right, belly),
                (right - 0.16, belly + self.u(0.18, 0.28)),
            ]
            if self.often(0.2):
                head.insert(0, (left + self.u(0.05, 0.15), hook + self.u(0.02, 0.1)))
        tail = self.u(0.85, 1.25)
        if self.often(0.42):
            # A loop at the foot.
            size = self.u(0.05, 0.16)
            foot = self.u(0.05, 0.25)
            body = head + [
                (foot + 0.22, 0.86),
                (foot, 1.0 - self.u(0, 0.05)),
                (foot - 0.1, 1.0 - size),
                (foot + 0.05, 1.0 - 1.6 * size),
                (foot + 0.3, 0.95 - self.u(0.0, 0.08)),
                (tail - 0.25, 1.0 + self.u(-0.02, 0.06)),
                (tail, 1.0 - self.u(-0.05, 0.14)),
            ]
            return [curve(self.shaky(body, 0.02))]
        foot = self.u(-0.02, 0.15)
        if self.often(0.6):
            y = 1.0 - self.u(-0.06, 0.1)
            base = [(foot, 1.0), (foot, 1.0), ((foot + tail) / 2, (1 + y) / 2 + self.u(-0.05, 0.05)), (tail, y)]
        else:
            # Rounded: down, and on to the right without lifting.
            base = [(foot + 0.08, 0.93), (foot + 0.16, 1.0), (tail * 0.6, 0.97), (tail, 0.95 + self.u(-0.08, 0.08))]
        return [curve(self.shaky(head + base, 0.025))]

    def three(self):
        waist = self.u(0.4, 0.54)
        inner = self.u(0.25, 0.55)
        top = self.u(0.72, 0.95)
        low = self.u(0.8, 1.05)
        end = (self.u(-0.05, 0.15), self.u(0.8, 0.98))
        bowl = [(low - 0.12, waist + 0.1), (low, (1 + waist) / 2 + 0.04), (0.52, 1.0), end]
        if self.often(0.12):
            # A flat top and a sharp stroke back, as on a clock.
            head = [(0.05, 0.02), (0.85, 0.0), (0.85, 0.0), (inner, waist - 0.04), (inner, waist - 0.04)]
            return [curve(self.shaky(head + bowl, 0.025))]
        start = (self.u(0.0, 0.2), self.u(0.08, 0.26))
        head = [start, (0.42, 0.0), (top, waist * 0.45), (inner + 0.22, waist - 0.06)]
        if self.often(0.15):
            # The pen begins lower and goes up first.
            head.insert(0, (start[0] + self.u(0.0, 0.12), start[1] + self.u(0.08, 0.18)))
        if self.often(0.45):
            middle = [(inner, waist), (inner, waist)]
        elif self.often(0.6):
            # A loop at the waist, small or not.
            size = self.u(0.6, 1.6)
            middle = [
                (inner, waist + 0.03 * size),
                (inner - 0.09 * size, waist - 0.02),
                (inner + 0.03, waist - 0.06 * size),
            ]
        else:
            middle = [(inner + 0.1, waist)]
        if self.often(0.12):
            bowl.append((end[0] - 0.02, end[1] - self.u(0.08, 0.2)))
        return [curve(self.shaky(head + middle + bowl, 0.028))]

    def four(self):
        cross = self.u(0.45, 0.72)
        stem = self.u(0.6, 0.85)
        over = self.u(0.0, 0.35)
        foot = (stem + self.u(-0.12, 0.1), 1.0)
        if self.often(0.3):
            # Closed: both strokes meet at the top.
            top = (stem + self.u(-0.05, 0.05), 0.0)
            arm = [top, (0.0, cross), (0.0, cross), (stem + over, cross + self.u(-0.08, 0.04))]
            if self.often(0.4):
                arm[1:3] = [(0.12, cross - 0.14), (0.06, cross - 0.02), (0.2, cross + 0.02)]
            return [curve(self.shaky(arm, 0.025)), curve(self.shaky([top, (stem, 0.5), foot], 0.02))]
        left = self.u(0.0, 0.25)
        lift = self.u(-0.12, 0.22)
        gap = self.u(-0.06, 0.06)
        if self.often(0.5):
            # Sharp corner at the lower left.
            corner = (left, cross)
            arm = [(left + self.u(0.02, 0.2), gap), corner, corner, (stem + over, cross + self.u(-0.12, 0.05))]
        else:
            # A round cup, as in a u.
            low = cross + self.u(0.0, 0.06)
            arm = [
                (left + self.u(0.0, 0.2), gap),
                (left, cross * 0.6),
                (left + 0.08, low - 0.03),
                ((left + stem) / 2, low),
                (stem + over * 0.6, cross - self.u(0.0, 0.12)),
            ]
        down = [(stem + self.u(-0.03, 0.14), lift), (stem, 0.5), foot]
        return [curve(self.shaky(arm, 0.025)), curve(self.shaky(down, 0.02))]

    def five(self):
        neck = self.u(0.34, 0.5)
        left = self.u(0.05, 0.28)
        right = self.u(0.72, 1.0)
        corner = (left - self.u(-0.02, 0.1), neck)
        bowl = [
            ((left + right) / 2, neck - self.u(0.0, 0.12)),
            (right, (neck + 1) / 2 - self.u(0.0, 0.06)),
            ((left + right) / 2 + self.u(-0.12, 0.08), 1.0),
            (self.u(-0.12, 0.2), self.u(0.84, 1.0)),
        ]
        if self.often(0.15):
            bowl.append((bowl[-1][0] + self.u(-0.06, 0.03), bowl[-1][1] - self.u(0.08, 0.2)))
        reach = self.u(0.6, 1.3)
        rise = self.u(-0.16, 0.08)
        bar = [(left, 0.0), (reach, rise)]
        if self.often(0.5):
            bar.insert(1, ((left + reach) / 2, rise / 2 + self.u(-0.04, 0.04)))
        if self.often(0.35):
            # One stroke, from the right end of the bar.
            if self.often(0.5):
                whole = bar[::-1] + [bar[0], corner, corner] + bowl
            else:
                # Soft, like an s.
                whole = [bar[-1], (left + 0.2, 0.02), (left, neck * 0.5), (left + 0.12, neck)] + bowl
            return [curve(self.shaky(whole, 0.025))]
        down = [(left, 0.0), corner]
        down += [corner] if self.often(0.7) else []
        if self.often(0.25):
            # The bar is put on afterwards, and misses.
            shift = np.array([self.u(-0.05, 0.15), self.u(-0.1, 0.04)])
            bar = [tuple(np.array(p) + shift) for p in bar]
        return [curve(self.shaky(down + bowl, 0.028)), curve(self.shaky(bar, 0.02))]

    def six(self):
        loop = self.u(0.34, 0.6)
        top = 1 - loop
        right = self.u(0.6, 0.95)
        start = (self.u(0.25, 0.9), 0.0)
        left = self.u(0.0, 0.08)
        if self.often(0.3):
            stem = [start, ((start[0] + left) / 2 - self.u(-0.04, 0.06), 0.35)]
        else:
            stem = [start, (start[0] * 0.5 + 0.02, 0.2), (left + 0.06, 0.48)]
        end = self.u(-0.2, 0.25)
        body = stem + [
            (left, 1 - loop * 0.45),
            (0.3 + left / 2, 1.0),
            (right, 1 - loop * self.u(0.4, 0.6)),
            (right * 0.58, top + self.u(-0.02, 0.06)),
            (left + 0.16 + end * 0.5, 1 - loop * 0.6),
        ]
        if self.often(0.35):
            # It curls on into the loop.
            body.append((left + 0.12 + end * 0.5, 1 - loop * self.u(0.2, 0.45)))
            if self.often(0.3):
                body.append((left + 0.34, 1 - loop * self.u(0.15, 0.3)))
        return [curve(self.shaky(body, 0.025))]

    def seven(self):
        right = self.u(0.7, 1.0)
        rise = self.u(-0.08, 0.12)
        foot = (self.u(0.1, 0.7), 1.0)
        head = [(0.0, rise), (right * 0.5, rise / 2 + self.u(-0.04, 0.05)), (right, 0.0)]
        if self.often(0.25):
            head.insert(0, (self.u(-0.08, 0.05), rise + self.u(0.08, 0.22)))
            if self.often(0.5):
                head.insert(1, head[1])
        middle = ((right + foot[0]) / 2 + self.u(-0.14, 0.06), 0.5)
        if self.often(0.65):
            head.append(head[-1])
        else:
            head.append((right + self.u(-0.02, 0.03), 0.1))
        strokes = [curve(self.shaky(head + [middle, foot], 0.025))]
        if self.often(0.22):
            y = self.u(0.4, 0.6)
            x = right + (foot[0] - right) * y - 0.03
            wide = self.u(0.14, 0.32)
            strokes.append(curve(self.shaky([(x - wide, y + self.u(-0.04, 0.06)), (x + wide, y)], 0.02)))
        return strokes

    def eight(self):
        waist = self.u(0.4, 0.56)
        upper = self.u(0.22, 0.42)
        lower = self.u(0.26, 0.46)
        lean = self.u(-0.05, 0.12)
        if self.often(0.12):
            # Two rings, one above the other.
            rings = [(0.5 + lean, waist / 2, upper, waist / 2), (0.5, (1 + waist) / 2, lower, (1 - waist) / 2)]
            return [
                ring(*place, self.u(-180, 180), 360 + self.u(-10, 30), self.u(-0.1, 0.1)) for place in rings
            ]
        top = 0.5 + lean
        start = (top + upper * self.u(0.3, 1.1), waist * self.u(0.1, 0.5))
        body = [
            start,
            (top + self.u(-0.1, 0.05), 0.0),
            (top - upper, waist * self.u(0.4, 0.6)),
            (0.5 + self.u(-0.06, 0.06), waist),
            (0.5 + lower, (1 + waist) / 2 + self.u(-0.04, 0.04)),
            (0.5 + self.u(-0.08, 0.08), 1.0),
            (0.5 - lower, (1 + waist) / 2 + self.u(-0.04, 0.06)),
            (0.5 + self.u(-0.06, 0.06), waist + self.u(-0.03, 0.03)),
            (top + upper * self.u(0.5, 0.95), waist * self.u(0.4, 0.6)),
            (start[0] + self.u(-0.1, 0.1), start[1] + self.u(-0.12, 0.1)),
        ]
        if self.often(0.25):
            # Begun at the waist or mirrored, as left-handers do.
            body = [(1 - x, y) for x, y in body]
        return [curve(self.shaky(body, 0.025))]

    def nine(self):
        loop = self.u(0.3, 0.56)
        right = self.u(0.62, 0.9)
        begin = (right - self.u(-0.03, 0.12), loop * self.u(0.08, 0.4))
        head = [
            begin,
            (right * 0.55, 0.0),
            (0.0, loop * self.u(0.45, 0.65)),
            (right * 0.45, loop),
            (right - self.u(0.02, 0.1), loop * self.u(0.45, 0.75)),
        ]
        join = (right + self.u(-0.03, 0.05), loop * self.u(0.05, 0.35))
        style = self.rng.random()
        if style < 0.55:
            foot = (right + self.u(-0.35, 0.35), 1.0)
            tail = [join, join, (foot[0] * 0.5 + join[0] * 0.5 + self.u(-0.05, 0.05), 0.6), foot]
        elif style < 0.75:
            # Straight on from the loop, without going back up.
            foot = (right + self.u(-0.3, 0.15), 1.0)
            tail = [(right, loop * 0.5), ((right + foot[0]) / 2 + 0.02, 0.7), foot]
        else:
            # A hook below.
            end = (self.u(-0.05, 0.3), self.u(0.85, 1.0))
            tail = [join, join, (right + 0.02, 0.6), (right - 0.08, 0.88), (right * 0.55, 1.0), end]
        return [curve(self.shaky(head + tail, 0.024))]


WRITERS = [
    Hand.zero,
    Hand.one,
    Hand.two,
    Hand.three,
    Hand.four,
    Hand.five,
    Hand.six,
    Hand.seven,
    Hand.eight,
    Hand.nine,
]


def write(digit, rng):
    """The strokes of one digit in one random hand."""
    return WRITERS[digit](Hand(rng))
