// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

/**
 * A kernel cannot compute from the values that it was given, as where an index points outside its
 * tensor. The execution fails with GENERAL_FAILURE; nothing else is affected.
 */
public final class KernelException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** An exception that says what is wrong with which value. */
  public KernelException(String message) {
    super(message);
  }
}
