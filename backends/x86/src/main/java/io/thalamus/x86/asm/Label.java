// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

/**
 * A place in the code of one {@link Assembler}, which binds it once; may be referred to before. Not
 * thread-safe.
 */
public final class Label {
  private static final int UNBOUND = -1;

  private int position = UNBOUND;

  /** Creates a label that is bound nowhere yet. */
  public Label() {}

  boolean isBound() {
    return position != UNBOUND;
  }

  /** Returns the offset of the place from the begin of the code. */
  public int position() {
    if (!isBound()) {
      throw new IllegalStateException("a label that is referred to is bound nowhere");
    }
    return position;
  }

  void bind(int place) {
    if (isBound()) {
      throw new IllegalStateException("a label is bound twice");
    }
    position = place;
  }
}
