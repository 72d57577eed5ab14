// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.KernelTable;
import io.thalamus.model.Elements;
import io.thalamus.model.OperationCode;
import io.thalamus.operations.Accumulation;
import io.thalamus.operations.FloatRange;
import io.thalamus.operations.MatrixMultiply.Parameters;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.foreign.ValueLayout;

/** Products of matrices, widened first as in {@link Convolution}. */
final class MatrixMultiply {
  private MatrixMultiply() {}

  static void register(KernelTable.Builder table) {
    table
        .floats(OperationCode.FULLY_CONNECTED, MatrixMultiply::floating)
        .quantized8(OperationCode.FULLY_CONNECTED, MatrixMultiply::quantized)
        .quantized8(ThalamusExtension.FULLY_CONNECTED, MatrixMultiply::quantized);
  }

  private static Kernel floating(ResolvedOperation operation) {
    Parameters parameters = operation.parameters(Parameters.class);
    Elements elements = Elements.of(operation.view().output().type());
    FloatRange range = parameters.activation().range();
    int size = parameters.inputSize();
    int units = parameters.units();
    long inputs = (long) parameters.batches() * size;
    long weights = (long) units * size;
    Kernel kernel =
        (in, out, scratch, work) -> {
          Widening.floats(work, elements, in[0], inputs, scratch, 0);
          Widening.floats(work, elements, in[1], weights, scratch, inputs);
          for (long batch = 0; batch < parameters.batches(); batch++) {
            for (long unit = 0; unit < units; unit++) {
              work.done(size);
              long input = batch * size;
              long weight = inputs + unit * size;
              float sum = 0;
              for (int i = 0; i < size; i++) {
                sum +=
                    scratch.getAtIndex(ValueLayout.JAVA_FLOAT, input + i)
                        * scratch.getAtIndex(ValueLayout.JAVA_FLOAT, weight + i);
              }
              sum += elements.getFloat(in[2], unit);
              elements.setFloat(out[0], batch * units + unit, range.clamp(sum));
            }
          }
        };
    return kernel.withScratch((inputs + weights) * Float.BYTES);
  }

  private static Kernel quantized(ResolvedOperation operation) {
    Parameters parameters = operation.parameters(Parameters.class);
    Accumulation accumulation = parameters.quantized().orElseThrow();
    Elements elements = Elements.of(operation.view().output().type());
    int size = parameters.inputSize();
    int units = parameters.units();
    long inputs = (long) parameters.batches() * size;
    long weights = (long) units * size;
    Kernel kernel =
        (in, out, scratch, work) -> {
          Widening.ints(work, elements, in[0], accumulation.inputZeroPoint(), inputs, scratch, 0);
          Widening.ints(
              work, elements, in[1], accumulation.filterZeroPoint(), weights, scratch, inputs);
          for (long batch = 0; batch < parameters.batches(); batch++) {
            for (int unit = 0; unit < units; unit++) {
              work.done(size);
              long input = batch * size;
              long weight = inputs + (long) unit * size;
              int sum = Elements.INT32.getInt(in[2], unit);
              for (int i = 0; i < size; i++) {
                sum +=
                    scratch.getAtIndex(ValueLayout.JAVA_INT, input + i)
                        * scratch.getAtIndex(ValueLayout.JAVA_INT, weight + i);
              }
              elements.setInt(out[0], batch * units + unit, accumulation.stored(sum, unit));
            }
          }
        };
    return kernel.withScratch((inputs + weights) * Integer.BYTES);
  }
}
