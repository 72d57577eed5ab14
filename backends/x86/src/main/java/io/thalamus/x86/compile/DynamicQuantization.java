// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.OperationTable;
import io.thalamus.driver.StaticGraph;
import io.thalamus.model.OperandCode;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.ElementTypes;
import io.thalamus.operations.IntRange;
import io.thalamus.operations.OperationView;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.Window;
import io.thalamus.operations.extension.DynamicQuantization.IntegerProduct;
import io.thalamus.operations.extension.ThalamusExtension;
import io.thalamus.x86.compile.Lowering.Target;
import io.thalamus.x86.kernel.FloatsToBytes;
import io.thalamus.x86.kernel.FoundScale;
import io.thalamus.x86.kernel.ReducedRows;
import io.thalamus.x86.kernel.Reducing;
import io.thalamus.x86.kernel.Strided;
import java.util.List;

/** Layers whose activations are quantized while they run. Stateless. */
final class DynamicQuantization {
  /** Floats of a call: some microseconds. */
  private static final int LONGEST = 1 << 14;

  private DynamicQuantization() {}

  /** Adds the operations to a table. */
  static void register(OperationTable.Builder<Lowering> table) {
    table.add(
        ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR,
        operation -> Sizes.isPossible(operation.input(0)),
        DynamicQuantization::quantize,
        OperandCode.TENSOR_FLOAT32);
    table.add(
        ThalamusExtension.MATMUL_INTEGER,
        DynamicQuantization::isProductPossible,
        DynamicQuantization::multiply,
        ElementTypes.quantized8());
  }

  private static void quantize(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    Place source = operands.input(0);
    int count = (int) operation.inputShape(0).elementCount();
    Place most = reduced(Reducing.MAXIMUM, source, count, program);
    Place least = reduced(Reducing.MINIMUM, source, count, program);
    Place found = program.place(2 * Float.BYTES);
    program.call(new FoundScale(), most.at(0), found.at(0), least.at(0));
    for (int from = 0; from < count; from += LONGEST) {
      program.call(
          FloatsToBytes.found(Math.min(LONGEST, count - from)),
          source.at((long) from * Float.BYTES),
          operands.output().at(from),
          found.at(0));
    }
    program.call(copy(Float.BYTES), found.at(0), operands.output(1).at(0));
    program.call(copy(1), found.at(Float.BYTES), operands.output(2).at(0));
  }

  private static Strided copy(int bytes) {
    return new Strided(1, bytes, 1, 1, 0, 0);
  }

  /** Returns where one float of all stands: parts of them are reduced side by side. */
  private static Place reduced(Reducing kind, Place source, int count, ProgramBuilder program) {
    int parts = Math.ceilDiv(count, LONGEST);
    Place ofParts = program.place((long) parts * Float.BYTES);
    for (int part = 0; part < parts; part++) {
      int from = part * LONGEST;
      program.call(
          new ReducedRows(kind, Math.min(LONGEST, count - from)),
          source.at((long) from * Float.BYTES),
          ofParts.at((long) part * Float.BYTES));
    }
    if (parts == 1) {
      return ofParts;
    }
    Place result = program.place(Float.BYTES);
    program.call(new ReducedRows(kind, parts), ofParts.at(0), result.at(0));
    return result;
  }

  private static boolean isProductPossible(OperationView operation) {
    return Sizes.isPossible(operation.input(0))
        && Sizes.isPossible(operation.input(1))
        && Sizes.isPossible(operation.output())
        && operation.hasValues(1)
        && StaticGraph.parameters(operation, IntegerProduct.class).isPresent();
  }

  private static void multiply(
      ResolvedOperation operation, Lowering.Operands operands, ProgramBuilder program) {
    IntegerProduct product = operation.parameters(IntegerProduct.class);
    Window one = new Window(1, 1, 1, 0, 0);
    StoredWeights weights = StoredWeights.of(operation, operands, product.weightsZeroPoint());
    StoredLayer layer =
        new StoredLayer(
            1,
            1,
            product.rows(),
            product.inputSize(),
            1,
            product.rows(),
            product.units(),
            one,
            one,
            StoredConvolution.isSigned(operation.view()),
            weights.transposed(product.inputSize()),
            new int[product.units()],
            new Accumulation(
                product.inputZeroPoint(),
                product.weightsZeroPoint(),
                0,
                List.of(),
                new IntRange(Integer.MIN_VALUE, Integer.MAX_VALUE)));
    Target target = operands.target(product.units() * Integer.BYTES);
    new StoredProducts(program, layer, operands.input(0), target).emit();
  }
}
