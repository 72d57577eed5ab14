// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.DynamicQuantization.Found;
import io.thalamus.operations.extension.DynamicQuantization.IntegerProduct;
import io.thalamus.operations.extension.ThalamusExtension;

/** Layers whose activations are quantized while they run. */
final class DynamicQuantization {
  private DynamicQuantization() {}

  static void register(KernelTable.Builder table) {
    table
        .add(
            ThalamusExtension.DYNAMIC_QUANTIZE_LINEAR,
            DynamicQuantization::quantize,
            TENSOR_FLOAT32)
        .quantized8(ThalamusExtension.MATMUL_INTEGER, DynamicQuantization::multiply);
  }

  private static Kernel quantize(ResolvedOperation operation) {
    long count = operation.inputShape(0).elementCount();
    return (in, out, scratch, work) -> {
      float least = 0;
      float most = 0;
      for (long i = 0; i < count; i++) {
        work.done(1);
        float value = Elements.FLOAT32.getFloat(in[0], i);
        // Nothing is less or more than NaN.
        least = value < least ? value : least;
        most = value > most ? value : most;
      }
      Found found = Found.of(least, most);
      for (long i = 0; i < count; i++) {
        work.done(1);
        Elements.UINT8.setInt(out[0], i, found.stored(Elements.FLOAT32.getFloat(in[0], i)));
      }
      Elements.FLOAT32.setFloat(out[1], 0, found.scale());
      Elements.UINT8.setInt(out[2], 0, found.zeroPoint());
    };
  }

  private static Kernel multiply(ResolvedOperation operation) {
    IntegerProduct product = operation.parameters(IntegerProduct.class);
    Elements inputs = Elements.of(operation.view().input(0).type());
    Elements weights = Elements.of(operation.view().input(1).type());
    int size = product.inputSize();
    int units = product.units();
    return (in, out, scratch, work) -> {
      for (long row = 0; row < product.rows(); row++) {
        for (long unit = 0; unit < units; unit++) {
          work.done(size);
          int sum = 0;
          for (int i = 0; i < size; i++) {
            sum +=
                (inputs.getInt(in[0], row * size + i) - product.inputZeroPoint())
                    * (weights.getInt(in[1], (long) i * units + unit) - product.weightsZeroPoint());
          }
          Elements.INT32.setInt(out[0], row * units + unit, sum);
        }
      }
    };
  }
}
