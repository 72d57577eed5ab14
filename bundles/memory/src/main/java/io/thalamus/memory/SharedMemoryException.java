// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

/** Memory could not be allocated, opened or mapped. The message says which and why. */
public sealed class SharedMemoryException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public SharedMemoryException(String message, Throwable cause) {
    super(message, cause);
  }

  /** No directory has enough room for the memory now; it may have later. */
  public static final class Exhausted extends SharedMemoryException {
    private static final long serialVersionUID = 1L;

    public Exhausted(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
