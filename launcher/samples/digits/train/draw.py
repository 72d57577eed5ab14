# SPDX-License-Identifier: Apache-2.0
"""Turns strokes into pictures of 28 by 28 pixels, white ink on black, framed as MNIST frames its digits.

Framing: the glyph's box is scaled to fit 20 by 20 pixels, then its centre of mass goes to the middle of 28 by 28.
Ink is drawn as a distance field, so stroke width, softness and pressure vary smoothly and no picture library is needed.
"""

import numpy as np

import glyphs

SIZE = 28
_X = np.tile(np.arange(SIZE, dtype=np.float32) + 0.5, SIZE)[:, None]
_Y = np.repeat(np.arange(SIZE, dtype=np.float32) + 0.5, SIZE)[:, None]


def _resample(stroke, spacing):
    """The same line with points at equal distances, so that wobble and width do not depend on how it was built."""
    length = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(stroke, axis=0).T))])
    count = int(np.clip(np.ceil(length[-1] / spacing), 2, 60)) + 1
    at = np.linspace(0, length[-1], count)
    return np.stack([np.interp(at, length, stroke[:, 0]), np.interp(at, length, stroke[:, 1])], axis=1)


def _distort(strokes, rng):
    """Slant, turn, aspect and a smooth warp of the paper, the same for all strokes of a glyph."""
    slant = rng.normal(0.18, 0.26)
    turn = rng.normal(0, 0.09)
    aspect = np.exp(rng.normal(-0.25, 0.24))
    c, s = np.cos(turn), np.sin(turn)
    matrix = np.array([[c, -s], [s, c]]) @ np.array([[1, -slant], [0, 1]]) @ np.diag([aspect, 1.0])
    waves = [
        (rng.normal(0, 3.2, 2), rng.uniform(0, 2 * np.pi), rng.normal(0, 0.022, 2)) for _ in range(4)
    ]
    # A trapezoid: some writers make heads large and feet small.
    pinch = rng.normal(0, 0.18)
    out = []
    for stroke in strokes:
        p = stroke - 0.5
        p = np.stack([p[:, 0] * (1 + pinch * p[:, 1]), p[:, 1]], axis=1)
        p = p @ matrix.T
        for frequency, phase, shift in waves:
            p = p + np.sin(p @ frequency + phase)[:, None] * shift
        out.append(p)
    return out


def _frame(strokes, width, fit):
    """Scales the inked box to fit and puts the centre of mass (by length of line) into the middle."""
    points = np.vstack(strokes)
    low, high = points.min(axis=0), points.max(axis=0)
    scale = max(fit - width, 4) / max((high - low).max(), 1e-3)
    strokes = [(s - low) * scale for s in strokes]
    middles = np.vstack([(s[1:] + s[:-1]) / 2 for s in strokes])
    lengths = np.concatenate([np.hypot(*np.diff(s, axis=0).T) for s in strokes])
    centre = (middles * lengths[:, None]).sum(axis=0) / lengths.sum()
    return [s - centre + SIZE / 2 for s in strokes]


def _ink(strokes, widths, softness):
    """Coverage in [0, 1] of round-ended lines whose width changes from point to point."""
    a = np.vstack([s[:-1] for s in strokes]).astype(np.float32)
    d = np.vstack([s[1:] - s[:-1] for s in strokes]).astype(np.float32)
    start = np.concatenate([w[:-1] for w in widths]).astype(np.float32)
    grow = np.concatenate([np.diff(w) for w in widths]).astype(np.float32)
    dx, dy = d.T
    px, py = _X - a[:, 0], _Y - a[:, 1]
    along = px * dx
    along += py * dy
    along /= np.maximum(dx * dx + dy * dy, 1e-9)
    np.clip(along, 0, 1, out=along)
    px -= along * dx
    py -= along * dy
    outside = np.sqrt(px * px + py * py)
    along *= grow / 2
    outside -= along + start / 2
    return np.clip(0.5 - outside.min(axis=1) / softness, 0, 1).reshape(SIZE, SIZE)


def _blur(picture, sigma):
    kernel = np.exp(-0.5 * (np.arange(-2, 3) / sigma) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(picture, 2)
    rows = sum(kernel[i] * padded[i : i + SIZE, :] for i in range(5))
    return sum(kernel[i] * rows[:, i : i + SIZE] for i in range(5))


def digit(label, rng):
    """One picture of the digit, uint8 [28, 28]; everything about it is random but the label."""
    strokes = _distort(glyphs.write(label, rng), rng)
    strokes = [_resample(s, 0.06) for s in strokes]
    shiver = rng.uniform(0, 0.009)
    strokes = [s + rng.normal(0, shiver, s.shape) for s in strokes]

    width = float(np.clip(rng.gamma(9, 0.28), 1.1, 4.6))
    if label != 1:
        # A thick pen would fill the loops of a narrow digit.
        box = np.ptp(np.vstack(strokes), axis=0)
        width = min(width, 1.4 + 4.5 * box.min() / box.max())
    strokes = _frame(strokes, width, 20 * (1.0 if rng.random() < 0.65 else rng.uniform(0.78, 1.2)))
    if rng.random() < 0.3:
        off = rng.uniform(-1.8, 1.8, 2)
        strokes = [s + off for s in strokes]

    pressure = rng.uniform(0, 0.3)
    widths = []
    for s in strokes:
        t = np.linspace(0, 1, len(s))
        swell = np.sin(t * rng.uniform(2, 9) + rng.uniform(0, 2 * np.pi))
        widths.append(width * (1 + pressure * swell))
    picture = _ink(strokes, widths, rng.uniform(0.9, 1.7))

    if rng.random() < 0.35:
        picture = _blur(picture, rng.uniform(0.3, 0.75))
    picture = np.clip(picture * rng.uniform(1.0, 1.35), 0, 1)
    if rng.random() < 0.3:
        # Pale ink, a grey ground, a grainy sensor.
        picture = picture * rng.uniform(0.6, 1.0)
        picture = picture + rng.uniform(0, 0.08) * (1 - picture)
        picture = picture + rng.normal(0, rng.uniform(0, 0.06), picture.shape)
    return (np.clip(picture, 0, 1) * 255 + 0.5).astype(np.uint8)


def pictures(count, seed):
    """Pictures uint8 [count, 28, 28] and labels [count]; the same seed gives the same pictures."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % 10)
    return np.stack([digit(int(label), rng) for label in labels]), labels.astype(np.int64)
