// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.Shape;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.Elementwise.Rescaled;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.ElementChain.Tensor;
import io.thalamus.x86.kernel.Cast.Type;
import io.thalamus.x86.kernel.ElementFunction;
import io.thalamus.x86.kernel.ElementFunction.Scaled;
import java.util.List;
import java.util.Optional;

/** Integers times a factor, as ones of the same type or of another: RESCALE. */
final class Rescaling implements Lowering {
  private Rescaling() {}

  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.RESCALE,
        operation -> Sizes.isPossible(operation.input(0)) && operation.hasValues(1),
        new Rescaling(),
        ElementTypes.rescalable());
  }

  @Override
  public void lower(ResolvedOperation operation, Operands operands, ProgramBuilder program) {
    OperandType from = operation.view().input(0).type();
    OperandType to = operation.view().output().type();
    Shape shape = operation.outputShape(0);
    long count = shape.elementCount();
    Place source =
        isWide(from)
            ? operands.input(0)
            : Casting.widen(from, operands.input(0), Type.INT32, program);
    Place result = isWide(to) ? operands.output() : program.place(count * Integer.BYTES);
    ElementChain chain = new ElementChain();
    chain.add(function(operation), List.of(new Tensor(source, shape)), result);
    chain.lower(result, shape, program);
    if (!isWide(to)) {
      Type stored = Casting.type(to).orElseThrow();
      Casting.cast(Type.INT32, result, stored, operands.output(), count, program);
    }
  }

  @Override
  public Optional<ElementFunction> element(ResolvedOperation operation) {
    return isWide(operation.view().input(0).type()) && isWide(operation.view().output().type())
        ? Optional.of(function(operation))
        : Optional.empty();
  }

  private static boolean isWide(OperandType type) {
    return type == OperandCode.TENSOR_INT32;
  }

  private static ElementFunction function(ResolvedOperation operation) {
    return new Scaled(operation.parameters(Rescaled.class));
  }
}
