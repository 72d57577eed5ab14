// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations.extension;

import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;

import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.Check;
import io.thalamus.operations.FunctionDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationParameters;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import io.thalamus.operations.StridedCopy;
import io.thalamus.operations.Trait;
import io.thalamus.operations.ValidationException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** Operations that choose elements by indexes: GATHER_ND and SCATTER_ND. */
public final class Selection {
  private static final int INDEXES = 1;
  private static final int UPDATES = 2;
  private static final int UPDATE = 3;

  /** Types that SCATTER_ND computes with. */
  private static final Set<OperandCode> NUMBERS =
      Set.of(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16, TENSOR_INT32);

  private Selection() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
                ThalamusExtension.GATHER_ND,
                Signature.since(V1_2)
                    .inputs(data("input", Rearrange.MOVABLE), argument("indexes", TENSOR_INT32))
                    .outputs(argument("output", T).quantizedAs("input")),
                Selection::gatherShapes,
                Selection::gatherParameters,
                Trait.DATA_MOVEMENT)
            .inferredOnceKnown(0, INDEXES),
        new FunctionDefinition(
                ThalamusExtension.SCATTER_ND,
                Signature.since(V1_2)
                    .inputs(
                        data("input", Rearrange.MOVABLE),
                        argument("indexes", TENSOR_INT32),
                        argument("updates", T).quantizedAs("input"),
                        argument("update", INT32))
                    .outputs(argument("output", T).quantizedAs("input").shapedAs("input")),
                Selection::scatterShapes,
                Selection::scatterParameters)
            .checkedBy(Selection::checkScatter)
            .inferredOnceKnown(0, INDEXES, UPDATES));
  }

  /**
   * The parameters of GATHER_ND, and of SCATTER_ND's indexes.
   *
   * @param tuples how many slices are taken, or replaced
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

  /** A way to join an update of SCATTER_ND with the element that it finds. */
  public enum Update {
    REPLACE,
    ADD,
    MULTIPLY,
    MAXIMUM,
    MINIMUM;

    /** Returns the number that stands for it in a model. */
    public int code() {
      return ordinal();
    }

    /** Returns what an element becomes. */
    public float apply(float found, float given) {
      return switch (this) {
        case REPLACE -> given;
        case ADD -> found + given;
        case MULTIPLY -> found * given;
        case MAXIMUM -> Math.max(found, given);
        case MINIMUM -> Math.min(found, given);
      };
    }

    /** Returns what an integer becomes, of which the low 32 bits count. */
    public int apply(int found, int given) {
      return switch (this) {
        case REPLACE -> given;
        case ADD -> found + given;
        case MULTIPLY -> found * given;
        case MAXIMUM -> Math.max(found, given);
        case MINIMUM -> Math.min(found, given);
      };
    }
  }

  /**
   * The parameters of SCATTER_ND.
   *
   * @param slices that are updated, in this order
   * @param update how
   */
  public record Scattered(Slices slices, Update update) implements OperationParameters {}

  private static int tuple(Shape data, Shape indexes) throws ValidationException {
    int tuple = indexes.rank() == 0 ? 0 : indexes.dimension(indexes.rank() - 1);
    if (tuple < 1 || tuple > data.rank()) {
      throw new ValidationException("tuples of " + tuple + " indexes do not fit " + data);
    }
    return tuple;
  }

  /** The dimensions of all slices: those of the indexes but the last, then those of a slice. */
  private static int[] slices(Shape data, Shape indexes) throws ValidationException {
    int tuple = tuple(data, indexes);
    int outer = indexes.rank() - 1;
    int[] dimensions = Arrays.copyOf(indexes.toArray(), outer + data.rank() - tuple);
    for (int i = tuple; i < data.rank(); i++) {
      dimensions[outer + i - tuple] = data.dimension(i);
    }
    return dimensions;
  }

  private static Slices resolved(Shape data, Shape indexes) throws ValidationException {
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

  private static List<Shape> gatherShapes(OperationView operation) throws ValidationException {
    int[] dimensions = slices(operation.input(0).shape(), operation.input(INDEXES).shape());
    if (dimensions.length == 0) {
      throw new ValidationException(
          "one tuple of indexes for all dimensions gives a scalar; give the indexes rank 2");
    }
    return List.of(Shape.of(dimensions));
  }

  private static Slices gatherParameters(OperationView operation) throws ValidationException {
    return resolved(operation.input(0).shape(), operation.input(INDEXES).shape());
  }

  private static Update update(OperationView operation) throws ValidationException {
    int code = operation.input(UPDATE).int32();
    Update[] all = Update.values();
    if (code < 0 || code >= all.length) {
      throw new ValidationException("there is no update " + code);
    }
    OperandCode type = (OperandCode) operation.input(0).type();
    if (all[code] != Update.REPLACE && !NUMBERS.contains(type)) {
      throw new ValidationException(type.text() + " can only be replaced");
    }
    return all[code];
  }

  private static void checkScatter(OperationView operation, Check check)
      throws ValidationException {
    if (operation.input(UPDATE).value().isPresent()) {
      update(operation);
    }
  }

  private static List<Shape> scatterShapes(OperationView operation) throws ValidationException {
    Shape data = operation.input(0).shape();
    int[] slices = slices(data, operation.input(INDEXES).shape());
    Shape updates = operation.input(UPDATES).shape();
    if (!Arrays.equals(slices, updates.toArray())) {
      throw new ValidationException(
          "updates are " + updates + ", but by the indexes must be " + Arrays.toString(slices));
    }
    return List.of(data);
  }

  private static Scattered scatterParameters(OperationView operation) throws ValidationException {
    return new Scattered(
        resolved(operation.input(0).shape(), operation.input(INDEXES).shape()), update(operation));
  }
}
