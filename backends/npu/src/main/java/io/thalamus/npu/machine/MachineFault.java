// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.machine;

/**
 * A command that the device cannot execute: it names memory that there is not, or sizes that make
 * no sense. The message says which command and why.
 */
public final class MachineFault extends Exception {
  private static final long serialVersionUID = 1;

  public MachineFault(String message) {
    super(message);
  }
}
