// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.tensorflow.lite.schema.TensorType;

/**
 * The way a tensor is quantized in blocks: each row is cut into some of the same length, and each
 * has a scale.
 *
 * @param scales the tensor of the scales
 * @param zeroPoints the tensor of the zero points; negative where all are 0
 * @param size the elements of a block
 */
public record FlatBlocks(int scales, int zeroPoints, int size) {
  /** A tensor that is so quantized, with the scales and zero points that stand in others. */
  static FlatTensor resolve(
      FlatTensor tensor, List<FlatTensor> tensors, SharedMemory file, Checked place) {
    FlatBlocks blocks = tensor.blocks();
    int[] shape = tensor.shape();
    long count = 1;
    for (int dimension : shape) {
      count = Math.min(count * Math.max(0, dimension), Integer.MAX_VALUE);
    }
    boolean isCut =
        shape.length > 0
            && blocks.size > 0
            && shape[shape.length - 1] % blocks.size == 0
            && tensor.quantizedDimension() == 0;
    if (!isCut) {
      throw new Refusal(
          "%s is quantized in blocks of %s elements, which its rows do not consist of"
              .formatted(tensor.text(), blocks.size));
    }
    int scaled = (int) (count / blocks.size);
    place.payFor(scaled);
    float[] scales = new float[scaled];
    double[] read = numbers(tensor, blocks.scales, scaled, tensors, file);
    for (int i = 0; i < scaled; i++) {
      scales[i] = (float) read[i];
    }
    if (blocks.zeroPoints < 0) {
      return tensor.with(scales, new long[0]);
    }
    long[] zeroPoints = new long[scaled];
    read = numbers(tensor, blocks.zeroPoints, scaled, tensors, file);
    for (int i = 0; i < scaled; i++) {
      zeroPoints[i] = (long) read[i];
    }
    return tensor.with(scales, zeroPoints);
  }

  private static double[] numbers(
      FlatTensor tensor, int index, int count, List<FlatTensor> tensors, SharedMemory file) {
    if (index < 0 || index >= tensors.size()) {
      throw new Refusal(
          "the file is damaged: the blocks of %s have tensor number %s of %s"
              .formatted(tensor.text(), index, tensors.size()));
    }
    FlatTensor numbers = tensors.get(index);
    Elements format =
        switch (numbers.type()) {
          case TensorType.FLOAT32 -> Elements.FLOAT32;
          case TensorType.FLOAT16 -> Elements.FLOAT16;
          case TensorType.INT32 -> Elements.INT32;
          case TensorType.INT64 -> Elements.INT64;
          default -> null;
        };
    if (format == null || numbers.data().length() != (long) count * format.size()) {
      throw new Refusal(
          "the file is damaged: %s does not have a number for each of the %s blocks of %s"
              .formatted(numbers.text(), count, tensor.text()));
    }
    MemorySegment bytes = file.segment().asSlice(numbers.data().offset(), numbers.data().length());
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      values[i] = format.getDouble(bytes, i);
    }
    return values;
  }
}
