// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;

/**
 * Operations that take some elements of a tensor: SLICE and STRIDED_SLICE by position, whose
 * parameters are {@link Moves}; GATHER, EMBEDDING_LOOKUP and HASHTABLE_LOOKUP by computed indexes.
 */
public final class Slice {
  // Inputs of HASHTABLE_LOOKUP, and its second output.
  private static final int LOOKUPS = 0;
  private static final int KEYS = 1;
  private static final int VALUES = 2;
  private static final int HITS = 1;

  private static final int EMBEDDING_INDEXES = 0;
  private static final int EMBEDDING_VALUES = 1;

  private static final int GATHER_AXIS = 1;
  private static final int GATHER_INDEXES = 2;

  // Inputs of SLICE and of STRIDED_SLICE.
  private static final int BEGIN = 1;
  private static final int SIZE = 2;
  private static final int END = 2;
  private static final int STRIDES = 3;
  private static final int BEGIN_MASK = 4;
  private static final int END_MASK = 5;
  private static final int SHRINK_MASK = 6;

  private Slice() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
            OperationCode.SLICE,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32)),
                    argument("begin", TENSOR_INT32).rank(1).needsValue(true),
                    argument("size", TENSOR_INT32).rank(1).needsValue(true))
                .outputs(argument("output", T).quantizedAs("input")),
            Slice::sliceShapes,
            Slice::sliceParameters,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
            OperationCode.STRIDED_SLICE,
            Signature.since(V1_1)
                .inputs(
                    data("input", TypeLevels.numbers(V1_1)).rank(1, 4),
                    argument("begin", TENSOR_INT32).rank(1).needsValue(true),
                    argument("end", TENSOR_INT32).rank(1).needsValue(true),
                    argument("strides", TENSOR_INT32).rank(1).needsValue(true),
                    argument("begin mask", INT32),
                    argument("end mask", INT32),
                    argument("shrink axis mask", INT32))
                .outputs(argument("output", T).quantizedAs("input")),
            Slice::stridedShapes,
            Slice::stridedParameters,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
            OperationCode.GATHER,
            Signature.since(V1_2)
                .inputs(
                    data("input", TypeLevels.numbers(V1_2).andSince(V1_2, TENSOR_INT32)),
                    argument("axis", INT32),
                    argument("indexes", TENSOR_INT32))
                .outputs(argument("output", T).quantizedAs("input")),
            Slice::gatherShapes,
            Slice::gatherParameters,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
            OperationCode.EMBEDDING_LOOKUP,
            Signature.since(V1_0)
                .inputs(
                    argument("indexes", TENSOR_INT32).rank(1),
                    data(
                            "values",
                            TypeLevels.since(V1_0, TENSOR_FLOAT32)
                                .andSince(V1_2, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
                                .andSince(V1_3, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED))
                        .rank(2, Integer.MAX_VALUE))
                .outputs(argument("output", T).quantizedAs("values")),
            Slice::embeddingShapes,
            Slice::embeddingParameters,
            Trait.DATA_MOVEMENT),
        new FunctionDefinition(
                OperationCode.HASHTABLE_LOOKUP,
                Signature.since(V1_0)
                    .inputs(
                        argument("lookups", TENSOR_INT32).rank(1),
                        argument("keys", TENSOR_INT32).rank(1),
                        data(
                            "values",
                            TypeLevels.since(
                                V1_0, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM)))
                    .outputs(
                        argument("output", T).quantizedAs("values"),
                        argument("hits", TENSOR_QUANT8_ASYMM)),
                Slice::hashtableShapes,
                Slice::hashtableParameters,
                Trait.DATA_MOVEMENT)
            .checkedBy(Slice::checkHashtable));
  }

  /**
   * The parameters of GATHER and EMBEDDING_LOOKUP: the values are {@code outer} times {@code rows}
   * rows of {@code rowLength} elements, and each index takes a row out of each group.
   *
   * @param indexInput which input the indexes are
   * @param valueInput which input the values are
   * @param indexes the number of indexes
   */
  public record Lookup(
      int indexInput, int valueInput, int indexes, int outer, int rows, int rowLength)
      implements OperationParameters {}

  /**
   * The parameters of HASHTABLE_LOOKUP.
   *
   * @param lookups the number of keys to look for
   * @param keys the number of keys that there are, in ascending order
   * @param rowLength elements of the value of each key
   */
  public record KeyLookup(int lookups, int keys, int rowLength) implements OperationParameters {}

  private static List<Shape> sliceShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int[] begin = operation.input(BEGIN).int32s();
    int[] size = operation.input(SIZE).int32s();
    int[] dimensions = new int[input.rank()];
    boolean fits = begin.length == input.rank() && size.length == input.rank();
    for (int i = 0; fits && i < dimensions.length; i++) {
      dimensions[i] = size[i] == -1 ? input.dimension(i) - begin[i] : size[i];
      fits =
          begin[i] >= 0
              && dimensions[i] >= 0
              && (long) begin[i] + dimensions[i] <= input.dimension(i);
    }
    if (!fits) {
      throw new ValidationException(
          "a slice from %s of size %s does not lie in %s"
              .formatted(Arrays.toString(begin), Arrays.toString(size), input));
    }
    return List.of(Shape.of(dimensions));
  }

  private static Moves sliceParameters(OperationView operation) {
    long[] strides = StridedCopy.strides(operation.input(0).shape());
    int[] begin = operation.input(BEGIN).int32s();
    long source = 0;
    for (int i = 0; i < strides.length; i++) {
      source += begin[i] * strides[i];
    }
    return Moves.of(StridedCopy.gather(operation.output().shape().toArray(), source, strides));
  }

  /**
   * The walk along one axis.
   *
   * @param begin the first cell
   * @param stride between two cells; may be negative
   * @param count the number of cells
   * @param isRemoved whether the result does without this axis
   */
  private record Walk(int begin, int stride, int count, boolean isRemoved) {}

  private static Walk[] walks(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int[] begins = operation.input(BEGIN).int32s();
    int[] ends = operation.input(END).int32s();
    int[] strides = operation.input(STRIDES).int32s();
    if (begins.length != input.rank()
        || ends.length != input.rank()
        || strides.length != input.rank()) {
      throw new ValidationException(
          "begin, end and strides must each have " + input.rank() + " elements, as " + input);
    }
    Walk[] walks = new Walk[input.rank()];
    for (int i = 0; i < walks.length; i++) {
      int size = input.dimension(i);
      int stride = strides[i];
      if (stride == 0) {
        throw new ValidationException("the stride along axis " + i + " is 0");
      }
      boolean isUpwards = stride > 0;
      int begin =
          isSet(operation, BEGIN_MASK, i)
              ? (isUpwards ? 0 : size - 1)
              : clamped(begins[i], size, isUpwards);
      int end =
          isSet(operation, END_MASK, i)
              ? (isUpwards ? size : -1)
              : clamped(ends[i], size, isUpwards);
      int way = isUpwards ? end - begin : begin - end;
      int step = Math.abs(stride);
      int count = way <= 0 ? 0 : (way - 1) / step + 1;
      boolean isRemoved = isSet(operation, SHRINK_MASK, i);
      if (isRemoved && (!isUpwards || count != 1)) {
        throw new ValidationException(
            "axis %s cannot be removed: %s cells of it are taken, stride %s"
                .formatted(i, count, stride));
      }
      walks[i] = new Walk(begin, stride, count, isRemoved);
    }
    return walks;
  }

  private static boolean isSet(OperationView operation, int mask, int axis) {
    return (operation.input(mask).int32() & 1 << axis) != 0;
  }

  /** A cell counted from behind where negative, and brought next to the axis where outside. */
  private static int clamped(int cell, int size, boolean isUpwards) {
    int counted = cell < 0 ? Math.max(cell, -size - 1) + size : cell;
    return isUpwards ? Math.clamp(counted, 0, size) : Math.clamp(counted, -1, size - 1);
  }

  private static List<Shape> stridedShapes(OperationView operation) throws ValidationException {
    int[] kept =
        Arrays.stream(walks(operation))
            .filter(walk -> !walk.isRemoved())
            .mapToInt(Walk::count)
            .toArray();
    // A tensor keeps at least one dimension: without any, its rank would be unknown.
    return List.of(kept.length == 0 ? Shape.of(1) : Shape.of(kept));
  }

  private static Moves stridedParameters(OperationView operation) throws ValidationException {
    Walk[] walks = walks(operation);
    long[] strides = StridedCopy.strides(operation.input(0).shape());
    int[] block = new int[walks.length];
    long source = 0;
    for (int i = 0; i < walks.length; i++) {
      source += walks[i].begin() * strides[i];
      strides[i] *= walks[i].stride();
      block[i] = walks[i].count();
    }
    return Moves.of(StridedCopy.gather(block, source, strides));
  }

  private static List<Shape> gatherShapes(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    Shape indexes = operation.input(GATHER_INDEXES).shape();
    int axis = axis(operation.input(GATHER_AXIS).int32(), input.rank());
    int[] dimensions = new int[input.rank() + indexes.rank() - 1];
    for (int i = 0; i < axis; i++) {
      dimensions[i] = input.dimension(i);
    }
    for (int i = 0; i < indexes.rank(); i++) {
      dimensions[axis + i] = indexes.dimension(i);
    }
    for (int i = axis + 1; i < input.rank(); i++) {
      dimensions[indexes.rank() + i - 1] = input.dimension(i);
    }
    return List.of(Shape.of(dimensions));
  }

  private static Lookup gatherParameters(OperationView operation) throws ValidationException {
    Shape input = operation.input(0).shape();
    int axis = axis(operation.input(GATHER_AXIS).int32(), input.rank());
    return new Lookup(
        GATHER_INDEXES,
        0,
        (int) operation.input(GATHER_INDEXES).shape().elementCount(),
        Rearrange.count(input, 0, axis),
        input.dimension(axis),
        Rearrange.count(input, axis + 1, input.rank()));
  }

  private static List<Shape> embeddingShapes(OperationView operation) {
    int lookups = operation.input(EMBEDDING_INDEXES).shape().dimension(0);
    return List.of(operation.input(EMBEDDING_VALUES).shape().with(0, lookups));
  }

  private static Lookup embeddingParameters(OperationView operation) {
    Shape values = operation.input(EMBEDDING_VALUES).shape();
    return new Lookup(
        EMBEDDING_INDEXES,
        EMBEDDING_VALUES,
        operation.input(EMBEDDING_INDEXES).shape().dimension(0),
        1,
        values.dimension(0),
        Rearrange.count(values, 1, values.rank()));
  }

  private static void checkHashtable(OperationView operation, Check check)
      throws ValidationException {
    check.that(
        operation.output(HITS).quantization().equals(Quantization.of(1, 0)),
        "the hits are 0 or 1: they have scale 1 and zero point 0");
  }

  private static List<Shape> hashtableShapes(OperationView operation) throws ValidationException {
    Shape values = operation.input(VALUES).shape();
    Shape keys = operation.input(KEYS).shape();
    int lookups = operation.input(LOOKUPS).shape().dimension(0);
    if (keys.dimension(0) != values.dimension(0)) {
      throw new ValidationException("keys " + keys + " do not fit values " + values);
    }
    return List.of(values.with(0, lookups), Shape.of(lookups));
  }

  private static KeyLookup hashtableParameters(OperationView operation) {
    Shape values = operation.input(VALUES).shape();
    return new KeyLookup(
        operation.input(LOOKUPS).shape().dimension(0),
        values.dimension(0),
        Rearrange.count(values, 1, values.rank()));
  }
}
