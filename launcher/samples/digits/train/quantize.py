# SPDX-License-Identifier: Apache-2.0
"""Full int8 quantization after training, an integer-only evaluation of the result, and the dump for TfliteWriter.java.

The rules are those of the TensorFlow Lite 8-bit quantization specification: activations asymmetric int8 for a whole
tensor, weights symmetric int8 in [-127, 127] (one scale for each output channel of a convolution, one for the whole
fully connected matrix, which is what NNAPI knows), bias int32 with scale input * weight and zero point 0.
"""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def fold(model):
    """The network as a list of plain layers, each batch normalization folded into the layer before it."""
    layers = []
    for module in model:
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            weight = module.weight.detach().double()
            bias = torch.zeros(len(weight)).double() if module.bias is None else module.bias.detach().double()
            kind = "FULLY_CONNECTED"
            if isinstance(module, nn.Conv2d):
                kind = "CONV_2D" if module.groups == 1 else "DEPTHWISE_CONV_2D"
            padding = module.padding[0] if isinstance(module, nn.Conv2d) else 0
            layers.append({"kind": kind, "weight": weight, "bias": bias, "padding": padding, "relu": False})
        elif isinstance(module, (nn.BatchNorm2d, nn.BatchNorm1d)):
            layer = layers[-1]
            factor = module.weight.detach().double() / torch.sqrt(module.running_var.double() + module.eps)
            layer["weight"] = layer["weight"] * factor.reshape([-1] + [1] * (layer["weight"].dim() - 1))
            shift = module.bias.detach().double() - module.running_mean.double() * factor
            layer["bias"] = layer["bias"] * factor + shift
        elif isinstance(module, nn.ReLU):
            layers[-1]["relu"] = True
        elif isinstance(module, nn.MaxPool2d):
            layers.append({"kind": "MAX_POOL_2D"})
        elif isinstance(module, nn.Flatten):
            # Columns from PyTorch's channel, row, column to TensorFlow's row, column, channel; see _flat.
            layers.append({"kind": "FLATTEN"})
    return layers


def _apply(layer, x, weight, bias):
    if layer["kind"] == "MAX_POOL_2D":
        return F.max_pool2d(x, 2)
    if layer["kind"] == "FLATTEN":
        return x.flatten(1)
    if layer["kind"] == "FULLY_CONNECTED":
        return F.linear(x, weight, bias)
    groups = len(weight) if layer["kind"] == "DEPTHWISE_CONV_2D" else 1
    return F.conv2d(x, weight, bias, padding=layer["padding"], groups=groups)


def quantize(layers, calibration):
    """Adds scales, zero points and integer weights to copies of the layers; calibration is float [n, 1, 28, 28]."""
    x = calibration.double()
    scale, zero = 1 / 255, -128
    result = []
    for source in layers:
        layer = dict(source, in_scale=scale, in_zero=zero)
        x = _apply(layer, x, layer.get("weight"), layer.get("bias"))
        if "weight" in layer:
            if layer["relu"]:
                x = F.relu(x)
            low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
            # Scales live as float32 in the file: round here, so that this evaluation sees the same numbers.
            scale_out = np.float32((high - low) / 255)
            zero_out = int(np.clip(round(-128 - low / float(scale_out)), -128, 127))
            w = layer["weight"].numpy()
            flat = np.abs(w.reshape(len(w), -1))
            peak = flat.max(axis=1) if layer["kind"] != "FULLY_CONNECTED" else np.array([flat.max()])
            w_scale = (np.maximum(peak, 1e-6) / 127).astype(np.float32)
            spread = w_scale.astype(np.float64).reshape([-1] + [1] * (w.ndim - 1))
            layer["w_scale"] = w_scale
            layer["w_int"] = np.clip(np.rint(w / spread), -127, 127).astype(np.int8)
            b_scale = np.float64(np.float32(scale)) * w_scale
            layer["b_scale"] = b_scale.astype(np.float32)
            layer["b_int"] = np.rint(layer["bias"].numpy() / b_scale).astype(np.int32)
            scale, zero = scale_out, zero_out
        layer["out_scale"], layer["out_zero"] = scale, zero
        result.append(layer)
    return result


def _multiplier(real):
    """real = m * 2^(shift - 31), with m in [2^30, 2^31)."""
    mantissa, shift = np.frexp(real)
    m = np.floor(mantissa * 2.0**31 + 0.5).astype(np.int64)
    full = m == 2**31
    return np.where(full, m // 2, m), shift + full


def _requantize(acc, layer):
    """Accumulators int64 [n, channels, ...] to the output's scale: convolutions round twice, as gemmlowp does, the
    fully connected layer once."""
    real = np.float64(np.float32(layer["in_scale"])) * layer["w_scale"].astype(np.float64)
    real = real / np.float64(np.float32(layer["out_scale"]))
    m, shift = _multiplier(real)
    assert (shift <= 0).all(), "a multiplier of one or more does not occur in this network"
    shape = [1, -1] + [1] * (acc.ndim - 2)
    m, right = m.reshape(shape), -shift.reshape(shape)
    if layer["kind"] == "FULLY_CONNECTED":
        total = 31 + right
        return (acc * m + (np.int64(1) << (total - 1))) >> total
    product = acc * m
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = (product + nudge) // (1 << 31)
    # Division truncates toward zero in gemmlowp.
    high = np.where((product + nudge < 0) & ((product + nudge) % (1 << 31) != 0), high + 1, high)
    mask = (np.int64(1) << right) - 1
    threshold = (mask >> 1) + (high < 0)
    return (high >> right) + ((high & mask) > threshold)


def run(layers, pictures):
    """Integer-only evaluation: uint8 [n, 28, 28] to int8 logits [n, 10]."""
    x = torch.from_numpy(pictures.astype(np.float64) - 128).unsqueeze(1)
    for layer in layers:
        if "w_int" not in layer:
            x = _apply(layer, x, None, None)
            continue
        # Products and sums stay far below 2^53, so float64 holds them exactly.
        weight = torch.from_numpy(layer["w_int"].astype(np.float64))
        acc = _apply(layer, x - layer["in_zero"], weight, torch.from_numpy(layer["b_int"].astype(np.float64)))
        out = _requantize(acc.numpy().astype(np.int64), layer) + layer["out_zero"]
        low = layer["out_zero"] if layer["relu"] else -128
        x = torch.from_numpy(np.clip(out, max(low, -128), 127).astype(np.float64))
    return x.numpy().astype(np.int8)


def _flat(matrix, channels):
    """A fully connected matrix that follows a convolution: columns from (c, h, w) to (h, w, c)."""
    side = int(round((matrix.shape[1] // channels) ** 0.5))
    return matrix.reshape(-1, channels, side, side).transpose(0, 2, 3, 1).reshape(len(matrix), -1)


def dump(layers, folder):
    """Writes model.txt and weights.bin.

    model.txt holds one line for each tensor and operator, words separated by blanks:
      tensor NAME TYPE SHAPE SCALES ZERO_POINT CHANNEL_DIMENSION OFFSET BYTES   (lists by commas; OFFSET -1: no data)
      operator KIND INPUTS OUTPUT PADDING ACTIVATION
    """
    lines, blob = [], bytearray()

    def tensor(name, kind, shape, scales, zero, dimension=0, data=None):
        offset, size = -1, 0
        if data is not None:
            offset, size = len(blob), data.nbytes
            blob.extend(data.tobytes())
        scales = ",".join(f"{s:.9g}" for s in np.atleast_1d(scales).astype(np.float32))  # 9 digits: exact
        lines.append(f"tensor {name} {kind} {','.join(map(str, shape))} {scales} {zero} {dimension} {offset} {size}")

    shape = [1, 28, 28, 1]
    last = "picture"
    tensor(last, "INT8", shape, 1 / 255, -128)
    flattened = False
    counts = {}
    for layer in layers:
        kind = layer["kind"]
        if kind == "FLATTEN":
            flattened = True  # FULLY_CONNECTED flattens by itself
            continue
        counts[kind] = counts.get(kind, 0) + 1
        name = {"CONV_2D": "conv", "DEPTHWISE_CONV_2D": "depthwise", "MAX_POOL_2D": "pool", "FULLY_CONNECTED": "dense"}
        name = f"{name[kind]}{counts[kind]}"
        inputs, padding = [last], "VALID"
        if kind == "MAX_POOL_2D":
            shape = [1, shape[1] // 2, shape[2] // 2, shape[3]]
        else:
            w, dimension = layer["w_int"], 0
            if kind == "CONV_2D":
                w = w.transpose(0, 2, 3, 1)  # OIHW to OHWI
            elif kind == "DEPTHWISE_CONV_2D":
                w, dimension = w.transpose(1, 2, 3, 0), 3  # [c, 1, h, w] to [1, h, w, c]
            elif flattened:
                w, flattened = _flat(w, shape[3]), False
            if kind == "FULLY_CONNECTED":
                shape = [1, len(w)]
            else:
                padding = "SAME" if layer["padding"] else "VALID"
                lost = 0 if layer["padding"] else w.shape[1] - 1
                shape = [1, shape[1] - lost, shape[2] - lost, len(layer["b_int"])]
            w = np.ascontiguousarray(w)
            tensor(name + "/weights", "INT8", w.shape, layer["w_scale"], 0, dimension, w)
            tensor(name + "/bias", "INT32", layer["b_int"].shape, layer["b_scale"], 0, 0, layer["b_int"])
            inputs += [name + "/weights", name + "/bias"]
        tensor(name, "INT8", shape, layer["out_scale"], layer["out_zero"])
        activation = "RELU" if layer.get("relu") else "NONE"
        lines.append(f"operator {kind} {','.join(inputs)} {name} {padding} {activation}")
        last = name
    tensor("scores", "INT8", shape, 1 / 256, -128)
    lines.append(f"operator SOFTMAX {last} scores VALID NONE")
    (folder / "model.txt").write_text("\n".join(lines) + "\n")
    (folder / "weights.bin").write_bytes(bytes(blob))
