// SPDX-License-Identifier: Apache-2.0
package io.thalamus.model.reader;

/** A model file is damaged, or holds what cannot be expressed. The message names the place. */
public final class ModelFormatException extends Exception {
  private static final long serialVersionUID = 1L;

  public ModelFormatException(String message) {
    super(message);
  }

  public ModelFormatException(String message, Throwable cause) {
    super(message, cause);
  }
}
