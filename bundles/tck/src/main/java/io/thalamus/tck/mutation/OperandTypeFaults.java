// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.model.OperandCode;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.tck.mutation.MutationFamily.Collector;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.vectors.RawOperand;
import io.thalamus.vectors.RawOperand.ChannelQuant;
import io.thalamus.vectors.RawOperation;
import io.thalamus.vectors.RawSubgraph;
import io.thalamus.vectors.Values;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/**
 * Operands of a type that their operation does not take. Dimensions, quantization and constant
 * values are made legal for the type: only the operation's own rules are broken.
 */
final class OperandTypeFaults {
  private static final Set<OperandCode> CASTABLE =
      EnumSet.of(
          OperandCode.TENSOR_FLOAT16,
          OperandCode.TENSOR_FLOAT32,
          OperandCode.TENSOR_INT32,
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  private static final Set<OperandCode> FLOATS =
      EnumSet.of(OperandCode.TENSOR_FLOAT16, OperandCode.TENSOR_FLOAT32);
  private static final Set<OperandCode> ASYMMETRIC =
      EnumSet.of(OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  private static final Set<OperandCode> QUANTIZED_8 =
      EnumSet.of(
          OperandCode.TENSOR_QUANT8_ASYMM,
          OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
          OperandCode.TENSOR_QUANT8_SYMM,
          OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL);

  private static final String NON_ZERO = Evaluator.name(ThalamusExtension.NON_ZERO);
  private static final String MATMUL_INTEGER = Evaluator.name(ThalamusExtension.MATMUL_INTEGER);
  private static final String RESCALE = Evaluator.name(ThalamusExtension.RESCALE);
  private static final Set<OperandCode> RESCALED = Set.of(ElementTypes.rescalable());
  private static final Set<OperandCode> FOUND =
      EnumSet.of(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32, OperandCode.TENSOR_BOOL8);

  private OperandTypeFaults() {}

  static void operationOperandType(RawSubgraph graph, Collector found) {
    for (int i = 0; i < graph.operands().size(); i++) {
      RawOperand operand = graph.operands().get(i);
      for (OperandCode type : OperandCode.values()) {
        if (!type.name().equals(operand.type()) && !mayBeLegal(graph, i, type)) {
          int index = i;
          found.add(
              "operand " + i + " is " + type + " instead of " + operand.type(),
              draft -> draft.change(index, o -> withType(o, type)));
        }
      }
    }
  }

  /**
   * AOSP's list: whether some operation takes an operand of another type alone. Beyond it, where
   * explicit and implicit padding take equally many inputs, the type of one distinguishes them.
   */
  private static boolean mayBeLegal(RawSubgraph graph, int operand, OperandCode type) {
    for (RawOperation operation : graph.operations()) {
      boolean legal =
          switch (Evaluator.standard(operation.type())) {
            case "LSH_PROJECTION" -> is(operation, 1, operand);
            case "CAST", "ARGMAX", "ARGMIN" -> CASTABLE.contains(type);
            case "QUANTIZE" ->
                is(operation, 0, operand) && FLOATS.contains(type)
                    || isOutput(operation, operand) && ASYMMETRIC.contains(type);
            case "DEQUANTIZE" ->
                is(operation, 0, operand) && QUANTIZED_8.contains(type)
                    || isOutput(operation, operand) && FLOATS.contains(type);
            case "RANDOM_MULTINOMIAL" -> is(operation, 0, operand) && FLOATS.contains(type);
            case "CONV_2D" ->
                is(operation, 1, operand) && isFilterFor(graph, operation, type)
                    || operation.inputs().size() == 10
                        && isPaddingSwitch(operation, 7, operand, type);
            case "DEPTHWISE_CONV_2D" ->
                is(operation, 1, operand) && isFilterFor(graph, operation, type)
                    || operation.inputs().size() == 11
                        && isPaddingSwitch(operation, 8, operand, type);
            case "GROUPED_CONV_2D", "TRANSPOSE_CONV_2D" ->
                is(operation, 1, operand) && isFilterFor(graph, operation, type);
            case "AXIS_ALIGNED_BBOX_TRANSFORM" ->
                is(operation, 1, operand) && ASYMMETRIC.contains(type);
            case "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL" ->
                is(operation, 0, operand) && is(operation, 1, operand) && isCompared(type);
            case "RANK" -> is(operation, 0, operand) && type.isTensor();
            case String name when name.equals(NON_ZERO) ->
                is(operation, 0, operand) && FOUND.contains(type);
            case String name when name.equals(MATMUL_INTEGER) ->
                !isOutput(operation, operand) && ASYMMETRIC.contains(type);
            case String name when name.equals(RESCALE) ->
                (is(operation, 0, operand) || isOutput(operation, operand))
                    && RESCALED.contains(type);
            default -> false;
          };
      if (legal) {
        return true;
      }
    }
    return false;
  }

  /** An operand that is compared with itself may be of any type that is. */
  private static boolean isCompared(OperandCode type) {
    return CASTABLE.contains(type) || type == OperandCode.TENSOR_BOOL8;
  }

  private static boolean isPaddingSwitch(
      RawOperation operation, int input, int operand, OperandCode type) {
    return is(operation, input, operand) && (type == OperandCode.INT32 || type == OperandCode.BOOL);
  }

  /** Filters are of the data's type, or have scales by channel. */
  private static boolean isFilterFor(RawSubgraph graph, RawOperation operation, OperandCode type) {
    return type == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL
        || type.name().equals(graph.operands().get(operation.inputs().getFirst()).type());
  }

  private static boolean is(RawOperation operation, int input, int operand) {
    return operation.inputs().size() > input && operation.inputs().get(input) == operand;
  }

  private static boolean isOutput(RawOperation operation, int operand) {
    return operation.outputs().contains(operand);
  }

  /** The operand with another type, and whatever is legal for that type beside it. */
  static RawOperand withType(RawOperand operand, OperandCode type) {
    RawOperand changed =
        operand
            .withType(type.name())
            .withDims(dims(operand, type))
            .withChannelQuant(Optional.empty())
            .withZeroPoint(zeroPoint(operand, type))
            .withScale(scale(operand, type));
    if (type == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL) {
      double[] scales = new double[changed.dims().toArray()[0]];
      Arrays.fill(scales, 1);
      changed = changed.withChannelQuant(Optional.of(new ChannelQuant(0, Values.of(scales))));
    }
    if (operand.values().isEmpty() || operand.lifetime().equals("SUBGRAPH")) {
      return changed;
    }
    return changed.withValues(
        Optional.of(values(operand.values().get(), Math.max(0, elements(changed)), type)));
  }

  private static int[] dims(RawOperand operand, OperandCode type) {
    if (!type.isTensor()) {
      return new int[0];
    }
    return operand.dims().rank() > 0 ? operand.dims().toArray() : new int[] {1};
  }

  private static double scale(RawOperand operand, OperandCode type) {
    return switch (type) {
      case TENSOR_INT32 -> operand.scale();
      case TENSOR_QUANT8_ASYMM,
          TENSOR_QUANT8_ASYMM_SIGNED,
          TENSOR_QUANT8_SYMM,
          TENSOR_QUANT16_ASYMM,
          TENSOR_QUANT16_SYMM ->
          operand.scale() > 0 ? operand.scale() : 1;
      default -> 0;
    };
  }

  private static int zeroPoint(RawOperand operand, OperandCode type) {
    return switch (type) {
      case TENSOR_QUANT8_ASYMM -> Math.clamp(operand.zeroPoint(), 0, 255);
      case TENSOR_QUANT8_ASYMM_SIGNED -> Math.clamp(operand.zeroPoint(), -128, 127);
      case TENSOR_QUANT16_ASYMM -> Math.clamp(operand.zeroPoint(), 0, 65_535);
      default -> 0;
    };
  }

  /** As many numbers as are wanted, from the old ones, within the range of the type. */
  private static Values values(Values old, long elements, OperandCode type) {
    double[] numbers = new double[Math.toIntExact(elements)];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = old.isEmpty() ? 0 : number(old.get(i % old.size()), type);
    }
    return Values.of(numbers);
  }

  private static double number(double number, OperandCode type) {
    return switch (type) {
      case FLOAT32, TENSOR_FLOAT32, FLOAT16, TENSOR_FLOAT16 -> number;
      case INT32, TENSOR_INT32 -> whole(number, Integer.MIN_VALUE, Integer.MAX_VALUE);
      case UINT32 -> whole(number, 0, 0xFFFF_FFFFL);
      case BOOL, TENSOR_BOOL8 -> whole(number, 0, 1);
      case TENSOR_QUANT8_ASYMM -> whole(number, 0, 255);
      case TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL ->
          whole(number, -128, 127);
      case TENSOR_QUANT16_ASYMM -> whole(number, 0, 65_535);
      case TENSOR_QUANT16_SYMM -> whole(number, -32_768, 32_767);
      case SUBGRAPH -> 0;
    };
  }

  private static double whole(double number, long least, long most) {
    return Math.clamp(Math.round(number), least, most);
  }

  /** Returns how many elements an operand has: 0 where that is unknown, or for a graph. */
  static long elements(RawOperand operand) {
    if (operand.type().equals("SUBGRAPH")) {
      return 0;
    }
    if (!operand.type().startsWith("TENSOR_")) {
      return 1;
    }
    if (operand.dims().rank() == 0) {
      return 0;
    }
    long elements = 1;
    for (int dim : operand.dims().toArray()) {
      elements *= dim;
    }
    return elements;
  }
}
