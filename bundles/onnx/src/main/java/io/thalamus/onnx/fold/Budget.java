// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.fold;

import io.thalamus.onnx.file.Refusal;
import java.util.Arrays;

/**
 * The memory that values computed while reading may take together. It depends on the size of the
 * file and on that of the heap, so that a small damaged one cannot exhaust the memory. Not
 * thread-safe.
 */
public final class Budget {
  /** Networks without their weights fill hundreds of megabytes out of some kilobytes. */
  private static final long BASE =
      Math.clamp(Runtime.getRuntime().maxMemory() / 8, 1 << 24, 1 << 30);

  private static final long FACTOR = 16;

  /** Bytes that are given back may be taken again, but not without end: they are work too. */
  private static final long MOST_TAKEN = 1L << 31;

  private final long most;
  private long left;
  private long taken;
  private int[] scratch = {};
  private byte[] scratchBytes = {};

  /** The budget of a file of this size. */
  public Budget(long fileSize) {
    left = BASE + FACTOR * fileSize;
    most = MOST_TAKEN + FACTOR * FACTOR * fileSize;
  }

  /** Returns how much has been taken, what was given back included. */
  public long taken() {
    return taken;
  }

  /**
   * Takes memory for an array.
   *
   * @throws Refusal where less is left
   */
  public byte[] bytes(long size) {
    take(size);
    return new byte[Math.toIntExact(size)];
  }

  /** Takes memory for an array of integers. */
  public int[] ints(int count) {
    take(4L * count);
    return new int[count];
  }

  /**
   * Returns an array of at least so many integers, which mean nothing. The next call returns it
   * again: arrays of the size of weights, each used once, would be half of the time of a collector.
   *
   * @throws Refusal where less memory is left
   */
  int[] scratch(int count) {
    if (scratch.length < count) {
      release(4L * scratch.length);
      scratch = ints(count);
    }
    return scratch;
  }

  /** The same for bytes. */
  byte[] scratchBytes(int count) {
    if (scratchBytes.length < count) {
      release(scratchBytes.length);
      scratchBytes = bytes(count);
    }
    return scratchBytes;
  }

  /** Takes memory for an array of real numbers. */
  public double[] doubles(int count) {
    take(8L * count);
    return new double[count];
  }

  /** Takes memory for the numbers from 0 on. */
  public int[] range(int count) {
    int[] range = ints(count);
    Arrays.setAll(range, i -> i);
    return range;
  }

  /** Gives back the memory of an array that nothing refers to any more. */
  public void release(long size) {
    left += size;
  }

  /**
   * Takes memory for what is there already.
   *
   * @throws Refusal where less is left
   */
  public void take(long size) {
    if (size < 0 || size > left || size > most - taken) {
      throw new Refusal(
          "its constants would take " + size + " bytes more, too many for a file of its size");
    }
    left -= size;
    taken += size;
  }
}
