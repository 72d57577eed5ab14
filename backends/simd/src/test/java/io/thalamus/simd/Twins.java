// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd;

import io.thalamus.hal.DeviceException;
import io.thalamus.model.Model;
import io.thalamus.simd.program.Budget;
import io.thalamus.simd.program.WarmUp;
import io.thalamus.tck.check.TestGraph;

/**
 * The device twice, once with vectors and once with the scalar twins of its kernels: whatever one
 * computes, the other must compute to the bit. Used by one test at a time.
 */
final class Twins implements AutoCloseable {
  private final SimdDevice vectors = device("vectors", WarmUp.Stage.ALWAYS_WARM);
  private final SimdDevice scalars = device("scalars", WarmUp.Stage.ALWAYS_COLD);

  /** A device of two threads in a given stage. */
  static SimdDevice device(String name, WarmUp.Stage stage) {
    return new SimdDevice("1.0.0", Budget.of(2), name, stage);
  }

  /** The first output of a model, which is the same of both. */
  byte[] run(Model model, String message, byte[]... inputs) throws DeviceException {
    byte[] expected = TestGraph.run(scalars, model, inputs);
    byte[] actual = TestGraph.run(vectors, model, inputs);
    TestGraph.assertSame(expected, actual, message + ": vectors differ from their scalar twins");
    return actual;
  }

  @Override
  public void close() {
    vectors.close();
    scalars.close();
  }
}
