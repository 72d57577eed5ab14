// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.Shape;
import io.thalamus.operations.Check;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.Moves;
import io.thalamus.operations.Moves.Part;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.Trait;
import io.thalamus.operations.TypeLevels;
import io.thalamus.operations.ValidationException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Operations that put elements in another order: PACK, MIRROR_PAD, REVERSE, CONCATENATION. Their
 * parameters are {@link Moves}.
 */
public final class Rearrange {
  /** MIRROR_PAD: the element at the border is not repeated. NNAPI's number. */
  public static final int REFLECT = 0;

  /** MIRROR_PAD: the element at the border is repeated. NNAPI's number. */
  public static final int SYMMETRIC = 1;

  private static final int PADDINGS = 1;
  private static final int MODE = 2;
  private static final int AXES = 1;
  private static final int FIRST = 1;

  /** All types: what they stand for does not matter. */
  static final TypeLevels MOVABLE = TypeLevels.since(V1_2, ElementTypes.movable());

  private Rearrange() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                ThalamusExtension.PACK,
                Signature.since(V1_2)
                    .inputs(
                        argument("axis", INT32),
                        data("inputs", MOVABLE).repeated(1, "there is nothing to pack"))
                    .outputs(argument("output", T).quantizedAs("inputs")),
                Rearrange::packShapes,
                Rearrange::packParameters,
                Trait.DATA_MOVEMENT)
            .checkedBy(Rearrange::checkPack),
        new FunctionDefinition(
                ThalamusExtension.MIRROR_PAD,
                Signature.since(V1_2)
                    .inputs(
                        data("input", MOVABLE),
                        argument("paddings", TENSOR_INT32).rank(2).needsValue(true),
                        argument("mode", INT32))
                    .outputs(argument("output", T).quantizedAs("input")),
                Rearrange::mirrorShapes,
                Rearrange::mirrorParameters,
                Trait.DATA_MOVEMENT)
            .checkedBy(Rearrange::checkMirror),
        new FunctionDefinition(
            ThalamusExtension.REVERSE,
            Signature.since(V1_2)
                .inputs(
                    data("input", MOVABLE), argument("axes", TENSOR_INT32).rank(1).needsValue(true))
                .outputs(argument("output", T).quantizedAs("input").shapedAs("input")),
            operation -> List.of(operation.input(0).shape()),
            Rearrange::reverseParameters,
            Trait.DATA_MOVEMENT),
        io.thalamus.operations.Rearrange.concatenation(ThalamusExtension.CONCATENATION, MOVABLE));
  }

  private static Moves moves(List<StridedCopy> copies) {
    return new Moves(
        OptionalInt.empty(),
        copies.stream().map(copy -> new Part(0, 0, copy, Optional.empty())).toList());
  }

  private static void checkPack(OperationView operation, Check check) throws ValidationException {
    for (OperandView input : operation.inputs().subList(FIRST, operation.inputs().size())) {
      check.sameShape(operation.input(FIRST), input);
    }
  }

  private static int count(OperationView operation) {
    return operation.inputs().size() - FIRST;
  }

  private static int packAxis(OperationView operation) throws ValidationException {
    return axis(operation.input(0).int32(), operation.input(FIRST).shape().rank() + 1);
  }

  private static List<Shape> packShapes(OperationView operation) throws ValidationException {
    Shape part = operation.input(FIRST).shape();
    for (int i = FIRST; i < operation.inputs().size(); i++) {
      if (!operation.input(i).shape().equals(part)) {
        throw new ValidationException(
            "shapes differ: " + part + " and " + operation.input(i).shape());
      }
    }
    int axis = packAxis(operation);
    int[] dimensions = new int[part.rank() + 1];
    for (int i = 0; i < dimensions.length; i++) {
      dimensions[i] = i == axis ? count(operation) : part.dimension(i < axis ? i : i - 1);
    }
    return List.of(Shape.of(dimensions));
  }

  private static Moves packParameters(OperationView operation) throws ValidationException {
    Shape part = operation.input(FIRST).shape();
    int axis = packAxis(operation);
    long[] strides = StridedCopy.strides(operation.output().shape());
    long[] targets = new long[part.rank()];
    for (int i = 0; i < targets.length; i++) {
      targets[i] = strides[i < axis ? i : i + 1];
    }
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < count(operation); i++) {
      StridedCopy copy =
          StridedCopy.of(part.toArray(), 0, StridedCopy.strides(part), i * strides[axis], targets);
      parts.add(new Part(FIRST + i, 0, copy, Optional.empty()));
    }
    return new Moves(OptionalInt.empty(), parts);
  }

  private static Moves reverseParameters(OperationView operation) throws ValidationException {
    Shape shape = operation.input(0).shape();
    long[] strides = StridedCopy.strides(shape);
    long source = 0;
    boolean[] turned = new boolean[shape.rank()];
    for (int given : operation.input(AXES).int32s()) {
      int axis = axis(given, shape.rank());
      if (turned[axis]) {
        throw new ValidationException("axis " + axis + " is turned twice");
      }
      turned[axis] = true;
      source += Math.max(0, shape.dimension(axis) - 1) * strides[axis];
      strides[axis] = -strides[axis];
    }
    return moves(List.of(StridedCopy.gather(shape.toArray(), source, strides)));
  }

  private static void checkMirror(OperationView operation, Check check) throws ValidationException {
    if (operation.input(MODE).value().isPresent()) {
      mode(operation);
    }
  }

  private static int mode(OperationView operation) throws ValidationException {
    int mode = operation.input(MODE).int32();
    if (mode != REFLECT && mode != SYMMETRIC) {
      throw new ValidationException("there is no mirror mode " + mode);
    }
    return mode;
  }

  private static List<Shape> mirrorShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int[] paddings = operation.input(PADDINGS).int32s();
    int missing = mode(operation) == REFLECT ? 1 : 0;
    if (paddings.length != 2 * input.rank()) {
      throw new ValidationException(input + " cannot be padded by " + Arrays.toString(paddings));
    }
    int[] dimensions = input.toArray();
    for (int i = 0; i < dimensions.length; i++) {
      int most = Math.max(0, dimensions[i] - missing);
      for (int padding : new int[] {paddings[2 * i], paddings[2 * i + 1]}) {
        if (padding < 0 || padding > most) {
          throw new ValidationException(
              "axis %d of %s can be mirrored by 0 to %d elements, not by %d"
                  .formatted(i, input, most, padding));
        }
        dimensions[i] = Math.addExact(dimensions[i], padding);
      }
    }
    return List.of(Shape.of(dimensions));
  }

  /** A stretch of one dimension of the result: forwards, or backwards in the padding. */
  private record Stretch(int length, int source, int target, int step) {}

  private static List<Stretch> stretches(int dimension, int before, int after, int mode) {
    int skipped = mode == REFLECT ? 1 : 0;
    List<Stretch> all = new ArrayList<>();
    all.add(new Stretch(before, before - 1 + skipped, 0, -1));
    all.add(new Stretch(dimension, 0, before, 1));
    all.add(new Stretch(after, dimension - 1 - skipped, before + dimension, -1));
    all.removeIf(stretch -> stretch.length() == 0);
    return all;
  }

  private static Moves mirrorParameters(OperationView operation) throws ValidationException {
    List<StridedCopy> copies = new ArrayList<>();
    collect(operation, mode(operation), new ArrayList<>(), copies);
    return moves(copies);
  }

  /** All combinations of one stretch for each dimension. */
  private static void collect(
      OperationView operation, int mode, List<Stretch> chosen, List<StridedCopy> copies) {
    Shape input = operation.input(0).shape();
    int axis = chosen.size();
    if (axis == input.rank()) {
      copies.add(copy(input, operation.output().shape(), chosen));
      return;
    }
    int[] paddings = operation.input(PADDINGS).int32s();
    for (Stretch stretch :
        stretches(input.dimension(axis), paddings[2 * axis], paddings[2 * axis + 1], mode)) {
      chosen.add(stretch);
      collect(operation, mode, chosen, copies);
      chosen.removeLast();
    }
  }

  private static StridedCopy copy(Shape input, Shape output, List<Stretch> chosen) {
    long[] sourceStrides = StridedCopy.strides(input);
    long[] targetStrides = StridedCopy.strides(output);
    int[] dimensions = new int[chosen.size()];
    long source = 0;
    long target = 0;
    for (int i = 0; i < dimensions.length; i++) {
      Stretch stretch = chosen.get(i);
      dimensions[i] = stretch.length();
      source += stretch.source() * sourceStrides[i];
      target += stretch.target() * targetStrides[i];
      sourceStrides[i] *= stretch.step();
    }
    return StridedCopy.of(dimensions, source, sourceStrides, target, targetStrides);
  }
}
