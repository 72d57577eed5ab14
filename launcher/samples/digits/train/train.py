# SPDX-License-Identifier: Apache-2.0
"""Draws the digits, trains the classifier and quantizes it.

Usage: train.py [CHECK_PICTURE...]
Writes the sample pictures and expected.json into the folder above, and what TfliteWriter.java needs into target/. A
check picture is a grey PNG of 28 by 28 whose name ends in its digit (mnist_sample7.png). It is only looked at after
training, never trained on.
"""

import json
import pathlib
import sys
import time

import numpy as np
import torch
from PIL import Image
from torch import nn

import draw
import quantize

TRAINING, HELD_BACK, CALIBRATION = 60_000, 5_000, 1_000
EPOCHS, BATCH = 10, 100


def network():
    """About 53,000 weights. Only stride 1 is padded: there PyTorch's padding 1 is TensorFlow's SAME."""
    return nn.Sequential(
        *(nn.Conv2d(1, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU()),
        nn.MaxPool2d(2),
        *(nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False), nn.BatchNorm2d(12), nn.ReLU()),
        *(nn.Conv2d(12, 32, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        nn.MaxPool2d(2),
        *(nn.Conv2d(32, 48, 3, bias=False), nn.BatchNorm2d(48), nn.ReLU()),
        nn.Flatten(),
        nn.Dropout(0.4),
        *(nn.Linear(5 * 5 * 48, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU()),
        nn.Linear(32, 10),
    )


def tensor(pictures):
    return torch.from_numpy(pictures.astype(np.float32) / 255).unsqueeze(1)


def accuracy(answers, labels):
    return 100 * float((np.asarray(answers) == labels).mean())


def train(model, pictures, labels):
    x, y = tensor(pictures), torch.from_numpy(labels)
    steps = EPOCHS * (len(x) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(EPOCHS):
        model.train()
        total, started = 0.0, time.time()
        for batch in torch.randperm(len(x)).split(BATCH):
            part = x[batch]
            # The same picture is seen at a different place in every epoch.
            dx, dy = (int(v) for v in torch.randint(-1, 2, (2,)))
            part = torch.roll(part, (dy, dx), (2, 3))
            optimizer.zero_grad()
            loss = loss_of(model(part), y[batch])
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1}: loss {total / len(x):.4f}, {time.time() - started:.0f} s", flush=True)
    model.eval()


def samples(pictures, labels, answers, folder):
    """The first held-back picture of each digit in clean full ink that is answered rightly, four times as large so
    that a person can see it: every pixel becomes a square of 4 by 4, so any way to shrink it gives the pixel back."""
    clean = (pictures.max(axis=(1, 2)) == 255) & (pictures[:, 0, :].max(axis=1) == 0)
    expected = {}
    for digit in range(10):
        first = int(np.nonzero((labels == digit) & (answers == digit) & clean)[0][0])
        large = np.kron(pictures[first], np.ones((4, 4), np.uint8))
        name = f"digit-{digit}.png"
        Image.fromarray(large).save(folder / name, optimize=True)
        expected[name] = digit
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")


def main():
    here = pathlib.Path(__file__).resolve().parent
    folder = here / "target"
    folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    torch.manual_seed(20)
    started = time.time()
    pictures, labels = draw.pictures(TRAINING, seed=1)
    held, truth = draw.pictures(HELD_BACK, seed=2)
    print(f"drawn in {time.time() - started:.0f} s", flush=True)

    model = network()
    print(sum(p.numel() for p in model.parameters()), "parameters while training")
    train(model, pictures, labels)

    layers = quantize.fold(model)
    integer = quantize.quantize(layers, tensor(pictures[:CALIBRATION]))
    with torch.no_grad():
        float_answers = model(tensor(held)).argmax(1).numpy()
    int_answers = quantize.run(integer, held).argmax(1)
    print(f"held back, float: {accuracy(float_answers, truth):.2f} %")
    print(f"held back, int8:  {accuracy(int_answers, truth):.2f} %")
    quantize.dump(integer, folder)
    held.tofile(folder / "held-back.bin")
    truth.astype(np.uint8).tofile(folder / "held-back-labels.bin")
    samples(held, truth, int_answers, here.parent)

    names = sys.argv[1:]
    if names:
        check = np.stack([np.array(Image.open(name).convert("L")) for name in names])
        wanted = np.array([int(pathlib.Path(name).stem[-1]) for name in names])
        with torch.no_grad():
            floats = model(tensor(check)).argmax(1).numpy()
        answers = quantize.run(integer, check).argmax(1)
        print("check pictures, wanted:", *wanted)
        print("                float: ", *floats)
        print("                int8:  ", *answers, f"({(answers == wanted).sum()} of {len(wanted)} right)")


if __name__ == "__main__":
    main()
