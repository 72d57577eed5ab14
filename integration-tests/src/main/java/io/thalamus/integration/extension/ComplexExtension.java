// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.extension;

import static io.thalamus.operations.Argument.argument;

import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Shape;
import io.thalamus.operations.NamedDefinition;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationExtension;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.Signature;
import java.util.List;

/** An operand type and an operation that NNAPI does not know. Immutable. */
public final class ComplexExtension implements OperationExtension {
  /** The name of the extension. */
  public static final String NAME = "com.example.complex";

  /** Two floats: the real and the imaginary part. */
  public static final ExtensionOperandType COMPLEX =
      new ExtensionOperandType(NAME, 1, "TENSOR_COMPLEX", true, 2 * Float.BYTES);

  /** The absolute values of complex numbers, as floats. */
  public static final ExtensionOperationType MAGNITUDE =
      new ExtensionOperationType(NAME, 7, "MAGNITUDE");

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public List<OperationDefinition> definitions() {
    return List.of(new Magnitude());
  }

  @Override
  public List<ExtensionOperandType> operandTypes() {
    return List.of(COMPLEX);
  }

  private static final class Magnitude extends NamedDefinition {
    Magnitude() {
      super(
          MAGNITUDE,
          Signature.since(FeatureLevel.V1_2)
              .inputs(argument("input", COMPLEX))
              .outputs(argument("output", OperandCode.TENSOR_FLOAT32)));
    }

    @Override
    public List<Shape> infer(OperationView operation) {
      return List.of(operation.input(0).shape());
    }
  }
}
