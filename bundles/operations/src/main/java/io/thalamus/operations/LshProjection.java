// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.operations.Argument.argument;
import static io.thalamus.operations.Argument.data;
import static io.thalamus.operations.ArgumentType.T;
import static io.thalamus.operations.ArgumentType.of;

import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;

/**
 * LSH_PROJECTION, a member of the family {@link Selection}: each bit of a signature is the sign of
 * a weighted sum of hashed items.
 */
public final class LshProjection {
  private static final int INPUT = 1;
  private static final int WEIGHTS = 2;
  private static final int TYPE = 3;
  private static final int MOST_BITS = 32;

  private LshProjection() {}

  static List<OperationDefinition> definitions() {
    return List.of(
        new FunctionDefinition(
            OperationCode.LSH_PROJECTION,
            Signature.since(V1_0)
                .inputs(
                    data("seeds", TypeLevels.floats(V1_0)).rank(2),
                    argument(
                        "input",
                        of(TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
                            .or(of(TENSOR_FLOAT16).from(V1_2))),
                    argument("weights", T).omittable(),
                    argument("type", INT32))
                .outputs(argument("output", TENSOR_INT32)),
            LshProjection::shapes,
            LshProjection::parameters,
            Trait.DISCONTINUOUS));
  }

  /** The form in which a signature is returned. Numbers as in NNAPI. */
  public enum Form {
    /** One number, the same in all tables. */
    SPARSE_DEPRECATED(1),
    /** One number for each bit. */
    DENSE(2),
    /** One number; each table has numbers of its own. */
    SPARSE(3);

    private final int code;

    Form(int code) {
      this.code = code;
    }

    static Form ofCode(int code) throws ValidationException {
      for (Form form : values()) {
        if (form.code == code) {
          return form;
        }
      }
      throw new ValidationException("there is no type " + code + " of projection");
    }
  }

  /**
   * The parameters.
   *
   * @param tables the number of signatures
   * @param bits of each signature, at most 32
   * @param itemSize bytes of an item
   * @param hasWeights whether items are weighted
   */
  public record Parameters(
      Form form, int tables, int bits, int items, int itemSize, boolean hasWeights)
      implements OperationParameters {}

  private static Parameters parameters(OperationView operation) throws ValidationException {
    Shape seeds = operation.input(0).shape();
    OperandView input = operation.input(INPUT);
    int items = input.shape().dimension(0);
    Form form = Form.ofCode(operation.input(TYPE).int32());
    boolean hasWeights = operation.has(WEIGHTS);
    if (seeds.dimension(1) > MOST_BITS) {
      throw new ValidationException("a signature of " + seeds.dimension(1) + " bits is too long");
    }
    if (hasWeights != (form == Form.DENSE)) {
      throw new ValidationException("weights belong to dense projections and only to these");
    }
    if (hasWeights) {
      Recurrent.require(operation, WEIGHTS, items);
    }
    return new Parameters(
        form,
        seeds.dimension(0),
        seeds.dimension(1),
        items,
        Math.multiplyExact(
            Rearrange.count(input.shape(), 1, input.shape().rank()), input.type().elementSize()),
        hasWeights);
  }

  private static List<Shape> shapes(OperationView operation) throws ValidationException {
    Parameters parameters = parameters(operation);
    int perTable = parameters.form() == Form.DENSE ? parameters.bits() : 1;
    return List.of(Shape.of(Math.multiplyExact(parameters.tables(), perTable)));
  }
}
