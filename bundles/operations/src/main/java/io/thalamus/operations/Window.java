// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

/**
 * The movement of a filter or a pooling window along one axis, with explicit padding.
 *
 * @param size of the window
 * @param stride between two positions
 * @param dilation distance of two neighbours within the window
 * @param before padding in front of the input
 * @param after padding behind the input
 */
public record Window(int size, int stride, int dilation, int before, int after) {
  /** NNAPI's implicit padding scheme SAME. */
  public static final int SAME = 1;

  /** NNAPI's implicit padding scheme VALID. */
  public static final int VALID = 2;

  /** The cells that the window reaches over. */
  public int reach() {
    return (size - 1) * dilation + 1;
  }

  /**
   * The window with the padding of an implicit scheme: SAME gives {@code ceil(input / stride)}
   * positions, the odd cell of padding behind.
   */
  public static Window implicit(int input, int size, int stride, int dilation, int scheme)
      throws ValidationException {
    if (scheme == VALID) {
      return explicit(size, stride, dilation, 0, 0);
    }
    if (scheme != SAME) {
      throw new ValidationException("there is no padding scheme " + scheme);
    }
    Window bare = explicit(size, stride, dilation, 0, 0);
    int positions = Math.ceilDiv(input, stride);
    int padding = Math.max(0, (positions - 1) * stride + bare.reach() - input);
    return new Window(size, stride, dilation, padding / 2, padding - padding / 2);
  }

  /** The window with padding given. */
  public static Window explicit(int size, int stride, int dilation, int before, int after)
      throws ValidationException {
    if (stride <= 0 || dilation <= 0 || size <= 0 || before < 0 || after < 0) {
      throw new ValidationException(
          ("size, stride and dilation must be positive, padding not negative; they"
                  + " are %s, %s, %s, %s and %s")
              .formatted(size, stride, dilation, before, after));
    }
    if ((size - 1L) * dilation >= Integer.MAX_VALUE) {
      throw new ValidationException(
          "a window of " + size + " cells with dilation " + dilation + " is too large");
    }
    return new Window(size, stride, dilation, before, after);
  }

  /** The number of positions over an input of this size. */
  public int positions(int input) throws ValidationException {
    long padded = (long) input + before + after;
    if (padded < reach()) {
      throw new ValidationException(
          "a window over " + reach() + " cells does not fit into " + padded);
    }
    return Math.toIntExact((padded - reach()) / stride + 1);
  }

  /** Returns the cell of the input under a tap; negative in front of the input. */
  public int cell(int position, int tap) {
    return position * stride - before + tap * dilation;
  }

  /** Returns the first tap that is not in front of the input; {@link #size} if there is none. */
  public int firstTap(int position) {
    return taps(before - (long) position * stride);
  }

  /**
   * Returns the tap behind the last one that is not behind an input of this size; {@link #firstTap}
   * if no tap is inside of the input.
   */
  public int endTap(int position, int input) {
    return taps((long) input + before - (long) position * stride);
  }

  /** Returns the number of taps within the first cells of the window. */
  private int taps(long cells) {
    return Math.ceilDiv(Math.clamp(cells, 0, reach()), dilation);
  }
}
