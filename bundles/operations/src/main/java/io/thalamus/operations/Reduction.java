// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;

/**
 * Operations that make one element out of all elements along some axes: MEAN, REDUCE_SUM,
 * REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, REDUCE_ANY.
 */
public final class Reduction {
  private static final TypeLevels FLOATS = TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);
  private static final TypeLevels ORDERED =
      FLOATS.andSince(V1_2, TENSOR_QUANT8_ASYMM).andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);
  private static final TypeLevels BOOLEANS = TypeLevels.since(V1_2, TENSOR_BOOL8);
  private static final TypeLevels MEAN =
      TypeLevels.since(V1_1, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM)
          .andSince(V1_2, TENSOR_FLOAT16)
          .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

  private Reduction() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new Reduce(OperationCode.MEAN, MEAN),
        new Reduce(OperationCode.REDUCE_SUM, FLOATS),
        new Reduce(OperationCode.REDUCE_PROD, FLOATS),
        new Reduce(OperationCode.REDUCE_MAX, ORDERED),
        new Reduce(OperationCode.REDUCE_MIN, ORDERED),
        new Reduce(OperationCode.REDUCE_ALL, BOOLEANS),
        new Reduce(OperationCode.REDUCE_ANY, BOOLEANS));
  }

  /**
   * The parameters of reductions.
   *
   * @param walk for each element of the input, in order, the element of the output that it goes
   *     into
   * @param results the number of elements of the output
   * @param count the number of elements that go into each
   */
  public record Parameters(StridedCopy walk, int results, int count)
      implements OperationParameters {}

  private static final class Reduce extends NamedDefinition {
    private static final int AXES = 1;
    private static final int KEEP = 2;

    private final boolean isMean;
    private final TypeLevels types;

    Reduce(OperationCode type, TypeLevels types) {
      super(type);
      this.isMean = type == OperationCode.MEAN;
      this.types = types;
    }

    @Override
    public TypeLevels types() {
      return types;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, isMean ? V1_1 : V1_2, 3, 1);
      OperandCode data = check.inputType(0, types());
      check.inputType(AXES, TENSOR_INT32).inputRank(AXES, 1, 1);
      check.inputType(KEEP, isMean ? OperandCode.INT32 : OperandCode.BOOL);
      check.inputRank(0, 1, 4).outputType(0, data);
      return check.sameQuantization(operation.input(0), operation.output()).level();
    }

    @Override
    public boolean needsValue(OperationView operation, int input) {
      return input == AXES || input == KEEP;
    }

    private boolean keepsAxes(OperationView operation) {
      OperandView keep = operation.input(KEEP);
      return isMean ? keep.int32() > 0 : keep.bool();
    }

    private static boolean[] reduced(OperationView operation) throws ValidationException {
      boolean[] reduced = new boolean[operation.input(0).shape().rank()];
      for (int axis : operation.input(AXES).int32s()) {
        reduced[axis(axis, reduced.length)] = true;
      }
      return reduced;
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape input = operation.input(0).shape();
      boolean[] reduced = reduced(operation);
      boolean keepsAxes = keepsAxes(operation);
      int[] dimensions = new int[input.rank()];
      int rank = 0;
      for (int i = 0; i < reduced.length; i++) {
        if (!reduced[i]) {
          dimensions[rank++] = input.dimension(i);
        } else if (keepsAxes) {
          dimensions[rank++] = 1;
        }
      }
      // A tensor keeps at least one dimension: without any, its rank would be unknown.
      return List.of(rank == 0 ? Shape.of(1) : Shape.of(Arrays.copyOf(dimensions, rank)));
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      Shape input = operation.input(0).shape();
      boolean[] reduced = reduced(operation);
      int[] kept = input.toArray();
      int count = 1;
      for (int i = 0; i < kept.length; i++) {
        if (reduced[i]) {
          count *= kept[i];
          kept[i] = 1;
        }
      }
      long[] targets = StridedCopy.strides(kept);
      for (int i = 0; i < kept.length; i++) {
        targets[i] = reduced[i] ? 0 : targets[i];
      }
      StridedCopy walk = StridedCopy.of(input.toArray(), 0, StridedCopy.strides(input), 0, targets);
      return new Parameters(walk, (int) operation.output().shape().elementCount(), count);
    }
  }
}
