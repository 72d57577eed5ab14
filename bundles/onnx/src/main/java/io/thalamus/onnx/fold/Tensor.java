// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.fold;

import static io.thalamus.model.LittleEndian.LONG;

import io.thalamus.model.Elements;
import io.thalamus.onnx.file.DataType;
import io.thalamus.operations.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;

/**
 * A value that is known while a model is read. Immutable.
 *
 * <p>Does not copy what it is made of, which must not be changed afterwards.
 *
 * @param type of the elements
 * @param shape the dimensions; none for a scalar
 * @param bytes the elements, little-endian, row-major
 */
public record Tensor(DataType type, int[] shape, MemorySegment bytes) {
  /** Bytes of a run below which a copy between segments takes longer than one of arrays. */
  private static final int SHORT_RUN = 32;

  /** Elements that are read from as many lines of memory, all of which stay in a cache. */
  private static final int PIECE = 256;

  /** Elements that are only moved: their order of bytes does not matter. */
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;

  /** A scalar or a vector of integers, as shapes and indexes are. */
  public static Tensor ofLongs(int[] shape, long... values) {
    MemorySegment bytes = MemorySegment.ofArray(new byte[8 * values.length]);
    for (int i = 0; i < values.length; i++) {
      bytes.setAtIndex(LONG, i, values[i]);
    }
    return new Tensor(DataType.INT64, shape, bytes);
  }

  /** An empty tensor to be filled. */
  private static Tensor allocate(DataType type, int[] shape, Budget budget) {
    long size = (long) Dims.count(shape) * type.elements().size();
    return new Tensor(type, shape, MemorySegment.ofArray(budget.bytes(size)));
  }

  /** A tensor with a number everywhere. */
  public static Tensor fill(DataType type, int[] shape, double value, Budget budget) {
    Tensor tensor = allocate(type, shape, budget);
    if (value != 0) {
      int count = tensor.count();
      for (int i = 0; i < count; i++) {
        tensor.set(i, value);
      }
    }
    return tensor;
  }

  /** A tensor of these numbers. */
  public static Tensor of(DataType type, int[] shape, double[] values, Budget budget) {
    Tensor tensor = allocate(type, shape, budget);
    for (int i = 0; i < values.length; i++) {
      tensor.set(i, values[i]);
    }
    return tensor;
  }

  /** The number of elements. */
  public int count() {
    return Dims.count(shape);
  }

  /** One element as a real number. */
  public double number(int index) {
    return type.elements().getDouble(bytes, index);
  }

  /** One element as an integer. */
  public long integer(int index) {
    return type.elements() == Elements.INT64 ? bytes.getAtIndex(LONG, index) : (long) number(index);
  }

  private void set(int index, double value) {
    type.elements().setDouble(bytes, index, type == DataType.BOOL ? value == 0 ? 0 : 1 : value);
  }

  private void set(int index, long value) {
    if (type.elements() == Elements.INT64) {
      bytes.setAtIndex(LONG, index, value);
    } else if (type.isFloat() || type == DataType.BOOL) {
      set(index, (double) value);
    } else {
      type.elements().setInt(bytes, index, (int) value);
    }
  }

  /** All elements as integers. */
  public long[] integers() {
    long[] values = new long[count()];
    for (int i = 0; i < values.length; i++) {
      values[i] = integer(i);
    }
    return values;
  }

  /** The same elements in another shape. */
  public Tensor reshape(int... changed) {
    return new Tensor(type, changed, bytes);
  }

  /** The elements at places that are counted by strides. */
  public Tensor view(int[] size, int[] strides, int offset, Budget budget) {
    int width = type.elements().size();
    int count = Dims.count(size);
    if (count == 0) {
      return allocate(type, size, budget);
    }
    long[] steps = new long[strides.length];
    Arrays.setAll(steps, axis -> strides[axis]);
    StridedCopy copy = StridedCopy.gather(size, offset, steps);
    int length = copy.runLength();
    if (copy.runSourceStride() == 1 && (long) length * width >= SHORT_RUN) {
      Tensor result = allocate(type, size, budget);
      long run = (long) length * width;
      copy.forEachRun(
          (from, to) -> MemorySegment.copy(bytes, from * width, result.bytes, to * width, run));
      return result;
    }
    // Arrays: a new process takes long to copy each element between segments.
    long first = offset;
    long last = offset;
    for (int d = 0; d < size.length; d++) {
      long reach = (size[d] - 1) * steps[d];
      first += Math.min(reach, 0);
      last += Math.max(reach, 0);
    }
    int seen = Math.toIntExact(last - first + 1);
    MemorySegment target =
        width == Integer.BYTES
            ? ints(copy, first, seen, count, budget)
            : bytes(copy, first, seen, count, budget);
    return new Tensor(type, size, target);
  }

  private MemorySegment ints(StridedCopy copy, long first, int seen, int count, Budget budget) {
    int[] source = budget.scratch(seen);
    MemorySegment.copy(bytes, INT, first * Integer.BYTES, source, 0, seen);
    MemorySegment target = MemorySegment.ofArray(budget.bytes(count * (long) Integer.BYTES));
    int[] piece = new int[PIECE];
    int step = (int) copy.runSourceStride();
    copy.forEachPiece(
        PIECE,
        (from, to, some) -> {
          copy(source, (int) (from - first), step, piece, some);
          MemorySegment.copy(piece, 0, target, INT, to * Integer.BYTES, some);
        });
    return target;
  }

  private MemorySegment bytes(StridedCopy copy, long first, int seen, int count, Budget budget) {
    int width = type.elements().size();
    int size = Math.multiplyExact(seen, width);
    byte[] source = budget.scratchBytes(size);
    MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, first * width, source, 0, size);
    byte[] target = budget.bytes((long) count * width);
    int step = (int) copy.runSourceStride() * width;
    copy.forEachPiece(
        PIECE,
        (from, to, some) -> {
          int start = (int) (from - first) * width;
          if (width == 1) {
            copy(source, start, step, target, (int) to, some);
          } else {
            copy(source, start, step, target, (int) to * width, some, width);
          }
        });
    return MemorySegment.ofArray(target);
  }

  /** A method of its own: called often, it is soon compiled in a new process. */
  private static void copy(int[] source, int from, int step, int[] target, int count) {
    int place = from;
    for (int at = 0; at < count; at++) {
      target[at] = source[place];
      place += step;
    }
  }

  private static void copy(byte[] source, int from, int step, byte[] target, int to, int count) {
    int place = from;
    for (int at = to; at < to + count; at++) {
      target[at] = source[place];
      place += step;
    }
  }

  /** As above, for elements of other sizes. */
  private static void copy(
      byte[] source, int from, int step, byte[] target, int to, int count, int width) {
    int place = from;
    int end = to + count * width;
    for (int at = to; at < end; at += width) {
      for (int i = 0; i < width; i++) {
        target[at + i] = source[place + i];
      }
      place += step;
    }
  }

  /** The elements at these places. */
  public Tensor take(int[] size, int[] places, Budget budget) {
    Tensor result = allocate(type, size, budget);
    int width = type.elements().size();
    for (int i = 0; i < places.length; i++) {
      MemorySegment.copy(bytes, (long) width * places[i], result.bytes, (long) width * i, width);
    }
    return result;
  }

  /** Several tensors, one after the other along an axis. */
  public static Tensor concat(List<Tensor> parts, int axis, int[] shape, Budget budget) {
    Tensor result = allocate(parts.getFirst().type, shape, budget);
    int width = result.type.elements().size();
    int outer = Dims.count(shape, 0, axis);
    long row = (long) Dims.count(shape, axis, shape.length) * width;
    long start = 0;
    for (Tensor part : parts) {
      long length = (long) Dims.count(part.shape, axis, shape.length) * width;
      for (int i = 0; i < outer; i++) {
        MemorySegment.copy(part.bytes, i * length, result.bytes, i * row + start, length);
      }
      start += length;
    }
    return result;
  }

  /** The elements in another type, as ONNX's Cast converts them. */
  public Tensor cast(DataType target, Budget budget) {
    Tensor result = allocate(target, shape, budget);
    boolean isExact = !type.isFloat() && !target.isFloat();
    for (int i = 0; i < count(); i++) {
      if (isExact) {
        result.set(i, integer(i));
      } else {
        result.set(i, number(i));
      }
    }
    return result;
  }

  /** A function of each element. */
  public Tensor map(
      DataType target, DoubleUnaryOperator reals, LongUnaryOperator integers, Budget budget) {
    Tensor result = allocate(target, shape, budget);
    for (int i = 0; i < count(); i++) {
      if (type.isFloat()) {
        result.set(i, reals.applyAsDouble(number(i)));
      } else {
        result.set(i, integers.applyAsLong(integer(i)));
      }
    }
    return result;
  }

  /** A function of each pair of elements, with broadcasting to a shape. */
  public static Tensor combine(
      Tensor a,
      Tensor b,
      DataType target,
      int[] shape,
      DoubleBinaryOperator reals,
      LongBinaryOperator integers,
      Budget budget) {
    Tensor left = a.expand(shape, budget);
    Tensor right = b.expand(shape, budget);
    Tensor result = allocate(target, shape, budget);
    for (int i = 0; i < result.count(); i++) {
      if (a.type.isFloat()) {
        result.set(i, reals.applyAsDouble(left.number(i), right.number(i)));
      } else {
        result.set(i, integers.applyAsLong(left.integer(i), right.integer(i)));
      }
    }
    budget.release(left == a ? 0 : left.bytes.byteSize());
    budget.release(right == b ? 0 : right.bytes.byteSize());
    return result;
  }

  /** The elements repeated to a shape. */
  public Tensor expand(int[] target, Budget budget) {
    return Arrays.equals(shape, target)
        ? this
        : view(target, Dims.broadcastStrides(shape, target), 0, budget);
  }
}
