// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.OperationCode;
import io.thalamus.model.reader.Phases;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import io.thalamus.onnx.layout.Grid;
import java.util.Arrays;
import java.util.Optional;

/** Transposed convolutions of images, or of lines, by {@link Phases}. */
final class TransposedConvolution {
  private static final int AXES = 2;

  private TransposedConvolution() {}

  /**
   * Convolves over one or two axes.
   *
   * @param weights by channel of the value, channel of the result, and taps
   * @param bias null for none
   * @param pads by axis, the results cut away at its begin, then those at its end
   * @param output sizes of the result by axis
   * @return nothing for what has no such form
   */
  static Optional<Value> of(
      Ops ops, Value value, Value weights, Value bias, int[] strides, int[] pads, int[] output) {
    boolean isKnown = value.type().isFloat() && weights.type() == value.type();
    if (!isKnown || !weights.isConstant() || strides.length > AXES) {
      return Optional.empty();
    }
    if (strides.length == 1) {
      Value flat = ops.reshape(value, Dims.insert(value.shape(), 2, 1));
      Value filter = ops.reshape(weights, Dims.insert(weights.shape(), 2, 1));
      int[] all = {0, pads[0], 0, pads[1]};
      return of(ops, flat, filter, bias, new int[] {1, strides[0]}, all, Dims.insert(output, 0, 1))
          .map(result -> ops.reshape(result, Dims.remove(result.shape(), 2)));
    }
    int[] size = Arrays.copyOfRange(value.shape(), 2, 2 + AXES);
    int[] kernel = Arrays.copyOfRange(weights.shape(), 2, 2 + AXES);
    return Phases.of(size, kernel, strides, pads, output)
        .map(phases -> emit(ops, phases, value, weights, bias, output));
  }

  private static Value emit(
      Ops ops, Phases phases, Value value, Value weights, Value bias, int[] output) {
    int units = weights.dim(1);
    int places = phases.places();
    Emitter.require(
        bias == null || bias.rank() == 1 && bias.dim(0) == units,
        "its bias does not fit its weights");
    Value added =
        bias == null
            ? ops.fill(value.type(), new int[] {places * units}, 0)
            : ops.reshape(ops.expand(ops.reshape(bias, 1, units), places, units), places * units);
    int batches = value.dim(0);
    Value result =
        ops.emitSized(
            value.type(),
            new int[] {batches, phases.positions()[0], phases.positions()[1], places * units},
            OperationCode.CONV_2D,
            ops.operand(ops.transpose(value, Convolution.CHANNELS_LAST)),
            ops.operand(filter(ops, phases, weights)),
            ops.operand(added),
            ops.int32(phases.before()[1]),
            ops.int32(phases.after()[1]),
            ops.int32(phases.before()[0]),
            ops.int32(phases.after()[0]),
            ops.int32(1),
            ops.int32(1),
            ops.int32(0));
    int[] wide = {batches, phases.moved(0), phases.moved(1), units};
    int block = phases.strides()[0];
    result =
        block == 1
            ? ops.reshape(result, wide)
            : ops.emitSized(
                value.type(),
                wide,
                OperationCode.DEPTH_TO_SPACE,
                ops.operand(result),
                ops.int32(block));
    for (int i = 0; i < AXES; i++) {
      if (result.dim(1 + i) != output[i]) {
        result = ops.part(result, 1 + i, phases.cut()[i], output[i]);
      }
    }
    return ops.transpose(result, Convolution.CHANNELS_FIRST);
  }

  private static Value filter(Ops ops, Phases phases, Value weights) {
    int units = weights.dim(1);
    int channels = weights.dim(0);
    int[] shape = {phases.places() * units, phases.taps()[0], phases.taps()[1], channels};
    Grid grid = weights.grid() == null ? null : weights.grid().repeated(1, phases.places());
    Value turned = ops.transpose(weights, 1, 2, 3, 0);
    Tensor from = (grid == null ? turned : turned.bytes()).constant();
    Tensor to = Tensor.fill(from.type(), shape, 0, ops.budget());
    if (grid != null) {
      grid.fillZeros(to);
    }
    long cell = (long) channels * from.type().elements().size();
    phases.copyWeights(from.bytes(), to.bytes(), units, cell);
    return grid == null ? Value.of(to) : Value.onGrid(Value.of(to), grid, ops.budget());
  }
}
