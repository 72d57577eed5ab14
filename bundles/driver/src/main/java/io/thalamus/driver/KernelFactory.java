// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.operations.ResolvedOperation;

/** Makes the kernel for an operation whose shapes and parameters are known. Thread-safe. */
@FunctionalInterface
public interface KernelFactory {
  /** The kernel. The operation is valid, and of the kind that the factory was registered for. */
  Kernel compile(ResolvedOperation operation);
}
