// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.model.Elements;
import io.thalamus.model.Shape;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * One case of a stored model: inputs, and what independent engines computed from them. A case with
 * several steps is several calls of a model with state. Immutable.
 *
 * @param name {@code rand} for noise, else after the sample that the inputs come from
 * @param note how the inputs were made
 * @param steps how many calls
 * @param inputs one for each input of the model
 * @param outputs one for each output of the model
 */
public record ModelCase(
    String name, String note, int steps, List<Input> inputs, List<Output> outputs) {
  public ModelCase {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(note, "note");
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /**
   * One input.
   *
   * @param tensor one value for each step, or one for all
   * @param stateOf where this is state: the output that becomes it after the first step
   */
  public record Input(StoredTensor tensor, OptionalInt stateOf) {
    public Input {
      Objects.requireNonNull(tensor, "tensor");
      Objects.requireNonNull(stateOf, "stateOf");
    }
  }

  /**
   * One output as the engine called "ref" computed it.
   *
   * @param tensor one value for each step
   * @param maxAbs the largest absolute value of all steps
   * @param spread by engine, the largest absolute difference from "ref"
   */
  public record Output(StoredTensor tensor, double maxAbs, Map<String, Double> spread) {
    /**
     * The rule of docs/internals/conformance-data.md: {@code |a - b| <= 1e-4 * max_abs + 10 *
     * spread}.
     */
    private static final double FLOAT_RELATIVE = 1e-4;

    private static final double FLOAT_SPREADS = 10;

    /** Engines that compute float16 in float32 round as they like. */
    private static final double FLOAT16_ABSOLUTE = 2e-3;

    public Output {
      Objects.requireNonNull(tensor, "tensor");
      spread = Map.copyOf(spread);
    }

    /** Returns how far the engines differ from each other at most. */
    public double largestSpread() {
      return spread.values().stream().mapToDouble(Double::doubleValue).max().orElse(0);
    }

    /**
     * Returns how far a result may be off. Integers may be off by what the engines differ, so
     * bit-exact where these agree. A list of detections needs another rule: its entries change
     * places.
     */
    public double tolerance() {
      double spreads = largestSpread();
      return switch (tensor.type()) {
        case FLOAT32, FLOAT64 -> FLOAT_RELATIVE * maxAbs + FLOAT_SPREADS * spreads;
        case FLOAT16 ->
            Math.max(FLOAT16_ABSOLUTE, FLOAT_RELATIVE * maxAbs + FLOAT_SPREADS * spreads);
        default -> spreads;
      };
    }

    /**
     * Compares the result of one step with the stored one.
     *
     * @throws IOException where the stored one cannot be read
     */
    public Difference compare(int step, MemorySegment actual) throws IOException {
      return Difference.between(
          tensor.type(),
          tensor.shape(),
          MemorySegment.ofArray(tensor.read(step)),
          actual,
          tolerance());
    }
  }

  /**
   * The difference of two tensors.
   *
   * @param elements how many each has
   * @param differing how many are not equal
   * @param largest the largest absolute difference; NaN where a NaN stands against a number
   * @param at row-major index of the largest difference; -1 where there is none
   * @param expected the value there
   * @param actual the value there
   * @param tolerance what is accepted
   * @param problem why the two cannot be compared at all
   */
  public record Difference(
      long elements,
      long differing,
      double largest,
      long at,
      double expected,
      double actual,
      double tolerance,
      Optional<String> problem) {

    /** Returns whether the two are near enough. */
    public boolean isAccepted() {
      return problem.isEmpty() && largest <= tolerance;
    }

    /** Returns whether the two are the same; zeros of both signs are. */
    public boolean isEqual() {
      return problem.isEmpty() && differing == 0;
    }

    /** All of it in one line. */
    public String text() {
      if (problem.isPresent()) {
        return problem.get();
      }
      String counts = differing + " of " + elements + " differ";
      return at < 0
          ? counts
          : "%s, at most by %s (allowed %s): element %s is %s, expected %s"
              .formatted(counts, largest, tolerance, at, actual, expected);
    }

    /** Compares tensors of one type and shape, given as little-endian bytes. */
    public static Difference between(
        Elements type,
        Shape shape,
        MemorySegment expected,
        MemorySegment actual,
        double tolerance) {
      long elements = shape.elementCount();
      if (actual.byteSize() != elements * type.size()) {
        return new Difference(
            elements,
            0,
            0,
            -1,
            0,
            0,
            tolerance,
            Optional.of(
                "%s bytes, expected %s %s = %s"
                    .formatted(actual.byteSize(), shape, type, elements * type.size())));
      }
      long differing = 0;
      long at = -1;
      double largest = 0;
      for (long i = 0; i < elements; i++) {
        double a = type.getDouble(actual, i);
        double e = type.getDouble(expected, i);
        if (a == e || Double.isNaN(a) && Double.isNaN(e)) {
          continue;
        }
        differing++;
        double difference = Math.abs(a - e);
        if (difference > largest || Double.isNaN(difference) && !Double.isNaN(largest)) {
          largest = difference;
          at = i;
        }
      }
      return new Difference(
          elements,
          differing,
          largest,
          at,
          at < 0 ? 0 : type.getDouble(expected, at),
          at < 0 ? 0 : type.getDouble(actual, at),
          tolerance,
          Optional.empty());
    }
  }
}
