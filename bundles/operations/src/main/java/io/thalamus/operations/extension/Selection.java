// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.Shape;
import io.thalamus.operations.Check;
import io.thalamus.operations.NamedDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.Trait;
import io.thalamus.operations.ValidationException;
import java.util.Arrays;
import java.util.List;

/** Operations that choose elements by indexes: GATHER_ND. */
public final class Selection {
  private Selection() {}

  static List<OperationDefinition> definitions() {
    return List.of(new GatherNd());
  }

  /**
   * The parameters of GATHER_ND.
   *
   * @param tuples how many slices are taken
   * @param dimensions those that a tuple of indexes points into
   * @param strides how many elements one step along each of them is
   * @param sliceSize elements of a slice
   */
  public record Slices(int tuples, List<Integer> dimensions, List<Long> strides, int sliceSize)
      implements OperationParameters {
    public Slices {
      dimensions = List.copyOf(dimensions);
      strides = List.copyOf(strides);
    }
  }

  private static final class GatherNd extends NamedDefinition {
    private static final int INDEXES = 1;

    GatherNd() {
      super(
          ThalamusExtension.GATHER_ND,
          Signature.since(V1_2)
              .inputs(data("input", Rearrange.MOVABLE), argument("indexes", TENSOR_INT32))
              .outputs(argument("output", T).quantizedAs("input")),
          Trait.DATA_MOVEMENT);
    }

    @Override
    public void check(OperationView operation, Check check) throws ValidationException {
      if (areShapesKnown(operation, 0, INDEXES)) {
        infer(operation);
      }
    }

    @Override
    public List<Shape> infer(OperationView operation) throws ValidationException {
      Shape data = operation.input(0).shape();
      Shape indexes = operation.input(INDEXES).shape();
      int tuple = tuple(data, indexes);
      int outer = indexes.rank() - 1;
      int[] dimensions = Arrays.copyOf(indexes.toArray(), outer + data.rank() - tuple);
      for (int i = tuple; i < data.rank(); i++) {
        dimensions[outer + i - tuple] = data.dimension(i);
      }
      if (dimensions.length == 0) {
        throw new ValidationException(
            "one tuple of indexes for all dimensions gives a scalar; give the indexes rank 2");
      }
      return List.of(Shape.of(dimensions));
    }

    private static int tuple(Shape data, Shape indexes) throws ValidationException {
      int tuple = indexes.dimension(indexes.rank() - 1);
      if (tuple < 1 || tuple > data.rank()) {
        throw new ValidationException("tuples of " + tuple + " indexes do not fit " + data);
      }
      return tuple;
    }

    @Override
    public OperationParameters resolve(OperationView operation) throws ValidationException {
      Shape data = operation.input(0).shape();
      Shape indexes = operation.input(INDEXES).shape();
      int tuple = tuple(data, indexes);
      long[] strides = StridedCopy.strides(data);
      int sliceSize = 1;
      for (int i = tuple; i < data.rank(); i++) {
        sliceSize = Math.multiplyExact(sliceSize, data.dimension(i));
      }
      return new Slices(
          Math.toIntExact(indexes.elementCount() / tuple),
          Arrays.stream(data.toArray()).limit(tuple).boxed().toList(),
          Arrays.stream(strides).limit(tuple).boxed().toList(),
          sliceSize);
    }
  }
}
