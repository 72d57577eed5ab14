// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import java.util.Arrays;
import java.util.stream.LongStream;

/**
 * The numbers of a computed vector of sizes, as far as they are known. Immutable.
 *
 * @param numbers each, or {@link #UNKNOWN}
 * @param most the largest that any of them can be, or {@link #UNKNOWN}
 */
record Sizes(long[] numbers, long most) {
  static final long UNKNOWN = Long.MIN_VALUE;

  private static final int MOST = 64;

  Sizes(long... numbers) {
    this(numbers, UNKNOWN);
  }

  long get(int place) {
    return numbers[place];
  }

  /** Of vectors, as PyTorch has sizes where -1 keeps one: each number by those in its place. */
  private static Sizes each(Node node) {
    Sizes[] parts = new Sizes[node.inputs()];
    int count = 1;
    for (int i = 0; i < parts.length; i++) {
      Value part = node.any(i);
      parts[i] = part.isSequence() || part.isOpen() || part.rank() > 1 ? null : of(part);
      if (parts[i] == null) {
        return null;
      }
      count = Math.max(count, parts[i].numbers.length);
    }
    boolean isChoice = parts.length == 3;
    long[] numbers = new long[count];
    for (int i = 0; i < count; i++) {
      long first = parts[0].at(i, count);
      long a = parts[isChoice ? 1 : 0].at(i, count);
      long b = parts[isChoice ? 2 : 1].at(i, count);
      if (isChoice) {
        numbers[i] = a == b ? a : first == UNKNOWN ? UNKNOWN : first != 0 ? a : b;
      } else {
        numbers[i] = a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a == b ? 1 : 0;
      }
    }
    return new Sizes(numbers);
  }

  private long at(int place, int count) {
    return numbers.length == count ? numbers[place] : numbers.length == 1 ? numbers[0] : UNKNOWN;
  }

  /** Returns whether each number is known. */
  boolean isWhole() {
    return most == UNKNOWN && Arrays.stream(numbers).noneMatch(number -> number == UNKNOWN);
  }

  /** What is known of a value; null where it is nothing. */
  static Sizes of(Value value) {
    if (value.sizes() != null) {
      return value.sizes();
    }
    boolean isSize =
        value.isConstant() && !value.type().isFloat() && value.rank() <= 1 && value.count() <= MOST;
    return isSize ? new Sizes(value.constant().integers()) : null;
  }

  /** What is known of the first result of an operator because of its inputs; null for nothing. */
  static Sizes result(Node node) {
    switch (node.onnx().type()) {
      case "Cast", "Identity", "Squeeze", "Unsqueeze", "Reshape" -> {
        return node.any(0).sizes();
      }
      case "Gather" -> {
        Sizes from = node.any(0).sizes();
        if (from != null && node.isKnown(1) && node.in(1).count() <= MOST) {
          long[] places = node.in(1).constant().integers();
          int count = from.numbers.length;
          return new Sizes(
              Arrays.stream(places)
                  .map(place -> place < 0 ? place + count : place)
                  .map(place -> place >= 0 && place < count ? from.numbers[(int) place] : UNKNOWN)
                  .toArray());
        }
        return null;
      }
      case "Concat" -> {
        LongStream joined = LongStream.empty();
        boolean isAny = false;
        for (int i = 0; i < node.inputs(); i++) {
          Value part = node.any(i);
          if (part.isSequence() || part.isOpen() || part.rank() != 1 || part.dim(0) > MOST) {
            return null;
          }
          Sizes sizes = of(part);
          isAny |= sizes != null;
          long[] numbers = new long[part.dim(0)];
          Arrays.fill(numbers, UNKNOWN);
          joined =
              LongStream.concat(joined, Arrays.stream(sizes == null ? numbers : sizes.numbers));
        }
        return isAny ? new Sizes(joined.toArray()) : null;
      }
      case "Equal", "Where" -> {
        return each(node);
      }
      case "ReduceMin", "Min" -> {
        long least = UNKNOWN;
        for (int i = 0; i < (node.onnx().type().equals("Min") ? node.inputs() : 1); i++) {
          Sizes sizes = of(node.any(i));
          for (long number : sizes == null ? new long[0] : sizes.numbers) {
            least = number == UNKNOWN ? least : least == UNKNOWN ? number : Math.min(least, number);
          }
        }
        return least == UNKNOWN ? null : new Sizes(new long[] {UNKNOWN}, least);
      }
      default -> {
        return null;
      }
    }
  }
}
