// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.FLOAT16;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.ELEMENT;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Shape;
import io.thalamus.operations.Moves.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Operations that put elements together, apart, or in another order: CONCATENATION, SPLIT, TILE,
 * PAD, PAD_V2, TRANSPOSE, CHANNEL_SHUFFLE. Their parameters are {@link Moves}.
 */
public final class Rearrange {
  private static final int PADDINGS = 1;
  private static final int PAD_VALUE = 2;
  private static final int ORDER = 1;
  private static final int MULTIPLES = 1;

  private Rearrange() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        concatenation(OperationCode.CONCATENATION, TypeLevels.numbers(V1_0), 4),
        new FunctionDefinition(
            OperationCode.SPLIT,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32)),
                    argument("axis", INT32),
                    argument("number of outputs", INT32))
                .outputs(
                    argument("outputs", T)
                        .quantizedAs("input")
                        .repeated(1, "there is no output to split into")),
            Rearrange::splitShapes,
            Rearrange::splitParameters,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
            OperationCode.TILE,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32)),
                    argument("multiples", TENSOR_INT32).rank(1).needsValue(true))
                .outputs(argument("output", T).quantizedAs("input")),
            Rearrange::tileShapes,
            Rearrange::tileParameters,
            Trait.DATA_MOVEMENT),
        pad(OperationCode.PAD),
        pad(OperationCode.PAD_V2),
        new FunctionDefinition(
                OperationCode.TRANSPOSE,
                Signature.since(V1_1)
                    .inputs(
                        data("input", TypeLevels.numbers(V1_1)).rank(1, 4),
                        argument("order", TENSOR_INT32).rank(1).omittable().needsValue(true))
                    .outputs(argument("output", T).quantizedAs("input")),
                Rearrange::transposeShapes,
                Rearrange::transposeParameters,
                Trait.DATA_MOVEMENT)
            .checkedBy(Rearrange::checkTranspose),
        new FunctionDefinition(
            OperationCode.CHANNEL_SHUFFLE,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.numbers(V1_2)).rank(1, 4),
                    argument("groups", INT32),
                    argument("axis", INT32))
                .outputs(argument("output", T).quantizedAs("input")),
            Rearrange::shuffleShapes,
            Rearrange::shuffleParameters,
            Trait.DATA_MOVEMENT));
  }

  /** CONCATENATION of other types, and of tensors with any number of dimensions. */
  public static OperationDefinition concatenation(OperationType operation, TypeLevels types) {
    return concatenation(operation, types, Integer.MAX_VALUE);
  }

  /**
   * The number of elements in each step along dimensions from {@code first} to before {@code end}.
   */
  static int count(Shape shape, int first, int end) {
    int count = 1;
    for (int i = first; i < end; i++) {
      count = Math.multiplyExact(count, shape.dimension(i));
    }
    return count;
  }

  private static FunctionDefinition concatenation(
      OperationType operation, TypeLevels types, int mostDimensions) {
    return new FunctionDefinition(
            operation,
            Signature.since(V1_0)
                .inputs(
                    data("inputs", types)
                        .rank(1, mostDimensions)
                        .repeated(1, "there is nothing to concatenate"),
                    argument("axis", INT32))
                .outputs(argument("output", T)),
            Rearrange::concatenated,
            Rearrange::concatenationMoves,
            Trait.DATA_MOVEMENT)
        .checkedBy(Rearrange::checkConcatenation);
  }

  /** Inputs that are quantized otherwise than the output came with HAL 1.2. */
  private static void checkConcatenation(OperationView operation, Check check)
      throws ValidationException {
    OperandView output = operation.output();
    for (OperandView input : operation.inputs().subList(0, tensors(operation))) {
      if (output.type() == TENSOR_QUANT16_SYMM) {
        check.sameQuantization(input, output);
      } else if (!input.quantization().equals(output.quantization())) {
        check.atLeast(V1_2);
      }
    }
  }

  private static int tensors(OperationView operation) {
    return operation.inputs().size() - 1;
  }

  private static List<Shape> concatenated(OperationView operation) throws ValidationException {
    int tensors = tensors(operation);
    Shape first = operation.input(0).shape();
    int axis = operation.input(tensors).int32();
    if (axis < 0 || axis >= first.rank()) {
      throw new ValidationException("there is no axis " + axis + " in " + first);
    }
    int sum = 0;
    for (int i = 0; i < tensors; i++) {
      Shape shape = operation.input(i).shape();
      if (shape.rank() != first.rank() || !shape.with(axis, 0).equals(first.with(axis, 0))) {
        throw new ValidationException(
            "input " + i + ", " + shape + ", does not continue " + first + " along axis " + axis);
      }
      sum = Math.addExact(sum, shape.dimension(axis));
    }
    return List.of(first.with(axis, sum));
  }

  private static Moves concatenationMoves(OperationView operation) {
    int tensors = tensors(operation);
    int axis = operation.input(tensors).int32();
    Shape output = operation.output().shape();
    long[] targetStrides = StridedCopy.strides(output);
    List<Part> parts = new ArrayList<>();
    long target = 0;
    for (int i = 0; i < tensors; i++) {
      OperandView input = operation.input(i);
      StridedCopy copy =
          StridedCopy.of(
              input.shape().toArray(),
              0,
              StridedCopy.strides(input.shape()),
              target,
              targetStrides);
      Optional<LookupTable> rescaling =
          input.quantization().equals(operation.output().quantization())
              ? Optional.empty()
              : Optional.of(Rescaling.concatenation(input, operation.output()));
      parts.add(new Part(i, 0, copy, rescaling));
      target += input.shape().dimension(axis) * targetStrides[axis];
    }
    return new Moves(OptionalInt.empty(), parts);
  }

  private static List<Shape> splitShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int axis = axis(operation.input(1).int32(), input.rank());
    int count = operation.outputs().size();
    if (operation.input(2).int32() != count || input.dimension(axis) % count != 0) {
      throw new ValidationException(
          "axis %s of %s is to be split into %s equal parts, and there are %s outputs"
              .formatted(axis, input, operation.input(2).int32(), count));
    }
    return Collections.nCopies(count, input.with(axis, input.dimension(axis) / count));
  }

  private static Moves splitParameters(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int axis = axis(operation.input(1).int32(), input.rank());
    long[] strides = StridedCopy.strides(input);
    List<Part> parts = new ArrayList<>();
    long source = 0;
    for (int i = 0; i < operation.outputs().size(); i++) {
      Shape output = operation.output(i).shape();
      StridedCopy copy = StridedCopy.gather(output.toArray(), source, strides);
      parts.add(new Part(0, i, copy, Optional.empty()));
      source += output.dimension(axis) * strides[axis];
    }
    return new Moves(OptionalInt.empty(), parts);
  }

  private static List<Shape> tileShapes(OperationView operation) throws ValidationException {
    int[] dimensions = operation.input(0).shape().toArray();
    int[] multiples = operation.input(MULTIPLES).int32s();
    if (multiples.length != dimensions.length
        || Arrays.stream(multiples).anyMatch(multiple -> multiple < 0)) {
      throw new ValidationException(
          "%s cannot be repeated %s times"
              .formatted(operation.input(0).shape(), Arrays.toString(multiples)));
    }
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = Math.multiplyExact(dimensions[i], multiples[i]);
    }
    return List.of(Shape.of(dimensions));
  }

  private static Moves tileParameters(OperationView operation) {
    Shape input = operation.input(0).shape();
    int[] multiples = operation.input(MULTIPLES).int32s();
    long[] strides = StridedCopy.strides(input);
    int[] block = new int[2 * input.rank()];
    long[] sources = new long[2 * input.rank()];
    for (int i = 0; i < input.rank(); i++) {
      block[2 * i] = multiples[i];
      block[2 * i + 1] = input.dimension(i);
      sources[2 * i + 1] = strides[i];
    }
    return Moves.of(StridedCopy.gather(block, 0, sources));
  }

  /** PAD and PAD_V2, which differ in that the latter says what it pads with. */
  private static OperationDefinition pad(OperationCode type) {
    boolean hasValue = type == OperationCode.PAD_V2;
    FeatureLevel since = hasValue ? V1_2 : V1_1;
    Argument input = data("input", TypeLevels.numbers(since)).rank(1, 4);
    Argument paddings = argument("paddings", TENSOR_INT32).rank(2).needsValue(true);
    Signature signature =
        Signature.since(since).outputs(argument("output", T).quantizedAs("input"));
    return new FunctionDefinition(
            type,
            hasValue
                ? signature.inputs(input, paddings, argument("value", ELEMENT))
                : signature.inputs(input, paddings),
            Rearrange::padShapes,
            Rearrange::padParameters,
            Trait.DATA_MOVEMENT)
        .checkedBy(Rearrange::checkPad);
  }

  private static void checkPad(OperationView operation, Check check) throws ValidationException {
    // HAL 1.1 pads with stored zeros, whatever they stand for.
    check.atLeast(operation.input(0).zeroPoint() == 0 ? V1_1 : V1_2);
  }

  private static int[] paddings(OperationView operation) throws ValidationException {
    int[] paddings = operation.input(PADDINGS).int32s();
    if (paddings.length != 2 * operation.input(0).shape().rank()
        || Arrays.stream(paddings).anyMatch(padding -> padding < 0)) {
      throw new ValidationException(
          operation.input(0).shape() + " cannot be padded by " + Arrays.toString(paddings));
    }
    return paddings;
  }

  private static List<Shape> padShapes(OperationView operation) throws ValidationException {
    int[] dimensions = operation.input(0).shape().toArray();
    int[] paddings = paddings(operation);
    for (int i = 0; i < dimensions.length; i++) {
      int padding = Math.addExact(paddings[2 * i], paddings[2 * i + 1]);
      dimensions[i] = Math.addExact(dimensions[i], padding);
    }
    return List.of(Shape.of(dimensions));
  }

  private static Moves padParameters(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int[] paddings = paddings(operation);
    long[] targetStrides = StridedCopy.strides(operation.output().shape());
    long target = 0;
    for (int i = 0; i < input.rank(); i++) {
      target += paddings[2 * i] * targetStrides[i];
    }
    StridedCopy copy =
        StridedCopy.of(input.toArray(), 0, StridedCopy.strides(input), target, targetStrides);
    return new Moves(
        OptionalInt.of(fill(operation)), List.of(new Part(0, 0, copy, Optional.empty())));
  }

  private static int fill(OperationView operation) {
    if (operation.inputs().size() == PAD_VALUE) {
      return operation.input(0).zeroPoint();
    }
    OperandView value = operation.input(PAD_VALUE);
    return switch ((OperandCode) value.type()) {
      case FLOAT16 -> Float.floatToFloat16(value.float32());
      default -> value.int32();
    };
  }

  private static void checkTranspose(OperationView operation, Check check)
      throws ValidationException {
    check.rank(operation, 0, operation.has(ORDER) ? 1 : 2, operation.has(ORDER) ? 4 : 2);
  }

  private static int[] order(OperationView operation) throws ValidationException {
    if (!operation.has(ORDER)) {
      return new int[] {1, 0};
    }
    int[] order = operation.input(ORDER).int32s();
    int rank = operation.input(0).shape().rank();
    boolean[] isTaken = new boolean[rank];
    boolean isPermutation = order.length == rank;
    for (int i = 0; isPermutation && i < rank; i++) {
      int axis = order[i];
      isPermutation = axis >= 0 && axis < rank && !isTaken[axis];
      if (isPermutation) {
        isTaken[axis] = true;
      }
    }
    if (!isPermutation) {
      throw new ValidationException(
          Arrays.toString(order) + " is no order of " + rank + " dimensions");
    }
    return order;
  }

  private static List<Shape> transposeShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int[] order = order(operation);
    int[] permuted = new int[order.length];
    Arrays.setAll(permuted, axis -> input.dimension(order[axis]));
    return List.of(Shape.of(permuted));
  }

  private static Moves transposeParameters(OperationView operation) throws ValidationException {
    long[] strides = StridedCopy.strides(operation.input(0).shape());
    int[] order = order(operation);
    long[] permuted = new long[order.length];
    Arrays.setAll(permuted, axis -> strides[order[axis]]);
    return Moves.of(StridedCopy.gather(operation.output().shape().toArray(), 0, permuted));
  }

  private static List<Shape> shuffleShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int groups = operation.input(1).int32();
    int axis = axis(operation.input(2).int32(), input.rank());
    if (groups <= 0 || input.dimension(axis) % groups != 0) {
      throw new ValidationException(
          "axis " + axis + " of " + input + " does not fall into " + groups + " groups");
    }
    return List.of(input);
  }

  private static Moves shuffleParameters(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int groups = operation.input(1).int32();
    int axis = axis(operation.input(2).int32(), input.rank());
    int inner = count(input, axis + 1, input.rank());
    int channels = input.dimension(axis);
    int groupSize = channels / groups;
    return Moves.of(
        StridedCopy.gather(
            new int[] {count(input, 0, axis), groupSize, groups, inner},
            0,
            new long[] {(long) channels * inner, inner, (long) groupSize * inner, 1}));
  }
}
