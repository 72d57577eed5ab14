// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.OperationType;
import io.thalamus.npu.machine.Architecture;
import io.thalamus.operations.OperandView;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.OperationDefinition;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.ValidationException;
import java.util.ArrayList;
import java.util.List;

/**
 * Collects lowerings into a table of what the device claims: the forms of which everything is known
 * beforehand, and whose layers fit the device's memories. Not thread-safe; the table is.
 */
final class LoweringTable {
  private static final Constant EMPTY = Constant.of(new byte[0]);

  private final OperationTable.Builder<Lowering> table = OperationTable.builder();
  private final LoweringContext trial;
  private final OperationCatalog catalog;

  private LoweringTable(Architecture architecture, OperationCatalog catalog) {
    this.trial = new LoweringContext(architecture, true);
    this.catalog = catalog;
  }

  /** All that a device of this architecture can do. */
  static OperationTable<Lowering> of(Architecture architecture, OperationCatalog catalog) {
    LoweringTable table = new LoweringTable(architecture, catalog);
    Activation.register(table);
    Convolution.register(table);
    Elementwise.register(table);
    MatrixMultiply.register(table);
    Pooling.register(table);
    Rearrange.register(table);
    Reshape.register(table);
    Softmax.register(table);
    return table.table.build();
  }

  /** A lowering for the forms of an operation that it makes layers of. */
  LoweringTable add(OperationType code, Lowering lowering, OperandCode... types) {
    table.add(code, view -> isPossible(view, lowering), lowering, types);
    return this;
  }

  private boolean isPossible(OperationView view, Lowering lowering) {
    OperationDefinition definition = catalog.find(view.type()).orElseThrow();
    for (int i = 0; i < view.inputs().size(); i++) {
      OperandView input = view.input(i);
      boolean needsValue = !input.type().isTensor() || definition.needsValue(view, i);
      if (!input.isOmitted()
          && (!input.isShapeKnown() || (needsValue && input.value().isEmpty()))) {
        return false;
      }
    }
    try {
      OperationView shaped = view.withOutputShapes(definition.infer(view));
      ResolvedOperation operation = new ResolvedOperation(shaped, definition.resolve(shaped));
      return isPossible(operation, lowering);
    } catch (ValidationException | ArithmeticException e) {
      // Preparing says what is wrong.
      return false;
    }
  }

  private boolean isPossible(ResolvedOperation operation, Lowering lowering) {
    List<Tensor> inputs = new ArrayList<>();
    for (OperandView input : operation.view().inputs()) {
      if (isStored(input.type()) && isTooLargeOrEmpty(input)) {
        return false;
      }
      inputs.add(isStored(input.type()) ? place(input) : null);
    }
    OperandView output = operation.view().output();
    if (isTooLargeOrEmpty(output)) {
      return false;
    }
    if (lowering.isAlias()) {
      return true;
    }
    List<Layer<?>> layers = lowering.lower(operation, inputs, place(output), trial);
    return !layers.isEmpty()
        && layers.stream()
            .allMatch(
                layer -> Search.quick(new LoopNest<>(trial.architecture(), layer)).isPresent());
  }

  /** Returns whether tensors of a type stand in the device's memory. */
  static boolean isStored(OperandType type) {
    return type == OperandCode.TENSOR_QUANT8_ASYMM
        || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
        || type == OperandCode.TENSOR_FLOAT16;
  }

  private boolean isTooLargeOrEmpty(OperandView operand) {
    long bytes = operand.shape().elementCount() * operand.type().elementSize();
    return bytes <= 0 || bytes > trial.architecture().dram();
  }

  private static Tensor place(OperandView operand) {
    Constant constant = operand.value().isPresent() ? EMPTY : null;
    return new Tensor(operand.type(), operand.shape(), 0, constant);
  }
}
