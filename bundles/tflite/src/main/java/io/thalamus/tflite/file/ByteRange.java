// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.file;

/**
 * A range of bytes that lies within the file.
 *
 * @param offset of the first byte in the file
 * @param length in bytes; 0 where there is nothing
 */
public record ByteRange(long offset, long length) {
  /** Nothing. */
  public static final ByteRange EMPTY = new ByteRange(0, 0);

  /** Returns whether there is nothing. */
  public boolean isEmpty() {
    return length == 0;
  }
}
