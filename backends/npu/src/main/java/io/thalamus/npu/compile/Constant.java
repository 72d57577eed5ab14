// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.compile;

/**
 * Bytes that the device finds in its DRAM of weights. Its size is asked often, while tilings are
 * compared; its bytes only once a tiling is chosen. Equal constants stand there once.
 */
interface Constant {
  /** Returns its size in bytes. */
  int size();

  byte[] bytes();

  /** A constant that is at hand; equal only to itself. */
  static Constant of(byte[] bytes) {
    return new Constant() {
      @Override
      public int size() {
        return bytes.length;
      }

      @Override
      public byte[] bytes() {
        return bytes;
      }
    };
  }
}
