// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.file;

/**
 * A file is damaged, or holds what cannot be expressed. Almost every method of a reader may end so,
 * and none but the reader's own can do anything about it: unchecked, it passes through them, and
 * leaves the bundle as the checked exception of its contract. The message names the place.
 */
public final class Refusal extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public Refusal(String message) {
    super(message);
  }

  public Refusal(String message, Throwable cause) {
    super(message, cause);
  }
}
