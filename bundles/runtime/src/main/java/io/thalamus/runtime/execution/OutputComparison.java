// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Elements;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Tolerance;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.Trait;
import java.lang.foreign.MemorySegment;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The rules by which two devices give the same answer for a step. Immutable.
 *
 * <p>Quantized results of a device that says that it is exact are compared bit for bit. All else is
 * compared by AOSP's tolerances, once for each operation, since errors add up. Those of floats are
 * taken relative to the largest value of an output too: that is how sums round. When a rounding
 * error may turn into another answer, as before an ARGMAX, two answers say nothing.
 */
final class OutputComparison {
  private final Model model;
  private final boolean isExact;
  private final boolean isRelaxed;
  private final boolean isComparable;
  private final int operations;

  /** Creates the rules for a step's model on a device. */
  OutputComparison(Model model, DeviceInfo device) {
    this.model = model;
    boolean hasFloats =
        model
            .subgraphs()
            .flatMap(graph -> graph.operands().stream())
            .anyMatch(OutputComparison::isFloat);
    this.isExact = device.exactQuantized() && !hasFloats;
    this.isRelaxed = Tolerance.isRelaxed(model);
    this.operations = (int) model.subgraphs().mapToLong(graph -> graph.operations().size()).sum();
    this.isComparable =
        !has(Trait.RANDOM)
            && (isExact || operations == 1 || areKnown() && !has(Trait.DISCONTINUOUS));
  }

  private static boolean isFloat(Operand operand) {
    return operand.type() == OperandCode.TENSOR_FLOAT32
        || operand.type() == OperandCode.TENSOR_FLOAT16;
  }

  private boolean has(Trait trait) {
    return operationTypes()
        .flatMap(type -> OperationCatalog.standard().find(type).stream())
        .anyMatch(definition -> definition.traits().contains(trait));
  }

  /** Returns true if all operations are NNAPI's: another one may be anything. */
  private boolean areKnown() {
    return operationTypes().allMatch(OperationCode.class::isInstance);
  }

  private Stream<OperationType> operationTypes() {
    return model.subgraphs().flatMap(graph -> graph.operations().stream()).map(Operation::type);
  }

  /** Returns whether two answers say anything. */
  boolean isComparable() {
    return isComparable;
  }

  /**
   * Returns what differs in an output; empty when nothing does.
   *
   * @param output of the step's model
   * @param actual what the device gave
   * @param expected what the reference gave, of the same size
   */
  Optional<String> difference(int output, MemorySegment actual, MemorySegment expected) {
    Operand operand = model.main().output(output);
    if (!(operand.type() instanceof OperandCode type)) {
      return bits(output, actual, expected);
    }
    Elements elements = Elements.of(type);
    long count = expected.byteSize() / type.elementSize();
    Tolerance tolerance = tolerance(operand, elements, expected, count);
    long wrong = 0;
    long first = -1;
    for (long i = 0; i < count; i++) {
      if (!tolerance.accepts(elements.getDouble(expected, i), elements.getDouble(actual, i))) {
        first = first < 0 ? i : first;
        wrong++;
      }
    }
    if (wrong == 0) {
      return Optional.empty();
    }
    return Optional.of(
        String.format(
            Locale.ROOT,
            "output %d: element %d is %s, on the reference %s; %d of %d differ",
            output,
            first,
            text(elements, actual, first),
            text(elements, expected, first),
            wrong,
            count));
  }

  private static Optional<String> bits(int output, MemorySegment actual, MemorySegment expected) {
    long at = actual.mismatch(expected);
    return at < 0
        ? Optional.empty()
        : Optional.of("output %d: byte %d differs from the reference".formatted(output, at));
  }

  /** Returns the tolerance of one operation as often as there are operations. */
  private Tolerance tolerance(
      Operand operand, Elements elements, MemorySegment expected, long count) {
    if (isExact && !elements.isFloat()) {
      return Tolerance.EXACT;
    }
    double largest = 1;
    if (isFloat(operand)) {
      for (long i = 0; i < count; i++) {
        double size = Math.abs(elements.getDouble(expected, i));
        // Neither NaN nor infinity widens what is tolerated.
        largest = size > largest && size < Double.POSITIVE_INFINITY ? size : largest;
      }
    }
    Tolerance one = Tolerance.of(operand.type(), isRelaxed);
    return new Tolerance(one.absolute() * operations * largest, one.relative() * operations);
  }

  private static String text(Elements elements, MemorySegment bytes, long index) {
    double value = elements.getDouble(bytes, index);
    return elements.isFloat() ? Float.toString((float) value) : Long.toString((long) value);
  }
}
