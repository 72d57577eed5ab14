// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.hal.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Subgraph;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Whether two devices give the same answer for a step. Immutable.
 *
 * <p>Quantized results of a device that says that it is exact are compared bit for bit. All else is
 * compared by AOSP's tolerances, once for each operation, since errors add up. Those of floats are
 * taken relative to the largest value of an output too: that is how sums round. Where a rounding
 * error may turn into quite another answer, as before an ARGMAX, two answers say nothing.
 */
final class Agreement {
  private static final Set<OperationCode> DISCONTINUOUS =
      EnumSet.of(
          OperationCode.ARGMAX,
          OperationCode.ARGMIN,
          OperationCode.BOX_WITH_NMS_LIMIT,
          OperationCode.CAST,
          OperationCode.DETECTION_POSTPROCESSING,
          OperationCode.EQUAL,
          OperationCode.FLOOR,
          OperationCode.GENERATE_PROPOSALS,
          OperationCode.GREATER,
          OperationCode.GREATER_EQUAL,
          OperationCode.HEATMAP_MAX_KEYPOINT,
          OperationCode.IF,
          OperationCode.LESS,
          OperationCode.LESS_EQUAL,
          OperationCode.LSH_PROJECTION,
          OperationCode.NOT_EQUAL,
          OperationCode.QUANTIZE,
          OperationCode.TOPK_V2,
          OperationCode.WHILE);

  /** AOSP's tolerances of float32: {@code 1e-5} and 5 units. */
  private static final double FLOAT32_ABSOLUTE = 1e-5;

  private static final double FLOAT32_RELATIVE = 0x5p-23;

  /** AOSP's tolerance of float16, and of float32 that may be computed so. */
  private static final double FLOAT16 = 0x5p-10;

  private final Model model;
  private final boolean isExact;
  private final boolean isRelaxed;
  private final boolean isComparable;
  private final int operations;

  /** The rules for a step's model on a device. */
  Agreement(Model model, DeviceInfo device) {
    this.model = model;
    boolean hasFloats =
        model.subgraphs().flatMap(graph -> graph.operands().stream()).anyMatch(Agreement::isFloat);
    this.isExact = device.exactQuantized() && !hasFloats;
    this.isRelaxed =
        model.relaxComputationFloat32toFloat16()
            || model
                .subgraphs()
                .flatMap(graph -> graph.operands().stream())
                .anyMatch(operand -> operand.type() == OperandCode.TENSOR_FLOAT16);
    this.operations = (int) model.subgraphs().mapToLong(graph -> graph.operations().size()).sum();
    this.isComparable =
        model
                .subgraphs()
                .flatMap(graph -> graph.operations().stream())
                .noneMatch(operation -> operation.type() == OperationCode.RANDOM_MULTINOMIAL)
            && (isExact || operations == 1 || isContinuous(model));
  }

  private static boolean isFloat(Operand operand) {
    return operand.type() == OperandCode.TENSOR_FLOAT32
        || operand.type() == OperandCode.TENSOR_FLOAT16;
  }

  private static boolean isContinuous(Model model) {
    for (Subgraph graph : model.subgraphs().toList()) {
      for (Operation operation : graph.operations()) {
        if (!(operation.type() instanceof OperationCode code) || DISCONTINUOUS.contains(code)) {
          return false;
        }
      }
    }
    return true;
  }

  /** Whether two answers say anything. */
  boolean isComparable() {
    return isComparable;
  }

  /**
   * What differs in an output, or nothing.
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
    long elements = expected.byteSize() / type.elementSize();
    double absolute = absolute(type);
    double relative = relative(type) * operations;
    if (isFloat(operand)) {
      double largest = 1;
      for (long i = 0; i < elements; i++) {
        double size = Math.abs(get(type, expected, i));
        // Neither NaN nor infinity widens what is tolerated.
        largest = size > largest && size < Double.POSITIVE_INFINITY ? size : largest;
      }
      absolute *= largest;
    }
    long wrong = 0;
    long first = -1;
    for (long i = 0; i < elements; i++) {
      double a = get(type, actual, i);
      double e = get(type, expected, i);
      // Neither NaN nor infinity is near anything but itself.
      boolean isSame =
          Double.compare(a, e) == 0
              || (Double.isFinite(e) && Math.abs(a - e) <= absolute + relative * Math.abs(e));
      if (!isSame) {
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
            text(type, actual, first),
            text(type, expected, first),
            wrong,
            elements));
  }

  private static Optional<String> bits(int output, MemorySegment actual, MemorySegment expected) {
    long at = actual.mismatch(expected);
    return at < 0
        ? Optional.empty()
        : Optional.of("output %d: byte %d differs from the reference".formatted(output, at));
  }

  private double absolute(OperandCode type) {
    return switch (type) {
      case FLOAT32, TENSOR_FLOAT32 -> (isRelaxed ? FLOAT16 : FLOAT32_ABSOLUTE) * operations;
      case FLOAT16, TENSOR_FLOAT16 -> FLOAT16 * operations;
      case BOOL, TENSOR_BOOL8, UINT32, SUBGRAPH -> 0;
      case INT32,
          TENSOR_INT32,
          TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT8_ASYMM_SIGNED,
          TENSOR_QUANT8_SYMM,
          TENSOR_QUANT8_SYMM_PER_CHANNEL,
          TENSOR_QUANT16_SYMM,
          TENSOR_QUANT16_ASYMM ->
          isExact ? 0 : operations;
    };
  }

  private double relative(OperandCode type) {
    return switch (type) {
      case FLOAT32, TENSOR_FLOAT32 -> isRelaxed ? FLOAT16 : FLOAT32_RELATIVE;
      case FLOAT16, TENSOR_FLOAT16 -> FLOAT16;
      default -> 0;
    };
  }

  private static String text(OperandCode type, MemorySegment bytes, long index) {
    double value = get(type, bytes, index);
    boolean isFloat =
        switch (type) {
          case FLOAT32, TENSOR_FLOAT32, FLOAT16, TENSOR_FLOAT16 -> true;
          default -> false;
        };
    return isFloat ? Float.toString((float) value) : Long.toString((long) value);
  }

  private static double get(OperandCode type, MemorySegment bytes, long index) {
    return switch (type) {
      case FLOAT32, TENSOR_FLOAT32 -> bytes.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 4 * index);
      case FLOAT16, TENSOR_FLOAT16 ->
          Float.float16ToFloat(bytes.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * index));
      case INT32, TENSOR_INT32 -> bytes.get(ValueLayout.JAVA_INT_UNALIGNED, 4 * index);
      case UINT32 -> bytes.get(ValueLayout.JAVA_INT_UNALIGNED, 4 * index) & 0xFFFF_FFFFL;
      case TENSOR_QUANT16_SYMM -> bytes.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * index);
      case TENSOR_QUANT16_ASYMM -> bytes.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * index) & 0xFFFF;
      case TENSOR_QUANT8_ASYMM, BOOL, TENSOR_BOOL8 ->
          bytes.get(ValueLayout.JAVA_BYTE, index) & 0xFF;
      case TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_QUANT8_ASYMM_SIGNED ->
          bytes.get(ValueLayout.JAVA_BYTE, index);
      case SUBGRAPH -> 0;
    };
  }
}
