// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
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
  private Slice() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Block(), new Strided(), new Gather(), new EmbeddingLookup(), new HashtableLookup());
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

  private static final class Block extends NamedDefinition {
    private static final int BEGIN = 1;
    private static final int SIZE = 2;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Block() {
      super(OperationCode.SLICE);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 3, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(BEGIN, TENSOR_INT32).inputRank(BEGIN, 1, 1);
      check.inputType(SIZE, TENSOR_INT32).inputRank(SIZE, 1, 1).outputType(0, data);
      return check.sameQuantization(operation.input(0), operation.output()).level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return input == BEGIN || input == SIZE;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
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
            "a slice from "
                + Arrays.toString(begin)
                + " of size "
                + Arrays.toString(size)
                + " does not lie in "
                + input);
      }
      return List.of(Shape.of(dimensions));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      long[] strides = StridedCopy.strides(operation.input(0).shape());
      int[] begin = operation.input(BEGIN).int32s();
      long source = 0;
      for (int i = 0; i < strides.length; i++) {
        source += begin[i] * strides[i];
      }
      return Moves.of(StridedCopy.gather(operation.output().shape().toArray(), source, strides));
    }
  }

  private static final class Strided extends NamedDefinition {
    private static final int BEGIN = 1;
    private static final int END = 2;
    private static final int STRIDES = 3;
    private static final int BEGIN_MASK = 4;
    private static final int END_MASK = 5;
    private static final int SHRINK_MASK = 6;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_1, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_2, TENSOR_FLOAT16)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Strided() {
      super(OperationCode.STRIDED_SLICE);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_1, 7, 1);
      OperandCode data = check.inputType(0, types());
      for (int i = BEGIN; i <= STRIDES; i++) {
        check.inputType(i, TENSOR_INT32).inputRank(i, 1, 1);
      }
      for (int i = BEGIN_MASK; i <= SHRINK_MASK; i++) {
        check.inputType(i, OperandCode.INT32);
      }
      check.inputRank(0, 1, 4).outputType(0, data);
      return check.sameQuantization(operation.input(0), operation.output()).level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return input > 0;
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
              "axis "
                  + i
                  + " cannot be removed: "
                  + count
                  + " cells of it are taken, stride "
                  + stride);
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

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      int[] kept =
          Arrays.stream(walks(operation))
              .filter(walk -> !walk.isRemoved())
              .mapToInt(Walk::count)
              .toArray();
      // A tensor keeps at least one dimension: without any, its rank would be unknown.
      return List.of(kept.length == 0 ? Shape.of(1) : Shape.of(kept));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
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
  }

  private static final class Gather extends NamedDefinition {
    private static final int AXIS = 1;
    private static final int INDEXES = 2;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Gather() {
      super(OperationCode.GATHER);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 3, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(AXIS, OperandCode.INT32).inputType(INDEXES, TENSOR_INT32);
      check.outputType(0, data).sameQuantization(operation.input(0), operation.output());
      return check.level();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape input = operation.input(0).shape();
      Shape indexes = operation.input(INDEXES).shape();
      int axis = axis(operation.input(AXIS).int32(), input.rank());
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

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      Shape input = operation.input(0).shape();
      int axis = axis(operation.input(AXIS).int32(), input.rank());
      return new Lookup(
          INDEXES,
          0,
          (int) operation.input(INDEXES).shape().elementCount(),
          Rearrange.count(input, 0, axis),
          input.dimension(axis),
          Rearrange.count(input, axis + 1, input.rank()));
    }
  }

  private static final class EmbeddingLookup extends NamedDefinition {
    private static final int INDEXES = 0;
    private static final int VALUES = 1;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_0, TENSOR_FLOAT32)
            .andSince(V1_2, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
            .andSince(V1_3, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED);

    EmbeddingLookup() {
      super(OperationCode.EMBEDDING_LOOKUP);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_0, 2, 1);
      check.inputType(INDEXES, TENSOR_INT32).inputRank(INDEXES, 1, 1);
      OperandCode data = check.inputType(VALUES, types());
      check.inputRank(VALUES, 2, Integer.MAX_VALUE).outputType(0, data);
      return check.sameQuantization(operation.input(VALUES), operation.output()).level();
    }

    @Override
    public OperandType kernelType(OperationView operation) {
      return operation.input(VALUES).type();
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      int lookups = operation.input(INDEXES).shape().dimension(0);
      return List.of(operation.input(VALUES).shape().with(0, lookups));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      Shape values = operation.input(VALUES).shape();
      return new Lookup(
          INDEXES,
          VALUES,
          operation.input(INDEXES).shape().dimension(0),
          1,
          values.dimension(0),
          Rearrange.count(values, 1, values.rank()));
    }
  }

  private static final class HashtableLookup extends NamedDefinition {
    private static final int LOOKUPS = 0;
    private static final int KEYS = 1;
    private static final int VALUES = 2;
    private static final int HITS = 1;
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_0, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM);

    HashtableLookup() {
      super(OperationCode.HASHTABLE_LOOKUP);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_0, 3, 2);
      check.inputType(LOOKUPS, TENSOR_INT32).inputRank(LOOKUPS, 1, 1);
      check.inputType(KEYS, TENSOR_INT32).inputRank(KEYS, 1, 1);
      OperandCode data = check.inputType(VALUES, types());
      check.outputType(0, data).sameQuantization(operation.input(VALUES), operation.output(0));
      check.outputType(HITS, TENSOR_QUANT8_ASYMM);
      check.that(
          operation.output(HITS).quantization().equals(Quantization.of(1, 0)),
          "the hits are 0 or 1: they have scale 1 and zero point 0");
      return check.level();
    }

    @Override
    public OperandType kernelType(OperationView operation) {
      return operation.input(VALUES).type();
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape values = operation.input(VALUES).shape();
      Shape keys = operation.input(KEYS).shape();
      int lookups = operation.input(LOOKUPS).shape().dimension(0);
      if (keys.dimension(0) != values.dimension(0)) {
        throw new ValidationException("keys " + keys + " do not fit values " + values);
      }
      return List.of(values.with(0, lookups), Shape.of(lookups));
    }

    @Override
    public OperationParameters resolve(OperationView operation) {
      Shape values = operation.input(VALUES).shape();
      return new KeyLookup(
          operation.input(LOOKUPS).shape().dimension(0),
          values.dimension(0),
          Rearrange.count(values, 1, values.rank()));
    }
  }
}
