// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.fold;

import static io.thalamus.model.LittleEndian.SHORT;

import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxTensor;
import io.thalamus.onnx.file.Refusal;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The way from constants of a file to values. */
public final class Tensors {
  private static final int MAX_RANK = 32;

  private Tensors() {}

  /** The dimensions as a file has them, which must be countable. */
  public static int[] shape(String name, long[] dims) {
    if (dims.length > MAX_RANK) {
      throw new Refusal("'" + name + "' has " + dims.length + " dimensions");
    }
    int[] shape = new int[dims.length];
    long count = 1;
    for (int i = 0; i < dims.length; i++) {
      if (dims[i] < 0 || dims[i] > Integer.MAX_VALUE) {
        throw new Refusal("'" + name + "' has a dimension of " + dims[i]);
      }
      shape[i] = (int) dims[i];
      count = Math.multiplyExact(count, dims[i]);
      if (count > Integer.MAX_VALUE) {
        throw new Refusal("'" + name + "' has too many elements");
      }
    }
    return shape;
  }

  /**
   * A constant; its bytes are not copied where the file has them as they are needed.
   *
   * @throws Refusal where type, dimensions and data do not fit together
   */
  public static Tensor of(OnnxTensor constant, Budget budget) {
    String name = constant.name();
    DataType type =
        DataType.of(constant.type())
            .orElseThrow(
                () -> new Refusal("'" + name + "' is of " + DataType.text(constant.type())));
    int[] shape;
    try {
      shape = shape(name, constant.dims());
    } catch (ArithmeticException e) {
      throw new Refusal("'" + name + "' has too many elements", e);
    }
    if (constant.type() == DataType.BFLOAT16) {
      return widened(constant, shape, budget);
    }
    if (type.is4Bit()) {
      return apart(constant, type, shape, budget);
    }
    long expected = (long) Dims.count(shape) * type.elements().size();
    if (constant.raw().byteSize() > 0) {
      if (constant.raw().byteSize() != expected) {
        throw mismatch(name, shape, constant.raw().byteSize() + " bytes");
      }
      return new Tensor(type, shape, constant.raw());
    }
    if (constant.numbers().size() != Dims.count(shape)) {
      throw mismatch(name, shape, constant.numbers().size() + " elements");
    }
    ByteBuffer bytes = ByteBuffer.wrap(budget.bytes(expected)).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < constant.numbers().size(); i++) {
      put(bytes, type.elements().size(), constant.numbers().get(i));
    }
    return new Tensor(type, shape, MemorySegment.ofArray(bytes.array()));
  }

  /** Two integers stand in a byte, the first in its low half, or as a number among the numbers. */
  private static Tensor apart(OnnxTensor constant, DataType type, int[] shape, Budget budget) {
    MemorySegment raw = constant.raw();
    boolean isRaw = raw.byteSize() > 0;
    int count = Dims.count(shape);
    long pairs = isRaw ? raw.byteSize() : constant.numbers().size();
    if (pairs != (count + 1L) / 2) {
      throw mismatch(constant.name(), shape, pairs + " pairs of elements");
    }
    byte[] values = budget.bytes(count);
    for (int i = 0; i < count; i++) {
      int pair =
          isRaw ? raw.get(ValueLayout.JAVA_BYTE, i / 2) : (int) constant.numbers().get(i / 2);
      int bits = i % 2 == 0 ? pair & 0xF : pair >> 4 & 0xF;
      values[i] = (byte) (type == DataType.INT4 ? bits << 28 >> 28 : bits);
    }
    return new Tensor(type, shape, MemorySegment.ofArray(values));
  }

  /** The upper halves of FLOATs, which stand among the numbers as 16 bits each. */
  private static Tensor widened(OnnxTensor constant, int[] shape, Budget budget) {
    MemorySegment raw = constant.raw();
    boolean isRaw = raw.byteSize() > 0;
    long count = isRaw ? raw.byteSize() / 2 : constant.numbers().size();
    if (count != Dims.count(shape) || isRaw && raw.byteSize() % 2 != 0) {
      throw mismatch(constant.name(), shape, count + " elements");
    }
    ByteBuffer bytes = ByteBuffer.wrap(budget.bytes(4 * count)).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      long bits = isRaw ? raw.get(SHORT, 2L * i) : constant.numbers().get(i);
      bytes.putInt((int) bits << 16);
    }
    return new Tensor(DataType.FLOAT, shape, MemorySegment.ofArray(bytes.array()));
  }

  private static void put(ByteBuffer bytes, int width, long bits) {
    switch (width) {
      case 1 -> bytes.put((byte) bits);
      case 2 -> bytes.putShort((short) bits);
      case 4 -> bytes.putInt((int) bits);
      default -> bytes.putLong(bits);
    }
  }

  private static Refusal mismatch(String name, int[] shape, String data) {
    return new Refusal(
        "the file is damaged: '%s' of shape %s has %s".formatted(name, Dims.text(shape), data));
  }
}
