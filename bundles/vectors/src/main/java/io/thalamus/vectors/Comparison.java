// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.Elements;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import io.thalamus.model.Tolerance;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;

/**
 * AOSP's rules for when a result equals the expected one: {@link Tolerance} by type, distributions
 * instead of values for RANDOM_MULTINOMIAL. Immutable.
 */
public final class Comparison {
  private final DecodedExample example;
  private final boolean isRelaxed;

  /** The rules for the outputs of an example. */
  public Comparison(DecodedExample example) {
    this.example = example;
    this.isRelaxed = Tolerance.isRelaxed(example.model());
  }

  /** Returns how far an output of this type may be off. */
  public Tolerance tolerance(OperandType type) {
    return Tolerance.of(type, isRelaxed);
  }

  /**
   * Compares the shape of an output.
   *
   * @return what is wrong, or empty
   */
  public Optional<String> compareShape(int output, Shape actual) {
    Shape expected = example.outputs().get(output).operand().shape();
    // Zeros as they are: in a result they mean that there are no elements.
    return actual.equals(expected)
        ? Optional.empty()
        : wrong(
            output,
            " has shape %s, expected %s",
            Arrays.toString(actual.toArray()),
            Arrays.toString(expected.toArray()));
  }

  /** The fault of an output, behind the operation that writes it, in one line. */
  private Optional<String> wrong(int output, String format, Object... values) {
    int operand = example.model().main().outputIndexes().get(output);
    String operation =
        example.model().main().operations().stream()
            .filter(one -> one.outputs().contains(operand))
            .map(one -> one.type().text())
            .findFirst()
            .orElse("nothing");
    return Optional.of(operation + ": output " + output + format.formatted(values));
  }

  /**
   * Compares the elements of an output, as many as its expected shape has.
   *
   * @param actual at least that many elements
   * @return the first one that is wrong, or empty; an ignored output is wrong only where
   *     distributions are compared
   */
  public Optional<String> compare(int output, MemorySegment actual) {
    DecodedExample.Expected expected = example.outputs().get(output);
    if (example.example().multinomialTolerance() > 0) {
      return compareDistribution(output, expected.operand(), actual);
    }
    if (expected.ignored() || !(expected.operand().type() instanceof OperandCode type)) {
      return Optional.empty();
    }
    Tolerance tolerance = tolerance(type);
    Elements elements = Elements.of(type);
    MemorySegment wanted = MemorySegment.ofArray(expected.bytes());
    long count = wanted.byteSize() / type.elementSize();
    long first = -1;
    long wrong = 0;
    for (long i = 0; i < count; i++) {
      if (!tolerance.accepts(elements.getDouble(wanted, i), elements.getDouble(actual, i))) {
        first = first < 0 ? i : first;
        wrong++;
      }
    }
    return wrong == 0
        ? Optional.empty()
        : wrong(
            output,
            "%s is %s, expected %s; %s of %s wrong",
            position(expected.operand().shape(), first),
            number(elements.getDouble(actual, first)),
            number(elements.getDouble(wanted, first)),
            wrong,
            count);
  }

  /** Counts how often each class was drawn; input 0 holds the logarithms of their odds. */
  private Optional<String> compareDistribution(int output, Operand operand, MemorySegment actual) {
    DecodedExample.Input input = example.inputs().getFirst();
    int classes = input.operand().shape().dimension(1);
    int batches = operand.shape().dimension(0);
    int samples = operand.shape().dimension(1);
    double tolerance = example.example().multinomialTolerance();
    for (int batch = 0; batch < batches; batch++) {
      double[] odds = softmax(input, batch, classes);
      int[] counts = new int[classes];
      for (int i = 0; i < samples; i++) {
        long index = (long) batch * samples + i;
        int drawn = Elements.INT32.getInt(actual, index);
        if (drawn < 0 || drawn >= classes) {
          return wrong(output, " element %s is class %s of %s", index, drawn, classes);
        }
        counts[drawn]++;
      }
      for (int i = 0; i < classes; i++) {
        double frequency = (double) counts[i] / samples;
        if (!(Math.abs(frequency - odds[i]) <= tolerance)) {
          return wrong(
              output,
              " has class %s with frequency %s, expected %s +- %s",
              i,
              frequency,
              odds[i],
              tolerance);
        }
      }
    }
    return Optional.empty();
  }

  private static double[] softmax(DecodedExample.Input input, int batch, int classes) {
    Elements elements = Elements.of(input.operand().type());
    MemorySegment bytes = MemorySegment.ofArray(input.bytes());
    double[] odds = new double[classes];
    double max = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < classes; i++) {
      odds[i] = elements.getDouble(bytes, (long) batch * classes + i);
      max = Math.max(max, odds[i]);
    }
    double sum = 0;
    for (int i = 0; i < classes; i++) {
      odds[i] = Math.exp(odds[i] - max);
      sum += odds[i];
    }
    for (int i = 0; i < classes; i++) {
      odds[i] /= sum;
    }
    return odds;
  }

  /** The place of an element in an output, {@code [1,0]}; nothing for a scalar. */
  private static String position(Shape shape, long element) {
    long rest = element;
    StringBuilder text = new StringBuilder();
    for (int axis = shape.rank() - 1; axis >= 0; axis--) {
      text.insert(0, rest % shape.dimension(axis));
      rest /= shape.dimension(axis);
      text.insert(0, axis == 0 ? "[" : ",");
    }
    return text.isEmpty() ? "" : text.append(']').toString();
  }

  private static String number(double value) {
    return value == Math.rint(value) && Math.abs(value) < 1e9
        ? Long.toString((long) value)
        : Float.toString((float) value);
  }
}
