// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.Shape;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.Moves;
import io.thalamus.operations.Moves.Part;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.Trait;
import io.thalamus.operations.ValidationException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Operations that take elements by their position: AS_STRIDED, whose parameters are Moves. */
public final class Slice {
  private static final int SIZE = 1;
  private static final int STRIDES = 2;
  private static final int OFFSET = 3;

  private Slice() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
            ThalamusExtension.AS_STRIDED,
            Signature.since(V1_2)
                .inputs(
                    data("input", Rearrange.MOVABLE),
                    argument("size", TENSOR_INT32).rank(1).needsValue(true),
                    argument("strides", TENSOR_INT32).rank(1).needsValue(true),
                    argument("offset", INT32))
                .outputs(argument("output", T).quantizedAs("input")),
            Slice::stridedShapes,
            Slice::stridedParameters,
            Trait.DATA_MOVEMENT));
  }

  private static List<Shape> stridedShapes(OperationView operation) throws ValidationException {
    int[] size = operation.input(SIZE).int32s();
    int[] strides = operation.input(STRIDES).int32s();
    long count = operation.input(0).shape().elementCount();
    boolean isShape =
        size.length > 0
            && size.length == strides.length
            && Arrays.stream(size).allMatch(dimension -> dimension >= 0);
    long first = operation.input(OFFSET).int32();
    long last = first;
    boolean isEmpty = Arrays.stream(size).anyMatch(dimension -> dimension == 0);
    for (int i = 0; isShape && !isEmpty && i < size.length; i++) {
      long way = Math.multiplyExact(size[i] - 1L, (long) strides[i]);
      first = Math.addExact(first, Math.min(0, way));
      last = Math.addExact(last, Math.max(0, way));
    }
    if (!isShape || !isEmpty && (first < 0 || last >= count)) {
      throw new ValidationException(
          "size %s with strides %s from element %s on leaves %s"
              .formatted(
                  Arrays.toString(size),
                  Arrays.toString(strides),
                  operation.input(OFFSET).int32(),
                  operation.input(0).shape()));
    }
    return List.of(Shape.of(size));
  }

  private static Moves stridedParameters(OperationView operation) {
    long[] strides = Arrays.stream(operation.input(STRIDES).int32s()).asLongStream().toArray();
    StridedCopy copy =
        StridedCopy.gather(
            operation.input(SIZE).int32s(), operation.input(OFFSET).int32(), strides);
    return new Moves(OptionalInt.empty(), List.of(new Part(0, 0, copy, Optional.empty())));
  }
}
