// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.FeatureLevel.V1_0;
import static io.thalamus.model.FeatureLevel.V1_2;
import static io.thalamus.model.FeatureLevel.V1_3;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.util.List;
import java.util.Set;

/** From one element type to another: QUANTIZE, DEQUANTIZE, CAST. */
public final class Quantize {
  private Quantize() {}

  static List<OperationDefinition> definitions() {
    return List.of(new ToQuantized(), new Dequantize(), new Cast());
  }

  private abstract static class Conversion extends NamedDefinition {
    Conversion(OperationCode type) {
      super(type);
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }

  private static final class ToQuantized extends Conversion {
    private static final TypeLevels TYPES = TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16);

    ToQuantized() {
      super(OperationCode.QUANTIZE);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 1, 1);
      check.inputType(0, types());
      check.outputType(0, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED);
      check.sameShape(operation.input(0), operation.output());
      return operation.output().type() == TENSOR_QUANT8_ASYMM_SIGNED ? V1_3 : V1_2;
    }
  }

  private static final class Dequantize extends Conversion {
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_0, TENSOR_QUANT8_ASYMM)
            .andSince(V1_2, TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL)
            .andSince(V1_3, TENSOR_QUANT8_ASYMM_SIGNED);

    Dequantize() {
      super(OperationCode.DEQUANTIZE);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_0, 1, 1);
      check.inputType(0, types());
      check.outputType(0, TENSOR_FLOAT32, TENSOR_FLOAT16).inputRank(0, 1, 4);
      check.sameShape(operation.input(0), operation.output());
      return check.atLeast(operation.output().type() == TENSOR_FLOAT16 ? V1_2 : V1_0).level();
    }
  }

  private static final class Cast extends Conversion {
    private static final Set<OperandCode> CONVERTIBLE =
        Set.of(TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM);
    private static final TypeLevels TYPES =
        TypeLevels.since(V1_2, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM)
            .andSince(
                V1_3,
                TENSOR_BOOL8,
                TENSOR_QUANT16_ASYMM,
                TENSOR_QUANT16_SYMM,
                TENSOR_QUANT8_ASYMM_SIGNED,
                TENSOR_QUANT8_SYMM);

    Cast() {
      super(OperationCode.CAST);
    }

    @Override
    public TypeLevels types() {
      return TYPES;
    }

    @Override
    public FeatureLevel validate(OperationView operation) throws ValidationException {
      Check check = check(operation, V1_2, 1, 1);
      OperandCode from = check.inputType(0, types());
      if (CONVERTIBLE.contains(from)) {
        check.outputType(0, TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM);
      } else {
        check.outputType(0, from);
      }
      return check.sameShape(operation.input(0), operation.output()).level();
    }
  }
}
