// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_1;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.NamedDefinition.axis;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.Arrays;
import java.util.List;

/**
 * Operations that make one element out of all elements along some axes: MEAN, REDUCE_SUM,
 * REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ALL, REDUCE_ANY.
 */
public final class Reduction {
  private static final int AXES = 1;
  private static final int KEEP = 2;

  private static final TypeLevels FLOATS = TypeLevels.floats(V1_2);
  private static final TypeLevels ORDERED = TypeLevels.numbers(V1_2);
  private static final TypeLevels BOOLEANS = TypeLevels.since(V1_2, TENSOR_BOOL8);

  private Reduction() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        reduction(OperationCode.MEAN, TypeLevels.numbers(V1_1)),
        reduction(OperationCode.REDUCE_SUM, FLOATS),
        reduction(OperationCode.REDUCE_PROD, FLOATS),
        reduction(OperationCode.REDUCE_MAX, ORDERED),
        reduction(OperationCode.REDUCE_MIN, ORDERED),
        reduction(OperationCode.REDUCE_ALL, BOOLEANS),
        reduction(OperationCode.REDUCE_ANY, BOOLEANS));
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

  private static OperationDefinition reduction(OperationCode type, TypeLevels types) {
    boolean isMean = type == OperationCode.MEAN;
    return new FunctionDefinition(
        type,
        Signature.since(isMean ? V1_1 : V1_2)
            .inputs(
                data("input", types).rank(1, 4),
                argument("axes", TENSOR_INT32).rank(1).needsValue(true),
                argument("keep dimensions", isMean ? INT32 : BOOL))
            .outputs(argument("output", T).quantizedAs("input")),
        Reduction::shapes,
        Reduction::parameters);
  }

  private static boolean keepsAxes(OperationView operation) {
    OperandView keep = operation.input(KEEP);
    return keep.type() == INT32 ? keep.int32() > 0 : keep.bool();
  }

  private static boolean[] reduced(OperationView operation) throws ValidationException {
    boolean[] reduced = new boolean[operation.input(0).shape().rank()];
    for (int axis : operation.input(AXES).int32s()) {
      reduced[axis(axis, reduced.length)] = true;
    }
    return reduced;
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
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

  private static Parameters parameters(OperationView operation) throws ValidationException {
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
