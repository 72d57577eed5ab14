// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu.extension;

import io.thalamus.driver.KernelTable;

/** Collects the families of the extension {@code io.thalamus}. */
public final class ExtensionKernels {
  private ExtensionKernels() {}

  /** Adds all kernels. */
  public static void register(KernelTable.Builder table) {
    DynamicQuantization.register(table);
    Elementwise.register(table);
    MatrixMultiply.register(table);
    Normalization.register(table);
    Rearrange.register(table);
    Regions.register(table);
    Search.register(table);
    Selection.register(table);
    UnaryMath.register(table);
  }
}
