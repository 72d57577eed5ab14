// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import static io.thalamus.model.LittleEndian.LONG;

import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Elements;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import io.thalamus.model.SubgraphBuilder;
import io.thalamus.tflite.file.ByteRange;
import io.thalamus.tflite.file.FlatTensor;
import io.thalamus.tflite.file.Refusal;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.tensorflow.lite.schema.TensorType;

/**
 * The values of constants. Those that NNAPI takes as they stand in the file refer to its mapping;
 * others (dequantized weights, narrowed integers, zeros for what is left out) are derived and
 * travel with the model, however large. Not thread-safe.
 *
 * <p>Many operators may derive a constant from the same bytes, so the sum is bounded by the size of
 * the file: a damaged file must not exhaust the memory.
 */
final class Constants {
  private final SharedMemory file;
  private final Map<Filling, ConstantCopy> fillings = new HashMap<>();
  private long budget;

  Constants(SharedMemory file) {
    this.file = file;
    this.budget = (1 << 20) + 16 * file.size();
  }

  /**
   * The constant as it stands in the file.
   *
   * @throws Refusal where the bytes do not match the tensor's shape and type
   */
  Lifetime.Constant place(FlatTensor tensor) {
    MemorySegment bytes = bytes(tensor);
    if (tensor.isSparse() || tensor.isPacked()) {
      return new ConstantCopy(bytes.toArray(ValueLayout.JAVA_BYTE));
    }
    long offset = tensor.data().offset();
    if (offset % TensorTypes.elementSize(tensor) != 0) {
      allocate(bytes.byteSize(), tensor);
      return new ConstantCopy(bytes.toArray(ValueLayout.JAVA_BYTE));
    }
    return SubgraphBuilder.place(file, offset, bytes.byteSize());
  }

  /** Returns whether integers of a constant become those of 32 bits. */
  static boolean isNarrowed(FlatTensor tensor) {
    return TensorTypes.code(tensor) == OperandCode.TENSOR_INT32
        && !tensor.is(TensorType.INT32)
        && !tensor.is(TensorType.UINT32);
  }

  /** The constant in the form in which graphs compute with such a tensor. */
  Lifetime.Constant value(FlatTensor tensor) {
    if (tensor.is(TensorType.FLOAT64) || Wide16.isQuantized(tensor)) {
      return floats(tensor);
    }
    return isNarrowed(tensor) ? narrowed(tensor) : place(tensor);
  }

  /** The number of elements of a constant, all of which the file holds. */
  int elementCount(FlatTensor tensor) {
    return (int) (bytes(tensor).byteSize() / TensorTypes.elementSize(tensor));
  }

  /**
   * The values of a constant of integers or truths; 64-bit ones must fit 32 bits, and unsigned ones
   * of 32 are their bits.
   */
  int[] ints(FlatTensor tensor) {
    boolean isTruth = tensor.is(TensorType.BOOL);
    if (!isTruth && (TensorTypes.code(tensor) != OperandCode.TENSOR_INT32)) {
      throw new Refusal(tensor.text() + " is " + tensor.typeName() + ", not INT32");
    }
    if (isEmpty(tensor)) {
      return new int[0];
    }
    Elements format = isTruth ? Elements.INT8 : TensorTypes.integers(tensor);
    MemorySegment bytes = bytes(tensor);
    int[] values = new int[elementCount(tensor)];
    for (int i = 0; i < values.length; i++) {
      values[i] =
          format == Elements.INT64
              ? narrow(bytes.getAtIndex(LONG, i), tensor)
              : format.getInt(bytes, i);
    }
    return values;
  }

  /** The integers of a constant as they are stored. */
  int[] stored(FlatTensor tensor) {
    MemorySegment bytes = bytes(tensor);
    Elements format = TensorTypes.integers(tensor);
    int count = elementCount(tensor);
    allocate(4L * count, tensor);
    int[] values = new int[count];
    for (int i = 0; i < count; i++) {
      values[i] = format.getInt(bytes, i);
    }
    return values;
  }

  private static int narrow(long value, FlatTensor tensor) {
    if (value != (int) value) {
      throw new Refusal(tensor.text() + " holds " + value + ", which does not fit 32 bits");
    }
    return (int) value;
  }

  /** A constant of other integers as bytes of INT32. */
  Lifetime.Constant narrowed(FlatTensor tensor) {
    int[] values = ints(tensor);
    ByteBuffer out = buffer(4L * values.length, tensor);
    for (int value : values) {
      out.putInt(value);
    }
    return new ConstantCopy(out.array());
  }

  /** A constant of floats or quantized integers as bytes of FLOAT32. */
  Lifetime.Constant floats(FlatTensor tensor) {
    return of(floatValues(tensor), tensor);
  }

  /** The same, where the numbers of each scale are multiplied by a factor too. */
  Lifetime.Constant floats(FlatTensor tensor, double[] factors) {
    int count = elementCount(tensor);
    allocate(4L * count, tensor);
    float[] values = new float[count];
    dequantize(tensor, bytes(tensor), values, factors);
    return of(values, tensor);
  }

  /** As many integers as wanted, from 0 on. */
  int[] range(int count, FlatTensor reason) {
    allocate(4L * count, reason);
    return IntStream.range(0, count).toArray();
  }

  /** A constant of these floats. */
  Lifetime.Constant of(float[] values, FlatTensor reason) {
    ByteBuffer out = buffer(4L * values.length, reason);
    for (float value : values) {
      out.putFloat(value);
    }
    return new ConstantCopy(out.array());
  }

  /** The real values of a constant of floats or quantized integers. */
  float[] floatValues(FlatTensor tensor) {
    MemorySegment bytes = bytes(tensor);
    int count = elementCount(tensor);
    allocate(4L * count, tensor);
    float[] values = new float[count];
    Elements format =
        switch (tensor.type()) {
          case TensorType.FLOAT32 -> Elements.FLOAT32;
          case TensorType.FLOAT16 -> Elements.FLOAT16;
          case TensorType.FLOAT64 -> Elements.FLOAT64;
          default -> null;
        };
    if (format != null) {
      for (int i = 0; i < count; i++) {
        values[i] = format.getFloat(bytes, i);
      }
    } else if (tensor.is8Bit() || tensor.scales().length > 0) {
      dequantize(tensor, bytes, values, new double[0]);
    } else {
      throw new Refusal(
          tensor.text() + " is " + tensor.typeName() + " and cannot be read as floats");
    }
    return values;
  }

  private static void dequantize(
      FlatTensor tensor, MemorySegment bytes, float[] values, double[] factors) {
    int channels = tensor.scales().length;
    if (channels == 0) {
      throw new Refusal(tensor.text() + " has no scale");
    }
    double[] scales = new double[channels];
    int[] zeroPoints = new int[channels];
    for (int c = 0; c < channels; c++) {
      scales[c] = TensorTypes.checkedScale(tensor, c) * (factors.length > 0 ? factors[c] : 1);
      zeroPoints[c] = TensorTypes.zeroPoint(tensor, c);
    }
    int inner = channels == 1 ? values.length : stride(tensor);
    Elements format = TensorTypes.integers(tensor);
    for (int i = 0; i < values.length; i++) {
      int channel = i / inner % channels;
      values[i] = (float) (scales[channel] * (format.getDouble(bytes, i) - zeroPoints[channel]));
    }
  }

  /** The integers of a constant, each times the factor of its place among the factors. */
  Lifetime.Constant scaled(FlatTensor tensor, double... factors) {
    MemorySegment bytes = bytes(tensor);
    Elements format = TensorTypes.integers(tensor);
    int count = elementCount(tensor);
    allocate(4L * count, tensor);
    float[] values = new float[count];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) (format.getDouble(bytes, i) * factors[i % factors.length]);
    }
    return of(values, tensor);
  }

  /** Counts the elements from one scale to the next. */
  private static int stride(FlatTensor tensor) {
    if (tensor.blocks() != null) {
      return tensor.blocks().size();
    }
    int dimension = tensor.quantizedDimension();
    int[] shape = tensor.shape();
    if (dimension < 0 || dimension >= shape.length || shape[dimension] != tensor.scales().length) {
      throw new Refusal(
          "%s has %d scales along dimension %d of %s"
              .formatted(tensor.text(), tensor.scales().length, dimension, Arrays.toString(shape)));
    }
    int stride = 1;
    for (int i = dimension + 1; i < shape.length; i++) {
      stride *= shape[i];
    }
    return stride;
  }

  /** So many bytes of one value. */
  private record Filling(long bytes, byte value) {}

  /** Zeros for something that the file leaves out, which are the same in all rounds of a loop. */
  ConstantCopy zeros(long bytes, FlatTensor reason) {
    return filled(bytes, 0, reason);
  }

  /** Bytes of one value, which are the same wherever as many of them are wanted. */
  ConstantCopy filled(long bytes, int value, FlatTensor reason) {
    return fillings.computeIfAbsent(
        new Filling(bytes, (byte) value),
        filling -> {
          byte[] all = buffer(bytes, reason).array();
          Arrays.fill(all, filling.value());
          return new ConstantCopy(all);
        });
  }

  /** As many elements as a shape has, all with these bytes. */
  ConstantCopy filled(Shape shape, byte[] element, FlatTensor reason) {
    ByteBuffer out = buffer(Math.multiplyExact(shape.elementCount(), element.length), reason);
    while (out.hasRemaining()) {
      out.put(element);
    }
    return new ConstantCopy(out.array());
  }

  /** A number as one element is stored. */
  static byte[] element(OperandType type, double value) {
    byte[] bytes = new byte[type.elementSize()];
    Elements.of(type).setDouble(MemorySegment.ofArray(bytes), 0, value);
    return bytes;
  }

  /** A copy of a range of the file. */
  byte[] copy(ByteRange range) {
    return file.segment().asSlice(range.offset(), range.length()).toArray(ValueLayout.JAVA_BYTE);
  }

  private ByteBuffer buffer(long size, FlatTensor reason) {
    allocate(size, reason);
    return ByteBuffer.allocate((int) size).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void allocate(long size, FlatTensor reason) {
    check(size, reason);
    budget -= size;
  }

  /** Returns whether so many bytes more are in proportion to the file. */
  boolean hasRoom(long size) {
    return size >= 0 && size <= Math.min(budget, Integer.MAX_VALUE);
  }

  private void check(long size, FlatTensor reason) {
    if (!hasRoom(size)) {
      throw new Refusal(
          "constants derived from the file grow out of proportion to it at " + reason.text());
    }
  }

  /** Room for the numbers of a constant, which {@link #of} makes of them. */
  float[] room(long count, FlatTensor reason) {
    check(Math.multiplyExact(count, Float.BYTES), reason);
    return new float[(int) count];
  }

  private static boolean isEmpty(FlatTensor tensor) {
    return tensor.data().isEmpty() && Arrays.stream(tensor.shape()).anyMatch(size -> size == 0);
  }

  private MemorySegment bytes(FlatTensor tensor) {
    long length = tensor.data().length();
    long expected = TensorTypes.elementSize(tensor);
    for (int dimension : tensor.shape()) {
      expected *= Math.max(0, dimension);
      // Once beyond what any file holds, further factors could only wrap around.
      expected = Math.min(expected, 1L << 32);
    }
    if (tensor.isSparse()) {
      byte[] dense = buffer(expected, tensor).array();
      SparseDecoder.expand(
          tensor,
          file.segment().asSlice(tensor.data().offset(), length),
          TensorTypes.elementSize(tensor),
          dense);
      return MemorySegment.ofArray(dense);
    }
    if (tensor.isPacked() && length == Math.ceilDiv(expected, 2)) {
      return apart(tensor, (int) expected);
    }
    if (expected != length) {
      throw new Refusal(
          "the file is damaged: %s of shape %s has %s bytes of data"
              .formatted(tensor.text(), Shape.of(nonNegative(tensor.shape())), length));
    }
    return file.segment().asSlice(tensor.data().offset(), length);
  }

  /** Two integers of 4 bits stand in a byte, the first in its low half. */
  private MemorySegment apart(FlatTensor tensor, int count) {
    byte[] values = buffer(count, tensor).array();
    for (int i = 0; i < count; i++) {
      byte pair = file.segment().get(ValueLayout.JAVA_BYTE, tensor.data().offset() + i / 2);
      values[i] = (byte) (i % 2 == 0 ? (byte) (pair << 4) >> 4 : pair >> 4);
    }
    return MemorySegment.ofArray(values);
  }

  private static int[] nonNegative(int[] shape) {
    return Arrays.stream(shape).map(size -> Math.max(0, size)).toArray();
  }
}
