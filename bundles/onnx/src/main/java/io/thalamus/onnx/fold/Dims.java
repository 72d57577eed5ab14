// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.fold;

import java.util.Arrays;

/** Arithmetic of dimensions, outermost first; none is negative. */
public final class Dims {
  private Dims() {}

  /**
   * The number of elements.
   *
   * @throws ArithmeticException where it is beyond an int
   */
  public static int count(int... shape) {
    long count = 1;
    for (int size : shape) {
      count = Math.multiplyExact(count, size);
      if (count > Integer.MAX_VALUE) {
        throw new ArithmeticException("too many elements");
      }
    }
    return (int) count;
  }

  /** The number of elements of the dimensions from one on up to another. */
  public static int count(int[] shape, int from, int to) {
    return count(Arrays.copyOfRange(shape, from, to));
  }

  /** The distances of neighbours along each dimension, in elements. */
  public static int[] strides(int... shape) {
    int[] strides = new int[shape.length];
    int stride = 1;
    for (int i = shape.length - 1; i >= 0; i--) {
      strides[i] = stride;
      stride = Math.multiplyExact(stride, shape[i]);
    }
    return strides;
  }

  /** The same within a larger shape: 0 along each dimension that is repeated. */
  public static int[] broadcastStrides(int[] shape, int[] target) {
    int[] own = strides(shape);
    int[] strides = new int[target.length];
    int shift = target.length - shape.length;
    for (int i = 0; i < shape.length; i++) {
      strides[i + shift] = shape[i] == 1 ? 0 : own[i];
    }
    return strides;
  }

  /**
   * The shape of two values that are broadcast to each other.
   *
   * @return null where they do not fit
   */
  public static int[] broadcast(int[] a, int[] b) {
    int[] result = new int[Math.max(a.length, b.length)];
    for (int i = 1; i <= result.length; i++) {
      int x = i <= a.length ? a[a.length - i] : 1;
      int y = i <= b.length ? b[b.length - i] : 1;
      if (x != y && x != 1 && y != 1) {
        return null;
      }
      result[result.length - i] = x == 1 ? y : x;
    }
    return result;
  }

  /** The values at these places. */
  public static int[] permute(int[] values, int... places) {
    int[] permuted = new int[places.length];
    for (int i = 0; i < places.length; i++) {
      permuted[i] = values[places[i]];
    }
    return permuted;
  }

  /** Returns whether an order moves no dimensions but those of size 1. */
  public static boolean isInOrder(int[] shape, int... order) {
    int last = -1;
    for (int axis : order) {
      if (shape[axis] != 1) {
        if (axis < last) {
          return false;
        }
        last = axis;
      }
    }
    return true;
  }

  /** The number of zeros, which stand for sizes that only an execution determines. */
  public static int zeros(int... shape) {
    int zeros = 0;
    for (int size : shape) {
      zeros += size == 0 ? 1 : 0;
    }
    return zeros;
  }

  /** The permutation that undoes another. */
  public static int[] inverse(int... permutation) {
    int[] inverse = new int[permutation.length];
    for (int i = 0; i < permutation.length; i++) {
      inverse[permutation[i]] = i;
    }
    return inverse;
  }

  /** The numbers from 0 on. */
  public static int[] range(int count) {
    int[] range = new int[count];
    Arrays.setAll(range, i -> i);
    return range;
  }

  /** So many ones. */
  public static int[] ones(int count) {
    int[] ones = new int[count];
    Arrays.fill(ones, 1);
    return ones;
  }

  /** The shape of elements along one of so many axes. */
  public static int[] along(int rank, int axis, int size) {
    return with(ones(rank), axis, size);
  }

  /** A copy with one value replaced. */
  public static int[] with(int[] values, int place, int value) {
    int[] changed = values.clone();
    changed[place] = value;
    return changed;
  }

  /** A copy with one value more. */
  public static int[] insert(int[] values, int place, int value) {
    int[] longer = new int[values.length + 1];
    System.arraycopy(values, 0, longer, 0, place);
    longer[place] = value;
    System.arraycopy(values, place, longer, place + 1, values.length - place);
    return longer;
  }

  /** A copy without one value. */
  public static int[] remove(int[] values, int place) {
    int[] shorter = Arrays.copyOf(values, values.length - 1);
    System.arraycopy(values, place + 1, shorter, place, values.length - place - 1);
    return shorter;
  }

  /** All values, one list after the other. */
  public static int[] join(int[]... lists) {
    return Arrays.stream(lists).flatMapToInt(Arrays::stream).toArray();
  }

  /** For people: {@code 1x3x8}. */
  public static String text(int... shape) {
    if (shape.length == 0) {
      return "[]";
    }
    StringBuilder text = new StringBuilder().append(shape[0]);
    for (int i = 1; i < shape.length; i++) {
      text.append('x').append(shape[i]);
    }
    return text.toString();
  }
}
